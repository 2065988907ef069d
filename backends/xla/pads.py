"""One array padded to several places, as the adjoint of overlapping slices is: padded once, and then sliced.

XLA's CPU compiler makes a choice for every element of a pad, and fuses each pad into the sum that reads it; of slices
it makes loads (jax 0.10: the way back of a three-point stencil takes 0.7 of the time).
"""

import numpy as np
from jax import lax

from ...ir.ops.shape import pad


class Margin:
    """What is around an array so that each of its pads is a slice."""

    def __init__(self, pads):
        self.low, self.high = (
            tuple(np.max([eqn.attrs[side] for eqn in pads], axis=0).tolist()) for side in ("low", "high")
        )

    def wide(self, x, value):
        return lax.pad(x, value, [(low, high, 0) for low, high in zip(self.low, self.high)])

    def part(self, wide, eqn):
        start = [most - low for most, low in zip(self.low, eqn.attrs["low"])]
        return lax.slice(wide, start, [i + n for i, n in zip(start, eqn.results[0].type.shape)])


def margins(func):
    """{pad: its Margin}, for those of one array that put it to different places."""
    alike = {}
    for eqn in func.eqns:
        if (
            eqn.op is pad
            and eqn.operands[0].type.size > 1
            and not any(eqn.attrs["interior"])
            and min(*eqn.attrs["low"], *eqn.attrs["high"]) >= 0
        ):
            alike.setdefault((*eqn.operands, eqn.results[0].type), []).append(eqn)
    return {eqn: margin for pads in alike.values() if len(pads) > 1 for margin in [Margin(pads)] for eqn in pads}
