"""What goes along an axis in order, as machine code: prefix sums and their like, recurrences, searches, the order of bools."""

import importlib.util

import jax
import numpy as np
import pytest
from op_cases import ULPS, close, draw

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native.scans import SCANS
from wengert.backends.native.stages import alone
from wengert.backends.xla import XLA, lower
from wengert.ir.ops import OPS
from wengert.ir.ops.control import loop, region
from wengert.ir.types import type_of

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


SHAPES = [(1,), (2,), (70,), (5, 7), (7, 1), (1, 7), (3, 4, 5), (2, 300), (300, 2)]
DTYPES = "f8", "f4", "i8", "i4", "i1", "u1", "u8", "c16", "?"


def in_nest(op, operands, attrs):
    """The results of an op, which has to be a nest."""
    types, attrs = alone(op, tuple(map(type_of, operands)), tuple(attrs.items()))
    func, log = region(lambda *xs: loop(*xs, **attrs), types, "alone"), []
    zeros = [np.zeros(t.shape, t.dtype) for t in types[len(operands) :]]
    with native.asked(0, log):
        made = jax.jit(lambda *xs: lower(func, xs))(*operands, *zeros)
    assert [why for _, why in log] == [None]
    return [np.asarray(x) for x in made]


def through_xla(op, attrs):
    return jax.jit(lambda *xs: XLA[op](*xs, **attrs))


@pytest.mark.parametrize("op", [op for op in SCANS if op is not OPS["sort"]], ids=lambda op: op.name)
def test_cases(op):
    for case in op.cases:
        operands, attrs, _ = draw(op, case)
        with np.errstate(all="ignore"):
            want = op.body(*operands, **attrs)
        if want.size:
            (got,) = in_nest(op, operands, attrs)
            close(got, want, ULPS)
            assert op is OPS["recurrence"] or got.tobytes() == want.tobytes()  # taken in one by one, as by NumPy


def drawn(rng, shape, dtype):
    x = rng.normal(size=shape) * 9
    x[rng.random(shape) < 0.1] = -0.0
    if dtype == "c16":
        return x + 1j * rng.normal(size=shape)
    return x > 0 if dtype == "?" else x.astype(dtype) if np.dtype(dtype).kind != "u" else abs(x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes(dtype):
    rng = np.random.default_rng(0)
    names = {"?": ("cummax", "cummin"), "c16": ("cumsum", "cumprod")}.get(dtype, ("cumsum", "cumprod", "cummax", "cummin"))
    for k, shape in enumerate(SHAPES):
        name = names[k % len(names)]
        x, attrs = drawn(rng, shape, dtype), {"axis": int(rng.integers(len(shape))), "reverse": bool(rng.integers(2))}
        with np.errstate(all="ignore"):
            want = OPS[name].body(x, **attrs)
        (got,) = in_nest(OPS[name], [x], attrs)
        close(got, want, ULPS)
        if dtype != "c16":  # of a product of complex numbers LLVM makes fused operations
            assert got.tobytes() == want.tobytes()
        if want.size > 99:  # small ones are left to XLA
            assert np.asarray(through_xla(OPS[name], attrs)(x)).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_order_of_bools(dtype):
    rng = np.random.default_rng(1)
    for shape in SHAPES[::2] if dtype in ("f8", "?") else [(5, 7)]:
        for axis in range(len(shape)):
            attrs = {"axis": axis, "num_keys": 1, "stable": True}
            place = np.broadcast_to(np.expand_dims(np.arange(shape[axis]), [a for a in range(len(shape)) if a != axis]), shape)
            lowered = through_xla(OPS["sort"], attrs)
            for often in (0.0, 0.3, 1.0) if axis else (0.5,):
                mask, x = rng.random(shape) < often, drawn(rng, shape, dtype)
                want = OPS["sort"].body(mask, x, place, **attrs)
                for made in (in_nest(OPS["sort"], [mask, x, place], attrs), lowered(mask, x, place)):
                    for got, one in zip(made, want, strict=True):
                        np.testing.assert_array_equal(got, one)


def in_place(a, b):
    for k in range(40):
        a[:] = np.cumsum(a) * 0.5
        a[1:] = np.cumsum(a)[:-1] * 0.25 + a[:-1]
        a, b = np.maximum.accumulate(b), a + np.cumsum(b[::-1])[::-1] * 0.01
        b = b / abs(b).max() + 0.001 * k
    return a, b


def rows_and_columns(a, b):
    x = np.outer(a, b)
    for _ in range(20):
        x = np.cumsum(x, axis=0) * 0.01 + np.minimum.accumulate(x, axis=1)
        x[:, 0] = np.cumsum(x[0])[-1]
        x /= abs(x).max()
    return x


def shrinking(a, b):
    z, left, out = a * 1.0, np.arange(len(a)), np.zeros(len(a))
    for k in range(20):
        z = z * 1.1 + b[left] * 0.1
        stays = abs(z) < 2 + k * 0.1
        out[left[~stays]] = z[~stays]
        left, z = left[stays], z[stays]
    return out, len(z)


def ordered(a, b):
    total = 0.0
    for k in range(30):
        order = np.argsort(a > 0.1 * k - 1, kind="stable")
        a, b = a[order] * 0.9, b[order[::-1]]
        total += a[3] * b[2] + order[1] + np.argmax(a * b)
    return a, b, total


PROGRAMS = [in_place, rows_and_columns, shrinking, ordered]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_in_loops(program):
    """The loops are nests; arrays are read as they were before what overwrites them."""
    rng, run = np.random.default_rng(2), jit(program)
    for n in (60, 61):
        a, b = rng.normal(size=n), rng.normal(size=n)
        want, got = program(a.copy(), b.copy()), run(a.copy(), b.copy())
        for x, y in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,), strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-9)
    assert "has no native form" not in str(run.explain())


def test_a_gradient_by_jax_of_what_machine_code_computes():
    """JAX differentiates the form through jax.lax."""
    x = np.random.default_rng(3).normal(size=400)
    f = lambda x: jax.numpy.sum(XLA[OPS["cumsum"]](x, axis=0, reverse=False) ** 2)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), 2 * np.cumsum(np.cumsum(x)[::-1])[::-1], rtol=1e-12)


def test_gradients():
    x = np.random.default_rng(4).normal(size=50)

    def kept(x):
        for _ in range(9):
            x = np.concatenate([x[x > -1], x[x <= -1]]) if len(x) else x
            x = np.cumsum(x) * 0.1 + x
        return (x * np.arange(len(x))).sum()

    slope, eps = grad(kept)(x), 1e-6
    for k in range(0, 50, 7):
        step = eps * (np.arange(50) == k)
        np.testing.assert_allclose(slope[k], (kept(x + step) - kept(x - step)) / (2 * eps), rtol=1e-5)
