"""One NumPy computation through `jit`, beside plain NumPy: `run` takes a call, operator, subscript or store and what it
is done to.

The arrays among the operands become the arguments of a function whose source is what a user would write,
`lambda a0: np.sum(a0, axis=0)`, all else being literals in it; that function is compiled and called. What Wengert
refuses runs plainly and is noted. Each result, changed argument and exception is also compared with what plain NumPy
makes of equal operands.
"""

import ast
import ctypes
import linecache
import operator
import types
import warnings

import numpy as np
from numpy.lib import array_utils

from wengert import Fallback, jit
from wengert.ir.types import SHORT
from wengert.tracer.common.errors import IntegerOverflow, NoTrip, ShapeError, WengertError

NUMPYS = (ShapeError, IntegerOverflow, NoTrip)  # our classes of what NumPy raises too
MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.lib.stride_tricks": np.lib.stride_tricks}
# not computations on arrays: text, files, settings, iterators, questions about types and memory
NOT_MEANT = """array2string array_repr array_str save savez savez_compressed savetxt load loadtxt genfromtxt fromfile
fromstring fromregex frombuffer fromiter fromfunction from_dlpack geterr seterr geterrcall seterrcall getbufsize
setbufsize get_printoptions set_printoptions printoptions format_float_positional format_float_scientific asarray
asanyarray array_equiv may_share_memory shares_memory typename mintypecode info show_config show_runtime get_include
iterable nested_iters datetime_data datetime_as_string busday_count busday_offset is_busday frompyfunc issubdtype dtype
finfo iinfo byte_bounds test""".split()
PYTHONS = {abs, divmod, pow, round, sum, max, min, float, int, complex}
METHODS_NOT_MEANT = """tofile tobytes dump dumps setflags item tolist __repr__ __str__ __reduce__ __reduce_ex__
__setstate__ __format__ __sizeof__ __array__ __array_interface__ __array_struct__ __array_ufunc__ __array_function__
__array_finalize__ __array_wrap__ __dlpack__ __dlpack_device__ newbyteorder byteswap getfield setfield __deepcopy__
__copy__ __iter__ __len__ __hash__ __class_getitem__ __buffer__ __init_subclass__""".split()
OPERATORS = {
    f"__{name}__": sign
    for names, signs in (
        ("add sub mul truediv floordiv mod pow lshift rshift and or xor matmul", "+ - * / // % ** << >> & | ^ @"),
        ("lt le eq ne gt ge", "< <= == != > >="),
    )
    for name, sign in zip(names.split(), signs.split())
}
SIGNS = {getattr(operator, name): sign for name, sign in OPERATORS.items()}
UNARY = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
SUMMING = (
    "np.linalg.", "np.fft.", "np.einsum(", "np.polyfit(", "np.cov(", "np.corrcoef(", "np.gradient(", "np.interp(",
    "np.unwrap(",
)
GENERATORS = [np.random.default_rng(seed) for seed in range(8)]
UNSET = ("empty", "empty_like")  # functions whose numbers are anything

NAMES = {}  # a computation -> how it is written
for _path, _module in MODULES.items():
    for _name in dir(_module):
        _found = getattr(_module, _name)
        if callable(_found) and not isinstance(_found, type) and not _name.startswith("_") and _name not in NOT_MEANT:
            try:
                NAMES.setdefault(_found, f"{_path}.{_name}")
            except TypeError:
                pass
for _name in SHORT:
    NAMES[np.dtype(_name).type] = f"np.{np.dtype(_name).type.__name__}"
# computations on each element by itself
EACH = (
    "a0[", "a0 ", "-a0", "abs(", "round(",
    *(f"{n}(" for f, n in NAMES.items() if isinstance(f, np.ufunc) and not f.signature),
)
# plain, if only numbers are given
CREATING = [f"np.{name}(" for name in "array zeros ones empty full arange linspace".split()]


class Record:
    """What one test did: `captured` computations, `refused` ones and `differing` ones, as texts with reasons; what was
    `outside`; and the computations that differ in what may be `mended`."""

    def __init__(self):
        self.captured, self.refused, self.differing, self.outside = 0, [], [], []
        self.warns, self.order, self.words, self.rounds = [], [], [], []


mended = ""  # the one difference of `Record` in which results are made NumPy's
program_digits = True  # programs are NumPy, which computes the same digits
record = None  # of the test that runs; None: hooks do nothing
busy = False  # a computation is under way: functions it calls run as they are
compiled = {}


