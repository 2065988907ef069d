"""Values in the room of larger arrays: how their elements lie there, what is known of their tails, and masks.

An axis of the size d (a `Dim`) has room for the size that d is at the sizes of the room. Its elements are the first d
along it, or, where axes have been made one, the first of each of the sizes it was made of, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..core import Atom, Lit, Value
from ..dims import Dim, Quotient
from ..ops.control import COUNTER
from ..ops.elementwise import add, and_, lt, mul, quotient, select
from ..ops.shape import broadcast, iota, reshape
from ..types import Tensor

Size: TypeAlias = Dim | int
LONGEST = 1 << 14  # bound: sizes up to which one is asked number by number whether it rises
Factors: TypeAlias = tuple[Size, ...]


class Unroomy(Exception):
    """A program that is not computed in more room than its arrays need; the text says why, and where."""


class Roomy:
    """A value in room.

    axes: for each axis the sizes that it was made of, one alone where it is a plain one; None where its size is a
    number, and exact. ends: axis -> the number that is at every place beyond the true size along it. free: axes along
    which all elements are the same.
    """

    __slots__ = ("axes", "ends", "free", "value")

    def __init__(
        self,
        value: Atom,
        axes: Iterable[Factors | None],
        ends: Mapping[int, Any] | None = None,
        free: Iterable[int] = (),
    ):
        self.value, self.axes, self.free = value, tuple(axes), frozenset(free)
        self.ends = {a: c for a, c in (ends or {}).items() if self.axes[a] is not None}

    @property
    def roomy(self) -> list[int]:
        """The axes that have tails."""
        return [a for a, factors in enumerate(self.axes) if factors is not None]


def splat_in_room(number: Any, type: Tensor, axes: Sequence[Factors | None]) -> Roomy:
    """One number at every place."""
    lit = Lit(number, type)
    return Roomy(lit, axes, dict.fromkeys(range(len(axes)), lit.value), range(len(axes)))


def plain_axes(shape: Iterable[Size]) -> tuple[Factors | None, ...]:
    """How the elements of an array of that shape lie."""
    return tuple((d,) if isinstance(d, Dim) else None for d in shape)


def whole_of(factors: Iterable[Size]) -> Size:
    """The product of sizes."""
    made: Size = 1
    for f in factors:
        made = made * f
    return made.simplified() if isinstance(made, Dim) else made


def packed_factors(factors: Iterable[Size]) -> Factors | None:
    """The same places, written shortest: those of rows beyond the first size are the first of all."""
    kept = [f for f in factors if f != 1]
    first = next((k for k, f in enumerate(kept) if isinstance(f, Dim)), None)
    if first is None:
        return None
    if first == 0 and not any(isinstance(f, Dim) for f in kept[1:]):
        return (whole_of(kept),)
    return tuple(kept)


def same_number(a: Any, b: Any) -> bool:
    """Whether two numbers are one, zeros of either sign too."""
    return bool(a.dtype == b.dtype and (a == b or a.tobytes() == b.tobytes() or (a != a and b != b)))


def rising_form(dim: Size) -> bool:
    """Whether a size is no smaller where its names are greater, by its form alone."""
    if not isinstance(dim, Dim):
        return True
    return all(c >= 0 and all(isinstance(u, str) or rising_form(u.of) for u in m) for m, c in dim.terms.items() if m)


class Sizes:
    """The true sizes of a scope, and the room that there is.

    room: name -> the size for which there is room; true: name -> the size that is meant, an i64[] of the function under
    construction.
    """

    def __init__(self, room: Mapping[str, int], true: Mapping[str, Value]):
        self.room, self.true = room, true

    def at(self, dim: Size) -> int:
        """The size that there is room for."""
        return dim.at(self.room) if isinstance(dim, Dim) else int(dim)

    def rises(self, dim: Size) -> bool:
        """Whether a size is nowhere smaller than where its names are smaller, up to the room."""
        if rising_form(dim) or not isinstance(dim, Dim):
            return True
        (name, *others) = dim.names
        if others or self.room[name] > LONGEST:
            return False
        seen = [dim.at({name: n}) for n in range(self.room[name] + 1)]
        return seen == sorted(seen)

    def scalar(self, dim: Size) -> Atom:
        """Appends the true size, i64[]."""
        if not isinstance(dim, Dim):
            return Lit(dim, COUNTER)
        scale = math.lcm(*(c.denominator for c in dim.terms.values()))
        total: Any = None
        for monomial, c in dim.terms.items():
            term: Any = None
            for unknown in monomial:
                factor = self._unknown(unknown)
                term = factor if term is None else mul(term, factor)
            times = int(c * scale)
            term = Lit(times, COUNTER) if term is None else term if times == 1 else mul(term, times)
            total = term if total is None else add(total, term)
        return total if scale == 1 else quotient(total, scale)

    def _unknown(self, unknown: str | Quotient) -> Atom:
        if isinstance(unknown, str):
            return self.true[unknown]
        return quotient(self.scalar(unknown.of), unknown.divisor)

    def within(self, factors: Factors, room: int) -> Atom:
        """Appends which places along an axis are no tail, bool[room]."""
        rooms = (room,) if len(factors) == 1 else tuple(self.at(f) for f in factors)
        made: Any = None
        for k, (f, room) in enumerate(zip(factors, rooms, strict=True)):
            if isinstance(f, Dim):
                each = iota(shape=(room,), axis=0, dtype=COUNTER.dtype)
                ok = lt(each, broadcast(self.scalar(f), shape=(room,), dims=()))
                if len(rooms) > 1:
                    ok = broadcast(ok, shape=rooms, dims=(k,))
                made = ok if made is None else and_(made, ok)
        return made if len(rooms) == 1 else reshape(made, shape=(math.prod(rooms),))


class Masks:
    """The masks that a function got: (op that asked for it, its source, the value's type) each."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any, Tensor]] = []
        self.known: set[Atom] = set()

    def note(self, eqn: Any, value: Atom) -> None:
        """value: what the mask gives, which is made once."""
        if value not in self.known:
            self.known.add(value)
            self.made.append((eqn.op.name, eqn.source, value.type))


def filled(sizes: Sizes, masks: Masks, x: Roomy, axes: Iterable[int], number: Any, why: Any) -> Roomy:
    """x with a number in the tails of some axes: a Python or NumPy number, or a scalar of the program, or numbers of the
    type of x.

    why: the equation that asks for it.
    """
    literal = not isinstance(number, Value)
    if literal:
        number = Lit(number, Tensor((), x.value.type.dtype)).value
        done = lambda a: a in x.ends and same_number(x.ends[a], number)
    else:
        done = lambda a: False
    todo = [a for a in axes if x.axes[a] is not None and not done(a)]
    if not todo:
        return x
    shape, inside = x.value.type.shape, None
    for a in todo:
        one = sizes.within(x.axes[a], shape[a])
        one = one if len(shape) == 1 else broadcast(one, shape=shape, dims=(a,))
        inside = one if inside is None else and_(inside, one)
    whole = not literal and number.type is x.value.type
    other = Lit(number, x.value.type) if literal else number if whole else broadcast(number, shape=shape, dims=())
    value = select(inside, x.value, other)
    masks.note(why, value)
    if not literal:
        return Roomy(value, x.axes)
    kept = {a: c for a, c in x.ends.items() if a not in todo and same_number(c, number)}
    return Roomy(value, x.axes, dict.fromkeys(todo, number) | kept, x.free - set(todo))
