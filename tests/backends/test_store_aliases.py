"""What is stored into one array at several places that data decide, which may be the same place."""

import numpy as np
import pytest
from compare import agree
from random_aliases import differs

from wengert import grad, jit
from wengert.backends import native
from wengert.tracer.program import backend_choice

ENGINES = ["xla", "numpy", "nests"]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """The option of `jit` that has programs run so."""
    if request.param == "nests":
        monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    return None if request.param == "nests" else request.param


def numbers(x, j, k):
    x = x.copy()
    x[j] = 5.0
    x[k] = 7.0
    x[j] *= 2.0
    return x


def rows(M, j, k):
    M = M.copy()
    M[j] = 0.0
    M[k] += 1.0
    M[j] += 1.0
    return M


def slices(x, j, k):
    x = x.copy()
    x[j : j + 2] = 0.0
    x[k : k + 2] += 1.0
    x[j : j + 2] += x[k : k + 2]
    return x


def in_a_loop(M, j, k):
    M = M.copy()
    for i in range(3):
        M[i] *= 0.5
        M[i * j % 4] += 1.0
        M[(i + k) % 3] *= 3.0
    return M


@pytest.mark.parametrize("f, shape", [(numbers, (5,)), (rows, (4, 3)), (slices, (6,)), (in_a_loop, (4, 3))])
def test_a_store_is_seen_at_the_same_place(engine, f, shape):
    g, x = jit(f, engine=engine), np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for j in range(3):
        for k in range(3):
            agree(g(x, np.int64(j), np.int64(k)), f(x, np.int64(j), np.int64(k)))


def added_to_itself(x, k):
    x = x.copy()
    x[k] += x[0]
    return x.sum()


def recurrence(x, k):
    x = x.copy()
    for i in range(k):
        x[i] += x[0]
    return x.sum()


def test_derivatives_of_what_is_added_to_itself(engine):
    x = np.array([0.3, 0.5, 0.7, 0.9])
    agree(jit(grad(added_to_itself), engine=engine)(x, np.int64(0)), np.array([2.0, 1.0, 1.0, 1.0]))
    agree(jit(grad(added_to_itself), engine=engine)(x, np.int64(2)), np.array([2.0, 1.0, 1.0, 1.0]))
    agree(jit(grad(recurrence), engine=engine)(x, 3), np.array([6.0, 1.0, 1.0, 1.0]))


def test_what_is_apart_stays_in_registers():
    """Places a known number of elements apart are read again from where they were computed."""
    def f(x):
        x = x.copy()
        for i in range(40):
            x[i] = np.sin(x[i])
            x[i + 50] = np.cos(x[i])
        return x

    x = np.linspace(0.0, 1.0, 100)
    g = jit(f, engine="xla")
    agree(g(x), f(x))
    if native.uncallable() is None:
        (version,) = next(iter(g.compiled.entries.values())).current.versions
        (nest,) = [nest for _, nest in native.listed_nests(version.func, 0)]
        assert nest.text().count("load double") == 1


@pytest.mark.parametrize("seed", range(45))
def test_random_stores(seed, tmp_path, monkeypatch):
    name = ENGINES[seed % 3]
    if name == "nests":
        monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    text, _ = differs(seed, tmp_path, engine=None if name == "nests" else name)
    assert text is None, text
