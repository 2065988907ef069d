"""What transforms ask of functions and arguments that they are given: a call, floats to differentiate by."""

from __future__ import annotations

import functools
import inspect

from ..call import shared
from ..call.inline_cache import named_of
from ..common.errors import DerivativeError, message
from ..common.frames import locate
from ..regions.foreign import CAPTURING
from .compiled import signature_of
from .inner import name_of
from .jit import compiled_as


def compiled(rule, function, prefix, *options, debug=None):
    """The compiled transform of a function. rule(function, its signature, *options, args, kwargs) is what it does in a
    trace; debug: what its calls are watched for, a `Debug`, where that is not what those of the function are."""

    def make(function):
        signature = signature_of(function)

        def transformed(*args, **kwargs):
            return rule(function, signature, *options, args, kwargs)

        transformed.__wrapped__ = function
        CAPTURING.add(transformed.__code__)
        return transformed

    def said():
        return {
            "name": f"{prefix}_{name_of(function)}",
            "signature": PAIRS if prefix == "jvp" else None,  # (primals, tangents), whatever f takes
            "named": named_of(function) if prefix == "grad" else (),
        }

    twin = lambda function, debug: compiled(rule, function, prefix, *options, debug=debug)
    return compiled_as(make, function, (rule, prefix, *options), said, twin=twin, debug=debug)


def compiled_once(rule, function, prefix, *options):
    """The same of what is given to a transform at every call; of what shares no traces, the latest are kept."""
    return (compiled if shared.root_of(function) is not None else _compiled)(rule, function, prefix, *options)


_compiled = functools.lru_cache(512)(compiled)


def rule_of_pairs(primals, tangents):
    """What a function of (primals, tangents) is called with."""


PAIRS = inspect.signature(rule_of_pairs)


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
