"""Casts to floats of fewer digits that XLA cannot leave out: rounding by arithmetic, against NumPy's casts."""

import jax
import ml_dtypes
import numpy as np
import pytest

from wengert import jit
from wengert.backends.xla.narrowing import is_narrowing, rounded_as

CASTS = [
    (np.float32, ml_dtypes.bfloat16),
    (np.float32, ml_dtypes.float8_e4m3fn),
    (np.float32, ml_dtypes.float8_e5m2),
    (np.float32, np.float16),
    (np.float64, np.float16),
    (np.float64, np.float32),
]


def numbers(wide, rng):
    """All upper halves of float32, with what lies halfway between them, and random bits; normal numbers of float32 alone,
    for others count as zero to XLA."""
    halves = np.arange(1 << 16, dtype=np.uint32) << 16
    bits = [halves, halves + 0x8000, halves + 0x7FFF, rng.integers(0, 1 << 32, 1 << 16, dtype=np.uint64).astype(np.uint32)]
    x = np.concatenate([b.view(np.float32) for b in bits])
    x = x[(np.abs(x) > 1.2e-38) | (x == 0) | (x != x)].astype(wide)
    near = np.concatenate([x, x * (1 + 1e-13)]) if wide is np.float64 else x
    return near[(np.abs(near) > 1.2e-38) | ~(np.abs(near) > 0)]


@pytest.mark.parametrize("wide, narrow", CASTS, ids=lambda t: t.__name__)
def test_rounding_is_that_of_the_cast(wide, narrow, rng):
    with np.errstate(all="ignore"), jax.enable_x64(True):
        x = numbers(wide, rng)
        want, got = x.astype(narrow).astype(wide), np.asarray(jax.jit(lambda x: rounded_as(x, narrow))(x))
    assert ((want == got) & (np.signbit(want) == np.signbit(got)) | np.isnan(want) & np.isnan(got)).all()
    assert np.isinf(want).any() or narrow is ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize("wide, narrow", CASTS, ids=lambda t: t.__name__)
def test_what_is_rounded_stays_rounded(wide, narrow, rng):
    x = (rng.normal(size=200) * 3).astype(wide)
    f = lambda x: x.astype(narrow).astype(wide) * 3 + x
    np.testing.assert_array_equal(jit(f, exact=True)(x), f(x))
    assert (f(x) != x * 3 + x).any()


def test_wider_floats_and_integers_are_no_narrowing():
    half, wide = np.ones(2, np.float16), np.ones(2)
    assert is_narrowing(wide, np.dtype(np.float32)) and not is_narrowing(half, np.dtype(np.float32))
    assert not is_narrowing(wide, np.dtype(np.int8)) and not is_narrowing(np.ones(2, int), np.dtype(np.float32))
    assert is_narrowing(half, np.dtype(ml_dtypes.bfloat16))  # of fewer digits, though of larger numbers
