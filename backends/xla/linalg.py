"""XLA lowering of products."""

from jax import lax

from ...ir.ops.linalg import dot_general
from .table import XLA

# precision: a GPU's TF32 keeps ten bits of a float32, NumPy keeps them all
# fmt: off
XLA.add({
    dot_general:  lambda x, y, *, contract, batch: lax.dot_general(x, y, (contract, batch), precision=lax.Precision.HIGHEST),
})
