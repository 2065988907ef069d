"""`Bounded`: an array of static shape of which only a part, that the running program decides, is the array the user
sees.

Along an axis the part is a `Span` (a window, in the coordinates of the array it was cut from, so that
cutting costs nothing) or what a mask has `Chosen`. What lies outside is junk: it may be NaN, it is never
shown, and nothing reads it that does not know of it. So this is no TracedArray: a function without a
handler of its own for it is refused.
"""

import numpy as np

from ...backends.xla.processes import host_array
from ...backends.xla.sharding import is_explicit, viewed
from ...ir.core import Lit
from ...ir.ops import OPS
from ..common import pytree
from ..common.emit import INDEX, cast_to, constant_of, spread_to
from ..common.errors import ConcretizationError, UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedScalar, told_to_us
from ..values.outermost import demand_lengths
from ..values.ranges import interval
from ..values.room import assumed_room, require_room
from ..values.speculate import contents
from ..values.storage import around_regions, current_trace
from . import numbers

SPELLING = "Work on the whole array and mask it: np.where(mask, x, 0.0), or np.where(np.arange(n) < k, x, 0.0)."
LITTLE, BITS = 2**16, 27  # a length that costs little whatever is meant of it; powers of two that a length may have
GUESS = 5  # bound: the least, and that of a length in a loop before a call has found another


class Mask(TracedScalar):
    """The bools behind a selection: a value that nobody writes, whatever its shape."""

    __slots__ = ()


class SpanExtent:
    """`length` elements from `start` on; both Python ints, traced or not."""

    kind = "span"
    __slots__ = ("start", "length")

    def __init__(self, start, length):
        self.start, self.length = start, length

    @property
    def leaves(self):
        return self.start, self.length


class FrontExtent(SpanExtent):
    """The first `length` elements, of an array that is no longer than that to the user."""

    kind = "front"
    __slots__ = ()

    def __init__(self, length):
        super().__init__(0, length)

    @property
    def leaves(self):
        return (self.length,)


class MaskExtent:
    """The elements where `mask` holds, in their order; `length` is how many they are."""

    kind = "chosen"
    __slots__ = ("mask", "length")

    def __init__(self, mask, length):
        self.mask, self.length = mask, length

    @property
    def leaves(self):
        return self.mask, self.length


EXTENTS = {e.kind: e for e in (SpanExtent, FrontExtent, MaskExtent)}


class BoundedArray(Traced):
    """array: the whole TracedArray; extents: per axis a Span, a Chosen, or None where all of the axis is meant."""

    __slots__ = ("array", "extents")
    __hash__ = None
    methods = {}  # ndarray method -> handler; filled by `functions`
    ufunc_handler = function_handler = getitem = setitem = None  # `installations`

    def __init__(self, array, extents):
        self.array, self.extents = array, tuple(extents)

    def known(self):
        return None

    @property
    def lengths(self):
        """Per axis an int or an int64 value."""
        return [n if e is None else numbers.number(e.length) for n, e in zip(self.array.shape, self.extents)]

    @property
    def shape(self):
        return tuple([n if e is None else e.length for n, e in zip(self.array.shape, self.extents)])

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def size(self):
        total = 1
        for n in self.shape:
            total = total * n
        return total

    @property
    def itemsize(self):
        return self.array.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    def __len__(self):
        demand_lengths(
            ConcretizationError(
                message(f"{self!r} has a length known only when the program runs", locate(), "Write x.shape[0].")
            )
        )

    def __iter__(self):
        text = (
            f"{self!r} is iterated over outside a `for` statement, and its length is known only when the program runs"
        )
        hint = "Use np.sum(x) and its like, or a `for` statement."
        demand_lengths(ConcretizationError(message(text, locate(), hint)))

    def __bool__(self):
        raise with_note(
            ValueError,
            message("the truth value of an array is ambiguous", locate(), "Use x.any(), x.all() or len(x) > 0.")
        )

    def __array__(self, dtype=None, copy=None):
        demand_lengths(ConcretizationError(message(f"{self!r} became a plain ndarray", locate(), SPELLING)))

    def fail(self):
        """As an operand of what knows arrays of known shape alone."""
        text = f"{self!r} cannot take part in this operation: its length is known only when the program runs"
        demand_lengths(UnsupportedError(message(text, locate(), SPELLING)))

    def __getitem__(self, key):
        return BoundedArray.getitem(self, key)

    def __setitem__(self, key, value):
        BoundedArray.setitem(self, key, value)

    def __getattr__(self, name):
        handler = BoundedArray.methods.get(name)
        if handler is not None:
            return lambda *args, **kwargs: handler(self, *args, **kwargs)
        if name.startswith("__") or not (hasattr(np.ndarray, name) or name in ("type", "value")):
            raise AttributeError(f"'ndarray' object has no attribute {name!r}")
        refused(f"ndarray.{name}" if hasattr(np.ndarray, name) else "this", self)

    def __repr__(self):
        sizes = ",".join(str(n) if e is None else f"<={n}" for n, e in zip(self.array.shape, self.extents))
        return told_to_us(self.array, f"<traced {self.array.type.dtype}[{sizes}]>")


