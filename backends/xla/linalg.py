"""XLA lowering of contractions, convolution, FFT and dense linear algebra."""

from jax import lax

from ...ir.ops.linalg import dot_general
from .table import XLA

# fmt: off
XLA.add({
    dot_general:  lambda x, y, *, contract, batch: lax.dot_general(x, y, (contract, batch)),
})
