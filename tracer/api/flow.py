"""What derivatives stop at, and what they compute again: `stop_gradient`, `checkpoint`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...autodiff.custom import AGAIN
from ...ir.ops import OPS
from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.storage import current_trace
from .compiled import signature_of
from .differentiable import check_function
from .inner import Inner, name_of
from .typed import P, R

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """x, taken as a constant by every derivative. Any container; arrays come back as new ones.

    >>> from wengert import grad, stop_gradient
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return pytree.map(_stopped, x)


def _stopped(x):
    if isinstance(x, TracedArray):
        return fresh(OPS["stop_gradient"](x.value))
    if isinstance(x, TracedScalar):
        return TracedScalar(OPS["stop_gradient"](x.value), x.weak)
    return x.copy() if isinstance(x, np.ndarray) else x


def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, of which derivatives keep the arguments alone, and compute again what the way back reads.

    For the memory of the values inside it, its work is done once more: the backward pass of n calls one after
    the other keeps n times what they pass on, and the inside of one. As the body of a loop, it keeps what the loop
    carries from trip to trip. It can be nested, and changes no value and no derivative. Outside a program it is the
    function itself. Source: Griewank & Walther (2008), ch. 12.
    Raises UnsupportedError where the function prints or draws random numbers, which must not be done again.

    >>> import numpy as np
    >>> from wengert import checkpoint, grad
    >>> layer = checkpoint(lambda x: np.sin(np.cos(np.exp(x))))
    >>> grad(lambda x: layer(layer(x)))(0.0) == grad(lambda x: np.sin(np.cos(np.exp(np.sin(np.cos(np.exp(x)))))))(0.0)
    True
    """
    check_function(function, "checkpoint")
    signature = signature_of(function)

    def call(*args, **kwargs):
        if current_trace() is None:
            return function(*args, **kwargs)
        inner = Inner(function, args, kwargs, signature)
        if any(eqn.effect for eqn in inner.func.eqns):
            text = (
                f"{name_of(function)} prints or draws random numbers, and would do so again on the way back of a "
                "derivative"
            )
            raise UnsupportedError(
                message(text, locate(), "Do that outside the checkpointed function, and pass it what was drawn.")
            )
        results = AGAIN.run(*inner.operands, body=inner.func)
        inner.settle(results)
        return inner.returned(results)

    front: Any = call
    front.__wrapped__ = function
    return functools.update_wrapper(front, function) if hasattr(function, "__name__") else front
