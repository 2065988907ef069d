"""Convolution and the discrete Fourier transform."""

import numpy as np

from ..op import FLOAT, INEXACT, NUMBER, case, complex_type, op, real_type, require
from ..types import Tensor

# -- convolution -----------------------------------------------------------------------------------


def positions(n, k, stride, low, high, dilation, k_dilation):
    """How many places a window of k taps has along n elements; both sizes spread by their dilations."""
    n, k = max((n - 1) * dilation + 1, 0) + low + high, (k - 1) * k_dilation + 1
    return max((n - k) // stride + 1, 0)


def _conv_rule(op, x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    rank, (xs, ws, zs) = len(strides), dimension_numbers
    require(x.dtype == w.dtype and x.kind in NUMBER, op, f"dtypes differ or are no numbers: {x}, {w}")
    ranks = (len(padding), len(lhs_dilation), len(rhs_dilation), x.ndim - 2, w.ndim - 2)
    require(
        set(ranks) == {rank},
        op,
        f"{rank} strides, but padding, dilations and operands {x}, {w} have {list(ranks)} spatial axes",
    )
    require(
        all(sorted(p) == list(range(rank + 2)) for p in dimension_numbers),
        op,
        f"dimension numbers {dimension_numbers} are no permutations",
    )
    require(
        groups >= 1 and batch_groups >= 1 and 1 in (groups, batch_groups),
        op,
        f"groups {groups} and batch_groups {batch_groups}: one must be 1",
    )
    (b, c, *n), (o, i, *k) = ([t.shape[d] for d in p] for t, p in ((x, xs), (w, ws)))
    require(c == i * groups, op, f"{x} has {c} features in {groups} groups, but each window of {w} reads {i}")
    require(
        o % (groups * batch_groups) == 0,
        op,
        f"the {o} output features of {w} do not split into {groups * batch_groups} groups",
    )
    require(b % batch_groups == 0, op, f"the batch of {x} does not split into {batch_groups} groups")
    require(
        min((*strides, *lhs_dilation, *rhs_dilation, *k), default=1) >= 1,
        op,
        f"strides, dilations and windows start at one, {w} has none",
    )
    sizes = (
        [b // batch_groups, o, *map(positions, n, k, strides, *zip(*padding), lhs_dilation, rhs_dilation)]
        if rank
        else [b // batch_groups, o]
    )
    return x.like(sizes[zs.index(d)] for d in range(rank + 2))


def _widened(x, axis, dilation, low, high):
    """dilation - 1 zeros between neighbours along axis, then low and high zeros around them; negative counts crop."""
    n, at = max((x.shape[axis] - 1) * dilation + 1, 0), (slice(None),) * axis
    out = np.zeros([n + max(low, 0) + max(high, 0) if d == axis else m for d, m in enumerate(x.shape)], x.dtype)
    out[(*at, slice(max(low, 0), max(low, 0) + n, dilation))] = x
    return out[(*at, slice(max(-low, 0), out.shape[axis] - max(-high, 0)))]


def _conv(rank, **attrs):
    """Attributes of a plain convolution, batch and features first, with some of them changed."""
    plain = {
        "strides": (1,) * rank,
        "padding": ((0, 0),) * rank,
        "lhs_dilation": (1,) * rank,
        "rhs_dilation": (1,) * rank,
    }
    return {**plain, "dimension_numbers": (tuple(range(rank + 2)),) * 3, **attrs}


_LAST = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))  # features last
_MIXED = ((1, 2, 0, 3), (2, 0, 1, 3), (3, 0, 2, 1))


# fmt: off
@op(_conv_rule, cases=[
    case("f64[2,3,8]", "f64[4,3,3]", **_conv(1)),
    case("f64[2,3,8]", "f64[4,3,3]", **_conv(1, strides=(2,), padding=((2, 1),), rhs_dilation=(2,))),
    case("f64[2,3,5]", "f64[4,3,3]", **_conv(1, strides=(2,), padding=((-1, 2),), lhs_dilation=(3,))),
    case("f64[2,3,5]", "f64[4,3,2]", **_conv(1, padding=((-4, -2),), lhs_dilation=(3,), strides=(3,))),
    case("f64[2,4,6]", "f64[6,2,3]", **_conv(1, groups=2, padding=((1, 1),))),
    case("f64[4,3,6]", "f64[6,3,3]", **_conv(1, batch_groups=2, padding=((1, 0),))),
    case("f64[2,5,6,3]", "f64[2,3,3,4]", **_conv(2, strides=(2, 1), padding=((1, 0), (0, 2)), dimension_numbers=_LAST)),
    case("f64[6,2,4,5]", "f64[2,3,4,2]", **_conv(2, groups=2, lhs_dilation=(1, 2), rhs_dilation=(2, 1),
        dimension_numbers=_MIXED)),
    case("f64[1,2,3,4,3]", "f64[2,2,2,2,3]", **_conv(3, strides=(1, 2, 1), padding=((0, 1), (1, 1), (0, 0)))),
    case("f64[2,3,2]", "f64[4,3,3]", **_conv(1)),
    case("f64[2,3]", "f64[4,3]", **_conv(0)),
    case("f32[1,2,6]", "f32[3,2,2]", **_conv(1)),
    case("c128[1,2,6]", "c128[3,2,2]", **_conv(1)),
    case("i32[1,2,6]", "i32[3,2,2]", **_conv(1)),
])
# fmt: on
def conv_general(x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups=1, batch_groups=1):
    """Sums of products of x with w at every position of a window: sum over c, k of x[b, c, stride*p + k] w[o, c, k].

    dimension_numbers: which axes of x are (batch, feature, *spatial), of w (out, in, *spatial), of the result (batch,
    feature, *spatial). x is spread by lhs_dilation, then padded by (low, high), cropped where negative; the taps of w
    lie rhs_dilation apart and are not reversed. groups: output features in group i read only input features of group i.
    batch_groups: those in group i read only the i-th part of the batch.  [StableHLO convolution]
    """
    xs, ws, zs = dimension_numbers
    x, w, rank = np.transpose(x, xs), np.transpose(w, ws), len(strides)
    size = [*map(positions, x.shape[2:], w.shape[2:], strides, *zip(*padding), lhs_dilation,
        rhs_dilation)] if rank else []
    b, o = x.shape[0] // batch_groups, w.shape[0] // (groups * batch_groups)
    if 0 in size:
        return np.transpose(np.zeros((b, w.shape[0], *size), x.dtype), np.argsort(zs))
    for axis in range(rank):
        x = _widened(x, axis + 2, lhs_dilation[axis], *padding[axis])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], rhs_dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, rank + 2))) if rank else x
    windows = windows[(..., *(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in rhs_dilation))]
    windows = windows.reshape(batch_groups, b, groups, w.shape[1], *size, *w.shape[2:])
    taps = w.reshape(batch_groups, groups, o, *w.shape[1:])
    places, window = range(5, 5 + rank), range(5 + rank, 5 + 2 * rank)
    z = np.einsum(windows, [
        0, 1, 2, 3, *places, *window,
    ], taps, [0, 2, 4, 3, *window], [1, 0, 2, 4, *places], optimize=True)
    return np.transpose(z.reshape(b, w.shape[0], *size), np.argsort(zs))


