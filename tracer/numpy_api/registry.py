"""Where NumPy functions and ndarray methods find their handlers."""

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..extents.bounded import BoundedArray, mentioned
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.mixed import Mixed, has_mixed
from ..values.promote import UFUNCS, unknown
from .ufunc_calls import apply_ufunc, call_ufunc

HANDLERS = {}  # NumPy function -> handler with the same signature
THROUGH_METHODS = {
    getattr(np, n)
    for n in "all amax amin any argmax argmin around choose clip max mean min prod round std sum take var".split()
}
METHODS = {}  # ndarray method name -> handler taking the array first


def implements(*functions, method=None):
    """Decorator: the handler of NumPy functions, and of the ndarray method `method` (same arguments, array first)."""

    def register(handler):
        for f in functions:
            if f in HANDLERS:
                raise KeyError(f"np.{getattr(f, '__name__', f)} has two handlers")
            HANDLERS[f] = handler
        for name in (method,) if isinstance(method, str) else method or ():
            METHODS[name] = handler
        return handler

    return register


def call_function(function, args, kwargs):
    if mentioned((*args, *kwargs.values())) is not None:
        return BoundedArray.function_handler(function, args, kwargs)
    if has_mixed((*args, *kwargs.values())):
        return Traced.of_numpy(lambda *xs, **given: call_function(function, xs, given), args, kwargs)
    handler = HANDLERS.get(function) or Traced.source(function)
    if handler is None:
        raise unknown(function)
    return as_method(args, handler(*args, **kwargs)) if function in THROUGH_METHODS else handler(*args, **kwargs)


def as_method(args, result):
    """What a method gives: of a NumPy scalar a scalar, also in the place of an `out` without axes."""
    scalar = type(args[0]) is TracedScalar and args[0].weak is None if args else False
    return result[()] if scalar and type(result) is TracedArray and not result.shape else result


def call_ufunc_method(ufunc, method, inputs, kwargs):
    if method == "__call__" and not kwargs and ufunc in UFUNCS:
        return call_ufunc(ufunc, *inputs)
    if mentioned((*inputs, *kwargs.values())) is not None:
        return BoundedArray.ufunc_handler(ufunc, method, inputs, kwargs)
    if method != "__call__" and has_mixed((*inputs, *kwargs.values())):
        return Traced.of_numpy(lambda *xs, **given: call_ufunc_method(ufunc, method, xs, given), inputs, kwargs)
    handler = HANDLERS.get((ufunc, method)) or HANDLERS.get(method)
    if handler is None and method == "__call__":
        return apply_ufunc(ufunc, inputs, **kwargs)
    if handler is None:
        raise UnsupportedError(message(f"np.{ufunc.__name__}.{method} is not captured on traced values", locate()))
    return handler(ufunc, *inputs, **kwargs)


def method_of(self, name):
    """ndarray methods, looked up in METHODS: anything unknown says so with the user's line."""
    handler = METHODS.get(name)
    if handler is None and type(self).jax_attribute[0](self, name):
        return type(self).jax_attribute[1](self, name)
    if type(self) is Mixed:
        if handler is None:
            self.fail()
        return lambda *args, **kwargs: Traced.apart(
            lambda x, *xs, **given: getattr(x, name)(*xs, **given), (self, *args), kwargs
        )
    shown = np.ndarray if type(self) is not TracedScalar else self.weak or self.type.dtype.type
    if handler is not None and hasattr(shown, name):
        return lambda *args, **kwargs: as_method((self,), handler(self, *args, **kwargs))
    if name.startswith("__") or not hasattr(shown, name):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    raise UnsupportedError(message(f"ndarray.{name} is not captured on traced values", locate()))
