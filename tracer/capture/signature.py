"""Which arguments are dynamic: arrays and floats are traced; ints, strings and all else are part of the key.

An int that keeps changing is traced after all (`call.route`).
"""

import functools

import numpy as np

from ...backends.xla.dispatch import is_device_type
from ...ir.types import SHORT, Tensor
from ..common import pytree
from ..common.emit import INT64
from ..common.errors import UnsupportedError, message
from ..guards.subclasses import is_captured
from ..values.array import Traced
from .capture import Kind
from .handover import ARRAY, SCALAR

FLOAT64, COMPLEX128 = (Tensor((), np.dtype(t)) for t in (np.float64, np.complex128))
MOST = 32  # axes of an array: NumPy takes 64, but not in all its functions
_kinds = {}  # leaf type -> ARRAY, SCALAR, float, complex, or None for static


def kind_of_type(t):
    """How a leaf of Python type `t` is treated; remembered per type."""
    found = _kinds.get(t, 0)
    if found == 0:
        if t is not np.ndarray and issubclass(t, np.ndarray):  # a class of the user's may change
            return None if is_captured(t) else ARRAY  # None: an object that is known by its class
        if issubclass(t, np.ndarray) or is_device_type(t):
            found = ARRAY
        elif issubclass(t, np.generic):
            found = SCALAR
        elif t is float or t is complex:
            found = t
        elif issubclass(t, Traced):
            return Traced
        else:
            found = None
        _kinds[t] = found
    return found


@functools.cache
def captured(dtype):
    """Whether arrays of a dtype can be; its name costs some microseconds."""
    return dtype.name in SHORT and dtype.isnative


def kind_for(leaf, name):
    """The Kind of one dynamic leaf; UnsupportedError for dtypes that cannot be captured."""
    kind = kind_of_type(type(leaf))
    if kind is float:
        return Kind(FLOAT64, float, name=name)
    if kind is complex:
        return Kind(COMPLEX128, complex, name=name)
    if type(leaf) is int:
        return Kind(INT64, int, name=name)
    try:
        dtype = np.dtype(leaf.dtype)
    except TypeError:
        text = f"argument {name} is an array of {leaf.dtype}, which only jax has"
        hint = "Keys of jax.random.PRNGKey(seed) are arrays of numbers: pass such a one."
        raise UnsupportedError(message(text, None, hint)) from None
    if not captured(dtype):
        hint = (
            "Lists of unequal lengths make object arrays: pad the rows to one length."
            if dtype.hasobject
            else "Convert it before the call, for example x.astype(np.float64)."
        )
        raise UnsupportedError(
            message(
                f"argument {name} is an array of dtype {dtype}, shape {leaf.shape}; known dtypes are "
                f"{', '.join(SHORT)}",
                None,
                hint,
            )
        )
    if isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray:
        raise UnsupportedError(
            message(
                f"argument {name} is a {type(leaf).__name__}; only plain ndarrays are captured",
                None,
                "Pass np.asarray(x).",
            )
        )
    if (
        isinstance(leaf, np.ulonglong) and np.ulonglong is not np.uint64
    ):  # of its dtype, but not its type: no argument of XLA's
        raise UnsupportedError(message(f"argument {name} is a number of np.ulonglong", None, "Pass np.uint64(x)."))
    if leaf.ndim > MOST:
        raise UnsupportedError(
            message(
                f"argument {name} has {leaf.ndim} axes; at most {MOST} are captured",
                None,
                "Join axes with x.reshape(...).",
            )
        )
    readonly = not leaf.flags.writeable if isinstance(leaf, np.ndarray) else True
    if not leaf.ndim and kind is ARRAY and not isinstance(leaf, np.ndarray):  # jax tells no numbers from arrays
        kind = SCALAR
    return Kind(Tensor(tuple(leaf.shape), dtype), kind, readonly, name)


def names_of(function_signature, args, kwargs):
    """A printable name for every leaf of the arguments: `w`, `params['b']`, `args[2]`."""
    names = []
    paths, _ = pytree.flatten_with_path((args, kwargs))
    parameters = list(function_signature.parameters.values()) if function_signature else []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for path, _leaf in paths:
        which, first, rest = path[0].idx, path[1], path[2:]
        if which == 0:
            head = positional[first.idx] if first.idx < len(positional) else f"arg{first.idx}"
        else:
            head = str(first.key)
        names.append(head + pytree.path_text(rest))
    return names
