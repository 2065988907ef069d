"""Masks moved behind products, and loops that are one product: random loops in whole numbers, functions against NumPy, NaN where nobody looks."""

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.ir.core import Builder
from wengert.ir.ops.control import COUNTER, evaluate, loop
from wengert.ir.ops.elementwise import add, ge, le, mul, select, sub
from wengert.ir.ops.linalg import dot_general
from wengert.ir.ops.reduction import reduce_max
from wengert.ir.ops.shape import broadcast, dynamic_slice, dynamic_update_slice, iota, reshape
from wengert.ir.passes import products
from wengert.ir.pipeline import run
from wengert.ir.types import parse_type
from wengert.ir.verify import verify

NOTE = "the trips of the loop are independent, and are done at once, by one product"


def is_one_product(func):
    return not any(eqn.op is loop for eqn in func.eqns)


# -- random loops, in whole numbers, which add alike in any order -----------------------------------

N, K, M = 120, 5, 80  # an invariant of N x K, one of K x M, an array of M x M


def start(i, rng, trips, n):
    """(operand, where it leads) counting up or down from anywhere, by one or more, within n."""
    step = int(rng.choice([1, 1, -1, 2, -3]))
    step = step if abs(step) * (trips - 1) < n else 1
    first = int(rng.integers(0, n - abs(step) * (trips - 1)))
    first += -step * (trips - 1) if step < 0 else 0
    return add(mul(i, step), first)


def one_store(c, begin, i, x, y, rng, trips):
    """c with a row or a column replaced by what a product gives; parts of it stay, or become what they were when the trip began."""
    axis, zero = int(rng.integers(2)), sub(i, i)
    place = start(i, rng, trips, M)
    at, shape = ((place, zero), (1, M)) if axis == 0 else ((zero, place), (M, 1))
    row = reshape(dynamic_slice(x, start(i, rng, trips, N), zero, sizes=(1, K)), shape=(K,))
    left = rng.random() < 0.5
    value = dot_general(row, y, contract=((0,), (0,))) if left else dot_general(y, row, contract=((0,), (0,)))
    value = add(value, broadcast(reduce_max(row, axes=(0,)), shape=(M,), dims=()))
    old = reshape(dynamic_slice(begin if rng.random() < 0.2 else c, *at, sizes=shape), shape=(M,))
    if rng.random() < 0.3:
        value = sub(mul(value, 3), old)
    if rng.random() < 0.7:
        compare = (ge, le)[int(rng.integers(2))]
        k = compare(iota(shape=(M,), axis=0, dtype=np.dtype("i8")), broadcast(start(i, rng, trips, M), shape=(M,), dims=()))
        value = select(k, value, old)
    return dynamic_update_slice(c, reshape(value, shape=shape), *at)


def random_loop(seed):
    rng = np.random.default_rng(seed)
    trips = int(rng.integers(14, 41))
    types = [COUNTER, *map(parse_type, (f"i64[{N},{K}]", f"i64[{K},{M}]", f"i64[{M},{M}]"))]
    inner = Builder("body")
    with inner:
        i, x, y, c = (inner.param(t) for t in types)
        begin = c
        for _ in range(int(rng.integers(1, 4))):
            c = one_store(c, begin, i, x, y, rng, trips)
    body, build = inner.finish((c,)), Builder("f")
    with build:
        out = loop(*[build.param(t) for t in types[1:]], body=body, carried=1, trips=trips)
    return verify(build.finish(tuple(out))), [rng.integers(-9, 10, t.shape) for t in types[1:]]


@pytest.mark.parametrize("block", [pytest.param(block, marks=[pytest.mark.slow] * (block > 3)) for block in range(10)])
def test_random_loops_are_one_product_with_the_same_numbers(block):
    for seed in range(30 * block, 30 * block + 30):
        func, xs = random_loop(seed)
        want = evaluate(func, xs)
        for change in (products, run):
            assert np.array_equal(evaluate(verify(change(func)), xs)[0], want[0]), f"{change.__name__} of seed {seed}"


def test_many_of_the_random_loops_are_gone():
    assert sum(is_one_product(run(random_loop(seed)[0])) for seed in range(60)) > 30


# -- functions -------------------------------------------------------------------------------------


def correlation(a, c):
    for i in range(a.shape[1] - 1):
        c[i + 1 :, i] = c[i, i + 1 :] = a[:, i] @ a[:, i + 1 :]
    return c


def covariance(a, c):
    for i in range(a.shape[1]):
        c[i:, i] = c[i, i:] = a[:, i] @ a[:, i:] / (a.shape[0] - 1.0)
    return c


def backwards(a, c):
    for i in range(a.shape[1] - 1, -1, -1):
        c[i, : i + 1] = a[:, i] @ a[:, : i + 1]
        c[: i + 1, i] = -a[:, i] @ a[:, : i + 1]
    return c


def rows_then_columns(a, c):
    for i in range(1, a.shape[1]):
        c[i] = a[:, i] @ a
        c[:, i - 1] = a.T @ a[:, i]
    return c


def into_itself(a, c):
    for i in range(c.shape[0]):
        c[i] = 0.5 * c[i] + a[:, i] @ a
        c[i, 1:] -= 1.0
    return c


def every_other(a, c):
    for i in range(0, a.shape[1], 2):
        c[i, 1:] = a[:, i] @ a[:, 1:]
    return c


