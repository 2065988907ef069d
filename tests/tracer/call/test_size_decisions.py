"""NumPy raises, or goes one of two ways, by relations of sizes, of which a program of symbolic sizes has to know: where
the result is returned, and where nothing needs it."""

import random

import numpy as np
import pytest
from compare import agree
from draws import apart, attempt, function

from wengert import grad, jit
from wengert.tracer.call import families, symbolic

LENGTHS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 19, 20, 21, 22, 24, 27, 30, 36, 1, 0]
HEAD = """\
from operator import iadd

import numpy as np

def assign(to, x):
    to[:] = x
    return to

def three(x):
    a, b, c = x
    return a + b * c

"""

# shapes of the arguments x, y and z | k | an expression of them
TABLE = """\
n | len(x) // 4 | x.reshape(k, -1)
n | len(x) // 4 | x[:len(x)//2].reshape(k, -1)
n | 0 | x.reshape(x[:len(x)//4].shape + (-1,))
n,m | 0 | x.reshape(-1, 3)
n,m | len(x) | x.reshape(k // 2, -1)
n,m | 0 | x.reshape(6, -1)
n | len(x) // 4 | np.reshape(x, (-1, k), order="F")
n | int(np.prod(x[::4].shape)) | x.reshape((k, -1))
n | len(x) % 5 + 1 | x.reshape(k, -1)
n | len(x) % 5 | x.reshape(k, -1)
n,n+1 | 0 | x.reshape(3, -1)
n | len(x) // 4 | np.arange(len(x)).reshape(k, -1)
n | len(x) // 4 | np.zeros(len(x)).reshape(k, -1)
n | len(x) // 4 | np.array(x).reshape(-1, k, 2)
n | len(x) // 4 | np.split(x, max(k, 1))
n | 0 | np.split(x, 3)
n | len(x) // 4 | np.array_split(x, k)
n | len(x) // 2 | np.stack([x[:k], x[k:]])
n | 0 | np.vstack([x[::3], x[1::3]])
n,m;m | 0 | np.concatenate([x, y[None]], axis=0)
n | (len(x) - 20) ** 2 | np.broadcast_to(x[:1], (k - 4, 1))
n | 0 | x[::3] + x[1::3]
n | len(x) // 4 | x[:2 * k] + x[:len(x) // 2]
n | len(x) // 2 | x[:k] @ x[k:]
n | 0 | np.einsum('i,i->', x[::2], x[1::2])
n,m | 0 | np.tensordot(x, x, axes=1)
n;m | 0 | x[y > 0]
n | 0 | x[[0, 7, 11]]
n | (len(x) - 20) ** 2 | x[np.arange(k)]
n | len(x) - 3 | x[k]
n | len(x) % 7 + 6 | x[k]
n;m | len(y) | x.take([k - 2])
n | len(x) // 2 | np.roll(x, k)
n | len(x) - 8 | np.repeat(x, k)
n | (len(x) - 20) ** 2 - 4 | np.repeat(x, k)
n | len(x) - 8 | np.tile(x, max(k, 0))
n | (len(x) - 20) ** 2 - 4 | np.pad(x, k)
n | len(x) - 8 | np.resize(x, k)
n | (len(x) - 20) ** 2 - 4 | np.linspace(0, 1, k)
n | (len(x) - 20) ** 2 - 4 | np.zeros(k)
n | (len(x) - 20) ** 2 - 4 | np.full((k, 2), 1.0)
n | len(x) - 8 | np.eye(k)
n | (len(x) - 20) ** 2 - 4 | np.arange(k).max()
n | 0 | assign(np.zeros(len(x) // 4 * 4), x)
n | len(x) // 2 | assign(x[:k], x[k:])
n;m | 0 | [a * b for a, b in zip(x, y, strict=True)]
n | 0 | np.add.at(np.zeros(len(x)), [0, 11], 1.0)
n | 0 | np.add.at(np.zeros(len(x)), np.arange(len(x))[::2], x[1::2])
n | len(x) // 2 + 5 | np.partition(x, k)
n | len(x) - 8 | np.diff(x, n=k)
n | len(x) // 8 | np.convolve(x, x[:k])
n | (len(x) - 20) ** 2 | np.convolve(x, np.ones(k))
n | 0 | x[10:].min()
n | (len(x) - 20) ** 2 | np.ones(k).max()
n | len(x) % 7 | x[:k].argmax()
n,m;m | 0 | np.linalg.solve(x, y)
n | len(x) % 4 | np.cross(x[:k], x[:k])
n | 0 | np.average(x[::2], weights=x[1::2])
n | 0 | np.bincount(np.arange(len(x))[::2], weights=x[1::2])
n | len(x) // 2 + 4 | np.lib.stride_tricks.sliding_window_view(x, k)
n | 0 | np.lib.stride_tricks.as_strided(x, (len(x) - 9, 10), (8, 8))
n | 0 | np.lexsort((x[::2], x[1::2]))
n | 0 | np.unravel_index(20, (len(x), 2))
n | len(x) // 2 | np.ravel_multi_index((k, k), (len(x), 9))
n | 0 | np.put(x, [0, 10], 1.0)
n | len(x) // 2 + 5 | np.insert(x, k, 1.0)
n | len(x) // 2 + 5 | np.delete(x, k)
n | 0 | np.add(x[::2], 1.0, out=np.zeros(len(x) // 2))
n | 0 | np.where(x[::2] > 0, x[1::2], 0.0)
n | 0 | np.select([x[::2] > 0], [x[1::2]])
n | 0 | np.trapezoid(x[::2], x[1::2])
n | (len(x) - 20) ** 2 | np.fft.fft(x, k)
n;m | 0 | np.broadcast_shapes(x.shape, y.shape)
n | len(x) - 8 | np.vander(x, k)
n | (len(x) - 20) * (len(x) - 22) | x[k:].sum()
n | (len(x) - 20) ** 2 - 4 | x[::k]
n | len(x) - 12 | x[::k]
n | len(x) - 12 | range(0, 9, k)
n;m | len(y) | x[np.arange(k) + 3]
n;m | len(y) | x[np.arange(k - 2)]
n;m | 0 | np.outer(x, y).ravel()[50]
"""
MORE = """\
n | (len(x) - 20) ** 2 | x.reshape(k, -1)
n,m | 0 | x.T.reshape(len(x), -1, 2)
n | len(x) // 4 | np.ones((k, len(x))).reshape(-1, k + 1)
n,m | 0 | np.split(x, 3, axis=1)
n | 0 | np.hsplit(x, 2)
n | len(x) // 4 | np.split(x, [k, 2 * k])
n | 0 | np.stack([x[::2], x[1::2]])
n | len(x) // 4 | np.stack([x[:2 * k], x[:len(x) // 2]])
n,m | 0 | np.concatenate([x, x.T])
n | 0 | np.column_stack([x[::2], x[1::2]])
n | 0 | np.block([[x[::2]], [x[1::2]]])
n | 0 | np.broadcast_to(x[len(x) // 2:], (3, len(x) // 2))
n | 0 | x[5:] + x[3:]
n | 0 | x[10:] + x[12:]
n | 0 | x[:12] + np.ones(12)
n | (len(x) - 20) ** 2 | x + np.ones(k)
n | (len(x) - 20) ** 2 | np.ones(4) + np.ones(k)
n | len(x) % 7 | np.ones(k) + np.ones(3)
n | len(x) % 7 | np.ones(k) + x[:3]
n;n*m;m | 0 | np.outer(x, z).ravel() + y
n;n+m;m | 0 | np.concatenate([x, z]) + y
n | 0 | np.outer(x, x).ravel()[:10 * len(x) - 20] + np.zeros(10 * len(x) - 20)
n | len(x) // 2 | iadd(x[:k], x[k:])
n;m | 0 | x - y
n;m | 0 | x[:, None] - y
n,m | 0 | x @ x
n,m;m | 0 | x @ y
n,m;n | 0 | x @ y
n,m | 0 | x[:, :3] @ x
n | len(x) // 2 | np.dot(x[:k], x[k:])
n | 0 | np.inner(x[::2], x[1::2])
n | 0 | np.vdot(x[::2], x[1::2])
n | 0 | x[np.arange(len(x) // 2 * 2) >= 0]
n | 0 | x[np.ones(12, bool)]
n;m | 0 | x[(y > 0)[:len(x)]]
n | len(x) // 2 | x[[k, k + 9]]
n | 0 | x[np.arange(12)]
n | 0 | x[np.arange(len(x)) * 2 - 9]
n | len(x) // 2 + 5 | x[k]
n | len(x) - 12 | x[k + 10]
n | (len(x) - 20) ** 2 | x[k]
n,m | len(x) | x[:, k - 1]
n,m | len(x) | x[0, -k]
n | len(x) // 2 | np.take(x, k + 5)
n | 0 | np.repeat(x, [1] * 12)
n | 0 | np.repeat(x[::2], np.arange(len(x) // 2))
n | len(x) - 8 | np.pad(x, k)
n;m | len(x) - len(y) | np.zeros(k)
n;m | (len(x) - 10) * (len(y) - 10) | np.zeros(k)
n | len(x) - 8 | np.arange(k).min()
n | 0 | assign(np.zeros(len(x) // 4 * 4), x[:len(x) // 2 * 2])
n | 0 | assign(np.zeros(12), x)
n;m | 0 | assign(x, y)
n;m | 0 | assign(x[1:], y[:-1])
n | len(x) // 4 | assign(x[:k], x.reshape(-1, k)[0])
n | 0 | sum(a * b for a, b in zip(x[::2], x[1::2], strict=True))
n | 0 | list(zip(range(len(x) // 2 * 2), range(len(x)), strict=True))
n | 0 | np.add.at(np.zeros(len(x)), np.arange(12), 1.0)
n | 0 | np.partition(x, 10)
n | 0 | np.argpartition(x, -10)
n | len(x) // 2 | np.diff(x, n=k)
n | len(x) % 7 | np.convolve(x, x[:k])
n | len(x) % 7 | x[:k].min()
n | (len(x) - 20) ** 2 | max(x[:k])
n;m | 0 | x[len(y):].max()
n | len(x) // 2 * 2 - len(x) // 3 * 3 | x[k:][:1].max()
n,m | 0 | np.linalg.inv(x)
n,m | 0 | np.linalg.cholesky(x[:, :len(x)])
n;m | 0 | np.average(x, weights=y)
n | len(x) - 8 | np.bincount(np.arange(len(x)), minlength=k)
n | (len(x) - 20) ** 2 | np.lib.stride_tricks.sliding_window_view(x, k)
n | 0 | np.unravel_index(np.arange(12), (len(x),))
n | len(x) - 1 | np.unravel_index(k, (len(x) // 4, 4))
n | (len(x) - 20) ** 2 | np.delete(x, k)
n | 0 | np.sin(x, out=np.zeros(12))
n;m | 0 | np.exp(x, out=np.zeros(len(y)))
n | 0 | np.exp(x, where=np.arange(12) > 3, out=np.zeros(len(x)))
n | 0 | np.cumsum(x, out=np.zeros(len(x) // 2 * 2))
n | len(x) % 3 | np.choose(k, [x, x * 2])
n | 0 | np.add.reduceat(x, [0, 10])
n | len(x) // 2 + 5 | np.add.reduceat(x, [0, k])
n | 0 | np.cov(x[::2], x[1::2])
n | 0 | np.polyfit(x[::2], x[1::2], 1)
n | len(x) - 8 | np.histogram(x, bins=k)
n | 0 | np.digitize(x, np.arange(len(x)) * 1.0)
n | 0 | np.gradient(x[10:])
n | len(x) - 8 | np.fft.fft(x, k)
n | 0 | np.fft.rfft(x[10:])
n | 0 | x[9:].reshape(-1, 1).squeeze(0)
n | len(x) % 3 | np.squeeze(np.ones((k, 2)), 0)
n | len(x) % 3 | float(x[:k])
n | len(x) % 3 | np.ones(k).all() and bool(np.ones(k))
n | len(x) % 4 | three(x[:k])
n | 0 | np.broadcast_shapes(x.shape, (12,))
n;m | 0 | np.copyto(x, y)
n | 0 | np.place(x, np.arange(12) > 4, 1.0)
n | 0 | np.putmask(x, np.arange(12) > 4, 1.0)
n | 0 | np.take_along_axis(x, np.arange(12), 0)
n | 0 | np.compress(np.ones(12, bool), x)
n | 0 | np.extract(np.ones(12, bool), x)
n,m | 0 | np.ones((len(x) - 8, 2))
n | (len(x) - 20) * (len(x) - 22) | x[:k]
n | len(x) % 7 - 3 | x[::k]
n;m | len(x) - len(y) | x[::k]
n;m | len(x) - len(y) | x[:k]
n;m | (len(x) - 10) * (len(y) - 10) | x[:k]
n | 0 | np.linalg.norm(x[10:], np.inf)
"""
ROWS, MORE_ROWS = ([tuple(line.split(" | ", 2)) for line in text.splitlines()] for text in (TABLE, MORE))


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)  # none has a program of its own


