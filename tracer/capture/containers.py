"""Lists and dicts among the arguments: what the function did to them is done to the caller's when the call has
succeeded.

The trace runs on copies of the argument's containers. Those that it changed, and those it returned, are
remembered by their place in the arguments; a plan makes the new contents out of the results.

Instances that the function has made, and containers that stand in several places of its result, are made by plans too:
anew at every call, and once a call, so that what is one object in Python is one object here.
"""

import collections

import numpy as np

from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..guards.effects import Original
from ..guards.subclasses import with_class
from ..values.array import Traced, TracedScalar
from ..values.array_object import ArrayObject
from ..values.library_object import LibraryObject
from ..values.poison import Poison
from ..values.texts import TracedText
from .remaking import Remaking, is_lone

CONTAINERS = (list, dict)
KEPT = {list, dict, collections.OrderedDict, collections.defaultdict}
PLAIN = {list, tuple, dict, type(None), bool, int, float, complex, str}  # that no plan of its own makes
OF_TRACE = (Traced, Original, Poison)
NUMBERS = {TracedScalar, int, float, complex, bool}


def keyed_items(container):
    return list(container.items()) if isinstance(container, dict) else list(enumerate(container))


def items_of(x):
    """Those of a list, tuple or dict, else the leaves of what is registered with pytrees."""
    return [item for _, item in keyed_items(x)] if isinstance(x, list | tuple | dict) else pytree.leaves(x)


