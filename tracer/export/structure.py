"""Containers of arguments and results as JSON, and what reads them back: lists, tuples, dicts, named tuples, and values
that never change.

A node of a structure is one of

    ["leaf", number]                              what is a leaf of the call, or of its result
    ["fixed", value]                              a value, in the words of the programs on disk
    ["tuple", nodes], ["list", number, nodes]
    ["dict", number, kind, [[key, node], ...]]    kind: "dict" or "OrderedDict"
    ["named", class, fields, nodes]
    ["bounded", kinds, leaves]                    an array of a length that data decide
    ["numbers", leaf, [[kind, length], ...]]      lists in lists of Python floats, one array of the program
    ["again", number]                             the list or dict of this number once more; in arguments, where each
                                                  place has its own leaves, what has one number is one object
    ["given", path]                               the list or dict that is there in the arguments
"""

import collections
import math

import numpy as np

from ..cache.described import Unsaid, described, rebuilt_object
from ..capture.number_lists import NumberList, nested
from ..capture.shared_containers import CONTAINERS, MUTABLE, children, item_at_path
from ..common import pytree
from ..common.errors import shown
from ..extents.bounded import EXTENTS, BoundedArray, put_together
from .steps import Malformed

DICTS = {"dict": dict, "OrderedDict": collections.OrderedDict}
LISTS = {"list": list, "tuple": tuple}
DEEPEST = 400  # bound: containers within containers


