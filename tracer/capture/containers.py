"""Lists and dicts among the arguments: what the function did to them is done to the caller's when the call has
succeeded.

The trace runs on copies of the argument's containers. Those that it changed, and those it returned, are
remembered by their place in the arguments; a plan makes the new contents out of the results.

Instances that the function has made, and containers that stand in several places of its result, are made by plans too:
anew at every call, and once a call, so that what is one object in Python is one object here.
"""

import array
import collections
import copy

from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..guards.instances import attributes, blank, set_attributes
from ..guards.subclasses import with_class
from ..values.array_object import ArrayObject
from ..values.texts import TracedText

CONTAINERS = (list, dict)
# copies of those that the trace has made are handed out
COPIED = (set, collections.deque, collections.Counter, bytearray, array.array)


def keyed_items(container):
    return list(container.items()) if isinstance(container, dict) else list(enumerate(container))


def items_of(x):
    """Those of a list, tuple or dict, else the leaves of what is registered with pytrees."""
    return [item for _, item in keyed_items(x)] if isinstance(x, list | tuple | dict) else pytree.leaves(x)


class Containers:
    """The mutable containers among the arguments of a trace, and their items before it.

    outside: knows which instances the trace has made; None in inner traces. texts: whether texts of traced values can
    be made of what the program gives.
    """

    def __init__(self, args, kwargs, outside=None, texts=False):
        self.texts = texts
        self.paths, self.held = {}, []  # id -> path; (container, its items)
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

    def plans(self, result):
        """-> (leaves, plan of the result or None, [(path, plan)] of the changed containers); None where all is as
        pytrees have it."""
        changed = [x for x, before in self.held if _differs(keyed_items(x), before)]
        if not changed and not self._meets(result, set()):
            return None
        leaves = []
        return leaves, self.plan(result, leaves), [(self.paths[id(x)], self.contents(x, leaves)) for x in changed]

    def _meets(self, x, seen):
        """Whether x holds a container of the arguments, an instance that the trace has made, or a container twice."""
        if self.is_made(x):
            return True
        known = type(x) in (list, tuple, dict)  # whose structure is not asked for: keys of a dict may have no order
        alone = x is None or not known and pytree.is_leaf(pytree.structure(x))
        if not alone and type(x) is not tuple:
            if id(x) in self.paths or id(x) in seen or type(x) is dict and not pytree.has_order(x):
                return True
            seen.add(id(x))
        return not alone and any(self._meets(item, seen) for item in items_of(x))

    def is_made(self, x):
        """Whether an object is to be made anew at every call."""
        kind = type(x)
        return self.outside is not None and (
            self.outside.has_made(x) or kind in COPIED or self.texts and kind is TracedText
        )

    def plan(self, x, leaves):
        """A function (result leaves, given) -> x, for a thing that may hold what is not made as pytrees are.

        given: (args, kwargs, what has been made so far in this call).
        """
        if id(x) in self.paths:
            path = self.paths[id(x)]
            return lambda made, given: container_at(given, path)
        if self.is_made(x):
            kind = ArrayObject if isinstance(x, ArrayObject) else type(x)
            how = {collections.deque: self.queue, TracedText: self.text, ArrayObject: self.array_object}.get(kind)
            return self.once(x, how or (self.copied if type(x) in COPIED else self.instance), leaves)
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
        key, parts = id(x), [(k, self.plan(given(item), leaves)) for k, item in keyed_items(x)]
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

    def instance(self, x, leaves):
        """A plan of an instance, by the plans of its attributes."""
        key, kind = id(x), type(x)
        parts = [(name, self.plan(self.outside.given(value), leaves)) for name, value in attributes(x).items()]

        def plan(made, given):
            new = given[2][key] = blank(kind)
            set_attributes(new, {name: part(made, given) for name, part in parts})
            return new

        return plan

    def array_object(self, x, leaves):
        """A plan of an instance of a subclass of np.ndarray, by those of its memory and its attributes."""
        key, kind = id(x), type(x).__stands_for__
        memory = self.plan(x.__of_trace__, leaves)
        parts = [(name, self.plan(self.outside.given(value), leaves)) for name, value in x.__dict__.items()]

        def plan(made, given):
            new = given[2][key] = with_class(kind, memory(made, given))
            new.__dict__.update({name: part(made, given) for name, part in parts})
            return new

        return plan

    def queue(self, x, leaves):
        """A plan of a deque, by the plans of its items."""
        key, most, parts = id(x), x.maxlen, [self.plan(self.outside.given(item), leaves) for item in x]

        def plan(made, given):
            new = given[2][key] = collections.deque((), most)
            new.extend([part(made, given) for part in parts])
            return new

        return plan

    def text(self, x, leaves):
        """A plan of text with values in it, by the plans of those."""
        key, make, parts = id(x), x.make, [self.plan(value, leaves) for value in x.values]

        def plan(made, given):
            new = given[2][key] = make(*[part(made, given) for part in parts])
            return new

        return plan

    def copied(self, x, leaves):
        self.outside.check_made(x)
        self.outside.pin_within(x)
        key = id(x)

        def plan(made, given):
            new = given[2][key] = copy.copy(x)
            return new

        return plan

    def refuse(self, name):
        """Raise where nobody will do to the caller's containers what the function did."""
        for x, before in self.held:
            if _differs(keyed_items(x), before):
                text = f"{name} changes a {type(x).__name__} among its arguments, inside a transform"
                raise UnsupportedError(
                    message(text, None, "Return the new one: transforms see arrays and results alone.")
                )


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
    for container, contents in new:
        if isinstance(container, dict):
            container.clear()
            container.update(contents)
        else:
            container[:] = contents
    return value
