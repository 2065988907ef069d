"""Python's numbers that data decide: ints without a dtype until NumPy gives them one, floats that raise where Python's do."""

import itertools
import math
import operator
import random

import numpy as np
import pytest
import random_numbers
from compare import agree

from wengert import grad, jit, vmap

W, U, WIDE = np.array([1, 100, -3], "i1"), np.array([1, 2, 250], "u1"), np.array([2**64 - 1, 0, 5], "u8")
OPTIONS = [{}, {"engine": "numpy"}, {"engine": "xla"}]


def same(f, w, xs):
    """Of all `xs`, by one compiled function: what plain Python gives, raises and leaves."""
    compiled = jit(f, engine="numpy")
    for x in xs:
        with np.errstate(all="ignore"):
            want, left, raised = random_numbers.attempt(f, (w, x))
        got, mine, error = random_numbers.attempt(compiled, (w, x))
        assert type(error) is type(raised), (f.__code__.co_firstlineno, w.dtype, x, got, want, error, raised)
        if raised is None:
            agree(got, want)
            agree(mine, left)
        else:
            agree(mine[0], w)


RESULTS = [
    lambda w, n: w > n, lambda w, n: n == w, lambda w, n: w != n, lambda w, n: np.less(w, n), lambda w, n: w + n, lambda w, n: n - w,
    lambda w, n: w * n,
    lambda w, n: w[0] + n, lambda w, n: w[0] < n, lambda w, n: w // n, lambda w, n: w & n, lambda w, n: np.maximum(w, n),
    lambda w, n: np.add(w, n, dtype="i2"),
    lambda w, n: np.clip(w, 0, n), lambda w, n: np.clip(w, n, 120), lambda w, n: w.clip(n), lambda w, n: np.where(w > 1, w, n),
    lambda w, n: np.full(2, n, "u2"), lambda w, n: np.full_like(w, n), lambda w, n: np.array([n, 1], "i1"),
    lambda w, n: np.array([n, w[0]]), lambda w, n: np.append(w, n), lambda w, n: np.insert(w, 0, n), lambda w, n: np.max(w, initial=n),
    lambda w, n: np.sum(w, initial=n),
    lambda w, n: np.pad(w, 1, constant_values=n),
    lambda w, n: np.isin(w, n), lambda w, n: np.int8(n), lambda w, n: np.uint64(n), lambda w, n: np.select([w > 1], [w], n),
    lambda w, n: np.isclose(w, n),
    lambda w, n: np.logical_and(w, n), lambda w, n: np.searchsorted(np.sort(w), n),
]  # fmt: skip


@pytest.mark.parametrize("w", [W, U, WIDE], ids=lambda w: w.dtype.name)
def test_what_numpy_makes_of_a_python_int(w):
    for f in RESULTS if w is W else RESULTS[:16]:
        same(lambda w, x, f=f: f(w, int(x)), w, [np.float64(n) for n in (5, -1, 127, 128, 255, 256, 70000, -129)])


def stores():
    def at(w, n): w[0] = n
    def all_of(w, n): w[:] = n
    def masked(w, n): w[w > 1] = n
    def listed(w, n): w[[0, 1]] = [1, n]
    def filled(w, n): w.fill(n)
    def added(w, n): w += n
    def put(w, n): np.put(w, [0], [n])
    def placed(w, n): np.place(w, w > 1, n)
    def masks(w, n): np.putmask(w, w > 1, n)
    def copied(w, n): np.copyto(w, n)
    def out(w, n): np.add(w, n, out=w)
    def flat(w, n): w.flat = n
    def diagonal(w, n): np.fill_diagonal(w.reshape(1, 3), n)
    return [at, all_of, masked, listed, filled, added, put, placed, masks, copied, out, flat, diagonal]  # fmt: skip


@pytest.mark.parametrize("store", stores(), ids=lambda f: f.__name__)
def test_stores_take_what_fits_or_write_nothing(store):
    def f(w, x):
        store(w, int(x))
        return w

    same(f, W, [np.float64(120), np.float64(200), np.float64(-200)])
    same(f, U, [np.float64(200), np.float64(-1)])


