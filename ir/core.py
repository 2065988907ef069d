"""Values, equations, functions, and the builder that numbers values as it appends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from .bounded import Interned
from .types import IRTypeError, Tensor

if TYPE_CHECKING:
    from .op import Op

Attrs: TypeAlias = dict[str, Any]


def _operator(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """A Python operator and its reflected form, as the op of that name."""
    return (lambda self, other: self.arithmetic[name](self, other)), (
        lambda self, other: self.arithmetic[name](other, self)
    )


class Operand:
    """Anything an op may be called on. What the call means is the operand's own affair (`apply`)."""

    __slots__ = ()
    __hash__ = object.__hash__
    __array_ufunc__ = None  # NumPy operators defer to ours
    arithmetic: ClassVar[dict[str, Op]] = {}  # filled by ir.ops: the op behind each Python operator

    def apply(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
        raise NotImplementedError

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")
    __pow__, __rpow__ = _operator("pow")

    def __neg__(self) -> Any:
        return self.arithmetic["neg"](self)

    def __eq__(self, other: object) -> bool:  # identity: a comparison op is spelled eq(x, y)
        return self is other


class Value(Operand):
    """One SSA value, bound once: by a parameter list (`eqn` is None) or by the equation `eqn`."""

    __slots__ = ("type", "eqn", "hint")
    type: Tensor
    eqn: Eqn | None
    hint: Any

    def __init__(self, type: Tensor, eqn: Eqn | None = None, hint: Any = None) -> None:
        self.type, self.eqn, self.hint = type, eqn, hint

    def apply(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
        return Builder.current().emit(op, operands, attrs)

    def __repr__(self) -> str:
        return f"<value {self.type!r}>"


class Lit(Operand):
    """A splat: one number at every position of a shape. Interned by type and bits, so -0.0 is not 0.0."""

    __slots__ = ("value", "type", "__weakref__")
    value: Any
    type: Tensor
    # bound: numbers of a type, in use or not, until those that are not in use go
    _interned: ClassVar[Interned[Any, Lit]] = Interned(1 << 13)

    def __new__(cls, value: Any, type: Tensor) -> Lit:
        scalar = np.asarray(value).astype(type.dtype)[()]  # a copy: ulonglong is uint64 under another name
        key = (type, scalar.tobytes())
        found = cls._interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.value, found.type = scalar, type
            found = cls._interned.kept(key, found)
        return found

    def apply(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
        return Builder.current().emit(op, operands, attrs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lit, (self.value, self.type)

    def __repr__(self) -> str:
        return f"<{self.value!r}: {self.type!r}>"


Atom: TypeAlias = Value | Lit  # what an equation reads


class Constant:
    """An array held in an attribute; compared by type and bytes, never written."""

    __slots__ = ("array", "_key")
    array: np.ndarray[Any, Any]
    _key: tuple[Any, ...]

    def __init__(self, array: Any) -> None:
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False
        self._key = (self.array.shape, self.array.dtype.str, self.array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.array if dtype is None else self.array.astype(dtype)

    def __repr__(self) -> str:
        return f"Constant({self.array!r})"


class Eqn:
    """`results = op(operands, **attrs)`, made by the user's line `source`."""

    __slots__ = ("op", "operands", "attrs", "results", "source")
    op: Op
    operands: tuple[Any, ...]
    attrs: Attrs
    results: tuple[Value, ...]
    source: Any

    def __init__(
        self, op: Op, operands: tuple[Any, ...], attrs: Attrs, results: tuple[Value, ...], source: Any
    ) -> None:
        self.op, self.operands, self.attrs, self.results, self.source = op, operands, attrs, results, source

    def regions(self) -> tuple[Func, ...]:
        """The closed functions this equation runs, in attribute order."""
        return regions(self.attrs) if "region" in self.op.traits else ()

    def mapped(self, change: Callable[[Func], Func]) -> Attrs:
        """Its attributes with every function f in them replaced by `change(f)`, as `map_regions`."""
        return map_regions(self.attrs, change) if "region" in self.op.traits else self.attrs

    @property
    def effect(self) -> bool:
        """Whether it must run exactly once, in order."""
        return effectful(self.op, self.attrs)

    def __repr__(self) -> str:
        return f"<eqn {self.op.name} {self.attrs}>"


def regions(attrs: Attrs) -> tuple[Func, ...]:
    """The functions held in attributes, alone or in tuples."""
    return (
        tuple([f for v in attrs.values() for f in (v if type(v) is tuple else (v,)) if isinstance(f, Func)])
        if attrs
        else ()
    )


def map_regions(attrs: Attrs, change: Callable[[Func], Func]) -> Attrs:
    """`attrs` with every function f in them replaced by `change(f)`; itself where none is another then."""
    if not regions(attrs):
        return attrs

    def swap(v: Any) -> Any:
        return change(v) if isinstance(v, Func) else tuple(map(swap, v)) if type(v) is tuple else v

    changed = {k: swap(v) for k, v in attrs.items()}
    return attrs if regions(changed) == regions(attrs) else changed


def has(func: Func, found: Callable[[Eqn], bool]) -> bool:
    """Whether there is an equation of which `found` is true, in a function or its regions."""
    for eqn in func.eqns:
        if found(eqn):
            return True
        for f in eqn.regions():
            if has(f, found):
                return True
    return False


def effectful(op: Op, attrs: Attrs) -> bool:
    """Whether `op` has an effect, or an equation of a region it runs has one."""
    own = attrs[op.effect] if isinstance(op.effect, str) else op.effect
    return own or ("region" in op.traits and any(eqn.effect for f in regions(attrs) for eqn in f.eqns))


class Func:
    """A closed, frozen program: parameters, equations in order, results. Made by `Builder.finish`."""

    PARTS: ClassVar[tuple[str, ...]] = ("name", "params", "eqns", "results")
    __slots__ = (*PARTS, "__weakref__")
    name: str
    params: tuple[Value, ...]
    eqns: tuple[Eqn, ...]
    results: tuple[Atom, ...]

    def __init__(self, name: str, params: Iterable[Value], eqns: Iterable[Eqn], results: Iterable[Atom]) -> None:
        self.name, self.params, self.eqns, self.results = name, tuple(params), tuple(eqns), tuple(results)

    @property
    def param_types(self) -> tuple[Tensor, ...]:
        return tuple(p.type for p in self.params)

    @property
    def result_types(self) -> tuple[Tensor, ...]:
        return tuple(r.type for r in self.results)

    def count(self) -> int:
        """Equations, those inside regions included."""
        return sum(1 + sum(r.count() for r in e.regions()) for e in self.eqns)

    def __repr__(self) -> str:
        return f"<func {self.name}: {len(self.eqns)} equations>"


class _Stack(threading.local):
    """The builders being filled in this thread, innermost last; `top` is that one or None."""

    top: Builder | None = None

    def __init__(self) -> None:
        self.builders: list[Builder] = []


class Builder:
    """Appends equations to a function; the same op on the same operands is the same value.

    Value numbering is part of meaning here, not an optimisation: two evaluations of one mask are
    proved to be one mask by it. Equations with effects are never merged.
    """

    _stack: ClassVar[_Stack] = _Stack()
    trace: Any = None  # what the tracer hangs here

    name: str
    params: list[Value]
    eqns: list[Eqn]
    locate: Callable[[], Any] | None
    before: Func | None
    own: Collection[Eqn]

    def __init__(self, name: str = "f", locate: Callable[[], Any] | None = None) -> None:
        self.name, self.params, self.eqns = name, [], []
        self.locate = locate  # () -> Source, asked only when an equation is really appended
        self.source: Any = None  # used when there is no `locate`
        self._numbered: dict[Any, Any] = {}
        self.values: set[Value] = set()  # those bound here, to tell a leak from an operand
        # a function that is built again; its equations, which stand here too where nothing of them changes
        self.before, self.own = None, ()

    @classmethod
    def again(cls, func: Func, *args: Any) -> Self:
        """A builder of `func` as a pass changes it: of the same parameters, and of the same equations where `replay`
        meets none that is new."""
        build = cls(func.name, *args)
        build.params, build.before, build.own = list(func.params), func, set(func.eqns)
        build.values.update(func.params)
        return build

    # -- the current builder, per thread -------------------------------------------------------
    @classmethod
    def current(cls) -> Builder:
        top = cls._stack.top
        if top is None:
            raise RuntimeError("an op was applied to a Value while no function is being built")
        return top

    @classmethod
    def building(cls) -> Builder | None:
        """The innermost builder of this thread, or None."""
        return cls._stack.top

    def __enter__(self) -> Self:
        stack = self._stack
        stack.builders.append(self)
        stack.top = self
        return self

    def __exit__(self, *exc: object) -> None:
        stack = self._stack
        stack.builders.pop()
        stack.top = stack.builders[-1] if stack.builders else None

    # -- building ------------------------------------------------------------------------------
    def param(self, type: Tensor, hint: Any = None) -> Value:
        value = Value(type, None, hint)
        self.params.append(value)
        self.values.add(value)
        return value

    def emit(
        self,
        op: Op,
        operands: Iterable[Any],
        attrs: Attrs,
        source: Any = None,
        hints: Sequence[Any] | None = None,
        eqn: Eqn | None = None,
    ) -> Any:
        """Append `op(operands, **attrs)` unless its value is already known. -> Value, or tuple of them.

        eqn: an equation that is just that, to stand here itself.
        """
        operands = tuple(operands)
        for x in operands:
            if not isinstance(x, Operand):
                operands = tuple([x if isinstance(x, Operand) else as_operand(x, operands, op) for x in operands])
                break
        key = (op, frozenset(operands) if op.commutative else operands, tuple(attrs.items()) if attrs else ())
        try:
            known = self._numbered.get(key)
        except TypeError:
            raise IRTypeError(f"{op.name}: attributes must be hashable, got {attrs}") from None
        if known is not None and not effectful(op, attrs):
            return known
        known = self._numbered[key] = self.append(op, operands, attrs, source, hints, eqn)
        return known

    def append(
        self,
        op: Op,
        operands: tuple[Any, ...],
        attrs: Attrs,
        source: Any,
        hints: Sequence[Any] | None,
        eqn: Eqn | None = None,
    ) -> Any:
        """Append the equation as it stands; a `Rewriter` tries its rules first."""
        if eqn is not None:
            self.eqns.append(eqn)
            self.values.update(eqn.results)
            return eqn.results if op.multiple else eqn.results[0]
        types = op.result_types(operands, attrs)
        if source is None:
            source = self.locate() if self.locate is not None else self.source
        eqn = Eqn(op, operands, attrs, (), source)
        self.eqns.append(eqn)
        if not op.multiple:
            value = Value(types[0], eqn, hints[0] if hints else None)
            eqn.results = (value,)
            self.values.add(value)
            return value
        eqn.results = tuple([Value(t, eqn, hints[i] if hints else None) for i, t in enumerate(types)])
        self.values.update(eqn.results)
        return eqn.results

    def replay(self, eqn: Eqn, env: dict[Any, Any], op: Op | None = None, attrs: Attrs | None = None) -> None:
        """Append a copy of `eqn` with its operands looked up in `env`, and record its results there."""
        operands = tuple([env.get(x, x) for x in eqn.operands])
        attrs = eqn.attrs if attrs is None else attrs
        same = eqn if eqn in self.own and op is None and attrs is eqn.attrs and operands == eqn.operands else None
        out = self.emit(
            op or eqn.op, operands, attrs, eqn.source, None if same else tuple([r.hint for r in eqn.results]), same
        )
        for old, new in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
            if old is not new:
                env[old] = new

    def inline(self, func: Func, operands: Sequence[Any], through: Any = None) -> tuple[Any, ...]:
        """Append the body of `func` on `operands`; returns the tuple of its results."""
        if len(operands) != len(func.params):
            raise IRTypeError(f"{func.name} takes {len(func.params)} operands, got {len(operands)}")
        env: dict[Any, Any] = dict(zip(func.params, operands, strict=True))
        for eqn in func.eqns:
            self.replay(eqn, env)
        return tuple(env.get(r, r) for r in func.results)

    def finish(self, results: Iterable[Atom], name: str | None = None) -> Func:
        made, before = Func(name or self.name, self.params, self.eqns, results), self.before
        if before is not None and all(getattr(made, part) == getattr(before, part) for part in Func.PARTS):
            return before
        return made


def as_operand(x: Any, operands: Sequence[Any], op: Op) -> Lit:
    """A Python number becomes a splat of the type of the last value beside it: literals need no broadcast."""
    for other in reversed(operands):
        if isinstance(other, Value | Lit):
            if isinstance(x, bool | int | float | complex | np.generic):
                return Lit(x, other.type)
            break
    raise IRTypeError(f"{op.name}: {type(x).__name__} is no operand; arrays enter a program as parameters or constants")


def splat(value: Any, like: Atom) -> Lit:
    """`value` at every position of the type of `like`."""
    return Lit(value, like.type)


def zeros_like(x: Atom) -> Lit:
    return Lit(0, x.type)
