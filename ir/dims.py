"""Sizes as expressions of names: `2*n + 1`, `n*m`, `n//4`, and the one that sizes seen at several samples are.

A `Dim` is a polynomial with rational coefficients whose unknowns are names or whole divisions of Dims. Equal
polynomials are equal Dims. Its text is a Python expression, and `parse_dim` reads it.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from . import syntax

DIVISORS = range(2, 33)  # bound: of the whole divisions that are looked for
Monomial = tuple[Any, ...]  # unknowns, sorted by their text, each as often as its power


class Dim:
    """See the module. terms: monomial -> coefficient, none of them zero."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, Fraction | int]):
        self.terms = {m: Fraction(c) for m, c in sorted(terms.items(), key=_order) if c}

    @classmethod
    def symbol(cls, name: str) -> Dim:
        return cls({(name,): Fraction(1)})

    @classmethod
    def of(cls, x: Dim | int) -> Dim:
        return x if isinstance(x, Dim) else cls({(): Fraction(int(x))})

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number it is for numbers of the names; ArithmeticError where that is not whole."""
        total = _total(self, sizes)
        if total.denominator != 1:
            raise ArithmeticError(f"{self} is not whole for {dict(sizes)}")
        return int(total)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for m in self.terms for u in m for name in ([u] if isinstance(u, str) else u.names))

    def simplified(self) -> Dim | int:
        """An int where it is one."""
        constant = self.terms.get((), Fraction(0))
        return int(constant) if constant.denominator == 1 and not self.terms.keys() - {()} else self

    def __add__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        keys = self.terms.keys() | other.terms.keys()
        return Dim({m: self.terms.get(m, Fraction(0)) + other.terms.get(m, Fraction(0)) for m in keys})

    def __mul__(self, other: Dim | int) -> Dim:
        made: dict[Monomial, Fraction] = {}
        for (m, a), (k, b) in itertools.product(self.terms.items(), Dim.of(other).terms.items()):
            key = tuple(sorted((*m, *k), key=str))
            made[key] = made.get(key, Fraction(0)) + a * b
        return Dim(made)

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim | int) -> Dim:
        return self + -Dim.of(other)

    def __rsub__(self, other: int) -> Dim:
        return Dim.of(other) - self

    def __floordiv__(self, divisor: int) -> Dim:
        """The whole division, of which a part that is a multiple is taken out."""
        whole = {m: c // divisor for m, c in self.terms.items() if c.denominator == 1}
        rest = Dim({m: c - divisor * whole.get(m, 0) for m, c in self.terms.items()})
        constant = rest.simplified()
        if isinstance(constant, int):
            return Dim(whole) + constant // divisor
        return Dim(whole) + Dim({(Quotient(rest, divisor),): Fraction(1)})

    def __mod__(self, divisor: int) -> Dim:
        return self - self // divisor * divisor

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __repr__(self) -> str:
        scale = math.lcm(*(c.denominator for c in self.terms.values()))
        text = " + ".join(_product(m, int(c * scale)) for m, c in self.terms.items()).replace("+ -", "- ") or "0"
        return text if scale == 1 else f"({text})//{scale}"


class Quotient:
    """A whole division that is none of polynomials: an unknown of a Dim."""

    __slots__ = ("divisor", "of")

    def __init__(self, of: Dim, divisor: int):
        self.of, self.divisor = of, divisor

    @property
    def names(self) -> frozenset[str]:
        return self.of.names

    def at(self, sizes: Mapping[str, int]) -> int:
        return self.of.at(sizes) // self.divisor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and (self.of, self.divisor) == (other.of, other.divisor)

    def __hash__(self) -> int:
        return hash((self.of, self.divisor))

    def __repr__(self) -> str:
        inner = str(self.of)
        return f"{inner}//{self.divisor}" if inner.isidentifier() else f"({inner})//{self.divisor}"


def _order(term: tuple[Monomial, Fraction | int]) -> tuple[int, str]:
    return -len(term[0]), str(term[0])


def _value(unknown: str | Quotient, sizes: Mapping[str, int]) -> int:
    return sizes[unknown] if isinstance(unknown, str) else unknown.at(sizes)


def _product(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    if len(monomial) == coefficient == 1:
        return str(monomial[0])
    factors = [str(u) if isinstance(u, str) else f"({u})" for u in monomial]
    sign = {1: "", -1: "-"}.get(coefficient, f"{coefficient}*")
    return sign + "*".join(factors)


def parse_dim(text: str) -> Dim | int:
    """`"2*n + 1"` -> the Dim; the inverse of `str`. An int where no name is in it. ValueError for other texts."""
    try:
        tree = syntax.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no size: write a number, or an expression such as 2*n + 1 or n//4") from None
    return _read(tree, text).simplified()


def _read(node: ast.expr, text: str) -> Dim:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Dim.of(node.value)
    if isinstance(node, ast.Name):
        return Dim.symbol(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_read(node.operand, text)
    if isinstance(node, ast.BinOp):
        left, right = _read(node.left, text), _read(node.right, text)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        divisor = right.simplified()
        if isinstance(node.op, ast.FloorDiv) and isinstance(divisor, int) and divisor > 0:
            scaled = Dim({m: c / divisor for m, c in left.terms.items()})
            whole = all(c.denominator == 1 for c in scaled.terms.values()) or is_whole_everywhere(scaled)
            return scaled if whole else left // divisor
    raise ValueError(f"{text!r} is no size: sizes are sums, products and whole divisions (n//4) of numbers and names")


def is_whole_everywhere(dim: Dim) -> bool:
    """Whether a polynomial with fractions is whole at all whole numbers: at enough of them (Polya)."""
    names = sorted(dim.names)
    if any(not isinstance(u, str) for m in dim.terms for u in m):
        return False
    degree = max(map(len, dim.terms), default=0)
    try:
        for numbers in itertools.product(range(degree + 1), repeat=len(names)):
            dim.at(dict(zip(names, numbers, strict=True)))
    except ArithmeticError:
        return False
    return True


def name_solved(dim: Dim | int, number: int) -> dict[str, int]:
    """The name in an affine form of one name, and the number of it at which the form is `number`; empty for other
    forms, and where there is no whole number."""
    if isinstance(dim, int) or len(dim.terms.keys() - {()}) != 1:
        return {}
    ((unknown, factor),) = ((m, c) for m, c in dim.terms.items() if m)
    found = (number - dim.terms.get((), Fraction(0))) / factor
    return {unknown[0]: int(found)} if isinstance(unknown[0], str) and len(unknown) == found.denominator == 1 else {}


def fit(values: Sequence[int], samples: Sequence[Mapping[str, int]]) -> Dim | int | None:
    """The simplest expression of the names of the samples that has these values at them; None where none of those that
    are looked for has, or more unknowns than one less than there are samples would be needed to say so.

    Looked for, in this order: a constant, affine forms of one name and of all, products of two names or squares with
    those, whole divisions by a small number; of these, where the samples leave several, none.
    """
    first = values[0]
    if all(v == first for v in values):
        return int(first)
    names = sorted(samples[0])
    symbols = [Dim.symbol(n) for n in names]
    bases: Iterable[list[Dim]] = itertools.chain(
        ([s] for s in symbols),
        ([symbols] if len(symbols) > 1 else []),
        ([a * b] for a, b in itertools.combinations_with_replacement(symbols, 2)),
        ([s, s * s] for s in symbols),
        ([[*symbols, *(a * b for a, b in itertools.combinations(symbols, 2))]] if len(symbols) > 1 else []),
    )
    for basis in bases:
        found = _solved([*basis, Dim.of(1)], values, samples)
        if found is not None and (len(names) == 1 or _is_whole_throughout(found, samples)):
            return found
    return _divided(symbols, values, samples)


def _is_whole_throughout(found: Dim, samples: Sequence[Mapping[str, int]]) -> bool:
    """Whether a combination of several names is a whole number wherever each name leaves the remainder that it leaves
    in all samples, as calls are asked: (m - n)/2 of samples that all differ by even numbers may be (m - n + 1)//2. Of a
    product the whole share is a fact of its own, where an array is given that many rows."""
    if all(c.denominator == 1 for c in found.terms.values()) or any(len(m) > 1 for m in found.terms):
        return True
    first = samples[0]
    steps = {name: math.gcd(*(s[name] - first[name] for s in samples)) for name in first}
    corners = itertools.product(*([(name, first[name] + k * step) for k in range(2)] for name, step in steps.items()))
    return all(_total(found, dict(at)).denominator == 1 for at in corners)


def _total(found: Dim, sizes: Mapping[str, int]) -> Fraction:
    return sum((c * math.prod(_value(u, sizes) for u in m) for m, c in found.terms.items()), Fraction(0))


def _divided(symbols: Sequence[Dim], values: Sequence[int], samples: Sequence[Mapping[str, int]]) -> Dim | None:
    """The affine form of a name and of one whole division of it that has these values; None where several have, that
    are others elsewhere: n//4 and (n + 1)//4 agree where no sample is 3 modulo 4, and n % 7 is n - 7*((n + 1)//8) - 7
    at many sizes."""
    found: list[tuple[int, Dim]] = []
    for symbol, divisor, shift in itertools.product(symbols, DIVISORS, range(-2, 3)):
        sizes = [s[next(iter(symbol.names))] for s in samples]
        if not _in_line([(n + shift) // divisor for n in sizes], sizes, list(map(int, values))):
            continue
        made = _solved([(symbol + shift) // divisor, symbol, Dim.of(1)], values, samples)
        if made is not None and all(c.denominator == 1 for c in made.terms.values()):
            if found and not _same_everywhere(made, found[0][1], math.lcm(divisor, found[0][0])):
                return None
            found.append((divisor, made))
    return found[0][1] if found else None


def _in_line(x: Sequence[int], y: Sequence[int], values: Sequence[int]) -> bool:
    """Whether one combination of two columns and a constant has these values, as few do: told in ints, since fractions
    take a hundred times as long."""
    rows = [(a - x[0], b - y[0], v - values[0]) for a, b, v in zip(x, y, values, strict=True)]
    pairs = ((p, q, p[0] * q[1] - p[1] * q[0]) for p, q in itertools.combinations(rows[1:], 2))
    p, q, det = next((found for found in pairs if found[2]), (rows[0], rows[0], 0))
    by_x, by_y = p[2] * q[1] - p[1] * q[2], p[0] * q[2] - p[2] * q[0]
    return det != 0 and all(by_x * a + by_y * b == det * v for a, b, v in rows)


def _same_everywhere(a: Dim, b: Dim, period: int) -> bool:
    """Whether two forms are equal that repeat after a period but for a multiple of their name: two periods tell."""
    names = sorted(a.names | b.names)
    return len(names) == 1 and all(a.at({names[0]: n}) == b.at({names[0]: n}) for n in range(2 * period))


def _solved(basis: Sequence[Dim], values: Sequence[int], samples: Sequence[Mapping[str, int]]) -> Dim | None:
    """The combination of Dims that has these values; None if there is none, or it is not told by the samples."""
    rows = [[Fraction(b.at(s)) for b in basis] + [Fraction(int(v))] for s, v in zip(samples, values, strict=True)]
    if len(rows) <= len(basis):
        return None
    for column in range(len(basis)):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for r in range(len(rows)):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column], strict=True)]
    if any(row[-1] for row in rows[len(basis) :]):
        return None
    made = Dim.of(0)
    for b, row in zip(basis, rows, strict=False):
        made = made + b * Dim({(): row[-1]})
    return made
