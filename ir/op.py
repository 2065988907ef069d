"""Ops, each declared once: a NumPy function decorated with its type rule, traits and samples.

    @op(elementwise(FLOAT), sample=reals)
    def sin(x):
        \"\"\"Sine.\"\"\"
        return np.sin(x)

Signature = operands, keyword-only = attributes, body = NumPy meaning, docstring = documentation.
Derivatives, batching and lowerings are total tables keyed by the op (`ir.table`).
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from .bounded import Remembered
from .core import Builder, Operand
from .types import IRTypeError, Tensor, parse_type

BOOL, INT, UINT, FLOAT, COMPLEX = "b", "i", "u", "f", "c"  # dtype kinds
INTEGER, INEXACT = INT + UINT, FLOAT + COMPLEX
REAL, NUMBER = INTEGER + FLOAT, INTEGER + FLOAT + COMPLEX
ANY = BOOL + NUMBER

OPS: dict[str, Op] = {}  # name -> Op, in order of declaration
FUNCTIONS: dict[str, Any] = {}  # name -> a function of numbers that programs may hold, which all processes have


Types: TypeAlias = tuple[Tensor, ...]
# (op, *types of the operands, **attributes) -> types of the results
TypeRule: TypeAlias = Callable[..., Tensor | Types]
Sample: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Any]  # (generator, shape) -> numbers


class Cost(enum.IntEnum):
    """What one element of a result takes."""

    MOVE = 0  # nothing is computed
    STEP = 1  # an instruction or a few, which take less time than the memory they read
    DIVISION = 2  # a slow instruction: more than reading the operands, less than keeping the result in memory
    FUNCTION = 3  # a call of a function of numbers
    WHOLE = 4  # many elements of the operands: a sum, a product, a factorisation


class TypeRuleMaker(Protocol):
    """A type rule that knows traits, and cases on which its ops are tested."""

    rule: TypeRule
    traits: Iterable[str]
    cases: Sequence[case]


class Op:
    """A named operation. Calling it means what its operands are: arrays evaluate, Values append, Holes match."""

    name: str
    body: Callable[..., Any]
    rule: TypeRule
    doc: str | None
    operands: tuple[str, ...]
    variadic: bool
    attrs: dict[str, Any]  # name -> default
    names: tuple[str, ...]
    sample: Sample | None
    cases: tuple[case, ...]
    traits: frozenset[str]
    multiple: bool
    effect: bool | str
    commutative: bool
    cost: Cost
    check: Literal["value", "shape"]

    def __init__(
        self,
        body: Callable[..., Any],
        rule: TypeRule,
        *,
        sample: Sample | None,
        cases: Sequence[case],
        traits: Iterable[str],
        multiple: bool,
        effect: bool | str,
        check: Literal["value", "shape"],
        cost: Cost | None,
    ) -> None:
        self.name = body.__name__.rstrip("_")
        self.body, self.rule, self.doc = body, rule, inspect.getdoc(body)
        signature = inspect.signature(body).parameters.values()
        self.operands = tuple(p.name for p in signature if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY))
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in signature)
        self.attrs = {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY}
        self.names = tuple(self.attrs)
        self.sample, self.cases, self.traits = sample, tuple(cases), frozenset(traits)
        self.multiple, self.effect, self.commutative = multiple, effect, "commutative" in self.traits
        self.check = check  # "value": compare numbers; "shape": the body leaves freedom (signs of eigenvectors)
        self.cost = cost if cost is not None else self._usual_cost()
        self._types: Remembered[Any, Types] = Remembered()

    def _usual_cost(self) -> Cost:
        if self.traits & {"moves", "joins"}:
            return Cost.MOVE
        return Cost.FUNCTION if "elementwise" in self.traits else Cost.WHOLE

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        if attrs or self.attrs:
            attrs = self.complete(attrs)
        for x in operands:
            if isinstance(x, Operand):
                return x.apply(self, operands, attrs)
        if not operands and (build := Builder.building()):
            return build.emit(self, (), attrs)  # no operand says what is meant: inside a builder, an equation
        return self.body(*operands, **attrs)

    def complete(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Attributes in order of declaration, defaults filled in."""
        if tuple(attrs) == self.names:
            return attrs
        full = {k: attrs.pop(k) if k in attrs else d for k, d in self.attrs.items()}
        if attrs:
            raise IRTypeError(
                f"{self.name} has no attribute {', '.join(attrs)}; it has {', '.join(self.attrs) or 'none'}"
            )
        for k, v in full.items():
            if v is inspect.Parameter.empty:
                raise IRTypeError(f"{self.name}: attribute {k} is missing")
        return full

    def result_types(self, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Types:
        """The tuple of result types; the op's type rule, remembered."""
        key = (tuple([x.type for x in operands]), tuple(attrs.items()) if attrs else ())
        found = self._types.get(key)
        if found is None:
            if not self.variadic and len(operands) != len(self.operands):
                raise IRTypeError(
                    f"{self.name} takes {len(self.operands)} operands ({', '.join(self.operands)}), got {len(operands)}"
                )
            made = self.rule(self, *key[0], **attrs)
            found = made if isinstance(made, tuple) else (made,)
            if "region" not in self.traits:  # remembering would keep every region alive
                self._types[key] = found
        return found

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return OPS.__getitem__, (self.name,)


def op(
    rule: TypeRule | TypeRuleMaker,
    *,
    sample: Sample | None = None,
    cases: Sequence[case] = (),
    traits: Iterable[str] = (),
    multiple: bool = False,
    effect: bool | str = False,
    check: Literal["value", "shape"] = "value",
    cost: Cost | None = None,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op. `rule(op, *types, **attrs)` gives its result type, or a tuple of them when `multiple`.

    sample: draws a float operand for the generated tests (a domain of `ir.sample`).
    cases:  `case(...)` instances for the generated tests; elementwise rules supply their own.
    traits: words that passes and transforms ask for: "elementwise"; "commutative"; "moves" (elements of the first
    operand, unchanged,
            at places that attributes and other operands say); "joins" (elements of all operands, unchanged);
            "reduction"; "cumulative"; "region"; of elementwise ops: "exact" (of real operands nothing is rounded,
            overflows or is invalid), "stepwise" (of floats: a small difference of an operand is none of the result, or
            decides), "masks_nan" (a number or a bool where an operand is NaN).
    effect: True for ops that must run exactly once, in order (never merged, never dropped), or the name
            of the attribute that says so.
    cost:   what one element of a result takes, where it is not the usual of its kind: `MOVE` of ops that move or join,
            `FUNCTION` of elementwise ones, `WHOLE` of others.
    """

    typed: Any = rule

    def declare(body: Callable[..., Any]) -> Op:
        made = Op(
            body,
            getattr(typed, "rule", typed),
            sample=sample,
            cases=cases or getattr(typed, "cases", ()),
            traits={*traits, *getattr(typed, "traits", ())},
            multiple=multiple,
            effect=effect,
            check=check,
            cost=cost if cost is not None else getattr(typed, "cost", None),
        )
        if made.name in OPS:
            raise IRTypeError(f"op {made.name} is declared twice")
        OPS[made.name] = made
        return made

    return declare


# -- type rules ------------------------------------------------------------------------------------


class elementwise:
    """All operands have one shape; `kinds` names the dtype kinds allowed, one string for all or one each.

    result: "same" (dtype of the last operand), "bool", "real" (the real partner of a complex dtype).
    Operands whose `kinds` strings are equal must have equal dtypes.
    """

    traits: tuple[str, ...] = ("elementwise",)

    def __init__(self, *kinds: str, result: Literal["same", "bool", "real"] = "same") -> None:
        self.kinds, self.result = kinds, result
        if result == "bool":
            self.traits = (*self.traits, "masks_nan")

    def rule(self, op: Op, *types: Tensor, **attrs: Any) -> Tensor:
        kinds = self.kinds if len(self.kinds) == len(types) else self.kinds * len(types)
        shape = types[0].shape
        seen: dict[str, np.dtype[Any]] = {}
        for t, allowed in zip(types, kinds, strict=True):
            if t.shape != shape:
                raise IRTypeError(f"{op.name}: shapes differ: {', '.join(map(repr, types))}")
            if t.kind not in allowed:
                raise IRTypeError(f"{op.name}: {t} is not among the dtype kinds it takes ({allowed})")
            if seen.setdefault(allowed, t.dtype) != t.dtype:
                raise IRTypeError(f"{op.name}: dtypes differ: {', '.join(map(repr, types))}")
        last = types[-1]
        if self.result == "bool":
            return last.like(dtype=bool)
        if self.result == "real":
            return real_type(last)
        return last

    @property
    def cases(self) -> Sequence[case]:
        samples = {"b": "bool[3,4]", "i": "i64[3,4]", "u": "u8[3,4]", "f": "f64[3,4]", "c": "c128[3,4]"}
        if len(self.kinds) > 1:
            return (case(*(samples["f" if "f" in k else k[0]] for k in self.kinds)),)
        found = [case(samples[k], repeat=True) for k in self.kinds[0]]
        return (*found, *([case("f32[5]", repeat=True), case("f64[]", repeat=True)] if "f" in self.kinds[0] else ()))


def real_type(t: Tensor) -> Tensor:
    """complex -> the float of half its size; other types are their own."""
    return t.like(dtype=np.dtype(f"f{t.dtype.itemsize // 2}")) if t.kind == "c" else t


def complex_type(t: Tensor) -> Tensor:
    """float -> the complex of twice its size."""
    return t if t.kind == "c" else t.like(dtype=np.dtype(f"c{max(t.dtype.itemsize, 4) * 2}"))


def require(ok: object, op: Op, message: str) -> None:
    """Raise IRTypeError(`op: message`) unless ok; the one-line check of a type rule."""
    if not ok:
        raise IRTypeError(f"{op.name}: {message}")


# -- samples for the generated tests ---------------------------------------------------------------


class case:
    """Operands and attributes on which an op is tested: `case("f64[3,4]", perm=(1, 0))`.

    A spec is a type's spelling (drawn from the op's `sample`), an ndarray (used as it is), or
    a function of a Generator. `repeat=True`: the one spec serves every operand.
    """

    def __init__(self, *specs: Any, repeat: bool = False, sample: Sample | None = None, **attrs: Any) -> None:
        self.specs, self.repeat, self.sample, self.attrs = specs, repeat, sample, attrs

    def draw(self, op: Op, rng: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
        """-> (operands, attrs) with NumPy operands."""
        specs = self.specs * len(op.operands) if self.repeat else self.specs
        return [self._draw(s, op, rng) for s in specs], op.complete(dict(self.attrs))

    def _draw(self, spec: Any, op: Op, rng: np.random.Generator) -> Any:
        if callable(spec):
            return spec(rng)
        if not isinstance(spec, str):
            return np.asarray(spec)
        t = parse_type(spec)
        if t.kind == "b":
            return np.asarray(rng.random(t.shape) < 0.5)
        if t.kind in "iu":
            return np.asarray(rng.integers(1 if t.kind == "u" else -4, 7, t.shape), t.dtype)
        sample = self.sample or op.sample or reals
        real = sample(rng, t.shape)
        if t.kind == "c":
            real = real + 1j * sample(rng, t.shape)
        return np.asarray(real, t.dtype)

    def __repr__(self) -> str:
        parts = [
            s if isinstance(s, str) else "array" if not callable(s) else getattr(s, "__name__", "draw")
            for s in self.specs
        ]
        parts += [f"{k}={getattr(v, 'name', v)}" for k, v in self.attrs.items()]
        return f"({', '.join(parts)})"


def uniform_between(low: float, high: float) -> Sample:
    """Numbers drawn uniformly between two bounds."""
    return lambda rng, shape: rng.uniform(low, high, shape)


reals = uniform_between(-2.0, 2.0)
positive = uniform_between(0.3, 3.0)
unit = uniform_between(-0.9, 0.9)
probability = uniform_between(0.05, 0.95)
above_one = uniform_between(1.1, 3.0)


def nonzero(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Away from zero, either sign."""
    return rng.uniform(0.3, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """No two alike: for sorts and maxima, whose derivatives jump at ties."""
    n = int(np.prod(shape))
    return (rng.permutation(n) + rng.uniform(0.2, 0.8, n)).reshape(shape) / max(n, 1) * 4 - 2


