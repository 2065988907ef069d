"""Integers as sums of multiples of others, and the bounds of such sums.

A form is ({symbol: coefficient}, constant). It equals the value it stands for modulo the range of the integer
type; where both bounds of a form lie within the type, it equals it outright, since nothing can have wrapped.
Symbols are ordered as they were met: a loop counter is bounded by forms in the symbols around its loop, so
replacing the latest symbol by its bound first keeps what is known of triangular loops.
"""

import numpy as np

from .core import Lit, Value

LONGEST = 2**62  # trips that no loop ever makes
TYPE = np.dtype("i8")  # the integers looked through
LOWEST, HIGHEST = np.iinfo(TYPE).min, np.iinfo(TYPE).max


def plus(a, b, times=1):
    """The form a + times * b."""
    (p, c), (q, d) = a, b
    terms = dict(p)
    for k, n in q.items():
        terms[k] = terms.get(k, 0) + times * n
    return {k: n for k, n in terms.items() if n}, c + times * d


def number(n):
    return {}, n


class Affine:
    """What is known of the integer scalars of a program under construction, regions included."""

    def __init__(self):
        self.forms = {}  # value -> form
        self.bounds = {}  # symbol -> (form or None, form or None), in the order they were met
        self.order = {}

    # -- what is told ------------------------------------------------------------------------------
    def symbol(self, value, low=None, high=None):
        """`value` as a symbol of its own, between two forms where they are known."""
        self.order[value] = len(self.order)
        self.bounds[value] = low, high
        self.forms[value] = {value: 1}, 0
        return self.forms[value]

    def same(self, value, other):
        """`value`, a parameter of a region, stands for `other`."""
        if value.type.dtype == TYPE and not value.type.shape:
            self.forms[value] = self.form(other)

    def counter(self, value, limit=None):
        """`value` counts from zero to below `limit`, an operand; it is met only where there is a trip."""
        top = None
        if limit is not None:
            top = self.form(self.positive(limit))
            top = plus(top, number(-1)) if self.exact(top) else None
        self.symbol(value, number(0), top or number(LONGEST))

    def positive(self, limit):
        """x of max(x, 0): the same wherever it allows a trip."""
        if isinstance(limit, Value) and limit.eqn is not None and limit.eqn.op.name == "maximum":
            for x, y in (limit.eqn.operands, limit.eqn.operands[::-1]):
                if isinstance(y, Lit) and y.value <= 0:
                    return x
        return limit

    # -- what follows ------------------------------------------------------------------------------
    def form(self, x):
        """The form of an integer scalar."""
        if isinstance(x, Lit):
            return number(int(x.value))
        found = self.forms.get(x)
        if found is None:
            found = self.forms[x] = self._form(x) or self.symbol(x)
        return found

    def _form(self, x):
        if x.eqn is None or x.type.dtype != TYPE or x.type.shape:
            return None
        name, xs = x.eqn.op.name, x.eqn.operands
        if name in ("add", "sub"):
            return plus(self.form(xs[0]), self.form(xs[1]), 1 if name == "add" else -1)
        if name == "neg":
            return plus(number(0), self.form(xs[0]), -1)
        if name == "mul":
            for a, b in (xs, xs[::-1]):
                if isinstance(b, Lit):
                    return plus(number(0), self.form(a), int(b.value))
        if name == "select":
            picked = self.decided(xs[0])
            return self._hull(x, xs[1:], min, max) if picked is None else self.form(xs[1 if picked else 2])
        if name in ("maximum", "minimum"):
            a, b = (self.form(y) for y in xs)
            if self.exact(a) and self.exact(b):
                low, high = self.between(plus(a, b, -1) if name == "maximum" else plus(b, a, -1))
                if low >= 0 or high <= 0:
                    return a if low >= 0 else b
            return self._hull(x, xs, *((max, max) if name == "maximum" else (min, min)))
        if name in ("rem", "quotient") and isinstance(xs[1], Lit) and xs[1].value > 0:
            (low, high), n = self.interval(xs[0]), int(xs[1].value)
            if low is not None and low >= 0 and high is not None:
                return self.symbol(x, number(0 if name == "rem" else low // n), number(min(high, n - 1) if name == "rem" else high // n))
        return None

    def _hull(self, x, xs, low, high):
        """x lies between what `low` and `high` make of the bounds of xs."""
        (a, b), (c, d) = map(self.interval, xs)
        bottom = low(a, c) if None not in (a, c) else None
        top = high(b, d) if None not in (b, d) else None
        return self.symbol(x, None if bottom is None else number(bottom), None if top is None else number(top))

    # -- bounds ------------------------------------------------------------------------------------
    def highest(self, form):
        """The least number known to be no less than a form, or None."""
        while form[0]:
            last = max(form[0], key=self.order.__getitem__)
            n = form[0][last]
            bound = self.bounds[last][n > 0]
            if bound is None:
                return None
            form = plus(({k: m for k, m in form[0].items() if k is not last}, form[1]), bound, n)
        return form[1]

    def lowest(self, form):
        found = self.highest(plus(number(0), form, -1))
        return None if found is None else -found

    def between(self, form):
        """The bounds of a form, infinite where unknown."""
        low, high = self.lowest(form), self.highest(form)
        return -np.inf if low is None else low, np.inf if high is None else high

    def exact(self, form):
        """Whether a form is the number itself: a symbol, or within the type."""
        if form[1] == 0 and list(form[0].values()) == [1]:
            return True
        low, high = self.between(form)
        return LOWEST <= low and high <= HIGHEST

    def interval(self, x):
        """(lowest, highest) of a value, each None where unknown."""
        form = self.form(x)
        return (self.lowest(form), self.highest(form)) if self.exact(form) else (None, None)

    def decided(self, truth):
        """The outcome of a comparison of integers that bounds decide, or None."""
        if isinstance(truth, Lit):
            return bool(truth.value)
        eqn = truth.eqn
        if eqn is None or truth.type.shape or eqn.op.name not in OUTCOMES or eqn.operands[0].type.dtype != TYPE:
            return None
        a, b = map(self.form, eqn.operands)
        if not (self.exact(a) and self.exact(b)):
            return None
        return OUTCOMES[eqn.op.name](*self.between(plus(a, b, -1)))


def _either(yes, no):
    return True if yes else False if no else None


OUTCOMES = {  # of a - b between low and high
    "lt": lambda low, high: _either(high < 0, low >= 0),
    "le": lambda low, high: _either(high <= 0, low > 0),
    "gt": lambda low, high: _either(low > 0, high <= 0),
    "ge": lambda low, high: _either(low >= 0, high < 0),
    "eq": lambda low, high: _either(low == high == 0, low > 0 or high < 0),
    "ne": lambda low, high: _either(low > 0 or high < 0, low == high == 0),
}  # fmt: skip
