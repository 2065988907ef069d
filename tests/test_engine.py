"""Programs on ndarrays that run as NumPy: the same results, memory of their own, other signatures beside them, and what is said of it."""

import numpy as np
import pytest
from compare import agree, check_same

from wengert import grad, jit
from wengert.tracer import engine

X, V = np.random.default_rng(0).normal(size=(4, 3)), np.arange(3.0)


def runs_as_numpy(f):
    """How many of its traces do."""
    return sum(v.engine is not None for e in f.compiled.entries.values() for w in e.worlds for v in w.versions)


def several(x, v, s):
    x[0] = v * s
    return x @ v, x.T, v + 1, v.sum(), s * 2.0, v.reshape(3, 1), v, np.float32(2) * s


def test_results_kinds_and_writes():
    f = jit(several, engine="numpy")
    for s in (2.0, -1.0):
        ours, theirs = X.copy(), X.copy()
        agree(f(ours, V.copy(), s), several(theirs, V.copy(), s), 1e-12)
        agree(ours, theirs, 1e-12)
    assert runs_as_numpy(f) == 1


FUNCTIONS = {
    "product": lambda x: x @ x.T,
    "float32": lambda x: np.tanh(x.astype(np.float32)) * 2,
    "bools": lambda x: (x > 0) & (x < 1),
    "scalar": lambda x: x.mean(),
    "index": lambda x: x[1, 2],
    "integers": lambda x: np.argsort(x, axis=1),
    "complex": lambda x: np.exp(1j * x),
    "where": lambda x: np.where(x > 0, np.log(np.abs(x)), 1 / x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_returned(name):
    f = jit(FUNCTIONS[name], engine="numpy")
    agree(f(X), FUNCTIONS[name](X), 1e-6 if name == "float32" else 1e-12)
    agree(f(X), FUNCTIONS[name](X), 1e-6 if name == "float32" else 1e-12)
    assert runs_as_numpy(f) == 1


def test_results_share_no_memory():
    f = jit(lambda x: (x.T + 0, x[1:].reshape(-1) + 0, np.broadcast_to(x[0] * 1.0, (2, 3)).copy(), np.zeros(3)), engine="numpy")
    g = jit(lambda x: np.reshape(x, (3, 4)).copy(), engine="numpy")
    x = X.copy()
    for made in (*f(x), g(x)):
        assert not np.may_share_memory(made, x) and made.flags.writeable
        made[...] = 7
    agree(x, X, 0)
    agree(f(x)[3], np.zeros(3), 0)
    same = jit(lambda x: x, engine="numpy")
    assert same(x) is x


def test_other_types_run_beside_it():
    f = jit(lambda x, s: x * s + 1, engine="numpy")
    for x in (X, X[:2], X.astype(np.float32), X, X[0]):
        for s in (2.0, np.float64(3), np.float32(3)):
            agree(f(x, s), x * s + 1, 0)
    assert runs_as_numpy(f) == 12  # four types of arrays, three of numbers


def test_outside_arrays_are_read_anew():
    table = np.ones(3)

    @jit(engine="numpy")
    def f(x):
        return x + table

    agree(f(V), V + 1, 0)
    table[0] = 5
    agree(f(V), V + table, 0)
    assert runs_as_numpy(f) == 1


def looped(x):
    for k in range(5):
        x = x * 0.5 + k
    return x


def test_loops_and_effects_stay_with_xla(capfd):
    f, g = jit(looped, engine="numpy", native=False), jit(lambda x: print(x.sum()) or x + 1, engine="numpy")
    agree(f(X), looped(X), 1e-12)
    g(V)
    assert runs_as_numpy(f) == runs_as_numpy(g) == 0 and capfd.readouterr().out == "3.0\n"


def test_checks_raise():
    f = jit(lambda x, i: x[i] * 2, engine="numpy")
    agree(f(V, np.int64(2)), V[2] * 2, 0)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(V, np.int64(3))


def test_the_faster_is_taken_and_told(monkeypatch):
    monkeypatch.setattr(engine, "CHOICE", None)
    monkeypatch.setattr(engine, "LAUNCH", 0.0)
    for cost, said in ((1e-6, "as NumPy: 1 us as NumPy, 100 us through XLA"), (1.0, "through XLA: 1000 ms as NumPy, 100 us through XLA")):
        monkeypatch.setattr(engine, "turns", lambda forms, n, cost=cost: (cost, 1e-4)[-len(forms) :])
        f = jit(lambda x: np.tanh(x) * 2)
        agree(f(X), np.tanh(X) * 2, 1e-12)
        agree(f(X), f(X), 0)
        assert f"runs         {said}, when they were timed" in f.explain()
        assert runs_as_numpy(f) == (cost < 1e-4)


def test_what_would_need_much_memory_is_not_timed(monkeypatch):
    monkeypatch.setattr(engine, "CHOICE", None)
    monkeypatch.setattr(engine, "turns", lambda forms, n: (0.0,))
    monkeypatch.setattr(engine, "quickest", None)
    f = jit(lambda x: (x[:, None] * x[None, :]).sum())
    x = np.ones(4000)
    agree(f(x), np.float64(16e6), 1e-12)
    assert runs_as_numpy(f) == 0


def test_transforms_and_methods():
    agree(grad(lambda x: (x**2).sum())(X), 2 * X, 1e-12)
    check_same(lambda x: np.linalg.inv(x @ x.T + np.eye(4)), X)


def test_no_such_engine():
    with pytest.raises(ValueError, match="engine='xla' or 'numpy', not 'tpu'"):
        jit(looped, engine="tpu")
