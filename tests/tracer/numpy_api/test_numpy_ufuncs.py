"""Every ufunc of numbers, on every loop NumPy has for it, over the numbers on which implementations part ways."""

import warnings

import numpy as np
import pytest
from compare import check_same
from sweep import by_xla, check_sweep

from wengert import grad, jit
from wengert.tracer.numpy_api import HANDLERS
from wengert.tracer.values.promote import UFUNCS

ALL = sorted({getattr(np, n) for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}, key=lambda u: u.__name__)
NOT_NUMBERS = {np.isnat}  # dates only

EDGES = {
    "?": [True, False],
    "b": [0, 1, -1, 2, -2, 3, 7, -8, 127, -128],
    "B": [0, 1, 2, 3, 7, 8, 100, 128, 254, 255],
    "i": [0, 1, -1, 2, -2, 3, 7, -8, 31, 33, 2**31 - 1, -(2**31)],
    "l": [0, 1, -1, 2, -2, 3, 7, -8, 63, 65, 2**63 - 1, -(2**63)],
    "L": [0, 1, 2, 3, 7, 8, 63, 65, 2**63, 2**64 - 1],
    **dict.fromkeys("efd", [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -2, 2.5, 100, -33, np.inf, -np.inf, np.nan]),
    **dict.fromkeys("FD", [complex(a, b) for a in (0.0, -0.0, 1.0, -1.5) for b in (0.0, -0.0, 2.0, -1.0)]),
}
ORDER = {np.maximum, np.minimum, np.fmax, np.fmin, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.sign}
RTOL = {2: 2e-3, 4: 3e-6, 8: 1e-12, 16: 1e-12}
SIGNED = {np.copysign, np.negative, np.sign, np.sqrt, np.trunc, np.ceil, np.floor, np.rint}
SIGNED |= {np.floor_divide, np.remainder, np.divmod, np.fmod, np.modf}


def operands(ufunc, types):
    """All pairs of edge numbers of a loop, or None where the loop is not of our dtypes."""
    kinds = types.split("->")[0]
    if any(c not in EDGES for c in kinds):
        return None
    xs = [np.array(EDGES[c], c) for c in kinds]
    if ufunc in ORDER:
        xs = [np.append(x, [complex(np.nan, 1), complex(1, np.nan)]).astype(x.dtype) if x.dtype.kind == "c" else x for x in xs]
    if len(xs) == 2:
        xs = [np.repeat(xs[0], len(xs[1])), np.tile(xs[1], len(xs[0]))]
    if ufunc is np.power and kinds[1] in "bil":
        xs[1] = np.abs(xs[1]) % 7  # a negative one raises
    return xs


@pytest.mark.parametrize("ufunc", [u for u in ALL if u.signature is None and u not in NOT_NUMBERS], ids=lambda u: u.__name__)
def test_every_loop_on_edges(ufunc):
    loops = [(types, xs) for types in ufunc.types if (xs := operands(ufunc, types)) is not None]

    def every(*leaves):
        leaves = iter(leaves)
        return [ufunc(*[next(leaves) for _ in xs]) for _, xs in loops]

    leaves = [x for _, xs in loops for x in xs]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, found = every(*leaves), jit(every)(*leaves)
    for (types, xs), want, got in zip(loops, expected, found, strict=True):
        for w, g in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,), strict=True):
            assert type(g) is type(w) and g.dtype == w.dtype and g.shape == w.shape, f"{types}: {g.dtype}{g.shape} against {w.dtype}{w.shape}"
            bad = np.flatnonzero(~alike(g, w, ufunc in SIGNED))
            assert not bad.size, f"{types}: " + "; ".join(f"{[x[i] for x in xs]} gives {g[i]!r}, NumPy {w[i]!r}" for i in bad[:4])


