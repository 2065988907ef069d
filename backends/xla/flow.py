"""XLA lowering of the ops that compute nothing themselves."""

from jax import lax

from ...ir.ops.flow import apart, stop_gradient
from .control import jax_callable
from .fusion_barrier import always
from .platforms import by_platform
from .table import XLA

XLA.add({stop_gradient: lambda x: x})


@XLA.rule(apart)
def lower_apart(*operands, body):
    """A barrier keeps XLA from merging. On CPUs it does not keep it from beginning early, and holding all it makes: a
    branch does."""
    run = jax_callable(body)
    held = lambda *xs: run(*lax.optimization_barrier(xs))
    nothing = lambda *xs: tuple(lax.full(r.type.shape, 0, r.type.dtype) for r in body.results)
    known = next((x for x in reversed(operands) if x.size and x.dtype != bool), None)
    if known is None:
        return held(*operands) if operands else run()
    return by_platform(*operands, cpu=lambda *xs: lax.cond(always(known), run, nothing, *xs), default=held)
