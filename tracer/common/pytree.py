"""Nested containers of arrays; the one module of this folder that meets jax, for its registry of node types."""

import builtins
import functools
from collections import OrderedDict, defaultdict

from ... import backends  # noqa: F401, first: it puts the states of generators back from which importing jax draws

from jax import tree_util  # isort: skip

from .errors import CannotRoll, DeepRecursion, message, shown
from .frames import locate, see_through

register = tree_util.register_pytree_node
register_with_keys = tree_util.register_pytree_with_keys


VALUES = type({}.values())
see_through(tree_util.tree_unflatten, tree_util.tree_map)  # a choice by value may be made where an object is made


class Unordered(CannotRoll, ValueError):
    """A dict whose keys have no order is taken apart: as `jax.tree_util` has it, a ValueError."""


def is_stream(x):
    """Whether a value is what jax takes for a leaf with a warning, and will refuse: an iterator, or a dict's values."""
    return hasattr(type(x), "__next__") or type(x) is VALUES


def _with_streams(function):
    """`function`, where jax refuses an iterator, or warns of it where warnings are errors: once more, with that as a
    leaf. Not at first: jax asks of each container then, and forgets how deep it is in one that holds itself."""

    @functools.wraps(function)
    def taken(tree, is_leaf=None):
        try:
            return function(tree, is_leaf)
        except (DeprecationWarning, TypeError):
            if is_leaf is not None:
                raise
            return function(tree, is_stream)

    return taken


def _in_order(function):
    @functools.wraps(function)
    def taken_apart(tree, is_leaf=None):
        try:
            return function(tree, is_leaf)
        except ValueError as error:
            if without_order(tree) is None:
                raise
            keys = ", ".join(builtins.map(shown, without_order(tree)))
            text = f"a dict has keys of several kinds, which have no order: {keys}"
            raise Unordered(message(text, locate(), "Use keys of one kind, such as str.")) from error
        except (SystemError, RecursionError) as error:  # of jax's C++, whose RecursionError comes out as the former
            text = "a list, tuple or dict holds itself, or is nested too deeply to be taken apart"
            raise DeepRecursion(message(text, locate())) from error.__cause__ or error

    return taken_apart


flatten = _in_order(_with_streams(tree_util.tree_flatten))
flatten_with_path = _with_streams(tree_util.tree_flatten_with_path)
structure = _in_order(_with_streams(tree_util.tree_structure))
leaves = _in_order(_with_streams(tree_util.tree_leaves))


def path_text(path):
    """`['w'][0]` for a leaf's path."""
    return tree_util.keystr(path)


def map(function, tree, *others):
    """The containers of `tree` around what `function` gives for its leaves and those of the others, dicts in the order
    of `tree`."""
    return _reorder(tree_util.tree_map(function, tree, *others), key_order(tree))


def is_leaf(tree):
    """Whether a structure is one leaf and nothing around it."""
    return tree_util.treedef_is_leaf(tree) and tree.num_leaves == 1


DICTS = dict, OrderedDict, defaultdict  # of which jax keeps the order of the second
CONTAINERS = list, tuple, dict


def unflatten(tree, leaves, order=None):
    """The containers of `tree` around `leaves`, dicts in the order that `key_order` noted."""
    made = tree_util.tree_unflatten(tree, leaves)
    return made if order is None else _reorder(made, order)


def orders(x):
    """The orders of the keys of all dicts in x, one after the other."""
    if type(x) in DICTS:
        yield list(x)
        for value in x.values():
            yield from orders(value)
    for item in x if isinstance(x, list | tuple) else ():
        yield from orders(item)


def key_order(x):
    """The insertion orders of the dicts in x, or None where sorting the keys changes nothing: jax sorts them, NumPy
    programs do not."""
    if type(x) in DICTS:
        inside = {k: key_order(v) for k, v in x.items()}
        try:
            in_order = type(x) is OrderedDict or list(x) == sorted(x)
        except (TypeError, ValueError):  # the latter of NumPy's numbers beside tuples
            in_order = False
        return None if in_order and all(o is None for o in inside.values()) else inside
    if isinstance(x, list | tuple):
        if not any(issubclass(kind, CONTAINERS) for kind in {type(v) for v in x}):
            return None
        inside = [key_order(v) for v in x]
        return inside if any(o is not None for o in inside) else None
    return None


def has_order(x):
    """Whether the keys of a dict can be sorted, as pytrees have them."""
    try:
        sorted(x)
    except (TypeError, ValueError):
        return False
    return True


def without_order(x):
    """The first dict within x of which the keys cannot be sorted, or None."""
    if isinstance(x, dict) and not has_order(x):
        return x
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return next((found for v in inside if (found := without_order(v)) is not None), None)


def with_sorted_keys(x):
    """A dict with its keys sorted."""
    return {k: x[k] for k in sorted(x)} if x else x


def hashable(order):
    """What `key_order` gives as nested tuples, out of which `order_of` makes it again."""
    if isinstance(order, dict):
        return dict, tuple([(k, hashable(o)) for k, o in order.items()])
    return order and (list, tuple([hashable(o) for o in order]))


def order_of(order):
    if order is None:
        return None
    kind, inside = order
    return {k: order_of(o) for k, o in inside} if kind is dict else [order_of(o) for o in inside]


def _reorder(x, order):
    if order is None:
        return x
    if type(x) is dict:
        return {k: _reorder(x[k], o) for k, o in order.items()}
    if type(x) is OrderedDict:
        return OrderedDict((k, _reorder(x[k], o)) for k, o in order.items())
    if type(x) is defaultdict:
        return defaultdict(x.default_factory, ((k, _reorder(x[k], o)) for k, o in order.items()))
    items = [_reorder(v, o) for v, o in zip(x, order)]
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