def in_scope(x):
    """Whether x is an array or a scalar of numbers; a word for why not, if it is an array at all."""
    if isinstance(x, np.ndarray | np.generic):
        if type(x) is not np.ndarray and isinstance(x, np.ndarray):
            return "a subclass of ndarray"
        return True if x.dtype.name in SHORT and x.dtype.isnative else kind_of(x.dtype)
    return None


def kind_of(dtype):
    words = {"O": "object", "S": "text", "U": "text", "T": "text", "M": "dates", "m": "dates", "V": "structured"}
    return "dtype " + (
        words.get(dtype.kind) or ("long double" if dtype.char in "gG" else f"{dtype.name}, other byte order")
    )


class Text:
    """A computation as source: arrays are the names a0, a1, ..., simple constants literals, all else c0, c1, ..."""

    def __init__(self, numbers=False):
        self.arrays, self.constants, self.outside, self.numbers = [], {}, [], numbers

    def constant(self, x):
        return self.constants.setdefault(id(x), (f"c{len(self.constants)}", x))[0]

    def of(self, x):
        scope = in_scope(x)
        if scope is True or self.numbers and type(x) in (float, complex):
            place = next((i for i, a in enumerate(self.arrays) if a is x), None)
            if place is None:
                place = len(self.arrays)
                self.arrays.append(x)
            return f"a{place}"
        if scope:
            self.outside.append(scope)
            return self.constant(x)
        if x is None or x is Ellipsis or type(x) in (bool, int, str):
            return repr(x)
        if type(x) is float:
            return repr(x) if x - x == 0 else self.constant(x)
        if type(x) is tuple:
            return f"({', '.join(map(self.of, x))}{',' if len(x) == 1 else ''})"
        if type(x) is list:
            return f"[{', '.join(map(self.of, x))}]"
        if type(x) is slice:
            return f"slice({self.of(x.start)}, {self.of(x.stop)}, {self.of(x.step)})"
        if type(x) is dict and all(type(k) is str for k in x):
            return "{" + ", ".join(f"{k!r}: {self.of(v)}" for k, v in x.items()) + "}"
        if isinstance(x, np.dtype) and x.name in SHORT:
            return f"np.dtype({x.name!r})" if x.isnative else self.constant(x)
        if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic) and x not in NAMES):
            return self.constant(x)
        try:
            return NAMES.get(x) or self.constant(x)
        except (TypeError, ValueError):  # no hash
            return self.constant(x)


def written(f, args, kwargs, text):
    """The source of f(*args, **kwargs), or None where it is no computation of NumPy's."""
    every = lambda xs, kws: ", ".join([*map(text.of, xs), *(f"{k}={text.of(v)}" for k, v in kws.items())])
    if isinstance(f, np.ufunc):
        return f"{NAMES.get(f) or text.constant(f)}({every(args, kwargs)})"
    on = getattr(f, "__self__", None)
    kind = type(f)
    if kind in (types.BuiltinFunctionType, types.MethodWrapperType) and isinstance(on, np.ndarray | np.generic):
        name = f.__name__
        if name in METHODS_NOT_MEANT:
            return None
        left = text.of(on)
        if name in ("__getitem__", "__setitem__"):
            return f"{left}[{text.of(args[0])}]" + (f" = {text.of(args[1])}" if name == "__setitem__" else "")
        if name in OPERATORS and len(args) == 1:
            return f"{left} {OPERATORS[name]} {text.of(args[0])}"
        return None if name.startswith("__") else f"{left}.{name}({every(args, kwargs)})"
    if kind is types.BuiltinFunctionType and isinstance(on, np.ufunc):
        return f"{NAMES.get(on) or text.constant(on)}.{f.__name__}({every(args, kwargs)})"
    if isinstance(f, np.vectorize):
        return f"{text.constant(f)}({every(args, kwargs)})"
    try:
        if f in SIGNS and len(args) == 2:
            return f"{text.of(args[0])} {SIGNS[f]} {text.of(args[1])}"
        if f in UNARY and len(args) == 1:
            return f"{UNARY[f]}{text.of(args[0])}"
        name = f.__name__ if f in PYTHONS else NAMES.get(f)
    except TypeError:
        return None
    return f"{name}({every(args, kwargs)})" if name else None


def run(make, plain):
    """`plain()`, computed by a captured function if `make(Text)` gives the source of a computation on arrays."""
    global busy
    if record is None or busy:
        return plain()
    busy = True
    try:
        text = Text()
        source = make(text)
        if source is not None and not text.arrays and not text.outside and not source.startswith(tuple(CREATING)):
            text = Text(numbers=True)
            source = make(text)
    finally:
        busy = False
    if source is None or not text.arrays:
        record.outside += text.outside if source is not None else []
        return plain()
    if text.outside:
        record.outside += text.outside
        return plain()
    busy = True
    try:
        return compute(source, text, plain)
    finally:
        busy = False


