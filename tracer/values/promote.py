"""NumPy's promotion and broadcasting made explicit.

dtypes are NumPy's own answer (`ufunc.resolve_dtypes`, NEP 50: Python numbers are weak), remembered per
ufunc and operand kinds.
"""

import numpy as np

from ...backends.xla.dispatch import is_device_array
from ...ir.bounded import Limited
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor
from ..common.emit import cast_to, constant_of, spread_to
from ..common.errors import ShapeError, UnsupportedError, message, numpy_words, of_shape, shown, with_note
from ..common.frames import locate
from .array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, fresh
from .elements import MANY, one_gather, segments
from .mixed import Mixed
from .poison import Poison
from .sizes import Size
from .storage import current_trace
from .weak import HIGH, INT, LOW, PythonInt, dtype_one_by_one, keys_kept, literal_within, number_key

PYTHON_NUMBERS = (bool, int, float, complex)
ORDERS = {np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">="}
COMPARISONS = {np.equal, np.not_equal, *ORDERS}
CONNECTIVES = {np.logical_and, np.logical_or, np.logical_xor, np.logical_not}
UFUNCS = {}  # ufunc -> (*values of the loop's dtypes) -> value (or tuple); filled by numpy_api.ufuncs
LATER = []  # what looks for ufuncs of libraries that were not loaded yet, and adds them
_literals = Limited()  # (Python type, number, type) -> Lit
_loops = Limited()  # (ufunc, operand keys) -> (operand dtypes, result dtypes)


PLAIN = (np.ndarray, np.memmap)  # whose results are plain arrays


def read(x):
    """(operand, key) of anything NumPy takes as an operand.

    The key is a dtype, or the Python type of a weak number; a plain Python number is its own operand, a traced int a
    `PythonInt`.
    """
    kind = type(x)
    if kind is TracedArray:
        return x.value, x.type.dtype
    if kind is TracedScalar or kind is Size:
        if x.weak is int:
            return PythonInt(x.value), int
        return x.value, x.weak if x.weak and x.weak is not bool else number_key(x.type.dtype)
    if kind in PYTHON_NUMBERS:
        return x, kind if kind is not bool else WEAK_DTYPES[bool]
    if isinstance(x, np.generic):
        return Lit(x, Tensor((), checked(x.dtype))), number_key(x.dtype)
    if isinstance(x, np.ndarray) or is_device_array(x):
        if isinstance(x, np.ndarray) and kind not in PLAIN:
            text = f"a {kind.__name__}, a subclass of ndarray, takes part in a traced operation"
            raise UnsupportedError(
                message(text, locate(), "What it makes of the operation is its own affair: write np.asarray(x).")
            )
        return array_value(x), np.dtype(x.dtype)
    if isinstance(x, list | tuple):
        value = nested(x)
        return value, value.type.dtype
    if isinstance(x, PYTHON_NUMBERS):  # of a class of its own, which NumPy takes for an array: it is not weak
        return read(np.asarray(x)[()])
    if isinstance(x, Poison | Mixed):
        x.fail()
    if isinstance(x, Traced) and hasattr(type(x), "fail"):  # of unknown length
        x.fail()
    raise UnsupportedError(
        message(
            f"{shown(x, 60)} cannot take part in a traced operation",
            locate(),
            "Operands are arrays, numbers, and lists of them.",
        )
    )


def checked(dtype):
    """The dtype, if the IR knows it."""
    if dtype.name not in SHORT or not dtype.isnative:
        hint = (
            "Lists of unequal lengths make such arrays: pad the rows to one length."
            if dtype.hasobject
            else "Convert it first, for example x.astype(np.float64)."
        )
        raise UnsupportedError(
            message(f"arrays of dtype {dtype} cannot be captured; known are {', '.join(SHORT)}", locate(), hint)
        )
    return dtype


def array_value(x):
    checked(np.dtype(x.dtype))
    return current_trace().capture(x)


