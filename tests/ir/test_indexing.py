"""NumPy's advanced indexing through gather and scatter, and derivatives where elements tie, repeat or vanish."""

import itertools

import jax
import numpy as np
import pytest
from jax import lax

from wengert.autodiff import vjp
from wengert.backends.numpy import callable_of
from wengert.backends.xla import lower
from wengert.backends.xla.indexing import MODES, ordered, wide
from wengert.ir.core import Builder
from wengert.ir.ops import OPS
from wengert.ir.ops.indexing import index_arrays, put_along_axis, put_arrays, take_along, take_along_axis
from wengert.ir.ops.sorting import argsort
from wengert.ir.types import type_of
from wengert.ir.verify import verify


def build(function, *arrays):
    made = Builder("f")
    with made:
        out = function(*[made.param(type_of(a)) for a in arrays])
    return verify(made.finish(tuple(out) if isinstance(out, list) else (out,)))


def run(func, *arrays):
    """What `func` gives on NumPy, once XLA has given the same."""
    want = [np.asarray(r) for r in callable_of(func)(*arrays)]
    with jax.enable_x64(True):
        got = [np.asarray(r) for r in jax.jit(lambda *a: lower(func, a))(*arrays)]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=0)
    return want


def evaluate(function, *arrays):
    return run(build(function, *arrays), *arrays)[0]


AXES = [axes for k in (1, 2, 3) for axes in itertools.combinations(range(3), k)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("shape, dtype", [((), np.int64), ((4,), np.int32), ((2, 3), np.uint8), ((0,), np.int64)])
def test_index_arrays_is_numpys_indexing(axes, shape, dtype, rng):
    x = rng.standard_normal((4, 5, 6))
    indices = [rng.integers(0, 4, shape).astype(dtype) for _ in axes]
    key = tuple(indices[axes.index(a)] if a in axes else slice(None) for a in range(3))
    updates = rng.standard_normal(x[key].shape)
    ufuncs = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}

    def every(x, u, *i):
        at = list(zip(axes, i))
        return [index_arrays(x, at), put_arrays(x, at, u), *(put_arrays(x, at, u, kind) for kind in ufuncs)]

    read, put, *combined = run(build(every, x, updates, *indices), x, updates, *indices)
    np.testing.assert_array_equal(read, x[key])
    stored = x.copy()
    stored[key] = updates  # with repeats the last stays
    np.testing.assert_array_equal(put, stored)
    for got, ufunc in zip(combined, ufuncs.values(), strict=True):
        stored = x.copy()
        ufunc.at(stored, key, updates)
        np.testing.assert_allclose(got, stored, rtol=1e-13)


def test_index_arrays_at_a_given_place(rng):
    x, i, j = rng.standard_normal((4, 5, 6)), rng.integers(0, 4, 3), rng.integers(0, 4, 3)
    for at in (0, 1):
        np.testing.assert_array_equal(evaluate(lambda x, i, j, at=at: index_arrays(x, [(2, j), (0, i)], at), x, i, j), np.moveaxis(x[i, :, j], 0, at))


@pytest.mark.parametrize("axis", range(3))
def test_along_one_axis(axis, rng):
    x, i = rng.standard_normal((4, 5, 6)), rng.integers(0, 4, (2, 3))
    np.testing.assert_array_equal(evaluate(lambda x, i: take_along(x, i, axis), x, i), np.take(x, i, axis))
    order = np.argsort(x, axis)
    np.testing.assert_array_equal(evaluate(lambda x: argsort(x, axis), x), order)
    np.testing.assert_array_equal(evaluate(lambda x, i: take_along_axis(x, i, axis), x, order), np.take_along_axis(x, order, axis))
    put = x.copy()
    np.put_along_axis(put, order, x, axis)
    np.testing.assert_array_equal(evaluate(lambda x, i, u: put_along_axis(x, i, u, axis, unique=True), x, order, x), put)


def test_an_axis_without_elements():
    x = np.zeros((3, 0, 2))
    none = np.zeros((0, 5), int)
    assert evaluate(lambda x, i: index_arrays(x, [(1, i)]), x, none).shape == (3, 0, 5, 2)
    assert evaluate(lambda x, i, u: put_arrays(x, [(1, i)], u), x, none, np.zeros((3, 0, 5, 2))).shape == (3, 0, 2)
    assert evaluate(lambda x, i: take_along_axis(x, i, 0), x, np.zeros((1, 0, 2), int)).shape == (1, 0, 2)


def test_overwriting_gives_the_cotangent_to_the_last_update():
    x, i, u, g = np.zeros(4), np.array([1, 3, 1, 1]), np.arange(4.0), np.array([10.0, 20.0, 30.0, 40.0])
    func = vjp(build(lambda x, u, i: put_arrays(x, [(0, i)], u), x, u, i), (0, 1), keep=False)
    to_x, to_u = run(func, x, u, i, g)
    np.testing.assert_array_equal(to_x, [10, 0, 30, 0])
    np.testing.assert_array_equal(to_u, [0, 40, 0, 20])


@pytest.mark.parametrize("c", [c for c in OPS["scatter"].cases if c.specs[0] != "f64[]" and c.specs[2] != "f64[0,3]"], ids=repr)
def test_the_ordered_overwrite_of_devices_that_write_in_any_order(c, rng):
    operands, attrs = c.draw(OPS["scatter"], rng)
    x, indices, updates = operands
    dims = lax.ScatterDimensionNumbers(*(attrs[k] for k in ("offset_dims", "collapsed", "start_index_map", "operand_batch", "indices_batch")))
    with jax.enable_x64(True):
        got = jax.jit(lambda x, i, u: ordered(x, wide(i, x.shape), u, dims, MODES[attrs["mode"]]))(x, indices, updates)
    np.testing.assert_array_equal(np.asarray(got), OPS["scatter"](x, indices, updates, **attrs))


TIED = np.array([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, -1.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
AT_TIES = {
    "reduce_max": ({"axes": (1,)}, lambda x: lax.reduce_max(x, (1,))),
    "reduce_min": ({"axes": (0, 1)}, lambda x: lax.reduce_min(x, (0, 1))),
    "cummax": ({"axis": 1}, lambda x: lax.cummax(x, 1)),
    "cummin": ({"axis": 1, "reverse": True}, lambda x: lax.cummin(x, 1, reverse=True)),
    "reduce_window_max": (
        {"window": (1, 3), "strides": (1, 2), "low": (0, 1), "high": (0, 1)},
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 3), (1, 2), ((0, 0), (1, 1))),
    ),
    "reduce_prod": ({"axes": (1,)}, lambda x: lax.reduce_prod(x, (1,))),
    "cumprod": ({"axis": 1}, lambda x: lax.cumprod(x, 1)),
    "sort": ({"axis": 1}, lambda x: lax.sort(x, 1)),
    "top_k": ({"k": 3}, lambda x: lax.top_k(x, 3)[0]),
}


@pytest.mark.parametrize("name", AT_TIES)
def test_derivatives_at_ties_and_zeros_are_jaxs(name, rng):
    attrs, function = AT_TIES[name]
    first = lambda x: OPS[name](x, **attrs)[0] if OPS[name].multiple else OPS[name](x, **attrs)
    func = build(first, TIED)
    g = rng.standard_normal(func.result_types[0].shape)
    with jax.enable_x64(True):
        want = jax.jit(lambda x, g: jax.vjp(function, x)[1](g)[0])(TIED, g)
    np.testing.assert_allclose(run(vjp(func, keep=False), TIED, g)[0], want, rtol=1e-12, atol=1e-12)
