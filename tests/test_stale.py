"""Answers that would be stale: what a trace relied on has changed since, in a place that is no variable of the user's."""

import builtins
import sys
import types

import numpy as np

import wengert as wg

X = np.arange(3.0) + 1


def follows(f, *changes, args=(X,)):
    """That a compiled function answers as Python does, before and after each change, and again."""
    g = wg.jit(f)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(g(*args), f(*args))


# -- the module builtins ---------------------------------------------------------------------------


def test_a_builtin_is_exchanged(monkeypatch):
    put = lambda name, value: lambda: monkeypatch.setattr(builtins, name, value, raising=False)
    follows(lambda x: x * abs(-3.0), put("abs", lambda v: 10.0), put("abs", abs))
    follows(lambda x: abs(x), put("abs", lambda v: v * 10.0), put("abs", abs))


def test_a_constant_among_the_builtins_changes(monkeypatch):
    put = lambda value: lambda: monkeypatch.setattr(builtins, "KONST", value, raising=False)
    put(2.0)()
    follows(lambda x: x * KONST, put(3.0), put(np.array([1.0, 2.0, 3.0])), put(4))  # noqa: F821


# -- modules ---------------------------------------------------------------------------------------


def module(name, **held):
    made = types.ModuleType(name)
    vars(made).update(held)
    return made


def test_a_module_imported_inside_is_exchanged(monkeypatch):
    put = lambda **held: lambda: monkeypatch.setitem(sys.modules, "stale_module", module("stale_module", **held))
    store = lambda **held: lambda: vars(sys.modules["stale_module"]).update(held)

    def whole(x):
        import stale_module

        return x * stale_module.K

    def part(x):
        from stale_module import K as k

        return x * k

    def parts(x):
        if x.shape[0] > 1:
            from stale_module import K, f
        return f(x) * K

    for f in (whole, part, parts):
        put(K=2.0, f=lambda x: x + 1)()
        follows(f, put(K=3.0, f=lambda x: x + 2), store(K=4.0), store(K=X + 1), lambda: sys.modules["stale_module"].K.fill(7.0))


def test_a_module_appears_and_goes(monkeypatch, tmp_path):
    def whole(x):
        try:
            import stale_absent  # noqa: F401
        except ImportError:
            return x * 3
        return x * 2

    def part(x):
        try:
            from stale_absent import K
        except ImportError:
            K = 5.0
        return x * K

    come = lambda **held: lambda: monkeypatch.setitem(sys.modules, "stale_absent", module("stale_absent", **held))
    go = lambda: monkeypatch.delitem(sys.modules, "stale_absent")
    for f in (whole, part):
        follows(f, come(), come(K=2.0), go)
    monkeypatch.syspath_prepend(tmp_path)
    follows(whole, lambda: (tmp_path / "stale_absent.py").write_text("K = 8.0\n"))
    monkeypatch.delitem(sys.modules, "stale_absent")