def alike(g, w, signed):
    """Equal, both NaN, or within rounding; subnormal numbers count as 0, as XLA has it."""
    if w.dtype.kind not in "fc":
        return g == w
    if w.dtype.kind == "c" and not np.isfinite(w).all():  # beside an infinite part the other still counts
        near = np.isfinite(w)
        parts = alike(g.real, w.real, signed) & alike(g.imag, w.imag, signed)
        return np.where(near, alike(np.where(near, g, 0), np.where(near, w, 0), signed), parts)
    width = w.dtype.itemsize // (2 if w.dtype.kind == "c" else 1)
    tiny = np.finfo(w.dtype).tiny * (width > 2)
    with np.errstate(all="ignore"):
        ok = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= RTOL[width] * np.abs(w) + tiny)
        return ok & ((np.signbit(g) == np.signbit(w)) | np.isnan(w)) if signed and w.dtype.kind == "f" else ok


def test_what_is_not_captured():
    """The whole list of ufuncs of numbers that have no rule is empty; dates are no numbers."""
    assert {u for u in ALL if u not in UFUNCS and (u, "__call__") not in HANDLERS} == NOT_NUMBERS


PAIRS = ("?", "?"), ("b", "B"), ("i", "L"), ("l", "L"), ("L", "l"), ("l", "f"), ("e", "l"), ("f", "F"), ("i", "D")


@pytest.mark.parametrize("a, b", by_xla([("?", "?"), ("i", "L"), ("l", "f"), ("f", "F")], *PAIRS))
def test_mixed_dtypes(a, b):
    check_sweep(
        """
        x + y
        x - y
        x * y
        x / y
        x // y
        x % y
        x ** abs(y)
        x & y
        x | y
        x ^ y
        x << 1
        x < y
        x <= y
        x > y
        x >= y
        x == y
        x != y
        np.maximum(x, y)
        np.fmin(x, y)
        np.logical_xor(x, y)
        np.copysign(x, y)
        np.arctan2(x, y)
        divmod(x, y)
        -x
        +x
        abs(x)
        ~x
        """,
        x=np.array([0, 1, 3, 100, 1]).astype(a),
        y=np.array([1, 0, 2, 7, 1]).astype(b),
    )


WEAK = """
    x + 1
    1 - x
    x * 2.0
    x / 2
    2 ** x
    np.power(x, 2)
    x ** 2.0
    x ** 0.5
    x ** -1.0
    x ** 0
    x + 1j
    x + True
    x // 3
    x % 3
    -7 // x
    x < 2
    x < -1
    x >= 300
    x == 1000
    x != 2**70
    x > -(2**70)
    2**63 > x
    1.5 <= x
    x + np.float64(1)
    x + np.int64(1)
    np.maximum(x, 1)
    np.add(x, 300)
    x ** -1
    x @ x
    [1, 2, 3] + x
    np.add(x, [[1.0], [2.0]])
    np.hypot(x, 1)
    np.ldexp(x, 2)
"""