def program(count, k, expression, needed):
    """A function that gives an expression, or has it computed for nothing."""
    body = [f"k = {k}", *([f"return {expression}"] if needed else [expression, "return x * 2"])]
    text = f"{HEAD}def f({', '.join('xyz'[:count])}):\n" + "".join(f"    {line}\n" for line in body)
    return function(text, f"decisions {k} {expression} {needed}")


def arguments(shapes, n, m):
    """Arrays of shapes that n and m tell: rising numbers, and matrices that are far from singular."""
    made = [eval(f"({shape},)", {"n": n, "m": m}) for shape in shapes.split(";")]
    return tuple(np.linspace(-1.0, 2.0 + n, *s) if len(s) == 1 else np.eye(*s) + 0.01 for s in made)


def sizes_drawn(f, shapes, rng):
    """Pairs of sizes in random order, first some at which the function does not raise: a program is made of these."""
    pairs = [(n, rng.choice([n, 3, 12, 2 * n, n + 1, rng.choice(LENGTHS)])) for n in LENGTHS]
    rng.shuffle(pairs)
    fine = [p for p in pairs if min(p) > 1 and attempt(f, arguments(shapes, *p)).error is None]
    return fine[:9] + pairs


def differences(shapes, k, expression, needed):
    rng, count = random.Random(expression), len(shapes.split(";"))
    f = program(count, k, expression, needed)
    g, found = jit(f, dynamic=True), []
    for at, (n, m) in enumerate(sizes_drawn(f, shapes, rng)):
        given, own, before = (arguments(shapes, n, m) for _ in range(3))
        if at > 8 and at % 4 == 0 and len(given) > 1:  # none of those that the others are like
            given, own, before = ((*x[:-1], x[-1][:-1].copy()) for x in (given, own, before))
        if why := apart(attempt(g, given), attempt(f, own), before):
            found.append(f"n = {n}, m = {m}: {why}")
    return found


