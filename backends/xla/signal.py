"""XLA lowering of convolution and the discrete Fourier transform.

XLA's CPU compiler gives convolutions to a library that is made for many channels. Of one channel, with few taps, a
convolution is a sum of shifted arrays, which is computed in vectors: with 5 to 31 taps it takes from a half to a
fortieth of the time (benchmarks/kernels/rewrites.py). The library for graphics cards convolves no integers: those
are sums over windows there, which XLA makes one kernel of.
"""

import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.exactness import ONLY_EXACT
from ...ir.ops.signal import conv_general, fft
from .fusion_barrier import always
from .platforms import by_platform
from .table import XLA

TAPS = range(3, 33)  # of two, XLA makes as much
LARGE = 64  # elements of the result; measured by benchmarks/tune.py


def conv(x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    def direct(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, lhs_dilation, rhs_dilation, lax.ConvDimensionNumbers(*dimension_numbers),
            feature_group_count=groups, batch_group_count=batch_groups, precision=lax.Precision.HIGHEST,
        )  # fmt: skip

    if x.dtype.kind in "iu" and x.size and w.size:
        given = strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, (groups, batch_groups)
        return by_platform(x, w, cpu=direct, default=lambda x, w: over_windows(x, w, *given))
    plain = {*strides, *lhs_dilation, *rhs_dilation} <= {1} and all(side >= 0 for sides in padding for side in sides)
    xs, ws, _ = dimension_numbers
    # of float64 XLA's own is as quick; of float32 its threads take 4 to 40 times as long
    alone = x.dtype == np.float32 and all(
        v.shape[i] == 1 for v, order in ((x, xs), (w, ws)) for i in order[:2]
    )
    size = [x.shape[i] + low + high - w.shape[j] + 1 for i, j, (low, high) in zip(xs[2:], ws[2:], padding)]
    if (
        not (plain and alone and w.size in TAPS and min(size, default=0) > 0 and math.prod(size) >= LARGE)
        or ONLY_EXACT.get()
    ):
        return direct(x, w)
    return by_platform(x, w, cpu=lambda x, w: sum_of_taps(x, w, padding, dimension_numbers, size), default=direct)


def over_windows(x, w, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups):
    """The sums of `conv_general` as its declaration has them: windows are gathered and reduced, so nothing of them is
    ever in memory. groups: those of features, and of the batch."""
    (groups, batches), (xs, ws, zs), rank = groups, dimension_numbers, len(strides)
    x, w = lax.transpose(x, xs), lax.transpose(w, ws)
    sides = [(0, 0, 0), (0, 0, 0), *((*side, spread - 1) for side, spread in zip(padding, lhs_dilation))]
    x, taps = lax.pad(x, np.zeros((), x.dtype)[()], sides), w.shape[2:]
    size = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], taps, strides, rhs_dilation)]
    b, o, inner = x.shape[0] // batches, w.shape[0], w.shape[1]
    if min(size, default=1) <= 0:
        return lax.full([(b, o, *(max(n, 0) for n in size))[zs.index(d)] for d in range(rank + 2)], 0, x.dtype)
    at = []  # of each axis the elements that each place of the window reads: [places, taps], among those of all axes
    for axis, (n, k, s, d) in enumerate(zip(size, taps, strides, rhs_dilation)):
        reads = np.arange(n)[:, None] * s + np.arange(k) * d
        at.append(reads.reshape([n if a == axis else k if a == rank + axis else 1 for a in range(2 * rank)]))
    windows = jnp.asarray(x).at[(slice(None), slice(None), *at)].get(mode="promise_in_bounds") if rank else x
    windows = windows.reshape(batches, b, groups, 1, inner, *size, *taps)
    weights = w.reshape(batches, 1, groups, o // (groups * batches), inner, *[1] * rank, *taps)
    z = jnp.sum(windows * weights, (4, *range(5 + rank, 5 + 2 * rank)), x.dtype)
    z = lax.transpose(z, (1, 0, 2, 3, *range(4, 4 + rank))).reshape(b, o, *size)
    return lax.transpose(z, np.argsort(zs).tolist())


def sum_of_taps(x, w, padding, dimension_numbers, size):
    """The sum over taps of the tap times x from there on. x and w have one channel, strides are 1.

    In a branch that is always taken, for fused with what the result is joined to it would not be computed in vectors.
    """
    xs, ws, zs = dimension_numbers
    x, w = (lax.squeeze(lax.transpose(v, order), (0, 1)) for v, order in ((x, xs), (w, ws)))
    x = lax.pad(x, np.zeros((), x.dtype)[()], [(*sides, 0) for sides in padding])

    def summed(x, w):
        z = lax.full(size, 0, x.dtype)
        for tap in np.ndindex(w.shape):
            part = lax.slice(x, tap, [i + n for i, n in zip(tap, size)])
            z = z + part * lax.squeeze(lax.slice(w, tap, [i + 1 for i in tap]), tuple(range(w.ndim)))
        return z

    z = lax.cond(always(w), summed, lambda x, w: lax.full(size, 0, x.dtype), x, w)
    return lax.transpose(lax.expand_dims(z, (0, 1)), np.argsort(zs).tolist())


# fmt: off
XLA.add({
    conv_general:  conv,
    fft:           lambda x, *, kind, lengths: lax.fft(x, kind, lengths),
})
