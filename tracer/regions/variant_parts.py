"""Variants where a loop carries one: which case it is, and what each case holds, as a node of the trees that loops
carry. A case that is not there holds numbers that nobody reads."""

import enum
import types
from typing import Any, NamedTuple

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import TRUTH
from ..common import pytree
from ..values.array import TracedScalar
from ..values.variant import cases, chain, held, variants_in
from . import merge
from .variant_phis import MOST

# what a case may hold, beside None, that is no number
STILL = (str, bytes, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, enum.Enum)


class Case(NamedTuple):
    """tree: the structure of a case; still: {place of a leaf: what stands there}; unread: what stands for the other
    leaves where the case is not there."""

    tree: Any
    still: Any
    unread: Any


class CasesForm:
    """The cases of a place, in their order."""

    def __init__(self, reason, kept):
        self.reason, self.cases = reason, tuple(kept)

    def is_unread(self, leaf):
        """Whether a leaf stands where a case is not there."""
        return any(x is leaf for case in self.cases for x in case.unread)

    def __eq__(self, other):
        if type(other) is not CasesForm or len(self.cases) != len(other.cases):
            return False
        return all(map(are_alike_cases, self.cases, other.cases))

    def __hash__(self):
        return len(self.cases)


class VariantParts:
    """Whether it is each case but the last, and the leaves of each."""

    def __init__(self, form, values):
        self.form, self.values = form, values


def case_of(x):
    """The Case that a value is, None where a loop cannot carry it as one."""
    if merge.containers(x):
        return None
    (leaves, tree), still, unread = pytree.flatten(x), {}, []
    for n, leaf in enumerate(leaves):
        kind, *of = merge.spec(leaf)
        if kind == "object" and isinstance(leaf, STILL):
            still[n] = leaf
        elif kind in ("object", "mask"):
            return None
        elif kind == "array":
            unread.append(np.zeros(*of))
        else:
            unread.append(unread_number(kind, of))
    return Case(tree, still, unread)


def unread_number(kind, of):
    if kind == "mixed":
        return unread_number(*of[0][0][:1], of[0][0][1:])
    return of[0](0) if kind == "weak" else of[0].type(0)


def are_alike_cases(a, b):
    return (
        a.tree == b.tree
        and a.still.keys() == b.still.keys()
        and all(merge.equal(x, b.still[n]) for n, x in a.still.items())
    )


def like(a, b):
    """Whether one case can hold what either of two holds."""
    meet = lambda x, y: merge.join(merge.spec(x), merge.spec(y)) is not None
    return are_alike_cases(a, b) and all(map(meet, a.unread, b.unread))


def all_cases(x):
    """`cases` of what may be a tuple with Variants in it: tuples without."""
    if type(x) is not tuple:
        return cases(x)
    found = [((), ())]
    for item in x:
        found = [((*before, value), (*tests, *more)) for before, tests in found for value, more in all_cases(item)]
        if len(found) > MOST:
            return [(x, ())]
    return found


def trace_of(x):
    """The trace that knows the tests of all Variants in x."""
    return max([v.trace for v in variants_in(x)], key=depth)


def reason_of(x):
    """What the first Variant in x says of itself; None where there is none."""
    return next((v.reason for v in variants_in(x)), None)


def holds_variants(x):
    return reason_of(x) is not None


def depth(trace):
    return 0 if trace is None else 1 + depth(trace.parent)


def varied(x, y, name):
    """Two values of a place as VariantParts of the cases of both; None where that cannot be."""
    kept = []
    for value, _ in (*all_cases(x), *all_cases(y)):
        case = case_of(value)
        if case is None:
            return None
        if not any(like(case, other) for other in kept):
            kept.append(case)
    if not 2 <= len(kept) <= MOST:
        return None
    told = reason_of((x, y)) or f"{name} is {merge.described(x)} or {merge.described(y)}, as data decide"
    form = CasesForm(told, kept)
    found = as_parts(x, form), as_parts(y, form)
    return None if None in found else found


def cases_form(x):
    """The form of its own cases that a Variant has, or a tuple with some in it; None where a loop cannot carry them."""
    kept = []
    for value, _ in all_cases(x):
        case = case_of(value)
        if case is None or any(like(other, case) for other in kept):
            return None
        kept.append(case)
    return CasesForm(reason_of(x), kept)


def as_parts(x, form):
    """A value as VariantParts of a form, None where it is none."""
    kept = [None] * len(form.cases)
    for value, tests in all_cases(x):
        case = case_of(value)
        at = case and next((n for n, c in enumerate(form.cases) if like(c, case)), None)
        if at is None or kept[at] is not None:
            return None
        kept[at] = value, tests
    values = [is_case(x, found and found[1]) for found in kept[:-1]]
    for case, found in zip(form.cases, kept):
        leaves = () if found is None else pytree.leaves(found[0])
        values += case.unread if found is None else [v for n, v in enumerate(leaves) if n not in case.still]
    return VariantParts(form, values)


def is_case(x, tests):
    """Whether what holds Variants is the case of these tests; None: it never is."""
    if not tests:
        return tests is not None
    (test, truth), *more = tests
    if truth and not more:
        return TracedScalar(test, bool)
    with trace_of(x):
        return TracedScalar(held(tests), bool)


def opened_variant(x):
    """A Variant, or a tuple with some in it, as VariantParts of its own cases; itself where that cannot be."""
    form = cases_form(x)
    return x if form is None else as_parts(x, form)


def without_trips(roll, run, slot, x, n):
    """The array that a place of a Variant holds where a loop makes no trip, if it is of a kind that no trip leaves
    there; else None. x, n: what a trip leaves of that kind, and which leaf it is."""
    c = roll.carried.get(slot)
    form = c.model.form if c is not None and type(c.model) is VariantParts else None
    if roll.surely or form is None or not isinstance(x, np.ndarray) or not form.is_unread(x):
        return None
    first = c.leaves(roll.first(slot, run))[n]
    return None if form.is_unread(first) else first


def _nodes(x):
    return tuple(x.values), x.form


def _variant_of(form, values):
    values, many = list(values), len(form.cases) - 1
    tests, leaves = values[:many], iter(values[many:])
    kept = []
    for case in form.cases:
        count = len(case.unread) + len(case.still)
        held_there = [case.still[n] if n in case.still else next(leaves) for n in range(count)]
        kept.append(pytree.unflatten(case.tree, held_there))
    return chain(form.reason, [Lit(t, TRUTH) if type(t) is bool else t.value for t in tests], kept)


pytree.register(VariantParts, _nodes, _variant_of)
