"""Plain NumPy programs, a family a file, each with arguments of several sizes and the same in JAX as a good user of it
would write it."""

import collections.abc
import dataclasses
import types

import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Program:
    """One program of the suite. It writes to no argument, and returns arrays, numbers or a tuple of them."""

    function: collections.abc.Callable
    arguments: collections.abc.Callable  # (rng, n) -> ndarrays, floats and ints, by position
    sizes: tuple  # three n: tiny for checks, small, large
    over: tuple = ()  # positions of the arguments that it is differentiated by
    port: collections.abc.Callable | None = None  # in JAX; None where the program is that itself, with jnp for np
    numba: bool = True  # whether Numba compiles it as it stands

    @property
    def name(self):
        return self.function.__name__

    @property
    def in_jax(self):
        return self.port or ported(self.function)


def ported(function):
    """A NumPy function, and those of its module that it calls, with `jax.numpy` for `np`."""
    return rebuilt(function, lambda f: f, np=jnp)


def rebuilt(function, change, **names):
    """A function among those of its module, all of them changed, with other globals."""
    module = function.__globals__
    mine = dict(module, **names)
    for name, value in module.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is module:
            mine[name] = change(types.FunctionType(value.__code__, mine, name, value.__defaults__))
    return mine[function.__name__]
