"""The type of a value: a shape and a dtype, written `f64[3,4]`."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .bounded import Interned

SHORT = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
DTYPES = {short: np.dtype(name) for name, short in SHORT.items()}
SMALL: set[np.dtype[Any]] = set()  # floating dtypes of other libraries, in which nothing is computed: see passes/widen


def declare_float(short: str, dtype: np.dtype[Any]) -> None:
    """Let the IR have a floating dtype of another library's, written `short`."""
    SHORT[dtype.name], DTYPES[short] = short, dtype
    SMALL.add(dtype)


def ir_kind(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype as the IR has it: "f" of all floats."""
    return "f" if dtype in SMALL else dtype.kind


class IRTypeError(TypeError):
    """An equation, or a spelled type, that no rule of the IR allows."""


@functools.cache
def short_of(dtype: np.dtype[Any]) -> str:
    """How the IR writes a dtype, whose own name costs some microseconds. IRTypeError where it has none."""
    if dtype.name not in SHORT:
        raise IRTypeError(f"dtype {dtype} has no place in the IR; it knows {', '.join(DTYPES)}")
    return SHORT[dtype.name]


class Tensor:
    """Shape and dtype of one value. Interned: equal types are the same object.

    kind: that of the dtype as NumPy spells it, "f" for all floats; small: whether it is one of SMALL.
    """

    __slots__ = ("shape", "dtype", "size", "kind", "small", "text", "__weakref__")
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int
    kind: str
    small: bool
    text: str
    # bound: types, in use or not, until those that are not in use go
    _interned: ClassVar[Interned[Any, Tensor]] = Interned(1 << 13)

    def __new__(cls, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Tensor:
        key = (shape, dtype)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned.kept(key, cls._make(tuple(int(n) for n in shape), np.dtype(dtype)))
        return found

    @classmethod
    def _make(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        found = cls._interned.get((shape, dtype))
        if found is not None:
            return found
        short = short_of(dtype)
        self = object.__new__(cls)
        self.shape, self.dtype = shape, DTYPES[short]  # one of the dtypes that are equal
        self.size = math.prod(shape)
        self.small = dtype in SMALL
        self.kind = ir_kind(dtype)
        self.text = f"{short}[{','.join(map(str, shape))}]"
        return cls._interned.kept((shape, dtype), self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def inexact(self) -> bool:
        """Floating or complex: the types that have derivatives."""
        return self.kind in "fc"

    def like(self, shape: Iterable[int] | None = None, dtype: npt.DTypeLike | None = None) -> Tensor:
        return Tensor(self.shape if shape is None else tuple(shape), self.dtype if dtype is None else np.dtype(dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.shape, self.dtype)

    def __repr__(self) -> str:
        return self.text


def parse_type(text: str) -> Tensor:
    """`"f64[3,4]"` -> Tensor((3, 4), float64); the inverse of `repr`."""
    name, bracket, rest = text.strip().partition("[")
    dims = rest.rstrip("]").strip()
    if name not in DTYPES or not bracket or not rest.endswith("]"):
        raise IRTypeError(
            f"{text!r} is no type: write a dtype of {', '.join(DTYPES)} and a shape, such as f64[3,4] or i64[]"
        )
    try:
        shape = tuple(int(d) for d in dims.split(",")) if dims else ()
    except ValueError:
        raise IRTypeError(f"{text!r} is no type: sizes are whole numbers, such as f64[3,4]") from None
    return Tensor(shape, DTYPES[name])


def type_of(array: Any) -> Tensor:
    """The type of anything with a shape and a dtype, or of a Python number."""
    if not hasattr(array, "dtype"):
        array = np.asarray(array)
    return Tensor(tuple(array.shape), np.dtype(array.dtype))