@pytest.mark.parametrize("shapes, k, expression", ROWS)
def test_what_numpy_does_at_each_size(shapes, k, expression):
    assert differences(shapes, k, expression, False) == []


@pytest.mark.slow
@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("shapes, k, expression", MORE_ROWS + ROWS)
def test_what_numpy_does_of_more(shapes, k, expression, needed):
    assert differences(shapes, k, expression, needed) == []


@pytest.mark.parametrize(
    "shapes, k, expression, fact",
    [
        ("n", "(len(x) - 20) ** 2 - 4", "np.zeros(k)", "n*n - 40*n + 396 >"),
        ("n,m", "0", "x.reshape(-1, 3)", "% 3 == 0"),
        ("n", "len(x) // 4", "x[: 4 * k].reshape(k, -1)", ""),
        ("m;n", "len(y)", "x.take([k - 2])", "< m"),
    ],
)
def test_there_are_programs_of_symbolic_sizes(shapes, k, expression, fact, happened):
    """What decides is among the facts, and a family serves."""
    f = program(len(shapes.split(";")), k, expression, False)
    g = jit(f, dynamic=True)
    for n, m in [(7, 30), (9, 33), (12, 50), (6, 42), (10, 36), (30, 60), (27, 81)]:
        attempt(g, arguments(shapes, n, m))
    assert happened["symbolic"] >= 1
    facts = [t for e in g.compiled.entries.values() for w in e.worlds if w.sizing for s in w.sizing.families for t in s.family.told_facts()]
    assert not fact or any(fact in text for text in facts), facts


