"""XLA lowering of the elementwise ops."""

from jax import lax

from ...ir.ops.elementwise import add, cast, div, exp, log, lt, maximum, mul, neg, pow, select, sub, tanh
from .table import XLA

# fmt: off
XLA.add({
    neg:      lax.neg,
    add:      lax.add,
    sub:      lax.sub,
    mul:      lax.mul,
    div:      lax.div,
    pow:      lax.pow,
    maximum:  lax.max,
    exp:      lax.exp,
    log:      lax.log,
    tanh:     lax.tanh,
    lt:       lax.lt,
    select:   lax.select,
    cast:     lambda x, *, dtype: lax.convert_element_type(x, dtype),
})
