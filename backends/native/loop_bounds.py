"""Bounds of the integers that a loop carries, where its body begins.

    while j >= 0 and a[j] > v:    # j: from 0, as the test says, to what it was before the loop, as it only falls
        a[j + 1] = a[j]
        j -= 1

A bound holds where the loop begins and, by what its test tells, wherever it goes on; or it holds where the loop begins
and the number moves away from it.
"""

from ...ir.affine import HIGHEST, LOWEST, affine_constant, plus
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import cond
from ...ir.walk import conjuncts
from .early_exit import COUNTS, Facts

NOT = OPS["not"]


def bound_carried(known, facts, body, test, state):
    """Tell an Affine the bounds of what a loop carries -> the most trips that follow from them, or None. facts: of the
    region around it; state: the operands that it begins with."""
    first = len(body.params) - len(state)
    params, results = body.params[first:], body.results
    ints = [k for k, x in enumerate(state) if x.type.shape == () and x.type.dtype == COUNTS]
    begun, on = before_body(test, [*state], known, facts), before_body(test, [*results], known, Facts(known))
    trips = []
    for k in ints:
        (low, high), (low_on, high_on) = begun(k), on(k)
        bottom = None if None in (low, low_on) else min(low, low_on)
        top = None if None in (high, high_on) else max(high, high_on)
        terms, step = plus(known.form(results[k]), known.form(params[k]), -1)
        if not terms and top is None and step <= 0 and bottom is not None and bottom + step >= LOWEST:
            top = high  # it falls, and wraps nowhere
        elif not terms and bottom is None and step >= 0 and top is not None and top + step <= HIGHEST:
            bottom = low
        if bottom is not None or top is not None:
            known.symbol(params[k], *(None if n is None else affine_constant(n) for n in (bottom, top)))
        trips += [] if terms else trips_between(bottom, top, step)
    return min(trips, default=None)


def trips_between(bottom, top, step):
    """[The most trips of a loop that carries a number between two bounds by steps], [] where there is no such number or
    it may wrap around and come back."""
    if not step or bottom is None or top is None or bottom + step < LOWEST or top + step > HIGHEST:
        return []
    return [max(top - bottom, 0) // abs(step) + 1]


def before_body(test, values, known, facts):
    """A function of k: (lowest, highest) of the k-th of the values that a loop's test has been asked of, where it goes
    on."""
    first = len(test.params) - len(values)
    of = dict(zip(test.params[first:], values))
    found = facts.where(Lit(True, test.results[0].type), True)
    for truth, holds in implied(test.results[0]):
        inside = Facts(known)
        inside.decided(truth, holds)
        for side, out in ((inside.low, found.low), (inside.high, found.high)):
            out |= {of[p]: n for p, n in side.items() if p in of and of[p] not in out}
        if truth in of and holds:
            for told, so in implied(of[truth]):
                found.decided(told, so)
    return lambda k: found.own(values[k])


def implied(truth):
    """(a truth, whether it is one) of all that follow where a truth is one."""
    for x in conjuncts(truth):
        yield x, True
        if isinstance(x, Value) and x.eqn is not None and x.eqn.op is cond and x.eqn.operands[0].type.kind == "b":
            k, branches = x.eqn.results.index(x), x.eqn.attrs["branches"]
            ways = [n for n, b in enumerate(branches) if not isinstance(b.results[k], Lit) or b.results[k].value]
            if len(ways) == 1:
                yield x.eqn.operands[0], bool(ways[0])
