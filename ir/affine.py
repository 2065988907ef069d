"""Integers as sums of multiples of others, and the bounds of such sums.

A form is ({symbol: coefficient}, constant). It equals the value it stands for modulo the range of the integer
type; where both bounds of a form lie within the type, it equals it outright, since nothing can have wrapped.
Symbols are ordered as they were met: a loop counter is bounded by forms in the symbols around its loop, so
replacing the latest symbol by its bound first keeps what is known of triangular loops.
"""

import numpy as np

from .core import Lit, Value
from .sample import assume

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


def assumed_extreme(extreme, a, b):
    """The less or the greater of two numbers, which it then is for sizes that change as well."""
    assume(abs(a - b))
    return extreme(a, b)


def affine_constant(n):
    return {}, n


def wrapped(n):
    """The number that the constant of a form stands for, which arithmetic may have wrapped around."""
    return (n - LOWEST) % (HIGHEST - LOWEST + 1) + LOWEST


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
            top = plus(top, affine_constant(-1)) if self.exact(top) else None
        self.symbol(value, affine_constant(0), top or affine_constant(LONGEST))

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
            return affine_constant(int(x.value))
        found = self.forms.get(x)
        if found is None:
            for y in self._unknown(x):
                self.forms[y] = self._form(y) or self.symbol(y)
            found = self.forms[x]
        return found

    def _unknown(self, x):
        """x, and what its form hangs on and has none yet, operands first: chains of thousands are no deep recursion."""
        found, todo = {}, [(x, False)]
        while todo:
            y, known = todo.pop()
            if known:
                found[y] = None
            elif not isinstance(y, Lit) and y not in self.forms and y not in found:
                todo.append((y, True))
                todo += [(z, False) for v in self._operands(y) for z in (v, *self._operands(v)) if z.type.dtype == TYPE]
        return found

    def _operands(self, x):
        """The integer scalars, and their comparisons, that the form of a value, or the outcome of one, asks for."""
        if isinstance(x, Lit) or x.eqn is None or x.type.shape:
            return ()
        asks = FORMS if x.type.dtype == TYPE else OUTCOMES
        return x.eqn.operands if x.eqn.op.name in asks else ()

    def _form(self, x):
        if x.eqn is None or x.type.dtype != TYPE or x.type.shape or x.eqn.op.name not in FORMS:
            return None
        return FORMS[x.eqn.op.name](self, x, *x.eqn.operands)

    def _product(self, x, a, b):
        if isinstance(b, Lit) or isinstance(a, Lit):
            return (
                plus(affine_constant(0), self.form(a), int(b.value))
                if isinstance(b, Lit)
                else plus(affine_constant(0), self.form(b), int(a.value))
            )
        return None

    def _select(self, x, test, one, other):
        picked = self.decided(test)
        return self._hull(x, (one, other), min, max) if picked is None else self.form(one if picked else other)

    def _maximum(self, x, *xs):
        return self._extreme(x, xs, max, 1)

    def _minimum(self, x, *xs):
        return self._extreme(x, xs, min, -1)

    def _extreme(self, x, xs, extreme, sign):
        """The one of two that is the greater, sign 1, or the less, -1, if that is known."""
        a, b = (self.form(y) for y in xs)
        if self.exact(a) and self.exact(b):
            low, high = self.between(plus(a, b, -1) if sign > 0 else plus(b, a, -1))
            if low >= 0 or high <= 0:
                assume(low if low >= 0 else -high)
                return a if low >= 0 else b
        return self._hull(x, xs, extreme, extreme)

    def _natural(self, a, b):
        """(lowest of a, highest of a, b) where a is no less than 0, and b is a number above 0; else None."""
        if not isinstance(b, Lit) or b.value <= 0:
            return None
        low, high = self.interval(a)
        if low is None or low < 0 or high is None:
            return None
        assume(low)
        return low, high, int(b.value)

    def _rem(self, x, a, b):
        found = self._natural(a, b)
        top = found and assumed_extreme(min, found[1], found[2] - 1)
        return found and self.symbol(x, affine_constant(0), affine_constant(top))

    def _quotient(self, x, a, b):
        found = self._natural(a, b)
        return found and self.symbol(x, affine_constant(found[0] // found[2]), affine_constant(found[1] // found[2]))

    def _hull(self, x, xs, low, high):
        """x lies between what `low` and `high` make of the bounds of xs."""
        (a, b), (c, d) = map(self.interval, xs)
        bottom = assumed_extreme(low, a, c) if None not in (a, c) else None
        top = assumed_extreme(high, b, d) if None not in (b, d) else None
        return self.symbol(
            x, None if bottom is None else affine_constant(bottom), None if top is None else affine_constant(top)
        )

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
        found = self.highest(plus(affine_constant(0), form, -1))
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
        low, high = self.between(plus(a, b, -1))
        found = OUTCOMES[eqn.op.name](low, high)
        if found is not None:  # the same as long as neither end changes its side of 0
            assume(*(int(abs(end) - bool(end)) for end in (low, high) if abs(end) != np.inf))
        return found


FORMS = {  # op -> (the affine forms, a result, the operands) -> its form, or None
    "add": lambda known, x, a, b: plus(known.form(a), known.form(b)),
    "sub": lambda known, x, a, b: plus(known.form(a), known.form(b), -1),
    "neg": lambda known, x, a: plus(affine_constant(0), known.form(a), -1),
    "mul": Affine._product,
    "select": Affine._select,
    "maximum": Affine._maximum,
    "minimum": Affine._minimum,
    "rem": Affine._rem,
    "quotient": Affine._quotient,
}


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
