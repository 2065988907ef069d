"""scipy.ndimage.map_coordinates by the nearest element or between neighbours; splines of higher order are refused."""

import functools
import itertools
import operator

import numpy as np

from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.scipy_registry import captures, only, refuse

MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap", "grid-constant")


def index_in(i, n, mode):
    """Whole numbers as places along an axis of n elements."""
    if mode == "grid-wrap":
        return i % n
    if mode in ("reflect", "grid-mirror"):
        i = i % (2 * n)
        return np.minimum(i, 2 * n - 1 - i)
    if mode == "mirror" and n > 1:
        i = i % (2 * n - 2)
        return np.minimum(i, 2 * n - 2 - i)
    return np.clip(i, 0, n - 1)


@captures("scipy.ndimage")
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    name = "scipy.ndimage.map_coordinates"
    only(name, order=(order, (0, 1)), mode=(mode, MODES), output=(output, (None,)))
    x, at = handle(input), handle(coordinates)
    if x.dtype not in (np.float32, np.float64) or not x.size or not x.ndim:
        refuse(
            f"{name} of a {x.dtype} array of shape {x.shape}",
            "It is for float32 and float64 arrays that are not empty.",
        )
    if at.ndim < 1 or at.shape[0] != x.ndim or at.dtype.kind == "c":
        raise with_note(RuntimeError, message("invalid shape for coordinate array", locate()))
    places = [at[d].astype(np.float64) for d in range(x.ndim)]
    wide, steps, outside = x.astype(np.float64), [], np.zeros(at.shape[1:], bool)
    for c, n in zip(places, x.shape):
        if mode == "constant":
            outside = outside | ~((c >= 0) & (c <= n - 1))
        if order == 0:
            steps.append([(np.floor(c + 0.5), 1.0)])
        else:
            low = np.floor(c)
            steps.append([(low, 1 - (c - low)), (low + 1, c - low)])
    total = 0.0
    for corner in itertools.product(*steps):
        index, beyond = [], np.zeros(at.shape[1:], bool)
        for (i, _), n in zip(corner, x.shape):
            whole = np.where(np.isfinite(i), np.clip(i, -2.0**52, 2.0**52), 0).astype(np.int64)
            beyond = beyond | (whole < 0) | (whole > n - 1)
            index.append(index_in(whole, n, mode))
        value = wide[tuple(index)]
        value = np.where(beyond, cval, value) if mode == "grid-constant" else value
        total = total + value * functools.reduce(operator.mul, [w for _, w in corner])
    return np.where(outside, cval, total).astype(x.dtype)
