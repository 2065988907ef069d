"""Products of all trips of a loop as one before it or behind it: random loops in whole numbers, functions against NumPy,
gradients against those of loops left as they stand."""

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.ir.core import Builder
from wengert.ir.ops.control import COUNTER, evaluate, loop
from wengert.ir.ops.elementwise import add, div, maximum, minimum, mul, sub
from wengert.ir.ops.linalg import dot_general
from wengert.ir.ops.shape import broadcast, dynamic_slice, reshape, transpose
from wengert.ir.passes import fission
from wengert.ir.pipeline import run
from wengert.ir.setting import OF_ALL_SIZES, set_within
from wengert.ir.trips import START
from wengert.ir.types import parse_type
from wengert.ir.verify import verify

# -- random loops, in whole numbers, which add alike in any order -----------------------------------

ROWS, N = 90, 32
TYPES = [f"f64[{ROWS},{N}]", f"f64[{ROWS},{N}]", f"f64[{N},{N}]", f"f64[{N}]", f"f64[{N},{N}]", f"f64[{N},{N}]"]

RNG = np.random.default_rng(0)


def part(i, x, rng, trips):
    """A row of x that the counter picks, counting up or down."""
    step = int(rng.choice([1, -1, 2, -2]))
    step = step if abs(step) * (trips - 1) < ROWS else 1
    first = int(rng.integers(0, ROWS - abs(step) * (trips - 1))) + (-step * (trips - 1) if step < 0 else 0)
    return reshape(dynamic_slice(x, add(mul(i, step), first), sub(i, i), sizes=(1, N)), shape=(N,))


def outer(x, y, rng):
    """An outer product, as a product, or of two factors spread over one axis each, perhaps times a number, turned over."""
    form = rng.integers(4)
    if form == 0:
        z = dot_general(x, y, contract=((), ()), batch=((), ()))
    elif form == 1:
        z = mul(broadcast(x, shape=(N, N), dims=(0,)), broadcast(y, shape=(N, N), dims=(1,)))
    elif form == 2:
        z = mul(broadcast(reshape(x, shape=(1, N)), shape=(N, N), dims=(0, 1)), broadcast(y, shape=(N, N), dims=(0,)))
    else:
        two = [broadcast(v, shape=(2, N), dims=(1,)) for v in (x, y)]
        z = dot_general(*two, contract=((0,), (0,)), batch=((), ()))
    if rng.random() < 0.3:
        number = reshape(dynamic_slice(x, START, sizes=(1,)), shape=())
        z = mul(z, broadcast(number, shape=(N, N), dims=())) if rng.random() < 0.1 else div(mul(z, 12.0), 4.0)
    return transpose(z, perm=(1, 0)) if rng.random() < 0.1 else z


def random_loop(seed):
    rng = np.random.default_rng(seed)
    trips = int(rng.integers(9, 40))
    inner = Builder("body")
    types = [COUNTER, *map(parse_type, TYPES)]
    with inner:
        i, xs, ys, w, h, c, d = (inner.param(t) for t in types)
        rows = [part(i, x, rng, trips) for x in (xs, ys)]
        choose = lambda: [h, *rows, add(h, rows[0])][int(rng.integers(4))]
        product = dot_general(w, choose() if rng.random() < 0.5 else rows[1], contract=((int(rng.integers(2)),), (0,)))
        following = add(mul(h, 2.0), sub(rows[1], product)) if rng.random() < 0.5 else sub(rows[0], h)
        following = minimum(maximum(following, -9.0), 9.0)
        new = []
        for s in (c, d):
            for _ in range(int(rng.integers(1, 4))):
                term = outer(choose(), choose(), rng) if rng.random() < 0.8 else w
                s = sub(s, term) if rng.random() < 0.3 else add(term, s) if rng.random() < 0.5 else add(s, term)
            new.append(mul(s, 0.0) if rng.random() < 0.05 else s)
    body, build = inner.finish((following, *new)), Builder("f")
    with build:
        out = loop(*[build.param(t) for t in types[1:]], body=body, carried=3, trips=trips)
    kept = out[int(rng.integers(3)) :]
    return verify(build.finish(kept)), [rng.integers(-3, 4, t.shape).astype("f8") for t in types[1:]]


