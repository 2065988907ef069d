"""Ops that read all of an axis, in room: reductions, running ones, products, convolutions, windows. They read numbers
in tails that change nothing."""

import numpy as np

from ..core import Lit
from ..dims import Dim
from ..ops.control import COUNTER
from ..ops.elementwise import sub
from ..ops.linalg import dot_general
from ..ops.reduction import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    recurrence,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from ..ops.signal import conv_general, fft
from ..ops.window import (
    reduce_window_argmax,
    reduce_window_argmin,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
)
from .building import ROOM, refuse
from .moving import later
from .tails import Roomy, plain_axes

# -- numbers that change nothing -------------------------------------------------------------------


def least(dtype):
    return -np.inf if dtype.kind == "f" else dtype.kind != "b" and np.iinfo(dtype).min


def greatest(dtype):
    return np.inf if dtype.kind == "f" else dtype.kind == "b" or np.iinfo(dtype).max


def zero(dtype):
    return 0


def one(dtype):
    return 1


def all_bits(dtype):
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind == "u" else -1


def signed_zero(dtype):
    """What leaves the sign of -0.0."""
    return 0 if dtype.kind in "biu" else -0.0


NEUTRAL = {
    reduce_sum: zero, reduce_prod: one, reduce_max: least, reduce_min: greatest, reduce_and: all_bits, reduce_or: zero,
    reduce_xor: zero, argmax: least, argmin: greatest, cumsum: signed_zero, cumprod: one, cummax: least,
    cummin: greatest, cumlogsumexp: least, reduce_window_sum: zero, reduce_window_max: least,
    reduce_window_min: greatest,
}  # fmt: skip
# ops of which the result is the number itself where all that is read is that one
ITSELF = {
    reduce_sum: (0,), reduce_prod: (0, 1), reduce_max: None, reduce_min: None, reduce_and: None, reduce_or: None,
}  # fmt: skip


def reduced(scope, eqn, x):
    axes = eqn.attrs["axes"] if "axes" in eqn.attrs else (eqn.attrs["axis"],)
    if "axis" in eqn.attrs:
        scope.plain(eqn, x, axes)
    x = scope.fill(x, axes, NEUTRAL[eqn.op](x.value.type.dtype), eqn)
    value = eqn.op(x.value, **scope.attrs(eqn))
    kept = [a for a in range(len(x.axes)) if a not in axes]
    stays = lambda c: eqn.op in ITSELF and (ITSELF[eqn.op] is None or c in ITSELF[eqn.op])
    ends = {i: x.ends[a] for i, a in enumerate(kept) if a in x.ends and stays(x.ends[a])}
    free = [i for i, a in enumerate(kept) if a in x.free]
    return [Roomy(value, [x.axes[a] for a in kept], ends, free)]


def running(scope, eqn, x):
    """What comes later is read by none but where it runs from the far end."""
    axis, back = eqn.attrs["axis"], eqn.attrs["reverse"]
    scope.plain(eqn, x, [axis])
    if back:
        x = scope.fill(x, [axis], NEUTRAL[eqn.op](x.value.type.dtype), eqn)
    ends = {axis: x.ends[axis]} if back and axis in x.ends and eqn.op is not cumlogsumexp else {}
    return [Roomy(eqn.op(x.value, **scope.attrs(eqn)), x.axes, ends)]


ROOM.add(dict.fromkeys(
    (reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor, argmax, argmin), reduced
))  # fmt: skip
ROOM.add(dict.fromkeys((cumsum, cumprod, cummax, cummin, cumlogsumexp), running))


@ROOM.rule(recurrence)
def recurring(scope, eqn, a, b):
    """From the far end, zeros come before the last element, whose own factor is not read."""
    axis = eqn.attrs["axis"]
    scope.plain(eqn, a)
    scope.plain(eqn, b)
    if eqn.attrs["reverse"] and b.axes[axis] is not None:
        b = scope.fill(b, [axis], 0, eqn)
        (n,) = b.axes[axis]
        shorter = Roomy(a.value, [(n - 1,) if i == axis else f for i, f in enumerate(a.axes)])
        a = scope.fill(shorter, [axis], 0, eqn)
    return [Roomy(recurrence(a.value, b.value, **scope.attrs(eqn)), b.axes)]


# -- products --------------------------------------------------------------------------------------


def zeros_in(scope, eqn, x, axes):
    return scope.fill(x, axes, 0, eqn)


def finite_end(x, a):
    return a in x.ends and bool(np.isfinite(x.ends[a]))


