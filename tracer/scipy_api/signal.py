"""scipy.signal: convolution and correlation in any number of dimensions, directly or by Fourier transforms."""

import numpy as np

from ...ir.ops import OPS
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.scipy_registry import captures, only, refuse
from ..values.array import fresh

SIGNAL = "scipy.signal"
DIRECT = 1 << 22  # products from which "auto" goes through Fourier transforms, for floats


def operands(name, in1, in2):
    x, w = handle(in1), handle(in2)
    if x.ndim != w.ndim:
        raise with_note(ValueError, message("in1 and in2 should have the same dimensionality", locate()))
    if not (x.ndim and x.size and w.size):
        refuse(f"scipy.signal.{name} of arrays of shapes {x.shape} and {w.shape}")
    dtype = np.result_type(x.dtype, w.dtype)
    if dtype.kind not in "iufc" or dtype == np.float16:
        refuse(f"scipy.signal.{name} of {dtype} arrays")
    return x.astype(dtype), w.astype(dtype)


def centered(z, shape, full):
    start = [(n - m) // 2 for n, m in zip(full, shape)]
    return z[tuple(slice(k, k + m) for k, m in zip(start, shape))]


def swaps_operands(mode, x, w):
    """Whether "valid" needs the operands the other way round: one must be at least as large as the other everywhere."""
    if mode != "valid":
        return False
    larger = all(m >= n for m, n in zip(x.shape, w.shape))
    if not larger and not all(n >= m for m, n in zip(x.shape, w.shape)):
        raise with_note(
            ValueError,
            message("For 'valid' mode, one must be at least as large as the other in every dimension", locate())
        )
    return not larger


def cropped(z, mode, x, w):
    """What `mode` keeps of the full convolution z of x with w."""
    if mode == "full":
        return z
    shape = x.shape if mode == "same" else tuple(abs(m - n) + 1 for m, n in zip(x.shape, w.shape))
    return centered(z, shape, z.shape)


def direct(x, w):
    if x.dtype.kind == "c":
        real = direct(x.real, w.real) - direct(x.imag, w.imag)
        return real + 1j * (direct(x.real, w.imag) + direct(x.imag, w.real))
    rank = x.ndim
    ones, plain = (1,) * rank, tuple(range(rank + 2))
    flipped = w[(slice(None, None, -1),) * rank]
    out = OPS["conv_general"](
        x[None, None].value, flipped[None, None].copy().value, strides=ones,
        padding=tuple((n - 1, n - 1) for n in w.shape),
        lhs_dilation=ones, rhs_dilation=ones, dimension_numbers=(plain,) * 3, groups=1, batch_groups=1,
    )  # fmt: skip
    return fresh(out)[0, 0]


def by_fourier(x, w, axes):
    shape = [x.shape[a] + w.shape[a] - 1 for a in axes]
    if x.dtype.kind == "c":
        return np.fft.ifftn(np.fft.fftn(x, shape, axes) * np.fft.fftn(w, shape, axes), shape, axes)
    return np.fft.irfftn(np.fft.rfftn(x, shape, axes) * np.fft.rfftn(w, shape, axes), shape, axes)


@captures(SIGNAL)
def convolve(in1, in2, mode="full", method="auto"):
    only("scipy.signal.convolve", mode=(mode, ("full", "valid", "same")), method=(method, ("auto", "direct", "fft")))
    x, w = operands("convolve", in1, in2)
    if method == "fft" and x.dtype.kind in "iu":
        refuse("scipy.signal.convolve(method='fft') of integers", "method='direct' is exact.")
    if swaps_operands(mode, x, w):
        x, w = w, x
    floating = x.dtype.kind in "fc"
    large = x.ndim > 3 or x.size * w.size > DIRECT
    z = (
        by_fourier(x, w, range(x.ndim))
        if floating and (method == "fft" or (method == "auto" and large))
        else direct(x, w)
    )
    return cropped(z, mode, x, w).copy()


@captures(SIGNAL)
def correlate(in1, in2, mode="full", method="auto"):
    """Convolution with the second reversed and conjugated; "valid" of a smaller first is reversed itself."""
    only("scipy.signal.correlate", mode=(mode, ("full", "valid", "same")))
    x, w = operands("correlate", in1, in2)
    back = (slice(None, None, -1),) * x.ndim
    if swaps_operands(mode, x, w):
        return np.conj(correlate(w, x, mode, method)[back]).copy()
    return convolve(x, np.conj(w[back]), mode, method)


@captures(SIGNAL)
def fftconvolve(in1, in2, mode="full", axes=None):
    only("scipy.signal.fftconvolve", mode=(mode, ("full", "valid", "same")), axes=(axes, (None,)))
    x, w = operands("fftconvolve", in1, in2)
    if x.dtype.kind in "iu":
        x, w = x.astype(np.float64), w.astype(np.float64)
    if swaps_operands(mode, x, w):
        x, w = w, x
    return cropped(by_fourier(x, w, range(x.ndim)), mode, x, w).copy()