@pytest.mark.parametrize("options", OPTIONS)
def test_each_engine_says_which_number(options):
    w = W.copy()
    f = jit(lambda w, x: w + int(x), **options)
    for _ in range(2):
        with pytest.raises(OverflowError, match="Python integer 200 out of bounds for int8\n.*test_numbers.py"):
            f(w, np.float64(200))
    agree(f(w, np.float64(20)), w + 20)


def counted(x, w):
    k = 0
    for v in x:
        if v > 0.5:
            k += 1
        w[0] = k
    return w < k


def lengths(x, w):
    return w < len(x[x > 0]), w == len(x)


def ends(x, w):
    for i in range(len(x)):
        w[i % 3] = i
    return w


@pytest.mark.parametrize("f", [counted, lengths, ends])
def test_counters_and_lengths(f):
    for n in (100, 300):
        same(lambda w, x: f(x, w), W, [np.ones(n)])


def test_what_an_interval_decides_costs_nothing():
    for f in (lambda x, w: counted(x[:100], w), lengths, lambda x, w: w + (int(w[0]) & 15), lambda x, w: w + int(w[0])):
        compiled = jit(f)
        compiled(np.ones(120), W.copy())
        assert "may raise" not in compiled.explain()


def test_literals_that_do_not_fit_fail_where_data_come_there():
    def f(w, x):
        if x > 1:
            w[0] = 300
        return w

    same(f, W, [np.float64(0), np.float64(2)])


FLOATS = [
    lambda x: 0.0**x, lambda x: x**400, lambda x: x**2, lambda x: x**-1, lambda x: x**x, lambda x: 10.0**x, int, round, math.floor,
    lambda x: x * 1e308, lambda x: complex(x, 0) ** -1, lambda x: complex(x, 1) ** 3, lambda x: abs(complex(x, x)), lambda x: np.int8(x),
    lambda x: int(min(x, 1e6)) ** -2,
    lambda x: np.array([x], "u1"), lambda x: math.hypot(x, 1e200), lambda x: 1 / complex(x, 0),
]  # fmt: skip


@pytest.mark.parametrize("f", FLOATS)
def test_floats_raise_where_pythons_do(f):
    compiled = jit(lambda x: f(x))
    for x in (-1.0, 0.0, -0.0, 3.0, 400.0, 1e10, 1e300, math.inf, math.nan):
        try:
            want = f(x)
        except (ArithmeticError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(x)
        else:
            if abs(x) < 1e18 or isinstance(want, float):
                agree(compiled(x), want)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("f", [int, round, math.floor])
def test_narrow_floats_become_ints_where_python_makes_some(f, kind):
    compiled = jit(lambda x: f(x))
    agree([compiled(kind(x)) for x in (-60000.0, -0.5, 2.5, 60000.0)], [f(kind(x)) for x in (-60000.0, -0.5, 2.5, 60000.0)])
    for x in (math.inf, -math.inf, math.nan):
        with pytest.raises(OverflowError if x == x else ValueError, match="cannot convert"):
            compiled(kind(x))


def test_derivatives_and_batches_pass_by_the_checks():
    assert grad(lambda x: x**2 * np.float64(2))(3.0) == 12
    agree(jit(grad(lambda x, w: np.sum(x * (w + int(w[0])))))(2.0, np.array([1.0, 2.0])), 5.0)
    f = lambda x, w: w + int(x)
    agree(vmap(f, in_axes=(0, None))(np.array([1.0, 20.0]), W), np.stack([W + 1, W + 20]))
    with pytest.raises(OverflowError):
        vmap(f, in_axes=(0, None))(np.array([1.0, 200.0]), W)


@pytest.mark.parametrize("part", range(4))
def test_random_numbers(part):
    """A sample of what `python tests/helpers/random_numbers.py` draws."""
    for seed in range(part * 25, part * 25 + 25):
        found = random_numbers.differences(random_numbers.draw(random.Random(70000 + seed)), engine="numpy")
        assert found is None, f"seed {70000 + seed}\n{found}"


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_ints_are_compared_with_floats_exactly(engine):
    def f(a, x):
        n = int(a)
        return n < x, n <= x, n > x, n >= x, n == x, n != x, x < n, x <= n, x > n, x >= n, x == n, x != n

    compiled = jit(f, engine=engine)
    ints = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63)]
    floats = [0.0, -0.5, 0.5, 1.0, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e300, -1e300, np.inf, -np.inf, np.nan]
    for n in ints:
        for x in floats:
            assert compiled(np.int64(n), x) == f(n, x), (n, x)


