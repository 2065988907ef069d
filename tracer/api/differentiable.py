"""What transforms ask of functions and arguments that they are given: a call, floats to differentiate by."""

from __future__ import annotations

import inspect

from ..call.inline_cache import named_of
from ..common.errors import DerivativeError, message
from ..common.frames import locate
from .compiled import Compiled
from .inner import name_of
from .jit import wrapper


def compiled(transformed, function, prefix):
    name = f"{prefix}_{name_of(function)}"
    own = inspect.signature(transformed) if prefix == "jvp" else None  # jvp takes (primals, tangents), whatever f takes
    transformed.__wrapped__ = function
    named = named_of(function) if prefix == "grad" else ()
    return wrapper(Compiled(transformed, name=name, signature=own, named=named), function)


def check_function(function, transform):
    if not callable(function):
        raise TypeError(
            f"{transform} takes a function, got {type(function).__name__}\n  Write {transform}(f)(x), not "
            f"{transform}(f(x))."
        )


def check_floating(inner, selected):
    for i in selected:
        leaf = inner.leaves[i]
        if not leaf.type.inexact:
            raise DerivativeError(
                message(
                    f"argument {inner.names[i]} is {leaf.type}: only floating and complex values have derivatives",
                    locate(),
                    f"Pass a float, such as {'x.astype(np.float64)' if leaf.type.shape else '1.0 instead of 1'}, or "
                    "choose others with argnums=.",
                )
            )
