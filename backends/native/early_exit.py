"""Nests that end where a check fails.

A program with checks gives the number of the first that failed, and nothing else that it gives is looked at then. So a
nest that carries that number need not go on with it: it leaves as soon as a check fails, and in all that it computes
the number is 0. What comes behind a check then knows that it held, and LLVM that an index lies within.
"""

import numpy as np

from ...ir.affine import plus
from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.pattern import made_by
from ...ir.sticky import says_0, sticky_values, telling_values
from ...ir.walk import conjuncts
from .code import IndexForm, llvm_literal
from .values import Number

NOT, SELECT, GE, GT, LE, LT = (OPS[name] for name in ("not", "select", "ge", "gt", "le", "lt"))
SIDES = {GE: ("low", 0), GT: ("low", 1), LE: ("high", 0), LT: ("high", -1)}  # of y compared with a number
OPPOSITE = {GE: LT, LT: GE, GT: LE, LE: GT}
COUNTS = np.dtype("i8")


class Facts:
    """What is known of integers in one region, where the checks before have held. known: an Affine."""

    def __init__(self, known):
        self.known, self.low, self.high = known, {}, {}

    def within(self, params, operands):
        """The same in a region of which these are the parameters."""
        made = Facts(self.known)
        for p, x in zip(params, operands):
            for inner, outer in ((made.low, self.low), (made.high, self.high)):
                inner |= {p: outer[x]} if x in outer else {}
        return made

    def where(self, truth, holds):
        """These, and what follows where a truth is one, or is none."""
        made = Facts(self.known)
        made.low |= self.low
        made.high |= self.high
        made.decided(truth, holds)
        return made

    def decided(self, truth, holds):
        """Note that a truth is one, or is none."""
        parts = conjuncts(truth)
        for x in parts if holds or len(parts) == 1 else ():
            inner = made_by(x, NOT)
            self.decided(inner[0], not holds) if inner else self.note(x, holds)

    def passed(self, test, status):
        """Note that the nest has not left, which it would have where a test is True and nothing has failed before."""
        parts = [x for x in conjuncts(test) if not says_0(x, status)]
        if len(parts) == 1:
            self.decided(parts[0], False)

    def note(self, x, truth):
        sides = next(((op, sides) for op in SIDES if (sides := made_by(x, op))), None)
        if sides is None or not isinstance(sides[1][1], Lit) or sides[1][0].type.dtype != COUNTS:
            return
        op, (y, n) = sides
        side, shift = SIDES[op if truth else OPPOSITE[op]]
        if side == "low":
            self.low[y] = max(self.low.get(y, int(n.value) + shift), int(n.value) + shift)
        else:
            self.high[y] = min(self.high.get(y, int(n.value) + shift), int(n.value) + shift)

    def interval(self, x):
        """(lowest, highest) that an integer can be, each None where it is not known."""
        found = self.own(x)
        wraps = made_by(x, SELECT)
        if not wraps:
            return found
        test, wrapped, y = wraps
        if made_by(test, LT) != (y, Lit(0, y.type)):
            return found
        low, high = self.own(y)
        terms, n = plus(self.known.form(wrapped), self.known.form(y), -1)
        if low is None or high is None or terms:
            return found
        wrapped = min(low + n, 0 if high >= 0 else low + n), max(high, n - 1 if low < 0 else high)
        return narrower(found, wrapped)

    def own(self, x):
        return narrower(self.known.interval(x), (self.low.get(x), self.high.get(x)))


def narrower(a, b):
    """The interval in which two have their numbers, each end None where it is not known."""
    pick = lambda best, *ends: best([n for n in ends if n is not None], default=None)
    return pick(max, a[0], b[0]), pick(min, a[1], b[1])


class CommonExit:
    """A place where code goes when a check fails, with its status. arrivals: (status, block) of each that does."""

    def __init__(self, nest):
        self.nest, self.code, self.label, self.arrivals = nest, nest.code, nest.code.label(), []

    def unless(self, failed, status):
        """Go there with a status if a check has failed."""
        if failed == "false":
            return
        code, on = self.code, self.code.label()
        unlikely = code.call("llvm.expect.i1", "i1", ("i1", failed), ("i1", "false"))
        self.arrivals.append((status, code.here))
        code.branch(unlikely, self.label, on)
        code.begin(on)


class EarlyExit(CommonExit):
    """Where the nest that is being emitted leaves. values: of its function, that are the status; param: what it begins
    as, None for 0; result: the position of what it becomes, or of whether that is not 0."""

    def __init__(self, nest, values, param, result):
        super().__init__(nest)
        self.values, self.param, self.result = values, param, result

    @classmethod
    def of(cls, nest, result):
        telling = telling_values if nest.once else sticky_values
        found = None if result is None else telling(nest.func, result)
        return None if found is None else cls(nest, *found, result)

    def begin(self, reps):
        """Leave where a check has failed before. reps: of the parameters -> the values."""
        if self.param is not None:
            before = reps[self.nest.func.params.index(self.param)].name
            self.unless(self.code.op(f"icmp ne i64 {before}, 0"), before)
        return self.values

    def finish(self, numbers):
        """Where all leave. numbers: position of a result -> (pointer, dtype)."""
        code = self.code
        code.begin(self.label)
        status = code.phi("i64", self.arrivals)[0] if self.arrivals else "0"
        for k, (pointer, dtype) in numbers.items():
            told = "true" if dtype == np.bool_ else status
            code.store(pointer, dtype, IndexForm(), told if k == self.result else zero_literal(dtype))
        code.do("ret void" if self.nest.hearing is None else "ret i1 false")


def zero_literal(dtype):
    """The number that is left where none has been computed."""
    return llvm_literal(dtype.type(0), dtype)


def passed(values, status):
    """{value: what it is}, of values among those of the status, where nothing has failed."""
    return {x: Number(Lit(0, x.type)) for x in values if x in status}


def status_result(region, eqn):
    """Which result of a loop or a choice is the status, or None."""
    return next((k for k, r in enumerate(eqn.results) if r in region.status), None)


def status_asked(region, eqn, test):
    """The values of a loop's test that are the status."""
    k = status_result(region, eqn)
    return () if k is None else [test.params[k - eqn.attrs["carried"]]]


def status_within(region, eqn, func):
    """The values of a region of it that are the status."""
    k = status_result(region, eqn)
    return () if k is None else sticky_values(func, k)[0]
