"""What is computed for each kind that a number may have (`mixed`), where the kinds do not mean the same, and for each
case of a Variant that cannot be chosen by value: a choice by its tag or test, like any other."""

import functools

import numpy as np

from ...ir.ops import OPS
from ..guards.state import TRANSPARENT, UNBOUND
from ..numpy_api.meeting import MANY, firmed_arguments
from ..values.array import TracedScalar, bring
from ..values.capturing import capturing
from ..values.mixed import Mixed, has_mixed, kind_tag, mixed_in, replaced
from ..values.storage import current_trace
from ..values.variant import Variant, is_chosen_by_value, is_within, variants_in, with_variants
from . import printing
from .branch import choose, decided, either_way
from .builtins import REPLACED
from .convert import CELL
from .variants import narrowed


def apart(f, args, kwargs=()):
    """`f(*args, **kwargs)` for each kind of the first Mixed number among them."""
    kwargs = dict(kwargs)
    found = list(mixed_in((*args, *kwargs.values())))
    if not found:
        return f(*args, **kwargs)
    first, count = found[0], 1
    for m in {m.tag: m for m in found}.values():
        count *= len(m.kinds)
    if count > MANY or current_trace() is None:
        first.fail()
    kind = first.kinds[0]
    test = TracedScalar(OPS["eq"](bring(first.tag), kind_tag(kind)), bool)

    def way(change):
        pick = lambda m: change(m) if m.tag is first.tag and kind in m.kinds else m
        return lambda: apart(f, replaced(args, pick), dict(zip(kwargs, replaced(kwargs.values(), pick))))

    return choose(test, way(lambda m: m.of(kind)), way(lambda m: m.but(kind) if len(m.kinds) > 1 else m), straight=True)


def of_sides(f, args, kwargs=()):
    """`f(*args, **kwargs)` for each side of the first Variant among them."""
    args = with_variants(tuple(args), narrowed)
    kwargs = {k: with_variants(x, narrowed) for k, x in dict(kwargs).items()}
    first = next(variants_in((*args, *kwargs.values())), None)
    if first is None:
        return f(*args, **kwargs)
    unbound = any(side is UNBOUND for side in first.sides)
    if unbound or is_chosen_by_value(first) or not is_within(first, current_trace()):
        first.fail()
    test = TracedScalar(current_trace().bring(first.test), bool)

    def way(truth):
        pick = lambda x: x.sides[not truth] if x.test is first.test else x
        return lambda: of_sides(f, with_variants(args, pick), {k: with_variants(x, pick) for k, x in kwargs.items()})

    found = choose(test, way(True), way(False))
    if type(found) is Variant:
        found.say(first.reason)
    return found


TRANSPARENT.add(of_sides.__code__)


def variant_called(x, *args, **kwargs):
    """`x(*args, **kwargs)` of a Variant, with hooks."""
    return of_sides(lambda side: CELL.cell_contents.call(side)(*args, **kwargs), (x,))


def where_only(test, act):
    """`act()`, which checks something, where a bool operand holds."""
    test = TracedScalar(test, bool)
    known = decided(test)
    if known is None:
        with capturing(test):
            either_way(test, act, lambda: None, (), (), {})
    elif known:
        act()


def parted(f):
    """A function of Python's or NumPy's that takes Mixed numbers apart."""

    @functools.wraps(f)
    def stand_in(*args, **kwargs):
        if has_mixed((*args, *kwargs.values())):
            args = [said(x) for x in args] if f in SAYING else args
            return apart(f, args, kwargs)
        return f(*args, **kwargs)

    TRANSPARENT.add(stand_in.__code__)
    return stand_in


def asked_of_kinds(f):
    """`isinstance` or `bool`, which Mixed numbers answer at once where all of their kinds say the same, and which look
    into no container."""

    @functools.wraps(f)
    def stand_in(x, *args):
        if type(x) is not Mixed:
            return f(x, *args)
        answers = [f(x.of(kind), *args) for kind in x.kinds]
        same = all(type(a) is bool and a is answers[0] for a in answers)
        return answers[0] if same else apart(f, (x, *args))

    TRANSPARENT.add(stand_in.__code__)
    return stand_in


def asked_of_sides(f):
    """A function or operator that takes Variants apart."""

    @functools.wraps(f)
    def stand_in(*args, **kwargs):
        found = Variant in map(type, (*args, *kwargs.values()))
        return of_sides(stand_in, args, kwargs) if found else f(*args, **kwargs)

    TRANSPARENT.update([stand_in.__code__, getattr(f, "__code__", None)])
    return stand_in


def said(x):
    """A number whose kinds all have one text, as one of them; a field of an f-string too."""
    if type(x) is tuple and len(x) == 3 and x[1] != ord("r"):
        return said(x[0]), *x[1:]
    if type(x) is not Mixed or len(words := {WORDS.get(k[1]) for k in x.kinds}) > 1 or words == {None}:
        return x
    return TracedScalar(bring(x._value), words.pop())


WORDS = {
    bool: bool,
    int: int,
    float: float,
    complex: complex,
    np.dtype(bool): bool,
    np.dtype(float): float,
    np.dtype(complex): complex,
}
WORDS |= {np.dtype(name): int for name in ("i1", "i2", "i4", "i8")}


def of_numpy(f, args, kwargs):
    """A NumPy function of arguments with Mixed numbers."""
    args, kwargs = firmed_arguments(args, kwargs)
    return apart(f, args, kwargs)


WHOLE = {max, min, sum, sorted, zip, enumerate, reversed, range, len}  # made of operators, or of what is handed on
ONE = {max, min, sum, sorted, len}  # of those, what gives no iterator


ASKING = {isinstance, bool}  # what the sides of a Variant, or the kinds of a number, may say alike
SAYING = {REPLACED[print], REPLACED[str], printing.text}


def register():
    """Have the functions that go by the kind of a number, and the operations of `meeting`, take Mixed numbers apart."""
    for f, stand_in in list(REPLACED.items()):
        if f in ONE:
            REPLACED[f] = asked_of_sides(stand_in)
        elif f not in WHOLE and (
            getattr(f, "__module__", None) in ("builtins", "math") or isinstance(f, type) and issubclass(f, np.generic)
        ):
            REPLACED[f] = asked_of_kinds(stand_in) if f in ASKING else asked_of_sides(parted(stand_in))
