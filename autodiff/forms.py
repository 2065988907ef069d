"""The six ways to state a derivative: scalar, linear, bilinear, explicit, joint, zero. Both modes follow from each.

Inside a rule x, y are operands, z the op's result, g a cotangent, t a tangent; each is an IR value
and every op call appends. `None` is the symbolic zero: never built, never passed to a rule that
did not ask for it.

Complex values follow JAX: transposition without conjugation, so for real-valued f the gradient is
df/dx - i df/dy, and Re(sum(g * dz)) = Re(sum(cotangent * dx)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ..ir.core import Attrs, Lit, Value, zeros_like
from ..ir.op import Op
from ..ir.ops.elementwise import mul, strong_mul
from ..ir.table import RuleTable

Operands: TypeAlias = Sequence[Any]  # Atoms; of tangents and cotangents, also None
Slopes: TypeAlias = Sequence[Any]  # tangents or cotangents, one for each result or operand; None is zero
Partial: TypeAlias = Callable[..., Any]  # (z, *operands, **attrs) -> dz/dx
Transpose: TypeAlias = Callable[..., Any]  # (g, *operands, **attrs) -> cotangent


class Form(Protocol):
    """One way to state a derivative, from which both modes follow."""

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes: ...

    def vjp(
        self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool], attrs: Attrs
    ) -> Slopes: ...


DERIVATIVE: RuleTable[Form | Joint] = RuleTable("derivative")


def differentiable(x: Any) -> bool:
    """Whether an operand can carry a derivative: a value, not a literal, of floating or complex type."""
    return isinstance(x, Value) and x.type.inexact


class Scalar:
    """z_i = f(x_i, y_i): one partial per operand, `(z, x, y, **attrs) -> dz/dx`; None for no derivative.

    singular: whether a partial may be infinite or NaN. A tangent or cotangent that is 0 stays 0 there, as behind the
    side of a `where` that is not taken.
    """

    def __init__(self, partials: tuple[Partial | None, ...], singular: bool) -> None:
        self.partials, self.singular = partials, singular

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes:
        total = None
        for partial, t in zip(self.partials, tangents, strict=True):
            if t is not None and partial is not None:
                total = add_tangents(total, _times(t, partial(z[0], *operands, **attrs), self.singular))
        return (total,)

    def vjp(
        self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool], attrs: Attrs
    ) -> Slopes:
        return tuple(
            _times(cotangents[0], partial(z[0], *operands, **attrs), self.singular)
            if need and partial is not None
            else None
            for partial, need in zip(self.partials, needs, strict=True)
        )


class Linear:
    """Jointly linear in the operands that have a transpose: `(g, *operands, **attrs) -> cotangent`."""

    def __init__(self, transposes: tuple[Transpose | None, ...]) -> None:
        self.transposes = transposes

    def _spread(self, operands: Operands) -> tuple[Transpose | None, ...]:
        return (self.transposes + self.transposes[-1:] * len(operands))[: len(operands)]

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes:
        moved = [
            x if transpose is None else zeros_like(x) if t is None else t
            for x, t, transpose in zip(operands, tangents, self._spread(operands), strict=True)
        ]
        if not any(t is not None and transpose for t, transpose in zip(tangents, self._spread(operands), strict=True)):
            return (None,)
        return (op(*moved, **attrs),)

    def vjp(self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool],
        attrs: Attrs) -> Slopes:
        return tuple(
            transpose(cotangents[0], *operands, **attrs) if need and transpose is not None else None
            for transpose, need in zip(self._spread(operands), needs, strict=True)
        )


class Bilinear:
    """Linear in each of two operands: two transposes `(g, x, y, **attrs) -> cotangent`."""

    def __init__(self, left: Transpose, right: Transpose) -> None:
        self.transposes = left, right

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes:
        (x, y), (tx, ty) = operands, tangents
        left = op(tx, y, **attrs) if tx is not None else None
        right = op(x, ty, **attrs) if ty is not None else None
        return (add_tangents(left, right),)

    def vjp(self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool],
        attrs: Attrs) -> Slopes:
        return tuple(
            transpose(cotangents[0], *operands, **attrs) if need else None
            for transpose, need in zip(self.transposes, needs, strict=True)
        )


class Explicit:
    """Both modes by hand: `jvp(z, operands, tangents, **attrs)` and `vjp(z, operands, cotangents, needs, **attrs)`.

    z and cotangents are tuples, one entry a result; both rules return tuples, with None for zero.
    """

    def __init__(self, jvp: Callable[..., Slopes], vjp: Callable[..., Slopes]) -> None:
        self._jvp, self._vjp = jvp, vjp

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes:
        return self._jvp(z, operands, tangents, **attrs)

    def vjp(self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool],
        attrs: Attrs) -> Slopes:
        return self._vjp(z, operands, cotangents, needs, **attrs)


class Joint:
    """For ops that run regions: the derivative replaces the op and gives its results too, so nothing runs twice.

    `jvp(operands, tangents, **attrs) -> (results, tangents)`;
    `vjp(operands, needs, gives, **attrs) -> (results, pull)`, where `gives` flags the results that may have
    a cotangent and `pull(cotangents)` appends the backward half and returns the operands' cotangents.
    adds: whether it is `pull(cotangents, totals)`, which adds them to what each operand has by then, or None.
    """

    def __init__(
        self,
        jvp: Callable[..., tuple[Any, Slopes]],
        vjp: Callable[..., tuple[Any, Callable[..., Slopes]]],
        adds: bool = False,
    ) -> None:
        self._jvp, self._vjp, self.adds = jvp, vjp, adds

    def jvp(self, operands: Operands, tangents: Operands, attrs: Attrs) -> tuple[Any, Slopes]:
        return self._jvp(operands, tangents, **attrs)

    def vjp(
        self, operands: Operands, needs: Sequence[bool], gives: Sequence[bool], attrs: Attrs
    ) -> tuple[Any, Callable[..., Slopes]]:
        return self._vjp(operands, needs, gives, **attrs)


class Zero:
    """Said out loud: no derivative, whatever the operands."""

    def jvp(self, op: Op, z: Operands, operands: Operands, tangents: Operands, attrs: Attrs) -> Slopes:
        return (None,) * len(z)

    def vjp(self, op: Op, z: Operands, operands: Operands, cotangents: Operands, needs: Sequence[bool],
        attrs: Attrs) -> Slopes:
        return (None,) * len(operands)


def scalar(op: Op, *partials: Partial | None, singular: bool = False) -> None:
    DERIVATIVE[op] = Scalar(partials, singular)


def linear(op: Op, *transposes: Transpose | None) -> None:
    """One transpose per operand, None for operands that are not differentiated; the last one repeats for variadic
    ops."""
    DERIVATIVE[op] = Linear(transposes)


def bilinear(op: Op, left: Transpose, right: Transpose) -> None:
    DERIVATIVE[op] = Bilinear(left, right)


def explicit(op: Op, *, jvp: Callable[..., Slopes], vjp: Callable[..., Slopes]) -> None:
    DERIVATIVE[op] = Explicit(jvp, vjp)


def joint(
    op: Op,
    *,
    jvp: Callable[..., tuple[Any, Slopes]],
    vjp: Callable[..., tuple[Any, Callable[..., Slopes]]],
    adds: bool = False,
) -> None:
    DERIVATIVE[op] = Joint(jvp, vjp, adds)


def zero(*ops: Op) -> None:
    for op in ops:
        DERIVATIVE[op] = Zero()


def add_tangents(a: Any, b: Any) -> Any:
    """a + b where None is zero."""
    return b if a is None else a if b is None else a + b


def _times(g: Any, partial: Any, singular: bool) -> Any:
    if partial is None:
        return None
    if isinstance(partial, int | float):
        return g if partial == 1 else -g if partial == -1 else g * partial
    if isinstance(partial, Lit) and isinstance(g, Lit):
        return mul(g, partial)
    return strong_mul(g, partial) if singular and isinstance(partial, Value) else g * partial
