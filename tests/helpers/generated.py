"""Functions of the IR as generated NumPy, called without the front."""

from types import SimpleNamespace

import numpy as np

from wengert.tracer.program import numpy_call


def results(func, leaves):
    """What the generated function gives for these leaves, as arrays of their own."""
    params, seen = set(func.params), set()
    shared = [r in params or r in seen or bool(seen.add(r)) for r in func.results]
    captured = SimpleNamespace(checks=(), inputs=())
    version = SimpleNamespace(func=func, numpy=func, decided=func, captured=captured, places=list(range(len(leaves))), shared=shared)
    out = numpy_call.raw(version, [type(x) for x in leaves])(*leaves)
    if out is numpy_call.MISS:  # NumPy raises where the op gives NaN
        return None
    out = out if type(out) is tuple else (out,)
    memory = [x for x in (*leaves, *out) if isinstance(x, np.ndarray)]
    for k, x in enumerate(out):
        assert type(x) is np.ndarray and x.flags.writeable
        assert not any(np.may_share_memory(x, y) for y in memory if y is not x), "a result is a view of another, or of an argument"
        assert sum(x is y for y in memory) == 1, f"result {k} is given twice"
    return out
