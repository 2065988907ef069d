"""What XLA would compute in another order, and must not.

Its simplifier (jax 0.10, every backend) makes `x + c + d` one sum and `x * c * d` one product with a constant, and one
quotient of `x / y / z`. So `(x + 2**52) - 2**52`, which rounds x, would be x; and 0 * 1e200 * 1e200 would be NaN, for
1e400 is infinite.

On CPUs a product that is fused with a sum is not rounded before it is added, and which are fused depends on the whole
program. In exact programs everything that rounds is rounded by itself.
"""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.exactness import ONLY_EXACT
from ...ir.op import OPS
from ...ir.ops.elementwise import add, div, mul, sub

SUMS, PRODUCTS = (add, sub), (mul, div)
ROUNDED = {op for op in OPS.values() if "exact" in op.traits} | {OPS["rounded"]}  # what these give has been rounded


def kept_apart(func):
    """The equations whose results are rounded to their dtype, and nothing else, before anything is computed of them."""
    if ONLY_EXACT.get():
        return {eqn for eqn in func.eqns if rounds(eqn)}
    found = set()
    for eqn in func.eqns:
        if eqn.op in SUMS + PRODUCTS and eqn.results[0].type.inexact:
            found.update(
                x.eqn for x in eqn.operands if isinstance(x, Value) and x.eqn is not None and merged(x.eqn, eqn)
            )
            found.update(distributed(*eqn.operands))
    return found


def rounds(eqn):
    """Whether an equation computes floats, element by element, that may have to be rounded."""
    return (
        "elementwise" in eqn.op.traits and not eqn.op.multiple and eqn.results[0].type.inexact and eqn.op not in ROUNDED
    )


def merged(first, then):
    """Whether XLA would make one step of two, to another effect than rounding."""
    if first.op is div and then.op is div:
        return True
    a, b = constant(first), constant(then)
    if a is None or b is None:
        return False
    if first.op in SUMS and then.op in SUMS:
        return True
    return first.op in PRODUCTS and then.op in PRODUCTS and not harmless(first.op, a, then.op, b)


def distributed(x, y):
    """The first of two products with one negative number, of which XLA would make that of their sum: -2 * 0.0 is -0.0,
    where -2 + 2 is 0.0."""
    if not all(isinstance(z, Value) and z.eqn is not None and z.eqn.op is mul for z in (x, y)):
        return ()
    a, b = constant(x.eqn), constant(y.eqn)
    return (x.eqn,) if a is not None and a == b and not isinstance(a, complex) and a < 0 else ()


def constant(eqn):
    """The one operand of an equation that is a number other than 0, or None."""
    found = [x.value for x in eqn.operands if isinstance(x, Lit) and x.value != 0]
    return found[0] if len(found) == 1 else None


def harmless(first, a, then, b):
    """Whether multiplying by, or dividing by, two numbers is to do it by one that floats can hold."""
    if isinstance(a, complex) or isinstance(b, complex):
        return True
    with np.errstate(all="ignore"):
        together = np.float64(a) * b if first is then else np.float64(a) / b
    size = abs(together)
    return 1e-30 < size < 1e30 and 1e-30 < abs(a) < 1e30 and 1e-30 < abs(b) < 1e30
