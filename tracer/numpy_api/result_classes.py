"""Which class NumPy gives to a result, where an argument is an instance of a subclass of np.ndarray: NumPy is asked.

What has no rule that could be written down (`x.sum()` of a subclass is an array without axes, `np.dot(x, x)` a scalar,
`np.cross(x, y)` an ndarray) differs from function to function, and from version to version of NumPy. So the function
itself is run, once, while tracing, on *probes*: small made-up numbers in the shapes and dtypes of the arguments, of
classes that are related as the user's are, and that note of which object each new instance is made
(`__array_finalize__`). A function that calls a method which the user's class has overridden would have to be captured
itself: it is refused.
"""

import functools

import numpy as np

UNASKED = frozenset("__array_finalize__ __new__ __init__ __doc__ __module__ __dict__ __weakref__ __hash__".split())
NOTHING = object()


class Overridden(BaseException):
    """A method of the user's is asked by NumPy itself: none of NumPy's handlers of exceptions is to catch it."""


class UsersOwn:
    """In place of a method of the user's, or an attribute, that stands before one of NumPy's."""

    def __init__(self, name):
        self.name = name

    def __get__(self, x, kind=None):
        raise Overridden(self.name)

    def __set__(self, x, value):
        raise Overridden(self.name)


class Probe(np.ndarray):
    """An array that knows what it was made of: `__origin__` is what `__array_finalize__` was given."""

    __origin__ = NOTHING

    def __array_finalize__(self, obj):
        self.__origin__ = obj


@functools.lru_cache(256)
def probe_class(kind):
    """A class that is to NumPy what a user's subclass of np.ndarray is."""
    if kind is np.ndarray:
        return Probe
    space = {"__stands_for__": kind}
    for c in reversed([c for c in kind.__mro__ if c is kind or not issubclass(c, np.ndarray)]):
        space |= {name: UsersOwn(name) for name in vars(c) if c is not object and stands_before_numpys(c, name)}
    if "__array_priority__" in vars(kind):
        space["__array_priority__"] = vars(kind)["__array_priority__"]
    bases = [probe_class(c) for c in kind.__bases__ if issubclass(c, np.ndarray)]
    return type(kind.__name__, tuple(bases), space)


def stands_before_numpys(c, name):
    """Whether NumPy would find what a class holds under a name in the place of its own."""
    return hasattr(np.ndarray, name) and name not in UNASKED


def made_up(shape, dtype, spread=0.6180339887498949):
    """Made-up numbers in general position, between 1/2 and 3/2; of integers and truth values 0 and 1."""
    places = np.arange(int(np.prod(shape)))
    found = places % 2 if dtype.kind in "biu" else (places + 1) * spread % 1 + 0.5
    return found.astype(dtype).reshape(shape)


def probe(kind, shape, dtype):
    """A probe for an instance of a class."""
    made = made_up(shape, dtype).view(probe_class(kind))
    made.__origin__ = NOTHING
    return made


def lineage(x):
    """[x, what it was made of, what that was made of, ...] as far as NumPy told."""
    found = [x]
    while isinstance(found[-1], Probe) and found[-1].__origin__ is not NOTHING:
        found.append(found[-1].__origin__)
    return found
