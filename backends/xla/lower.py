"""Run an IR function on jax values: inside a jax trace this is lowering, outside it is eager."""

from jax import lax

from ...ir.core import Lit
from .table import XLA


def lower(func, operands):
    """The results of `func` on jax values, as a list. 64-bit types must be enabled by the caller."""
    env = dict(zip(func.params, operands, strict=True))

    def read(x):
        found = env.get(x)
        if found is None:
            assert isinstance(x, Lit), f"{func.name}: an operand is not bound"
            found = env[x] = lax.full(x.type.shape, x.value, x.type.dtype)
        return found

    for eqn in func.eqns:
        out = XLA[eqn.op](*[read(x) for x in eqn.operands], **eqn.attrs)
        for r, value in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
            env[r] = value
    return [read(r) for r in func.results]
