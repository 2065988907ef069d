"""What XLA gets wrong, and the lowering must not: each case was once a wrong number."""

import jax
import numpy as np
import pytest
from compare import check_same

from wengert import jit
from wengert.backends.xla.lower import lower
from wengert.ir.core import Builder, Lit
from wengert.ir.ops.control import evaluate
from wengert.ir.ops.reduction import reduce_prod, reduce_sum
from wengert.ir.ops.shape import pad
from wengert.ir.types import parse_type

PRODUCERS = {
    "cumsum": lambda v: np.cumsum(v),
    "window": lambda v: np.convolve(v, np.ones(3), "same"),
    "gather": lambda v: v[np.array([3, 1, 0, 2, 5, 4])],
    "sorted": lambda v: np.sort(v),
    "elementwise": lambda v: np.sin(v),
    "argument": lambda v: v,
}


@pytest.mark.parametrize("producer", PRODUCERS.values(), ids=PRODUCERS)
def test_a_store_may_overlap_what_it_is_computed_from(producer):
    def shift(v):
        x = producer(v)
        x[1:] = x[:-1]
        return x

    def mirror(v):
        x = producer(v)
        x[2:] = x[1:5][::-1] * 2 + 1
        x[:3] += x[1:4]
        return x

    def through_views(v):
        x = producer(v).reshape(2, 3)
        x.T[1:] = x.T[:-1]
        return x

    def at_a_traced_place(v):
        x = producer(v)
        i = np.argmax(v[1:3]) + 1
        x[np.arange(2) + i] = x[np.arange(2) + i - 1]
        return x

    v = np.array([0.3, -1.0, 2.0, 0.7, -0.2, 1.1])
    for f in (shift, mirror, through_views, at_a_traced_place):
        check_same(f, v)


BIG, MANY = np.array([1e200]), np.array([1e300])
ORDERED = {  # programs that XLA's simplifier would compute in another order, to another result
    "rounding to integers": (lambda x: (x + 6755399441055744.0) - 6755399441055744.0, np.linspace(-3, 3, 13)),
    "what is lost stays lost": (lambda x: x - 1e20 + 1e20, np.ones(2)),
    "sums overflow": (lambda x: x + 1e308 - 1e308, np.array([1e308])),
    "zero times an infinite product": (lambda x: x * 1e200 * 1e200, np.zeros(2)),
    "an infinite product": (lambda x: x * 1e200 * 1e-200, BIG),
    "a quotient by an infinite product": (lambda x: x / 1e200 / 1e200, MANY),
    "quotients of quotients": (lambda x: (x / BIG / BIG, x / (BIG / BIG), BIG / (x / BIG)), MANY),
    "ldexp": (lambda x: (np.ldexp(x, 1500), np.ldexp(x, -1500)), np.array([0.0, 1e-300, 1e300, np.inf])),
}


@pytest.mark.parametrize("exact", [False, True], ids=["", "exact"])
@pytest.mark.parametrize("name", ORDERED)
def test_steps_are_not_merged_to_another_effect(name, exact):
    f, x = ORDERED[name]
    with np.errstate(all="ignore"):
        want = f(x)
    got = jit(f, engine="xla", exact=exact)(x)
    jax.tree_util.tree_map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-14, atol=0), got, want)


def test_pads_of_one_array_are_slices_of_one_pad():
    rng = np.random.default_rng(0)
    for shape in ((7,), (3, 4), (2, 3, 3)):
        pads = []
        with Builder("pads") as build:
            x, y = (build.param(parse_type(f"f64[{','.join(map(str, shape))}]")) for _ in "xy")
            for k in range(5):
                low = tuple(int(v) for v in rng.integers(0, 4, len(shape)))
                pads.append(pad((x, y)[k == 4], Lit(0.5, parse_type("f64[]")), low=low, high=tuple(3 - v for v in low), interior=(0,) * len(shape)))
        func, xs = build.finish(tuple(pads)), [rng.normal(size=shape) for _ in "xy"]
        with jax.enable_x64(True):
            found = lower(func, xs)
            text = str(jax.make_jaxpr(lambda *xs, func=func: lower(func, xs))(*xs))
        assert all(map(np.array_equal, found, evaluate(func, xs))) and text.count(" pad[") == 2


REDUCED = [((2, 50), 0), ((33, 40), 0), ((9,), 0), ((5, 8), 1), ((5, 9), 1), ((4, 8, 3), 1), ((40, 5000), 0)]


@pytest.mark.parametrize("shape, axis", REDUCED, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_reductions_of_every_form(dtype, shape, axis):
    """Slices, products and XLA's own, of numbers that are computed, and of NaN and infinities."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 9, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 30:
        x.flat[7], x.flat[11], x.flat[-1] = np.nan, np.inf, -np.inf
    whole = (np.sum, np.max, np.min, np.prod, *((np.bitwise_xor.reduce, np.all) if x.dtype.kind == "i" else ()))
    function = lambda x: tuple(reduce(z, axis=axis) for z in (x, x + x, np.sqrt(abs(x)).astype(x.dtype)) for reduce in whole)
    with np.errstate(all="ignore"):
        for got, want in zip(jit(function)(jax.numpy.asarray(x)), function(x), strict=True):
            np.testing.assert_allclose(np.asarray(got).astype(want.dtype), want, rtol=1e-4)


@pytest.mark.parametrize("shape, dtype", [((64, 64), "f4"), ((64, 64), "f2"), ((8, 30, 30), "f4"), ((5000,), "f4")], ids=str)
def test_extremes_of_large_arrays_are_nan_where_one_is(shape, dtype):
    """XLA's own are not."""
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)
    x.flat[[7, 100]] = np.nan
    x.flat[3], x.flat[4] = 9, -9
    y = jax.device_put(x)

    def check(function, axis):
        np.testing.assert_array_equal(np.asarray(jit(lambda x: function(x, axis=axis))(y)), function(x, axis=axis))

    for axis in (None, *range(x.ndim), *([(0, 1), (1, 2)] if x.ndim == 3 else [])):
        check(np.max, axis)
        check(np.min, axis)
    check(np.argmax, None)
    check(np.argmin, x.ndim - 1)


def test_jax_differentiates_and_batches_extremes():
    x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(3, 64, 70)))
    greatest = jit(lambda x: x.max(axis=-1).sum() + x.min(axis=0).sum())
    plain = lambda x: x.max(axis=-1).sum() + x.min(axis=0).sum()
    np.testing.assert_allclose(jax.grad(greatest)(x), jax.grad(plain)(x))
    np.testing.assert_allclose(jax.vmap(greatest)(x), jax.vmap(plain)(x), rtol=1e-5)


def test_a_form_for_the_platform_is_all_that_is_traced_where_there_is_no_other(monkeypatch):
    """Elsewhere the choice is left to jax: both ways the numbers are NumPy's."""
    build = Builder()
    with build:
        x = build.param(parse_type("f64[6,40]"))
        func = build.finish((reduce_sum(x, axes=(0,)), reduce_prod(x, axes=(0,))))
    array = np.random.default_rng(0).normal(size=(6, 40))
    with jax.enable_x64(True):
        for platform, choices in (("cpu", 0), ("gpu", 2)):
            monkeypatch.setattr(jax, "default_backend", lambda platform=platform: platform)
            run = lambda x: lower(func, [x])
            assert str(jax.make_jaxpr(run)(array)).count("platform_index") == choices
            for got, want in zip(jax.jit(run)(array), evaluate(func, [array]), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
