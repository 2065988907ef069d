"""What the user's function holds while it is traced: arrays that may be written, scalars that may not.

A `TracedArray` is a handle: a storage, the chain of views that leads to it, and a shadow ndarray on
which NumPy itself decides shape, strides and IndexError. A `TracedScalar` is NumPy's scalar, or with
`weak` set a Python number: immutable, so `s += 1` rebinds where `A += 1` writes.
"""

import math
import operator
import sys
import threading

import numpy as np

from ...ir.core import Builder
from ...ir.types import Tensor
from ..common.errors import ConcretizationError, LeakError, UnsupportedError, message, with_note
from ..common.frames import ITERATED, is_ours, locate
from ..rewriter.converted import unconverted
from ..rewriter.expressions import HOOK
from .constants import known
from .outermost import whole_number
from .speculate import decide
from .storage import AliasSet, Storage, current_trace, immutable, is_immutable, with_part_replaced

WEAK_DTYPES = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


ASKING = threading.local()  # .asked: what the present trace tells of sizes, see `asked`
READING = []  # those of all threads
OURS = {np.ndarray, float, int, bool, complex, np.float64}  # met at every step, and of no protocol but NumPy's


def answers(kind, protocol):
    """Whether a class that is no array, and not ours, has an answer of its own to a protocol of NumPy's."""
    own = getattr(kind, protocol, None)
    if issubclass(kind, Unread):
        return kind.answering
    return own is not None and not issubclass(kind, Traced | np.ndarray)


class Unread:
    """Base of what stands for values that may not be used: asked for anything, it raises."""

    __slots__ = ()
    answering = False  # whether it answers NumPy's protocols all the same


