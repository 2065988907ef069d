"""Which object each array of a result is: an argument, an outside array, a view of one, or memory of the program's own.

Where data decided that, the program gives a number, and the caller's side picks the object by it (`chosen`). A view
whose place data decided is made by the caller's side at the place the program gives (`Located`). What cannot be told
apart (`unsure`) is found by what it holds: a result that cannot be a view of any array that it might be of, for an
element that is not there, is new.
"""

import numpy as np

from ...backends.xla.sharding import is_explicit, viewed
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..values.storage import AliasSet, Plain, UnknownAlias, memories, select_whole
from ..values.views import IndexView, Repeat, dynamic, spelled

ARRAY, SCALAR = "array", "scalar"  # a Kind may also be a Python number: its type is the kind


class Out:
    """One result leaf: result `index` as `kind` ("value"), argument leaf `index` ("argument"), or `object` itself; what
    a Read finds ("outside").

    "chosen": of the Outs in `object`, the one whose number result `index` is. "unsure": result `index`, unless it may
    be a view of one of them. chain: the views that lead from the result or argument to the leaf.
    """

    __slots__ = ("how", "kind", "index", "chain", "object")

    def __init__(self, how, kind=None, index=None, chain=(), object=None):
        self.how, self.kind, self.index, self.chain, self.object = how, kind, index, chain, object


class Located:
    """A window whose starts are results of the program: `places`, in the order of the axes that have one."""

    def __init__(self, step, places):
        self.places, self.key = places, []
        axes, used = iter(step.axes), sum(k is not None and k is not Ellipsis for k in step.key)
        for k in step.key:
            if k is None or k is Ellipsis:
                self.key.append((k, None))
                for _ in range(len(step.axes) - used if k is Ellipsis else 0):
                    next(axes)
                continue
            start, count, _ = next(axes)
            self.key.append((k, count) if isinstance(start, Value) else (k, None))

    def at(self, starts):
        """The key of NumPy's for these starts."""
        starts = iter(starts)
        return tuple(
            [
                k if n is None else slice(s := next(starts), s + n) if isinstance(k, slice) else next(starts)
                for k, n in self.key
            ]
        )

    def text(self, x, values):
        """For a reader: `values` are the names of the program's results."""
        starts, parts = iter([values[p] for p in self.places]), []
        for k, n in self.key:
            start = next(starts) if n is not None else None
            parts.append(spelled(k) if n is None else f"{start}:{start} + {n}" if isinstance(k, slice) else start)
        return f"{x}[{', '.join(parts)}]"


class Freeze:
    """No view: the array itself, which may not be written from then on."""

    def apply(self, array):
        array.flags.writeable = False
        return array


FREEZE = Freeze()


class Row:
    """No view: the number at a place of a result, of which a list is made."""

    def __init__(self, place):
        self.place = place

    def apply(self, array):
        return array[self.place]

    def get(self, x):
        return OPS["reshape"](OPS["slice"](x, start=(self.place,), stop=(self.place + 1,), stride=(1,)), shape=())

    def text(self, x):
        return f"{x}[{self.place}]"


def follow(array, chain, values=()):
    """The view that `chain` leads to; values: the results of the program."""
    base = array
    try:
        for step in chain:
            located = type(step) is Located
            array = array[step.at([int(values[p]) for p in step.places])] if located else step.apply(array)
    except Exception:
        if not is_explicit(base):
            raise
        return viewed(base, lambda x: follow(x, chain, values))
    return array


def key_of(x):
    """What makes an array the object it is."""
    return x.storage, tuple(map(id, x.chain))


