"""Which calls of a generator's methods are equations of the program: their kind, parameters and shape, and what NumPy
asks of parameters.

`NotADraw` says that a call is none: Python is called for it then.
"""

import copy

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.drawing import FLOAT, KINDS, WHOLE
from ...ir.types import Tensor
from ..common.errors import message
from ..common.frames import locate
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.ranges import interval
from ..values.storage import current_trace

DEFAULTS = {"low": 0.0, "high": 1.0, "loc": 0.0, "scale": 1.0, "mean": 0.0, "sigma": 1.0}
LEGACY_NAMES = {"random_sample": "random", "randint": "integers"}
NUMBERS = "biuf"  # kinds of numbers that are floats where a distribution takes them
NUMPYS = int, np.int64, np.dtype(np.int64), "int64"  # dtypes of whole numbers that are those of the IR
EXACT = 1 << 53  # fact: ints up to this are floats
ODD = 7  # what bounds of whole numbers are apart, to be found again in the text of an error


class NotADraw(Exception):
    """A call that is no equation."""


def static_shape(size):
    """The shape that an argument `size` asks for."""
    sizes = size if isinstance(size, tuple | list) else () if size is None else (size,)
    if not all(isinstance(n, int | np.integer) and n > 0 for n in sizes):
        raise NotADraw
    return tuple(map(int, sizes))


def bound_arguments(names, args, kwargs, defaults, others=()):
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
        found = bound_arguments(("low", "high"), args, kwargs, {} if name == "randint" else {"high": None})
        found["size"] = None
    elif name == "choice":
        others = ("replace", (True,)), ("p", (None,)), ("axis", (0,)), ("shuffle", (True, False))
        found = bound_arguments(("low", "size"), args, kwargs, {"size": None}, others) | {"high": None}
        if np.ndim(found["low"]) != 0:
            raise NotADraw
    else:
        others = ("dtype", NUMPYS), ("endpoint", (False,))
        found = bound_arguments(("low", "high", "size"), args, kwargs, {"high": None, "size": None}, others)
    low, high = (0, found["low"]) if found["high"] is None else (found["low"], found["high"])
    return low, high + 1 if name == "randint" and family == "Random" else high, found["size"]


def bound_call(family, name, args, kwargs):
    """(kind, parameters, shape) of a call of a method, its parameters plain or traced."""
    kind = LEGACY_NAMES.get(name, name)
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
        return "integers", [whole_bound(low), whole_bound(high)], static_shape(size)
    if kind not in KINDS or family == "Random" and kind not in ("random", "uniform"):
        raise NotADraw
    names = KINDS[kind][0]
    if family == "Random":
        found = bound_arguments(names, args, kwargs, {}) | {"size": None}
        if not all(fits_float(x) and is_of_python(x) for x in found.values()):
            raise NotADraw
    else:
        others = ("dtype", (np.float64, float, "float64")), ("out", (None,)), ("method", ("zig",))
        others = others if kind.startswith("standard_") or kind == "random" else ()
        found = bound_arguments((*names, "size"), args, kwargs, {**DEFAULTS, "size": None}, others)
    return kind, [real_parameter(found[n]) for n in names], static_shape(found["size"])


def whole_bound(x):
    """A bound of whole numbers, as the IR has them."""
    if isinstance(x, TracedScalar) and x.dtype.kind in "iu" and x.dtype != np.uint64:
        return x
    if isinstance(x, int | np.integer) and not isinstance(x, bool) and abs(int(x)) < 2**63:
        return int(x)
    raise NotADraw


def real_parameter(x):
    """A parameter, as the IR has them."""
    if isinstance(x, Traced):
        if x.dtype.kind in NUMBERS:
            return x
    elif isinstance(x, bool | int | float | np.number | np.bool_) and not isinstance(x, np.complexfloating):
        return float(x)
    raise NotADraw


def is_of_python(x):
    """Whether Python computes with a number as with its own floats: but for the type, with float64 too."""
    if isinstance(x, Traced):
        return isinstance(x, TracedScalar) and (x.weak is not None or x.dtype == np.float64)
    return isinstance(x, np.float64) or not isinstance(x, np.generic)


