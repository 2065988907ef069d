"""XLA lowering of convolution and the discrete Fourier transform.

XLA's CPU compiler gives convolutions to a library that is made for many channels. Of one channel, with few taps, a
convolution is a sum of shifted arrays, which is computed in vectors: with 5 to 31 taps it takes from a half to a
fortieth of the time (benchmarks/kernels/rewrites.py).
"""

import math

import numpy as np
from jax import lax

from ...ir.exactness import ONLY_EXACT
from ...ir.ops.signal import conv_general, fft
from .fusion_barrier import always
from .linalg import product_precision
from .platforms import by_platform
from .table import XLA

TAPS = range(3, 33)  # of two, XLA makes as much
LARGE = 64  # elements of the result; measured by benchmarks/tune.py


def conv(x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    def direct(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, lhs_dilation, rhs_dilation, lax.ConvDimensionNumbers(*dimension_numbers),
            feature_group_count=groups, batch_group_count=batch_groups, precision=product_precision(),
        )  # fmt: skip

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
