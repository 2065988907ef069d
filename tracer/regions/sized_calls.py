"""Calls while a function is traced for programs of all sizes: who is given Sizes, who the numbers, and what is told of
results.

The user's own functions and Python's containers are given Sizes as they are: what C code asks of a Size comes to its
methods. NumPy's handlers are given plain ints, for what they make shows in the program, and arrays that NumPy would
make at once of sizes alone are equations here. All other code pins.
"""

import functools
import math
import operator
import types

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, counted, filled
from ..common.frames import internal
from ..guards.reliance import of_user
from ..guards.state import TRANSPARENT
from ..numpy_api.creation import lower_triangle
from ..numpy_api.handles import is_traced
from ..numpy_api.registry import call_function
from ..rewriter.expressions import HOOK
from ..values.array import Traced, TracedArray, fresh
from ..values.asked import Met, asking
from ..values.promote import checked
from ..values.sized_range import SizedRange
from ..values.sized_shapes import sized_shape
from ..values.sizes import Size, anew, has_sizes, plain_sizes, size_made, tell_numbers
from .builtins import REPLACED

TAKEN = {}  # function -> what stands for it where it is given Sizes
# that hold what they are given, or ask it by its methods
HOLDING = {tuple, list, dict, set, frozenset, zip, enumerate, map, filter, iter, reversed, sum, sorted, any, all, bool}
HOLDING |= {min, max, isinstance, issubclass, type, callable, getattr, hasattr, setattr, super, property, next, slice}
HOLDING |= {len, abs, round, divmod, pow, math.prod, functools.reduce}
MODULES = ("_operator", "itertools", "_functools")  # all of which do
CONTAINERS = (list, dict, tuple, set, frozenset)
BY_SHAPE = {np.array_equal, np.array_equiv}  # whose answer hangs on whether a size is another, not on how large it is
MAKING = {np.zeros, np.ones, np.empty, np.full, np.linspace, np.broadcast_to, np.tile, np.repeat}


def takes(*functions):
    def register(stand_in):
        TAKEN.update(dict.fromkeys(functions, stand_in))
        return stand_in

    return register


def with_sizes_seen(f, made):
    """What to call in place of `made`, which stands for f."""
    return made if is_with_hooks(f, made) else functools.partial(called_with_sizes, f, made)


def is_with_hooks(f, made):
    """Whether what is called are functions with hooks, or classes and objects of the user's."""
    while type(f) is functools.partial:
        f = made = f.func
    function = made.__func__ if type(made) is types.MethodType else made
    if type(function) is types.FunctionType and HOOK in function.__code__.co_freevars:
        return True
    if isinstance(f, type):
        return of_user(f)
    return of_user(type(f)) and not isinstance(f, Traced)


def called_with_sizes(f, made, /, *args, **kwargs):
    given = [*args, *kwargs.values()]
    sized = any(map(has_sizes, given))
    if sized and (is_of_numpy(f) or is_method(f)) and not isinstance(f, np.ufunc) and not isinstance(f, type):
        owner = getattr(f, "__self__", None)
        tell_numbers(given, [x.type.shape for x in (*given, owner) if isinstance(x, TracedArray)])
    stand_in = stand_in_for(f) if sized or f in ASKED else None
    if stand_in is not None:
        return stand_in(*args, **kwargs)
    if not sized or keeps_sizes(f):
        out = made(*args, **kwargs)
    else:
        out = with_numbers(f, made, args, kwargs)
    if sized or f is len or is_traced(given) or isinstance(getattr(f, "__self__", None), Traced):
        return result_of(f, out)
    return out


TRANSPARENT.add(called_with_sizes.__code__)


def stand_in_for(f):
    try:
        return TAKEN.get(f)
    except TypeError:  # not hashable
        return None


