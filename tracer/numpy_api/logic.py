"""Predicates, choices, and stores under a mask."""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops.indexing import index_arrays, take_along_axis
from ...ir.ops.shape import concatenate
from ...ir.types import SMALL, Tensor
from ..common.emit import cast_to, reshape_to, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedArray, TracedScalar, fresh, wrap
from ..values.layout import laid_as
from ..values.promote import PYTHON_NUMBERS, UFUNCS, broadcast_shapes, operand_as, read, result_dtype, shape_of
from ..values.storage import current_trace
from ..values.weak import PythonInt
from .arguments import NOTHING, flat, give, given, traced, verdict, weak_or_traced
from .handles import dtype_of, value_of
from .registry import implements
from .ufunc_calls import apply_ufunc, weak_kind, write_out
from .ufunc_rules import everywhere, is_nan

BOOL = np.dtype(bool)
WIDTH = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}  # dtype kinds, by what holds what


def python_bool(value):
    """A boolean scalar value as Python's bool."""
    return TracedScalar(value, bool)


# -- predicates ------------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """|a - b| <= atol + rtol |b| where b is finite, or a = b."""
    x, y, atol, rtol = map(weak_or_traced, (a, b, atol, rtol))
    if not is_weak(y):
        y = give(cast_to(y.value, np.result_type(y.dtype, 1.0)))
    elif weak_kind(y) in (bool, int):
        y = TracedScalar(cast_to(y.value, np.dtype(float)), float) if isinstance(y, Traced) else float(y)
    with np.errstate(invalid="ignore"):
        close = np.less_equal(np.abs(x - y), atol + rtol * abs(y)) & np.isfinite(y) | np.equal(x, y)
    if equal_nan:
        close = close | (np.isnan(x) & np.isnan(y))
    return wrap(value_of(close))


def is_weak(x):
    return type(x) in PYTHON_NUMBERS or getattr(x, "weak", None) is not None


@implements(np.allclose)
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return python_bool(everywhere(value_of(isclose(a, b, rtol, atol, equal_nan))))