# -- Fourier transform -----------------------------------------------------------------------------


def _fft_rule(op, x, *, kind, lengths):
    require(kind in ("fft", "ifft", "rfft", "irfft"), op, f"kind {kind!r} is none of fft, ifft, rfft, irfft")
    require(x.dtype.itemsize >= 4 and x.kind in (FLOAT if kind == "rfft" else INEXACT[1:]), op,
        f"{kind} does not take {x}")
    require(1 <= len(lengths) <= min(3, x.ndim) and min(lengths) >= 1, op,
        f"{kind} of {x} over lengths {list(lengths)}: one to three axes")
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    found, kept = x.shape[x.ndim - len(lengths) :], x.shape[: x.ndim - len(lengths)]
    expected, made = {"irfft": (half, lengths), "rfft": (lengths, half)}.get(kind, (lengths, lengths))
    require(found == tuple(expected), op, f"{kind} over lengths {list(lengths)} takes last axes {list(expected)}, got "
                                          f"{x}")
    return Tensor((*kept, *made), (real_type(x) if kind == "irfft" else complex_type(x)).dtype)


# fmt: off
@op(_fft_rule, cases=[
    case("c128[6]", kind="fft", lengths=(6,)), case("c128[2,3,4]", kind="fft", lengths=(3, 4)),
    case("c64[5]", kind="fft", lengths=(5,)),
    case("c128[6]", kind="ifft", lengths=(6,)), case("c128[2,3,4]", kind="ifft", lengths=(2, 3, 4)),
    case("c64[2,5]", kind="ifft", lengths=(5,)),
    case("f64[6]", kind="rfft", lengths=(6,)), case("f64[2,3,5]", kind="rfft", lengths=(3, 5)),
    case("f32[4]", kind="rfft", lengths=(4,)),
    case("c128[4]", kind="irfft", lengths=(6,)), case("c128[4]", kind="irfft", lengths=(7,)),
    case("c128[2,3,2]", kind="irfft", lengths=(3, 2)),
    case("f64[3,1]", kind="rfft", lengths=(1,)), case("c128[3,1]", kind="irfft", lengths=(1,)),
    case("c64[4]", kind="irfft", lengths=(6,)),
])
# fmt: on
def fft(x, *, kind, lengths):
    """Discrete Fourier transform over the last axes: sum over n of x[n] exp(-2 pi i k n / N); precision is kept.

    kind: "fft"; "ifft", its inverse (divided by N); "rfft", of real x, the last axis cut to N//2 + 1; "irfft", its
    inverse, which ignores what no real signal has. lengths: the N of every axis, of the real side for rfft and irfft.
    [StableHLO fft]
    """
    return getattr(np.fft, f"{kind}n")(x, lengths, range(-len(lengths), 0))
