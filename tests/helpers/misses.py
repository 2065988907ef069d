"""Programs on which a rule must not fire, drawn from its pattern and from the programs on which it does: all but one thing is as it asks.

A number or an attribute is another, a value that it asks for twice is two, a literal is a parameter, a dtype is of another kind, an equation
is missing, or, where a rule pays for the only reader alone, there is a second.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from wengert.ir.core import Builder, Func
from wengert.ir.pattern import Hole, Pat

OTHER = 7  # no number of any rule


@dataclasses.dataclass
class Near:
    """A pattern that is not the rule's, and the cases in which a program is made of it."""

    pattern: Any
    cases: tuple[Any, ...]
    refused: Callable[[Any], bool] = lambda dtype: True


def places(pattern, way=()):
    """(way to it, operand) of all operands of a pattern, at every depth."""
    for k, x in enumerate(pattern.operands):
        yield (*way, k), x
        if isinstance(x, Pat):
            yield from places(x, (*way, k))


def changed(pattern, way, new):
    """The pattern with another operand at one place."""
    k, *rest = way
    inner = changed(pattern.operands[k], rest, new) if rest else new
    return Pat(pattern.op, (*pattern.operands[:k], inner, *pattern.operands[k + 1 :]), pattern.attrs, pattern.index)


def everywhere(pattern, change):
    """The pattern with every hole replaced."""
    new = lambda x: everywhere(x, change) if isinstance(x, Pat) else change(x) if isinstance(x, Hole) and not x.rest else x
    return Pat(pattern.op, tuple(map(new, pattern.operands)), pattern.attrs, pattern.index)


def other_numbers(tested):
    for way, x in places(tested.pattern):
        if isinstance(x, bool | int | float | complex):
            yield Near(changed(tested.pattern, way, (not x) if isinstance(x, bool) else OTHER * x or OTHER), tested.cases)
            if not isinstance(x, bool) and (x or isinstance(x, float)):  # integers have one zero
                yield Near(changed(tested.pattern, way, -x), tested.cases, lambda dtype, x=x: x != 0 or dtype.kind in "fc")


def other_attributes(tested):
    for key, new in ((k, OTHER if type(x) is int else (0,)) for k, x in tested.pattern.attrs.items() if type(x) is int or x == ()):
        yield Near(Pat(tested.pattern.op, tested.pattern.operands, {**tested.pattern.attrs, key: new}), tested.cases)


def other_values(tested):
    """A hole that stands at several places is another value at the last of them."""
    found = {}
    for way, x in places(tested.pattern):
        if isinstance(x, Hole) and not x.rest:
            found.setdefault(x.name, []).append((way, x))
    for name, ((*_, (way, x)), several) in ((k, (v, len(v) > 1)) for k, v in found.items()):
        if several:
            new = OTHER if x.literal else Hole(f"{name}_", x.kinds)
            cases = tuple({**case, f"{name}_": case.get(name)} for case in tested.cases or ({},))
            yield Near(changed(tested.pattern, way, new), cases)


def no_literals(tested):
    for name in {x.name for _, x in places(tested.pattern) if isinstance(x, Hole) and x.literal}:
        free = everywhere(tested.pattern, lambda h, name=name: Hole(h.name, h.kinds, h.literal and h.name != name))
        yield Near(free, tuple({**case, name: None} for case in tested.cases or ({},)))


def other_kinds(tested):
    refusing = [x.kinds for _, x in places(tested.pattern) if isinstance(x, Hole) and x.kinds is not None]
    if refusing:
        free = everywhere(tested.pattern, lambda h: Hole(h.name, None, h.literal))
        yield Near(free, tested.cases, lambda dtype: any(dtype.kind not in kinds for kinds in refusing))


def near_patterns(tested):
    """Those that are drawn of a pattern; a program that is written out has none."""
    if any(isinstance(case, str) for case in tested.cases):
        return ()
    return itertools.chain(other_numbers(tested), other_attributes(tested), other_values(tested), no_literals(tested), other_kinds(tested))


def matched(tested, func):
    """The equations below the root that a rule looks at, in a program that ends in its root."""
    root = func.results[0].eqn
    bound = next(iter(tested.matches(root.op, root.operands, root.attrs)), {})
    return list(dict.fromkeys(x.eqn for pattern, x in bound.items() if isinstance(pattern, Pat)))


def without(func, eqn):
    """The program that is given what one of its equations computes."""
    build = Builder("without")
    env = {p: build.param(p.type, p.hint) for p in func.params}
    with build:
        for e in func.eqns:
            if e is eqn:
                env.update((r, build.param(r.type, r.hint)) for r in e.results)
            else:
                build.replay(e, env)
    return build.finish(tuple(env.get(r, r) for r in func.results))


def read_twice(func, eqn):
    """The program that returns what one of its equations computes, too."""
    return Func(func.name, func.params, func.eqns, (*func.results, *eqn.results))


def near_programs(tested, func):
    """Programs beside one on which a rule fires."""
    for eqn in matched(tested, func):
        yield without(func, eqn)
        if tested.once:
            yield read_twice(func, eqn)
