"""Sizes that data decide: np.arange of any numbers, np.zeros(int(T / dt)), ranges; at the top, in loops and branches."""

import numpy as np
import pytest

from wengert import grad, jit

KINDS = ["float", "float", "int", "float64", "float32", "float16", "int32", "array"]


def drawn(rng, kind):
    x = rng.choice([0.0, 1.0, rng.normal(), 10 * rng.normal(), 0.1 * rng.integers(-9, 9)])
    whole = int(round(x))
    made = {"float": float(x), "int": whole, "array": np.array(x), "int32": np.int32(whole)}
    return made[kind] if kind in made else np.dtype(kind).type(x)


def outcome(function, args):
    try:
        return function(*args)
    except Exception as error:
        return error


@pytest.mark.as_numpy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(24))
def test_arange(seed):
    rng = np.random.default_rng(seed)
    more = {} if rng.random() < 0.7 else {"dtype": rng.choice([np.float32, np.int64, np.float64])}
    function = [
        lambda a, b, c: np.arange(a, b, c, **more),
        lambda a, b, c: np.arange(a, b, **more),
        lambda a, b, c: np.arange(b, **more),
        lambda a, b, c: np.arange(a, step=c, stop=b, **more),
    ][seed % 4]
    kinds, compiled = rng.choice(KINDS, 3), jit(function)
    for _ in range(4):
        a, b, c = (drawn(rng, kind) for kind in kinds)
        b = type(b)(a + c * rng.integers(9)) if rng.random() < 0.3 and kinds[1] != "array" else b
        found, expected = outcome(compiled, (a, b, c)), outcome(function, (a, b, c))
        if isinstance(expected, Exception):
            assert type(found) is type(expected) and str(expected).removeprefix("float ") in str(found)
        else:
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-15 if found.dtype != np.float32 else 1e-6, atol=1e-15)


@pytest.mark.parametrize("args", [(0.0, np.nan, 0.1), (0.0, np.inf, 0.1), (0, 1e30, 0.1), (0.0, 1e-300, 1e300), (0.0, -1e-300, 1e300)])
def test_arange_at_the_edges(args):
    function = lambda a, b, c: np.arange(a, b, c)
    found, expected = outcome(jit(function), args), outcome(function, args)
    assert type(found) is type(expected)
    assert str(expected) in str(found) if isinstance(expected, Exception) else found.shape == expected.shape


class Path:
    def __init__(self, time, step):
        self.time, self.step = time, step

    def points(self, x):
        return np.array([x * t for t in np.arange(0, self.time, self.step)])


def of_an_object(x, T, dt):
    return Path(T, dt).points(x[0])


def steps_of_arange(x, T, dt):
    total = 0.0
    for a in x:
        for t in np.arange(0.0, T, dt):
            total += a * t
    return total


def an_array_a_trip(x, T, dt):
    out = np.zeros(len(x))
    for k in range(len(x)):
        y = np.zeros(int(T / dt))
        y[:] = x[k]
        for i in range(1, len(y)):
            y[i] += y[i - 1] * dt
        out[k] = y[-1]
    return out


def in_branches(x, T, dt):
    total = 0.0
    for a in x:
        if a > 1.5:
            for t in np.arange(0, T, dt):
                total += t * a
        else:
            total -= np.zeros(int(T / dt) + 1).size
    return total


def lists_of_lists(x, T, dt):
    wide, high = round(T / dt), round(T)
    grid = [[False for _ in range(high)] for _ in range(wide)]
    for i in range(wide):
        for j in range(high):
            if i * dt + j > x[0]:
                grid[i][j] = True
    return grid


def repeated(x, T, dt):
    return [[a] * int(T / dt) for a in x]


def rows_of_arange(x, T, dt):
    return [np.arange(0, T, dt) * a for a in x]


def in_a_while_loop(x, T, dt):
    t, y = 0.0, np.zeros(int(T) * 2)
    while t < T:
        y = np.zeros(int(T) * 2)
        y[int(t)] = x[0]
        t += 1
    return y


def in_a_helper(x, T, dt):
    inner = lambda a: np.arange(0, T, dt) * a
    return np.array([inner(a) for a in x])


def of_the_data(x, T, dt):
    total = 0.0
    for a in x:
        t = np.arange(0, a, dt)
        total += np.sin(t).max() + len(t) + t[-1]
    return total


def of_the_data_in_two_axes(x, T, dt):
    total = 0.0
    for a in x:
        z = np.zeros((int(a) + 1, 2))
        z[:, 0] = a
        total += z.sum()
    return total


def until_data_end_it(x, T, dt):
    i, total = 0, 0.0
    while i < len(x) and x[i] > 0:
        total += np.arange(0.0, x[i], 0.5).sum()
        i += 1
    return total, i


def collected(x, T, dt):
    out = np.zeros(0)
    for a in x:
        out = np.append(out, np.arange(0, a, 0.5))
    return out


def of_contents(x, T, dt):
    return np.arange(x.min(), x.max(), 0.25).sum(), np.zeros(int(x.sum())).size


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:3] == ("x", "T", "dt")]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(function):
    x, compiled = np.array([1.0, 2.0, 3.5]), jit(function)
    for args in ((x, 1.0, 0.1), (x, 2.0, 0.1), (x * 30, 1.0, 0.1), (x, 1.04, 0.125), (x + 1, 1.0, 0.1)):
        found, expected = compiled(*args), function(*args)
        assert type(found) is type(expected)
        if isinstance(expected, list):
            assert [type(f) for f in found] == [type(e) for e in expected]
            for f, e in zip(found, expected, strict=True):
                np.testing.assert_allclose(f, e, rtol=1e-12)
        else:
            np.testing.assert_allclose(np.hstack([found]), np.hstack([expected]), rtol=1e-12)


def test_one_trace_for_each_size_that_numbers_decide():
    f = jit(lambda T, dt: np.arange(0, T, dt))
    for T, dt in ((1.0, 0.1), (2.0, 0.2), (0.5, 0.05), (0.96, 0.1), (1.5, 0.1)):
        np.testing.assert_allclose(f(T, dt), np.arange(0, T, dt), rtol=1e-15)
    assert f.explain().splitlines()[0].endswith(": 2 trace(s)")


def test_one_trace_for_each_power_of_two_that_data_decide():
    f = jit(lambda x: [np.arange(0, a, 0.5).sum() for a in x])
    for x in (np.array([1.0, 4.0]), np.array([2.0, 15.0]), np.array([16.5, 1.0]), np.array([20.0, 3.0])):
        assert f(x) == pytest.approx([np.arange(0, a, 0.5).sum() for a in x])
    assert f.explain().splitlines()[0].endswith(": 2 trace(s)")


@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
def test_what_is_printed_before_is_printed_once(capsys, falling_back):
    def rows(x, T):
        for a in x:
            print(a, np.zeros(int(T)).size)
        return x

    f = jit(rows)
    for T in (2.0, 3.0, 2.5):
        f(np.array([1.0, 2.0]), T)
        found = capsys.readouterr().out
        rows(np.array([1.0, 2.0]), T)
        assert found == capsys.readouterr().out


def test_gradients():
    loss = lambda x, T, dt: np.sum(np.sin(x * np.arange(0, T, dt)))
    for g in (grad(loss), jit(grad(loss))):
        for T in (1.0, 2.0):
            t = np.arange(0, T, 0.1)
            assert g(1.3, T, 0.1) == pytest.approx(np.sum(np.cos(1.3 * t) * t))
    assert grad(lambda x: np.sum(x * np.zeros(int(x.sum()) + 1)[0]))(np.ones(3)).tolist() == [0.0] * 3