class Handover:
    """The array leaves of what a trace returns, as objects; `values` are the results so far."""

    def __init__(self, arrays, trace, values):
        self.trace, self.values, self.outs, self.places, self.starts = trace, values, {}, {}, {}
        self.views = {}  # (memory, ids of a chain) -> its Out
        self.shown = {}  # memory of the program's own -> the arrays that show it
        for x in arrays:
            for base in memories(x.storage):
                self.shown.setdefault(base, set()).add(key_of(x))

    def add(self, value):
        self.values.append(value)
        return len(self.values) - 1

    def out(self, x):
        """The Out of an array; the same for one object."""
        key = key_of(x)
        if key not in self.outs:
            self.outs[key] = self.made(x, key)
        return self.outs[key]

    def made(self, x, key):
        self.options, self.numbers = [], {}
        number = self.number(x.storage, x.chain)
        frozen = (FREEZE,) if x.chain and x.storage.frozen and not x.writeable else ()
        outs = []
        for option in self.options:
            if option is None:
                outs.append(self.own(x))
            elif isinstance(option, Unsure):
                found = self.existing(option.storage, option.chain) if self.visible(option.storage) else self.own(x)
                candidates = tuple([self.existing(s, ()) for s in option.others])
                outs.append(Out("unsure", ARRAY, found.index, found.chain, candidates))
            else:
                outs.append(self.existing(*option, frozen))
        return outs[0] if len(outs) == 1 else Out("chosen", ARRAY, self.add(number), (), tuple(outs))

    def number(self, storage, chain):
        """Which of the options an array is, as a value."""
        if isinstance(storage, UnknownAlias) and storage.told is not None:
            storage = storage.told
        if isinstance(storage, AliasSet):
            key = storage, *map(id, chain)  # what several choices lead to is numbered once
            if key in self.numbers:
                return self.numbers[key]
            value = None
            for test, base, steps in reversed(storage.choices):
                x = self.number(base, (*steps, *chain))
                same = value is None or isinstance(x, Lit) and isinstance(value, Lit) and x.value == value.value
                value = x if same else select_whole(self.trace.bring(test), x, value)
            self.numbers[key] = value
            return value
        others = (
            [s for s in memories(storage) if s is not storage and self.visible(s)]
            if isinstance(storage, UnknownAlias)
            else []
        )
        option = Unsure(storage, chain, others) if others else (storage, chain) if self.visible(storage) else None
        at = next((n for n, o in enumerate(self.options) if same_option(o, option)), None)
        if at is None:
            self.options.append(option)
            at = len(self.options) - 1
        return Lit(at, COUNTER)

    def visible(self, storage):
        """Whether anybody sees a memory but the one array that may be in it."""
        return storage.origin is not None or type(storage) is not Plain and len(self.shown.get(storage, ())) > 1

    def existing(self, storage, chain, frozen=()):
        """A view of an argument, of an outside array, or of a memory that several results show; one Out for one
        view."""
        key = storage, *map(id, chain)
        if key not in self.views:
            self.views[key] = self.view(storage, (*[self.located(step) for step in chain], *frozen))
        return self.views[key]

    def view(self, storage, chain):
        if storage.origin is not None:
            return Out("argument", ARRAY, storage.origin, chain)
        if storage not in self.places:
            self.places[storage] = self.add(self.trace.bring(storage.value))
        frozen = (FREEZE,) if storage.readonly or () in (storage.frozen or ()) else ()
        return Out("value", ARRAY, self.places[storage], (*frozen, *chain))

    def located(self, step):
        if not (isinstance(step, IndexView) and step.dynamic):
            return step
        if step not in self.starts:
            places = tuple([self.add(self.trace.bring(start)) for start, _, _ in step.axes if isinstance(start, Value)])
            self.starts[step] = Located(step, places)
        return self.starts[step]

    def own(self, x):
        """An array that nobody else sees."""
        chain = x.chain
        if (
            any(isinstance(s, Repeat) for s in chain)
            and type(x.storage) not in (AliasSet, UnknownAlias)
            and not dynamic(chain)
        ):
            return Out("value", ARRAY, self.add(self.trace.bring(x.storage.value)), chain)
        return Out("value", ARRAY, self.add(x.value), () if x.writeable else (FREEZE,))


class Unsure:
    """An array that has memory of its own, or is one of `others`."""

    def __init__(self, storage, chain, others):
        self.storage, self.chain, self.others = storage, chain, others


def same_option(a, b):
    """Whether two options are one: (memory, chain of views), an `Unsure`, or None for what nobody else sees."""
    if type(a) is not tuple or type(b) is not tuple:
        return a is b
    return a[0] is b[0] and len(a[1]) == len(b[1]) and all(p is q for p, q in zip(a[1], b[1]))


def ambiguous(outs, values, leaves, after):
    """Whether a result may be, by what it holds, a view of an array that it might be of. after: argument -> what it
    will hold."""
    for out in outs:
        for part in out.object if out.how == "chosen" else (out,):
            if part.how != "unsure" or out.how == "chosen" and out.object[int(values[out.index])] is not part:
                continue
            for other in part.object:
                x = values[other.index] if other.how == "value" else after.get(other.index, leaves[other.index])
                if within(values[part.index], x):
                    return True
    return False


def within(part, whole):
    """Whether each element of an array is among those of another, as they are in a view of it."""
    part, whole = np.asarray(part), np.asarray(whole)
    if whole.dtype.kind == "c" and part.dtype.kind == "f":
        whole = np.concatenate([whole.real.ravel(), whole.imag.ravel()])
    if part.dtype != whole.dtype or not part.size:
        return True
    nan = part != part
    if not nan.flat[0] and not (whole == part.flat[0]).any() or nan.any() and not (whole != whole).any():
        return False
    return bool((nan | np.isin(part, whole)).all())


def non_overlapping(x):
    """Whether the elements of an ndarray surely lie apart in memory."""
    if x.flags.c_contiguous:
        return True  # steps of axes of one element are any
    end = x.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(x.strides, x.shape) if n != 1):
        if step < end and n:
            return False
        end += step * (n - 1)
    return True


def writeable(x):
    """Whether an ndarray may be written as one."""
    return x.flags.writeable and non_overlapping(x)