def compute(source, text, plain):
    """The computation through jit; plainly where that is refused."""
    key = source, tuple(text.constants)
    if key not in compiled:
        if len(compiled) > 3000:
            compiled.clear()
        function = function_of(source, text)
        compiled[key] = function, jit(function), text.constants  # which stay alive, and so their ids
    function, twin, _ = compiled[key]
    mine, before, copies = text.arrays, copied(text.arrays), copied(text.arrays)
    runs_code = any(
        isinstance(c, np.vectorize | types.FunctionType | types.MethodType) for _, c in text.constants.values()
    )
    got = outcome(twin, mine) if runs_code else None  # a function of the test's own runs once
    want = outcome(function, copies) if got is None else got
    got = got or outcome(twin, mine)
    where = f"{source}  with {types_of(before)}"
    if isinstance(got.error, WengertError) and not (
        isinstance(got.error, NUMPYS) and isinstance(got.error, type(want.error))
    ):
        record.refused.append((where, str(got.error)))
        different(where, "half-written after a refusal", same(mine, before))
        return plain()
    if got.fallbacks:
        record.refused.append((where, got.fallbacks[0]))
    else:
        record.captured += 1
    unsaid = [w for w in want.said if str(w.message) not in {str(g.message) for g in got.said}]
    if unsaid or isinstance(want.error, FloatingPointError) and got.error is None:
        record.warns.append(where)
        if mended == "warns":
            got.said, got.error = [*got.said, *unsaid], want.error or got.error
    if want.error is None and got.error is None:
        if not any(f".{n}(" in source for n in UNSET):
            summing = not program_digits or not source.startswith(EACH) or any(s in source for s in SUMMING)
            how = same(got.value, want.value, 1e-13 if any(s in source for s in SUMMING) else 0, summing)
            if how and source.startswith("np.linalg."):
                how = swayed(
                    got.value,
                    want.value,
                    *[outcome(function, [moved(a, rng) for a in copied(before)]).value for rng in GENERATORS],
                )
            different(where, "result", how)
            if not identical(got.value, want.value):
                record.rounds.append(where)
                got.value = want.value if mended == "rounds" else got.value
        if layout(got.value) != layout(want.value):
            record.order.append(where)
            got.value = laid(got.value, want.value) if mended == "order" else got.value
    elif not isinstance(got.error, type(want.error)) and not isinstance(want.error, FloatingPointError):
        different(where, "exception", f"{got.error!r:.200} against {want.error!r:.200}")
    elif str(got.error) != str(want.error) and got.error is not None:
        record.words.append(where)
        got.error = want.error if mended == "words" else got.error
    if "overwrite_input" not in source:  # which leaves anything
        different(where, "arguments", same(mine, copies))
    for w in got.said:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if got.error is not None:
        raise got.error
    return got.value


class Outcome:
    """What a call gave or raised, and what it warned of."""

    value = error = None
    fallbacks = said = ()


def outcome(function, arrays):
    found = Outcome()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found.value = function(*arrays)
        except Exception as error:
            found.error = error
    found.fallbacks = [str(w.message) for w in said if issubclass(w.category, Fallback)]
    found.said = [w for w in said if not issubclass(w.category, Fallback)]
    return found


def function_of(source, text):
    """The function of a source, of which the arrays are the parameters."""
    try:
        ast.parse(source, mode="eval")
        body = f"    return {source}\n"
    except SyntaxError:
        body = f"    {source}\n" + ("    return a0\n" if source.startswith("a0 ") else "")
    lines = f"def computation({', '.join(f'a{i}' for i in range(len(text.arrays)))}):\n{body}"
    file = f"<{source}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(True), file)
    space = {"np": np, **dict(text.constants.values())}
    exec(compile(lines, file, "exec", dont_inherit=True), space)
    return space["computation"]


def copied(arrays):
    """Equal operands, of the same strides, sharing memory where these do."""
    memories, out = {}, []
    for a in arrays:
        if not isinstance(a, np.ndarray):
            out.append(a)
            continue
        root = a
        while isinstance(root.base, np.ndarray):
            root = root.base
        low, high = array_utils.byte_bounds(root)
        if id(root) not in memories:
            memories[id(root)] = memory_of(low, high)
        first = a.__array_interface__["data"][0] - low
        twin = np.ndarray(a.shape, a.dtype, memories[id(root)], first if a.size else 0, a.strides if a.size else None)
        twin.flags.writeable = a.flags.writeable
        out.append(twin)
    return out