def empty_ranges(x, y):
    z = np.zeros(len(x) + len(y))
    for i in range(len(y) + 3, len(x)):
        z[i] = x[i] * 2
    for i in range(len(x) - 4, len(y), -1):
        z[i] += i
    return z, np.arange(len(y) + 3, len(x)) * 2.0


def by_twos(x, y):
    z, n, m = np.zeros(2 * len(x) + 2 * len(y) + 4), len(x), len(y)
    if n - m < 0:
        for i in range(n - m, 0, 2):
            z[i] = i * 2
    if m // 3 < n - m:
        z[0] += x[m // 3 : n - m].sum()
    if 0 < n * 2 - m:
        for i in range(0, n * 2 - m):
            z[i] += x[i % n]
    return z


FIRST = [(9, 2), (30, 5), (20, 3), (40, 11), (25, 7)], [(6, 9), (9, 20), (12, 30), (8, 17), (5, 5)], [(24, 36), (3, 17), (38, 19)]


@pytest.mark.parametrize("loops", [empty_ranges, by_twos])
@pytest.mark.parametrize("sizes", FIRST)
def test_ranges_between_two_sizes(loops, sizes, learning, monkeypatch):
    """Whether a range has items is a fact; how many it has in steps of two is not what some differences say."""
    monkeypatch.setattr(families, "TIMES", 0.0)
    monkeypatch.setattr(families, "CALM", 0.0)
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)
    f = jit(loops)
    for n, m in [*sizes, *sizes, *((n, m) for n in range(2, 24, 3) for m in range(2, 42, 3)), (35, 36), (29, 38), (7, 3), (8, 3)]:
        agree(f(np.arange(1.0, n + 1), np.ones(m)), loops(np.arange(1.0, n + 1), np.ones(m)))


