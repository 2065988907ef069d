"""Python's own functions on traced values: `range`, `float`, `max`, `isinstance`, `math.sin` and their like.

`REPLACED` maps each to what stands in for it while tracing. On plain values a stand-in is the function itself.
"""

import builtins
import operator
import sys
import warnings

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import SHORT
from ..common.emit import cast_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray
from ..guards.state import TRANSPARENT
from ..numpy_api.handles import is_traced
from ..numpy_api.registry import call_function
from ..values import overflow
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, fresh
from ..values.asked import asking
from ..values.indexing import stored
from ..values.library_object import LibraryObject
from ..values.object_phi import ObjectPhi
from ..values.poison import Poison
from ..values.promote import operand_as, read
from ..values.sized_range import SizedRange
from ..values.sized_shapes import sized_shape
from ..values.storage import current_trace
from ..values.texts import TracedText
from ..values.variant import Variant
from .compensated import SINCE, sum_of_few
from .convert import CELL
from .jax_arrays import has_attribute, is_jax_class
from .merge import pick
from .variants import of_each

FEW = 64  # Python-level folds over a traced array write out at most so many steps
REPLACED = {}


def replaces(*functions):
    def register(stand_in):
        for f in functions:
            REPLACED[f] = stand_in
        TRANSPARENT.add(getattr(stand_in, "__code__", None))  # another stand-in may come in front of it
        return stand_in

    return register


