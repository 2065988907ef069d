"""Whether two functions are the same program."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Func, Lit


def same_function(f: Func, g: Func) -> bool:
    """Whether two functions are the same, equation by equation and number by number, whatever they and their values
    are called."""
    if len(f.params) != len(g.params) or len(f.eqns) != len(g.eqns):
        return False
    known: dict[Any, Any] = dict(zip(f.params, g.params))

    def same(xs: Any, ys: Any) -> bool:
        return len(xs) == len(ys) and all(x is y if isinstance(x, Lit) else known.get(x) is y for x, y in zip(xs, ys))

    if any(p.type is not q.type for p, q in known.items()):
        return False
    for a, b in zip(f.eqns, g.eqns):
        if (
            a.op is not b.op
            or a.attrs.keys() != b.attrs.keys()
            or not same(a.operands, b.operands)
            or len(a.results) != len(b.results)
        ):
            return False
        if not all(equal(v, b.attrs[k]) for k, v in a.attrs.items()) or any(
            r.type is not s.type for r, s in zip(a.results, b.results)
        ):
            return False
        known.update(zip(a.results, b.results))
    return same(f.results, g.results)


def equal(a: Any, b: Any) -> bool:
    """Whether two attributes are the same."""
    if isinstance(a, Func):
        return isinstance(b, Func) and same_function(a, b)
    if isinstance(a, tuple | list):
        return isinstance(b, tuple | list) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.dtype):
        return isinstance(b, np.dtype) and a == b  # longlong is int64 under another name
    a = a.item() if isinstance(a, np.generic) else a
    return type(a) is type(b) and (repr(a) == repr(b) if isinstance(a, float | complex) else a == b)
