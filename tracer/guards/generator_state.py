"""Draws of which the program knows the generator's state: a value that it takes in, moves on, and gives back.

So a draw is an equation as others are, in loops and branches, in machine code and in derivatives (`ir/ops/drawing.py`),
and the generators themselves are moved on when the program has run. This module says which calls are such draws.
"""

import contextlib
import random

import numpy as np

from ...backends import native
from ...backends.forked import platform
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ...ir.ops.drawing import FAMILIES, FLOAT, KINDS, TWINS, WHOLE, WORD, WORDS, bits_of, set_words, words_kept, words_of
from ...ir.types import Tensor
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.storage import Storage, current_trace

GENERATORS = tuple(FAMILIES.values())
DEFAULTS = {"low": 0.0, "high": 1.0, "loc": 0.0, "scale": 1.0, "mean": 0.0, "sigma": 1.0}
LEGACY = {"random_sample": "random", "randint": "integers"}
NUMBERS = "biuf"  # kinds of numbers that are floats where a distribution takes them
NUMPYS = int, np.int64, np.dtype(np.int64), "int64"  # dtypes of whole numbers that are those of the IR
MANY = 1 << 10  # bound: numbers of one draw, up to which calling Python for them takes longer than drawing them


class NotADraw(Exception):
    """A call that is no such draw."""


class GeneratorState:
    """The state of one bit generator during a call. source: the generator, or the Draw that makes it."""

    def __init__(self, draws, generator, source, root):
        self.draws, self.owner, self.source = draws, generator, source
        self.family, self.bits = known_bits(generator)
        self.value = Value(Tensor((words_kept(self.family, self.bits),), WORD), None, "state")
        root.build.values.add(self.value)
        self.storage = Storage(self.value, root)

    @property
    def index(self):
        """Its place behind the draws that are made before the launch."""
        return len(self.draws.list) + [*self.draws.states.values()].index(self)

    def generator(self, env):
        return self.source if isinstance(self.source, GENERATORS) else env[self.source.index]

    def lock(self):
        """A `with` during which nobody else draws from it."""
        foreign = isinstance(self.source, np.random.Generator | np.random.RandomState)
        return bits_of(self.source).lock if foreign else contextlib.nullcontext()

    def fits(self, env):
        """Whether the generator still is what the program was made for."""
        return known_bits(self.generator(env)) == (self.family, self.bits)

    def words(self, env):
        return words_of(self.generator(env))

    def leave(self, env, words):
        set_words(self.generator(env), words)


def known_bits(generator):
    """(family, bit generator) of a generator whose state can be told; None for others."""
    family = next((name for name, kind in FAMILIES.items() if type(generator) is kind), None)
    if family in (None, "Random"):
        return family and (family, "MT19937")
    bits = type(bits_of(generator))
    return (family, bits.__name__) if bits is getattr(np.random, bits.__name__, None) and bits.__name__ in WORDS else None


def key_of(generator):
    """What generators of one state have in common."""
    return id(generator if isinstance(generator, random.Random) else bits_of(generator))


def static_shape(size):
    """The shape that an argument `size` asks for."""
    sizes = size if isinstance(size, tuple | list) else () if size is None else (size,)
    if not all(isinstance(n, int | np.integer) and n > 0 for n in sizes):
        raise NotADraw
    return tuple(map(int, sizes))


def arguments(names, args, kwargs, defaults, others=()):
    """{name: argument} of a call. others: (name, values that change nothing) of further keywords."""
    if len(args) > len(names):
        raise NotADraw
    found = dict(zip(names, args))
    for name, x in kwargs.items():
        plain = dict(others).get(name)
        if plain is not None and any(x is y or type(x) is type(y) and x == y for y in plain):
            continue
        if name not in names or name in found:
            raise NotADraw
        found[name] = x
    for name in names:
        if name not in found:
            if name not in defaults:
                raise NotADraw
            found[name] = defaults[name]
    return found


def whole_bounds(family, name, args, kwargs):
    """(low, high, size) of a draw of whole numbers, high not among them."""
    if family == "Random":
        found = arguments(("low", "high"), args, kwargs, {} if name == "randint" else {"high": None})
        found["size"] = None
    elif name == "choice":
        others = ("replace", (True,)), ("p", (None,)), ("axis", (0,)), ("shuffle", (True, False))
        found = arguments(("low", "size"), args, kwargs, {"size": None}, others) | {"high": None}
        if np.ndim(found["low"]) != 0:
            raise NotADraw
    else:
        others = ("dtype", NUMPYS), ("endpoint", (False,))
        found = arguments(("low", "high", "size"), args, kwargs, {"high": None, "size": None}, others)
    low, high = (0, found["low"]) if found["high"] is None else (found["low"], found["high"])
    return low, high + 1 if name == "randint" and family == "Random" else high, found["size"]


