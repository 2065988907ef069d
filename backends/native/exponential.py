"""exp(x) - 1 as arithmetic, which LLVM makes vectors of, on every machine; and `tanh`, of it.

x = k ln 2 + r, with |r| <= ln(2) / 2, and exp(x) - 1 = 2**k p + (2**k - 1) for p = exp(r) - 1, by its series. Nothing
is lost near 0, where k is 0. [Muller, Elementary Functions (2016), ch. 11; the two parts of ln 2 are those of fdlibm]
"""

import math
from typing import NamedTuple

from .code import chosen, compare, llvm_type
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
LN2 = {8: (6.93147180369123816490e-1, 1.90821492927058770002e-10), 4: (6.93359375e-1, -2.12194440e-4)}  # fact
WIDTHS = {
    8: Width("i64", 52, 1023, LN2[8], 13, -60.0, 709.782712893384, 20.0),
    4: Width("i32", 23, 127, LN2[4], 7, -25.0, 88.72283935546875, 10.0),
}  # fact


class Floats:
    """Instructions on floats of one type."""

    def __init__(self, code, d):
        self.code, self.d, self.type = code, d, llvm_type(d)

    def number(self, x):
        return literal(self.d.type(x), self.d)

    def op(self, name, x, y):
        return self.code.op(f"{name} {self.type} {x}, {y}")

    def call(self, name, *xs):
        function = f"llvm.{name}.{'f64' if self.d.itemsize == 8 else 'f32'}"
        return self.code.call(function, self.type, *((self.type, x) for x in xs))

    def least(self, x, most):
        """x, or what it is at most. NaN stays."""
        return chosen(self.code, compare(self.code, "gt", self.d, x, self.number(most)), self.d, self.number(most), x)

    def most(self, x, least):
        return chosen(self.code, compare(self.code, "lt", self.d, x, self.number(least)), self.d, self.number(least), x)


def inside(code, d, x):
    """exp(x) - 1 of an x between the ends of the Width; of zero its sign is lost."""
    width, on = WIDTHS[d.itemsize], Floats(code, d)
    number, fma = on.number, lambda *xs: on.call("fmuladd", *xs)
    magic = number(1.5 * 2.0**width.fraction)  # an int added to it stands in its last bits
    shifted = fma(x, number(1 / math.log(2)), magic)
    k = on.op("fsub", shifted, magic)
    r = fma(k, number(-width.ln2[1]), fma(k, number(-width.ln2[0]), x))
    series = number(1 / math.factorial(width.terms))
    for n in range(width.terms - 1, 1, -1):
        series = fma(series, r, number(1 / math.factorial(n)))
    p = fma(on.op("fmul", r, r), series, r)
    bits = code.op(f"bitcast {on.type} {shifted} to {width.whole}")
    bits = code.op(f"add {width.whole} {bits}, {width.bias - 1}")
    half = code.op(f"bitcast {width.whole} {code.op(f'shl {width.whole} {bits}, {width.fraction}')} to {on.type}")
    found = fma(half, p, on.op("fsub", half, number(0.5)))  # of 2**(k - 1): 2**k may be infinite
    return on.op("fadd", found, found)


def expm1(code, d, x):
    width, on = WIDTHS[d.itemsize], Floats(code, d)
    found = inside(code, d, on.most(on.least(x, width.high), width.low))
    above = compare(code, "gt", d, x, on.number(width.high))
    tiny = compare(code, "lt", d, on.call("fabs", x), on.number(TINY))  # where it is x, of which the half may be none
    return chosen(code, tiny, d, x, chosen(code, above, d, on.number(math.inf), found))


def tanh(code, d, x):
    """e / (e + 2), e being exp(2 |x|) - 1."""
    width, on = WIDTHS[d.itemsize], Floats(code, d)
    a = on.least(on.call("fabs", x), width.one)
    e = inside(code, d, on.op("fadd", a, a))
    return on.call("copysign", on.op("fdiv", e, on.op("fadd", e, on.number(2.0))), x)