class Containers(Remaking):
    """The mutable containers among the arguments of a trace, and their items before it.

    outside: knows which instances the trace has made; None in inner traces. texts: whether texts of traced values can
    be made of what the program gives.
    """

    def __init__(self, args, kwargs, outside=None, texts=False):
        self.texts = texts
        self.paths, self.held = {}, []  # id -> path; (container, its items)
        self.ways = [(TracedText, self.text), (LibraryObject, self.library_object)]
        self.ways += [(ArrayObject, self.array_object), (np.ndarray, self.elements)]
        self.outside, self.planned = outside, {}  # id -> (list, dict or instance of the result, its plan)
        self._visit((args, kwargs), ())
        if outside is not None:
            outside.of_arguments = self.paths.keys()

    def _visit(self, x, path):
        if not isinstance(x, list | tuple | dict):
            return
        if isinstance(x, CONTAINERS):
            if id(x) in self.paths:
                return
            self.paths[id(x)] = path
            self.held.append((x, keyed_items(x)))
        for key, item in keyed_items(x):
            self._visit(item, (*path, key))

    def changed(self):
        """Those whose items are others now."""
        return [x for x, before in self.held if _differs(keyed_items(x), before)]

    def plans(self, result, changed):
        """-> (leaves, plan of the result or None, [(path, plan)] of the changed containers); None where all is as
        pytrees have it."""
        if not changed and not self._meets(result, set()):
            return None
        leaves = []
        return leaves, self.plan(result, leaves), [(self.paths[id(x)], self.contents(x, leaves)) for x in changed]

    def _meets(self, x, seen):
        """Whether x holds a container of the arguments, what the trace has made that is no list or dict, or a container
        twice."""
        if type(x) is np.ndarray and is_lone(x):
            met = id(x) in seen
            seen.add(id(x))
            return met
        if self.is_made(x) or self.is_there(x):
            return True
        if type(x) is dict and self.outside is not None:
            self.refuse_keys(x)
        known = type(x) in (list, tuple, dict)  # whose structure is not asked for: keys of a dict may have no order
        alone = x is None or not known and pytree.is_leaf(pytree.structure(x))
        if not alone and type(x) is not tuple:
            if id(x) in self.paths or id(x) in seen or type(x) is dict and not pytree.has_order(x):
                return True
            seen.add(id(x))
        return not alone and any(self._meets(item, seen) for item in items_of(x))

    def is_there(self, x):
        """Whether x is a list or dict from outside that the trace has seen itself, and no copy of."""
        return type(x) in KEPT and self.outside is not None and self.outside.was_there(x)

    def is_made(self, x):
        """Whether an object is to be made anew at every call, by a plan of its own."""
        kind = type(x)
        if kind is TracedText or kind is LibraryObject:
            return self.texts
        if self.outside is None or kind in PLAIN or isinstance(x, OF_TRACE):
            return False
        if self.outside.has_made(x):
            return True
        return not isinstance(x, ArrayObject) and pytree.is_leaf(pytree.structure(x)) and not self.is_kept(x)

    def plan(self, x, leaves):
        """A function (result leaves, given) -> x, for a thing that may hold what is not made as pytrees are.

        given: (args, kwargs, what has been made so far in this call).
        """
        if id(x) in self.paths:
            path = self.paths[id(x)]
            return lambda made, given: container_at(given, path)
        if self.is_there(x):
            self.outside.pin(x)
            return lambda made, given: x
        if self.is_made(x):
            how = next((make for kind, make in self.ways if isinstance(x, kind)), self.remade)
            return self.once(x, how, leaves)
        if type(x) in (list, dict):
            return self.once(x, self.contents, leaves)
        if type(x) is tuple:
            return self.contents(x, leaves)
        if pytree.is_leaf(pytree.structure(x)):
            first = len(leaves)
            leaves.append(x)
            return lambda made, given: made[first]
        return self.once(x, self.node, leaves)

    def node(self, x, leaves):
        """A plan of what is registered with pytrees, an array of a length that data decide among it."""
        key = id(x)
        found, tree = pytree.flatten(x)
        order = pytree.key_order(x)
        if any(map(self.is_made, found)):
            plans = [self.plan(leaf, leaves) for leaf in found]
            parts = lambda made, given: [p(made, given) for p in plans]
        else:
            first = len(leaves)
            leaves += found
            parts = lambda made, given: made[first : first + len(found)]

        def plan(made, given):
            new = given[2][key] = pytree.unflatten(tree, parts(made, given), order)
            return new

        return plan

    def once(self, x, how, leaves):
        """The plan of an object that may stand in several places, or in itself: it is made once a call."""
        key = id(x)
        if key not in self.planned:
            parts = []
            self.planned[key] = x, lambda made, given: given[2][key] if key in given[2] else parts[0](made, given)
            parts.append(how(x, leaves))
        return self.planned[key][1]

    def contents(self, x, leaves):
        """A plan of a list, tuple or dict, by the plans of its items."""
        given = (lambda item: item) if self.outside is None else self.outside.given
        if isinstance(x, dict) and self.outside is not None:
            self.refuse_keys(x)
        key, items = id(x), [(k, given(item)) for k, item in keyed_items(x)]
        if type(x) is list and all(type(item) in NUMBERS for _, item in items):
            return self.numbers(key, [item for _, item in items], leaves)
        parts = [(k, self.plan(item, leaves)) for k, item in items]
        if isinstance(x, tuple):
            return lambda made, given: tuple([part(made, given) for _, part in parts])

        def plan(made, given):
            new = given[2][key] = {} if isinstance(x, dict) else []
            for k, part in parts:
                if isinstance(x, dict):
                    new[k] = part(made, given)
                else:
                    new.append(part(made, given))
            return new

        return plan

    def numbers(self, key, items, leaves):
        """A plan of a list of numbers, each of which is a leaf."""
        first, last = len(leaves), len(leaves) + len(items)
        leaves += items

        def plan(made, given):
            new = given[2][key] = made[first:last]
            return new

        return plan

    def array_object(self, x, leaves):
        """A plan of an instance of a subclass of np.ndarray, by those of its memory and its attributes."""
        key, kind = id(x), type(x).__stands_for__
        memory = self.plan(x.__of_trace__, leaves)
        parts = list(zip(x.__dict__, self.parts_of(x.__dict__.values(), leaves)))

        def plan(made, given):
            new = given[2][key] = with_class(kind, memory(made, given))
            new.__dict__.update({name: part(made, given) for name, part in parts})
            return new

        return plan

    def text(self, x, leaves):
        """A plan of text with values in it, by the plans of those."""
        key, make, parts = id(x), x.make, [self.plan(value, leaves) for value in x.values]

        def plan(made, given):
            new = given[2][key] = make(*[part(made, given) for part in parts])
            return new

        return plan

    def library_object(self, x, leaves):
        """A plan of an object that a library makes of values."""
        key, make, parts = id(x), x._make, self.plan(x._given, leaves)

        def plan(made, given):
            args, kwargs = parts(made, given)
            new = given[2][key] = make(*args, **kwargs)
            return new

        return plan

    def refuse(self, name):
        """Raise where nobody will do to the caller's containers what the function did."""
        for x in self.changed():
            text = f"{name} changes a {type(x).__name__} among its arguments, inside a transform"
            raise UnsupportedError(message(text, None, "Return the new one: transforms see arrays and results alone."))


def _differs(now, before):
    return len(now) != len(before) or any(a != c or b is not d for (a, b), (c, d) in zip(now, before))


def container_at(given, path):
    """The caller's container at a path."""
    for key in path:
        given = given[key]
    return given


def apply_container_changes(made, plans, given):
    """Do to the caller's containers what the function did -> its result. `given`: (args, kwargs)."""
    _, result, changes = plans
    given = (*(given or ((), {})), {})
    new = [(container_at(given, path), plan(made, given)) for path, plan in changes]
    value = result(made, given)
    change_containers(new)
    return value


def change_containers(new):
    """Give lists and dicts their new contents: (container, contents) of each."""
    for container, contents in new:
        if isinstance(container, dict):
            container.clear()
            container.update(contents)
        else:
            container[:] = contents
