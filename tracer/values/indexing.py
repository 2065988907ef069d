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
from ...ir.types import Tensor
from ..common.emit import INDEX, cast_to, constant_of, reshape_to, spread_to
from ..common.errors import CannotRoll, ConcretizationError, ShapeError, UnsupportedError, message
from ..common.frames import locate
from .array import Traced, TracedArray, TracedScalar, bring, fresh, wrap
from .mixed import Mixed, dtype_of, has_mixed
from .promote import broadcast_shapes, flat, nested, operand_as, read, shape_of
from .ranges import affine, distance, interval
from .status import all_within
from .storage import current_trace
from .views import IndexView
from .weak import PythonInt, literal_within

INPUT = "could not broadcast input array from shape {} into shape {}"
MISMATCH = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"
select, lt, ge, add, and_ = (OPS[n] for n in ("select", "lt", "ge", "add", "and"))


def getitem(x, key):
    """The view or copy NumPy returns for `x[key]`."""
    key = as_tuple(key)
    if all(is_basic(k) for k in key):
        view = x.window(basic(x, key))
        scalar = not view.type.shape and not any(k is Ellipsis for k in key)
        return TracedScalar(view.value) if scalar else view
    view, pairs, place = advanced(x, key)
    value = index_arrays(view.value, pairs, place)
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
    """An element takes a number alone: no list and no array with axes, however few numbers these hold; booleans take their truth."""
    listed = isinstance(value, list | tuple)
    if dtype.kind != "b" and (listed or getattr(value, "ndim", 0)):
        error = TypeError if dtype.kind == "c" or listed and dtype.kind in "iu" else ShapeError
        what = f"a {type(value).__name__}" if listed else f"an array of shape {value.shape}"
        raise error(message(f"{what} is stored into one element of an array, which takes a number", locate(), "Store one of it: y[0], or y.item()."))


def stored(value, dtype, whole=True):
    """The operand that `value` becomes where it is stored into an array of this dtype; raises what does not fit.

    whole: whether no array says the places, for there NumPy's scalars are cast like the elements of arrays.
    """
    operand, kind = read(value)
    if (kind is complex or isinstance(kind, np.dtype) and kind.kind == "c") and dtype.kind not in "bc":
        # NumPy refuses Python's complex numbers, and takes the real part of its own with a warning
        raise (TypeError if kind is complex else UnsupportedError)(
            message(f"a complex value cannot be stored in an array of {dtype}", locate(), "Store its .real, or make the array complex.")
        )
    if not whole and (isinstance(value, np.generic) or type(value) is TracedScalar and value.weak is None):
        return cast_to(operand, dtype)
    if dtype.kind in "iu" and isinstance(value, list | tuple):
        whole_parts(value, dtype)
    elif dtype.kind in "iu" and type(value) is not TracedArray and (kind is float or isinstance(kind, np.dtype) and kind.kind in "iuf"):
        as_an_int(value, operand, dtype)
    return operand_as(operand, dtype)


def as_an_int(value, operand, dtype):
    """A scalar stored among integers goes by way of a Python int, which raises where there is none or it does not fit; an array's
    elements are cast, and NumPy's own scalars too where the integers are unsigned."""
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
        current_trace().check(OPS["not"](infinite), OverflowError, message("cannot convert float infinity to integer", locate()))
        current_trace().check(fits, OverflowError, words, cast_to(x, INDEX))


def whole_parts(items, dtype):
    """That the numbers of a list fit among integers, each stored by itself."""
    numbers = [i for i in flat(items) if not isinstance(i, TracedArray)]
    np.array([i for i in numbers if isinstance(i, int | float | np.integer | np.floating)], dtype)  # NumPy's own words
    for i in numbers:
        if isinstance(i, complex) or isinstance(i, TracedScalar) and i.weak is complex:
            raise TypeError(message("int() argument must be a string, a bytes-like object or a real number, not 'complex'", locate()))
        if isinstance(i, TracedScalar) and i.weak is int:
            PythonInt(i.value).given(dtype)
        elif isinstance(i, TracedScalar) and i.type.kind in "iuf":
            as_an_int(i, i.value, dtype)


def as_tuple(key):
    """The key as a tuple of what NumPy reads in it: indices that follow from constants alone plain, array-likes as arrays."""
    key = tuple([plainly(k) for k in (key if isinstance(key, tuple) else (key,))])
    if sum(k is Ellipsis for k in key) > 1:
        raise IndexError(message("an index can only have a single ellipsis ('...')", locate()))
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
        traced = any(isinstance(i, Traced) for i in flat(k))
        return fresh(nested(k)) if traced else places_of(k)
    return operator.index(k) if hasattr(k, "__index__") else places_of(k)


def places_of(k):
    """An array-like as an array of indices, or of bools; a mere [] has no dtype of its own."""
    k = np.asarray(k)
    if k.size and k.dtype.kind not in "iub":
        text = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
        raise IndexError(message(text, locate()))
    return k if k.size else k.astype(INDEX)


def concrete(k):
    number = k.known()
    if number is None:
        return k
    return int(number) if isinstance(k, TracedScalar) and number.dtype.kind in "iu" else number


