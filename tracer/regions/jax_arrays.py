"""What jax arrays have and ndarrays have not, on traced values of functions that are called with jax arrays: `x.at`,
`x.block_until_ready()`, `x += 1` of an array that nobody writes, and `isinstance(x, jax.Array)`."""

from typing import NamedTuple

import numpy as np

from ...backends.xla.dispatch import is_device_class, size_of, where
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import is_traced
from ..values.array import Traced, TracedArray
from ..values.storage import current_trace
from .jax_calls import run

NAMES = ("at", "block_until_ready")
UPDATES = ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply")


def on_jax():
    """Whether the function is called with jax arrays."""
    trace = current_trace()
    return trace is not None and trace.root.outside.of_jax


def has_attribute(name):
    """Whether arrays here have an attribute that ndarrays have not."""
    return name in NAMES and on_jax()


def attribute_of(x, name):
    return At(x) if name == "at" else lambda: x


def is_rebound(x):
    """Whether `x += y` is `x = x + y`, as jax has it: of an array that cannot be written."""
    return type(x) is TracedArray and on_jax() and not x.writeable


def is_jax_class(kinds):
    """Whether `isinstance(x, kinds)` asks for a jax array."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return on_jax() and any(is_device_class(k) for k in kinds)


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
        if isinstance(self.key, Traced | np.ndarray) and self.key.dtype == bool and name != "get":
            return run(Masked(name), (self.array, self.key, values), {})
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
        return run(function, (self.array, operands, values), {})


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
