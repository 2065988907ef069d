"""A program of symbolic sizes -> the function in room that computes it, equation by equation through the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core import Builder, Eqn, Func, Value
from ..dims import Dim
from ..forms import NUMBERS, SizedLit, SizedNumber, SizedType
from ..generic import Generic
from ..ops.control import COUNTER
from ..ops.elementwise import cast, div, mul, sqrt
from ..ops.shape import broadcast
from ..table import RuleTable
from ..types import IRTypeError, Tensor
from .tails import Masks, Roomy, Size, Sizes, Unroomy, filled_tails, is_zero_end, plain_axes, splat_in_room

# (scope, equation, operands in room) -> results in room; what has none is refused
InRoomRule: TypeAlias = Callable[..., Sequence[Roomy]]
ROOM: RuleTable[InRoomRule] = RuleTable("room")
RECIPROCAL = lambda d: div(1.0, d)
# form of a number -> how it is computed of a size
COMPUTED = dict(zip(NUMBERS, (
    lambda d: d, RECIPROCAL, sqrt, lambda d: div(1.0, sqrt(d)), lambda d: mul(RECIPROCAL(d), RECIPROCAL(d)),
), strict=True))  # fmt: skip


class InRoom:
    """A function in room.

    func: takes the leaves of the program in room, then the true sizes, i64[] each, in the order of `names`. shapes: the
    true shapes of its results. masks: (op, source, type) of each mask.
    """

    def __init__(self, func: Func, names: Sequence[str], room: Mapping[str, int], params: Any, shapes: Any, masks: Any):
        self.func, self.names, self.room = func, tuple(names), dict(room)
        self.params, self.shapes, self.masks = params, shapes, masks


class Scope:
    """One function, or region, under construction.

    generic: the program; sizes: its `Sizes`; known: its values -> these in room.
    """

    def __init__(self, generic: Generic, sizes: Sizes, masks: Masks):
        self.generic, self.sizes, self.masks = generic, sizes, masks
        self.known: dict[Value, Roomy] = {}
        self.zeroed: dict[Any, Roomy] = {}  # value in room -> it with zeros in all tails

    # -- what the program says of itself ----------------------------------------------------------
    def dims(self, x: Value) -> tuple[Size, ...]:
        return self.generic.dims(x)

    def attr(self, eqn: Eqn, name: str) -> Any:
        """An attribute, with sizes in it."""
        return self.generic.attr(eqn, name)

    def attrs(self, eqn: Eqn, **changed: Any) -> dict[str, Any]:
        """The attributes as they are at the sizes of the room."""
        return {k: self.roomy(self.attr(eqn, k)) if k not in changed else changed[k] for k in eqn.attrs}

    def roomy(self, x: Any) -> Any:
        if isinstance(x, Dim):
            return self.sizes.at(x)
        if isinstance(x, SizedType):
            return x.at(self.sizes.room)
        if isinstance(x, SizedNumber):
            raise IRTypeError(f"{x} is no number in room")
        return tuple(map(self.roomy, x)) if type(x) is tuple else x

    def type(self, shape: Iterable[Size], dtype: Any) -> Tensor:
        return Tensor(tuple(map(self.sizes.at, shape)), dtype)

    def operand(self, x: Any) -> Roomy:
        """An operand of an equation, or a result of a function, in room."""
        if isinstance(x, Value):
            found = self.known[x]
            other = self.zeroed.get(found.value)
            return other if other is not None and other.axes == found.axes else found
        shape, number = self.generic.dims(x), x.value
        type, axes = self.type(shape, x.type.dtype), plain_axes(shape)
        if not isinstance(number, Dim | SizedNumber):
            return splat_in_room(number, type, axes)
        value = self._number(number, type.dtype)
        value = broadcast(value, shape=type.shape, dims=()) if type.shape else value
        return Roomy(value, axes, {}, range(len(axes)))

    def _number(self, number: Dim | SizedNumber, dtype: Any) -> Any:
        """Appends a number that hangs on sizes."""
        if isinstance(number, Dim):
            size = self.sizes.scalar(number)
            return size if dtype == size.type.dtype else cast(size, dtype=dtype)
        made = COMPUTED[number.form](cast(self.sizes.scalar(number.of), dtype=np.dtype("f8")))
        made = made if number.factor == 1 else mul(made, float(number.factor))
        return made if made.type.dtype == dtype else cast(made, dtype=dtype)

    # -- rules --------------------------------------------------------------------------------------
    def fill(self, x: Roomy, axes: Iterable[int], number: Any, why: Eqn) -> Roomy:
        """x with a number in the tails of some axes. Zeros are put into all tails at once, and stand there for what
        reads x later: one mask for all."""
        axes, zero = list(axes), type(number) is int and not number
        if not zero or not any(x.axes[a] is not None and not is_zero_end(x, a) for a in axes):
            return filled_tails(self.sizes, self.masks, x, axes, number, why)
        made = filled_tails(self.sizes, self.masks, x, x.roomy, number, why)
        self.zeroed[x.value] = made
        return made

    def made(self, eqn: Eqn, values: Any, ends: Any = None, axes: Any = None) -> list[Roomy]:
        """Results as plain as their shapes are; ends: that of the first."""
        values = values if isinstance(values, tuple | list) else (values,)
        ends = [ends or {}] + [{}] * len(values)
        lie = lambda r: plain_axes(self.dims(r)) if axes is None else axes
        return [Roomy(v, lie(r), e) for r, v, e in zip(eqn.results, values, ends, strict=False)]

    def plain(self, eqn: Eqn, x: Roomy, axes: Iterable[int] | None = None) -> None:
        """Refuse where an axis was made of several."""
        for a in range(len(x.axes)) if axes is None else axes:
            factors = x.axes[a]
            if factors is not None and len(factors) > 1:
                made = " x ".join(map(str, factors))
                refuse_in_room(eqn, f"axis {a} was made of {made}, whose elements do not lie together")

    def run(self, func: Func) -> list[Roomy]:
        """The results of a function whose parameters are known."""
        build = Builder.current()
        for eqn in func.eqns:
            build.source = eqn.source
            operands = [self.operand(self.generic.operand(eqn, k)) for k in range(len(eqn.operands))]
            for r, made in zip(eqn.results, self.results(eqn, operands), strict=True):
                self._check(eqn, r, made)
                made.value.hint = r.hint if isinstance(made.value, Value) and made.value.hint is None else None
                self.known[r] = made
        return [self.operand(self.generic.result(func, k)) for k in range(len(func.results))]

    def results(self, eqn: Eqn, operands: list[Roomy]) -> Sequence[Roomy]:
        rule = ROOM.get(eqn.op)
        if rule is None or not varies(self.generic, eqn):
            if varies(self.generic, eqn):
                refuse_in_room(eqn, "no rule says what becomes of tails")
            out = Builder.current().emit(eqn.op, tuple(x.value for x in operands), eqn.attrs, eqn.source)
            return [Roomy(v, (None,) * v.type.ndim) for v in (out if eqn.op.multiple else (out,))]
        try:
            return rule(self, eqn, *operands)
        except (IRTypeError, ArithmeticError) as error:
            refuse_in_room(eqn, f"it does not fit in the room: {error}")

    def _check(self, eqn: Eqn, r: Value, made: Roomy) -> None:
        if made.value.type is not self.type(self.dims(r), r.type.dtype):
            refuse_in_room(eqn, f"{made.value.type} in place of {self.type(self.dims(r), r.type.dtype)}")


def refuse_in_room(eqn: Eqn, reason: str) -> Any:
    """Raise: no rule covers an equation."""
    raise Unroomy(f"{eqn.op.name}{f' ({eqn.source})' if eqn.source is not None else ''}: {reason}")


def varies(generic: Generic, eqn: Eqn) -> bool:
    """Whether a size, or a number that hangs on one, is anywhere in an equation or its regions."""
    if any(has_size(generic.dims(r)) for r in eqn.results):
        return True
    if any(has_size(generic.attr(eqn, k)) for k in eqn.attrs):
        return True
    if any(_operand_varies(generic, generic.operand(eqn, k)) for k in range(len(eqn.operands))):
        return True
    return any(_region_varies(generic, f) for f in eqn.regions())


def _region_varies(generic: Generic, func: Func) -> bool:
    found = any(varies(generic, eqn) for eqn in func.eqns) or any(has_size(generic.dims(p)) for p in func.params)
    return found or any(_operand_varies(generic, generic.result(func, k)) for k in range(len(func.results)))


def _operand_varies(generic: Generic, x: Any) -> bool:
    return isinstance(x, SizedLit) or has_size(generic.dims(x))


def has_size(x: Any) -> bool:
    """Whether something in an attribute or a shape hangs on sizes."""
    return isinstance(x, Dim | SizedNumber | SizedType) or (type(x) is tuple and any(map(has_size, x)))


def in_room(generic: Generic, room: Mapping[str, int], zeros: bool = True) -> InRoom:
    """A program of symbolic sizes in room for larger ones.

    room: name -> the size for which there is room. zeros: whether the tails of what it is called with are zeros; else
    they may be anything. Raises Unroomy where an op has no rule for what would become of tails there.
    """
    func, masks = generic.func, Masks()
    names = sorted(generic.names)
    with Builder(func.name) as build:
        params = [
            (p, build.param(Tensor(tuple(map(Sizes(room, {}).at, generic.dims(p))), p.type.dtype), p.hint))
            for p in func.params
        ]
        sizes = Sizes(room, {n: build.param(COUNTER, n) for n in names})
        scope = Scope(generic, sizes, masks)
        for p, value in params:
            shape = generic.dims(p)
            nothing = np.zeros((), p.type.dtype)[()]
            ends = dict.fromkeys(range(len(shape)), nothing) if zeros else {}
            scope.known[p] = Roomy(value, plain_axes(shape), ends)
        check_rising(generic, func, sizes)
        results = scope.run(func)
        shapes = [generic.dims(generic.result(func, k)) for k in range(len(func.results))]
        for k, (r, shape) in enumerate(zip(results, shapes, strict=True)):
            if r.axes != plain_axes(shape) and not set(r.roomy) <= r.free:
                raise Unroomy(f"result {k} of {func.name} does not lie together: {r.axes}")
    made = build.finish(r.value for r in results)
    return InRoom(made, names, room, [generic.dims(p) for p in func.params], shapes, masks.made)


def check_rising(generic: Generic, func: Func, sizes: Sizes) -> None:
    """Refuse where an axis has no room in a larger array: its size falls where names grow."""
    for eqn in func.eqns:
        for r in eqn.results:
            if not all(map(sizes.rises, generic.dims(r))):
                refuse_in_room(eqn, f"a size of {generic.dims(r)} falls where another grows")
        for f in eqn.regions():
            check_rising(generic, f, sizes)
