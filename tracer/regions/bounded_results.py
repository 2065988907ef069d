"""Lists of which data decide how long they are, among what a function returns: the program gives their rows and the
count, and the caller's side makes the list."""

import operator

import numpy as np

from ..common import pytree
from ..values.storage import current_trace
from .bounded_lists import bounded_list


class ListOfRows:
    """What stands for a list in a result. columns: an array for each leaf of the items; count: how many rows are meant;
    head: the items before them."""

    __slots__ = ("columns", "count", "head", "form")

    def __init__(self, columns, count, head, form):
        self.columns, self.count, self.head, self.form = columns, count, head, form


class Made:
    """How the items of a list are made of columns: hashed and compared as the structure of a result is."""

    def __init__(self, form):
        self.key = form.tree, tuple([(s[0], s[1]) if s[0] != "array" else s for s in form.specs])
        self.specs, self.tree = form.specs, form.tree
        self.alone = pytree.is_leaf(form.tree)
        self.tuples = form.tree == pytree.structure(tuple([0] * len(form.specs)))

    def __eq__(self, other):
        return type(other) is Made and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def items(self, columns, count):
        columns, found = iter(columns), []
        for s in self.specs:
            if s[0] == "plain":
                found.append([s[1]] * count)
                continue
            column = np.asarray(next(columns))[:count]
            items = column.tolist() if s[0] == "weak" else list(column)
            found.append([np.array(x) for x in items] if s[0] == "array" else items)  # of no axes too
        if self.alone:
            return found[0]
        rows = zip(*found) if found else [()] * count  # None and () have no leaves
        return list(rows) if self.tuples else [pytree.unflatten(self.tree, row) for row in rows]


def given_out(x):
    """A result with what stands for its lists of which data decide the length; those that stand in several places keep
    their items."""
    root = current_trace().root
    if not root.growing:
        return x
    lists = []
    walk(x, lists)
    return with_rows(x, {id(y) for y in lists if sum(y is z for z in lists) == 1})


def walk(x, lists):
    if bounded_list(x) is not None:
        lists.append(x)
    elif type(x) in (list, tuple, dict):
        for y in x.values() if type(x) is dict else x:
            walk(y, lists)


def with_rows(x, single):
    if id(x) in single and (held := bounded_list(x)) is not None:
        return rows_for(held)
    if type(x) is tuple:
        new = tuple([with_rows(y, single) for y in x])
        return new if any(map(operator.is_not, x, new)) else x
    if type(x) in (list, dict):
        # the trace is over: what is put into a container here, the program never sees
        for k, y in list(x.items() if type(x) is dict else enumerate(x)):
            new = with_rows(y, single)
            if new is not y:
                x[k] = new
    return x


def rows_for(held):
    if held.shared and held.form.has_arrays:
        raise held.refuse("holds arrays that variables hold too")
    return ListOfRows(held.values(), held.number_traced(), list(held.head), Made(held.form))


def _flatten(x):
    return (*x.columns, x.count, *x.head), (x.form, len(x.columns))


def _unflatten(aux, leaves):
    form, n = aux
    columns, count, head = leaves[:n], leaves[n], list(leaves[n + 1 :])
    if not all(isinstance(c, np.ndarray) or hasattr(c, "__array__") and not hasattr(c, "storage") for c in columns):
        return ListOfRows(columns, count, head, form)
    return [*head, *form.items(columns, int(count))]


pytree.register(ListOfRows, _flatten, _unflatten)