@implements(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    a, b = traced(a1), traced(a2)
    if a.shape != b.shape:
        return False
    same = value_of(np.equal(a, b))
    if equal_nan:
        same = e.or_(same, e.and_(is_nan(a.value), is_nan(b.value)))
    return python_bool(everywhere(same))


@implements(np.array_equiv)
def array_equiv(a1, a2):
    a, b = traced(a1), traced(a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return python_bool(everywhere(value_of(np.equal(a, b))))


def signed_infinity_test(positive):
    def run(x, out=None):
        x = traced(x)
        try:
            negative = np.signbit(x)
        except TypeError:
            text = f"This operation is not supported for {dtype_of(x)} values because it would be ambiguous."
            raise with_note(TypeError, message(text, locate())) from None
        return apply_ufunc(np.logical_and, (np.isinf(x), ~negative if positive else negative), out=out)

    return run


isposinf = implements(np.isposinf)(signed_infinity_test(True))
isneginf = implements(np.isneginf)(signed_infinity_test(False))


@implements(np.iscomplexobj)
def iscomplexobj(x):
    return dtype_of(x).kind == "c"


@implements(np.isrealobj)
def isrealobj(x):
    return not iscomplexobj(x)


@implements(np.iscomplex)
def iscomplex(x):
    x = traced(x)
    return x.imag != 0 if x.dtype.kind == "c" else give(Lit(False, x.type.like(dtype=bool)))


@implements(np.isreal)
def isreal(x):
    x, given_ = traced(x), x
    if weak_kind(given_) is not None:  # Python's numbers have .imag too, and compare as Python's
        return given_.imag == 0
    return x.imag == 0 if x.dtype.kind == "c" else give(Lit(True, x.type.like(dtype=bool)))


COMPARED = 64  # test elements up to this many are compared with every element; more are sorted and searched


@implements(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    if kind not in (None, "sort", "table"):
        raise with_note(ValueError, message(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.", locate()))
    if kind == "table" and not {dtype_of(element).kind, dtype_of(test_elements).kind} <= set("biu"):
        raise with_note(
            ValueError,
            message(
                "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for "
                "kind.",
                locate(),
            )
        )
    x, tests = traced(element), fresh(flat(value_of(test_elements)))
    dtype = np.result_type(x.dtype, tests.dtype)
    if tests.size == 0:
        found = Lit(False, x.type.like(dtype=bool))
    elif tests.size <= COMPARED or dtype.kind == "c":
        column = fresh(reshape_to(x.value, (*x.shape, 1)))
        found = r.reduce_or(value_of(np.equal(column, tests)), axes=(x.ndim,))
    else:
        ordered = np.sort(fresh(cast_to(tests.value, dtype)))
        places = np.minimum(np.searchsorted(ordered, x), tests.size - 1)
        near = index_arrays(ordered.value, [(0, value_of(places))], mode="promise")
        found = value_of(np.equal(fresh(near), x))
    return fresh(e.not_(found) if invert else found)


# -- choices ---------------------------------------------------------------------------------------


def wrapped_as(x, dtype):
    """A Python integer that NumPy makes an array of, and then casts: beyond the dtype it wraps."""
    if type(x) is PythonInt:
        return x.value
    return int(np.asarray(x).astype(dtype)) if type(x) is int and dtype.kind in "iu" else x


def where_wraps():
    """Whether np.where casts a Python int beyond the dtype; since NumPy 2.5 it raises OverflowError, as operators
    do."""
    try:
        return np.where(True, np.uint8(0), 256).dtype == np.uint8
    except OverflowError:
        return False


WHERE_WRAPS = where_wraps()


@implements(np.where)
def where(condition, x=NOTHING, y=NOTHING, /):
    """x where the condition holds, else y. The cotangent of the branch not taken is 0."""
    if x is NOTHING and y is NOTHING:
        return np.nonzero(condition)
    if x is NOTHING or y is NOTHING:
        raise with_note(ValueError, message("either both or neither of x and y should be given", locate()))
    given = condition, x, y
    (c, _), (x, x_key), (y, y_key) = read(condition), read(x), read(y)
    dtype = result_dtype([x_key, y_key])
    if WHERE_WRAPS:
        x, y = wrapped_as(x, dtype), wrapped_as(y, dtype)
    shape = broadcast_shapes([shape_of(c), shape_of(x), shape_of(y)])
    value = e.select(operand_as(c, BOOL, shape), operand_as(x, dtype, shape), operand_as(y, dtype, shape))
    return laid_as(value, given, fresh)


@implements(np.select)
def select(condlist, choicelist, default=0):
    """The first choice whose condition holds, else the default."""
    if len(condlist) != len(choicelist):
        raise with_note(ValueError, message("list of cases must be same length as list of conditions", locate()))
    if len(condlist) == 0:
        raise with_note(ValueError, message("select with an empty condition list is not possible", locate()))
    reads = [read(c) for c in (*choicelist, default)]
    dtype = result_dtype([k for _, k in reads])
    conditions = [value_of(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.type.kind != "b":
            raise with_note(TypeError, message(f"invalid entry {i} in condlist: should be boolean ndarray", locate()))
    shape = broadcast_shapes([*(c.type.shape for c in conditions), *(shape_of(v) for v, _ in reads)])
    if 0 in shape and type(default) is int:
        reads[-1] = 0, int  # nobody asks whether it fits
    *choices, result = [
        spread_to(as_choice(v, k, dtype, i == len(choicelist)), shape) for i, (v, k) in enumerate(reads)
    ]
    for c, choice in zip(conditions[::-1], choices[::-1]):
        result = e.select(spread_to(c, shape), choice, result)
    return fresh(result)


def as_choice(x, key, dtype, default):
    """A choice in the dtype of all. NumPy has made arrays of Python numbers by then: objects beyond 64 bits. Only the
    default is cast unasked."""
    if isinstance(x, Value | Lit | PythonInt):
        if not default and key is int:
            verdict(np.copyto, np.zeros((), dtype), np.zeros((), int))
        return cast_to(wrapped_as(x, dtype), dtype)
    made = np.full((), np.asarray(x), dtype) if default else np.zeros((), dtype)
    if not default:
        verdict(np.copyto, made, np.asarray(x))
    return Lit(made.item(), Tensor((), dtype))


@implements(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """Values, or functions of elements, chosen by conditions; each function is computed on all of x, so it must be
    elementwise."""
    x = traced(x)
    if (
        not isinstance(condlist, list | tuple)
        or not isinstance(condlist[0], list | tuple | np.ndarray | TracedArray)
        and x.ndim
    ):
        condlist = (
            [condlist] if not (isinstance(condlist, TracedArray | np.ndarray) and condlist.ndim > 1) else list(condlist)
        )
    conditions = [spread_to(cast_to(value_of(c), BOOL), x.shape) for c in condlist]
    if len(conditions) == len(funclist) - 1:
        some = conditions[0]
        for c in conditions[1:]:
            some = e.or_(some, c)
        conditions.append(e.not_(some))
    elif len(conditions) != len(funclist):
        n = len(conditions)
        raise with_note(
            ValueError, message(f"with {n} condition(s), either {n} or {n + 1} functions are expected", locate())
        )
    result = Lit(0, x.type)
    for c, piece in zip(conditions, funclist):
        if callable(piece):
            whole = fresh(flat(x.value))
            new = value_of(piece(whole, *args, **kw))
            check_elementwise(new, whole.value)
            new = reshape_to(spread_to(new, (x.size,)), x.shape)
        else:
            new = spread_to(value_of(piece), x.shape)
        result = e.select(c, cast_to(new, x.dtype), result)
    return fresh(result)


def check_elementwise(value, start):
    """Refuse a piece that mixes elements: it would see elements that are not its own."""
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v is start or isinstance(v, Lit) or v.eqn is None or v in seen:
            continue
        seen.add(v)
        if derives_from(v, start) and "elementwise" not in v.eqn.op.traits:
            raise UnsupportedError(
                message(
                    f"np.piecewise with a function that is not elementwise ({v.eqn.op.name}): which elements it is "
                    "given depends on data",
                    locate(),
                    "Write np.where(condition, value, other).",
                )
            )
        todo += v.eqn.operands


def derives_from(value, start):
    """Whether `value` was computed from `start`."""
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v is start:
            return True
        if not isinstance(v, Lit) and v.eqn is not None and v not in seen:
            seen.add(v)
            todo += v.eqn.operands
    return False


@implements(np.choose, method="choose")
def choose(a, choices, out=None, mode="raise"):
    """choices[a[i]][i], the choices broadcast against a."""
    a = traced(a)
    reads = [read(c) for c in (choices if isinstance(choices, list | tuple) else list(traced(choices)))]
    dtype = result_dtype([k for _, k in reads])
    shape = broadcast_shapes([a.shape, *(shape_of(v) for v, _ in reads)])
    index = fresh(spread_to(choice_index(a.value, len(reads), mode if np.prod(shape) else "clip"), shape))
    stacked = concatenate(
        *[reshape_to(operand_as(wrapped_as(v, dtype), dtype, shape), (1, *shape)) for v, _ in reads], axis=0
    )
    value = reshape_to(take_along_axis(stacked, reshape_to(index.value, (1, *shape)), 0, mode="promise"), shape)
    return give(value, out, "choose")


def choice_index(index, n, mode):
    """Choices as int64 below n: checked, wrapped or clipped."""
    if index.type.kind not in "iub":
        raise with_note(
            TypeError,
            message(
                f"Cannot cast array data from {index.type.dtype!r} to dtype('int64') according to the rule 'safe'",
                locate(),
            )
        )
    index = cast_to(index, np.dtype(np.int64))
    if mode == "raise":
        current_trace().check(
            everywhere(e.and_(e.ge(index, 0), e.lt(index, n))),
            ValueError,
            message("invalid entry in choice array", locate()),
        )
    if mode == "wrap":
        return value_of(np.remainder(fresh(index), n))
    return e.clamp(Lit(0, index.type), index, Lit(n - 1, index.type))


@implements(np.clip)
def clip(a, a_min=NOTHING, a_max=NOTHING, out=None, *, min=NOTHING, max=NOTHING, **kwargs):
    if a_min is NOTHING and a_max is NOTHING:
        a_min, a_max = given(min), given(max)
    elif a_min is NOTHING or a_max is NOTHING:
        raise with_note(
            TypeError,
            message(
                f"clip() missing 1 required positional argument: '{'a_min' if a_min is NOTHING else 'a_max'}'", locate()
            )
        )
    elif min is not NOTHING or max is not NOTHING:
        raise with_note(
            ValueError,
            message(
                "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.", locate()
            )
        )
    return clip_method(a, a_min, a_max, out, **kwargs)


@implements(method="clip")
def clip_method(a, min=None, max=None, out=None, **kwargs):
    a = traced(a)
    if a.dtype.kind in "iu":
        info = np.iinfo(a.dtype)
        min = None if type(min) is int and min <= info.min else min
        max = None if type(max) is int and max >= info.max else max
        dtype = a.dtype if min is None or max is None else result_dtype([read(x)[1] for x in (min, a, max)])
        min, max = (
            clip_bound(min, "maximum", info.min, a.dtype, dtype),
            clip_bound(max, "minimum", info.max, a.dtype, dtype),
        )
    if min is None and max is None:
        return apply_ufunc(np.positive, (a,), out=out, **kwargs)
    if min is None:
        return apply_ufunc(np.minimum, (a, max), out=out, **kwargs)
    if max is None:
        return apply_ufunc(np.maximum, (a, min), out=out, **kwargs)
    if not kwargs:
        reads = [read(x) for x in (min, a, max)]
        # np.clip has no loop for small floats
        dtype = result_dtype([np.dtype(np.float32) if k in SMALL else k for _, k in reads])
        shape = broadcast_shapes([shape_of(v) for v, _ in reads])
        low, x, high = [operand_as(v, dtype, shape) for v, _ in reads]
        value = e.clamp(low, x, high) if dtype.kind in "iuf" else UFUNCS[np.minimum](UFUNCS[np.maximum](x, low), high)
        out = out[0] if isinstance(out, tuple) else out
        return laid_as(value, [min, a, max]) if out is None else write_out("clip", out, value)
    return apply_ufunc(np.minimum, (np.maximum(a, min), max), out=out, **kwargs)


def clip_bound(n, name, edge, dtype, wider):
    """A bound of np.clip; a Python int beyond `edge`, which bounds no integer of the array's dtype, is that. Where the
    other bound makes the results `wider`, such an int bounds nothing."""
    if weak_kind(n) is not int or not isinstance(n, Traced) or edge > np.iinfo(np.int64).max:
        return n
    within = TracedScalar(getattr(e, name)(n.value, Lit(edge, n.type)), int)
    if wider == dtype:
        return within
    low = name == "maximum"
    end = np.iinfo(wider) if wider.kind in "iu" else None
    none = (-np.inf if low else np.inf) if end is None else end.min if low else end.max
    unbounded = (e.le if low else e.ge)(n.value, Lit(edge, n.type))
    return wrap(e.select(unbounded, Lit(none, Tensor((), wider)), operand_as(read(within)[0], wider)))