def makes_a_matrix(eqn):
    return eqn.op in (dot_general, mul) and eqn.results[0].type.ndim == 2 and min(eqn.results[0].type.shape) > 1


def products_in_loops(func):
    return sum(any(map(makes_a_matrix, eqn.attrs["body"].eqns)) for eqn in func.eqns if eqn.op is loop)


@pytest.mark.parametrize("block", [pytest.param(block, marks=[pytest.mark.slow] * (block > 3)) for block in range(10)])
def test_random_loops_give_the_same_numbers(block):
    for seed in range(30 * block, 30 * block + 30):
        func, xs = random_loop(seed)
        want = evaluate(func, xs)
        for change in (fission, run):
            got = evaluate(verify(change(func)), xs)
            assert all(map(np.array_equal, got, want)), f"{change.__name__} of seed {seed}"


def test_many_of_the_random_loops_have_no_products_any_more():
    before, after = (sum(products_in_loops(change(random_loop(seed)[0])) for seed in range(60)) for change in (verify, run))
    assert before > 50 and after < before / 2


# -- functions -------------------------------------------------------------------------------------


def recurrent(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return (h**2).sum()


def gated(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs[::-1]:
        z = 1.0 / (1.0 + np.exp(-(h @ w + x @ u)))
        h = (1.0 - z) * h + z * np.tanh(x)
    return (h**2).sum()


def batched(w, u, xs):
    h = np.zeros((2, w.shape[0]))
    for x in xs:
        h = np.sin(h @ w + np.stack([x, 2 * x]) @ u)
    return h.sum()


def nested(w, u, xs):
    h = np.zeros(w.shape[0])
    for _ in range(3):
        for x in xs:
            h = np.tanh(w @ h + u @ x)
        h = h * 0.5
    return h.sum()


def covariance(w, u, xs):
    c, h = np.zeros(w.shape), np.zeros(w.shape[0])
    for k, x in enumerate(xs):
        h = 0.5 * h + x * h[0] + x
        c += 0.25 * np.outer(h, x)
        c -= h[0] * h[:, None] * xs[len(xs) - 1 - k] / 3.0
    return c + u


def follows_its_own_sum(w, u, xs):
    w = w.copy()
    for x in xs:
        w += 0.01 * np.outer(w @ x, x)
    return w + u


def of_some_trips(w, u, xs):
    c = w.copy()
    for x in xs:
        if x[0] > 0:
            c += np.outer(x, x)
    return c + u


RECURRENT = recurrent, gated, batched, nested
SUMS = covariance, follows_its_own_sum, of_some_trips


def arguments(n=32, trips=40, dtype="f8"):
    rng = np.random.default_rng(n)
    shapes = (n, n), (n, n), (trips, n)
    return [(rng.standard_normal(s) / (n**0.5 if s[0] == n else 1.0)).astype(dtype) for s in shapes]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("function", [*RECURRENT, *SUMS], ids=lambda f: f.__name__)
def test_functions_give_what_numpy_gives(function, dtype):
    if not (dtype == "c16" and function is of_some_trips):
        check_same(function, *arguments(dtype=dtype), rtol=1e-9 if dtype != "f4" else 1e-3)


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
@pytest.mark.parametrize("function", [*RECURRENT, *SUMS], ids=lambda f: f.__name__)
def test_few_trips(function, trips):
    check_same(function, *arguments(96, trips), rtol=1e-9)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("function", RECURRENT, ids=lambda f: f.__name__)
def test_gradients_are_those_of_loops_left_as_they_stand(function, engine):
    args = arguments()
    got = jit(grad(function, (0, 1, 2)), engine=engine)(*args)
    want = jit(grad(function, (0, 1, 2)), exact=True)(*args)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


@pytest.mark.inexact
@pytest.mark.parametrize("function", RECURRENT[:2], ids=lambda f: f.__name__)
def test_the_way_back_adds_up_no_outer_products(function):
    f = jit(grad(function, (0, 1)))
    loops = [e.attrs["body"] for e in f.ir(*arguments()).eqns if e.op is loop]
    assert len(loops) == 2
    for body in loops:  # each has the product with the state of the trip before, and no other
        assert [e.results[0].type.shape for e in body.eqns if e.op is dot_general] == [(32,)]
    assert products_in_loops(jit(grad(function, (0, 1)), exact=True).ir(*arguments())) == 1


@pytest.mark.inexact
def test_which_loops_keep_their_products():
    kept = lambda function, *args, **options: products_in_loops(jit(function, **options).ir(*args))
    assert kept(covariance, *arguments()) == 0
    assert kept(covariance, *arguments(), exact=True) == 1
    assert kept(covariance, *arguments(n=4)) == 1, "small ones are as good in the loop"
    assert kept(follows_its_own_sum, *arguments()) == 1


def scaled(a, b, s):
    total = np.zeros((a.shape[1], b.shape[1]), a.dtype)
    for t in range(len(a)):
        total += np.outer(a[t], b[t]) * s
    return total


def scaled_by_trips(a, b, s):
    total = np.zeros((a.shape[1], b.shape[1]), a.dtype)
    for t in range(len(a)):
        total -= np.outer(a[t], b[t]) / s * a[t, 0] + np.outer(b[t], a[t]).T
    return total


@pytest.mark.parametrize("function", [scaled, scaled_by_trips])
@pytest.mark.parametrize("dtype, far", [(np.float64, 1e200), (np.float32, 1e25), (np.float16, 300.0)])
def test_numbers_are_neither_too_large_nor_too_small_on_the_way(function, dtype, far):
    """What is multiplied by a number is the product, as it is written, and none of its factors."""
    full = lambda x: np.full((20, 40), x, dtype)
    for a, b, s in ((far, 1 / far, far), (far, 0, far), (1 / far, far, 1 / far), (1.5, 2.0, 0.75), (far, 1 / far, 1 / far)):
        args = full(a), full(b), dtype(s)
        with np.errstate(all="ignore"):
            want = function(*args)
        for engine in ("xla", "numpy"):
            np.testing.assert_allclose(jit(function, engine=engine)(*args), want, rtol=1e-2 if dtype is np.float16 else 1e-5)


@pytest.mark.inexact
def test_what_is_times_a_number_is_one_product_where_all_trips_have_the_number():
    args = RNG.standard_normal((20, 40)), RNG.standard_normal((20, 40)), 0.3
    assert products_in_loops(jit(scaled).ir(*args)) == 0
    assert products_in_loops(jit(scaled_by_trips).ir(*args)) == 1
    half = [np.float16(x) for x in args]
    assert products_in_loops(jit(scaled).ir(*half)) == 1, "small floats are rounded after each term"


def test_where_sizes_may_change_loops_stay():
    func = jit(covariance).ir(*arguments(), passes=False)
    with set_within(OF_ALL_SIZES, True):
        assert fission(func) is func


def test_what_would_be_kept_is_no_larger_than_what_is_there():
    def long(x, n):
        c, h = np.zeros((16, 16)), x
        for k in range(100_000):
            h = 0.5 * h + x[k % 16]
            c += np.outer(h, h)
        return c

    assert products_in_loops(jit(long).ir(np.ones(16), 3)) == 1


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_not_finite_is_where_numpy_has_it(special):
    w, u, xs = arguments()
    xs[7, 3] = special
    check_same(covariance, w, u, xs, rtol=1e-9)
