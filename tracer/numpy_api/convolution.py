"""np.convolve and np.correlate, as windows that slide or as products."""


import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS, control
from ...ir.ops.control import region
from ...ir.ops.shape import broadcast, concatenate, iota, pad, reverse
from ..common.emit import INT64, cast_to, reshape_to
from ..values.array import fresh
from .handles import cut
from .products import conjugate, promoted
from .registry import implements

mul, conv_general, select, is_finite = (OPS[n] for n in ("mul", "conv_general", "select", "is_finite"))


SHORT = 32  # elements of the shorter operand up to which a table of windows costs nothing


LARGE = 4096  # elements of the longer one from which its ends are computed apart and stored


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    x, w = (fresh(value) for value in promoted(a, v))
    if x.ndim != 1 or w.ndim != 1:
        raise ValueError(
            "object of too small depth for desired array"
            if 0 in (x.ndim, w.ndim)
            else "object too deep for desired array"
        )
    if not x.size or not w.size:
        raise ValueError(
            "first array argument cannot be empty" if not x.size else "second array argument cannot be empty"
        )
    w = conjugate(w.value)
    if w.type.size > x.size:  # sum x[n + k] w[n] is sum w[n - k] x[n]
        return fresh(reverse(slid(w, x.value, mode), axes=(0,)))
    return fresh(slid(x.value, w, mode))


@implements(np.convolve)
def convolve(a, v, mode="full"):
    x, w = (np.atleast_1d(fresh(value)) for value in promoted(a, v))
    if not x.size or not w.size:
        raise ValueError("a cannot be empty" if not x.size else "v cannot be empty")
    x, w = (w, x) if w.size > x.size else (x, w)
    if x.ndim != 1 or w.ndim != 1:
        raise ValueError("object too deep for desired array")
    return fresh(slid(x.value, reverse(w.value, axes=(0,)) if w.size > 1 else w.value, mode))


def slid(x, w, mode):
    """sum over n of x[k + n - low] w[n], for the k that `mode` asks; x is not shorter than w."""
    n = w.type.size
    margins = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    mode = dict(enumerate(margins)).get(mode, mode)
    if mode is None:
        raise TypeError("convolve/correlate mode not understood")
    if mode not in margins:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    dtype, work = x.type.dtype, np.dtype(np.int32) if x.type.kind == "b" else x.type.dtype
    x, w, margins = cast_to(x, work), cast_to(w, work), margins[mode]
    if dtype.kind not in "fc" or margins == (0, 0):
        out = padded(x, w, margins)
    elif n <= SHORT:
        out = cut_off(x, w, margins)
    else:  # zeros around x are as good, and much faster, where nothing of w is infinite or NaN
        finite = OPS["reduce_and"](is_finite(w), axes=(0,))
        ways = [
            region(lambda x, w, way=way: way(x, w, margins), [x.type, w.type], way.__name__, ["x", "w"])
            for way in (cut_off, padded)
        ]
        out, = control.cond(finite, x, w, branches=tuple(ways))
    return OPS["ne"](out, Lit(0, out.type)) if dtype.kind == "b" else out


def padded(x, w, margins):
    """`slid` with zeros before and after x."""
    axes, rows = (0, 1, 2), [reshape_to(v, (1, 1, v.type.size)) for v in (x, w)]
    out = conv_general(
        *rows,
        strides=(1,),
        padding=(margins,),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
        dimension_numbers=(axes, axes, axes),
    )
    return reshape_to(out, (out.type.size,))


def cut_off(x, w, margins):
    """`slid` without what lies before and after x."""
    low, high = margins
    first = overhang(x, w, low) if low else None
    last = reverse(overhang(reverse(x, axes=(0,)), reverse(w, axes=(0,)), high), axes=(0,)) if high else None
    if x.type.size < LARGE:
        inner = padded(x, w, (0, 0))
        return concatenate(*[part for part in (first, inner, last) if part is not None], axis=0)
    out = padded(x, w, margins)  # joined, all elements would be asked which part they are in
    out = out if first is None else OPS["dynamic_update_slice"](out, first, Lit(0, INT64))
    return out if last is None else OPS["dynamic_update_slice"](out, last, Lit(out.type.size - high, INT64))


def overhang(x, w, count):
    """sum over n >= count - k of x[k + n - count] w[n], for k < count: what lies before x is left out.

    Row k of a table of as many rows is x moved by k; rows one longer than their period, one after another, move so by
    themselves.
    """
    n = w.type.size
    period = count + n - 1
    line = pad(cut(x, 0, 0, n - 1), Lit(0, x.type.like(())), low=(count,), high=(0,), interior=(0,))
    flat = reshape_to(broadcast(line, shape=(count + 1, period), dims=(1,)), ((count + 1) * period,))
    table = cut(reshape_to(cut(flat, 0, 0, count * (period + 1)), (count, period + 1)), 1, 0, n)
    k, m = (iota(shape=(count, n), dtype=np.dtype(np.int64), axis=d) for d in (0, 1))
    products = mul(table, broadcast(w, shape=(count, n), dims=(1,)))
    inside = OPS["ge"](OPS["add"](k, m), Lit(count, k.type))
    return OPS["reduce_sum"](select(inside, products, Lit(0, products.type)), axes=(1,))