def nested(items):
    """A list or tuple of arrays and numbers as one value, stacked along new leading axes as np.asarray does."""
    if not any(isinstance(i, Traced) for i in nested_items(items)):
        return constant_of(checked_array(items))
    found = segments(items)
    if len(found) == 1 and found[0][0] is not None:
        return found[0][0].value(current_trace())
    if len(items) > 2 and (value := one_gather(items, current_trace())) is not None:
        return value
    if len(items) > MANY and (value := by_columns(items)) is not None:
        return value
    if len(found) < len(items):
        return joined_segments(items, found)
    rows = [read(nested_value(i)) for i in items]
    shapes = {v.type.shape if isinstance(v, Value | Lit) else () for v, _ in rows}
    if len(shapes) != 1:
        hint = "Give all rows one shape, for example by padding with np.pad."
        raise ShapeError(message(ragged(items), locate(), hint))
    shape = shapes.pop()
    keys = [dtype_in_list(x, k) for x, k in rows]  # np.array knows no weak numbers
    try:
        dtype = result_dtype(keys)
    except TypeError:
        dtype = dtype_one_by_one(keys)
    reshape, concatenate = OPS["reshape"], OPS["concatenate"]
    parts = [reshape(spread_to(operand_as(v, dtype), shape), shape=(1, *shape)) for v, _ in rows]
    return concatenate(*parts, axis=0) if len(parts) > 1 else parts[0]


def ragged(items):
    """What NumPy says of lists and arrays of unequal shapes."""
    stands = lambda x: type(x)(map(stands, x)) if type(x) in (list, tuple) else of_shape(np.shape(x))
    return numpy_words(np.array, stands(items))


def by_columns(items):
    """A list of short lists, each place of which is a run of its own, as one value; else None."""
    width = len(items[0]) if isinstance(items[0], list | tuple) else 0
    if not 0 < width < len(items) or any(not isinstance(i, list | tuple) or len(i) != width for i in items):
        return None
    columns = list(zip(*items))
    if any(len(segments(c)) > 4 for c in columns if any(isinstance(x, Traced) for x in nested_items(c))):
        return None
    values = [nested(c) for c in columns]
    dtype = result_dtype([v.type.dtype for v in values])
    if len({v.type.shape for v in values}) != 1:
        return None
    shape = values[0].type.shape
    parts = [OPS["reshape"](cast_to(v, dtype), shape=(shape[0], 1, *shape[1:])) for v in values]
    return OPS["concatenate"](*parts, axis=1) if width > 1 else parts[0]


def joined_segments(items, found):
    """A list as one value, of which runs are rows of other arrays."""
    parts, at = [], 0
    for run, n in found:
        parts.append(run.value(current_trace()) if run is not None and n > 1 else nested(items[at : at + n]))
        at += n
    shapes = {p.type.shape[1:] for p in parts}
    if len(shapes) != 1:
        return nested([x for p in parts for x in fresh(p)])
    dtype = result_dtype([p.type.dtype for p in parts])
    return OPS["concatenate"](*(cast_to(p, dtype) for p in parts), axis=0)


def dtype_in_list(x, key):
    """The dtype that a number has as one of several that make an array: Python's ints beyond int64 are uint64, and
    beyond that objects."""
    if type(x) is int and not LOW <= x <= HIGH:
        return checked(np.asarray(x).dtype)
    return WEAK_DTYPES.get(key, key)


def nested_value(x):
    if isinstance(x, list | tuple):
        return fresh(nested(x))
    return x


def nested_items(items):
    for i in items:
        if isinstance(i, list | tuple):
            yield from nested_items(i)
        else:
            yield i


def checked_array(items):
    try:
        array = np.asarray(items)
    except ValueError as error:
        raise ShapeError(
            message(
                str(error), locate(), "A ragged list makes no array. Give all rows one length, for example by padding."
            )
        ) from None
    checked(array.dtype)
    return array