@pytest.mark.parametrize("dtype", by_xla(["?", "u1", "f2", "f8", "c8"], "?", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"))
def test_python_numbers_are_weak(dtype):
    check_sweep(WEAK, x=np.array([1, 2, 3]).astype(dtype), rtol=1e-12)


def test_keywords():
    def f(x, out, mask):
        y = np.add(x, 1.0, out=out)
        np.multiply(x, 2, out=out, where=mask)
        q, r = np.divmod(x, 2.0, out=(out[:], None))
        return y is out, q is not r, np.add(x, 1, dtype=np.float32), np.sqrt(x, dtype="f4"), r, np.floor(x, casting="unsafe")

    check_same(f, np.array([1.5, 2.5, 9.0]), np.zeros(3), np.array([True, False, True]))
    check_same(lambda x, out: np.add(x, x, out=out), np.array([1.5]), np.zeros(1, int))  # cannot cast
    check_same(lambda x, out: np.add(x, x, out=out), np.ones(3), np.zeros(2))
    check_same(lambda x, out: np.add(x, x, out=out), np.ones(3), np.zeros((2, 3)))
    check_same(lambda x: np.add(x, x, dtype=int), np.ones(3))
    check_same(lambda x: np.bitwise_and(x, x), np.ones(3))
    check_same(lambda x, y: x + y, np.ones(3), np.ones(2))
    check_same(lambda x: -x, np.array([True]))
    check_same(lambda x: x - x, np.array([True]))


def test_integer_powers_raise():
    check_same(lambda x, n: x**n, np.array([2, 3]), np.array([2, -1]))
    check_same(lambda x, n: x**n, np.array([2, 3, -2]), np.array([62, 40, 63]))
    check_same(lambda x: x**-2, np.array([2, 3]))


METHODS = """
    np.add.reduce(x)
    np.add.reduce(x, axis=1)
    np.add.reduce(x, axis=(0, 1), keepdims=True)
    np.add.reduce(x, axis=None)
    np.add.reduce(x, axis=())
    np.add.reduce(x, dtype=np.float32)
    np.add.reduce(x, initial=3)
    np.add.reduce(x, where=m)
    np.add.reduce(x, 1, where=m, initial=2)
    np.multiply.reduce(x, 1)
    np.multiply.reduce(x, 0, where=m[0])
    np.subtract.reduce(x, 1)
    np.subtract.reduce(x, (0, 1))
    np.true_divide.reduce(x, 0)
    np.floor_divide.reduce(x, 1)
    np.power.reduce(x, 1, dtype=float)
    np.power.reduce(x[:, :2], 1)
    np.power.accumulate(x[:, :2], 1)
    np.remainder.reduce(x, 1)
    np.arctan2.reduce(x, 1)
    np.maximum.reduce(x, 1)
    np.maximum.reduce(x, 1, initial=4)
    np.maximum.reduce(x, 1, where=m)
    np.maximum.reduce(x, 1, where=m, initial=-9)
    np.minimum.reduce(x, None)
    np.fmax.reduce(x, 0)
    np.logical_and.reduce(x, 1)
    np.logical_or.reduce(x, (0, 1))
    np.logical_xor.reduce(x, 0)
    np.bitwise_and.reduce(x, 0)
    np.bitwise_or.reduce(x, 1)
    np.bitwise_xor.reduce(x, None)
    np.logaddexp.reduce(x, 1)
    np.logaddexp2.reduce(x, 1)
    np.hypot.reduce(x, 1)
    np.gcd.reduce(x, 1)
    np.lcm.reduce(x, 0)
    np.greater.reduce(x, 0)
    np.equal.reduce(x == 1, 0)
    np.not_equal.reduce(x == 1, 1)
    np.heaviside.reduce(x, 0)
    np.sin.reduce(x)
    np.divmod.reduce(x)
    np.add.reduce(x, axis=2)
    np.add.reduce(x[:0], 0)
    np.maximum.reduce(x[:0], 0)
    np.maximum.reduce(x[:0], 1)
    np.subtract.reduce(x[:0], 0)
    np.add.accumulate(x)
    np.add.accumulate(x, 1)
    np.add.accumulate(x, 1, dtype=np.float32)
    np.multiply.accumulate(x, 1)
    np.maximum.accumulate(x, 1)
    np.minimum.accumulate(x, 0)
    np.fmin.accumulate(x, 1)
    np.subtract.accumulate(x, 1)
    np.true_divide.accumulate(x, 0)
    np.logical_or.accumulate(x, 1)
    np.logaddexp.accumulate(x, 1)
    np.hypot.accumulate(x, 0)
    np.gcd.accumulate(x, 1)
    np.add.accumulate(x, 5)
    np.add.outer(x, x[0])
    np.subtract.outer(2, x)
    np.multiply.outer(x[:0], x)
    np.less.outer(x[0], [1, 2])
    np.add.reduceat(x, [0, 2, 1, 3], axis=1)
    np.multiply.reduceat(x, [0, 2], axis=0)
    np.maximum.reduceat(x, [1, 0], axis=1)
    np.subtract.reduceat(x, [0, 2], 1)
    np.add.reduceat(x, [9], 1)
"""


@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f8", "c16"], "?", "i4", "u1", "f4", "f8", "c16"))
def test_ufunc_methods(dtype):
    x = np.array([[3, 1, 2, 5], [1, 7, 1, 2], [2, 2, 6, 1]]).astype(dtype)
    check_sweep(METHODS, x=np.asfortranarray(x), m=np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]], bool))


