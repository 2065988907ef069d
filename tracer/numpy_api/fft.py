"""np.fft: every transform is complex or real transforms over the last axes, padded or cut to length, and scaled."""

import operator
import warnings

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, filled
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import fresh
from .handles import cut, handle
from .registry import implements
from .shaping import moveaxis
from .ufunc_calls import write_out

fft_op, conj, mul, pad = OPS["fft"], OPS["conj"], OPS["mul"], OPS["pad"]
INVERSE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
MOST = 3  # axes one fft op takes


def factor(norm, n, inverse, dtype):
    """What the plain transform (unscaled forwards, divided by n backwards) is multiplied by for `norm`."""
    if norm not in INVERSE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if norm == "ortho":
        root = np.sqrt(n, dtype=dtype)
        return root if inverse else 1 / root
    if norm == "forward":
        return dtype.type(n) if inverse else dtype.type(1) / dtype.type(n)
    return None


def factor_of_halves(lengths, kind, norm):
    """`factor` for float16: NumPy's is rounded to float16 for the axis it begins with, and to float32 for the
    others."""
    inverse = kind in ("ifft", "irfft")
    factor(norm, 1.0, inverse, np.dtype("f4"))
    norm, scale = INVERSE[norm] if inverse else norm, float(np.prod(lengths)) if inverse else 1.0
    for i, n in enumerate(lengths if kind == "irfft" else lengths[::-1]):
        dtype = np.float32 if i else np.float16
        scale *= float(
            {"ortho": np.reciprocal(np.sqrt(n, dtype=dtype)), "forward": np.reciprocal(n, dtype=dtype)}.get(norm, 1)
        )
    return scale


