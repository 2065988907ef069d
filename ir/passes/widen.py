"""Arithmetic of small floats."""

from __future__ import annotations

import numpy as np

from ..core import Builder, Func, Lit, has
from ..ops.elementwise import cast
from ..types import SMALL

WIDE = np.dtype(np.float32)
# what computes nothing, beside what moves and joins, or has a function that says what it takes
KEPT = {
    "cast", "select", "bitcast", "constant", "gather", "scatter", "dynamic_update_slice", "host", "external",
    "pointwise",
}  # fmt: skip


def widen(func: Func) -> Func:
    """Nothing is computed in bfloat16 or a dtype of eight bits: operands are cast to float32, and results rounded back.
    Regions too.

    So the library that makes these dtypes computes, one operation at a time. What is a sum of many is rounded once
    here, at its end.
    """
    return _widened(func, {}) if has(func, is_small) else func


def is_small(eqn):
    """Whether an equation computes with small floats."""
    if eqn.op.name in KEPT or eqn.op.traits & {"moves", "joins", "region"} or eqn.effect:
        return False
    return any(x.type.small for x in (*eqn.operands, *eqn.results))


def has_small(func):
    """Whether a program has values of small floats."""
    types = (*func.param_types, *func.result_types)
    met = lambda eqn: any(x.type.small for x in (*eqn.operands, *eqn.results))
    return any(t.small for t in types) or has(func, met)


def _widened(func, done):
    if func not in done:
        build, env = Builder.again(func), {}
        for eqn in func.eqns:
            if is_small(eqn):
                build.source = eqn.source
                env.update(zip(eqn.results, in_float32(build, eqn, env), strict=True))
            else:
                build.replay(eqn, env, attrs=eqn.mapped(lambda region: _widened(region, done)))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def in_float32(build, eqn, env):
    """The results of an equation, computed in float32."""
    operands = [as_dtype(build, env.get(x, x), WIDE) if x.type.small else env.get(x, x) for x in eqn.operands]
    attrs = {**eqn.attrs, "dtype": WIDE} if eqn.attrs.get("dtype") in SMALL else eqn.attrs
    hints = tuple(r.hint for r in eqn.results)
    out = build.emit(eqn.op, operands, attrs, eqn.source, hints)
    out = out if eqn.op.multiple else (out,)
    return [as_dtype(build, z, r.type.dtype) for r, z in zip(eqn.results, out, strict=True)]


def as_dtype(build, x, dtype):
    """x in another dtype."""
    if x.type.dtype == dtype:
        return x
    if isinstance(x, Lit):
        return Lit(cast.body(x.value, dtype=dtype), x.type.like(dtype=dtype))
    return build.emit(cast, (x,), {"dtype": dtype})