def converts(x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return float(x) is not None
    except TypeError:
        return False


LENIENT = converts(np.ones(1))  # before NumPy 2.4 an array of one element was a number, whatever its dimensions


def is_one(x):
    """Whether x is a traced number, or an array that Python may take for one; TypeError as NumPy raises it for other
    traced arrays."""
    if not isinstance(x, Traced):
        return False
    if x.type.shape and not (LENIENT and x.type.size == 1):
        raise with_note(TypeError, message("only 0-dimensional arrays can be converted to Python scalars", locate()))
    return True


def scalar_operand(x):
    """A traced value of one element as a scalar operand."""
    value = x.value
    return value if not value.type.shape else OPS["reshape"](value, shape=())


def real_number(x, wanted):
    """`scalar_operand`, or the real part of a complex scalar of NumPy's, which is what that gives for a float or an
    int."""
    value = scalar_operand(x)
    if value.type.kind != "c":
        return value
    if not isinstance(x, TracedScalar) or x.weak is not None:
        raise with_note(
            TypeError, message(f"{wanted}() argument must be a string or a real number, not 'complex'", locate())
        )
    return OPS["real"](value)


def check(ok, error, text, value=None, words=None):
    current_trace().check(ok, error, message(text, locate()), value, words=words)


# -- conversions -----------------------------------------------------------------------------------


@replaces(float)
def float_(x=0.0, /):
    if not is_one(x):
        return builtins.float(x)
    return TracedScalar(cast_to(real_number(x, "float"), WEAK_DTYPES[float]), float)


@replaces(int)
def int_(x=0, /, *base, **more):
    if not is_one(x) or base or more:
        return builtins.int(x, *base, **more)
    value = real_number(x, "int")
    if value.type.kind == "f":
        overflow.from_float(value)
        value = OPS["trunc"](value)
    elif value.type.dtype == np.uint64:
        overflow.from_unsigned(value)
    return TracedScalar(cast_to(value, WEAK_DTYPES[int]), int)


@replaces(bool)
def bool_(x=False, /):
    if not isinstance(x, Traced):
        return builtins.bool(x)
    if x.type.size != 1:
        return builtins.bool(x)
    return truth(x)


def truth(x):
    """bool(x) of a traced number, as a traced Python bool."""
    value = scalar_operand(x)
    return TracedScalar(value if value.type.kind == "b" else OPS["ne"](value, Lit(0, value.type)), bool)


@replaces(complex)
def complex_(real=0, imag=0, /):
    if not (isinstance(real, Traced) or isinstance(imag, Traced)):
        return builtins.complex(real, imag) if imag != 0 or isinstance(real, str) is False else builtins.complex(real)
    imag = real_of(imag)
    wide = WEAK_DTYPES[complex]
    x, y = (operand_as(read(p)[0], wide, ()) for p in (real, imag))  # x + i y by parts: 0 * inf is to come nowhere
    first, second = OPS["real"](x), OPS["real"](y)
    if is_complex_number(imag):  # else 0 - 0, which is simplified to -0
        first = OPS["sub"](first, OPS["imag"](y))
    if is_complex_number(real):
        second = OPS["add"](OPS["imag"](x), second)
    return TracedScalar(OPS["make_complex"](first, second), complex)


def real_of(imag):
    """The second argument of complex(): of a complex number that is no Python complex, Python takes the real part."""
    if isinstance(imag, builtins.complex):
        return imag if not isinstance(imag, np.generic) else builtins.complex(imag)
    if isinstance(imag, np.complexfloating):
        return builtins.float(imag.real)
    return (
        fresh(OPS["real"](scalar_operand(imag)))
        if isinstance(imag, TracedScalar) and imag.dtype == np.complex64
        else imag
    )


def is_complex_number(x):
    return (x.type.kind if isinstance(x, Traced) else np.asarray(x).dtype.kind) == "c"


def _scalar_type(real):
    """np.float32(x) and its like: the number in that type; of an array, the array in that type."""

    def stand_in(*args, **kwargs):
        if len(args) != 1 or kwargs or not is_traced(args[0]):
            return real(*args, **kwargs)
        if isinstance(args[0], list | tuple):
            return call_function(np.asarray, (args[0],), {"dtype": real})
        made = (
            args[0].astype(real)
            if isinstance(args[0], TracedArray)
            else TracedScalar(scalar_of(args[0], np.dtype(real)))
        )
        return TracedScalar(made.value) if not made.shape else made

    return stand_in


def scalar_of(x, dtype):
    """A number in a dtype; one of Python's has to fit, as where it is stored."""
    value = stored(x, dtype) if getattr(x, "weak", None) and dtype.kind in "iuf" else operand_as(read(x)[0], dtype)
    return value if not value.type.shape else OPS["reshape"](value, shape=())


for _name in SHORT:
    if hasattr(np, _name) or _name == "bool":
        REPLACED[getattr(np, _name if _name != "bool" else "bool_")] = _scalar_type(np.dtype(_name).type)


# -- choices ---------------------------------------------------------------------------------------


def _extreme(real, better):
    def stand_in(*args, **kwargs):
        items = args
        if kwargs.get("key") is not None:
            kwargs = kwargs | {"key": CELL.cell_contents.call(kwargs["key"])}
        if len(args) == 1 and isinstance(args[0], TracedArray):
            if kwargs or args[0].shape[0] > FEW:
                raise UnsupportedError(
                    message(
                        f"{real.__name__}() of a traced array of {args[0].shape} goes element by element",
                        locate(),
                        f"Use x.{real.__name__}().",
                    )
                )
            items = tuple(args[0])
        elif len(args) == 1 and not isinstance(args[0], np.ndarray | str):
            items = tuple(args[0])
        if kwargs or not builtins.any(isinstance(i, Traced) for i in items):
            return real(args[0] if items is args else items, **kwargs) if len(args) == 1 else real(*args, **kwargs)
        best = items[0]
        for item in items[1:]:
            best = pick(better(item, best), item, best)
        return best

    return stand_in


REPLACED[max] = _extreme(max, lambda a, b: a > b)
REPLACED[min] = _extreme(min, lambda a, b: a < b)


@replaces(sum)
def sum_(iterable, /, start=0):
    if type(iterable) is BoundedArray:
        return start + np.sum(iterable, axis=0)
    if isinstance(iterable, TracedArray) and iterable.ndim and iterable.shape[0] > FEW and iterable.type.kind != "O":
        dtype = iterable.dtype if iterable.type.kind != "b" else np.dtype(np.int64)
        if builtins.type(start) is builtins.float and not start and dtype.kind == "f":  # which may be -0.0
            return np.sum(iterable, axis=0, dtype=dtype, initial=start)
        return start + np.sum(iterable, axis=0, dtype=dtype)
    if SINCE and current_trace() is not None and not isinstance(start, str | bytes | bytearray):
        iterable = list(iterable)
        if any(isinstance(x, Traced) for x in (start, *iterable)):
            return sum_of_few(iterable, start)
    return builtins.sum(iterable, start)


# -- what a value is -------------------------------------------------------------------------------


STANDING = Traced | TracedText  # what stands for an object of another class


def sample(x):
    """A plain object of the type a traced value stands for."""
    if isinstance(x, TracedArray | BoundedArray):
        return np.empty((0,))
    if type(x) is TracedText:
        return ""
    return x.weak() if x.weak else x.dtype.type(0)


def lacks(x, name):
    """Whether what a traced value stands for has no such attribute, whatever the traced value has."""
    known = type(x) in (TracedArray, TracedScalar)
    return known and not builtins.hasattr(builtins.type(sample(x)), name) and not has_attribute(x, name)


def require_one_thing(x):
    """What may be one thing or another answers nothing."""
    if builtins.type(x) in (Poison, Variant):
        x.fail()


@replaces(isinstance)
def isinstance_(x, kinds, /):
    if builtins.type(x) is Variant:
        return of_each(x, lambda side: isinstance_(side, kinds))
    require_one_thing(x)
    if isinstance(x, Traced) and (found := is_jax_class(x, kinds)) is not None:
        return found
    return builtins.isinstance(x, kinds) or (isinstance(x, STANDING) and builtins.isinstance(sample(x), kinds))


@replaces(type)
def type_(*args, **kwargs):
    if len(args) == 1:
        require_one_thing(args[0])
        if builtins.type(args[0]) is ObjectPhi:
            return args[0].kind
        if builtins.type(args[0]) is LibraryObject:
            return args[0].__class__
    return (
        builtins.type(sample(args[0]))
        if len(args) == 1 and isinstance(args[0], STANDING)
        else builtins.type(*args, **kwargs)
    )


@replaces(callable)
def callable_(x, /):
    require_one_thing(x)
    if builtins.type(x) is LibraryObject:
        return builtins.callable(x._like)
    return builtins.callable(x) and not isinstance(x, Traced | BoundedArray)


@replaces(dir)
def dir_(*x):
    if not x:
        return sorted(sys._getframe(1).f_locals)
    return builtins.dir(sample(x[0]) if isinstance(x[0], Traced) else x[0])


@replaces(np.iterable)
def iterable(y):
    require_one_thing(y)
    return type(y) is BoundedArray or np.iterable(sample(y) if type(y) is TracedScalar else y)


@replaces(operator.length_hint)
def length_hint(x, default=0, /):
    return x.shape[0] if type(x) is BoundedArray else operator.length_hint(x, default)


@replaces(len)
def len_(x, /):
    if type(x) is TracedArray and asking() is not None and x.shape:
        return sized_shape(x)[0]
    if type(x) is SizedRange:
        return x.count()
    return x.shape[0] if type(x) is BoundedArray else builtins.len(x)


@replaces(np.isscalar)
def isscalar(element):
    require_one_thing(element)
    return isinstance(element, TracedScalar) or np.isscalar(element)
