"""Derivatives of the elementwise ops: partials, z being the op's own result."""

from ..ir.core import splat
from ..ir.ops.elementwise import add, cast, div, exp, log, lt, maximum, mul, neg, pow, select, sub, tanh
from .forms import bilinear, linear, scalar, zero



def step(x, y):
    """1 where x > y, 1/2 at ties (JAX's convention), else 0."""
    return select(lt(y, x), splat(1.0, x), select(lt(x, y), splat(0.0, x), splat(0.5, x)))


# fmt: off
#         op        partials
scalar(   exp,      lambda z, x: z)
scalar(   log,      lambda z, x: 1 / x)
scalar(   tanh,     lambda z, x: 1 - z * z)
scalar(   div,      lambda z, x, y: 1 / y,    lambda z, x, y: -z / y)
scalar(   pow,      lambda z, x, y: y * pow(x, y - 1),    lambda z, x, y: z * log(x))
scalar(   maximum,  lambda z, x, y: step(x, y),    lambda z, x, y: step(y, x))
bilinear( mul,      lambda g, x, y: g * y,    lambda g, x, y: x * g)

#         op        transposes
linear(   neg,      lambda g, x: -g)
linear(   add,      lambda g, x, y: g,        lambda g, x, y: g)
linear(   sub,      lambda g, x, y: g,        lambda g, x, y: -g)
linear(   select,   None,                     lambda g, c, x, y: select(c, g, 0.0),    lambda g, c, x, y: select(c, 0.0, g))
linear(   cast,     lambda g, x, *, dtype: cast(g, dtype=x.type.dtype))

zero(lt)