def is_basic(k):
    """Integers, slices, newaxis and Ellipsis; a traced integer scalar counts, bools do not."""
    if isinstance(k, TracedScalar):
        return k.type.kind in "iu"
    return k is None or k is Ellipsis or isinstance(k, slice) or (isinstance(k, int | np.integer) and not isinstance(k, bool))


def whole_mask(x, key):
    """The traced boolean array that is the only index, or None."""
    if len(key) == 1 and isinstance(key[0], Traced) and key[0].type.kind == "b":
        return key[0]
    return None


def fitted(operand, shape, words=INPUT):
    """`operand` broadcast into a window; leading axes of size one may be dropped, as NumPy allows."""
    have = operand.type.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    operand = reshape_to(operand, have)
    if len(have) > len(shape) or any(a not in (1, b) for a, b in zip(have[::-1], shape[::-1])):
        raise ShapeError(message(words.format(operand.type.shape, shape).replace(", ", ","), locate()))
    return spread_to(operand, tuple(shape))


# -- basic -----------------------------------------------------------------------------------------


def basic(x, key):
    """The Index step of a basic key."""
    key = tuple([settled(k) if isinstance(k, slice) else k for k in key])
    static = tuple(0 if isinstance(k, TracedScalar) else slice(0, k.count) if isinstance(k, Moving) else k for k in key)
    try:
        shape = x.shadow[static].shape
    except IndexError as error:
        raise IndexError(message(str(error), locate())) from None
    except TypeError as error:
        raise TypeError(message(str(error), locate())) from None
    used = sum(k is not None and k is not Ellipsis for k in key)
    expanded = []
    for k in key if any(k is Ellipsis for k in key) else (*key, Ellipsis):
        expanded += [slice(None)] * (x.ndim - used) if k is Ellipsis else [] if k is None else [k]
    axes = []
    for axis, (k, n) in enumerate(zip(expanded, x.shape, strict=True)):
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            axes.append((start, len(range(start, stop, step)), step))
        elif isinstance(k, Moving):
            axes.append((k.within(n), k.count, None))
        elif isinstance(k, TracedScalar):
            axes.append((wrapped(k.value, n, axis), 1, None))
        else:
            axes.append((int(k) % n, 1, 1))
    whole = static if any(k is Ellipsis for k in static) else (*static, Ellipsis)  # a view, even where all axes are dropped
    return IndexView(axes, shape, whole)


class Moving:
    """A slice of static length whose start is traced."""

    def __init__(self, start, count):
        self.start, self.count = start, count

    def within(self, n):
        """The start, known or checked to leave room for the whole slice: where it does not, NumPy's result is shorter."""
        start = cast_to(self.start, INDEX)
        bounds = interval(start)
        if bounds is None or bounds[0] < 0 or bounds[1] + self.count > n:
            terms = affine(start)[0]
            if bounds is not None and len(terms) == 1 and terms.keys() <= current_trace().root.bounds.keys():
                text = f"a slice of length {self.count} reaches over the ends of an axis of size {n}: it is shorter there"
                raise CannotRoll(message(text, locate()))
            inside = and_(ge(start, Lit(0, start.type)), lt(start, Lit(n - self.count + 1, start.type)))
            text = f"a slice of length {self.count} with a traced start reaches over the ends of an axis of size {n}"
            hint = "NumPy would give fewer elements, or count from the end; the compiled program has one length."
            current_trace().check(inside, IndexError, message(text, locate(), hint))
        return start


def settled(k):
    """A slice with the numbers that are known put in; a `Moving` one if its start is traced and its length is not."""
    parts = [concrete(p) if isinstance(p, Traced) else p for p in (k.start, k.stop, k.step)]
    if not any(isinstance(p, Traced) for p in parts):
        return slice(*parts)
    start, stop, step = parts
    count = None
    if step in (None, 1) and start is not None and stop is not None and all(type(p) is int or isinstance(p, TracedScalar) for p in (start, stop)):
        first, last = (p.value if isinstance(p, Traced) else Lit(p, Tensor((), INDEX)) for p in (start, stop))
        count = distance(last, first)
    if count is None or not isinstance(start, TracedScalar):
        raise ConcretizationError(
            message(
                "a slice has a traced bound, and a length that is known only when the program runs",
                locate(),
                "Slices such as x[i:i + 3] have a static length; otherwise take the whole axis and mask it: np.where(np.arange(n) < j, x, 0.0).",
            )
        )
    return Moving(first, max(count, 0))


def wrapped(index, n, axis=0):
    """A traced index into axis `axis`, made non-negative, with the check that it is within `n`."""
    index = cast_to(index, INDEX)
    if isinstance(index, Lit):
        return Lit(int(index.value) % n if n else 0, index.type)
    low, high = (interval(index) or (-n - 1, n)) if index.type.size else (0, -1)
    if low >= 0 and high < n:
        return index
    if low >= -n and high < 0:
        return add(index, Lit(n, index.type))
    zero, size = Lit(0, index.type), Lit(n, index.type)
    if low < -n or high >= n:
        inside, bad = all_within(index, n, low < -n, high >= n, current_trace().repeats(index))
        current_trace().check(inside, IndexError, message(f"index {{}} is out of bounds for axis {axis} with size {n}", locate()), bad)
    if low >= 0:
        return index
    return select(lt(index, zero), add(index, size), index)


