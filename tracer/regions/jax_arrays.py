"""What jax arrays have and ndarrays have not, on traced values of functions that are called with jax arrays: `x.at`,
`x.block_until_ready()`, `x += 1` of an array that nobody writes, and `isinstance(x, jax.Array)`."""

from typing import NamedTuple

import numpy as np

from ...backends.xla.dispatch import is_device_array, is_device_class, size_of, where
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import is_traced
from ..values.array import Traced, TracedArray
from ..values.storage import current_trace, is_by_jax
from .jax_calls import owned, run

NAMES = ("at", "block_until_ready")
ASKED = "Call the function with jax arrays: f(jnp.asarray(x))."
METHODS = frozenset(  # with other meanings, arguments or dtypes than NumPy's
    """
    sort argsort argpartition astype clip round take repeat searchsorted sum mean prod std var cumsum cumprod max min
    ptp any all argmax argmin dot nonzero copy flatten conj
    """.split()
)
SORTING = ("sort", "argsort")
UPDATES = ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply")


def on_jax():
    """Whether the function is called with jax arrays."""
    trace = current_trace()
    return trace is not None and trace.root.outside.of_jax


def has_attribute(x, name):
    """Whether an array has an attribute that ndarrays have not."""
    return name in NAMES and (on_jax() or is_made(x))


def attribute_of(x, name):
    return At(x) if name == "at" else lambda: x


def is_rebound(x):
    """Whether `x += y` is `x = x + y`, as jax has it: of what jax has made, and of an argument of jax's."""
    return type(x) is TracedArray and (is_by_jax(x.storage) or on_jax() and not x.writeable)


def of_operator(result, a, b):
    """The result of an operator: an array of jax's, where an operand is one."""
    if type(result) is TracedArray and (is_made(a) or is_made(b)):
        result.storage.by_jax = True
    return result


def is_made(x):
    """Whether an operand is an array that jax has made."""
    return is_by_jax(x.storage) if type(x) is TracedArray else is_device_array(x)


def is_jax_class(x, kinds):
    """What `isinstance(x, kinds)` says of a traced value, as far as that is about jax arrays; None else."""
    asked = kinds if isinstance(kinds, tuple) else (kinds,)
    trace = current_trace()
    of_jax = trace is not None and any(map(is_device_class, asked))
    if type(x) is TracedArray and is_by_jax(x.storage):
        return of_jax or (None if object in asked else False)
    if of_jax and trace.root.outside.of_jax:
        return True
    if of_jax and trace.root.outside.asks_jax and not getattr(x, "weak", None):
        raise UnsupportedError(message("whether a traced value is an array of jax's is asked", locate(), ASKED))
    return None


def jax_method(x, name):
    """What `x.name` calls, of an array that jax has made; None where it is as NumPy has it."""
    if name in METHODS and type(x) is TracedArray:
        if is_by_jax(x.storage) or name in SORTING and is_rebound(x):
            return lambda *args, **kwargs: owned(run(Method(name), (x, *args), kwargs))
    return None


class Method(NamedTuple):
    """`x.name(...)` as a function: equal ones are one."""

    name: str

    @property
    def __name__(self):
        return self.name

    def __call__(self, x, *args, **kwargs):
        return getattr(x, self.name)(*args, **kwargs)


class At:
    """`x.at`: indexed, it makes new arrays with elements replaced."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __getitem__(self, key):
        return AtPlace(self.array, key)


class AtPlace:
    """`x.at[key]`."""

    __slots__ = ("array", "key")

    def __init__(self, array, key):
        self.array, self.key = array, key

    def __getattr__(self, name):
        if name not in UPDATES:
            raise AttributeError(f"x.at[...] has no attribute {name!r}")
        return lambda *values, **options: self.updated(name, values, options)

    def updated(self, name, values, options):
        if may_be_mask(self.key) and self.key.dtype == bool and name != "get":
            return owned(run(Masked(name), (self.array, self.key, values), {}))
        parts = self.key if type(self.key) is tuple else (self.key,)
        spelled, operands = [], []
        for k in parts:
            if isinstance(k, slice):
                if is_traced([k.start, k.stop, k.step]):
                    text = "a slice of x.at[...] has a bound that data decide"
                    raise UnsupportedError(message(text, locate(), "Write x = x.copy(); x[a:b] = v."))
                spelled.append(("slice", k.start, k.stop, k.step))
            elif k is None or k is Ellipsis or type(k) in (int, bool):
                spelled.append(("plain", k))
            else:
                operands.append(k)
                spelled.append(("operand",))
        function = AtUpdate(name, tuple(spelled), type(self.key) is tuple, tuple(sorted(options.items())))
        return owned(run(function, (self.array, operands, values), {}))


def may_be_mask(x):
    return isinstance(x, Traced | np.ndarray) or is_device_array(x)


class AtUpdate(NamedTuple):
    """`x.at[key].name(*values)` as a function: equal ones are one."""

    name: str
    key: tuple
    several: bool
    options: tuple

    @property
    def __name__(self):
        return f"at_{self.name}"

    def __call__(self, x, operands, values):
        operands = iter(operands)
        key = tuple([part(k, operands) for k in self.key])
        return getattr(x.at[key if self.several else key[0]], self.name)(*values, **dict(self.options))


class Masked(NamedTuple):
    """`x.at[mask].name(*values)`, where each value is one number, or one for each element of x."""

    name: str

    @property
    def __name__(self):
        return f"at_{self.name}"

    def __call__(self, x, mask, values):
        if any(size_of(v) != 1 for v in values):
            raise ValueError(f"x.at[mask].{self.name} takes one number where data decide how many it replaces")
        mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
        return where(mask, getattr(x.at[...], self.name)(*values), x)


def part(spelled, operands):
    how, *rest = spelled
    return slice(*rest) if how == "slice" else rest[0] if how == "plain" else next(operands)
