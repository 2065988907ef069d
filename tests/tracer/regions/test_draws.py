"""Random numbers drawn by the running program are NumPy's and Python's to the bit, and the generators end where they would."""

import random
import warnings

import numpy as np
import pytest
from compare import agree

from wengert import Fallback, UnsupportedError, grad, jacfwd, jit, value_and_grad
from wengert.backends import native
from wengert.ir.ops.drawing import KINDS, WORDS, words_of

BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


def same_draws(function, make, *calls, **options):
    """Compare calls of a function of (generator, *args) with those of its compiled form, from generators that are alike."""
    plain, ours = make(), make()
    f = jit(lambda *args: function(ours, *args), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        for args in calls:
            want = outcome(function, plain, *copies(args))
            agree(outcome(f, *copies(args)), want)
            assert np.array_equal(words_of(ours), words_of(plain))


def copies(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, OverflowError, IndexError, ZeroDivisionError) as error:
        return type(error).__name__, str(error).split("\n")[0]


def of_generator(rng, n):
    a = b = c = 0.0
    k = 0
    for _ in range(n):
        a += rng.random() + rng.uniform(-1, 3) + rng.standard_exponential()
        b = b * 0.5 + rng.normal(a, 2.0) + rng.standard_normal() + rng.exponential(2.5)
        k += rng.integers(7) + rng.integers(-5, 5) + rng.integers(0, 1 << 40) % 3 + rng.choice(9)
        c += rng.gamma(2.0, 0.5) + rng.poisson(3.0) + rng.beta(2.0, 3.0)
    return a, b, c, k, rng.random()


def of_random_state(rng, n):
    a = b = 0.0
    k = 0
    for _ in range(n):
        a += rng.rand() + rng.random_sample() + rng.uniform(-1, 3) + rng.standard_exponential()
        b = b * 0.5 + rng.normal(a, 2.0) + rng.exponential(2.5)
        if rng.rand() < 0.6:
            b += rng.randn() - rng.standard_normal()
        k += rng.randint(7) + rng.randint(-5, 5) + rng.randint(0, 1 << 40) % 3 + rng.choice(9)
    return a, b, k, rng.randn()


@pytest.mark.parametrize("bits", BITS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("family, function", [(np.random.Generator, of_generator), (np.random.RandomState, of_random_state)])
def test_every_kind_from_every_bit_generator(family, function, bits):
    same_draws(function, lambda: family(bits(5)), (40,), (40,), (700,), (0,))


def of_python(rng, n):
    a, k = 0.0, 0
    for _ in range(n):
        a += rng.random() * rng.uniform(-2.0, 3.0)
        k += rng.randrange(6) + rng.randint(1, 6) + rng.randrange(3, 1 << 45) % 7
    return a, k


def test_pythons_own_generator():
    same_draws(of_python, lambda: random.Random(3), (50,), (500,))


def rejected(rng, n):
    total, tries = 0.0, 0
    for _ in range(n):
        while True:
            x, y = rng.random(), rng.random()
            tries += 1
            if x * x + y * y < 1:
                break
        total += x
    return total, tries


def walks(rng, steps, walkers):
    ends = np.zeros(walkers)
    for w in range(walkers):
        x = 0.0
        for _ in range(steps):
            x += rng.normal()
            if abs(x) > 4:
                break
        ends[w] = x
    return ends, rng.integers(10)


def metropolis(rng, n):
    x = total = 0.0
    for _ in range(n):
        y = x + rng.normal() * 0.5
        if rng.random() < np.exp(0.5 * (x * x - y * y)):
            x = y
        total += x
    return total / n


def seldom(rng, x):
    hits = 0
    for v in x:
        if v > 0:
            hits += rng.integers(3)
        elif v < -1:
            hits -= rng.integers(5)
    return hits


def rows(rng, n):
    total = np.zeros(3)
    for _ in range(n):
        total = total * 0.5 + rng.normal(size=3) + rng.normal(total, 0.1) + rng.random(3)
    return total


def orders(rng, x, n):
    total = np.zeros(5)
    for _ in range(n):
        total += rng.permutation(5) + rng.permutation(x) * 0.5
        rng.shuffle(x)
        total += x + rng.choice(x, 5)
    return total


def bounds(rng, n, low, width):
    k, a = 0, 0.0
    for i in range(n):
        k += rng.integers(i, i + width)
        a += rng.normal(low, width) + rng.uniform(low, low + width) + rng.exponential(width)
    return k, a


def legacy_bounds(rng, n, low, width):
    k, a = 0, 0.0
    for i in range(n):
        k += rng.randint(i, i + width)
        a += rng.normal(low, width) + rng.uniform(low, low + width) + rng.exponential(width)
    return k, a


def before_and_behind(rng, n):
    first = rng.normal(size=2)
    x = first[0]
    for _ in range(n):
        x = x * 0.5 + rng.random()
    return x, first, rng.permutation(4), rng.normal(size=3), rng.choice(5)


def one_of(rng, x):
    return rng.normal() if x > 0 else rng.random()


def fails(rng, x, n):
    total = 0.0
    for i in range(n):
        total += rng.random() * x[i]
    return total


RUNS = {
    "rejected": (rejected, [(20,), (300,)]),
    "walks": (walks, [(30, 4), (200, 5)]),
    "metropolis": (metropolis, [(50,), (200,)]),
    "seldom": (seldom, [(np.linspace(-2.0, 2.0, 41),), (np.linspace(-3.0, 0.5, 41),)]),
    "rows": (rows, [(5,), (60,)]),
    "orders": (orders, [(np.arange(5.0), 4), (np.arange(5.0), 70)]),
    "bounds": (bounds, [(20, 0.5, 3), (20, -2.0, 1), (20, 0.5, 0), (20, 0.5, -3), (20, 1.5, 2)]),
    "before_and_behind": (before_and_behind, [(3,), (90,)]),
    "one_of": (one_of, [(1.0,), (-1.0,)]),
    "fails": (fails, [(np.ones(8), 8), (np.ones(8), 30), (np.ones(8), 5)]),
}


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937], ids=lambda b: b.__name__)
@pytest.mark.parametrize("name", RUNS)
def test_draws_in_all_kinds_of_flow(name, bits):
    function, calls = RUNS[name]
    same_draws(function, lambda: np.random.Generator(bits(11)), *calls)


