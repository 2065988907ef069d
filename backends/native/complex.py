"""Scalar operations on complex numbers, which are pairs in a register; `rule_for` picks the table by the types of an
equation."""

import numpy as np

from ...ir.ops import OPS
from ...ir.table import RuleTable
from . import scalar
from .code import chosen, compare, intrinsic, llvm_type
from .scalar import NATIVE, NativeRule, literal

COMPLEX: RuleTable[NativeRule] = RuleTable("native form for complex numbers")


def complex_rule(*names):
    def add(function):
        for name in names:
            COMPLEX[OPS[name]] = function
        return function

    return add


def rule_for(op, d, out):
    """The rule of an op on operands of dtype d with a result of dtype out, or None. Of a choice d is that of its first
    operand, a bool."""
    return (COMPLEX if "c" in (d.kind, out.kind) else NATIVE).get(op)


def is_slow(op, d):
    """Whether an element takes as long as a division of it by another."""
    return op in scalar.SLOW or d.kind == "c" and op is OPS["abs"]


def real_of(d):
    return np.dtype(f"f{d.itemsize // 2}") if d.kind == "c" else d


def parts(code, d, z):
    """(real part, imaginary part)"""
    return tuple(code.op(f"extractvalue {llvm_type(d)} {z}, {k}") for k in (0, 1))


def pair(code, d, x, y):
    f = llvm_type(real_of(d))
    half = code.op(f"insertvalue {llvm_type(d)} poison, {f} {x}, 0")
    return code.op(f"insertvalue {llvm_type(d)} {half}, {f} {y}, 1")


def by_parts(*names):
    """Operations that act on both parts alike."""
    for name in names:

        def run(code, d, out, *zs, name=name):
            f, op = real_of(d), NATIVE[OPS[name]]
            return pair(code, d, *(op(code, f, f, *xs) for xs in zip(*(parts(code, d, z) for z in zs))))

        complex_rule(name)(run)


by_parts("add", "sub", "neg")
complex_rule("rounded", "stop_gradient")(lambda code, d, out, z: z)


@complex_rule("real")
def real(code, d, out, z):
    return parts(code, d, z)[0]


@complex_rule("imag")
def imag(code, d, out, z):
    return parts(code, d, z)[1]


@complex_rule("conj")
def conj(code, d, out, z):
    x, y = parts(code, d, z)
    f = real_of(d)
    return pair(code, d, x, scalar.neg(code, f, f, y))


@complex_rule("make_complex")
def make_complex(code, d, out, x, y):
    return pair(code, out, x, y)


@complex_rule("mul")
def mul(code, d, out, z, w):
    f, (a, b), (x, y) = real_of(d), parts(code, d, z), parts(code, d, w)
    times = lambda p, q: scalar.mul(code, f, f, p, q)
    return pair(
        code, d, scalar.sub(code, f, f, times(a, x), times(b, y)), scalar.add(code, f, f, times(a, y), times(b, x))
    )


def contracted_mul(code, d, z, w):
    """As NumPy multiplies arrays where the processor rounds a product and a sum at once."""
    f, (a, b), (x, y) = real_of(d), parts(code, d, z), parts(code, d, w)
    at_once = lambda p, q, r: code.call(
        f"llvm.fma.{'f64' if f.itemsize == 8 else 'f32'}", t := llvm_type(f), (t, p), (t, q), (t, r)
    )
    return pair(
        code,
        d,
        at_once(a, x, scalar.neg(code, f, f, scalar.mul(code, f, f, b, y))),
        at_once(a, y, scalar.mul(code, f, f, b, x)),
    )


CONTRACTED = {OPS["mul"]: contracted_mul}


@complex_rule("div")
def div(code, d, out, z, w):
    """By the larger part of the divisor, so that no square leaves the floats.  [Smith 1962]"""
    f, (a, b), (c, e) = real_of(d), parts(code, d, z), parts(code, d, w)
    do = lambda name, p, q: NATIVE[OPS[name]](code, f, f, p, q)
    size = [intrinsic(code, "fabs", f, p) for p in (c, e)]
    larger = compare(code, "ge", f, *size)
    p, q = chosen(code, larger, f, c, e), chosen(code, larger, f, e, c)
    ratio = do("div", q, p)
    scale = do("div", literal(1, f), do("add", p, do("mul", q, ratio)))
    x = chosen(code, larger, f, do("add", a, do("mul", b, ratio)), do("add", do("mul", a, ratio), b))
    y = chosen(code, larger, f, do("sub", b, do("mul", a, ratio)), do("sub", do("mul", b, ratio), a))
    zero = compare(code, "eq", f, do("maximum", *size), literal(0, f))
    return pair(
        code, d, *(chosen(code, zero, f, do("div", n, size[0]), do("mul", r, scale)) for n, r in ((a, x), (b, y)))
    )


@complex_rule("abs")
def absolute(code, d, out, z):
    """Without overflow; infinite if either part is, NaN beside it or not."""
    f, sizes = real_of(d), [intrinsic(code, "fabs", real_of(d), x) for x in parts(code, d, z)]
    do = lambda name, *xs: NATIVE[OPS[name]](code, f, f, *xs)
    top, low, end = do("maximum", *sizes), do("minimum", *sizes), literal(np.inf, f)
    ratio = do("div", low, top)
    found = do("mul", top, do("sqrt", do("add", literal(1, f), do("mul", ratio, ratio))))
    infinite = code.op(f"or i1 {compare(code, 'eq', f, sizes[0], end)}, {compare(code, 'eq', f, sizes[1], end)}")
    return chosen(code, infinite, f, end, chosen(code, compare(code, "eq", f, top, literal(0, f)), f, top, found))


def complex_comparison(name, join):
    @complex_rule(name)
    def run(code, d, out, z, w):
        found = [compare(code, name, real_of(d), x, y) for x, y in zip(parts(code, d, z), parts(code, d, w))]
        return code.op(f"{join} i1 {found[0]}, {found[1]}")

    return run


eq, ne = complex_comparison("eq", "and"), complex_comparison("ne", "or")


@complex_rule("is_finite")
def is_finite(code, d, out, z):
    f = real_of(d)
    return code.op("and i1 " + ", ".join(scalar.is_finite(code, f, out, x) for x in parts(code, d, z)))


@complex_rule("select")
def select(code, d, out, c, x, y):
    return chosen(code, c, out, x, y)


@complex_rule("strong_mul")
def strong_mul(code, d, out, z, w):
    return chosen(code, eq(code, d, out, z, literal(0, d)), d, z, mul(code, d, d, z, w))


@complex_rule("integer_pow")
def integer_pow(code, d, out, z, *, n):
    return scalar.by_squaring(code, d, z, n, mul, div)


@complex_rule("cast")
def cast(code, d, out, z, *, dtype):
    f, r = real_of(d), real_of(out)
    if d.kind != "c":
        return pair(code, out, scalar.cast(code, d, r, z, dtype=r), literal(0, r))
    if out.kind == "b":
        return ne(code, d, out, z, literal(0, d))
    x, y = parts(code, d, z)
    return (
        scalar.cast(code, f, r, x, dtype=r)
        if out.kind != "c"
        else pair(code, out, *(scalar.cast(code, f, r, p, dtype=r) for p in (x, y)))
    )
