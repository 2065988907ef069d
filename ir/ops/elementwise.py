"""Elementwise ops: arithmetic, transcendental, comparison, bitwise, select and cast."""

import numpy as np

from ..op import ANY, BOOL, FLOAT, INEXACT, INT, NUMBER, REAL, case, elementwise, nonzero, op, positive, reals

# fmt: off
# -- arithmetic ------------------------------------------------------------------------------------


@op(elementwise(INEXACT + INT + "u"))
def neg(x):
    """-x; unsigned integers wrap."""
    return np.negative(x)


@op(elementwise(NUMBER), traits=["commutative"])
def add(x, y):
    """x + y; integers wrap."""
    return np.add(x, y)


@op(elementwise(NUMBER))
def sub(x, y):
    """x - y; integers wrap."""
    return np.subtract(x, y)


@op(elementwise(NUMBER), traits=["commutative"])
def mul(x, y):
    """x * y; integers wrap."""
    return np.multiply(x, y)


@op(elementwise(INEXACT), sample=nonzero)
def div(x, y):
    """x / y, floating or complex."""
    return np.true_divide(x, y)


@op(elementwise(INEXACT), sample=positive)
def pow(x, y):
    """x ** y; for floats NaN where x < 0 and y is no whole number."""
    return np.power(x, y)


@op(elementwise(REAL + BOOL), traits=["commutative"])
def maximum(x, y):
    """The greater of x and y; NaN if either is."""
    return np.maximum(x, y)


# -- transcendental --------------------------------------------------------------------------------


@op(elementwise(INEXACT), sample=reals)
def exp(x):
    """e to the power x."""
    return np.exp(x)


@op(elementwise(INEXACT), sample=positive)
def log(x):
    """Natural logarithm; NaN below zero for floats."""
    return np.log(x)


@op(elementwise(INEXACT), sample=reals)
def tanh(x):
    """Hyperbolic tangent."""
    return np.tanh(x)


# -- comparison, choice, conversion ----------------------------------------------------------------


@op(elementwise(REAL + BOOL, result="bool"))
def lt(x, y):
    """x < y; False where either is NaN."""
    return np.less(x, y)


@op(elementwise(BOOL, ANY, ANY))
def select(c, x, y):
    """x where c, else y."""
    return np.where(c, x, y)


def _cast_rule(op, x, *, dtype):
    return x.like(dtype=dtype)


@op(_cast_rule, traits=["elementwise"], cases=[
    case("f64[3,4]", dtype=np.dtype("f4")), case("i64[3]", dtype=np.dtype("f8")), case("f64[3]", dtype=np.dtype("c16")),
    case("bool[3]", dtype=np.dtype("i8")), case("f64[3]", dtype=np.dtype("i4")),
])
def cast(x, *, dtype):
    """x converted to `dtype` as `astype` does: floats truncate towards zero, complex drops its imaginary part."""
    return np.asarray(x).astype(dtype)
