"""Variants where two ways meet: the cases of both, those that one value can stand for as one, and which case it is."""

from ...ir.core import Lit
from ...ir.ops.control import TRUTH
from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..guards.state import UNBOUND
from ..values.capturing import look_ahead
from ..values.storage import current_trace
from ..values.variant import Variant, cases, chain, held, is_within, one_of
from . import merge
from .array_object_phis import NOTHING

MOST = 8  # cases of one name


def lone(x, side):
    """What the two sides have where one only has something."""
    return (NOTHING, x) if side else (x, NOTHING)


def first_apart(x, y):
    """The first leaves of two things that no one value can stand for; the two where their structures differ."""
    (xs, tree), (ys, other) = pytree.flatten(x), pytree.flatten(y)
    apart = (pair for pair in zip(xs, ys) if not merge.are_joinable(*pair))
    return next(apart, (x, y)) if tree == other else (x, y)


class VariantPhis:
    """The part of `Merger` that knows Variants."""

    def are_within_reach(self, *sides):
        """Whether the tests of Variants that the sides hold are known there."""
        return all(is_within(x, run.trace) for x, run in zip(sides, (self.a, self.b)) if type(x) is Variant)

    def of_variants(self, x, y, name):
        """A plan for what is a Variant on a side, or both; NOTHING where a side has nothing. None where the cases get
        many."""
        sides = [[] if v is NOTHING else cases(v) for v in (x, y)]
        met, others = [], [*sides[1]]
        for value, tests in sides[0]:
            for n, (other, others_tests) in enumerate(others):
                plan = self.met(value, other, name)
                if plan is not None:
                    met.append((plan, tests, others_tests))
                    del others[n]
                    break
            else:
                met.append((self.value(value, NOTHING, name), tests, None))
        met += [(self.value(NOTHING, value, name), None, tests) for value, tests in others]
        if len(met) == 1:
            return met[0][0]
        look_ahead()
        if len(met) > MOST:
            return None
        at = [self.row(self.holding(self.a, p), self.holding(self.b, q), None) for _, p, q in met[:-1]]
        reason = next(v.reason for v in (x, y) if type(v) is Variant)
        return lambda out: chain(reason, [out[n] for n in at], [plan(out) for plan, _, _ in met])

    def holding(self, run, tests):
        """Whether a case is that of a side, at its end; tests: None where the side has no such case."""
        if tests is None:
            return Lit(False, TRUTH)
        with run.ending():
            return held(tests)

    def apart(self, x, y, name):
        """A plan for two things that no one value can stand for."""
        if x is UNBOUND or y is UNBOUND:
            return self.variant(x, y, name, "is set on one side only of the choice")
        p, q = map(merge.described, first_apart(x, y))
        return self.variant(x, y, name, f"is {p} on one side and {q} on the other side of the choice")

    def variant(self, x, y, name, text):
        """A plan for two things that no one value can stand for."""
        look_ahead()
        try:
            plans = [self.value(x, NOTHING, name), self.value(NOTHING, y, name)]
        except UnsupportedError:
            return self.unmerged(name, text)
        reason = f"{name} {text} at {self.where}"
        return lambda out: one_of(reason, current_trace().bring(self.test), tuple([plan(out) for plan in plans]))


def refuse_other_orders(a, b, where):
    """Refuse two bodies after which a dict, or the attributes of an object, have their keys in another order each: the
    choice is made by value."""
    stored = {}
    for run, other in ((a, b), (b, a)):
        for slot in run.heap:
            if slot.kind not in ("item", "attribute"):
                continue
            before = run.before.get(slot, other.before.get(slot))
            keys = stored.setdefault((id(slot.owner), slot.kind), {a: [], b: []})[run]
            if before is UNBOUND and run.after(slot) is not UNBOUND:
                keys.append(slot)
    for keys in stored.values():
        if keys[a] and keys[b] and keys[a] != keys[b]:
            raise UnsupportedError(message(ORDER.format(keys[a][0].name), where, SORTED))


ORDER = "{} is stored, and data decide behind which other keys it stands"
SORTED = "Store it before the choice, or on both sides in one order."
