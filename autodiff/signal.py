"""Derivatives and batching of convolution and the discrete Fourier transform."""

import math

import numpy as np

from ..ir.core import Lit, zeros_like
from ..ir.ops.elementwise import conj, eq, or_, select
from ..ir.ops.shape import iota, reshape, reverse
from ..ir.ops.signal import conv_general, fft
from .batch import BATCH
from .forms import bilinear, linear
from .linalg import permuted

# -- convolution -----------------------------------------------------------------------------------


def fold(x, src, dst):
    """Axis src becomes the slow part of axis dst, which is counted without src."""
    order = [a for a in range(x.type.ndim) if a != src]
    shape = [x.type.shape[a] for a in order]
    shape[dst] *= x.type.shape[src]
    return reshape(permuted(x, (*order[:dst], src, *order[dst:])), shape=tuple(shape))


def unfold(x, axis, n):
    """The slow part of an axis, n long, becomes an axis of its own in front of it."""
    shape = x.type.shape
    return reshape(x, shape=(*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :]))


def to_front(x, axis):
    return permuted(x, (axis, *(a for a in range(x.type.ndim) if a != axis)))


def swapped(spec):
    """Dimension numbers with the two kinds of feature (or batch and feature) exchanged."""
    return (spec[1], spec[0], *spec[2:])


def spans(g, x, w, strides, lhs_dilation, rhs_dilation, dimension_numbers):
    """Spread sizes of x, of the window and of the result, one triple a spatial axis."""
    sizes = ([t.type.shape[d] for d in spec[2:]] for t, spec in zip((x, w, g), dimension_numbers))
    spread = (
        [max((n - 1) * d + 1, 0) for n, d in zip(*pair)] for pair in zip(sizes, (lhs_dilation, rhs_dilation, strides))
    )
    return tuple(zip(*spread))


def conv_left(g, x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    """Convolve g, spread by the strides, with w reversed and its two kinds of feature exchanged."""
    (xs, ws, zs), n = dimension_numbers, groups * batch_groups
    sizes = spans(g, x, w, strides, lhs_dilation, rhs_dilation, dimension_numbers)
    low = [k - 1 - l for (_, k, _), (l, _) in zip(sizes, padding)]
    padding = tuple((l, a + k - 1 - p - l) for (a, k, p), l in zip(sizes, low))
    w = reverse(w, axes=tuple(sorted(ws[2:])))
    if n > 1:
        w = fold(unfold(w, ws[0], n), ws[0], ws[1])
    out = conv_general(
        g, w, strides=lhs_dilation, padding=padding, lhs_dilation=strides, rhs_dilation=rhs_dilation,
        dimension_numbers=(zs, swapped(ws), xs), groups=n, batch_groups=1,
    )  # fmt: skip
    return fold(unfold(out, xs[1], batch_groups), xs[1], xs[0]) if batch_groups > 1 else out


def conv_right(g, x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    """Convolve x with g as the window: batch is summed over, strides and dilations of the window trade places."""
    xs, ws, zs = dimension_numbers
    if g.type.size == 0:
        return zeros_like(w)
    sizes = spans(g, x, w, strides, lhs_dilation, rhs_dilation, dimension_numbers)
    return conv_general(
        x, g, strides=rhs_dilation, padding=tuple((l, p - a + k - l - 1) for (a, k, p), (l, _) in zip(sizes, padding)),
        lhs_dilation=lhs_dilation,
        rhs_dilation=strides, dimension_numbers=(swapped(xs), swapped(zs), swapped(ws)), groups=batch_groups,
        batch_groups=groups,
    )  # fmt: skip


bilinear(conv_general, conv_left, conv_right)


@BATCH.rule(conv_general)
def batch_conv(size, batched, x, w, *, dimension_numbers, groups, batch_groups, **attrs):
    """The new axis joins the batch (x), the output features (w), or makes a group of every example (both)."""
    (xs, ws, zs), n = dimension_numbers, groups * batch_groups
    attrs["dimension_numbers"] = dimension_numbers
    if all(batched):
        x, w = fold(x, 0, xs[0] if batch_groups > 1 else xs[1]), fold(w, 0, ws[0])
        more = (
            {"groups": 1, "batch_groups": batch_groups * size}
            if batch_groups > 1
            else {"groups": groups * size, "batch_groups": 1}
        )
        return to_front(unfold(conv_general(x, w, **attrs, **more), zs[1], size), zs[1])
    attrs |= {"groups": groups, "batch_groups": batch_groups}
    if batched[0]:
        if batch_groups > 1:  # inside each part of the batch
            x = fold(fold(unfold(x, xs[0] + 1, batch_groups), 0, xs[0] + 1), xs[0], xs[0])
        else:
            x = fold(x, 0, xs[0])
        return to_front(unfold(conv_general(x, w, **attrs), zs[0], size), zs[0])
    if n == 1:
        return to_front(unfold(conv_general(x, fold(w, 0, ws[0]), **attrs), zs[1], size), zs[1])
    w = fold(fold(unfold(w, ws[0] + 1, n), 0, ws[0] + 1), ws[0], ws[0])  # inside each group
    z = unfold(unfold(conv_general(x, w, **attrs), zs[1], n), zs[1] + 1, size)
    return fold(to_front(z, zs[1] + 1), zs[1] + 1, zs[1] + 1)


# -- Fourier transform -----------------------------------------------------------------------------


def per_bin(x, n, ends, others):
    """x times `ends` in the bins of a real signal of length n that mirror onto themselves, times `others` elsewhere."""
    place = iota(shape=x.type.shape, axis=x.type.ndim - 1, dtype=np.dtype(np.int64))
    mirrored = or_(eq(place, 0), eq(place * 2, n))  # written so that it is one program for all n
    return x * select(mirrored, Lit(ends, x.type), Lit(others, x.type))


def fft_transpose(g, x, *, kind, lengths):
    """The matrix of a DFT is symmetric. Of real signals only half of it is kept: each kept bin stands for its mirror
    image too."""
    *rest, n = lengths
    if kind in ("fft", "ifft"):
        return fft(g, kind=kind, lengths=lengths)
    if kind == "irfft":  # 1/N times the conjugate of rfft(g), twice where a bin stands for two
        scale = 1 / math.prod(lengths)
        return conj(per_bin(fft(g, kind="rfft", lengths=lengths), n, scale, 2 * scale))
    if rest:  # plain transforms along all axes but the last
        batch, last = tuple(range(g.type.ndim - len(lengths))), g.type.ndim - 1
        inner = tuple(range(len(batch), last))
        g = permuted(
            fft(permuted(g, (*batch, last, *inner)), kind="fft", lengths=tuple(rest)),
            (*batch, *(a + 1 for a in inner), len(batch)),
        )
    # Re sum of g[k] exp(-2 pi i k m / n) is n irfft of conj(g) / 2, and of Re g in the bins that stand for themselves
    return fft(conj(g) * (n / 2) + per_bin(g, n, n / 2, 0), kind="irfft", lengths=(n,))


linear(fft, fft_transpose)

BATCH.add({fft: lambda size, b, x, *, kind, lengths: fft(x, kind=kind, lengths=lengths)})
