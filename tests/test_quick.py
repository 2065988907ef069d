"""The tests of a call, as they are written for speed: whatever is exchanged at the places they read, the answer is Python's."""

import sys
import types

import numpy as np
import pytest

from wengert import jit

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