# -- advanced --------------------------------------------------------------------------------------


def advanced(x, key):
    """-> (view of x under the basic part, [(axis, index value)] of one shape, place of the index axes in the result)."""
    full = axis_by_axis(key, x)
    arrays = [k for k in full if k is not None and not isinstance(k, slice)]
    shape = met(arrays)
    where = [i for i, k in enumerate(full) if k is not None and not isinstance(k, slice)]
    view = x.window(basic(x, tuple(None if k is ONE or k is NONE else slice(None) if i in where else k for i, k in enumerate(full))))
    adjacent = where == list(range(where[0], where[-1] + 1))
    pairs = []
    for axis in where:
        dropped = sum(k is None or k is ONE or k is NONE for k in full[:axis])
        pairs.append((axis, spread_to(index_value(full[axis], view.shape[axis], axis - dropped), shape)))
    return view, pairs, where[0] if adjacent else 0


def met(arrays):
    """The shape of arrays of indices together."""
    try:
        return np.broadcast_shapes(*[getattr(k, "shape", ()) for k in arrays])
    except ValueError:
        shapes = " ".join(str(getattr(k, "shape", ())).replace(", ", ",") for k in arrays)
        text = f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        raise IndexError(message(text, locate(), "Shapes as in arithmetic.")) from None


ONE, NONE = np.zeros(1, INDEX), np.zeros(0, INDEX)  # a single bool indexes a new axis of size one, once or never


def axis_by_axis(key, x):
    """The key with one entry an axis: no Ellipsis, concrete masks as the integer arrays of their nonzero positions."""
    for k in key:
        if isinstance(k, Traced) and k.type.kind == "b":
            raise UnsupportedError(
                message(
                    "a traced boolean mask beside other indices selects a data-dependent number of elements",
                    locate(),
                    "Use np.where(mask, x, 0.0) on the whole array.",
                )
            )
    masks = [np.ndim(k) if is_mask(k) else None for k in key]
    used = sum(0 if k is None or k is Ellipsis else 1 if d is None else d for k, d in zip(key, masks))
    if used > x.ndim:
        text = f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed"
        raise IndexError(message(text, locate()))
    out, axis = [], 0
    for k, d in zip(key if any(k is Ellipsis for k in key) else (*key, Ellipsis), [*masks, None]):
        if k is Ellipsis:
            out += [slice(None)] * (x.ndim - used)
            axis += x.ndim - used
        elif d == 0:
            out.append(ONE if k else NONE)
        elif d is not None:
            check_mask(k.shape, x.shape, axis)
            out += np.nonzero(k)
            axis += d
        else:
            out.append(k)
            axis += k is not None
    return out


def is_mask(k):
    return isinstance(k, bool | np.bool_) or isinstance(k, np.ndarray) and k.dtype == bool


def check_mask(mask, shape, axis=0):
    """That a mask of one shape fits onto the axes of another from `axis` on."""
    for d, (m, n) in enumerate(zip(mask, shape[axis:]), axis):
        if m != n:
            raise IndexError(message(misfit(m, n, d), locate()))


def misfit(m, n, axis, what="array"):
    """NumPy's words for a mask of m on an axis of n."""
    return f"boolean index did not match indexed {what} along axis {axis}; size of axis is {n} but size of corresponding boolean axis is {m}"


def index_value(k, n, axis):
    """An integer index, array or scalar, as a non-negative int64 value; checked."""
    if isinstance(k, Traced):
        if k.type.kind not in "iu":
            raise IndexError(
                message(f"arrays used as indices must be of integer (or boolean) type, got {k.type}", locate(), "Convert with x.astype(int).")
            )
        return wrapped(k.value, n, axis)
    k = np.asarray(k)
    if k.size == 0:
        k = k.astype(INDEX)
    if k.dtype.kind not in "iu":
        raise IndexError(message(f"arrays used as indices must be of integer (or boolean) type, got {k.dtype}", locate()))
    bad = (k < -n) | (k >= n)
    if bad.any():
        raise IndexError(message(f"index {k[bad].flat[0]} is out of bounds for axis {axis} with size {n}", locate()))
    return constant_of(np.where(k < 0, k + n, k).astype(INDEX))


def scalar_item(x, key):
    """`s[()]`, `s[...]`, `s[None]` and `s[True]` of a scalar; anything else raises as NumPy does."""
    key = as_tuple(key)
    bools = [k for k in key if isinstance(k, bool | np.bool_) or isinstance(k, Traced) and k.type.kind == "b" and not k.ndim]
    if len(bools) + sum(k is Ellipsis or k is None for k in key) == len(key) and x.weak is None:
        return fresh(x.value)[key] if key else x
    raise IndexError(message("invalid index to scalar variable.", locate()))
