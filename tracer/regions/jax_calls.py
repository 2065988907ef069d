"""Functions of JAX, and of libraries written with it, called with traced values: each call is imported into the program
as `from_jax` does, with the functions of the user's that it is handed. Without traced values they run as they are.
"""

import types

import numpy as np

from ...backends.xla import bridge
from ...backends.xla.dispatch import UNDECIDED, is_device_array
from ...ir.unbuilt import nothing_built
from ..common import pytree
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray
from ..numpy_api.handles import value_of
from ..values.array import Traced, TracedArray, TracedScalar, wrap
from ..values.poison import Poison
from ..values.storage import current_trace
from .convert import CELL
from .jax_functions import HeldValues, home_of, is_container, is_object, is_operand

TREES = ("jax._src.tree_util", "jax._src.tree", "jax.tree_util", "jax.tree")  # call what they are given on each leaf
OPERANDS = Traced, BoundedArray, Poison, np.ndarray, np.generic
TRANSFORMS = frozenset(  # of functions: give functions, and compute nothing
    """
    jit grad value_and_grad vmap pmap jacfwd jacrev hessian checkpoint remat custom_jvp custom_vjp named_call shard_map
    defjvp defvjp defjvps filter_jit filter_grad filter_value_and_grad filter_vmap filter_jacfwd filter_jacrev
    """.split()
)
EXPLICIT = (
    "A program is traced for automatic axes of a mesh: give shard_map a mesh made with "
    "axis_types=(jax.sharding.AxisType.Auto,), whatever that of the arrays is."
)


class Static:
    """A static argument: a leaf, whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def of_jax(other, f, /, *args, **kwargs):
    """A call of JAX's: `other` is what there is to call without traced values."""
    called, given, home = f, args, home_of(f)
    if home in TREES:
        call = CELL.cell_contents.call
        return f(*[call(x) if callable(x) else x for x in args], **kwargs)
    if getattr(f, "__name__", "") in TRANSFORMS and not any(map(is_operand, pytree.leaves((args, kwargs)))):
        return f(*args, **kwargs)
    if type(f) is types.MethodType and (is_device_array(f.__self__) or is_container(f.__self__)):
        f, args = f.__func__, (f.__self__, *args)
    elif is_container(f):
        f, args = call_object, (f, *args)
    held = HeldValues()
    held.collected((f, args, kwargs))
    if not held.found and not any(map(is_operand, pytree.leaves((args, kwargs)))):
        return other(*given, **kwargs)
    outside = current_trace().root.outside
    for function in held.functions:
        outside.function(function, False)
    objects = [x for x in (getattr(f, "__self__", None), *pytree.leaves((args, kwargs))) if is_object(x)]
    whole = [x for x in (called, *args, *kwargs.values()) if is_container(x)]
    outside.rely(*objects, *held.objects(), *whole)
    outside.asks_jax = True
    return owned(run(f, args, kwargs, held if held.functions or held.found or objects else None))


def owned(results):
    """What a function of JAX's gives: arrays that are jax's outside of a trace."""
    for x in pytree.leaves(results):
        if type(x) is TracedArray:
            x.storage.by_jax = True
    return results


def call_object(f, /, *args, **kwargs):
    return f(*args, **kwargs)


def run(function, args, kwargs, held=None, widely=False):
    """A JAX function on traced values, inlined into the current trace.

    held: what its functions hold; widely: whether with 64-bit types on. Else, they are on as the user has them, or
    where an operand has 64 bits.
    """
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
        function, make = filled_in(function, held, values), bridge.imported_once
        tree = pytree.structure(((args, kwargs), [0] * len(values)))
    try:
        with current_trace().root.outside.stray.unseen(), nothing_built():
            wide = widely or bridge.has_wide([x.type for x in operands])
            made = make(function, tree, tuple(given), wide, *([name] if held is not None else ()))
    except bridge.NotImported as reason:
        raise UnsupportedError(message(f"{name} cannot be part of a program: {reason}", locate())) from None
    except UNDECIDED as error:
        if widely:
            raise
        text = f"{name} asks for numbers, which only the running program has"
        raise UnsupportedError(message(text, locate())) from error
    except Exception as error:
        error.add_note(message(f"while JAX traced {name}, called", locate()))
        if "in_specs" in str(error):
            error.add_note(EXPLICIT)
        raise
    trace = current_trace()
    results = trace.build.inline(made.func, [*operands, *map(trace.capture, made.constants)])
    return pytree.unflatten(made.tree, list(map(wrap, results)))


def operand_type(leaf, operand):
    return operand.type, getattr(leaf, "weak", None) in (int, float, complex)


def filled_in(function, held, values):
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
    if is_device_array(leaf) and not isinstance(leaf.dtype, np.dtype):
        hint = "Make keys of numbers: jax.random.PRNGKey(seed)."
        raise UnsupportedError(message(f"a value of a type of jax's own, {leaf.dtype}", locate(), hint))
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