class Traced:
    """A value known only at run time. Everything NumPy does with it goes through the protocols below."""

    __slots__ = ()
    __array_priority__ = 1000
    ufunc = function = source = jax_attribute = None  # `installations`: what is behind the two protocols
    elements = None  # `installations`: how the numbers of an array are gone through
    meet = firm = apart = where_only = of_numpy = operators = None  # `installations`: numbers of several kinds

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(type(x) not in OURS and answers(type(x), "__array_ufunc__") for x in inputs):
            return NotImplemented
        return Traced.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        if any(answers(t, "__array_function__") for t in types):
            return NotImplemented
        return Traced.function(func, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        number = self.known()
        if number is not None:
            return np.array(number, dtype)
        raise _concrete(
            self,
            "became a plain ndarray",
            "Use the NumPy functions on it as they are; to build an array from traced numbers write\nnp.stack([a, b]) "
            "instead of np.array([a, b]).",
        )

    def __array_namespace__(self, *, api_version=None):
        return np

    def known(self):
        """The contents as an ndarray where constants alone decide them, else None."""
        found = known(self.value) if current_trace() is not None else None
        if found is not None and READING and (asked := getattr(ASKING, "asked", None)) is not None:  # made of sizes?
            asked.refuse("Python asks for a number that is computed of arrays of these sizes")
        return found

    def __bool__(self):
        number = self.known()
        if number is not None:
            return bool(number)
        if self.type.size != 1 and self.type.shape:
            raise with_note(
                ValueError,
                message(
                    AMBIGUOUS,
                    locate(),
                    "Use x.any() or x.all(), or np.where(test, a, b).",
                )
            )
        truth = decide(self) if self.type.size == 1 else None
        if truth is not None:
            return truth
        raise _concrete(
            self,
            "was asked for its truth where no hook stands",
            "Branches and loops of Python code are captured, but not those inside of functions such as list.index, "
            "filter or those of\n"
            "libraries in C. Write that choice as an `if` or a loop of your own, or as np.where(test, a, b).",
        )

    def _number(self, kind):
        number = self.known()
        if number is not None:
            return number
        raise _concrete(
            self,
            f"was converted by {kind}(...)",
            "Keep it an array: x.astype(...) converts without needing the number.",
        )

    def __float__(self):
        return float(self._number("float"))

    def __int__(self):
        return int(self._number("int"))

    def __complex__(self):
        return complex(self._number("complex"))

    def __index__(self):
        number = self.known()
        if number is not None:
            return operator.index(number)
        number = whole_number(self)
        if number is not None:
            return number
        raise _concrete(
            self,
            "was used as a Python integer (a size, a range, or an index into a list or a plain array)",
            "Sizes and loop counts must be known while tracing: pass them as int arguments, which are static.",
        )

    @property
    def shape(self):
        return self.type.shape

    @property
    def dtype(self):
        return self.type.dtype

    @property
    def ndim(self):
        return len(self.type.shape)

    @property
    def size(self):
        return math.prod(shape_told(self, 2))

    @property
    def itemsize(self):
        return self.type.dtype.itemsize

    @property
    def nbytes(self):
        return math.prod(shape_told(self, 2)) * self.type.dtype.itemsize

    def __repr__(self):
        return told_to_us(self, f"<traced {self.type}>")

    def __format__(self, spec):
        return told_to_us(self, f"<traced {self.type}>")

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        raise UnsupportedError(message(f"a traced value of type {self.type} cannot be pickled", locate()))


def _concrete(x, happened, instead):
    if current_trace() is None:
        return LeakError(
            message(
                f"a traced value of type {x.type} outlived its trace and {happened}",
                locate(),
                "Return it from the traced function instead of storing it elsewhere.",
            )
        )
    where = locate()
    reason = where and unconverted(where.code)
    if reason:
        instead += (
            f"\nA function whose source can be read and rewritten has its loops and branches captured, but {reason}."
        )
    error = current_trace().root.refused = ConcretizationError(
        message(
            f"a traced value of type {x.type} {happened}; its number is known only when the program runs",
            where,
            instead,
        )
    )
    return error


def shape_told(x, depth=1):
    """The shape of a traced value, which an attribute of it is about to tell. Where programs of all sizes are traced,
    code without hooks that reads it, `depth` frames up, is told of: nobody knows what it decides by it."""
    if READING and (asked := getattr(ASKING, "asked", None)) is not None and not is_ours(sys._getframe(depth).f_code):
        asked.read_unseen(x.type.shape)
    return x.type.shape


def told_to_us(x, text):
    """What a traced value is called in messages of ours. Others who ask for its text, which would have its number, are
    refused: code without hooks, such as that of a function that calls `eval`, and C behind it."""
    if current_trace() is not None and not is_ours(sys._getframe(2).f_code):
        raise _concrete(x, "is made text of", "Return the number, and make the text of it outside.")
    return text


AMBIGUOUS = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"


class TracedArray(Traced):
    """An ndarray being traced. Equal storages are aliases; writes are seen through every view."""

    __slots__ = ("storage", "chain", "type", "_shadow")
    __hash__ = None

    def __init__(self, storage, chain=(), type=None, shadow=None):
        self.storage, self.chain = storage, chain
        self.type = storage.value.type if type is None else type
        self._shadow = shadow

    @property
    def value(self):
        """The SSA value of this window now."""
        storage = self.storage
        if type(storage) is AliasSet and self.chain:
            return bring(storage.given(lambda s: s.value, self.chain))
        value = storage.value
        build = Builder.building()
        if build is None or value not in build.values:
            value = bring(value)
        for step in self.chain:
            value = step.get(value)
        return value

    @property
    def shadow(self):
        """An untouched ndarray of the same shape, strides and writability."""
        if self._shadow is None:
            self._shadow = np.empty(self.type.shape, self.type.dtype)
        return self._shadow

    def window(self, step):
        """The window `step` of this one, sharing its storage."""
        shadow = step.apply(self.shadow)
        if READING and (asked := getattr(ASKING, "asked", None)) is not None:
            asked.window(self.type.shape, shadow.shape, getattr(step, "rearranges", False))
        if self.storage.frozen and not self.writeable:
            shadow.flags.writeable = False
        return TracedArray(self.storage, (*self.chain, step), Tensor(shadow.shape, shadow.dtype), shadow)

    @property
    def writeable(self):
        storage = self.storage
        if storage.frozen and tuple(map(id, self.chain)) in storage.frozen:
            return False
        return not storage.readonly and (not self.chain or self.shadow.flags.writeable)

    def write(self, new):
        """Replace the whole window by `new`, a value of this type."""
        if self.storage.by_jax or not self.writeable:
            root, origin = current_trace().root, self.storage.origin
            if origin is not None and self.storage.readonly and self.storage.trace is root:
                root.relied[origin, "writeable"] = False  # where data decide, the program says so
            if is_immutable(self.storage):
                raise with_note(*immutable())
            raise with_note(
                ValueError, message("assignment destination is read-only", locate(), "Work on a copy: x = x.copy().")
            )
        if type(self.storage) is AliasSet:
            self.storage.store(self.chain, new)
        else:
            self.storage.write(with_part_replaced(bring(self.storage.value), self.chain, new))

    def __len__(self):
        if not self.type.shape:
            raise TypeError("len() of unsized object")
        return shape_told(self, 2)[0]

    def __iter__(self):
        if not self.type.shape:
            raise TypeError("iteration over a 0-d array")
        frame = sys._getframe(1)
        if READING and HOOK not in frame.f_code.co_freevars:
            shape_told(self, 2)
        captured = ITERATED.get(frame.f_code)
        if captured is not None and (found := captured(self, frame)) is not None:
            return found
        return self.elements() if self.ndim == 1 else (self[i] for i in range(self.type.shape[0]))


class TracedScalar(Traced):
    """A NumPy scalar being traced; with `weak` (float, int, complex, bool) a Python number."""

    __slots__ = ("_value", "type", "weak")

    def __init__(self, value, weak=None):
        self._value, self.type, self.weak = value, value.type, weak

    @property
    def value(self):
        return bring(self._value)

    __iter__ = None

    def __len__(self):
        raise TypeError(
            f"object of type '{self.weak.__name__ if self.weak else f'numpy.{self.type.dtype.type.__name__}'}' has no "
            "len()"
        )

    def __hash__(self):
        raise ConcretizationError(
            message("a traced number has no hash: it cannot be a key of a dict or an element of a set", locate())
        )


def bring(value):
    trace = current_trace()
    if trace is None:
        raise LeakError(
            message(
                f"a traced value of type {value.type} was used after its trace had ended",
                locate(),
                "Return it from the traced function instead of storing it elsewhere.",
            )
        )
    return trace.bring(value)


def fresh(value):
    """A new array holding `value`."""
    return TracedArray(Storage(value, current_trace()))


def wrap(value):
    """`value` as NumPy returns results: a scalar where the shape is (), an array elsewhere."""
    return TracedScalar(value) if not value.type.shape else fresh(value)
