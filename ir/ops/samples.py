"""Operands for the generated tests of elementwise ops: edges of the formats, points on branch cuts, halves."""

import numpy as np

from ..op import FLOAT, INT, UINT


def _edges(name, dtype, numbers):
    """A spec that draws from a few numbers on which implementations part ways, enough of them to meet in every pair."""

    def draw(rng):
        return rng.choice(np.array(numbers, dtype), 500)

    draw.__name__ = name
    return draw


EDGES = {
    FLOAT: _edges(
        "f32_edges", "f4", [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2, 2.5, -2.5, 3, np.inf, -np.inf, np.nan]
    ),
    INT: _edges("i32_edges", "i4", [0, 1, -1, 2, -2, 3, 7, -8, 31, 32, 33, 100, 2**31 - 1, 1 - 2**31, -(2**31)]),
    UINT: _edges("u8_edges", "u1", [0, 1, 2, 3, 7, 8, 9, 31, 100, 127, 128, 254, 255]),
}
ON_THE_CUTS = np.array([complex(x, y) for x in (-2.0, -0.5, -0.0, 0.0, 0.5, 2.0) for y in (-2.0, -0.0, 0.0, 2.0)], "c8")


def halfway(rng, shape):
    """Away from the whole numbers and from the middles between them: where rounding jumps."""
    return rng.integers(-3, 4, shape) + rng.choice([-1.0, 1.0], shape) * rng.uniform(0.15, 0.35, shape)