def transform(a, kind, lengths, axes, norm, out=None):
    """`kind` (fft, ifft, rfft, irfft) over `axes`, the last of which is the halved one of real transforms."""
    x = handle(a)
    x = x.astype(np.float32) if x.type.small else x
    if min(lengths, default=1) < 1:
        raise ValueError(f"Invalid number of FFT data points ({min(lengths)}) specified.")
    real = np.result_type(x.dtype.type(0).real.dtype, 1.0)
    double, inverse = real == np.float64, kind in ("ifft", "irfft")
    scale = factor(norm, float(np.prod(lengths)), inverse, np.dtype("f8" if double else "f4"))
    np.fft.rfft(np.ones(1, x.dtype)) if kind == "rfft" else None  # NumPy's own words about complex operands
    work = np.dtype(("f8" if double else "f4") if kind == "rfft" else ("c16" if double else "c8"))
    axes = [np.lib.array_utils.normalize_axis_index(operator.index(d), x.ndim) for d in axes]
    if real == np.float16:
        scale, real = factor_of_halves(lengths, kind, norm), real if len(axes) == 1 else np.dtype(np.float32)
    last = range(-len(axes), 0)
    value = cut_or_padded(
        moveaxis(x, axes, last).value, [*lengths[:-1], lengths[-1] // 2 + 1] if kind == "irfft" else lengths
    )
    value = cast_to(value, work)
    if value.type.size:
        value = fft_op(value, kind=kind, lengths=tuple(lengths))
    else:
        made = lengths[-1] if kind == "irfft" else lengths[-1] // 2 + 1 if kind == "rfft" else lengths[-1]
        value = filled(0, (*value.type.shape[:-1], made), work if kind != "irfft" else real)
        value = cast_to(value, np.dtype("c16" if double else "c8")) if kind == "rfft" else value
    if scale is not None:
        value = mul(value, filled(scale, value.type.shape, value.type.dtype))
    value = cast_to(value, np.dtype(real)) if kind == "irfft" else value
    value = moveaxis(fresh(value), last, axes).value
    return fresh(value) if out is None else write_out(kind, shaped(out, value), value)


def cut_or_padded(x, lengths):
    """The last axes of x cut, or filled with zeros, to `lengths`."""
    lead = x.type.ndim - len(lengths)
    for d, n in enumerate(lengths, lead):
        if x.type.shape[d] > n:
            x = cut(x, d, 0, n)
    high = [0] * lead + [n - m for n, m in zip(lengths, x.type.shape[lead:])]
    zeros = (0,) * x.type.ndim
    return pad(x, filled(0, (), x.type.dtype), low=zeros, high=tuple(high), interior=zeros) if any(high) else x


# -- along one axis --------------------------------------------------------------------------------


def along_one(kind):
    def run(a, n=None, axis=-1, norm=None, out=None):
        x = handle(a)
        size = x.shape[axis] if n is None else operator.index(n)
        return transform(x, kind, [2 * (size - 1) if kind == "irfft" and n is None else size], [axis], norm, out)

    return run


fft, ifft, rfft, irfft = (
    implements(getattr(np.fft, kind))(along_one(kind)) for kind in ("fft", "ifft", "rfft", "irfft")
)


def heeds(function):
    """Whether a transform writes its `out`; NumPy before 2.5 leaves those of hfft, ifft2 and irfft2 alone."""
    x = np.ones((2, 2))
    out = np.full_like(function(x), 7)
    function(x, out=out)
    return bool((out != 7).any())


HEEDED = {f.__name__ for f in (np.fft.hfft, np.fft.ifft2, np.fft.irfft2) if heeds(f)}


@implements(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None, out=None):
    return irfft(np.conj(a), n, axis, INVERSE.get(norm, norm), out if "hfft" in HEEDED else None)


@implements(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    value = conj(rfft(a, n, axis, INVERSE.get(norm, norm)).value)
    return fresh(value) if out is None else write_out("ihfft", shaped(out, value), value)


def shaped(out, value):
    if out.shape != value.type.shape:
        raise with_note(ValueError, message("output array has wrong shape.", locate()))
    return out


# -- over several axes -----------------------------------------------------------------------------


def over_several(kind, default=None):
    def run(a, s=None, axes=default, norm=None, out=None):
        x, out = handle(a), None if default and kind in ("ifft", "irfft") and f"{kind}2" not in HEEDED else out
        lengths, axes = lengths_and_axes(x, s, axes, kind == "irfft")
        if out is not None and kind != "irfft":
            every_step_fits(out, x, kind, lengths, axes)
        if not axes:
            if kind in ("rfft", "irfft"):
                raise IndexError("list index out of range")
            return x
        if len({d % x.ndim for d in axes}) == len(axes) <= MOST:
            return transform(x, kind, lengths, axes, norm, out)
        whole = "fft" if kind in ("fft", "rfft") else "ifft"
        order = range(len(axes) - 1)
        first, rest = ([], order[::-1]) if kind in ("fft", "ifft", "rfft") else (order, [])
        for i in first:
            x = transform(x, whole, [lengths[i]], [axes[i]], norm)
        x = transform(x, kind, [lengths[-1]], [axes[-1]], norm)
        for i in rest:
            x = transform(x, whole, [lengths[i]], [axes[i]], norm)
        return x if out is None else write_out(kind, out, x.value)

    return run


def every_step_fits(out, x, kind, lengths, axes):
    """ValueError where NumPy, which writes the transform along each axis into `out`, would not find room there."""
    shape = list(x.shape)
    for n, d in list(zip(lengths, axes))[::-1]:
        shape[d] = n // 2 + 1 if kind == "rfft" and d == axes[-1] else n
        if tuple(shape) != out.shape:
            raise with_note(
                ValueError,
                message(
                    f"np.fft.{kind}n(out=...) of shape {out.shape} cannot hold a step of shape {tuple(shape)}", locate()
                )
            )


def lengths_and_axes(x, s, axes, inverse_real):
    if axes is None:
        if s is not None:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0).",
                DeprecationWarning,
                stacklevel=3,
            )
        axes = range(-len(s if s is not None else x.shape), 0)
    lengths = list(np.take(x.shape, axes) if s is None else s)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    axes = [operator.index(d) for d in axes]
    for d in axes:
        np.lib.array_utils.normalize_axis_index(d, x.ndim)
    if s is None and inverse_real and axes:
        lengths[-1] = 2 * (x.shape[axes[-1]] - 1)
    return [x.shape[d] if n in (-1, None) else operator.index(n) for n, d in zip(lengths, axes)], axes


for _kind in ("fft", "ifft", "rfft", "irfft"):
    implements(getattr(np.fft, f"{_kind}n"))(over_several(_kind))
    implements(getattr(np.fft, f"{_kind}2"))(over_several(_kind, (-2, -1)))


# -- zero frequency in the middle ------------------------------------------------------------------


@implements(np.fft.fftshift)
def fftshift(x, axes=None):
    return shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x, axes=None):
    return shifted(x, axes, -1)


def shifted(x, axes, sign):
    x = handle(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    return np.roll(x, [x.shape[d] // 2 if sign > 0 else -(x.shape[d] // 2) for d in axes], axes)
