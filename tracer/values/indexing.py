"""`x[key]` and `x[key] = v` as NumPy means them: basic keys make views, arrays of indices make copies.

NumPy's own answer on the shadow decides shapes and IndexError for everything static. Traced indices
are wrapped where negative and checked: out of range raises IndexError when the program runs, before
any argument has been changed.
"""

import operator

import numpy as np

from ...backends.xla.dispatch import is_device_array
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.indexing import index_arrays, put_arrays
from ..common.emit import INDEX, cast_to, reshape_to, spread_to
from ..common.errors import ShapeError, UnsupportedError, message, with_note
from ..common.frames import locate
from .array import Traced, TracedArray, TracedScalar, bring, fresh, wrap
from .gathering import advanced, not_an_index
from .layout import indexed_as
from .mixed import Mixed, dtype_of, has_mixed
from .promote import broadcast_shapes, nested, nested_items, operand_as, read, shape_of
from .slicing import basic, concrete
from .storage import current_trace
from .weak import PythonInt, literal_within

INPUT = "could not broadcast input array from shape {} into shape {}"
MISMATCH = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"


def getitem(x, key):
    """The view or copy NumPy returns for `x[key]`."""
    key = as_tuple(key)
    if all(is_basic(k) for k in key):
        view = x.window(basic(x, key))
        scalar = not view.type.shape and not any(k is Ellipsis for k in key)
        return TracedScalar(view.value) if scalar else view
    view, pairs, place = advanced(x, key)
    value = index_arrays(view.value, pairs, place)
    if len(value.type.shape) > 1:
        return indexed_as(value, view, [axis for axis, _ in pairs], place)
    return fresh(value) if any(k is Ellipsis for k in key) else wrap(value)


def setitem(x, key, value):
    """Store `value`, broadcast and cast as NumPy does, into the window `key`."""
    if type(value) is Mixed or isinstance(value, list | tuple) and has_mixed(value):
        wide = type(value) is Mixed and x.dtype.kind in "fc" and np.can_cast(value.type.dtype, x.dtype, "same_kind")
        if not wide:
            return Traced.apart(setitem, (x, key, value))
        value = TracedScalar(bring(value._value))
    key = as_tuple(key)
    if not x.writeable:
        x.write(x.value)  # raises as NumPy does
    whole = all(is_basic(k) for k in key)
    operand = stored(value, x.dtype, whole)
    if whole:
        step = basic(x, key)
        view = x.window(step)
        if not view.shape and Ellipsis not in [k for k in key if not isinstance(k, TracedScalar)]:
            one_number(value, x.dtype)
        view.write(fitted(operand, view.shape))
        return
    view, pairs, place = advanced(x, key)
    shape = broadcast_shapes([shape_of(i) for _, i in pairs])
    rest = [n for a, n in enumerate(view.shape) if a not in [a for a, _ in pairs]]
    target = (*rest[:place], *shape, *rest[place:])
    if not target and Ellipsis not in [k for k in key if not isinstance(k, Traced | np.ndarray)]:
        one_number(value, x.dtype)
    view.write(put_arrays(view.value, pairs, fitted(operand, target, MISMATCH), at=place))


def one_number(value, dtype):
    """An element takes a number alone: no list and no array with axes, however few numbers these hold; booleans take
    their truth."""
    listed = isinstance(value, list | tuple)
    if dtype.kind != "b" and (listed or getattr(value, "ndim", 0)):
        error = TypeError if dtype.kind == "c" or listed and dtype.kind in "iu" else ShapeError
        what = f"a {type(value).__name__}" if listed else f"an array of shape {value.shape}"
        raise with_note(
            error,
            message(
                f"{what} is stored into one element of an array, which takes a number",
                locate(),
                "Store one of it: y[0], or y.item().",
            )
        )


def stored(value, dtype, whole=True):
    """The operand that `value` becomes where it is stored into an array of this dtype; raises what does not fit.

    whole: whether no array says the places, for there NumPy's scalars are cast like the elements of arrays.
    """
    operand, kind = read(value)
    if (kind is complex or isinstance(kind, np.dtype) and kind.kind == "c") and dtype.kind not in "bc":
        # NumPy refuses Python's complex numbers, and takes the real part of its own with a warning
        raise (TypeError if kind is complex else UnsupportedError)(
            message(
                f"a complex value cannot be stored in an array of {dtype}",
                locate(),
                "Store its .real, or make the array complex.",
            )
        )
    if not whole and (isinstance(value, np.generic) or type(value) is TracedScalar and value.weak is None):
        return cast_to(operand, dtype)
    if dtype.kind in "iu" and isinstance(value, list | tuple):
        operand = read(whole_parts(value, dtype))[0]
    elif (
        dtype.kind in "iu"
        and type(value) is not TracedArray
        and (kind is float or isinstance(kind, np.dtype) and kind.kind in "iuf")
    ):
        as_an_int(value, operand, dtype)
    return operand_as(operand, dtype)