def test_arrays_of_fewer_axes_are_others(learning, monkeypatch):
    """A program of all sizes asks for axes that they have not."""
    monkeypatch.setattr(families, "TIMES", 0.0)
    for square in (grad(lambda x: np.sum(x**2)), lambda x: np.sum(x**2) * 1.0):
        made = jit(square)
        for x in (np.ones(3), np.ones(4), np.ones(5), np.ones(6), np.array(2.0), np.ones((2, 2)), np.ones(7)):
            agree(made(x), jit(square, dynamic=False)(x.copy()))


def triangle(x, y):
    s, z = 0.0, np.zeros(len(x) + len(y))
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            s += abs(x[i] - x[j])
        for j in range(len(x) - 1, i, -1):
            s = s * 0.5 + x[j]
        for j in range(i, len(y), 2):
            z[j] += y[j]
        for j in range(max(0, i - 2), min(len(y), i + 3)):
            z[i] += y[j]
    return s, z


def test_ranges_between_a_size_and_the_counter_of_a_loop(learning, monkeypatch):
    monkeypatch.setattr(families, "TIMES", 0.0)
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)
    f, sizes = jit(triangle), [(9, 20), (30, 50), (20, 33), (40, 41), (25, 47)]
    for n, m in [*sizes, *sizes, (12, 4), (35, 11), (40, 20), (8, 6), (24, 24), (31, 32), (2, 40)]:
        agree(f(np.arange(1.0, n + 1), np.ones(m)), triangle(np.arange(1.0, n + 1), np.ones(m)))
    assert any(made.free is not None for e in f.compiled.entries.values() for w in e.worlds if w.sizing for made in w.sizing.families)
