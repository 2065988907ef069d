"""Batching: one more axis, in front, through every equation that depends on it.

A rule is `(size, batched, *operands, **attrs) -> result(s)`: operands whose flag in `batched` is set
carry the new axis in front, the others do not carry it; every result carries it in front.
Elementwise ops need no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..ir.core import Builder, Func, Lit, Value
from ..ir.op import OPS, Op
from ..ir.ops.shape import broadcast
from ..ir.table import RuleTable

BatchRule: TypeAlias = Callable[..., Any]  # as said above


class BatchTable(RuleTable[BatchRule]):
    """Batching rules; the elementwise ones follow from the trait."""

    def __getitem__(self, op: Op) -> BatchRule:
        return elementwise(op) if op not in self.rules and "elementwise" in op.traits else super().__getitem__(op)

    def missing(self) -> list[Op]:
        return [op for op in OPS.values() if op not in self.rules and "elementwise" not in op.traits]


BATCH = BatchTable("batching")


def batch(func: Func, batched: Sequence[bool], size: int) -> Func:
    """`func` on operands of which those flagged carry a leading axis of `size`; every result carries it."""
    build = Builder(f"batch_{func.name}")
    with build:
        operands = [
            build.param(p.type.like((size, *p.type.shape)) if b else p.type, p.hint)
            for p, b in zip(func.params, batched, strict=True)
        ]
        results, flags = batch_into(build, func, operands, batched, size)
        results = tuple(r if b else spread(r, size) for r, b in zip(results, flags, strict=True))
    return build.finish(results)


def batch_into(build, func, operands, batched, size):
    """Append `func`, batched, on `operands` -> (results, which of them carry the axis)."""
    env = dict(zip(func.params, operands, strict=True))
    carried = {p for p, b in zip(func.params, batched, strict=True) if b}
    locate = build.locate
    for eqn in func.eqns:
        flags = tuple(isinstance(x, Value) and x in carried for x in eqn.operands)
        if not any(flags) and not eqn.effect:
            build.replay(eqn, env)
            continue
        build.locate, build.source = None, eqn.source and eqn.source.in_lanes()
        xs = [env.get(x, x) for x in eqn.operands]
        out = BATCH[eqn.op](size, flags, *xs, **eqn.attrs)
        for r, new in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
            env[r] = new
            carried.add(r)
            if isinstance(new, Value) and new.hint is None and new.eqn is not None and new.eqn.source is None:
                new.hint = r.hint
        build.locate = locate
    build.source = None
    return tuple(env.get(r, r) for r in func.results), tuple(r in carried for r in func.results)


def spread(x, size):
    """x repeated along a new leading axis."""
    if isinstance(x, Lit):
        return Lit(x.value, x.type.like((size, *x.type.shape)))
    return broadcast(x, shape=(size, *x.type.shape), dims=tuple(range(1, x.type.ndim + 1)))


def every(size, batched, operands):
    """All operands with the new axis, those without it repeated along it."""
    return [x if b else spread(x, size) for x, b in zip(operands, batched, strict=True)]


def elementwise(op: Op) -> BatchRule:
    return lambda size, batched, *operands, **attrs: op(*every(size, batched, operands), **attrs)