def as_an_int(value, operand, dtype):
    """A scalar stored among integers goes by way of a Python int, which raises where there is none or it does not fit;
    an array's elements are cast, and NumPy's own scalars too where the integers are unsigned."""
    info, ours = np.iinfo(dtype), type(value) is float or type(value) is TracedScalar and value.weak is not None
    if not isinstance(value, TracedScalar | np.generic | float) or not ours and dtype.kind == "u":
        return
    words = message(f"Python integer {{}} out of bounds for {dtype}", locate())
    if isinstance(operand, Value | Lit) and operand.type.kind in "iu":
        x = operand
        if not np.can_cast(x.type.dtype, dtype):
            inside = OPS["le"](x, Lit(info.max, x.type))
            if x.type.kind == "i":
                inside = OPS["and"](inside, OPS["ge"](x, Lit(info.min, x.type)))
            current_trace().check(inside, OverflowError, words, x)
    elif isinstance(value, float | np.floating):
        literal_within(int(value), dtype)
    elif isinstance(value, TracedScalar):
        x = OPS["trunc"](cast_to(operand, np.dtype(np.float64)))
        fits = OPS["and"](OPS["ge"](x, Lit(float(info.min), x.type)), OPS["lt"](x, Lit(float(info.max + 1), x.type)))
        current_trace().check(OPS["eq"](x, x), ValueError, message("cannot convert float NaN to integer", locate()))
        infinite = OPS["eq"](OPS["abs"](x), Lit(np.inf, x.type))
        current_trace().check(
            OPS["not"](infinite), OverflowError, message("cannot convert float infinity to integer", locate())
        )
        current_trace().check(fits, OverflowError, words, cast_to(x, INDEX))


def whole_parts(items, dtype):
    """The list with its numbers as integers, each converted by itself: none goes by way of a float beside it."""
    numbers = [i for i in nested_items(items) if not isinstance(i, TracedArray)]
    np.array([i for i in numbers if isinstance(i, int | float | np.integer | np.floating)], dtype)  # NumPy's own words
    for i in numbers:
        if type(i) is complex or isinstance(i, TracedScalar) and i.weak is complex:
            raise with_note(
                TypeError,
                message(
                    "int() argument must be a string, a bytes-like object or a real number, not 'complex'", locate()
                )
            )
        if isinstance(i, TracedScalar) and i.weak is int:
            PythonInt(i.value).given(dtype)
        elif isinstance(i, TracedScalar) and i.type.kind in "iuf":
            as_an_int(i, i.value, dtype)
    return each_as(items, dtype) if any(isinstance(i, Traced) for i in nested_items(items)) else items


def each_as(x, dtype):
    if isinstance(x, list | tuple):
        return [each_as(i, dtype) for i in x]
    if isinstance(x, TracedArray):
        return fresh(cast_to(x.value, dtype))
    return (
        TracedScalar(cast_to(x.value, dtype), None) if isinstance(x, TracedScalar) else np.asarray(x).astype(dtype)[()]
    )


def as_tuple(key):
    """The key as a tuple of what NumPy reads in it: indices that follow from constants alone plain, array-likes as
    arrays."""
    key = tuple([plainly(k) for k in (key if isinstance(key, tuple) else (key,))])
    if sum(k is Ellipsis for k in key) > 1:
        raise with_note(IndexError, message("an index can only have a single ellipsis ('...')", locate()))
    return key


def plainly(k):
    """One part of a key: numbers that name a place as ints, lists and other array-likes as arrays."""
    if type(k) is Mixed:
        if any(s[1] is bool or dtype_of(s).kind not in "iu" for s in k.kinds):
            k.fail()
        k = TracedScalar(bring(k._value), int)
    kind = type(k)
    if kind is int or kind is slice or k is None or k is Ellipsis:
        return k
    if isinstance(k, Traced):
        return concrete(k)
    if isinstance(k, np.ndarray | np.generic | bool | slice) or is_device_array(k):
        return k
    if isinstance(k, list | tuple):
        traced = any(isinstance(i, Traced) for i in nested_items(k))
        if not traced:
            return places_of(k)
        made = fresh(nested(k))
        if made.type.kind not in "iub":
            raise not_an_index(False)
        return made
    return operator.index(k) if hasattr(k, "__index__") else places_of(k)


def places_of(k):
    """An array-like as an array of indices, or of bools; a mere [] has no dtype of its own."""
    k = np.asarray(k)
    if k.size and k.dtype.kind not in "iub":
        raise not_an_index(False)
    return k if k.size else k.astype(INDEX)


def is_basic(k):
    """Integers, slices, newaxis and Ellipsis; a traced integer scalar counts, bools do not."""
    if isinstance(k, TracedScalar):
        return k.type.kind in "iu"
    return (
        k is None
        or k is Ellipsis
        or isinstance(k, slice)
        or (isinstance(k, int | np.integer) and not isinstance(k, bool))
    )


def fitted(operand, shape, words=INPUT):
    """`operand` broadcast into a window; leading axes of size one may be dropped, as NumPy allows."""
    have = operand.type.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    operand = reshape_to(operand, have)
    if len(have) > len(shape) or any(a not in (1, b) for a, b in zip(have[::-1], shape[::-1])):
        raise ShapeError(message(words.format(operand.type.shape, shape).replace(", ", ","), locate()))
    return spread_to(operand, tuple(shape))


def scalar_item(x, key):
    """`s[()]`, `s[...]`, `s[None]` and `s[True]` of a scalar; anything else raises as NumPy does."""
    if x.weak is not None:
        raise with_note(TypeError, message(f"{x.weak.__name__!r} object is not subscriptable", locate()))
    key = as_tuple(key)
    bools = [
        k for k in key if isinstance(k, bool | np.bool_) or isinstance(k, Traced) and k.type.kind == "b" and not k.ndim
    ]
    if len(bools) + sum(k is Ellipsis or k is None for k in key) == len(key):
        return fresh(x.value)[key] if key else x
    raise with_note(IndexError, message("invalid index to scalar variable.", locate()))
