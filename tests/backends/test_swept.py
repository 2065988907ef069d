"""Loops each of whose trips goes through large arrays: all trips on some lanes, then on the next ones, by threads too."""

import importlib.util
import random

import draws
import numpy as np
import pytest
from compare import agree
from random_shared import allow, however_small

from wengert import jit
from wengert.backends import native
from wengert.backends.native import control, strip_mine, threads
from wengert.tracer.program import backend_choice

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
RNG = np.random.default_rng(5)


@pytest.fixture
def blocks(monkeypatch):
    """The lanes of the loops that are made in blocks, of which a block has few."""
    found = []
    by_blocks = control.by_blocks

    def counted(region, lanes, size, *rest):
        found.append((lanes, size))
        return by_blocks(region, lanes, size, *rest)

    for name, value in (("FAR", 0), ("ROOM", 32), ("LEAST", 1), ("FEW", 0), ("WIDE", 1000)):
        monkeypatch.setattr(strip_mine, name, value)
    monkeypatch.setattr(control, "by_blocks", counted)
    monkeypatch.setattr(backend_choice, "CHOICE", "numpy")
    with however_small() as shared:
        yield found, shared
    allow(threads.thread_count() - 1)


def orbits(x, y):
    for _ in range(6):
        x, y = x + 0.1 * (1.1 * x - x * y), y + 0.1 * (x * y - 0.4 * y)
    return x, y


def driven(x, y):
    """Numbers that are carried, and are results."""
    t, n = 0.25, 3
    for _ in range(5):
        x = x + np.sin(t) * y
        t, n = t * 0.5 + 0.1, n * 3
    return x, t, n


def momentum(x, y):
    m, v = np.zeros_like(x), np.zeros_like(x)
    for k in range(1, 6):
        g = 2 * x - y
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        x = x - 0.1 * m / (1 - 0.9**k) / (np.sqrt(v) + 1e-8)
    return x


def escape(x, y):
    c = x + 1j * y
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(9):
        m = np.abs(z) < 2
        n[m] += 1
        z[m] = z[m] ** 2 + c[m]
    return n, z


def drawn_before(x, y):
    z = np.outer(y[:6], x)
    for k in range(6):
        x = x * np.exp(0.01 + 0.2 * z[k])
    return x


def columns(x, y):
    p = np.stack([x, y, x * y], axis=1)
    v = np.zeros_like(p)
    for _ in range(5):
        v[:, 2] -= 0.1
        v *= 0.999
        p += 0.1 * v
        below = p[:, 2] < 0
        p[below, 2] *= -1
        v[below, 2] *= -0.9
    return p, v


def made_in_trips(x, y):
    for k in range(5):
        a = np.zeros_like(x)
        a[2:] = x[2:] * y[:-2] + k
        x = x + a
    return x


def traded(x, y):
    a, b = x, y
    for _ in range(5):
        a, b = b, a * 0.5 + b
    return a, b


def inner_rows(x, y):
    a = np.outer(x, y)
    for _ in range(4):
        a[1:-1] = 0.5 * a[1:-1] + x[1:-1, None] * y
    return a


def kept_too(x, y):
    before = x
    x = x.copy()
    for _ in range(4):
        x *= 1.5
        x += before
    return x, before


def neighbours(x, y):
    for _ in range(5):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
    return x


def normalised(x, y):
    for _ in range(5):
        x = x * y / np.sum(x)
    return x


def first_one(x, y):
    for _ in range(5):
        x = x * y + x[0]
    return x


def whole_and_part(x, y):
    """Arrays that are new, of which a part is stored."""
    x, y, b = x.copy(), y.copy(), np.zeros_like(x)
    for k in range(8):
        y[:] = k
        y[1:-1] += x[1:-1]
        b = np.full_like(x, 2.0 * k)
        b[2:] = x[2:] * k
        x[1:-1] = b[1:-1] * 0.5
    return x, y, b


def from_another(x, y):
    """What one array was becomes what another one is, but for a part."""
    x, c = x.copy(), y
    for _ in range(8):
        c = x.copy()
        c[3:] *= 0.5
        x[1:-1] = x[1:-1] * 2 - c[1:-1]
    return x, c


def written_out_twice(x, y):
    a, b = x, y
    for _ in range(6):
        for j in range(12):
            a = a * 0.5 + b
            b[1:-1] += j
        a, b = b, a
    return a, b


