"""Functions made at several samples, compared equation by equation: the one `Pattern` of symbolic sizes that they are.

Alike are functions of the same equations in the same order, whose types, attributes and numbers are the same or have a
form of the sizes (`forms`); regions within likewise. Names, and the sources of equations, are those of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .core import Eqn, Func, Lit, Value
from .forms import SIZED, Forms, SizedLit, SizedType, Unalike
from .source import Source
from .types import Tensor

SYMBOLIC = SIZED | SizedLit


class Pattern:
    """A function of symbolic sizes.

    first: the function at the first sample; types: of its parameters; rows: its equations; results: as the operands of
    a `PatternEqn`; fixed: whether no size is in it, so that it is `first` for all sizes.
    """

    __slots__ = ("first", "types", "rows", "results", "fixed")
    first: Func
    types: tuple[Tensor | SizedType, ...]
    rows: tuple[PatternEqn, ...]
    results: tuple[int | Lit | SizedLit, ...]
    fixed: bool

    def __init__(self, first: Func) -> None:
        self.first = first


class PatternEqn:
    """An equation of a Pattern.

    first: that of the first sample; operands: a number counts values of the function in the order of their binding;
    attrs: the attributes that are not those of the first; types: of the results.
    """

    __slots__ = ("first", "operands", "attrs", "types")
    first: Eqn
    operands: tuple[int | Lit | SizedLit, ...]
    attrs: dict[str, Any]
    types: tuple[Tensor | SizedType, ...]

    def __init__(
        self,
        first: Eqn,
        operands: tuple[int | Lit | SizedLit, ...],
        attrs: dict[str, Any],
        types: tuple[Tensor | SizedType, ...],
    ) -> None:
        self.first, self.operands, self.attrs, self.types = first, operands, attrs, types


def symbolic(form: Any) -> bool:
    """Whether a size is in what stands for a type, number or attribute."""
    if isinstance(form, tuple):
        return any(map(symbolic, form))
    return not form.fixed if isinstance(form, Pattern) else isinstance(form, SYMBOLIC)


class Unifier:
    """Makes Patterns; a function that several equations have is one Pattern."""

    def __init__(self, samples: Sequence[Mapping[str, int]]) -> None:
        self.forms = Forms(samples)
        self.known: dict[tuple[Func, ...], Pattern] = {}

    def pattern(self, funcs: tuple[Func, ...]) -> Pattern:
        if funcs not in self.known:
            self.known[funcs] = _Comparison(self, funcs).pattern()
        return self.known[funcs]

    def form(self, values: tuple[Any, ...]) -> Any:
        """What stands for an attribute."""
        first = values[0]
        if isinstance(first, Func):
            if not all(isinstance(v, Func) for v in values):
                raise Unalike
            return self.pattern(values)
        if isinstance(first, tuple) and any(isinstance(v, Func | tuple) for v in first):
            if any(not isinstance(v, tuple) or len(v) != len(first) for v in values):
                raise Unalike
            found = tuple(map(self.form, zip(*values, strict=True)))
            return found
        return self.forms.attribute(values)


class _Comparison:
    """One function at all samples."""

    def __init__(self, unifier: Unifier, funcs: tuple[Func, ...]) -> None:
        self.unifier, self.forms, self.funcs = unifier, unifier.forms, funcs
        self.numbers: list[dict[Value, int]] = [{} for _ in funcs]

    def pattern(self) -> Pattern:
        first = self.funcs[0]
        made = Pattern(first)
        self._same([len(f.params) for f in self.funcs], f"the parameters of {first.name}")
        made.types = tuple(
            [self._bound(params, f"parameter {k} of {first.name}") for k, params in enumerate(self._columns("params"))]
        )
        made.rows = tuple([self.row(k, eqns) for k, eqns in enumerate(self._columns("eqns"))])
        self._same([len(f.eqns) for f in self.funcs], f"the number of equations of {first.name}")
        self._same([len(f.results) for f in self.funcs], f"the number of results of {first.name}")
        results = enumerate(self._columns("results"))
        made.results = tuple([self.operand(xs, f"result {k} of {first.name}") for k, xs in results])
        made.fixed = not (
            any(map(symbolic, (*made.types, *made.results)))
            or any(row.attrs or any(map(symbolic, (*row.operands, *row.types))) for row in made.rows)
        )
        return made

    def _columns(self, part: str) -> Any:
        return zip(*[getattr(f, part) for f in self.funcs], strict=False)

    def row(self, k: int, eqns: tuple[Eqn, ...]) -> PatternEqn:
        first, where = eqns[0], equation_place(k, eqns[0], self.funcs[0])
        if any(_kind(e) != _kind(first) for e in eqns):
            words = [f"{e.op.name} of {len(e.operands)} operands" + (f", {e.source}" if e.source else "") for e in eqns]
            self._same(words, where)
            raise Unalike(f"{where}: the attributes or the number of results are others")
        self._same([_heard(e.source) for e in eqns], f"{where}: what its source asks")
        columns = zip(*[e.operands for e in eqns], strict=True)
        operands = tuple([self.operand(xs, f"{where}, operand {j}") for j, xs in enumerate(columns)])
        attrs = {}
        for name in first.attrs:
            found = self.attribute(name, tuple([e.attrs[name] for e in eqns]), where)
            if symbolic(found):
                attrs[name] = found
        bound = zip(*[e.results for e in eqns], strict=True)
        types = tuple([self._bound(rs, f"{where}, result {j}") for j, rs in enumerate(bound)])
        return PatternEqn(first, operands, attrs, types)

    def attribute(self, name: str, values: tuple[Any, ...], where: str) -> Any:
        try:
            return self.unifier.form(values)
        except Unalike as error:
            if error.args:
                raise Unalike(f"{where}, {name}: {error}") from None
            raise Unalike(f"{where}: {name} is {self.forms.told(values)}") from None

    def operand(self, xs: tuple[Any, ...], where: str) -> int | Lit | SizedLit:
        """A number counts values in the order of their binding."""
        if all(isinstance(x, Value) for x in xs):
            places = [numbers[x] for numbers, x in zip(self.numbers, xs, strict=True)]
            if places.count(places[0]) != len(places):
                raise Unalike(f"{where} is value {self.forms.told(places)}")
            return places[0]
        try:
            if all(isinstance(x, Lit) for x in xs):
                return self.forms.literal(xs)
        except Unalike:
            pass
        told = [repr(x) if isinstance(x, Lit) else f"a value {x.type}" for x in xs]
        raise Unalike(f"{where} is {self.forms.told(told)}".replace("'", ""))

    def _bound(self, values: tuple[Value, ...], where: str) -> Tensor | SizedType:
        types = tuple([v.type for v in values])
        for numbers, value in zip(self.numbers, values, strict=True):
            numbers[value] = len(numbers)
        try:
            return self.forms.type(types)
        except Unalike:
            raise Unalike(f"{where} is {self.forms.told(types)}") from None

    def _same(self, told: Sequence[Any], what: str) -> None:
        if any(t != told[0] for t in told):
            raise Unalike(f"{what}: {self.forms.told(told)}".replace("'", ""))


def equation_place(k: int, eqn: Eqn, func: Func) -> str:
    """An equation in words: "equation 3 (reduce_sum) of f at model.py:12"."""
    return f"equation {k} ({eqn.op.name}) of {func.name}" + (f" at {eqn.source}" if eqn.source else "")


def _kind(eqn: Eqn) -> tuple[Any, ...]:
    """What equations that are alike have in common, whatever the sizes."""
    return eqn.op, len(eqn.operands), tuple(eqn.attrs), len(eqn.results)


def _heard(source: Any) -> Any:
    """What of a source is more than its place: the transform, the lanes, the errors that nobody is to hear of."""
    return (source.mark, source.lanes, source.quiet) if isinstance(source, Source) else None
