"""Nests end where a check fails, and what their programs raise, leave and give is what it is without."""

import re

import numpy as np
import pytest
from random_indices import differs

from wengert import jit
from wengert.backends import native
from wengert.ir.sticky import telling_loops
from wengert.tracer.program import backend_choice

pytestmark = pytest.mark.skipif(native.uncallable() is not None, reason="there are no nests")


def gathered(x, idx):
    out = np.zeros(len(idx))
    for i in range(len(idx)):
        out[i] = x[idx[i]] + 1.0
    return out


def scattered(x, idx):
    x = x.copy()
    for i in range(len(idx)):
        x[idx[i]] += i
    return x


def by_rows(x, idx):
    m = np.outer(x, x)
    s = 0.0
    for i in range(len(idx)):
        s += m[idx[i], idx[i] - 1]
    return s


def in_branches(x, idx):
    s = 0.0
    for i in range(len(idx)):
        if x[i % 4] > 0.5:
            s += x[idx[i]]
        else:
            s -= x[idx[i] - 2]
    return s


def twice(x, idx):
    """The second index fails where the first does not, at other trips."""
    s = 0.0
    for i in range(len(idx)):
        s += x[idx[i]] * x[idx[i] + 1]
    return s


def in_a_while(x, idx):
    k, s, n = 0, 0.0, 0
    while n < 40 and s < 30.0:
        k = idx[k]
        s += x[k]
        n += 1
    return s + k


def within_a_loop(x, idx):
    total = 0.0
    for i in range(len(idx)):
        j = idx[i]
        while j >= 0 and x[j] > 0.2:
            total += x[j]
            j -= 1
        total += j
    return total


def in_two_loops(x, idx):
    y = np.zeros(len(x))
    for i in range(len(idx)):
        y[i % 4] += x[idx[i]]
    s = 0.0
    for i in range(len(idx)):
        s += y[idx[i] - 1] * x[i % 3]
    return y, s


def raised(x, idx):
    s = 0.0
    for i in range(len(idx)):
        if x[idx[i]] > 0.99:
            raise ValueError("too much")
        s += x[idx[i] - 1]
    return s


def stored_into(x, idx):
    """An argument, which is as it was where the call fails."""
    for i in range(len(idx)):
        x[idx[i]] = x[idx[i] - 1] * 2.0
    return x.sum()


FUNCTIONS = (
    gathered, scattered, by_rows, in_branches, twice, in_a_while, within_a_loop, in_two_loops, raised, stored_into,
)  # fmt: skip


def called(f, x, idx):
    """What a function gives or raises, and leaves in its arguments if it gives something."""
    x, idx = x.copy(), idx.copy()
    try:
        out = f(x, idx)
    except Exception as error:
        return type(error), re.sub(r"-?[0-9]{14,}( or beyond)?", "far away", str(error).splitlines()[0])
    return (*(np.asarray(part) for part in (out if isinstance(out, tuple) else (out,))), x, idx)


def alike(a, b):
    if isinstance(a[0], type) or isinstance(b[0], type):
        return a == b
    return all(np.allclose(p, q, rtol=1e-12) for p, q in zip(a, b, strict=True))


def cases(rng, n=24, size=12):
    """Indices in range; of which one or more are not, at the ends or anywhere, far away or next to the range."""
    yield rng.integers(0, size - 1, n)
    yield rng.integers(-size + 2, size - 1, n)
    for bad in (size, size + 1, -size - 1, -size, size - 1, 2**62, -(2**62), -(2**63), 2**63 - 1):
        for at in ((0,), (n - 1,), tuple(rng.integers(0, n, 2)), tuple(rng.integers(0, n, 5))):
            idx = rng.integers(-3, size - 1, n)
            idx[list(at)] = bad
            yield idx


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_fails_fails_as_it_does_in_python(f, engine):
    rng = np.random.default_rng(FUNCTIONS.index(f))
    g, x = jit(f, engine=engine), rng.uniform(0.0, 0.98, 12)
    for idx in cases(rng):
        want, got = called(f, x, idx), called(g, x, idx)
        assert alike(got, want), (idx, got, want)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_are_found(f):
    """At least one loop of each ends early, and is a nest."""
    x, idx = np.linspace(0.0, 0.9, 12), np.arange(24) % 10
    g = jit(f, engine="xla")
    g(x.copy(), idx)
    (version,) = next(iter(g.compiled.entries.values())).current.versions
    assert telling_loops(version.func)
    with native.ending(version.func):
        nests = [nest for _, nest in native.listed_nests(version.func, 0)]
        assert any(nest.early_exit is not None for nest in nests)


@pytest.mark.parametrize("f", [by_rows, in_two_loops, stored_into], ids=lambda f: f.__name__)
def test_whole_programs_in_one_nest_end_early(monkeypatch, f):
    monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    x, idx = np.linspace(0.0, 0.9, 12), np.arange(24) % 10
    g = jit(f)
    g(x.copy(), idx)
    (version,) = next(iter(g.compiled.entries.values())).current.versions
    assert [nest.once and nest.early_exit is not None for _, nest in native.listed_nests(version.fused, 0)] == [True]
    for idx in cases(np.random.default_rng(FUNCTIONS.index(f))):
        assert alike(called(g, x, idx), called(f, x, idx))


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_random_loops(seed, tmp_path):
    text, _ = differs(seed, tmp_path, engine="numpy" if seed % 4 else "xla")
    assert text is None, text


def counting(x, n):
    """What looks like a status and is the user's number: what is computed after it is looked at."""
    first, s = 0, 0.0
    for i in range(n):
        if first == 0 and x[i] > 0.5:
            first = i * 65536 + 1
        s += x[i]
    return s, first


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_numbers_of_the_users_are_no_status(engine):
    x = np.random.default_rng(0).uniform(0.0, 1.0, 200)
    got, want = jit(counting, engine=engine)(x, 200), counting(x, 200)
    assert got[1] == want[1] and np.isclose(got[0], want[0])


def test_clamps_are_left_out_behind_a_check():
    x, idx = np.linspace(0.0, 0.9, 4000), np.arange(3000)
    g = jit(gathered)
    g(x, idx)
    text = g.text("llvm", x, idx)
    nest = text[text.index("@nest(") : text.index("\n}", text.index("@nest("))]
    assert "llvm.smin.i64(i64 %v" in nest  # the number that the message quotes
    assert "i64 3999)" not in nest and "select i1" in nest


def wraps(x, starts):
    s, n = 0.0, 0
    for i in range(len(starts)):
        j, n = starts[i], 0
        while -8_000_000_000_000_000_000 < j < 8_000_000_000_000_000_000:
            s += x[n]
            j += 6_000_000_000_000_000_000  # back into the range
            n += 1
    return s, n


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_what_wraps_around_bounds_no_trips(engine):
    x, starts = np.arange(1.0, 200.0), np.arange(300)
    with np.errstate(over="ignore"):
        assert jit(wraps, engine=engine)(x, starts) == wraps(x, starts)
