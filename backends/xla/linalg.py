"""XLA lowering of products: of the spellings of one product, one that XLA's CPU compiler is fast at.

Measured by benchmarks/kernels/products.py, jax 0.10. A float64 product over the first axis of its left factor takes
twice as long as one of the transposed factor, put down in memory; where both factors lie the wrong way round it is the
product the other way round that is transposed. A complex product takes twice as long as its four real ones, and over
the first axis of a matrix with a vector longer than the other way round. XLA undoes transposes beside products, unless
a barrier keeps them.
"""

import math
from collections import Counter

import numpy as np
from jax import lax

from ...ir.core import Value
from ...ir.exactness import ONLY_EXACT, PRECISION
from ...ir.ops.elementwise import cast
from ...ir.ops.linalg import dot_general
from ...ir.types import SMALL
from .platforms import by_platform
from .table import XLA

FEW = 64  # terms or rows from which transposing something else pays; measured by benchmarks/kernels/products.py
# elements from which a matrix that need not be in memory is not put there; re-measured by benchmarks/tune.py
LARGE = 1 << 20
THIN = 32  # rows up to which float32 products are slow the wrong way round; measured by benchmarks/kernels/products.py


def product(x, y, *, contract, batch):
    """`dot_general`, as it is spelled best on the platform the program is compiled for; as it stands where that may
    change no bit."""
    spelled = None if ONLY_EXACT.get() else spelling(x, y, contract, batch)
    if spelled is None:
        return plain(x, y, contract, batch)
    return by_platform(
        x, y, cpu=lambda x, y: spelled(x, y, contract), default=lambda x, y: plain(x, y, contract, batch)
    )


def plain(x, y, contract, batch=((), ())):
    """In the precision that the user asks for: a GPU's TF32 keeps ten bits of a float32, NumPy keeps them all."""
    return lax.dot_general(x, y, (contract, batch), precision=product_precision())


def product_precision():
    """jax's name of the precision in which products are taken now."""
    return lax.Precision[PRECISION.get().upper()]


def of_small(dtype):
    """The product of matrices that were cast from a small float to float32, elsewhere than on CPUs as one of small
    floats, which is added up in float32 too: units for that are several times as fast."""

    def run(x, y, *, contract, batch):
        def narrow(x, y):
            x, y = (lax.convert_element_type(v, dtype) for v in (x, y))
            dims = contract, batch
            return lax.dot_general(x, y, dims, precision=product_precision(), preferred_element_type=np.float32)

        return by_platform(x, y, cpu=lambda x, y: product(x, y, contract=contract, batch=batch), default=narrow)

    return run


def products_of_small(func):
    """{product: how it is lowered} of those whose factors were both cast from one small float."""
    found = {}
    for eqn in func.eqns:
        if eqn.op is dot_general and eqn.operands[0].type.dtype == np.float32:
            dtypes = set(map(dtype_before, eqn.operands))
            if len(dtypes) == 1 and dtypes <= SMALL:
                found[eqn] = of_small(*dtypes)
    return found


def dtype_before(x):
    """The dtype from which the elements of a value were cast to its own, wherever they were moved since; else None."""
    while isinstance(x, Value) and x.eqn is not None and "moves" in x.eqn.op.traits:
        x = x.eqn.operands[0]
    is_cast = isinstance(x, Value) and x.eqn is not None and x.eqn.op is cast
    return x.eqn.operands[0].type.dtype if is_cast else None


def fused(x, y, *, contract, batch):
    """A matrix times a vector as a sum of products, into which XLA fuses what the matrix is computed from: it is never
    in memory."""

    def summed(x, y):
        matrix, vector, (over,) = (x, y, contract[0]) if x.ndim == 2 else (y, x, contract[1])
        return lax.reduce(
            matrix * lax.broadcast_in_dim(vector, matrix.shape, (over,)), np.zeros((), x.dtype)[()], lax.add, (over,)
        )

    return by_platform(x, y, cpu=summed, default=lambda x, y: plain(x, y, contract, batch))


def computed_for(func):
    """The products of a vector and a large matrix that is computed, element by element, for the product alone; none in
    exact programs."""
    reads = Counter(x for e in func.eqns for x in e.operands) + Counter(func.results)
    alone = lambda x: isinstance(x, Value) and x.eqn is not None and "elementwise" in x.eqn.op.traits and reads[x] == 1
    found = []
    if ONLY_EXACT.get():
        return found
    for eqn in func.eqns:
        if eqn.op is dot_general and len(eqn.attrs["contract"][0]) == 1 and not eqn.attrs["batch"][0]:
            one, two = sorted(eqn.operands, key=lambda x: x.type.ndim)
            if (
                (one.type.ndim, two.type.ndim) == (1, 2)
                and two.type.size >= LARGE
                and two.type.kind == "f"
                and alone(two)
            ):
                found.append(eqn)
    return found


def are_leading(x, axes):
    """Whether these axes come before all others, of which there are some."""
    return set(axes) == set(range(len(axes))) and len(axes) < x.ndim


def last(x, axes):
    return are_leading(x, [x.ndim - 1 - i for i in axes])


def spelling(x, y, contract, batch):
    """A function (x, y, contract) that is faster on the CPU than the plain product, or None."""
    k = math.prod(x.shape[i] for i in contract[0])
    if batch[0] or not k or x.dtype.kind not in "fc":
        return None
    m, n = x.size // k, y.size // k
    if x.dtype.kind == "c":
        return (
            in_real_parts
            if min(k, m, n) >= FEW
            else the_other_way_round
            if y.ndim == len(contract[1]) and are_leading(x, contract[0])
            else None
        )
    if not are_leading(x, contract[0]) or min(m, n) <= 1:
        return None
    wide = x.dtype.itemsize == 8
    if last(y, contract[1]):
        return swapped_product if (k >= FEW if wide else min(m, n) <= THIN and k >= 4 * FEW) else None
    here, there = k * m, k * n + m * n  # elements to be transposed, one way and the other
    if wide and n >= FEW and here <= there:
        return left_turned
    return right_turned if m >= FEW and there < here and (n >= 8 if wide else n <= THIN and k >= 4 * FEW) else None


def rows_whole(x, axes):
    """(x with these axes last, put down in memory so; where they are then)"""
    free = [i for i in range(x.ndim) if i not in axes]
    return lax.optimization_barrier(lax.transpose(x, (*free, *axes))), tuple(range(len(free), x.ndim))


def left_turned(x, y, contract):
    x, axes = rows_whole(x, contract[0])
    return plain(x, y, (axes, contract[1]))


def the_other_way_round(x, y, contract):
    return plain(y, x, contract[::-1])


def swapped_product(x, y, contract):
    """The product the other way round, transposed."""
    out, left = lax.optimization_barrier(the_other_way_round(x, y, contract)), y.ndim - len(contract[1])
    return lax.transpose(out, (*range(left, out.ndim), *range(left)))


def right_turned(x, y, contract):
    y, axes = rows_whole(y, contract[1])
    return swapped_product(x, y, (contract[0], axes))


def in_real_parts(x, y, contract):
    (a, b), (c, d) = ((lax.real(z), lax.imag(z)) for z in (x, y))
    times = lambda u, v: product(u, v, contract=contract, batch=((), ()))
    return lax.complex(times(a, c) - times(b, d), times(a, d) + times(b, c))


# fmt: off
XLA.add({dot_general: product})
