"""Ufuncs of bfloat16 and floats of eight bits, as ml_dtypes computes them: in float32, and each result rounded back.

What steps from one number to the next does so on their bits.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ..common.emit import cast_to

SINGLE = np.dtype(np.float32)


def in_float32_each(ufunc, rule):
    """`rule`, the rule of a ufunc, for small floats too."""
    stepping = STEPPING.get(ufunc)

    def run(*xs):
        for x in xs:
            if x.type.small:
                break
        else:
            return rule(*xs)
        if stepping is not None:
            return stepping(*xs)
        dtype = x.type.dtype
        out = rule(*[cast_to(x, SINGLE) if x.type.small else x for x in xs])
        back = [cast_to(z, dtype) if z.type.kind == "f" else z for z in (out if isinstance(out, tuple) else (out,))]
        return tuple(back) if isinstance(out, tuple) else back[0]

    return run


def as_bits(x):
    """The bits of small floats, as integers that wrap."""
    return e.bitcast(x, dtype=np.dtype(f"u{x.type.dtype.itemsize}"))


def next_float(x, y):
    """The number next to x on the way to y: that of the next or the last bits, which count away from zero."""
    dtype, bits = x.type.dtype, as_bits(x)
    wide_x, wide_y = cast_to(x, SINGLE), cast_to(y, SINGLE)
    grows = e.eq(e.gt(wide_y, wide_x), e.gt(wide_x, 0))
    stepped = e.bitcast(e.select(grows, bits + 1, bits - 1), dtype=dtype)
    least = cast_to(e.copysign(cast_to(e.bitcast(Lit(1, bits.type), dtype=dtype), SINGLE), wide_y), dtype)
    moved = e.select(e.eq(wide_x, 0), least, stepped)
    lost = e.or_(e.ne(wide_x, wide_x), e.ne(wide_y, wide_y))
    return e.select(lost, Lit(np.nan, x.type), e.select(e.eq(wide_x, wide_y), y, moved))


def gap(x):
    """The distance to the next number away from zero, with the sign of x."""
    most = np.inf if np.isinf(x.type.dtype.type(np.inf)) else np.nan
    away = Lit(most, x.type) if most == np.inf else largest(x.type)
    towards = cast_to(e.copysign(cast_to(away, SINGLE), cast_to(x, SINGLE)), x.type.dtype)
    after = next_float(x, towards)
    return cast_to(cast_to(after, SINGLE) - cast_to(x, SINGLE), x.type.dtype)


def largest(type):
    """The largest number of a dtype without infinities: the last bits before NaN."""
    whole = np.arange(1 << 7, dtype=np.uint8).view(type.dtype).astype(SINGLE)
    return Lit(np.nanmax(whole), type)


STEPPING = {np.nextafter: next_float, np.spacing: gap}
