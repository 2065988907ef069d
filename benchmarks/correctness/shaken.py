"""Whether rounding decides what a function gives: plain Python's own answer differs as much, on numbers that differ by
some units in their last place.

Floats among the arguments are moved, in arrays, containers and attributes, and what is drawn by NumPy's and Python's
own functions.
"""

import contextlib
import random
from unittest import mock

import numpy as np

TURNS = 6  # how often the numbers are moved
DRAWS = {
    np.random: "rand randn random random_sample uniform normal standard_normal",
    random: "random uniform gauss normalvariate",
}


def moved(x, rng):
    """A float, or an array of such, by up to four units in the last place."""
    return x * (1 + rng.integers(-4, 5, np.shape(x)) * 2.0**-52)


def move_all(x, rng, met=None):
    """Move the floats in a structure in place -> what stands for it."""
    met = {} if met is None else met
    if id(x) in met:
        return met[id(x)][1]
    if type(x) in (float, np.float64):
        return type(x)(moved(x, rng))
    met[id(x)] = x, x
    if isinstance(x, np.ndarray):
        if x.dtype == np.float64 and x.flags.writeable:
            x[...] = moved(x, rng)
    elif type(x) is list:
        x[:] = [move_all(v, rng, met) for v in x]
    elif type(x) is tuple:
        met[id(x)] = x, tuple([move_all(v, rng, met) for v in x])
    elif type(x) is dict or hasattr(x, "__dict__") and not isinstance(x, type) and not callable(x):
        held = x if type(x) is dict else vars(x)
        for key in held:
            held[key] = move_all(held[key], rng, met)
    return met[id(x)][1]


@contextlib.contextmanager
def shaken(turn):
    """What is drawn meanwhile is moved -> the generator that moves."""
    rng = np.random.default_rng(turn)
    with contextlib.ExitStack() as stack:
        for module, names in DRAWS.items():
            for name in names.split():
                real = getattr(module, name)
                kept = lambda *args, real=real, **kwargs: type_kept(real(*args, **kwargs), rng)
                stack.enter_context(mock.patch.object(module, name, kept))
        yield rng


def type_kept(x, rng):
    new = moved(x, rng)
    return new if isinstance(x, np.ndarray) else type(x)(new)


def rounding_decides(outcome, function, call, want, differing):
    """outcome, differing: as in `replay`."""
    for turn in range(TURNS):
        with shaken(turn) as rng:
            try:
                got = outcome(function, call, lambda given: move_all(given, rng))
            except Exception:
                continue
        if differing(got, want) is not None:
            return True
    return False