def vector(a, c):
    for i in range(a.shape[1]):
        c[i, 0] = a[:, i] @ a[:, 0]
    return c


INDEPENDENT = correlation, covariance, backwards, rows_then_columns, into_itself, every_other


def recurrence(a, c):
    for i in range(1, a.shape[1]):
        c[i] = a[:, i] @ a + c[i - 1]
    return c


def reads_elsewhere(a, c):
    for i in range(a.shape[1] - 1):
        c[i] = a[:, i] @ a + c[i + 1, 0]
    return c


def reads_a_column(a, c):
    for i in range(a.shape[1]):
        c[i] = a[:, i] @ a
        c[:, i] += 1.0
    return c


def kept_for_the_next(a, c):
    s = np.zeros(a.shape[1])
    for i in range(a.shape[1]):
        z = a[:, i] @ a
        s = 0.5 * s + z
        c[i] = z
    return c, s


def read_by_another(a, c):
    s = 0.0
    for i in range(a.shape[1]):
        c[i] = a[:, i] @ a
        s = 0.5 * s + c[0, 0]
    return c, s


DEPENDENT = recurrence, reads_elsewhere, reads_a_column, kept_for_the_next, read_by_another


def matrices(n, m):
    rng = np.random.default_rng(n + 100 * m)
    return rng.normal(size=(n, m)), rng.normal(size=(m, m))


@pytest.mark.parametrize("function", [*INDEPENDENT, vector, *DEPENDENT], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(5, 0), (5, 1), (5, 2), (0, 3), (3, 5), (7, 60), (50, 53)], ids=str)
def test_loops_give_what_numpy_gives(function, shape):
    check_same(function, *matrices(*shape), rtol=1e-11)


@pytest.mark.inexact
@pytest.mark.parametrize("function", INDEPENDENT, ids=lambda f: f.__name__)
def test_independent_loops_are_one_product_and_explain_says_so(function):
    f, (a, c) = jit(function), matrices(50, 60)
    assert is_one_product(f.ir(a, c)) and not is_one_product(f.ir(a, c, passes=False))
    f(a, c)
    assert f"{NOTE}\n" in f.explain() and f"test_products.py:{function.__code__.co_firstlineno + 1}: {NOTE}" in f.explain()


@pytest.mark.parametrize("function", [*DEPENDENT, vector], ids=lambda f: f.__name__)
def test_other_loops_stay(function):
    f, (a, c) = jit(function), matrices(50, 60)
    f(a, c)
    assert not is_one_product(f.ir(a, c)) and NOTE not in f.explain()


def test_exact_leaves_the_order_of_sums():
    assert not is_one_product(jit(covariance, exact=True).ir(*matrices(50, 40)))


@pytest.mark.inexact
def test_a_product_much_larger_than_the_arrays_stays_in_its_loop():
    def largest(a, b, c):
        for i in range(a.shape[0]):
            c[i] = np.abs(a[i] @ b).max()
        return c

    def whole(a, b, c):
        for i in range(a.shape[0]):
            c[i] = np.abs(a[i] @ b)
        return c

    a, b = np.ones((300, 1)), np.ones((1, 300))
    assert not is_one_product(jit(largest).ir(a, b, np.zeros(300)))
    assert is_one_product(jit(whole).ir(a, b, np.zeros((300, 300))))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", INDEPENDENT, ids=lambda f: f.__name__)
def test_what_is_not_finite_stays_where_numpy_has_it(function, special):
    a, c = matrices(50, 60)
    a[3, 20] = c[5, 7] = c[30, 2] = special
    check_same(function, a, c, rtol=1e-11)


def two_readers(x, y, z):
    """Windows on free axes, read in places, in part and as a number, and on the contracted axis, where 0 * NaN would be NaN."""
    for i in range(1, 4):
        r = x @ y[:, i:]
        z[0, i:], z[1, i:] = r, -r
        z[2, 0] += r[0]
        z[3, : 6 - i] = x[i:] @ y[i:, : 6 - i]
    return z


@pytest.mark.parametrize("special", [np.nan, np.inf, 1.0])
def test_junk_of_windows_reaches_no_result(special):
    x, y, z = np.arange(1.0, 7.0), np.arange(36.0).reshape(6, 6), np.zeros((6, 6))
    y[:, 0] = special
    y[0, 5] = x[0] = special
    check_same(two_readers, x, y, z)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i4", "?", "u1"])
@pytest.mark.parametrize("function", [correlation, rows_then_columns, every_other], ids=lambda f: f.__name__)
def test_dtypes(function, dtype):
    rng = np.random.default_rng(3)
    a, c = (rng.integers(0, 5, shape).astype(dtype) for shape in ((20, 60), (60, 60)))
    check_same(function, a, c)


@pytest.mark.parametrize("function", [*INDEPENDENT, *DEPENDENT[:3]], ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_loop(function):
    weights = np.random.default_rng(5).normal(size=(60, 60))
    loss = lambda a, c: (weights * np.tanh(function(a, c.copy()))).sum()
    a, c = matrices(12, 60)
    for argument in (0, 1):
        np.testing.assert_allclose(grad(loss, argument)(a, c), jit(grad(loss, argument), exact=True)(a, c), rtol=1e-9, atol=1e-12)
