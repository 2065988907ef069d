"""The leaves of a call, taken out of its arguments along the structure that was exported; a clear error where they are
others."""

import numpy as np

from ...backends.xla.dispatch import is_device_array
from ...ir.types import DTYPES, SHORT
from ..capture.handover import ARRAY, SCALAR
from ..capture.number_lists import floats_within
from ..common.errors import ExportError, UnsupportedError, message, shown
from ..common.frames import locate
from ..values.array import Traced
from .described_export import leaf_type
from .steps import KINDS
from .structure import DICTS, LISTS, fixed_value, size_of

FROM_FILE = "Call it outside of compiled functions; for a derivative or a map over an axis export grad(f) or vmap(f)."
CLASSES = {"list": list, "tuple": tuple, **DICTS}


class LeafSpec:
    """One leaf: what it is called, and what it must be."""

    def __init__(self, name, kind, dtype, shape):
        self.name, self.kind, self.dtype, self.shape = name, KINDS[kind], DTYPES[SHORT[dtype]], tuple(shape)
        self.text = leaf_type(kind, dtype, shape)

    def fits(self, x):
        """Whether x is of this kind, dtype and shape; a jax array may stand for a number."""
        if self.kind is ARRAY or is_device_array(x):
            array = type(x) in (np.ndarray, np.memmap) or is_device_array(x)
            return array and x.dtype == self.dtype and tuple(x.shape) == self.shape
        return type(x) is (self.dtype.type if self.kind is SCALAR else self.kind)


class Matching:
    """The structure of the arguments that a program was exported for.

    apart: whether which lists and dicts are one object could tell.
    """

    def __init__(self, node, leaves, name, apart):
        self.node, self.leaves, self.name, self.apart = node, leaves, name, apart

    def taken(self, args, kwargs, names):
        """The leaves of a call, in order. names: of the positional arguments."""
        _, (positional, keywords) = self.node
        found, self_names = [None] * len(self.leaves), [key for key, _ in keywords[3]]
        nodes = positional[1]
        if len(args) != len(nodes) or list(kwargs) != self_names and sorted(kwargs) != sorted(self_names):
            self.refuse_count(args, kwargs, names, nodes, self_names)
        seen = {}, {}
        for i, (node, x) in enumerate(zip(nodes, args)):
            self.match(node, x, names[i] if i < len(names) else f"arg{i}", found, seen)
        for key, node in keywords[3]:
            self.match(node, kwargs[key], key, found, seen)
        return found

    def refuse_count(self, args, kwargs, names, nodes, keywords):
        name_of = lambda i: names[i] if i < len(names) else f"arg{i}"
        named = lambda count, keys: ", ".join([*map(name_of, range(count)), *keys])
        self.refuse(
            f"{self.name} was exported for a call with ({named(len(nodes), keywords)}), and is given "
            f"({named(len(args), kwargs)})"
        )

    def refuse(self, text):
        raise ExportError(f"{text}\n  Export it once more for such arguments; f.describe() says what this file is for.")

    def match(self, node, x, path, found, seen):
        """Put the leaves of x where they belong."""
        kind, *parts = node
        if kind == "leaf":
            spec = self.leaves[parts[0]]
            if isinstance(x, Traced):
                text = f"{self.name} was loaded from a file: it is a program, which nothing can be traced through"
                raise UnsupportedError(message(text, locate(), FROM_FILE))
            if not spec.fits(x):
                self.refuse(f"argument {path} of {self.name} is {said_of_value(x)}; it was exported for {spec.text}")
            found[parts[0]] = x
            return
        if kind == "fixed":
            if not is_that_value(x, value := fixed_value(parts[0])):
                self.refuse(f"argument {path} of {self.name} is {shown(x)}; it was exported for {value!r}")
            return
        if kind == "numbers":
            found[parts[0]] = self.numbers(parts[1], x, path)
            for k, inner in enumerate(lists_within(x) if self.apart else ()):
                self.see((parts[0], k), inner, path, seen)
            return
        if kind == "again":
            self.see(parts[0], x, path, seen)
            return
        for key, inner, item in self.items(kind, parts, x, path, seen):
            self.match(inner, item, f"{path}[{key!r}]", found, seen)

    def items(self, kind, parts, x, path, seen):
        """(key, node, item) of a container."""
        if kind == "named":
            if not (isinstance(x, tuple) and list(getattr(x, "_fields", ())) == parts[1]):
                self.refuse(f"argument {path} of {self.name} is {said_of_value(x)}; it was exported for a {parts[0]}")
            return zip(parts[1], parts[2], x)
        name = parts[1] if kind == "dict" else kind
        if type(x) is not CLASSES[name]:
            self.refuse(f"argument {path} of {self.name} is {said_of_value(x)}; it was exported for a {name}")
        if kind != "tuple":
            self.see(parts[0], x, path, seen)
        if kind == "dict":
            keys = [fixed_value(key) for key, _ in parts[2]]
            if list(x) != keys:
                self.refuse(f"argument {path} of {self.name} has the keys {list(x)!r}; it was exported for {keys!r}")
            return [(key, node, x[key]) for key, (_, node) in zip(keys, parts[2])]
        nodes = parts[-1]
        if len(x) != len(nodes):
            self.refuse(
                f"argument {path} of {self.name} is a {name} of {len(x)}; it was exported for one of {len(nodes)}"
            )
        return zip(range(len(x)), nodes, x)

    def see(self, number, x, path, seen):
        """A list or dict is the one object of its number. seen: ({number: id}, {id: number})."""
        if not self.apart:
            return
        ids, numbers = seen
        if ids.setdefault(number, id(x)) != id(x):
            self.refuse(f"argument {path} of {self.name} is another object than it was when it was exported")
        if numbers.setdefault(id(x), number) != number:
            kind = type(x).__name__
            self.refuse(f"argument {path} of {self.name} is a {kind} that is at another place of the arguments too")

    def numbers(self, form, x, path):
        """The array of a long list of floats, or of lists of such."""
        wanted = tuple([(LISTS[kind], count) for kind, count in form])
        found = floats_within(x) if type(x) in (list, tuple) else None
        if found is None or len(found[0]) != size_of(wanted) or found[1] not in (wanted, None):
            levels = " of ".join(f"a {kind.__name__} of {count}" for kind, count in wanted)
            self.refuse(f"argument {path} of {self.name} is {said_of_value(x)}; it was exported for {levels} floats")
        return np.array(found[0])


def lists_within(x):
    """A list, and the lists within it, each as often as it is met."""
    todo, found = [x], []
    while todo:
        x = todo.pop()
        found += [x] if type(x) is list else []
        todo += [item for item in x if type(item) in (list, tuple)]
    return found


def is_that_value(x, value):
    """Whether a value that never changes is the one that was exported."""
    return type(x) is type(value) and (x == value or x is value)


def said_of_value(x):
    """What a value is, in the words of a signature."""
    if isinstance(x, np.ndarray) or is_device_array(x):
        return f"{SHORT.get(x.dtype.name, x.dtype)}[{','.join(map(str, x.shape))}]"
    return f"the {type(x).__name__} {shown(x)}" if isinstance(x, str | int | float | np.generic) else shown(x)