@ROOM.rule(dot_general)
def product(scope, eqn, x, y):
    """Zeros in the tails of both, of what is summed over: zero times what may be infinite is none."""
    (cx, cy), (bx, by) = eqn.attrs["contract"], eqn.attrs["batch"]
    for i, j in (*zip(cx, cy, strict=True), *zip(bx, by, strict=True)):
        if x.axes[i] != y.axes[j]:
            scope.plain(eqn, x, [i])
            scope.plain(eqn, y, [j])
    x = zeros_in(scope, eqn, x, [i for i, j in zip(cx, cy, strict=True) if not (finite_end(x, i) and is_zero_end(y, j))])
    y = zeros_in(scope, eqn, y, [j for i, j in zip(cx, cy, strict=True) if not (finite_end(y, j) and is_zero_end(x, i))])
    axes = [x.axes[i] for i in bx] + [f for i, f in enumerate(x.axes) if i not in cx + bx]
    axes += [f for j, f in enumerate(y.axes) if j not in cy + by]
    return [Roomy(dot_general(x.value, y.value, **scope.attrs(eqn)), axes)]


def is_zero_end(x, a):
    return a in x.ends and bool(x.ends[a] == 0)


@ROOM.rule(conv_general)
def convolved(scope, eqn, x, w):
    """Zeros in the tails of what is summed over: features, taps of the window, and elements that a window reaches."""
    attrs = {k: scope.attr(eqn, k) for k in eqn.attrs}
    (xb, xf, *xs), (wo, wi, *ws), _ = attrs["dimension_numbers"]
    scope.plain(eqn, x)
    scope.plain(eqn, w)
    many = attrs["groups"] != 1 or attrs["batch_groups"] != 1
    if many and any(t.axes[a] is not None for t, a in ((x, xb), (x, xf), (w, wo), (w, wi))):
        refuse(eqn, "groups of channels or batches that hang on sizes")
    plain = [attrs["strides"], attrs["lhs_dilation"], attrs["rhs_dilation"]]
    if any(isinstance(n, Dim) for each in plain for n in each):
        refuse(eqn, "steps that hang on sizes")
    read_x, read_w, moving = [xf], [wi], []
    for k, ((low, high), a, b) in enumerate(zip(attrs["padding"], xs, ws, strict=True)):
        if w.axes[b] is not None:
            read_w.append(b)
        if w.axes[b] is not None or isinstance(high, Dim) or high > 0:
            read_x.append(a)
        if isinstance(low, Dim):
            moving.append((k, low))
    x = scope.fill(x, read_x, 0, eqn)
    w = scope.fill(w, read_w, 0, eqn)
    value = conv_general(x.value, w.value, **scope.attrs(eqn))
    for k, low in moving:
        value = earlier_windows(scope, eqn, value, attrs, k, low)
    return scope.made(eqn, value)


def earlier_windows(scope, eqn, value, attrs, k, low):
    """What windows give, from that on which begins where the first one does."""
    if attrs["strides"][k] != 1 or not scope.sizes.rises(low):
        refuse(eqn, f"windows begin {low} elements before the first")
    most = scope.sizes.at(low)
    axis = attrs["dimension_numbers"][2][2 + k]
    return later(scope, value, axis, sub(Lit(most, COUNTER), scope.sizes.scalar(low)), most, 0)


@ROOM.rule(fft)
def transformed(scope, eqn, x):
    lengths = scope.attr(eqn, "lengths")
    last = range(len(x.axes) - len(lengths), len(x.axes))
    if any(x.axes[a] is not None for a in last) or any(isinstance(n, Dim) for n in lengths):
        refuse(eqn, "a transform of more elements is another one")
    return [Roomy(fft(x.value, **scope.attrs(eqn)), [*x.axes[: last.start], *(None for _ in last)])]


# -- windows -----------------------------------------------------------------------------------------


def windowed(scope, eqn, x):
    attrs = {k: scope.attr(eqn, k) for k in eqn.attrs}
    over = [a for a in range(len(x.axes)) if (attrs["window"][a], attrs["strides"][a]) != (1, 1)
        or attrs["low"][a] != 0 or attrs["high"][a] != 0]  # fmt: skip
    scope.plain(eqn, x, over)
    if any(isinstance(n, Dim) for k in ("window", "strides", "low") for n in attrs[k]):
        refuse(eqn, "windows that hang on sizes")
    beyond = [a for a in over if isinstance(attrs["high"][a], Dim) or attrs["high"][a] > 0]
    if eqn.op in NEUTRAL:
        x = scope.fill(x, beyond, NEUTRAL[eqn.op](x.value.type.dtype), eqn)
    elif any(x.axes[a] is not None for a in beyond) or any(f is not None for f in x.axes[1:]):
        refuse(eqn, "an index counts elements row by row")
    axes = plain_axes(scope.dims(eqn.results[0]))
    axes = [axes[a] if a in over else x.axes[a] for a in range(len(axes))]
    return [Roomy(eqn.op(x.value, **scope.attrs(eqn)), axes)]


ROOM.add(dict.fromkeys(
    (reduce_window_sum, reduce_window_max, reduce_window_min, reduce_window_argmax, reduce_window_argmin), windowed
))  # fmt: skip
