"""Functions of the user's that are handed to JAX's: the traced values in their cells, and what they read outside.

jax knows functions by identity, and traces none twice: it is given new ones of the same code, for what the user's read
outside may be something else at the next trace.
"""

import functools
import types

import numpy as np

from ...backends.xla.dispatch import is_device_array, is_jitted
from ..common import pytree
from ..common.origin import is_user
from ..common.scan import codes
from ..extents.bounded import BoundedArray
from ..rewriter.converted import belongs
from ..values.array import Traced
from ..values.poison import Poison

LIBRARIES = frozenset(  # written with JAX
    """
    jax jaxlib flax equinox optax chex haiku diffrax lineax optimistix quax distreqx numpyro blackjax jaxopt
    """.split()
)
PLAIN = bool | int | float | complex | str | bytes | np.ndarray | np.generic | type | types.ModuleType | None
ATTRIBUTES = ("at", "block_until_ready")  # of jax arrays alone
EMPTY = types.CellType()


def home_of(f):
    """The module in which what is called was written."""
    kind = type(f)
    if kind is types.FunctionType:
        return f.__globals__.get("__name__", "")
    if kind is types.MethodType:
        return home_of(f.__func__)
    if isinstance(f, type):
        return kind.__module__ if kind is not type else ""
    return kind.__module__


def is_jax(f):
    """Whether what is called is JAX's, or of a library written with it."""
    return home_of(f).partition(".")[0] in LIBRARIES


def speaks_jax(f, seen=()):
    """Whether a function of the user's, or one that it names, is written with JAX."""
    while not isinstance(f, types.FunctionType):
        inner = getattr(f, "__func__", None) or getattr(f, "func", None)
        if inner is None:
            return False
        f = inner
    names = {name for code in codes(f.__code__) for name in code.co_names}
    if not names.isdisjoint(ATTRIBUTES):
        return True
    seen = {*seen, f}
    found = [f.__globals__.get(name) for name in names] + cells_of(f)
    modules = [x.__name__ for x in found if isinstance(x, types.ModuleType)]
    if any(name.partition(".")[0] in LIBRARIES for name in modules):
        return True
    functions = [x for x in found if isinstance(x, types.FunctionType) and x not in seen]
    return any(is_jax(x) or is_user(x.__code__) and speaks_jax(x, seen) for x in functions)


def is_operand(x):
    return isinstance(x, Traced | BoundedArray | Poison)


def is_container(x):
    """Whether an object is a container of leaves, as jax has it."""
    leaves = pytree.leaves(x)
    return len(leaves) != 1 or leaves[0] is not x


def is_object(x):
    """Whether something is neither a value nor a function: what it holds may be something else at the next call."""
    plain = is_operand(x) or is_device_array(x) or isinstance(x, PLAIN)
    return not plain and (not callable(x) or is_container(x))


class HeldValues:
    """What is held by functions that a call is handed, in their cells and by the names in them, and by functions there:
    the traced values that are `found`, and the `functions` of the user's."""

    def __init__(self):
        self.found, self.functions, self.seen, self.made = [], [], set(), {}

    def collected(self, x):
        """Look through all there is."""
        for leaf in pytree.leaves(x):
            self.look(leaf)

    def look(self, f):
        if id(f) in self.seen:
            return
        self.seen.add(id(f))
        if type(f) is types.FunctionType:
            users = is_user(f.__code__) and not is_jax(f)
            self.functions += [f] if users else []
            for value in [*cells_of(f), *(f.__defaults__ or ()), *(named_in(f) if users else ())]:
                for leaf in leaves_of(value):
                    self.found += [leaf] if is_operand(leaf) else []
                    self.look(leaf)
        elif type(f) is types.MethodType:
            self.collected((f.__func__, f.__self__))
        elif type(f) is functools.partial:
            self.collected((f.func, f.args, f.keywords))
        elif is_jitted(f):
            self.look(f.__wrapped__)

    def objects(self):
        """What functions name that have hooks, which note nothing here."""
        hooked = [f for f in self.functions if belongs(f.__code__)]
        named = [f.__globals__.get(name) for f in hooked for code in codes(f.__code__) for name in code.co_names]
        held = [x for f in hooked for value in cells_of(f) for x in leaves_of(value)]
        return [x for x in (*named, *held) if is_object(x)]

    def replaced(self, x, by):
        """x with the values of `by`, id -> value, in the place of those that its functions hold."""
        if id(x) in by:
            return by[id(x)]
        if type(x) is types.FunctionType:
            if x in self.made:
                return self.made[x]
            cells = [self.cell(c, by) for c in x.__closure__ or ()]
            defaults = tuple([self.within(v, by) for v in x.__defaults__ or ()])
            before = [*(x.__closure__ or ()), *(x.__defaults__ or ())]
            if all(map(is_same, [*cells, *defaults], before)) and x not in self.functions:
                return x
            made = types.FunctionType(x.__code__, x.__globals__, x.__name__, defaults or None, tuple(cells) or None)
            made.__kwdefaults__, self.made[x] = x.__kwdefaults__, made
            return made
        if type(x) is types.MethodType:
            return types.MethodType(self.replaced(x.__func__, by), self.within(x.__self__, by))
        if type(x) is functools.partial:
            return functools.partial(*self.within((x.func, *x.args), by), **self.within(x.keywords, by))
        if is_jitted(x):
            inner = self.replaced(x.__wrapped__, by)
            return x if inner is x.__wrapped__ else inner
        return x

    def within(self, value, by):
        """Likewise of a container."""
        leaves, tree = pytree.flatten(value)
        new = [self.replaced(leaf, by) for leaf in leaves]
        return value if all(map(is_same, new, leaves)) else pytree.unflatten(tree, new)

    def cell(self, cell, by):
        if cell == EMPTY:
            return cell
        value = cell.cell_contents
        new = self.within(value, by)
        return cell if new is value else types.CellType(new)


def is_same(a, b):
    return a is b


def named_in(f):
    """The functions outside that a function of the user's names."""
    found = [f.__globals__.get(name) for code in codes(f.__code__) for name in code.co_names]
    return [x for x in found if type(x) is types.FunctionType and is_user(x.__code__) or is_jitted(x)]


def cells_of(f):
    return [c.cell_contents for c in f.__closure__ or () if c != EMPTY]


def leaves_of(value):
    try:
        return pytree.leaves(value)
    except ValueError:  # a dict whose keys have no order
        return [value]
