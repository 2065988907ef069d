"""Lists and dicts among the arguments: what the function did to them is done to the caller's when the call has succeeded.

The trace runs on copies of the argument's containers. Those that it changed, and those it returned, are
remembered by their place in the arguments; a `Plan` makes the new contents out of the results.
"""

from . import pytree
from .errors import UnsupportedError, message

CONTAINERS = (list, dict)


def items(container):
    return list(container.items()) if isinstance(container, dict) else list(enumerate(container))


class Containers:
    """The mutable containers among the arguments of a trace, and their items before it."""

    def __init__(self, args, kwargs):
        self.paths, self.held = {}, []  # id -> path; (container, its items)
        self._visit((args, kwargs), ())

    def _visit(self, x, path):
        if not isinstance(x, list | tuple | dict):
            return
        if isinstance(x, CONTAINERS):
            self.paths[id(x)] = path
            self.held.append((x, items(x)))
        for key, item in items(x):
            self._visit(item, (*path, key))

    def plans(self, result):
        """-> (leaves, plan of the result or None, [(path, plan)] of the changed containers); None where all is as pytrees have it."""
        changed = [x for x, before in self.held if _differs(items(x), before)]
        if not changed and not self._meets(result):
            return None
        leaves = []
        return leaves, self.plan(result, leaves), [(self.paths[id(x)], self.contents(x, leaves)) for x in changed]

    def _meets(self, x):
        """Whether a container of the arguments is in x."""
        return isinstance(x, list | tuple | dict) and (id(x) in self.paths or any(self._meets(item) for _, item in items(x)))

    def plan(self, x, leaves):
        """A function (result leaves, args) -> x, for a thing that may hold containers of the arguments."""
        if id(x) in self.paths:
            path = self.paths[id(x)]
            return lambda made, given: at(given, path)
        if type(x) in (list, tuple, dict):
            return self.contents(x, leaves)
        found, tree = pytree.flatten(x)
        order, first = pytree.key_order(x), len(leaves)
        leaves += found
        return lambda made, given: pytree.unflatten(tree, made[first : first + len(found)], order)

    def contents(self, x, leaves):
        """Likewise for what is inside a list, tuple or dict."""
        parts = [(key, self.plan(item, leaves)) for key, item in items(x)]
        if isinstance(x, dict):
            return lambda made, given: {key: part(made, given) for key, part in parts}
        kind = tuple if isinstance(x, tuple) else list
        return lambda made, given: kind([part(made, given) for _, part in parts])

    def refuse(self, name):
        """Raise where nobody will do to the caller's containers what the function did."""
        for x, before in self.held:
            if _differs(items(x), before):
                text = f"{name} changes a {type(x).__name__} among its arguments, inside a transform"
                raise UnsupportedError(message(text, None, "Return the new one: transforms see arrays and results alone."))


def _differs(now, before):
    return len(now) != len(before) or any(a != c or b is not d for (a, b), (c, d) in zip(now, before))


def at(given, path):
    """The caller's container at a path."""
    for key in path:
        given = given[key]
    return given


def settle(made, plans, given):
    """Do to the caller's containers what the function did -> its result. `given`: (args, kwargs)."""
    _, result, changes = plans
    new = [(at(given, path), plan(made, given)) for path, plan in changes]
    value = result(made, given)
    for container, contents in new:
        if isinstance(container, dict):
            container.clear()
            container.update(contents)
        else:
            container[:] = contents
    return value
