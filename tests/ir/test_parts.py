"""Parts of products: rows, diagonals and traces are computed of parts of the factors, in whole numbers as before."""

import math

import numpy as np
import pytest

from wengert import grad, jit
from wengert.ir.core import Builder
from wengert.ir.ops.control import evaluate
from wengert.ir.ops.linalg import dot_general
from wengert.ir.ops.reduction import reduce_sum
from wengert.ir.ops.shape import reshape, slice_
from wengert.ir.pipeline import run
from wengert.ir.types import parse_type
from wengert.ir.verify import verify

pytestmark = pytest.mark.inexact


def random_part(seed):
    """A function of two arrays: a slice, a diagonal or a sum over batches of their product."""
    rng = np.random.default_rng(seed)
    sizes = dict(zip("bmnk", map(int, rng.integers(1, 6, 4)), strict=True))
    form = ["slice", "diagonal", "batch"][seed % 3]
    left, right = ("mk", "kn") if form == "diagonal" or form == "slice" and rng.random() < 0.5 else ("bmk", "bkn")
    orders = [[axes[i] for i in rng.permutation(len(axes))] for axes in (left, right)]
    find = lambda name: tuple((order.index(name),) if name in order else () for order in orders)
    build = Builder("f")
    with build:
        x, y = (build.param(parse_type(f"f64[{','.join(str(sizes[a]) for a in order)}]")) for order in orders)
        z = dot_general(x, y, contract=find("k"), batch=find("b"))
        if form == "batch":
            z = reduce_sum(z, axes=(0,))
        elif form == "diagonal":
            m, n = z.type.shape
            start, step = int(rng.integers(0, m * n)), n + 1 - (rng.random() < 0.2 and n > 1)
            z = slice_(reshape(z, shape=(m * n,)), start=(start,), stop=(int(rng.integers(start, m * n + 1)),), stride=(step,))
        else:
            starts = [int(rng.integers(0, n)) for n in z.type.shape]
            stops = [int(rng.integers(a, n + 1)) for a, n in zip(starts, z.type.shape)]
            z = slice_(z, start=tuple(starts), stop=tuple(stops), stride=tuple(int(rng.integers(1, 3)) for _ in starts))
    return verify(build.finish((z,))), [rng.integers(-9, 10, t.shape).astype("f8") for t in (x.type, y.type)]


@pytest.mark.parametrize("block", range(4))
def test_random_parts_give_the_same_numbers(block):
    for seed in range(150 * block, 150 * block + 150):
        func, xs = random_part(seed)
        assert np.array_equal(evaluate(verify(run(func)), xs)[0], evaluate(func, xs)[0]), f"seed {seed}"


FUNCTIONS = {
    "trace": lambda a, b: np.trace(a @ b),
    "of an offset": lambda a, b: np.trace(a @ b, offset=-3),
    "diagonal": lambda a, b: np.diag(a @ b, 2),
    "row": lambda a, b: (a @ b)[-1],
    "column": lambda a, b: (a @ b)[:, 4],
    "number": lambda a, b: (a @ b)[3, 4],
    "corner": lambda a, b: (a @ b)[:3, 2:5],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_more_is_multiplied_than_is_read(name):
    f, rng = FUNCTIONS[name], np.random.default_rng(0)
    a, b = rng.standard_normal((20, 30)), rng.standard_normal((30, 20))
    np.testing.assert_allclose(jit(f)(a, b), f(a, b), rtol=1e-12)
    made = [e.results[0].type for e in jit(f).ir(a, b).eqns if e.op is dot_general]
    assert len(made) == 1 and made[0].size <= 20
    inexact, exact = (jit(grad(lambda a, b: np.sum(f(a, b) ** 2), (0, 1)), exact=e) for e in (False, True))
    for g, w in zip(inexact(a, b), exact(a, b), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
    for e in [e for e in inexact.ir(a, b).eqns if e.op is dot_general]:  # nor on the way back
        (axes, _) = e.attrs["contract"]
        assert e.results[0].type.size * math.prod(e.operands[0].type.shape[i] for i in axes) <= 600


def test_a_product_that_is_read_elsewhere_too_stays_whole():
    def f(a, b):
        c = a @ b
        return c[0] + c.sum(axis=0)

    a = np.ones((20, 20))
    assert [e.results[0].type.size for e in jit(f).ir(a, a).eqns if e.op is dot_general] == [400]
    assert [e.results[0].type.size for e in jit(lambda a, b: (a @ b)[1:]).ir(a, a).eqns if e.op is dot_general] == [400]


def test_nan_that_is_not_read_is_no_matter():
    a, b = np.ones((6, 5)), np.ones((5, 6))
    a[3] = np.nan
    b[2, 4] = np.inf
    for f in FUNCTIONS.values():
        np.testing.assert_array_equal(jit(f)(a, b), f(a, b))
