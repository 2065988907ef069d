"""Answers that would be stale: what a trace relied on has changed since, in a place that is no variable of the user's."""

import builtins

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