def bound_call(family, name, args, kwargs):
    """(kind, parameters, shape) of a call of a method, its parameters plain or traced."""
    kind = LEGACY.get(name, name)
    if name in ("rand", "randn"):
        if kwargs:
            raise NotADraw
        return "random" if name == "rand" else "standard_normal", [], static_shape(args)
    if name in ("shuffle", "permutation"):
        if family == "Random" or len(args) != 1 or kwargs or not isinstance(args[0], int):
            raise NotADraw
        return "permutation", [], static_shape(args[0])
    if kind in ("integers", "choice", "randrange") or family == "Random" and name == "randint":
        low, high, size = whole_bounds(family, name, args, kwargs)
        return "integers", [whole(low), whole(high)], static_shape(size)
    if kind not in KINDS or family == "Random" and kind not in ("random", "uniform"):
        raise NotADraw
    names = KINDS[kind][0]
    if family == "Random":
        found = arguments(names, args, kwargs, {}) | {"size": None}
    else:
        others = ("dtype", (np.float64, float, "float64")), ("out", (None,)), ("method", ("zig",))
        others = others if kind.startswith("standard_") or kind == "random" else ()
        found = arguments((*names, "size"), args, kwargs, {**DEFAULTS, "size": None}, others)
    return kind, [real(found[n]) for n in names], static_shape(found["size"])


def whole(x):
    """A bound of whole numbers, as the IR has them."""
    if isinstance(x, TracedScalar) and x.dtype.kind in "iu" and x.dtype != np.uint64 or type(x) is int and abs(x) < 2**63:
        return x
    if isinstance(x, np.integer) and abs(int(x)) < 2**63:
        return int(x)
    raise NotADraw


def real(x):
    """A parameter, as the IR has them."""
    if isinstance(x, Traced):
        if x.dtype.kind in NUMBERS:
            return x
    elif isinstance(x, bool | int | float | np.number | np.bool_) and not isinstance(x, np.complexfloating):
        return float(x)
    raise NotADraw


def conditions(family, kind, parameters):
    """[(what must hold, parameters with which the method says that it does not)] of parameters that are traced."""
    traced = [n for n, p in zip(KINDS[kind][0], parameters) if isinstance(p, Traced)]
    named = dict(zip(KINDS[kind][0], parameters))
    if any(isinstance(p, TracedArray) and n != "loc" for n, p in named.items()):
        raise NotADraw
    value = lambda n: operand(named[n], parameter_dtype(kind))
    if not traced or traced == ["loc"] and kind == "normal":
        return []
    if kind in ("normal", "exponential"):
        return [(not_negative(value("scale")), [-1.0 if n == "scale" else 0.0 for n in named])]
    if kind == "uniform":
        between = OPS["sub"](value("high"), value("low"))
        found = [(OPS["is_finite"](between), [0.0, np.inf])] if family != "Random" else []
        return [*found, (not_negative(between), [1.0, 0.0])] if family == "Generator" else found
    if kind == "integers":
        return [(OPS["lt"](value("low"), value("high")), None)]
    raise NotADraw


def not_negative(x):
    """Whether a float is NaN or has no sign, as NumPy asks."""
    one = Lit(1.0, x.type)
    signed = OPS["lt"](OPS["copysign"](one, x), Lit(0.0, x.type))
    return OPS["or"](OPS["not"](signed), OPS["ne"](x, x))


def parameter_dtype(kind):
    return WHOLE if kind == "integers" else FLOAT


def operand(x, dtype):
    if not isinstance(x, Traced):
        return Lit(x, Tensor((), dtype))
    value = current_trace().bring(x.value)
    return value if x.dtype == dtype else OPS["cast"](value, dtype=dtype)


def spread(x, shape):
    """A parameter as an operand of a draw of numbers of a shape."""
    if not x.type.shape or x.type.shape == shape:
        return x
    if x.type.ndim > len(shape):
        raise NotADraw
    dims = [*range(len(shape) - x.type.ndim, len(shape))]
    kept = [k for k, n in enumerate(x.type.shape) if n == shape[dims[k]]]
    x = OPS["reshape"](x, shape=tuple(x.type.shape[k] for k in kept))
    return OPS["broadcast"](x, shape=shape, dims=tuple(dims[k] for k in kept))


def slow(family, bits, kind, allowed):
    """Why a draw is made by calling Python, or None."""
    if kind is None:
        return "it has no machine code"
    if not allowed or not native.allowed() or platform() != "cpu":
        return "there is no machine code for it here"
    return native.unlike_numpy(family, bits, kind)


class Twin:
    """The function of a `host` equation: a draw of any kind, from a state that it is given.

    Where it raises, the generator itself is left as the exception finds it.
    """

    def __init__(self, state, late):
        self.state, self.late, self.__name__ = state, late, late.__name__

    def __call__(self, words, *operands):
        twin = TWINS.at(self.state.family, self.state.bits, np.asarray(words))
        try:
            made = self.late.made(twin, operands)
        except Exception:
            if isinstance(self.state.source, GENERATORS):
                set_words(self.state.source, words_of(twin))
            raise
        return words_of(twin), *made