class ExportedLeaf:
    """Stands for a leaf while a structure is written; whatever else is done to it than to put it somewhere, a file
    cannot tell."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def _asked(self, *args):
        raise Unsaid("text or an object made of its values")

    __str__ = __repr__ = __format__ = __index__ = __float__ = __int__ = __bool__ = __len__ = __iter__ = _asked


class NodeWriter:
    """Writes the nodes of one structure.

    given: id of a container among the arguments -> its path; alike: id of a container -> the one that it is in a call.
    """

    def __init__(self, given=None, alike=None):
        self.given, self.alike, self.numbers, self.kept = given or {}, alike or {}, {}, []

    def node(self, x):
        """The node of x; Unsaid, with what it is, where there is none."""
        kind = type(x)
        if kind is ExportedLeaf:
            return ["leaf", x.number]
        if kind is NumberList:
            return numbers_node(x)
        if kind is BoundedArray:
            return ["bounded", [e and e.kind for e in x.extents], [leaf.number for leaf in pytree.leaves(x)]]
        if id(x) in self.given:
            return ["given", [described(key) for key in self.given[id(x)]]]
        if kind is tuple:
            return ["tuple", [*map(self.node, x)]]
        if isinstance(x, tuple) and hasattr(kind, "_fields") and tuple.__len__(x) == len(kind._fields):
            return ["named", kind.__name__, list(kind._fields), [*map(self.node, x)]]
        if kind is list or kind in DICTS.values():
            return self.container(x)
        return fixed_node(x)

    def container(self, x):
        """A list or dict, which may stand in several places."""
        if id(x) in self.numbers:
            return ["again", self.numbers[id(x)]]
        one = self.alike.get(id(x), x)
        number = self.numbers.setdefault(id(one), len(self.numbers))
        self.kept.append(x)
        if type(x) is list:
            return ["list", number, [*map(self.node, x)]]
        return ["dict", number, type(x).__name__, [[key_said(k), self.node(v)] for k, v in x.items()]]


def alike_containers(given, pairs):
    """{id of a list or dict of (args, kwargs): the one that it is in the call}, where each place has its own.

    pairs: the places of one container, as `sharing` gives them.
    """
    alike, todo = {}, [(item_at_path(given, path), item_at_path(given, before)) for path, before in pairs]
    while todo:
        x, one = todo.pop()
        if isinstance(x, NumberList):
            raise Unsaid("a long list of numbers at two places")
        if isinstance(x, MUTABLE):
            alike[id(x)] = alike.get(id(one), one)
        todo += [(item, one[k]) for k, item in children(x)] if isinstance(x, CONTAINERS) else []
    return alike


def numbers_node(x):
    if type(x.form) is not tuple:
        raise Unsaid("a long list of numbers in lists of several lengths")
    return ["numbers", x.numbers.number, [[kind.__name__, count] for kind, count in x.form]]


def fixed_node(x):
    """A value that is the same in every process."""
    if x is None or isinstance(x, bool | int | float | complex | str | bytes | np.generic | np.dtype) or x is Ellipsis:
        return ["fixed", described(x)]
    if type(x) is slice:
        return ["fixed", ["slice", *[described(p) for p in (x.start, x.stop, x.step)]]]
    raise Unsaid(shown(x))


def key_said(key):
    said = fixed_node(key) if type(key) is not tuple else ["fixed", described(key)]
    return said[1]


def fixed_value(said):
    """The value of a fixed node; Malformed where there is none."""
    try:
        if isinstance(said, list) and said[:1] == ["slice"]:
            return slice(*map(rebuilt_object, said[1:]))
        return rebuilt_object(said)
    except (Unsaid, TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError):
        raise Malformed from None


class NodeReader:
    """Makes what nodes tell. leaves: by number; given: (args, kwargs)."""

    named = {}  # (name, fields) -> the class of named tuples

    def __init__(self, leaves, given=()):
        self.leaves, self.given, self.made = leaves, given, {}

    def read(self, node):
        """The object of a node."""
        kind, *parts = node
        return getattr(self, f"read_{kind}")(*parts)

    def read_leaf(self, number):
        return self.leaves[number]

    def read_fixed(self, said):
        return fixed_value(said)

    def read_tuple(self, nodes):
        return tuple(map(self.read, nodes))

    def read_list(self, number, nodes):
        made = self.made[number] = []
        made.extend(map(self.read, nodes))
        return made

    def read_dict(self, number, kind, items):
        made = self.made[number] = DICTS[kind]()
        for key, node in items:
            made[fixed_value(key)] = self.read(node)
        return made

    def read_named(self, name, fields, nodes):
        return named_class(name, tuple(fields))(*map(self.read, nodes))

    def read_bounded(self, kinds, leaves):
        return put_together(kinds, [self.leaves[number] for number in leaves])

    def read_numbers(self, leaf, form):
        return nested(tuple([(LISTS[kind], count) for kind, count in form]), self.leaves[leaf].tolist())

    def read_again(self, number):
        return self.made[number]

    def read_given(self, path):
        found = self.given
        for key in map(rebuilt_object, path):
            found = found[key]
        return found


def named_class(name, fields):
    """A class of named tuples: one for each name and fields."""
    found = NodeReader.named.get((name, fields))
    if found is None:
        found = NodeReader.named[name, fields] = collections.namedtuple(name, fields)
    return found


def seen_through(node, depth=0):
    """Whether a node of a file is one that can be read: every part of it of its kind."""
    if depth > DEEPEST or type(node) is not list or not node or type(node[0]) is not str or node[0] not in FORMS:
        return False
    kinds, holds = FORMS[node[0]]
    parts = node[1:]
    fit = len(parts) == len(kinds) and all(map(isinstance, parts, kinds))
    return fit and holds(*parts, depth)


def named_seen(name, fields, nodes, depth):
    return len(fields) == len(nodes) and is_named_tuple(name, fields) and all_seen(nodes, depth)


def dict_seen(number, kind, items, depth):
    return kind in DICTS and said_in_pairs(items) and all_seen([node for _, node in items], depth)


def numbers_seen(leaf, form, depth):
    return said_in_pairs(form) and all(kind in LISTS and type(count) is int for kind, count in form)


def bounded_seen(kinds, leaves, depth):
    return all(k is None or k in EXTENTS for k in kinds) and all(type(n) is int for n in leaves)


def said_in_pairs(said):
    return all(type(p) is list and len(p) == 2 for p in said)


FORMS = {  # the types of what follows the word, and whether it is what can be read
    "leaf": ((int,), lambda number, depth: True),
    "fixed": ((object,), lambda said, depth: True),
    "tuple": ((list,), lambda nodes, depth: all_seen(nodes, depth)),
    "list": ((int, list), lambda number, nodes, depth: all_seen(nodes, depth)),
    "dict": ((int, str, list), dict_seen),
    "named": ((str, list, list), named_seen),
    "numbers": ((int, list), numbers_seen),
    "bounded": ((list, list), bounded_seen),
    "again": ((int,), lambda number, depth: True),
    "given": ((list,), lambda path, depth: True),
}


def all_seen(nodes, depth):
    return all(seen_through(node, depth + 1) for node in nodes)


def is_named_tuple(name, fields):
    return all(type(f) is str and f.isidentifier() for f in (name, *fields)) and len(set(fields)) == len(fields)


def size_of(form):
    """How many numbers lists of a form hold."""
    return math.prod(count for _, count in form)


def spelled_node(node, leaves):
    """A node as a reader has it; leaves: the text of each."""
    kind, *parts = node
    inside = lambda nodes: ", ".join(spelled_node(n, leaves) for n in nodes)
    match kind:
        case "leaf":
            return leaves[parts[0]]
        case "fixed":
            return repr(fixed_value(parts[0]))
        case "tuple":
            return f"({inside(parts[0])}{',' if len(parts[0]) == 1 else ''})"
        case "list":
            return f"[{inside(parts[1])}]"
        case "dict":
            return "{" + ", ".join(f"{fixed_value(k)!r}: {spelled_node(n, leaves)}" for k, n in parts[2]) + "}"
        case "named":
            pairs = zip(parts[1], parts[2])
            return f"{parts[0]}({', '.join(f'{f}={spelled_node(n, leaves)}' for f, n in pairs)})"
        case "numbers":
            return " of ".join(f"{k} of {n}" for k, n in parts[1]) + " floats"
        case "bounded":
            return f"part of {leaves[parts[1][0]]}"
        case "given":
            return "a list or dict of the arguments"
    return "the same again"
