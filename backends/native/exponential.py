"""`exp`, `exp2`, `expm1` and `tanh` as arithmetic, which LLVM makes vectors of, on every machine.

x = k ln 2 + r, with |r| <= ln(2) / 2, exp(x) = 2**k (1 + p) and exp(x) - 1 = 2**k p + (2**k - 1) for p = exp(r) - 1, by
its series. Nothing of that is lost near 0, where k is 0. [Muller, Elementary Functions (2016), ch. 11; the two parts of
ln 2 are those of fdlibm]
"""

import math
from typing import NamedTuple

from .code import chosen, compare, intrinsic, llvm_type
from .code import llvm_literal as literal


class Width(NamedTuple):
    """Of floats: whole: ints of as many bits; fraction: bits of the fraction; bias: of the exponent; ln2: in two parts,
    of which the first has zeros behind it; terms: of the series; low: below it the result is -1; high: above it is
    infinite; one: tanh is 1 from there on."""

    whole: str
    fraction: int
    bias: int
    ln2: tuple[float, float]
    terms: int
    low: float
    high: float
    one: float


TINY = 1e-20  # fact
ENDS = {8: (-745.14, 710.0), 4: (-103.98, 89.0)}  # fact: below the one exp is 0, above the other infinite
LN2 = {8: (6.93147180369123816490e-1, 1.90821492927058770002e-10), 4: (6.93359375e-1, -2.12194440e-4)}  # fact
WIDTHS = {
    8: Width("i64", 52, 1023, LN2[8], 13, -60.0, 709.782712893384, 20.0),
    4: Width("i32", 23, 127, LN2[4], 7, -25.0, 88.72283935546875, 10.0),
}  # fact


class Floats:
    """Instructions on floats of one type."""

    def __init__(self, code, d):
        self.code, self.d, self.type, self.whole = code, d, llvm_type(d), WIDTHS[d.itemsize].whole

    def number(self, x):
        return literal(self.d.type(x), self.d)

    def op(self, name, x, y):
        return self.code.op(f"{name} {self.type} {x}, {y}")

    def int(self, name, x, n):
        return self.code.op(f"{name} {self.whole} {x}, {n}")

    def power(self, bits):
        """The power of two that has this exponent, with what is added to it, and is positive."""
        shifted = self.int("shl", bits, WIDTHS[self.d.itemsize].fraction)
        return self.code.op(f"bitcast {self.whole} {shifted} to {self.type}")

    def rounded(self, x, factor):
        """(bits, as an int, of which the last are those of the whole number k nearest to the product; k)"""
        magic = self.number(1.5 * 2.0 ** WIDTHS[self.d.itemsize].fraction)
        shifted = self.fma(x, self.number(factor), magic)
        k = self.op("fsub", shifted, magic)
        return self.code.op(f"bitcast {self.type} {shifted} to {self.whole}"), k

    def fma(self, x, y, z):
        return self.call("fmuladd", x, y, z)

    def call(self, name, *xs):
        return intrinsic(self.code, name, self.d, *xs)

    def at_most(self, x, most):
        """x, or a number where it is more. NaN stays."""
        return chosen(self.code, compare(self.code, "gt", self.d, x, self.number(most)), self.d, self.number(most), x)

    def at_least(self, x, least):
        return chosen(self.code, compare(self.code, "lt", self.d, x, self.number(least)), self.d, self.number(least), x)


def series(on, r):
    """exp(r) - 1 of |r| <= ln(2) / 2."""
    terms = WIDTHS[on.d.itemsize].terms
    found = on.number(1 / math.factorial(terms))
    for n in range(terms - 1, 1, -1):
        found = on.fma(found, r, on.number(1 / math.factorial(n)))
    return on.fma(on.op("fmul", r, r), found, r)


def less_multiple_of_ln2(on, x):
    """(the bits that end in k, as an int; exp(r) - 1)"""
    width = WIDTHS[on.d.itemsize]
    shifted, k = on.rounded(x, 1 / math.log(2))
    r = on.fma(k, on.number(-width.ln2[1]), on.fma(k, on.number(-width.ln2[0]), x))
    return shifted, series(on, r)


def less_one(on, x):
    """exp(x) - 1 of an x between the ends of the Width; of zero its sign is lost."""
    shifted, p = less_multiple_of_ln2(on, x)
    half = on.power(on.int("add", shifted, WIDTHS[on.d.itemsize].bias - 1))
    found = on.fma(half, p, on.op("fsub", half, on.number(0.5)))  # of 2**(k - 1): 2**k may be infinite
    return on.op("fadd", found, found)


def scaled(on, p, shifted):
    """2**k (1 + p), in two steps: what they give may be subnormal, or infinite."""
    bias = WIDTHS[on.d.itemsize].bias
    both = on.int("and", on.int("add", shifted, 2 * bias), 4 * bias + 3)  # the exponents of the two, added
    first = on.int("lshr", both, 1)
    second = on.code.op(f"sub {on.whole} {both}, {first}")
    return on.op("fmul", on.op("fmul", on.op("fadd", p, on.number(1.0)), on.power(first)), on.power(second))


def unless_zero(on, x, ends, power):
    """power(x), 0 where x is below its ends. It is asked of 0 there: to multiply to less than the smallest number takes
    a processor a hundred times as long as to multiply."""
    least, most = ends
    below, zero = compare(on.code, "lt", on.d, x, on.number(least)), on.number(0.0)
    found = power(on.at_most(chosen(on.code, below, on.d, zero, x), most))
    return chosen(on.code, below, on.d, zero, found)


def exp(code, d, x):
    on = Floats(code, d)

    def power(x):
        shifted, p = less_multiple_of_ln2(on, x)
        return scaled(on, p, shifted)

    return unless_zero(on, x, ENDS[d.itemsize], power)


def exp2(code, d, x):
    on = Floats(code, d)

    def power(x):
        shifted, k = on.rounded(x, 1.0)
        return scaled(on, series(on, on.op("fmul", on.op("fsub", x, k), on.number(math.log(2)))), shifted)

    return unless_zero(on, x, [end / math.log(2) for end in ENDS[d.itemsize]], power)


def expm1(code, d, x):
    width, on = WIDTHS[d.itemsize], Floats(code, d)
    found = less_one(on, on.at_least(on.at_most(x, width.high), width.low))
    above = compare(code, "gt", d, x, on.number(width.high))
    tiny = compare(code, "lt", d, on.call("fabs", x), on.number(TINY))  # where it is x, of which the half may be none
    return chosen(code, tiny, d, x, chosen(code, above, d, on.number(math.inf), found))


def tanh(code, d, x):
    """e / (e + 2), e being exp(2 |x|) - 1."""
    width, on = WIDTHS[d.itemsize], Floats(code, d)
    a = on.at_most(on.call("fabs", x), width.one)
    e = less_one(on, on.op("fadd", a, a))
    return on.call("copysign", on.op("fdiv", e, on.op("fadd", e, on.number(2.0))), x)