def memory_of(low, high):
    """A copy of the bytes at these addresses, with room for an array without elements."""
    return np.frombuffer(bytearray(ctypes.string_at(low, high - low) + bytes(64)), np.uint8)


def types_of(arrays):
    return ", ".join(
        f"{type(a).__name__ if not isinstance(a, np.ndarray) else a.dtype}{list(np.shape(a)) if np.shape(a) else ''}"
        for a in arrays
    )


def different(where, what, how):
    if how:
        record.differing.append((where, f"{what}: {how}"))


def moved(x, rng):
    """An operand with other last digits."""
    return (
        np.nextafter(x, rng.choice([-np.inf, np.inf], np.shape(x))).astype(x.dtype)
        if np.asarray(x).dtype.kind == "f"
        else x
    )


def swayed(got, want, *others):
    """How results differ beyond ten times what NumPy's own moves by with the last digits of its operands: singular
    systems have no digits."""
    if isinstance(want, tuple | list):
        return next(filter(None, map(swayed, got, want, *others)), "")
    if any(np.shape(x) != np.shape(want) for x in others):  # even the rank hangs on them
        return "" if np.shape(got) == np.shape(want) else same(got, want)
    return same(got, want, max([np.max(np.abs(np.subtract(x, want)), initial=0) * 10 for x in others] + [1e-13]))


def identical(got, want):
    """Whether results that agree do so to the last bit, NaN being NaN."""
    if isinstance(want, tuple | list):
        return all(map(identical, got, want))
    if not isinstance(want, np.ndarray | np.generic):
        return True
    return np.array_equal(got, want, equal_nan=np.asarray(want).dtype.kind in "fc")


def layout(x):
    """The order in memory of an array, as far as it can be seen."""
    if isinstance(x, tuple | list):
        return [layout(v) for v in x]
    return [s for n, s in zip(x.shape, x.strides) if n > 1] if isinstance(x, np.ndarray) and x.size else None


def laid(got, want):
    """New arrays in the order in memory of others."""
    if isinstance(want, tuple | list):
        return type(got)(map(laid, got, want)) if type(got) in (tuple, list) else got
    if not isinstance(want, np.ndarray) or got.base is not None:
        return got
    out = np.empty_like(want)
    out[...] = got
    return out


def same(got, want, floor=0, summing=True):
    """How two results differ in structure, kind, dtype, shape or, beyond rounding, in value; "" if they do not. floor:
    what sums may be off; not summing: each element is rounded by itself."""
    if isinstance(want, list | tuple):
        if type(got) is not type(want) and not isinstance(want, tuple) or len(got) != len(want):
            return f"{type(got).__name__} {got!r:.80} against {type(want).__name__} {want!r:.80}"
        return next(filter(None, (same(g, w, floor, summing) for g, w in zip(got, want))), "")
    if type(got) is not type(want) and not (
        isinstance(got, np.generic) and isinstance(want, np.generic) and got.dtype == want.dtype
    ):
        return f"{type(got).__name__} {got!r:.80} against {type(want).__name__} {want!r:.80}"
    if not isinstance(want, np.ndarray | np.generic | float | complex):
        return (
            ""
            if got is want or isinstance(want, np.flatiter | np.broadcast) or got == want
            else f"{got!r:.80} against {want!r:.80}"
        )
    if np.shape(got) != np.shape(want) or getattr(got, "dtype", None) != getattr(want, "dtype", None):
        return f"{got.dtype}{got.shape} against {want.dtype}{want.shape}"
    kind = np.asarray(want).dtype
    if kind.kind in "fc":
        close = {2: 5e-3, 4: 2e-5, 8: 1e-9}[kind.itemsize // (2 if kind.kind == "c" else 1)]
        size = np.max(np.abs(want), initial=0, where=np.isfinite(want)) if np.size(want) else 0
        with np.errstate(all="ignore"):
            equal = np.isclose(
                got,
                want,
                rtol=close,
                atol=max(close * size if np.size(want) > 1 and summing else 0, floor),
                equal_nan=True,
            )
            for part in (np.real, np.imag) if kind.kind == "c" else (np.asarray,):
                equal &= (np.signbit(part(got)) == np.signbit(part(want))) | (part(got) != 0) | (part(want) != 0)
    else:
        equal = np.asarray(got == want)
    if np.all(equal):
        return ""
    first = tuple(np.argwhere(~equal)[0]) if np.ndim(equal) else ()
    return (
        f"values, of {np.size(want) - np.count_nonzero(equal)} in {np.size(want)}: {np.asarray(got)[first]!r} against "
        f"{np.asarray(want)[first]!r}"
    )
