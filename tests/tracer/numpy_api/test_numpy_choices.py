"""Predicates, choices, stores under a mask, and functions of single elements: NumPy's results on traced arrays."""

import numpy as np
import pytest
from compare import check_same
from sweep import by_xla, check_sweep

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError

DTYPES = ["?", "u1", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]

PREDICATES = """
    np.isclose(x, y)
    np.isclose(x, 2)
    np.isclose(2.0, x, rtol=0.6)
    np.isclose(x, y, atol=x)
    np.isclose(x[0], 1.0, equal_nan=True)
    np.allclose(x, y)
    np.allclose(x, x)
    np.array_equal(x, y)
    np.array_equal(x, x)
    np.array_equal(x, y[:2])
    np.array_equal(x, [1, 2, 3, 0])
    np.array_equal(x, y, equal_nan=True)
    np.array_equiv(x, x[None])
    np.array_equiv(x, y[:3])
    np.isposinf(x)
    np.isneginf(x)
    np.iscomplex(x)
    np.isreal(x)
    np.iscomplex(x[0])
    np.isrealobj(x)
    np.iscomplexobj(x)
    np.isin(x, [1, 7])
    np.isin(x, y, invert=True)
    np.isin(x[0], y)
    np.isin(x, [])
    np.isin([1, 2, 3], x)
    np.isin(x, np.arange(3.0, 99.0))
    np.isin(x, 2, kind="hash")
"""
CHOICES = """
    np.where(x > 1, x, y)
    np.where(x > 1, x, 0)
    np.where(x, 1.5, y)
    np.where(x[0] > 1, 1.0, 2.0)
    np.where(x[:, None] > y, x[:, None], 1)
    np.where(True, x, 2j)
    np.where(x > 1, x)
    np.select([x > 2, x > 1], [x, y])
    np.select([x > 2, x > 1], [x, 5.0], default=-1)
    np.select([x > 2], [x], 3j)
    np.select([x[0] > 2], [1.0])
    np.select([x], [x])
    np.select([x > 1], [x, y])
    np.select([], [])
    np.choose([0, 1, 1, 0], [x, y])
    np.choose(np.array([[0], [1]]), (x, 7))
    np.choose([0, 3, -1, 0], [x, y], mode="wrap")
    np.choose([0, 3, -1, 0], [x, y], mode="clip")
    np.choose([0.0, 1.0], [x[:2], y[:2]])
    np.clip(x, 1, 2)
    np.clip(x, 1.5, None)
    np.clip(x, None, y)
    x.clip(1)
    x.clip(max=2)
    x.clip(y, 3)
    np.clip(x, min=1, max=2)
    np.clip(x, -300, 300)
    np.clip(x, 2, 1)
    np.clip(x, None, None)
    np.clip(x, [1, 2, 1, 0], np.float64(2))
    np.clip(x, 1)
    np.clip(x, 1, 2, min=1)
    np.piecewise(x, [x > 2, x > 1], [1, 2, 3])
    np.piecewise(x, [x == 2], [lambda v: v * 2, lambda v: v + 1])
    np.piecewise(x, x > 1, [5, lambda v, k: v * k], 3)
    np.piecewise(x[0], [x[0] > 1], [1, 2])
    np.piecewise(x, [x > 1], [1, 2, 3])
"""
ELEMENTS = """
    np.round(x)
    np.round(x, 1)
    np.around(x, -1)
    x.round(2)
    (x * 25).round(-1)
    np.rint(x)
    np.fix(x)
    np.angle(x)
    np.angle(x, deg=True)
    np.angle(x[0])
    x.conj()
    x.conjugate()
    x[0].conj()
    np.conj(x)
    np.real(x)
    np.imag(x)
    np.sinc(x)
    np.sinc(x - x)
    np.sinc(x[0])
    np.i0(x)
    np.i0(x * 10)
    np.i0(x[0])
    np.nan_to_num(x)
    np.nan_to_num(x[0])
    np.nan_to_num(x, copy=False)
"""


@pytest.mark.parametrize("table", [PREDICATES, CHOICES, ELEMENTS], ids=["predicates", "choices", "elements"])
@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f2", "f8", "c8"], *DTYPES))
def test_every_dtype(table, dtype):
    x, y = np.array([0, 1, 2, 3]).astype(dtype), np.array([0, 2, 2, 1]).astype(dtype)
    if x.dtype.kind == "c":
        x, y = x + np.array([0, 1j, 0, -2j]).astype(dtype), y + np.array([0, 1j, 0, 0]).astype(dtype)
    elif x.dtype.kind == "f":
        x = x + np.array([0.26, -0.5, 0.125, 1.5]).astype(dtype)
    check_sweep(table, {"f2": 5e-3, "f4": 1e-6, "c8": 1e-6}.get(dtype, 1e-12), x=x, y=y)


def test_not_finite():
    x = np.array([np.nan, np.inf, -np.inf, 1.0, -0.0])
    check_sweep(PREDICATES + CHOICES + ELEMENTS, x=x[1:], y=x[:-1])
    check_sweep(
        """
        np.nan_to_num(z)
        np.nan_to_num(z, nan=2.0, neginf=0)
        np.array_equal(z, z, equal_nan=True)
        np.isclose(z, z, equal_nan=True)
        """,
        z=x * (1 + 2j),
    )


