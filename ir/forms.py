"""What stands for types, numbers and attributes in which programs made at several samples differ: `Forms` finds it.

Ints are expressions of the names of sizes (`dims.fit`), types have such ints as sizes (`SizedType`), and floats are one
of NUMBERS of such an int (`SizedNumber`). All that is found has exactly the values seen, at all samples; what is none
of these raises `Unalike`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .core import Constant, Lit
from .dims import Dim, fit
from .equality import equal
from .sample import Unalike
from .types import SHORT, Tensor

Size = int | Dim
WHOLE = 2.0**53  # below it floats hold every int


class NumberForm(NamedTuple):
    """A float of an int d: `factor * number(d)`, where whole(v / factor) is near d."""

    number: Callable[[int], float]
    whole: Callable[[float], float]
    factors: tuple[float, ...]  # powers of two, which round nothing
    text: str


SCALES = (1, 2, 4, 8, 0.5, 0.25, 0.125, -1, -2, -4)
# fmt: off
NUMBERS = (  # the floats that sizes may become in a program; each is rounded to its dtype once more
    NumberForm(float,                         lambda v: v,             (1, .5, .25, .125),            "{f}{d}"),
    NumberForm(lambda d: 1.0 / d,             lambda v: 1.0 / v,       (1, 2, 4, 8),                  "{k}/{d}"),
    NumberForm(math.sqrt,                     lambda v: v * v,         (1, -1),                       "{f}sqrt({d})"),
    NumberForm(lambda d: 1.0 / math.sqrt(d),  lambda v: 1.0 / (v * v), (1, -1, 2, -2, 4, -4),         "{k}/sqrt({d})"),
    NumberForm(lambda d: (1.0 / d) * (1.0 / d), lambda v: 1.0 / math.sqrt(v), SCALES,              "{k}/{d}*(1.0/{d})"),
)
# fmt: on


class SizedType:
    """A type of symbolic sizes, written `f64[n,64]`."""

    __slots__ = ("dims", "dtype")
    dims: tuple[Size, ...]
    dtype: np.dtype[Any]

    def __init__(self, dims: tuple[Size, ...], dtype: np.dtype[Any]):
        self.dims, self.dtype = dims, dtype

    def at(self, sizes: Mapping[str, int]) -> Tensor:
        return Tensor(tuple(d if isinstance(d, int) else d.at(sizes) for d in self.dims), self.dtype)

    def __repr__(self) -> str:
        return f"{SHORT[self.dtype.name]}[{','.join(map(str, self.dims))}]"


class SizedNumber:
    """A float, or a complex number of no imaginary part, that is one of NUMBERS of a Dim."""

    __slots__ = ("factor", "form", "of", "dtype")

    def __init__(self, form: NumberForm, of: Size, factor: float, dtype: np.dtype[Any]):
        self.form, self.of, self.factor, self.dtype = form, of, factor, dtype

    def at(self, sizes: Mapping[str, int]) -> Any:
        return self.number(self.of if isinstance(self.of, int) else self.of.at(sizes))

    def number(self, d: int) -> Any:
        """The number for a number in the place of the Dim; ArithmeticError where there is none."""
        if not -WHOLE < d < WHOLE:
            raise ArithmeticError(f"{self.of} = {d} is too large for a float")
        try:
            return self.dtype.type(self.factor * self.form.number(d))
        except ValueError:
            raise ArithmeticError(f"{self} has no value for {self.of} = {d}") from None

    def __repr__(self) -> str:
        inner, whole = str(self.of), self.form is NUMBERS[0]
        plain = inner.isidentifier() or "sqrt" in self.form.text or (whole and self.factor == 1)
        inner = inner if plain else f"({inner})"
        factor = "" if self.factor == 1 else "-" if self.factor == -1 else f"{self.factor!r}*"
        return self.form.text.format(d=inner, f=factor, k=repr(float(self.factor)))


class SizedLit:
    """A splat whose type or number hangs on sizes."""

    __slots__ = ("type", "value")
    type: Tensor | SizedType
    value: Any  # a number, a Dim or a SizedNumber

    def __init__(self, type: Tensor | SizedType, value: Any):
        self.type, self.value = type, value

    @property
    def dims(self) -> tuple[Size, ...]:
        return dims_of(self.type)

    def __repr__(self) -> str:
        return f"<{self.value!r}: {self.type!r}>"


class SizedFill:
    """A constant array that holds one number everywhere, of a type of symbolic sizes."""

    __slots__ = ("type", "value")

    def __init__(self, type: SizedType, value: Any):
        self.type, self.value = type, value

    def of(self, type: Tensor) -> Constant:
        """The array where its type is this one."""
        return Constant(np.full(type.shape, self.value, type.dtype))

    def __repr__(self) -> str:
        return f"full({self.type},{self.value.item()!r})"


SIZED = Dim | SizedType | SizedNumber | SizedFill  # what stands for numbers, types and attributes, alone or in tuples


def dims_of(type: Tensor | SizedType) -> tuple[Size, ...]:
    return type.dims if isinstance(type, SizedType) else type.shape


class Forms:
    """What is found for values of the samples, or Unalike where nothing is; what was found is remembered."""

    def __init__(self, samples: Sequence[Mapping[str, int]]):
        self.samples = samples
        self._known: dict[Any, Any] = {}

    def told(self, values: Sequence[Any]) -> str:
        """The first two values that differ, and where: "[36] at n=37, [40] at n=38"."""
        other = next((k for k, v in enumerate(values) if not equal(v, values[0])), -1)
        places = [", ".join(f"{n}={s}" for n, s in self.samples[k].items()) for k in (0, other)]
        return " and ".join(f"{_short(values[k])} at {place}" for k, place in zip((0, other), places, strict=True))

    def _remembered(self, key: Any, find: Callable[[], Any]) -> Any:
        """What `find` gives, which is None where there is nothing."""
        if key not in self._known:
            self._known[key] = find()
        if self._known[key] is None:
            raise Unalike
        return self._known[key]

    def size(self, values: tuple[int, ...]) -> Size:
        """The Dim that ints are."""
        first = values[0]
        if values.count(first) == len(values):
            return int(first)
        found: Size = self._remembered(("size", values), lambda: fit(values, self.samples))
        return found

    def type(self, types: tuple[Tensor, ...]) -> Tensor | SizedType:
        first = types[0]
        if all(t is first for t in types):
            return first
        found: SizedType = self._remembered(types, lambda: self._type(types))
        return found

    def _type(self, types: tuple[Tensor, ...]) -> SizedType | None:
        first = types[0]
        if any(t.dtype != first.dtype or t.ndim != first.ndim for t in types):
            return None
        return SizedType(tuple(map(self.size, zip(*[t.shape for t in types], strict=True))), first.dtype)

    def literal(self, lits: tuple[Lit, ...]) -> Lit | SizedLit:
        first = lits[0]
        if all(x is first for x in lits):
            return first
        found: Lit | SizedLit = self._remembered(lits, lambda: self._literal(lits))
        return found

    def _literal(self, lits: tuple[Lit, ...]) -> Lit | SizedLit:
        type, value = self.type(tuple([x.type for x in lits])), self.number(tuple([x.value for x in lits]))
        same = isinstance(type, Tensor) and not isinstance(value, SIZED)  # in two objects
        return lits[0] if same else SizedLit(type, value)

    def number(self, values: tuple[Any, ...]) -> Any:
        """The number that NumPy scalars of one dtype are: one of them, a Dim or a SizedNumber."""
        first = values[0]
        if len({v.tobytes() for v in values}) == 1:
            return first
        if first.dtype.kind in "iu":
            return self.size(tuple(map(int, values)))
        real = tuple([v.real for v in values])
        if first.dtype.kind not in "fc" or any(v.imag or np.signbit(v.imag) for v in values if first.dtype.kind == "c"):
            raise Unalike
        return self._remembered((first.dtype, values), lambda: self._float(tuple(map(float, real)), first.dtype))

    def _float(self, values: tuple[float, ...], dtype: np.dtype[Any]) -> SizedNumber | None:
        if all(map(math.isfinite, values)):
            for form in NUMBERS:
                for factor in form.factors:
                    if (found := self._formed(form, factor, values, dtype)) is not None:
                        return found
        return None

    def _formed(
        self, form: NumberForm, factor: float, values: tuple[float, ...], dtype: np.dtype[Any]
    ) -> SizedNumber | None:
        try:
            near = tuple([round(form.whole(v / factor)) for v in values])
        except (ArithmeticError, ValueError):
            return None
        try:
            made = SizedNumber(form, 0, factor, dtype)
            if any(made.number(d) != v for d, v in zip(near, values, strict=True)):
                return None
            return SizedNumber(form, self.size(near), factor, dtype)
        except (ArithmeticError, Unalike):
            return None

    def attribute(self, values: tuple[Any, ...]) -> Any:
        """What stands for an attribute that holds no function of the IR; itself where all are equal."""
        first = values[0]
        if all(v is first or equal(v, first) for v in values[1:]):
            return first
        if len(set(map(type, values))) == 1:
            if isinstance(first, tuple | list) and len(set(map(len, values))) == 1:
                return tuple(map(self.attribute, zip(*values, strict=True)))
            if type(first) is int:
                return self.size(values)
            if isinstance(first, Tensor):
                return self.type(values)
            if isinstance(first, Constant):
                return self._fill([v.array for v in values])
            if type(first) is float:
                return self._remembered(values, lambda: self._float(values, np.dtype(float)))
        raise Unalike

    def _fill(self, arrays: Sequence[np.ndarray[Any, Any]]) -> SizedFill:
        types = tuple([Tensor(a.shape, a.dtype) for a in arrays])
        found, bits = self.type(types), arrays[0].tobytes()[: arrays[0].itemsize]
        if not bits or any(a.tobytes() != bits * a.size for a in arrays) or not isinstance(found, SizedType):
            raise Unalike
        return SizedFill(found, arrays[0].flat[0])


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