def test_parameters_of_the_legacy_generator_are_checked_as_numpy_does():
    same_draws(legacy_bounds, lambda: np.random.RandomState(3), (20, 0.5, 3), (20, 0.5, 0), (20, 0.5, -3), (20, 1.5, 2))


@pytest.mark.parametrize("options", [{"engine": "numpy"}, {"engine": "xla"}, {"exact": True}], ids=str)
def test_engines_draw_the_same(options):
    for function, calls in (RUNS["rows"], RUNS["metropolis"], RUNS["before_and_behind"]):
        same_draws(function, lambda: np.random.default_rng(2), *calls, **options)


def interleaved(rng, n):
    other = np.random.default_rng(8)
    total = 0.0
    for i in range(n):
        total += rng.random() - other.normal() + np.random.rand() * random.random()
        if i % 3 == 0:
            total += np.random.randn()
    return total, other.random()


def test_several_generators_at_once():
    for _ in range(2):
        np.random.seed(4), random.seed(5)
        same_draws(interleaved, lambda: np.random.default_rng(1))

    def seeded():
        np.random.seed(4), random.seed(5)
        return np.random.default_rng(1)

    plain, ours = seeded(), None
    want = [interleaved(plain, n) for n in (7, 50)]
    state = np.random.get_state(), random.getstate()
    ours = seeded()
    f = jit(lambda n: interleaved(ours, n))
    agree([f(n) for n in (7, 50)], want)
    now = np.random.get_state(), random.getstate()
    assert (now[0][1] == state[0][1]).all() and now[0][2:] == state[0][2:] and now[1] == state[1]


def test_generators_that_share_a_bit_generator():
    def run(n):
        x = 0.0
        for _ in range(n):
            x += one.random() + two.normal()
        return x

    bits = np.random.PCG64(3)
    one, two = np.random.Generator(bits), np.random.Generator(bits)
    want = run(20), bits.state
    bits.state = np.random.PCG64(3).state
    assert (jit(run)(20), bits.state) == want


def test_another_bit_generator_under_the_same_name():
    def run(n):
        x = 0.0
        for _ in range(n):
            x += np.random.random()
        return x

    f, before = jit(run), np.random.get_bit_generator()
    try:
        np.random.seed(1)
        f(5)
        np.random.set_bit_generator(np.random.PCG64(2))
        with pytest.warns(Fallback, match="bit generator"):
            got = f(5)
        np.random.set_bit_generator(np.random.PCG64(2))
        assert got == run(5)
    finally:
        np.random.set_bit_generator(before)


def test_an_interrupted_or_refused_call_leaves_the_state():
    rng = np.random.default_rng(3)

    def grows(n):
        k = 1
        for _ in range(n):
            k = k * 3 + int(rng.integers(2))
        return k

    f, other = jit(grows, whole=False), np.random.default_rng(3)
    with pytest.warns(Fallback):
        got = f(60)
    k = 1
    for _ in range(60):
        k = k * 3 + int(other.integers(2))
    assert got == k and rng.bit_generator.state == other.bit_generator.state


# -- derivatives -----------------------------------------------------------------------------------


def estimator(rng, x, n):
    total = 0.0
    for _ in range(n):
        z = x[0] + x[1] * rng.standard_normal()
        total = total + np.sin(z) * z * rng.random()
    return total / n


def test_gradients_through_draws():
    x = np.array([0.3, 1.7])
    ours, plain = np.random.default_rng(9), np.random.default_rng(9)
    f = value_and_grad(lambda x, n: estimator(ours, x, n))
    for n in (5, 64):
        drawn = [(plain.standard_normal(), plain.random()) for _ in range(n)]
        value, slope = f(x, n)
        zs, us = np.array(drawn).T
        z = x[0] + x[1] * zs
        by_z = (np.cos(z) * z + np.sin(z)) * us / n
        assert np.isclose(value, np.sum(np.sin(z) * z * us) / n)
        assert np.allclose(slope, [by_z.sum(), (by_z * zs).sum()])
        assert ours.bit_generator.state == plain.bit_generator.state


