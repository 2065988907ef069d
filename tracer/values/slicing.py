"""`x[key]` with integers, slices and new axes alone: views of the same memory."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..common.emit import INDEX, cast_to
from ..common.errors import CannotRoll, ConcretizationError, message, with_note
from ..common.frames import locate
from .array import Traced, TracedArray, TracedScalar
from .asked import asking
from .ranges import affine, distance, interval
from .status import all_within
from .storage import current_trace
from .views import IndexView

select, lt, ge, add, and_ = (OPS[n] for n in ("select", "lt", "ge", "add", "and"))


def basic(x, key):
    """The Index step of a basic key."""
    key = tuple([known_slice(k) if isinstance(k, slice) else k for k in key])
    static = tuple(0 if isinstance(k, TracedScalar) else slice(0, k.count) if isinstance(k, Moving) else k for k in key)
    try:
        shape = x.shadow[static].shape
    except IndexError as error:
        check_before(error, key, x)
        raise with_note(IndexError, message(str(error), locate())) from None
    except TypeError as error:
        raise with_note(TypeError, message(str(error), locate())) from None
    axes = []
    for axis, (k, n) in enumerate(zip(an_axis_each(key, x), x.shape, strict=True)):
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            axes.append((start, len(range(start, stop, step)), step))
        elif isinstance(k, Moving):
            axes.append((k.within(n), k.count, None))
        elif isinstance(k, TracedScalar):
            axes.append((normalized_index(k.value, n, axis), 1, None))
        else:
            axes.append((int(k) % n, 1, 1))
    # a view, even where all axes are dropped
    whole = static if any(k is Ellipsis for k in static) else (*static, Ellipsis)
    return IndexView(axes, shape, whole)


def an_axis_each(key, x):
    """The parts of a basic key that say something of an axis, those left out among them."""
    used = sum(k is not None and k is not Ellipsis for k in key)
    found = []
    for k in key if any(k is Ellipsis for k in key) else (*key, Ellipsis):
        found += [slice(None)] * (x.ndim - used) if k is Ellipsis else [] if k is None else [k]
    return found


def check_before(error, key, x):
    """Check what NumPy looks at before a number that is out of bounds: the indices of axes in front of it."""
    if "is out of bounds for axis" not in str(error):
        return
    for axis, (k, n) in enumerate(zip(an_axis_each(key, x), x.shape, strict=True)):
        if isinstance(k, TracedScalar):
            normalized_index(k.value, n, axis)
        elif not isinstance(k, slice | Moving) and not -n <= k < n:
            return


class Moving:
    """A slice of static length whose start is traced."""

    def __init__(self, start, count):
        self.start, self.count = start, count

    def within(self, n):
        """The start, known or checked to leave room for the whole slice: where it does not, NumPy's result is
        shorter."""
        start = cast_to(self.start, INDEX)
        bounds = interval(start)
        if bounds is None or bounds[0] < 0 or bounds[1] + self.count > n:
            terms = affine(start)[0]
            if bounds is not None and len(terms) == 1 and terms.keys() <= current_trace().root.bounds.keys():
                text = (
                    f"a slice of length {self.count} reaches over the ends of an axis of size {n}: it is shorter there"
                )
                raise CannotRoll(message(text, locate()))
            inside = and_(ge(start, Lit(0, start.type)), lt(start, Lit(n - self.count + 1, start.type)))
            text = f"a slice of length {self.count} with a traced start reaches over the ends of an axis of size {n}"
            hint = "NumPy would give fewer elements, or count from the end; the compiled program has one length."
            current_trace().check(inside, IndexError, message(text, locate(), hint))
        return start


def known_slice(k):
    """A slice with the numbers that are known put in; a `Moving` one if its start is traced and its length is not."""
    parts = [concrete(p) if isinstance(p, Traced) else p for p in (k.start, k.stop, k.step)]
    if not any(isinstance(p, Traced) for p in parts):
        return slice(*parts)
    start, stop, step = parts
    count = None
    if (
        step in (None, 1)
        and start is not None
        and stop is not None
        and all(type(p) is int or isinstance(p, TracedScalar) for p in (start, stop))
    ):
        first, last = (p.value if isinstance(p, Traced) else Lit(p, Tensor((), INDEX)) for p in (start, stop))
        count = distance(last, first)
    if count is None or not isinstance(start, TracedScalar):
        raise ConcretizationError(
            message(
                "a slice has a traced bound, and a length that is known only when the program runs",
                locate(),
                "Slices such as x[i:i + 3] have a static length; otherwise take the whole axis and mask it: "
                "np.where(np.arange(n) < j, x, 0.0).",
            )
        )
    return Moving(first, max(count, 0))


def normalized_index(index, n, axis=0):
    """A traced index into axis `axis`, made non-negative, with the check that it is within `n`."""
    index = cast_to(index, INDEX)
    if isinstance(index, Lit):
        return Lit(int(index.value) % n if n else 0, index.type)
    low, high = (interval(index) or (-n - 1, n)) if index.type.size else (0, -1)
    if (asked := asking()) is not None:
        asked.index(low, high, n)
    if low >= 0 and high < n:
        return index
    if low >= -n and high < 0:
        return add(index, Lit(n, index.type))
    zero, size = Lit(0, index.type), Lit(n, index.type)
    if low < -n or high >= n:
        inside, bad = all_within(index, n, low < -n, high >= n, current_trace().repeats(index))
        current_trace().check(
            inside, IndexError, message(f"index {{}} is out of bounds for axis {axis} with size {n}", locate()), bad
        )
    if low >= 0:
        return index
    return select(lt(index, zero), add(index, size), index)


ONE, NONE = np.zeros(1, INDEX), np.zeros(0, INDEX)  # a single bool indexes a new axis of size one, once or never


def concrete(k):
    if asking() is not None and type(k) is TracedArray and k.type.kind in "iu":
        return k  # its numbers may hang on sizes
    number = k.known()
    if number is None:
        return k
    return int(number) if isinstance(k, TracedScalar) and number.dtype.kind in "iu" else number