def test_scalars_are_cast_where_arrays_say_the_places():
    """And asked to fit where slices and ints do, as NumPy does."""
    forms = [
        lambda y, v, m, i: y.__setitem__(m, v), lambda y, v, m, i: y.__setitem__(i, v), lambda y, v, m, i: y.__setitem__(slice(2), v),
        lambda y, v, m, i: y.__setitem__(1, v), lambda y, v, m, i: np.putmask(y, m, v), lambda y, v, m, i: np.place(y, m, v),
        lambda y, v, m, i: np.put(y, i, v), lambda y, v, m, i: np.copyto(y, v, casting="unsafe", where=m),
    ]  # fmt: skip
    numbers = [np.int16(300), np.float64(2.5), np.uint64(2**63), 300, 2.5, np.bool_(True)]
    for f in forms:
        compiled = jit(f)
        for dtype in ("i1", "u4"):
            for v in numbers:
                for m in (np.array([True, False, True]), np.zeros(3, bool)):
                    left = []
                    for g in (f, compiled):
                        y = np.zeros(3, dtype)
                        try:
                            g(y, v, m, np.flatnonzero(m))
                        except (OverflowError, ValueError) as error:
                            left.append(isinstance(error, OverflowError))
                        left.append(y.tolist())
                    assert left[: len(left) // 2] == left[len(left) // 2 :], (dtype, v, m)


def test_bools_and_scalars_where_numpy_has_rules_of_their_own():
    # fmt: off
    def strewn(w, n): w.flat = np.float64(n)
    def strewn_part(w, n): w.flat[1:] = np.float64(n)
    def diagonal(w, n): np.fill_diagonal(w.reshape(1, 3), np.float64(n))
    # fmt: on
    cases = [
        lambda w, n: np.clip(True, 0, w), lambda w, n: np.clip(1, True, w), lambda w, n: np.clip(n > 3, 0, w),
        lambda w, n: np.clip(2, 0, w.astype("f4")),
        lambda w, n: np.isclose(w, n > 3), lambda w, n: np.allclose(w > 1, True), lambda w, n: np.isclose(w > 1, n > 3),
        lambda w, n: np.isclose((w > 1)[:0], True), lambda w, n: np.insert(w, 0, complex(n, 1)), strewn, strewn_part, diagonal,
    ]  # fmt: skip
    for w in (W, U):
        for f in cases:
            same(lambda w, x, f=f: f(w, float(x)), w, [5.0, 1e10, -7e4])


def test_operators_that_pythons_numbers_lack():
    """TypeError in Python's words: also on one side of a choice alone, where the other side goes on."""
    made = {int: lambda x: int(x[0]), float: lambda x: float(x[0]), complex: lambda x: complex(x[0], 1), bool: lambda x: bool(x[0] > 2)}
    operators = [operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul]
    x = np.array([3.0, 4.0])
    for f, a, b in itertools.product(operators, made, made):
        for g in (lambda x, f=f, a=a, b=b: f(made[a](x), made[b](x)), lambda x, f=f, a=a, b=b: f(a(3), made[b](x))):
            left = []
            for h in (g, jit(g)):
                try:
                    left.append(h(x))
                except TypeError as error:
                    left.append(str(error).partition("\n")[0])
            assert left[0] == left[1] and type(left[0]) is type(left[1]), (f.__name__, a, b)

    def chosen(x, k):
        q = x[0]
        if x.sum() > 100:
            q = k**0.5
        return 300 // q

    compiled = jit(chosen)
    assert compiled(x, -1) == chosen(x, -1)
    with pytest.raises(TypeError, match="unsupported operand"):
        compiled(x * 100, -1)
