"""The cases of ops: drawn, as functions of one equation, and compared in ulps."""

import zlib

import numpy as np
import pytest

from wengert.ir.core import Builder
from wengert.ir.ops import OPS
from wengert.ir.types import type_of
from wengert.ir.verify import verify

ULPS = 8
LOOSER = {  # op name -> ulps, with the reason beside it
    **dict.fromkeys(("igamma", "igammac", "betainc"), 32),  # exp(a log x - x - lgamma(a)): the exponent's digits before the point are lost behind it
    **dict.fromkeys(("igamma_slope", "betainc_slope"), 512),  # sums of such, whose terms cancel
}
EVERY_OP = pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)


def draw(op, c):
    rng = np.random.default_rng(zlib.crc32(f"{op.name}{c!r}".encode()))
    operands, attrs = c.draw(op, rng)
    return operands, attrs, rng


def func_of(op, operands, attrs):
    build = Builder(op.name)
    with build:
        params = tuple(build.param(type_of(x), f"x{i}") for i, x in enumerate(operands))
        out = build.emit(op, params, attrs)
    return verify(build.finish(out if op.multiple else (out,)))


def close(a, b, ulps):
    assert a.shape == b.shape and a.dtype == b.dtype, f"{type_of(a)} against {type_of(b)}"
    if a.dtype.kind not in "fc":
        np.testing.assert_array_equal(a, b)
        return
    finite = np.isfinite(b)
    scale = np.maximum(np.abs(b), np.max(np.abs(b[finite]), initial=0.0) * (b.ndim > 0))
    np.testing.assert_array_equal(a[~finite], b[~finite])
    bound = ulps * np.finfo(a.dtype).eps * np.maximum(scale, np.finfo(a.dtype).tiny)
    assert np.all(np.abs(a - b)[finite] <= bound[finite]), f"\n{a}\n{b}"
