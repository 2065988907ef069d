"""The one comparison of the suite: a function run plain and compiled must agree in everything NumPy shows."""

import copy

import jax
import numpy as np

from wengert import jit


def agree(got, want, rtol=1e-12):
    """Same Python type, dtype, shape and values (to rounding), leaf by leaf of the same structure."""
    got_leaves, got_tree = jax.tree_util.tree_flatten(got)
    want_leaves, want_tree = jax.tree_util.tree_flatten(want)
    assert got_tree == want_tree, f"structure {got_tree} against {want_tree}"
    for g, w in zip(got_leaves, want_leaves):
        assert type(g) is type(w), f"{type(g)} against {type(w)}"
        if isinstance(w, np.ndarray | np.generic):
            if w.dtype.kind not in "biufc":
                np.testing.assert_array_equal(g, w, strict=True)
                continue
            assert g.dtype == w.dtype and g.shape == w.shape, f"{g.dtype}{g.shape} against {w.dtype}{w.shape}"
            tolerance = rtol if w.dtype.itemsize // (2 if w.dtype.kind == "c" else 1) > 4 else max(rtol, 2e-6 if w.dtype.itemsize > 2 else 2e-3)
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
        elif isinstance(w, float | complex):
            np.testing.assert_allclose(g, w, rtol=rtol)
        else:
            assert g == w or g is w, f"{g!r:.80} against {w!r:.80}"


def check_same(function, *args, rtol=1e-12):
    """Run `function` plain and through jit on copies; results, mutated arguments and exception classes must agree."""
    plain, compiled = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        try:
            want = function(*plain)
        except Exception as error:
            try:
                got = jit(function)(*compiled)
            except type(error):
                agree(compiled, copy.deepcopy(args), rtol)  # nothing half-written
                return
            raise AssertionError(f"NumPy raises {type(error).__name__}: {error}; compiled gives {got}") from None
    agree(jit(function)(*compiled), want, rtol)
    agree(compiled, plain, rtol)
