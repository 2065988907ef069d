"""The tests of a call, as they are written for speed: whatever is exchanged at the places they read, the answer is Python's."""

import functools
import sys
import types

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.guards.object_contents import is_fixed

SOURCE = """
import math
import numpy as np
import library as shared
S = 3.0
TABLE = {"a": {"b": [1.0, 2.0]}, "c": 4.0}
def helper(x, k=2.0, *, m=3.0, n=1): return x * k + m + n
def deep(x): return helper(x) + S
def f(x): return deep(x) * math.sin(0.5) + np.sqrt(TABLE["a"]["b"][1]) + np.abs(TABLE["c"]) + len(TABLE["a"]["b"]) + shared.rate
"""
CHANGES = [
    "S = 5.0", "S = np.float64(3.0)", "del helper", "helper = lambda x: x", "TABLE = {'a': {'b': [1.0, 7.0]}, 'c': 4.0}", "TABLE['c'] = 9",
    "TABLE['a'] = {'b': [1.0, 5.0]}", "TABLE['a']['b'] = [1.0, 6.0, 2.0]", "TABLE['a']['b'][1] = 8.0", "TABLE['a']['b'].append(1.0)",
    "del TABLE['c']", "helper.__defaults__ = (4.0,)", "helper.__kwdefaults__ = {'m': 1.0, 'n': 1}", "helper.__kwdefaults__['m'] = 8.0",
    "helper.__kwdefaults__['n'] = 1.0", "del helper.__kwdefaults__['n']", "helper.__kwdefaults__.update(n=np.int8(1))",
    "helper.__code__ = (lambda x, k=1.0, *, m=1.0, n=2: x * m).__code__", "deep.__code__ = (lambda x: x - 1.0).__code__",
    "math = types.SimpleNamespace(sin=lambda x: x)", "shared.rate = 2.0", "del shared.rate", "shared = types.SimpleNamespace(rate=3.0)",
    "f.__code__ = deep.__code__",
]  # fmt: skip


def asked(f, x):
    try:
        return f(x)
    except Exception as error:
        return type(error)


@pytest.fixture(params=["module", "module with __getattr__", "dict"])
def world(request):
    """The globals of the program: of a module that is imported, of one that answers for more names than it has, and of none."""
    library = types.ModuleType("library")
    library.rate = 1.5
    library.__getattr__ = lambda name: 0.25
    module = types.ModuleType("quick_world")
    module.types = types
    sys.modules |= {"library": library} | ({} if request.param == "dict" else {"quick_world": module})
    exec(SOURCE, vars(module))
    if request.param == "module with __getattr__":
        module.__getattr__ = lambda name: module.deep
    yield vars(module)
    sys.modules.pop("quick_world", None)
    del sys.modules["library"]


def test_changes_between_calls(world):
    x = np.arange(3.0)
    for change in CHANGES:
        sys.modules["library"].rate = 1.5
        exec(SOURCE, world)
        f = jit(world["f"], engine="numpy")
        for _ in range(3):
            np.testing.assert_array_equal(f(x), world["f"](x), strict=True)
        exec(change, world)
        for _ in range(2):
            got, wanted = asked(f, x), asked(world["f"], x)
            assert got is wanted if isinstance(wanted, type) else np.allclose(got, wanted, rtol=1e-15) and got.dtype == wanted.dtype, change


def test_functions_of_modules_that_answer_for_more(monkeypatch):
    f = jit(lambda x: np.sqrt(x) + np.abs(x), engine="numpy")
    x = np.ones(3)
    for _ in range(3):
        assert f(x).tolist() == [2.0] * 3
    monkeypatch.setattr(np, "abs", np.negative)
    assert f(x).tolist() == [0.0] * 3
    monkeypatch.undo()
    assert f(x).tolist() == [2.0] * 3


def test_each_place_is_looked_up_once():
    space = {"TABLE": {f"k{i}": float(i) for i in range(20)}}
    exec("def f(x): return x + sum(TABLE.values())", space)
    f = jit(space["f"], engine="numpy")
    for _ in range(3):
        f(np.ones(3))
    (lines,) = f.compiled.front.hot.values()
    assert "\n".join(lines).count("'TABLE'") == 1
    space["TABLE"]["k3"] = 10.0
    assert f(np.ones(3)).tolist() == [198.0] * 3


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 3), (3, 1), (3, 0)])
def test_vectors_are_known_by_their_length(shape):
    f = jit(lambda x: x + 1.0, engine="numpy")
    for given in ((3,), shape, (3,), shape, (4,)):
        x = np.ones(given)
        np.testing.assert_array_equal(f(x), x + 1.0)


CALLED = {
    "keyword": lambda x: np.sum(x, axis=0), "list": lambda x: np.stack([x, x]), "ufunc": lambda x: np.add(x, 1.0, dtype=np.float64),
    "reduce": lambda x: np.add.reduce(x, axis=0), "handed": lambda x: functools.reduce(np.add, [x, x]),
    "C": lambda x: np.where(x > 0, x, [0.5] * 3),
    "submodule": lambda x: np.linalg.norm(x, axis=0),
    "partial": lambda x: functools.partial(np.sum, axis=0)(x), "held": lambda x: HOLDER.f(x, axis=0),
}  # fmt: skip
HOLDER = types.SimpleNamespace(f=np.sum)


@pytest.mark.parametrize("name", CALLED)
def test_what_functions_of_numpys_are_labelled_with_is_not_compared(name):
    f, x = jit(CALLED[name], engine="numpy"), np.array([1.0, -2.0, 3.0])
    for _ in range(3):
        np.testing.assert_array_equal(f(x), CALLED[name](x), strict=True)
    (entry,) = f.compiled.entries.values()
    assert not [r.name for r in entry.current.guard.reads if r.kind == "state"]


def test_functions_that_hold_more_than_labels_are_not_fixed():
    dispatched = type(np.sum)(lambda x: (x,), lambda x: x * HOLDER.rate)  # of the user's, by NumPy's own means
    assert is_fixed(np.sum) and is_fixed(np.where) and is_fixed(np.add) and not is_fixed(dispatched)
    ufunc = np.frompyfunc(lambda x: x, 1, 1)
    assert is_fixed(ufunc)
    if hasattr(ufunc, "__dict__"):  # since NumPy 2.3
        ufunc.scale = [2.0]
        assert not is_fixed(ufunc)