def rows_of_another(x, y):
    """What is carried becomes a row of what is only read."""
    w, b, d = np.outer(y[:6], x), y.copy(), y
    for k in range(6):
        b[:] = w[k]
        d = w[k].copy()
        d[0] = 1
        x = x * 0.5 + b
    return x, b, d


BLOCKED = [
    whole_and_part, from_another, written_out_twice, rows_of_another,
    orbits, driven, momentum, escape, drawn_before, columns, made_in_trips, traded, inner_rows, kept_too,
]  # fmt: skip


@pytest.mark.parametrize("n", [7, 40, 203])
@pytest.mark.parametrize("function", BLOCKED, ids=lambda f: f.__name__)
def test_programs(blocks, function, n):
    x, y = RNG.random(n), RNG.random(n)
    want, compiled, found = function(x.copy(), y.copy()), jit(function), []
    for helpers in (0, threads.thread_count() - 1):
        allow(helpers)
        with native.asked(0):
            found.append(compiled(x.copy(), y.copy()))
        agree(found[-1], want, 1e-12)
    assert blocks[0]
    assert n < 40 or blocks[1] or threads.thread_count() == 1 or function is from_another  # which copies in every trip


@pytest.mark.parametrize("function", [neighbours, normalised, first_one], ids=lambda f: f.__name__)
def test_lanes_that_need_each_other_are_none(blocks, function):
    x, y = RNG.random(40), RNG.random(40)
    with native.asked(0):
        agree(jit(function)(x.copy(), y), function(x.copy(), y), 1e-12)
    assert not blocks[0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint16", "complex64", "bool"])
def test_dtypes(blocks, dtype):
    def f(x, y):
        for _ in range(5):
            x, y = (x ^ y, x | y) if x.dtype == bool else (x * y + x, y * y - x)
        return x, y

    x, y = ((RNG.random(50) * 5).astype(dtype) for _ in range(2))
    with native.asked(0), np.errstate(all="ignore"):
        agree(jit(f)(x, y), f(x, y), 1e-4)
    assert blocks[0]


def drawn(rng):
    """A loop of random statements on arrays of one length and numbers."""
    arrays, numbers = ["a", "b", "c"], ["s", "t"]
    some = lambda: rng.choice([*arrays, *arrays, *numbers, "w[k]", "e", "0.5", "k"])
    statements = [
        lambda: f"{rng.choice(arrays)} = {some()} * 0.5 + {rng.choice(arrays)} * {some()} * 0.25",
        lambda: f"{rng.choice(arrays)}[{rng.choice(['3:', ':-2', '1:-1', '::1'])}] *= {rng.choice(['0.5', *numbers])}",
        lambda: f"{rng.choice(numbers)} = {rng.choice(numbers)} * 0.5 + 0.1 * k",
        lambda: "{0} = np.where({0} > {1}, {2}, {0} * 0.5)".format(rng.choice(arrays), some(), rng.choice(arrays)),
        lambda: "a, b = b, a",
        lambda: f"{rng.choice(arrays)} = np.tanh({rng.choice(arrays)} - {rng.choice(arrays)})",
        lambda: "{0}[{0} > 0.7] = {1}".format(rng.choice(arrays), rng.choice(numbers)),
        lambda: f"c[2:] = {rng.choice(arrays)}[2:] - e[:-2]",
        lambda: f"{rng.choice(arrays)}[:] = {rng.choice(['k', 'w[k]', *arrays])}",
        lambda: f"{rng.choice(arrays)} = {rng.choice(['w[k]', *arrays])}.copy()",
        lambda: f"{rng.choice(arrays)} = np.full_like(a, {rng.choice(numbers)})",
    ]
    lines = [f"        {rng.choice(statements)()}" for _ in range(rng.randint(1, 6))]
    head = ["import numpy as np", "def f(a, b, w, e):", "    a, b, s, t = a.copy(), b.copy(), 0.5, 0.25", "    c = np.zeros_like(a)"]
    return "\n".join([*head, f"    for k in range({rng.randint(1, 7)}):", *lines, "    return a, b, c, s, t"])


@pytest.mark.parametrize("seed", range(120))
def test_random_loops(blocks, seed):
    rng = random.Random(seed)
    text, n = drawn(rng), rng.choice([5, 16, 37])
    f = draws.function(text, f"loops {seed}")
    a, b, e, w = RNG.random(n), RNG.random(n), RNG.random(n), RNG.random((7, n))
    with native.asked(0):
        agree(jit(f)(a, b, w, e), f(a, b, w, e), 1e-11)
