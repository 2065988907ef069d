"""The states of a program as the passes leave it, and what each pass has changed.

Equations of two states are the same one if they are one object; else if they compute the same expression; else they are
one that has changed if op, attributes and place in the user's code are the same and what they read is not.
"""

import collections

from ...ir.core import Value
from ...ir.pipeline import run as optimise

LARGE = (
    120_000  # bound: equations of all states of a program, beyond which states between the first and last are left out
)


def program_states(func, **options):
    """[(name of the pass, the function after it)], the first as it was captured; options: of `ir/pipeline.run`."""
    states = [("captured", func)]
    optimise(func, watch=lambda name, after: states.append((name, after)), **options)
    return states


def told_states(states):
    """Of [(pass, func)]: [(pass, func, whether it changed anything, whether it is left out for its size)]."""
    different = {id(func): func.count() for _, func in states}
    large = sum(different.values()) > LARGE
    ends = {id(states[0][1]), id(states[-1][1])}
    before, found = None, []
    for name, func in states:
        found.append((name, func, func is not before, large and id(func) not in ends))
        before = func
    return found


def differences(before, after):
    """-> (equations of `after` that are new, those that read otherwise than before, equations of `before` that are
    gone), those in regions too."""
    old, new = Flattened(before), Flattened(after)
    match = matched_equations(old, new)
    taken = {id(eqn) for eqn in match.values()}
    added = [e for e in new.eqns if id(e) not in match]
    removed = [e for e in old.eqns if id(e) not in taken]
    changed = [e for e in new.eqns if id(e) in match and new.read(e, match) != old.read(match[id(e)], {})]
    return added, changed, removed


def matched_equations(old, new):
    """{id of an equation of `new`: that of `old` which it is}."""
    match, there = {}, {id(e) for e in old.eqns}
    match.update((id(e), e) for e in new.eqns if id(e) in there)
    for key in ("expression", "kind"):
        taken = {id(e) for e in match.values()}
        left = collections.defaultdict(collections.deque)
        for e in old.eqns:
            if id(e) not in taken:
                left[getattr(old, key)[id(e)]].append(e)
        for e in new.eqns:
            if id(e) not in match and left[getattr(new, key)[id(e)]]:
                match[id(e)] = left[getattr(new, key)[id(e)]].popleft()
    return match


class Flattened:
    """The equations of a function and its regions, each once, with what they are told apart by."""

    def __init__(self, func):
        self.eqns, self.expression, self.kind, self.names, self.met = [], {}, {}, {}, set()
        self.add(func, ())

    def add(self, func, way):
        if id(func) in self.met:
            return
        self.met.add(id(func))
        for n, p in enumerate(func.params):
            self.names[p] = hash((way, p.hint if type(p.hint) is str else n, p.type))
        for eqn in func.eqns:
            attrs = tuple([(k, v) for k, v in eqn.attrs.items() if not eqn.regions() or type(v) in (int, str, bool)])
            kind = eqn.op.name, attrs, tuple([r.type for r in eqn.results]), place_key(eqn.source)
            reads = tuple([self.names.get(x, 0) if isinstance(x, Value) else x for x in eqn.operands])
            self.kind[id(eqn)] = kind
            self.expression[id(eqn)] = expression = hash((eqn.op.name, attrs, reads))
            self.names.update((r, hash((expression, n))) for n, r in enumerate(eqn.results))
            self.eqns.append(eqn)
            for n, region in enumerate(eqn.regions()):
                self.add(region, (*way, eqn.op.name, n))

    def read(self, eqn, match):
        """What an equation reads, in words that two states have in common: results of equations by those of the earlier
        state."""
        found = []
        for x in eqn.operands:
            made = x.eqn if isinstance(x, Value) else None
            if made is None or id(made) not in self.kind:
                found.append(self.names.get(x, 0) if isinstance(x, Value) else x)
            else:
                found.append((id(match.get(id(made), made)), made.results.index(x)))
        return found


def place_key(source):
    code = getattr(source, "code", None)
    return (id(code), source.lasti, source.mark) if code is not None else str(source)