def test_reduce_with_nan_and_out():
    check_sweep(
        """
        np.fmax.reduce(x, 1)
        np.fmin.reduce(x, 0)
        np.maximum.reduce(x, 1)
        np.fmax.accumulate(x, 1)
        np.maximum.accumulate(x, 1)
        np.logaddexp.reduce(x, 1)
        np.maximum.reduce(c)
        np.minimum.reduce(c[:3])
        np.add.reduce(x, 1, out=out)
        np.add.accumulate(x, 1, out=wide)
        np.add.reduce(x, 0, out=out)
        out
        """,
        x=np.array([[1.0, np.nan, 3.0], [np.nan] * 3, [-np.inf, np.inf, 2.0]]),
        c=np.array([1 + 2j, 1 + 3j, 0.5, complex(np.nan, 1), 7]),
        out=np.zeros(3, np.float32),
        wide=np.zeros((3, 3)),
    )


AT = {
    "add": lambda x, i, v: np.add.at(x, i, v),
    "subtract": lambda x, i, v: np.subtract.at(x, (slice(None), i), v[:, None][:3]),
    "multiply": lambda x, i, v: np.multiply.at(x, ([0, 1, 0, 1, 2], i), v),
    "maximum": lambda x, i, v: np.maximum.at(x, (i, 1), v),
    "divide": lambda x, i, v: np.true_divide.at(x, (i, 2), v),
    "power": lambda x, i, v: np.power.at(x, ([0, 1, 0, 1, 2], i), 2),
    "negative": lambda x, i, v: np.negative.at(x, i),
    "slice": lambda x, i, v: np.add.at(x, np.s_[1:, ::2], 2),
    "mask": lambda x, i, v: np.multiply.at(x, x > 2, 3),
    "known mask": lambda x, i, v: np.multiply.at(x, np.array([True, False, True]), 3),
    "one": lambda x, i, v: np.add.at(x, (0, 1), 5),
    "outside": lambda x, i, v: np.add.at(x, i + 3, v),
}


@pytest.mark.parametrize("kind", AT)
@pytest.mark.parametrize("dtype, other", [("f8", "f8"), ("i8", "i8"), ("f4", "f8"), ("i8", "f8")])
def test_at_counts_every_repeat(kind, dtype, other):
    x = np.arange(1, 10).reshape(3, 3).astype(dtype)
    v = np.array([1.5, 2.0, 3.0, 4.5, 2.0]).astype(other)
    i = np.array([0, 2, 0, -1, 1])
    if kind in ("add", "outside"):
        v = v[:, None]
    check_same(lambda x, i, v: (AT[kind](x, i, v), x[0])[1], x, i, v, rtol=1e-6 if dtype == "f4" else 1e-12)


def test_methods_have_derivatives():
    x = np.array([0.6, 1.5, 2.2, 0.3])
    for f in (
        lambda x: np.true_divide.reduce(x),
        lambda x: np.hypot.reduce(x),
        lambda x: np.logaddexp.reduce(x),
        lambda x: np.logaddexp2(x, x[::-1]).sum(),
        lambda x: np.subtract.accumulate(x)[2],
        lambda x: np.frexp(x)[0].sum() + np.ldexp(x, 3).sum(),
        lambda x: np.remainder(5.3, x).sum(),
    ):
        h = 1e-6
        want = [(f(x + h * d) - f(x - h * d)) / (2 * h) for d in np.eye(4)]
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-5, atol=1e-7)
