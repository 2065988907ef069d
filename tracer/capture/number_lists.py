"""Long lists of Python floats among the arguments: one array of the program each, in the place of an argument a number.

A list, or lists in lists as deep everywhere, of which every item is a float of Python's, is a `NumberList` in the
structure of a call: its leaf is an ndarray, and a trace sees the lists again, of `Element`s of that array.
"""

import itertools
import math

import numpy as np

from ..common import pytree
from ..values.array import TracedArray
from ..values.elements import elements_of
from ..values.sparse_matrix import format_of, taken_apart

# bound: numbers that are taken one by one; a call with as many more is not told inline (`call/inline_cache.py`)
LONG = 64
CONTAINERS = frozenset((list, tuple, dict))
DEEPEST = 16  # bound: lists within lists; one may contain itself


class NumberList:
    """The numbers of some lists, and `form`, the lists they are in: (class, length) of each level where all of a level
    are alike, else the structure as pytrees have it.

    numbers: an ndarray of one axis, what stands for it in a trace, or anything that a leaf may be.
    """

    __slots__ = ("numbers", "form")

    def __init__(self, numbers, form):
        self.numbers, self.form = numbers, form

    def lists(self, items):
        """The lists again, around other items."""
        return nested(self.form, items)

    @property
    def size(self):
        """How many numbers there are."""
        form = self.form
        return math.prod(count for _, count in form) if type(form) is tuple else form.num_leaves


def _lists(form, leaves):
    """The lists again, of floats or of what stands for them."""
    (numbers,) = leaves
    if type(numbers) is np.ndarray:
        return nested(form, numbers.tolist())
    if type(numbers) is TracedArray:
        return nested(form, list(elements_of(numbers, float)))
    return NumberList(numbers, form)


def nested(form, items):
    """The lists of this form around items."""
    if type(form) is not tuple:
        return pytree.unflatten(form, items)
    for kind, count in reversed(form):
        items = [kind(items[k : k + count]) for k in range(0, len(items), count)]
    return items[0]


class Unnamed:
    """The key of a NumberList's leaf: it is called what the list is called."""

    def __str__(self):
        return ""


KEY = Unnamed()
pytree.register_with_keys(
    NumberList, lambda x: (((KEY, x.numbers),), x.form), _lists, lambda x: ((x.numbers,), x.form)
)


def packed_call(args, kwargs):
    """The arguments of a call with a NumberList for each long list of floats, a SparseMatrix for each of SciPy's."""
    kinds = {*map(type, args), *map(type, kwargs.values())}
    if CONTAINERS.isdisjoint(kinds) and not any(map(format_of, kinds)):
        return args, kwargs
    return tuple(map(packed, args)), {k: packed(v) for k, v in kwargs.items()}


def packed(x, depth=0):
    """x, or the containers it is, with a NumberList for each long list of floats."""
    kind = type(x)
    if depth > DEEPEST:
        return x
    if kind is dict:
        inside = {k: packed(v, depth + 1) for k, v in x.items()}
        return inside if any(inside[k] is not v for k, v in x.items()) else x
    if kind is not list and kind is not tuple:
        return x if format_of(kind) is None else taken_apart(x)
    found = floats_within(x)
    if found is not None:
        numbers, form = found
        return NumberList(np.array(numbers), form or pytree.structure(x)) if len(numbers) > LONG else x
    kinds = set(map(type, x))
    if CONTAINERS.isdisjoint(kinds) and not any(map(format_of, kinds)):
        return x
    inside = kind([packed(v, depth + 1) for v in x])
    return inside if any(a is not b for a, b in zip(inside, x)) else x


def floats_within(x):
    """(the numbers of a list, or of lists in lists, in order; their form or None); None where there is anything but
    floats, at one depth, in lists of which none stands twice."""
    level, form, depth = [x], (), 0
    while (kinds := set(map(type, level))) and kinds <= {list, tuple}:
        if (depth := depth + 1) > DEEPEST:
            return None
        counts = set(map(len, level))
        if len(set(map(id, level))) < len(level):
            return None
        alike = form is not None and len(kinds) == len(counts) == 1
        form = (*form, (*kinds, *counts)) if alike else None
        level = list(itertools.chain.from_iterable(level)) if len(level) > 1 else level[0]
    return (level, form) if kinds == {float} else None
