"""A Pattern at given sizes: the functions it is there, made with as little work as there is.

All sizes of a pattern are computed first, then all types, then all numbers, then the equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .core import Eqn, Func, Lit, Value
from .dims import Dim
from .forms import SizedFill, SizedLit, SizedNumber, SizedType
from .types import Tensor
from .unify import Pattern, PatternEqn, symbolic

Make = Callable[["_Sized"], Any]  # (what is there at the sizes) -> a value


class _Sized:
    """What there is at given sizes: ints, types and numbers by their positions; the functions made so far."""

    __slots__ = ("ints", "types", "lits", "funcs")

    def __init__(self, ints: Sequence[int]) -> None:
        self.ints = ints
        self.types: list[Tensor] = []
        self.lits: list[Lit] = []
        self.funcs: dict[Any, Func] = {}


class Instances:
    """The functions that a Pattern is."""

    def __init__(self, pattern: Pattern, names: Sequence[str]) -> None:
        self.names = names
        self.dims: dict[Dim, int] = {}
        self.types: dict[Any, int] = {}
        self.lits: dict[Any, int] = {}
        self._type_plans: list[Make] = []
        self._lit_plans: list[Make] = []
        self._plans: dict[int, Callable[[_Sized], Func]] = {}
        self._whole = self._function(pattern, fresh=True)
        self._ints = evaluator(tuple(self.dims), names)

    def at(self, sizes: Mapping[str, int]) -> Func:
        there = _Sized(self._ints(*[int(sizes[n]) for n in self.names]))
        there.types = [make(there) for make in self._type_plans]
        there.lits = [make(there) for make in self._lit_plans]
        made: Func = self._whole(there)
        return made

    # -- preparation -----------------------------------------------------------------------------
    def _int(self, dim: Dim) -> int:
        return self.dims.setdefault(dim, len(self.dims))

    def _type(self, type: Tensor | SizedType) -> int:
        """The position of a type."""
        if type not in self.types:
            self.types[type] = len(self._type_plans)
            self._type_plans.append(self._type_plan(type))
        return self.types[type]

    def _type_plan(self, type: Tensor | SizedType) -> Make:
        if isinstance(type, Tensor):
            return lambda there: type
        shape, dtype = self._make(type.dims), type.dtype

        def make(there: _Sized) -> Tensor:
            found = shape(there)
            if min(found) < 0:
                raise ArithmeticError(f"{type} would have a negative size: {list(found)}")
            return Tensor(found, dtype)

        return make

    def _lit(self, lit: Lit | SizedLit) -> int:
        if lit not in self.lits:
            self.lits[lit] = len(self._lit_plans)
            self._lit_plans.append(self._lit_plan(lit))
        return self.lits[lit]

    def _lit_plan(self, lit: Lit | SizedLit) -> Make:
        if isinstance(lit, Lit):
            return lambda there: lit
        type, value = self._type(lit.type), self._make(lit.value)
        return lambda there: Lit(value(there), there.types[type])

    def _make(self, form: Any) -> Make:
        """What makes the attribute or number that `form` stands for."""
        if isinstance(form, Dim):
            k = self._int(form)
            return lambda there: there.ints[k]
        if isinstance(form, SizedNumber):
            of = self._make(form.of)
            return lambda there: form.number(of(there))
        if isinstance(form, SizedType):
            k = self._type(form)
            return lambda there: there.types[k]
        if isinstance(form, SizedFill):
            k = self._type(form.type)
            return lambda there: form.of(there.types[k])
        if isinstance(form, Pattern):
            return self._function(form)
        if isinstance(form, tuple) and symbolic(form):
            parts = [self._make(x) for x in form]
            return lambda there: tuple([make(there) for make in parts])
        return lambda there: form

    def _operands(self, operands: Sequence[Any]) -> list[int]:
        """Positions: of values from 0, of numbers below it."""
        return [x if isinstance(x, int) else ~self._lit(x) for x in operands]

    def _function(self, pattern: Pattern, fresh: bool = False) -> Make:
        if pattern.fixed and not fresh:
            return lambda there: pattern.first
        if id(pattern) not in self._plans:
            self._plans[id(pattern)] = self._planned(pattern)
        plan = self._plans[id(pattern)]

        def make(there: _Sized) -> Func:
            if pattern not in there.funcs:
                there.funcs[pattern] = plan(there)
            return there.funcs[pattern]

        return make

    def _planned(self, pattern: Pattern) -> Callable[[_Sized], Func]:
        first = pattern.first
        params = [(self._type(t), p.hint) for t, p in zip(pattern.types, first.params, strict=True)]
        rows = [self._row(row) for row in pattern.rows]
        results = self._operands(pattern.results)

        def make(there: _Sized) -> Func:
            types, lits = there.types, there.lits
            env = [Value(types[t], None, hint) for t, hint in params]
            bound, eqns = tuple(env), []
            for op, operands, attrs, changing, bindings, source in rows:
                if changing:
                    attrs = {**attrs, **{name: change(there) for name, change in changing}}
                eqn = Eqn(op, tuple([env[i] if i >= 0 else lits[~i] for i in operands]), attrs, (), source)
                eqn.results = tuple([Value(types[t], eqn, hint) for t, hint in bindings])
                env += eqn.results
                eqns.append(eqn)
            return Func(first.name, bound, eqns, [env[i] if i >= 0 else lits[~i] for i in results])

        return make

    def _row(self, row: PatternEqn) -> tuple[Any, ...]:
        first = row.first
        changing = [(name, self._make(form)) for name, form in row.attrs.items()]
        bindings = [(self._type(t), r.hint) for t, r in zip(row.types, first.results, strict=True)]
        return first.op, self._operands(row.operands), first.attrs, changing, bindings, first.source


def evaluator(dims: Sequence[Dim], names: Sequence[str]) -> Callable[..., list[int]]:
    """A function of the numbers of `names` that gives those of `dims`; ArithmeticError where one is not whole."""
    order = {n: k for k, n in enumerate(names)}
    plans: list[Any] = []  # of a polynomial: [(coefficient, positions of its names)]; of others the Dim
    for d in dims:
        whole = all(c.denominator == 1 and all(isinstance(u, str) for u in m) for m, c in d.terms.items())
        plans.append([(int(c), [order[u] for u in m]) for m, c in d.terms.items()] if whole else d)

    def numbers(*given: int) -> list[int]:
        found = []
        for plan in plans:
            if isinstance(plan, Dim):
                found.append(plan.at(dict(zip(names, given, strict=True))))
            else:
                found.append(sum([coefficient * math.prod([given[k] for k in at]) for coefficient, at in plan]))
        return found

    return numbers