def test_predicates_are_python_bools():
    out = jit(lambda x: (np.allclose(x, 1.0), np.array_equal(x, [1.0, 1.0]), np.array_equiv(x, 1.0)))(np.ones(2))
    assert out == (True, True, True) and all(type(b) is bool for b in out)


def test_builtin_round():
    check_same(lambda x: round(x, 2), np.float64(1.23456))
    check_same(lambda x: round(x, 2), 1.23456)
    check_same(lambda x: round(x), 1.5)
    check_same(lambda x: round(x, 1), np.ones(2))


STORES = {
    "copyto": lambda x, y, m: np.copyto(x, y),
    "copyto one": lambda x, y, m: np.copyto(x, 7, where=m),
    "copyto broadcast": lambda x, y, m: np.copyto(x, y[0], where=m[:, None]),
    "copyto float": lambda x, y, m: np.copyto(x, 1.5),
    "copyto unsafe": lambda x, y, m: np.copyto(x, y * 1.5, casting="unsafe"),
    "copyto complex": lambda x, y, m: np.copyto(x, y * 1j),
    "copyto shape": lambda x, y, m: np.copyto(x[0], y),
    "copyto view": lambda x, y, m: np.copyto(x[:, ::2], y[:, 1:3]),
    "putmask": lambda x, y, m: np.putmask(x, x > 2, y),
    "putmask cycle": lambda x, y, m: np.putmask(x, x > 2, [-1, -2, -3]),
    "putmask one": lambda x, y, m: np.putmask(x, x > 2, 9),
    "place": lambda x, y, m: np.place(x, x > 2, [-1, -2, -3]),
    "place one": lambda x, y, m: np.place(x, x % 2 == 1, 4),
    "place nothing": lambda x, y, m: np.place(x, x > 2, []),
    "clip": lambda x, y, m: np.clip(x, 1, 3, out=x),
    "clip method": lambda x, y, m: x.clip(2, out=y),
    "round": lambda x, y, m: np.round(x, 1, out=y),
    "choose": lambda x, y, m: np.choose(np.array([[0], [1], [0]]), [x, y], out=y),
    "nan_to_num": lambda x, y, m: np.nan_to_num(x, copy=False),
    "isposinf": lambda x, y, m: np.isposinf(x, m[:, None] & (x > 0)),
    "fix": lambda x, y, m: np.fix(x, out=x),
}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
def test_stores(kind, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    check_same(lambda x, y, m: (STORES[kind](x, y, m), None)[1], x % 5, x * 2 + 1, np.array([True, False, True]))


def test_choose_checks_its_index_when_the_program_runs():
    check_same(lambda i, x: np.choose(i, [x, -x]), np.array([0, 1, 1]), np.ones(3))
    check_same(lambda i, x: np.choose(i, [x, -x]), np.array([0, 1, 2]), np.ones(3))


def test_what_depends_on_data_is_refused():
    with pytest.raises(UnsupportedError, match="not elementwise"):
        jit(lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean(), 0.0]))(np.ones(3))
    plain = np.zeros(3)
    with pytest.raises(UnsupportedError, match="not traced"):
        jit(lambda x: np.copyto(np.fromiter((0.0 for _ in range(3)), float), x))(np.ones(3))
    jit(lambda x: np.copyto(plain, x))(np.ones(3))
    assert np.array_equal(plain, np.ones(3))


def test_derivatives():
    x = np.array([0.3, 1.7, -0.4, 2.2])
    cases = [
        lambda x: np.where(x > 0, x**2, 3 * x).sum(),
        lambda x: np.where(x > 0, np.log(np.abs(x)), 0.0).sum(),
        lambda x: np.sinc(x).prod(),
        lambda x: np.i0(5 * x).sum(),
        lambda x: np.select([x > 1, x > 0], [x**2, x**3], -x).prod(),
        lambda x: np.clip(x, 0.0, 2.0).sum(),
        lambda x: np.choose([0, 1, 0, 1], [x, x**2]).prod(),
        lambda x: np.piecewise(x, [x > 1], [lambda v: v**3, lambda v: np.sin(v)]).sum(),
        lambda x: np.unwrap(5 * x).prod(),
        lambda x: np.angle(x + 1j * x**2).sum(),
        lambda x: np.nan_to_num(x).prod(),
        lambda x: np.round(x, 1).sum() + x[0],
    ]
    h = 1e-6
    for k, f in enumerate(cases):
        want = [(f(x + h * d) - f(x - h * d)) / (2 * h) for d in np.eye(4)]
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-5, atol=1e-7, err_msg=f"case {k}")


def test_the_branch_not_taken_gives_no_nan():
    assert grad(lambda x: np.where(x > 0, x, np.sqrt(x)))(1.0) == 1.0
    assert grad(lambda x: np.sinc(x))(0.0) == 0.0
    assert grad(lambda x: np.i0(x))(0.0) == 0.0
    np.testing.assert_array_equal(grad(lambda x: np.nansum(x))(np.array([1.0, np.nan])), [1.0, 0.0])
