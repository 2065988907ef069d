"""Loops that go on with some elements only: what a mask leaves out is neither computed nor stored, in stretches."""

import numpy as np
import pytest

from wengert import jit
from wengert.backends import native
from wengert.backends.native import legal
from wengert.backends.native.mask_skip import STRETCH, demands
from wengert.ir.ops import OPS
from wengert.ir.text import parse


def escape(c, trips=12):
    z, n, alive = np.zeros_like(c), np.zeros(c.shape, np.int64), np.ones(c.shape, bool)
    for i in range(trips):
        z = np.where(alive, z * z + c, z)
        out = alive & (np.abs(z) > 2.0)
        n = np.where(out, i + 1, n)
        alive = alive & ~out
    return z, n, alive


def roots(x, trips=25):
    going = np.abs(x) > 0.25
    for _ in range(trips):
        step = np.where(going, (x * x - 2.0) / (2.0 * np.where(going, x, 1.0)), 0.0)
        x = np.where(going, x - step, x)
        going = going & (np.abs(step) > 1e-12)
    return x, going


def scattered(c, trips=12):
    """With arrays of indices, of which those that are out are dropped."""
    i, j = np.mgrid[0:20, 0:20]
    i, j, c = i.reshape(400), j.reshape(400), c.reshape(-1)[:400]
    n, last, z = np.zeros((20, 20), np.int64), np.zeros((20, 20), c.dtype), np.zeros(400, c.dtype)
    for k in range(trips):
        if not len(z):
            break
        z = z * z + c
        out = np.abs(z) > 2.0
        n[i[out], j[out]] = k + 1
        last[i[out], j[out]] = z[out]
        z, i, j, c = z[~out], i[~out], j[~out], c[~out]
    return n, last


def written(x, y, trips=12):
    """Masked stores, and a mask that grows again."""
    m = x > 0.0
    for _ in range(trips):
        y[m] = 0.5 * y[m] + x[m]
        x = np.where(m, x - 0.25, x)
        m = (x > 0.0) | (y > 3.0)
    return x, m


def unmasked(x, y, trips=12):
    """Here something is stored everywhere."""
    m = x > 0.0
    for _ in range(trips):
        y = np.where(m, 0.5 * y + x, y)
        x = x - 0.25
    return x, y


def cells(shape, dead):
    """Points of which whole stretches leave at once."""
    rng = np.random.default_rng(5)
    c = rng.uniform(-1.5, 0.4, shape) + 1j * rng.uniform(-1.0, 1.0, shape)
    c.reshape(-1)[dead] = 4.0 + 3.0j
    return c


SHAPES = [(64,), (257,), (2, 3, 300)]
DEAD = [slice(0, 0), slice(100, 290), slice(-70, None)]


PROGRAMS = {f: jit(f) for f in (escape, roots, written)}


@pytest.mark.parametrize("dead", DEAD, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_left_out_stays_as_it_is(shape, dead):
    c = cells(shape, dead)
    with native.asked(0), np.errstate(all="ignore"):
        for got, want in zip(PROGRAMS[escape](c), escape(c), strict=True):
            np.testing.assert_array_equal(got, want) if want.dtype.kind in "ib" else np.testing.assert_allclose(got, want, rtol=1e-9)
        x = c.real.copy()
        for got, want in zip(PROGRAMS[roots](x), roots(x), strict=True):
            np.testing.assert_array_equal(got, want)
        y, again = c.imag.copy(), c.imag.copy()
        for got, want in zip((*PROGRAMS[written](x, y), y), (*written(x, again), again), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dead", DEAD, ids=str)
def test_scatters_of_what_is_left_out_are_dropped(dead):
    c = cells((20, 20), dead)
    with native.asked(0):
        for got, want in zip(jit(scattered)(c), scattered(c), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)


def test_stretches_are_asked_for():
    """Where all that a loop over elements stores is masked, and nowhere else."""
    c = cells((1000,), slice(0, 0))
    programs = ((escape, [c], True), (roots, [c.real], True), (written, [c.real, c.imag], True), (unmasked, [c.real, c.imag], False))
    for function, args, asked in programs:
        loop = next(eqn for eqn in jit(function).ir(*args).eqns if eqn.op is OPS["loop"])
        nest, reason = legal.taken(loop.op, [x.type for x in loop.operands], loop.attrs, 0)
        assert reason is None and (f"load <{STRETCH} x i8>" in nest.text()) == asked, function


def test_the_masks_under_which_a_truth_matters():
    func = parse("""
    func f(%m: bool[5], %x: f64[5], %y: f64[5]) -> bool[5], f64[5], bool[5] {
      %0 = gt %x, %y        : bool[5]
      %1 = not %0           : bool[5]
      %2 = and %m, %1       : bool[5]
      %3 = lt %x, 0.0       : bool[5]
      %4 = and %3, %m       : bool[5]
      %5 = select %3, %x, %y : f64[5]
      %6 = eq %x, 1.0       : bool[5]
      %7 = select %m, %6, True : bool[5]
      return %2, %5, %7
    }
    """)
    found = demands(func)
    m, at = func.params[0], [eqn.results[0] for eqn in func.eqns]
    assert found[at[0]] == found[at[1]] == found[at[6]] == {m}
    assert not found[at[3]] and not found[at[2]]  # one chooses numbers, one is given back
