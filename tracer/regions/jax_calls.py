"""Functions of JAX, and of libraries written with it, called with traced values: each call is imported into the program
as `from_jax` does, with the functions of the user's that it is handed. Without traced values they run as they are.
"""

import functools
import types

import numpy as np

from ...backends.xla import bridge
from ...backends.xla.dispatch import is_device_array, is_jitted
from ...ir.core import nothing_built
from ..common import pytree
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..common.origin import is_user
from ..extents.bounded import BoundedArray
from ..numpy_api.handles import value_of
from ..common.scan import codes
from ..rewriter.converted import belongs
from ..values.array import Traced, TracedScalar, wrap
from ..values.poison import Poison
from ..values.storage import current_trace
from .convert import CELL

LIBRARIES = frozenset(
    """
    jax jaxlib flax equinox optax chex haiku diffrax lineax optimistix equinox_internal quax distreqx numpyro blackjax
    optax_contrib jaxopt
    """.split()
)
TREES = ("jax._src.tree_util", "jax._src.tree", "jax.tree_util", "jax.tree")  # call what they are given on each leaf
OPERANDS = Traced, BoundedArray, Poison, np.ndarray, np.generic
TRANSFORMS = frozenset(  # of functions: give functions, and compute nothing
    """
    jit grad value_and_grad vmap pmap jacfwd jacrev hessian checkpoint remat custom_jvp custom_vjp named_call shard_map
    defjvp defvjp defjvps filter_jit filter_grad filter_value_and_grad filter_vmap filter_jacfwd filter_jacrev
    """.split()
)
EMPTY = types.CellType()
PLAIN = bool | int | float | complex | str | bytes | None


class Static:
    """A static argument: a leaf, whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


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


def of_jax(other, f, /, *args, **kwargs):
    """A call of JAX's: `other` is what there is to call without traced values."""
    called, home = f, home_of(f)
    if home in TREES:
        call = CELL.cell_contents.call
        return f(*[call(x) if callable(x) else x for x in args], **kwargs)
    if getattr(f, "__name__", "") in TRANSFORMS and not any(map(is_operand, pytree.leaves((args, kwargs)))):
        return f(*args, **kwargs)
    if type(f) is types.MethodType and (is_device_array(f.__self__) or is_container(f.__self__)):
        f, args = f.__func__, (f.__self__, *args)
    elif is_container(f):
        f, args = call_object, (f, *args)
    held = Held()
    held.collected((f, args, kwargs))
    if not held.found and not any(map(is_operand, pytree.leaves((args, kwargs)))):
        return other(*args, **kwargs)
    outside = current_trace().root.outside
    for function in held.functions:
        outside.function(function, False)
    objects = [x for x in (getattr(f, "__self__", None), *pytree.leaves((args, kwargs))) if is_object(x)]
    whole = [x for x in (called, *args, *kwargs.values()) if is_container(x)]
    outside.rely(*objects, *held.objects(), *whole)
    return run(f, args, kwargs, held if held.functions or held.found or objects else None)


def is_container(x):
    """Whether an object is a container of leaves, as jax has it."""
    leaves = pytree.leaves(x)
    return len(leaves) != 1 or leaves[0] is not x


def call_object(f, /, *args, **kwargs):
    return f(*args, **kwargs)


def is_operand(x):
    return isinstance(x, Traced | BoundedArray | Poison)


def is_object(x):
    """Whether something is neither a value nor a function: what it holds may be something else at the next call."""
    plain = is_operand(x) or is_device_array(x) or isinstance(x, np.ndarray | np.generic | type | types.ModuleType | PLAIN)
    return not plain and (not callable(x) or is_container(x))


class Held:
    """What is held by functions that a call is handed, in their cells and by the names in them, and by functions there:
    the traced values that are `found`, and the `functions` of the user's.

    jax knows functions by identity, and traces none twice: it is given new ones of the same code, for what the user's
    read outside may be something else at the next trace.
    """

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
            defaults = x.__defaults__ and tuple([self.within(v, by) for v in x.__defaults__])
            same = all(map(is_same, cells, x.__closure__ or ())) and all(map(is_same, defaults or (), x.__defaults__ or ()))
            if same and x not in self.functions:
                return x
            made = self.made[x] = types.FunctionType(x.__code__, x.__globals__, x.__name__, defaults, tuple(cells) or None)
            made.__kwdefaults__ = x.__kwdefaults__
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


def run(function, args, kwargs, held=None):
    """A JAX function on traced values, inlined into the current trace. held: what its functions hold."""
    leaves, tree = pytree.flatten((args, kwargs))
    operands, given = [], []
    for leaf in leaves:
        fixed = as_static(leaf)
        if fixed is None:
            operands.append(value_of(leaf))
        given.append(operand_type(leaf, operands[-1]) if fixed is None else fixed)
    name = getattr(function, "__name__", type(function).__name__)
    make = bridge.imported
    if held is not None:
        values = list({id(x): x for x in held.found}.values())
        more = [value_of(x) for x in values]
        operands += more
        given += map(operand_type, values, more)
        function, make = holding(function, held, values), bridge.imported_once
        tree = pytree.structure(((args, kwargs), [0] * len(values)))
    try:
        with current_trace().root.outside.stray.unseen(), nothing_built():
            made = make(function, tree, tuple(given)) if held is None else make(function, tree, tuple(given), name)
    except bridge.NotImported as reason:
        raise UnsupportedError(message(f"{name} cannot be part of a program: {reason}", locate())) from None
    except Exception as error:
        error.add_note(message(f"while JAX traced {name}, called", locate()))
        raise
    trace = current_trace()
    results = trace.build.inline(made.func, [*operands, *map(trace.capture, made.constants)])
    return pytree.unflatten(made.tree, list(map(wrap, results)))


def operand_type(leaf, operand):
    return operand.type, getattr(leaf, "weak", None) in (int, float, complex)


def holding(function, held, values):
    """`function`, of ((args, kwargs), values): those in the place of the traced values that its functions hold."""

    def called(given, new):
        by = dict(zip(map(id, values), new, strict=True))
        args, kwargs = pytree.map(lambda x: held.replaced(x, by), given)
        return held.replaced(function, by)(*args, **kwargs)

    return called


def as_static(leaf):
    """A leaf that JAX is given as it is, or None where it is an operand."""
    if isinstance(leaf, TracedScalar) and leaf.weak and leaf.known() is not None:
        return bridge.Fixed(leaf.weak(leaf.known()[()]))
    if isinstance(leaf, OPERANDS) or is_device_array(leaf):
        return None
    value = leaf.value if isinstance(leaf, Static) else leaf
    if isinstance(value, Traced):
        hint = "Pass a plain value, or leave it out of static_argnums."
        raise UnsupportedError(message("a static argument of a JAX function is traced", locate(), hint))
    try:
        return hashed(value)
    except TypeError:
        raise with_note(
            TypeError,
            message(f"a static argument of a JAX function cannot be hashed: {type(value).__name__}", locate())
        ) from None


def hashed(value):
    hash(value)
    return bridge.Fixed(value)