def keeps_sizes(f):
    """Whether a function is given Sizes as they are."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, types.ModuleType) and owner.__name__ in MODULES:
        return True
    if isinstance(f, type):
        return f in HOLDING or issubclass(f, BaseException) or f.__module__ in MODULES
    if isinstance(f, types.BuiltinFunctionType | types.FunctionType) and f in HOLDING:
        return True
    return isinstance(owner, CONTAINERS) or type(f) is types.MethodDescriptorType and f.__objclass__ in CONTAINERS


def with_numbers(f, made, args, kwargs):
    """What a call gives where Sizes become numbers, or integers of the program."""
    if isinstance(f, np.ufunc) or of_numbers(f):
        return made(*map(in_program, args), **{k: in_program(x) for k, x in kwargs.items()})
    plain, named = [shown_as_held(x) for x in args], {k: shown_as_held(x) for k, x in kwargs.items()}
    if is_method(f) or is_of_numpy(f) and is_traced([*plain, *named.values()]):
        return made(*plain, **named)
    if is_of_numpy(f) and f in MAKING:
        return call_function(f, tuple(plain), named)
    why = f"{getattr(f, '__name__', type(f).__name__)}() is given it"
    return made(*[plain_sizes(x, why) for x in args], **{k: plain_sizes(x, why) for k, x in kwargs.items()})


def shown_as_held(x):
    """The number of a Size, of the kind that user code holds; Sizes in containers are shapes or indices."""
    return np.int64(x.shown()) if type(x) is Size and x.weak is None else plain_sizes(x)


def in_program(x):
    """Sizes as integers that the program computes with."""
    if type(x) is Size:
        return x.traced()
    return type(x)(map(in_program, x)) if type(x) in (tuple, list) and has_sizes(x) else plain_sizes(x)


def of_numbers(f):
    """Whether a function takes numbers as values, and gives what is computed of them."""
    if isinstance(f, type):
        return f is float or f is complex or issubclass(f, np.generic)
    return getattr(f, "__module__", None) == "math" and f not in HOLDING


def is_method(f):
    """Whether it is a method of a traced array, or a handler of ours."""
    if type(f) is functools.partial:
        return is_method(f.func)
    if isinstance(getattr(f, "__self__", None), Traced):
        return True
    code = getattr(f, "__code__", None)
    return code is not None and internal(code) and ".numpy_api." in f.__module__


def is_of_numpy(f):
    return (getattr(f, "__module__", None) or "").partition(".")[0] == "numpy"


def result_of(f, x):
    """What is told of a result that may hang on sizes: ints are sizes, all else that is known is the same in all
    traces."""
    kind = type(x)
    if kind is int:
        return anew(x)
    if kind in (tuple, list) and any(type(i) in (int, tuple, list, float, np.ndarray) for i in x):
        found = [result_of(f, i) for i in x]
        return kind(found) if kind is tuple else refilled(x, found)
    if kind is bool and is_of_numpy(f) and f in BY_SHAPE:
        asking().refuse(f"{f.__name__}() says whether shapes are equal")
    if kind in (bool, float, complex, str, bytes) or isinstance(x, np.generic):
        asking().tell(Met("result", kind.__name__, repr(x)))
    elif kind is np.ndarray:
        asking().tell(Met("array", x.shape, x.dtype.str, x.tobytes()))
    return x


def tell_items(items):
    """A list that a captured loop has made, and that is known beside what the program gives, must not hang on sizes."""
    if (asked := asking()) is not None and not all(map(is_traced, items)):
        asked.tell(Met("items", len(items)))


def refilled(items, found):
    items[:] = found
    return items


# -- functions that know Sizes ---------------------------------------------------------------------


@takes(np.shape)
def shape(a):
    return sized_shape(a) if type(a) is TracedArray else sizes_of_shape(np.shape(a))


def sizes_of_shape(found):
    return tuple(map(anew, found))


@takes(np.size)
def size(a, axis=None):
    found = shape(a)
    return math.prod(found) if axis is None else found[axis] if type(axis) is int else math.prod(found[k] for k in axis)


ASKED = {np.shape, np.size}


@takes(int, operator.index, math.floor, math.ceil, math.trunc)
def int_of(x=0, /):
    return x.as_int()


@takes(range)
def range_of(*bounds):
    if any(isinstance(b, Traced) and type(b) is not Size for b in bounds):
        return REPLACED[range](*plain_sizes(bounds))
    if len(bounds) == 3:
        tell_numbers(bounds[2], [])  # which may be zero
    return SizedRange(*bounds)


@takes(np.prod)
def product(a, **options):
    if options or not isinstance(a, tuple | list) or not all(type(k) in (int, Size) for k in a):
        return np.prod(plain_sizes(a, "np.prod"), **options)
    return as_int64(math.prod(a))


def as_int64(x):
    """A size, or an int, as NumPy gives it."""
    return size_made(x.dim, x.number, None) if type(x) is Size else np.int64(x)


@takes(np.array, np.asarray)
def array(x, *args, **kwargs):
    return call_function(np.array, (in_program(x), *args), kwargs)


@takes(np.arange)
def arange(*bounds, dtype=None, **options):
    plain = [plain_sizes(b) for b in bounds]
    if options or not all(type(b) is int for b in plain) or len(plain) > 3:
        return np.arange(*[plain_sizes(b, "np.arange") for b in bounds], dtype=dtype, **options)
    steps = SizedRange(*bounds).shown()
    found = cast_to(counted((len(steps),)), checked(np.dtype(int if dtype is None else dtype)))
    for name, k in (("mul", steps.step), ("add", steps.start)):
        if k != (name == "mul"):
            found = OPS[name](found, filled(k, (len(steps),), found.type.dtype))
    return fresh(found)


@takes(np.tri)
def tri(N, M=None, k=0, dtype=float):
    both = [len(SizedRange(x).shown()) for x in (N, N if M is None else M)]
    return fresh(cast_to(lower_triangle(tuple(both), plain_sizes(k)), checked(np.dtype(dtype))))


@takes(np.eye)
def eye(N, M=None, k=0, dtype=float):
    both = (plain_sizes(N), plain_sizes(N if M is None else M))
    np.empty((0, *both))  # NumPy's exception where one is negative
    row = OPS["add"](counted(both, 0), filled(plain_sizes(k), both, np.int64))
    return fresh(cast_to(OPS["eq"](row, counted(both, 1)), checked(np.dtype(dtype))))


@takes(np.identity)
def identity(n, dtype=None):
    return eye(n, dtype=float if dtype is None else dtype)