def operand_as(x, dtype, shape=None):
    """A read operand in a dtype, and a shape if given; Python numbers are range-checked as NEP 50 asks."""
    if type(x) is PythonInt:
        x = x.given(dtype)
    elif not isinstance(x, Value | Lit):
        if dtype.kind in "iu" and isinstance(x, int):
            x = literal_within(x, dtype)
        return literal(x, Tensor(() if shape is None else shape, dtype))
    elif x.type.dtype != dtype:
        x = cast_to(x, dtype)
    return x if shape is None or x.type.shape == shape else spread_to(x, shape)


def literal(x, type):
    """A Python number as a splat; remembered, zeros by their sign."""
    key = (x.__class__, x, type) if x else (repr(x), type)
    found = _literals.get(key)
    if found is None:
        found = Lit(x, type)
        if x == x:
            _literals[key] = found
    return found


def result_dtype(keys):
    """np.result_type over dtypes and the weak Python types."""
    keys = keys_kept(keys)
    strong = [k for k in keys if isinstance(k, np.dtype)]
    weak = [WEAK_DTYPES[k].type(0).item() for k in keys if not isinstance(k, np.dtype)]
    return np.result_type(*strong, *weak) if strong or weak else np.dtype(np.float64)


def broadcast_shapes(shapes, what="operands", beside=()):
    """NumPy's common shape; ShapeError in NumPy's words, with the shapes `beside` them, where there is none."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            message(
                f"{what} could not be broadcast together with shapes "
                f"{' '.join(str(s).replace(', ', ',') for s in (*shapes, *beside))} ",
                locate(),
                "Trailing axes must be equal or of size one; x[:, None] adds an axis.",
            )
        ) from None


def shape_of(x):
    return x.type.shape if isinstance(x, Value | Lit) else ()


def loop(ufunc, keys, dtype=None, casting="same_kind"):
    """(operand dtypes, result dtypes) of the inner loop NumPy would choose."""
    keys = keys_kept(keys)
    memo = (ufunc, keys, dtype, casting)
    found = _loops.get(memo)
    if found is None:
        if (
            casting == "equiv"
            and len({isinstance(k, np.dtype) for k in keys}) > 1
            and not ufunc.__name__.startswith("logical")
        ):
            keys = strong(ufunc, keys, dtype)  # NumPy's resolve_dtypes would crash
        chosen = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout}
        kinds = tuple(keys) + (None,) * ufunc.nout
        if all(not isinstance(k, np.dtype) for k in keys):
            kinds = tuple(WEAK_DTYPES[k] for k in keys) + (None,) * ufunc.nout
        try:
            types = ufunc.resolve_dtypes(kinds, casting=casting, **chosen)
        except TypeError as error:
            raise located(error) from None
        found = _loops[memo] = types[: ufunc.nin], types[ufunc.nin :]
    return found


def strong(ufunc, keys, dtype):
    """Keys with a dtype for each Python number, which under the casting rule 'equiv' must be the one it has alone."""
    wants, _ = loop(ufunc, keys, dtype)
    for key, want in zip(keys, wants, strict=True):
        if not isinstance(key, np.dtype) and want != WEAK_DTYPES[key]:
            raise with_note(
                TypeError,
                message(f"cannot cast Python {key.__name__} to {want} under the casting rule 'equiv'", locate())
            )
    return tuple(want if key in WEAK_DTYPES else key for key, want in zip(keys, wants, strict=True))


def located(error):
    """NumPy's exception with the user's line as a note."""
    error.add_note(message("", locate()).lstrip())
    # which would tell of the call of NumPy's, where the exception is what the caller says
    return error.with_traceback(None)


def rule_of(ufunc):
    found = UFUNCS.get(ufunc)
    if found is None:
        for look in LATER:
            look()
        found = UFUNCS.get(ufunc)
    return found


def ufunc_values(ufunc, inputs, dtype=None, casting="same_kind", outs=()):
    """Apply a ufunc to anything -> (values, result dtypes); the values have the common shape.

    outs: the shapes of arrays that take the results, which NumPy names where operands do not fit.
    """
    rule = rule_of(ufunc)
    if rule is None:
        raise unknown(ufunc)
    reads = [read(x) for x in inputs]
    if ufunc in CONNECTIVES:
        fitting(reads, np.int64)
    operands, keys = zip(*(exactly(reads) if ufunc in COMPARISONS else reads))
    # what is compared exactly is under no casting rule
    asked = any(key is not k for key, (_, k) in zip(keys, reads, strict=True))
    try:
        wants, gives = loop(ufunc, keys, dtype, "same_kind" if asked else casting)
    except TypeError as error:
        if dtype is not None and np.dtype(dtype).kind in "biu" and "Cannot cast" in str(error):
            fitting(reads, np.int64 if np.dtype(dtype).kind == "b" else np.dtype(dtype).type)
        raise
    shape = broadcast_shapes([shape_of(x) for x in operands], beside=outs)
    values = [operand_as(x, want, shape) for x, want in zip(operands, wants)]
    out = rule(*values)
    out = out if isinstance(out, tuple) else (out,)
    return tuple(cast_to(v, d) for v, d in zip(out, gives))


def fitting(reads, kind):
    """Raise as NumPy does where a Python integer does not fit."""
    for x, key in reads:
        if key is int and isinstance(x, int):
            kind(x)


def mask_of(where, shape=None):
    """`where=` as booleans, of a shape if given; NumPy takes Python's numbers and lists for the truth they have, and of
    arrays only booleans."""
    mask, key = read(where)
    if isinstance(where, TracedArray | np.ndarray | np.generic) and key != np.dtype(bool):
        raise with_note(
            TypeError,
            message(f"Cannot cast array data from {key!r} to dtype('bool') according to the rule 'safe'", locate())
        )
    if shape is not None and broadcast_shapes([shape_of(mask), shape], "operands and the mask of where=") != shape:
        raise ShapeError(
            message(f"the mask of where= has shape {shape_of(mask)}, for an operand of shape {shape}", locate())
        )
    return operand_as(mask, np.dtype(bool), shape)


def exactly(reads):
    """Python integers beyond the dtype they are compared with, as numbers that compare alike: NumPy compares
    exactly."""
    dtypes = [k for _, k in reads if isinstance(k, np.dtype) and k.kind in "iu"]
    if not dtypes:
        far = not any(isinstance(k, np.dtype) for _, k in reads) and any(
            type(x) is int and not LOW <= x <= HIGH for x, _ in reads
        )
        return (
            [
                (x.value, INT) if type(x) is PythonInt else widened(x, INT) if type(x) is int else (x, k)
                for x, k in reads
            ]
            if far
            else reads
        )
    return [
        x.compared(dtypes[0]) if type(x) is PythonInt else widened(x, dtypes[0]) if type(x) is int else (x, k)
        for x, k in reads
    ]


def widened(n, dtype):
    for wide in (dtype, np.dtype(np.int64), np.dtype(np.uint64)):
        if np.iinfo(wide).min <= n <= np.iinfo(wide).max:
            return (n, int) if wide is dtype else (Lit(n, Tensor((), wide)), wide)
    far = np.dtype(np.float64)
    return Lit(np.inf if n > 0 else -np.inf, Tensor((), far)), far


def unknown(function):
    name = getattr(function, "__name__", str(function))
    module = getattr(function, "__module__", None) or "numpy"
    return UnsupportedError(
        message(
            f"{module.replace('numpy', 'np', 1) if module.startswith('numpy') else module}.{name} is not captured on "
            "traced values",
            locate(),
            "Write it with functions that are, or apply it to arrays that do not depend on traced arguments.",
        )
    )


# -- Python numbers: operators between two weak values stay Python numbers -------------------------


