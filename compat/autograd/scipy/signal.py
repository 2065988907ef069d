"""scipy.signal, with autograd's convolution: along some axes, summed along others, and of all pairs of the rest."""

import numpy as np
from scipy import signal


def __getattr__(name):
    return getattr(signal, name)


def convolve(A, B, axes=None, dot_axes=((), ()), mode="full"):
    """The convolution of A and B along the axes `axes[0]` of A and `axes[1]` of B, all of both by default.

    It is summed along `dot_axes`, which are paired likewise. The result has the other axes of A, those of B, and those
    of `axes`, whose extents are SciPy's for the mode: "full", "same" as A, or "valid", for which one array is the
    larger along all of them.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode={mode!r}: give 'full', 'same' or 'valid'")
    along = [list(range(A.ndim)), list(range(B.ndim))] if axes is None else [list(a) for a in axes]
    dots = [list(a) for a in dot_axes or ((), ())]
    if axes is None and not dots[0]:
        return signal.convolve(A, B, mode)
    A, B = (arranged(x, d, a) for x, d, a in zip((A, B), dots, along))
    return convolved(A, B, len(dots[0]), len(along[0]), mode)


def arranged(x, dots, along):
    """The other axes first, then those summed, then those convolved."""
    rest = [i for i in range(x.ndim) if i not in dots and i not in along]
    return np.transpose(x, (*rest, *dots, *along))


def convolved(A, B, dots, count, mode):
    """Of arrays so arranged, by windows of A against B backwards."""
    first, second = A.ndim - dots - count, B.ndim - dots - count  # how many other axes there are
    m, n = A.shape[A.ndim - count :], B.shape[B.ndim - count :]
    if mode == "valid" and any(b > a for a, b in zip(m, n)):
        if any(a > b for a, b in zip(m, n)):
            raise ValueError("for mode='valid' one array must be the larger along all axes of the convolution")
        other = convolved(B, A, dots, count, mode)
        return np.transpose(other, (*range(second, second + first), *range(second), *range(second + first, other.ndim)))
    before = [k - 1 if mode == "full" else k // 2 if mode == "same" else 0 for k in n]
    after = [k - 1 - b if mode == "same" else b for k, b in zip(n, before)]
    padded = np.pad(A, (*((0, 0),) * (A.ndim - count), *zip(before, after)))
    windows = (
        np.lib.stride_tricks.sliding_window_view(padded, n, tuple(range(A.ndim - count, A.ndim))) if count else padded
    )
    back = B[(..., *(slice(None, None, -1),) * count)]
    summed = (
        [*range(first, first + dots), *range(A.ndim, A.ndim + count)],
        [*range(second, second + dots), *range(second + dots, B.ndim)],
    )
    out = np.tensordot(windows, back, summed)  # the other axes of A, the positions, the other axes of B
    return np.transpose(out, (*range(first), *range(first + count, out.ndim), *range(first, first + count)))
