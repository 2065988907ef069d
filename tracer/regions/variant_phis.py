"""Variants where two ways meet: the cases of both, those that one value can stand for as one, and which case it is."""

from ...ir.core import Lit
from ...ir.ops.control import TRUTH
from ..values.capturing import look_ahead
from ..values.variant import Variant, cases, chain, held, is_within
from .array_object_phis import NOTHING

MOST = 8  # cases of one name


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