def mentioned(xs):
    """The first of the arguments that is bounded, or of the lists and tuples among them; None where there is none."""
    for x in xs:
        found = x if type(x) is BoundedArray else mentioned(x) if type(x) in (list, tuple) else None
        if found is not None:
            return found
    return None


def refused(name, x):
    """Raise, or begin again with lengths taken by value."""
    text = f"{name} is not captured on {x!r}, an array whose length is known only when the program runs"
    demand_lengths(UnsupportedError(message(text, locate(), SPELLING)))


# -- as nodes of trees: loops and branches carry the parts, results are cut on the host --------------


def _flatten(x):
    return (x.array, *(leaf for e in x.extents if e is not None for leaf in e.leaves)), tuple(
        [e and e.kind for e in x.extents]
    )


def put_together(kinds, leaves):
    """The array of the leaves that `_flatten` gives; what is meant of it, where they are no traced ones."""
    array, *rest = leaves
    rest = iter(rest)
    extents = [None if k is None else EXTENTS[k](*[next(rest) for _ in range(1 + (k != "front"))]) for k in kinds]
    if isinstance(array, Traced) or not hasattr(array, "shape"):
        return BoundedArray(array, extents)
    for axis, e in enumerate(extents):
        array = array if e is None else cut_on_host(array, axis, e)
    return array


def cut_on_host(array, axis, extent):
    """What is meant of an axis of an ndarray, or of jax's: the array itself where that is all of a `FrontExtent`."""
    lead = (slice(None),) * axis
    if isinstance(extent, FrontExtent) and array.shape[axis] == int(extent.length):
        return array
    if not isinstance(array, np.ndarray) and is_explicit(array):
        return viewed(array, lambda x: cut_on_host(x, axis, extent))
    if isinstance(extent, SpanExtent):
        return array[*lead, int(extent.start) : int(extent.start) + int(extent.length)]
    if isinstance(array, np.ndarray):  # less than half of what NumPy takes for an index that is a mask
        return array.take(np.asarray(extent.mask).nonzero()[0], axis)
    return array[*lead, host_array(extent.mask)]


pytree.register(BoundedArray, _flatten, put_together)


def room_for(count):
    """(room, extent) of an axis of this length, an integer that data decides: what is known to bound it, if that is
    little, else a power of two; no extent where neither can be. So few traces do for all lengths."""
    low, high = interval(count) or (0, numbers.FAR)
    if high > LITTLE:
        if current_trace().parent is None:
            power = contents(OPS["maximum"](exponent(count), Lit(GUESS, numbers.SCALAR)))
        else:
            power = guessed_exponent(count)
        if power is None or power >= BITS:
            return 0, None
        high = 2**power
        count = numbers.operand(numbers.least(count, high))
    return high, SpanExtent(0, numbers.traced(numbers.bounded(count, 0, high)))


def exponent(count):
    """That of the least power of two that a length is not above, at most BITS."""
    powers = constant_of(2 ** np.arange(BITS))
    return OPS["reduce_sum"](cast_to(OPS["gt"](spread_to(count, (BITS,)), powers), INDEX), axes=(0,))


def guessed_exponent(count):
    """Likewise in a loop or branch, of all lengths that it meets: a guess, until a call finds it too small; None where
    that cannot be."""
    trace = current_trace()
    if around_regions(trace).parent is not None:
        return None
    source = locate()
    with trace.root:
        guess = assumed_room(("room", source and (source.code, source.lasti)), GUESS)
    if guess is not None:
        ok = numbers.compare("le", count, 2 ** guess[0])
        require_room(numbers.operand_of(ok), guess[1], exponent(count))
    return guess and guess[0]


def made(array, extents):
    """The array of which the extents tell what is meant: itself where they say nothing."""
    return BoundedArray(array, extents) if any(e is not None for e in extents) else array