def fits_float(x):
    """Whether a parameter of Python's is no int that is rounded as a float: there it is computed with before."""
    if isinstance(x, Traced) and x.dtype.kind in "iu":
        known = interval(x.value)
        return known is not None and None not in known and max(map(abs, known)) <= EXACT
    return not isinstance(x, int) or abs(x) <= EXACT


class Condition:
    """What parameters that are traced must be. failing: those with which the method says that they are not; unless:
    [(test, such parameters)] where it says something else; value: the number that its text names."""

    def __init__(self, ok, failing, unless=(), value=None):
        self.ok, self.failing, self.unless, self.value = ok, failing, unless, value

    def check(self, generator, function):
        """Have the program raise what the method raises."""
        kind, text = refused_draw(generator, function, self.failing)
        if self.value is not None:
            text = text.replace(str(self.failing[-1] + (function == "randint")), "{}", 1)
        others = [(test, *refused_draw(generator, function, failing)) for test, failing in self.unless]
        others = [(test, error, message(said, locate())) for test, error, said in others]
        current_trace().check(self.ok, kind, message(text, locate()), self.value, others)


def refused_draw(generator, function, failing):
    """(type, text) of what a method raises on parameters that it does not take."""
    try:
        getattr(copy.deepcopy(generator), function)(*failing)
    except Exception as error:  # NumPy's own
        return type(error), str(error)
    raise NotADraw


def conditions(family, function, kind, parameters):
    """The Conditions of the parameters that are traced."""
    named = dict(zip(KINDS[kind][0], parameters))
    traced = {n for n, p in named.items() if isinstance(p, Traced)}
    if any(isinstance(p, TracedArray) and n != "loc" for n, p in named.items()):
        raise NotADraw
    value = lambda n: parameter_operand(named[n], parameter_dtype(kind))
    if kind == "integers":
        return whole_conditions(family, function, value("low"), value("high")) if traced else []
    if not traced or kind == "normal" and traced == {"loc"}:
        return []
    if kind in ("normal", "exponential"):
        return [Condition(without_sign(value("scale")), [-1.0 if n == "scale" else 0.0 for n in named])]
    if kind != "uniform":
        raise NotADraw
    between = OPS["sub"](value("high"), value("low"))
    found = [] if family == "Random" else [Condition(OPS["is_finite"](between), [0.0, np.inf])]
    return [*found, Condition(without_sign(between), [1.0, 0.0])] if family == "Generator" else found


def whole_conditions(family, function, low, high):
    """Those of the bounds of whole numbers, as far as they are not known to hold."""
    least, most = interval(low), interval(high)
    if least is not None and most is not None and least[1] is not None and most[0] is not None and least[1] < most[0]:
        return []
    ok = OPS["lt"](low, high)
    if function == "choice":
        return [Condition(ok, [0])]
    if family == "Random":
        if not isinstance(low, Lit):
            raise NotADraw
        first = int(low.value)
        end = first - ODD - (function == "randint")
        return [Condition(ok, [first, end] if first else [end] if function == "randrange" else [0, end], (), high)]
    if isinstance(low, Lit):
        return [Condition(ok, [int(low.value)] * 2)]
    return [Condition(ok, [3, 2], [(OPS["eq"](low, Lit(0, low.type)), [0, 0])])]


def without_sign(x):
    """Whether a float is NaN or has no sign, as NumPy asks."""
    signed = OPS["lt"](OPS["copysign"](Lit(1.0, x.type), x), Lit(0.0, x.type))
    return OPS["or"](OPS["not"](signed), OPS["ne"](x, x))


def parameter_dtype(kind):
    return WHOLE if kind == "integers" else FLOAT


def parameter_operand(x, dtype):
    if not isinstance(x, Traced):
        return Lit(x, Tensor((), dtype))
    value = current_trace().bring(x.value)
    return value if x.dtype == dtype else OPS["cast"](value, dtype=dtype)


def over_shape(x, shape):
    """A parameter as an operand of a draw of numbers of a shape."""
    if not x.type.shape or x.type.shape == shape:
        return x
    if x.type.ndim > len(shape):
        raise NotADraw
    dims = [*range(len(shape) - x.type.ndim, len(shape))]
    kept = [k for k, n in enumerate(x.type.shape) if n == shape[dims[k]]]
    x = OPS["reshape"](x, shape=tuple(x.type.shape[k] for k in kept))
    return OPS["broadcast"](x, shape=shape, dims=tuple(dims[k] for k in kept))