def moved_and_scaled(rng, x):
    total = 0.0
    for _ in range(4):
        total = total + rng.normal(x[0], x[1]) * rng.uniform(x[0], x[1] + 1) + rng.exponential(x[1]) ** 2
        total = total + (rng.normal(x, 0.5) ** 2).sum()
    return total


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_numbers_move_with_the_parameters_of_their_draws(make):
    rng, x = make(1), np.array([0.3, 1.2])
    at = lambda x: moved_and_scaled(make(1), x)
    want = [(at(x + d) - at(x - d)) / 2e-6 for d in 1e-6 * np.eye(2)]
    assert np.allclose(grad(lambda x: moved_and_scaled(rng, x))(x), want, rtol=1e-6)
    rng = make(1)
    assert np.allclose(jacfwd(lambda x: moved_and_scaled(rng, x))(x), want, rtol=1e-6)


def test_other_numbers_have_no_derivative_by_their_parameters():
    rng = np.random.default_rng(1)

    def f(x):
        total = 0.0
        for _ in range(4):
            total = total + rng.gamma(x)
        return total

    with pytest.raises((UnsupportedError, TypeError), match="no derivative"):
        grad(f)(1.0)


# -- what is slow ----------------------------------------------------------------------------------


def odd(rng, n):
    total = 0.0
    for _ in range(n):
        total += rng.random(dtype=np.float32) + rng.choice(3, p=[0.2, 0.3, 0.5]) + rng.random()
    return total


def test_draws_that_call_python_run_as_plain_python_in_loops():
    plain, ours = np.random.default_rng(2), np.random.default_rng(2)
    f = jit(lambda n: odd(ours, n), whole=False)
    with pytest.warns(Fallback, match="loop"):
        agree(f(9), odd(plain, 9))
    assert ours.bit_generator.state == plain.bit_generator.state
    g = jit(lambda n: odd(ours, n), whole=True)
    agree(g(9), odd(plain, 9))
    assert ours.bit_generator.state == plain.bit_generator.state


def test_without_machine_code_loops_run_as_plain_python():
    plain, ours = np.random.default_rng(2), np.random.default_rng(2)
    f = jit(lambda n: metropolis(ours, n), native=False, whole=False)
    with pytest.warns(Fallback, match="machine code"):
        agree(f(9), metropolis(plain, 9))
    assert ours.bit_generator.state == plain.bit_generator.state


def test_kinds_that_are_not_numpys_here_are_found_out():
    assert all(native.unlike_numpy("Generator", "PCG64", kind) is None for kind in KINDS)
    assert "no native form" in native.unlike_numpy("RandomState", "MT19937", "gamma")
    assert set(WORDS) == {b.__name__ for b in BITS}


def picked(x):
    if random.randint(0, 100) > 40:
        return [x[0], random.uniform(0.0, 1.0)]
    return None


def one_or_two(x):
    a = np.random.randn(3)
    if a[0] > x[0]:
        return np.random.rand(2), "above"
    return a[np.random.randint(0, 3)]


def letters(x):
    return ["a", "b", "c", "d"][int(np.random.randint(0, 4))], np.random.rand()


def counted_by_key(x):
    counts = {}
    for _ in range(3):
        k = random.randint(0, 2)
        counts[k] = counts.get(k, 0) + 1
    return counts


@pytest.mark.parametrize("f", [picked, one_or_two, letters, counted_by_key])
def test_what_is_drawn_may_choose_by_value(f):
    compiled = jit(f, whole=True)
    for seed in range(8):
        found = []
        for g in (compiled, f):
            random.seed(seed), np.random.seed(seed)
            found.append((str(g(np.array([0.1 * seed]))), random.random(), np.random.rand()))
        assert found[0] == found[1]
    tree = compiled.compiled
    assert all(w.drawing is not None and len(w.drawing.versions) > 1 for e in tree.entries.values() for w in e.worlds)


def drawn_on_one_way(v):
    if v[0] < 0:
        return None
    return v * np.random.rand()


def as_many_as_data_say(v):
    return np.random.rand(len(v[v > 0])), np.random.normal(size=int(v[0]) + 2)


def an_order_of_a_drawn_length(v):
    return np.random.permutation(np.random.randint(1, 4))


@pytest.mark.parametrize("f", [drawn_on_one_way, as_many_as_data_say, an_order_of_a_drawn_length])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_ways_that_draw_beside_ways_that_do_not_and_sizes_by_data(f, first):
    compiled = jit(f)
    for seed, sign in enumerate((first, -first, first, first, -first)):
        found = []
        for g in (compiled, f):
            np.random.seed(seed)
            found.append((str(g(np.array([sign, 2.0, -1.0, seed]))), np.random.rand()))
        assert found[0] == found[1]
