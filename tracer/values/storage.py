"""Memory that may be written: the current SSA value of a base array, and the trace that owns it.

A write rebinds `value`; nothing in the IR is mutable. A trace that writes a storage of an outer one
records the outer value first (`Trace.journal`), so the inner function gets an extra result and the
outer storage gets that result: effects pass through transforms like any other value.
"""

import collections
import sys

import numpy as np

from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate

SELECT, OR, NOT, BROADCAST = OPS["select"], OPS["or"], OPS["not"], OPS["broadcast"]
TRUTH = Tensor((), np.dtype(bool))
UNKNOWN = ("unknown",)


class Storage:
    __slots__ = (
        "value", "trace", "origin", "readonly", "frozen", "lies", "lent", "unnamed", "held_by", "by_jax", "written",
    )  # fmt: skip

    def __init__(self, value, trace, origin=None, readonly=False):
        self.value, self.trace = value, trace
        self.frozen = None  # {ids of a chain: the chain} of the arrays in it made read-only
        self.lent = None  # the list that holds an array of this memory too, where data decide as which of its items
        self.held_by = None  # what an object of a library's sees of it, which no program could keep up to date
        self.by_jax = False  # whether its arrays are jax's outside of the trace, so that `x += 1` makes another
        self.unnamed = False  # whether it is a library's affair what memory the arrays in it are views of
        self.written = False  # whether anything was stored in it, if only what it held
        self.lies = ()  # the memories whose order decides how it lies; UNKNOWN where data do
        if trace is not None:
            trace.stored = True
        self.origin = origin  # ("argument", leaf index), ("captured", array) or None for memory made in the trace
        self.readonly = readonly

    def bases(self):
        """The memories that it may be, itself apart."""
        return ()

    def write(self, value):
        refuse_lent(self)
        trace = current_trace()
        if self.trace is not trace and self not in trace.journal:
            for outer in traces_between(self.trace, trace):
                if self not in outer.journal:
                    outer.journal[self] = self.value
        trace.root.altered += self is not trace.root.status
        self.value, self.written = value, True


def refuse_lent(storage):
    """Refuse what would tell an array from an item of a list, or from what a library holds."""
    if storage.lent is not None:
        text = f"an array that {storage.lent.name}, a list that grows where data decide, may hold is written in place"
        raise CannotRoll(message(text, locate(), "Append a copy: xs.append(x.copy())."))
    if storage.held_by is not None:
        raise UnsupportedError(message(f"{storage.held_by} is written in place", locate(), "Write into a copy of it."))


class AliasSet(Storage):
    """Memory that is one of several, as data decided while the program ran; it holds no elements of its own.

    choices: (test, storage, chain of views); at most one test holds, and the last, None, is for where none
    does. Reading chooses among what those memories hold at that moment, writing writes to whichever it
    is: sharing is as exact as in NumPy, however often the choice is made, kept, and made again.
    memo: what it is while the memories still hold `seen`.
    """

    __slots__ = ("choices", "type", "memo", "mixed")

    def bases(self):
        return [base for _, base, _ in self.choices]

    def __init__(self, choices, type, value=None, mixed=False):
        # mixed: the choices differ in their order of memory
        self.choices, self.type, self.mixed = distinct(choices), type, mixed
        self.trace, self.origin, self.frozen, self.lies, self.lent = current_trace(), None, None, (), None
        self.held_by = None
        self.unnamed = self.by_jax = False
        self.readonly = all(s.readonly for _, s, _ in self.choices)
        self.memo = None if value is None else ([s.value for _, s, _ in self.choices], value)

    @property
    def value(self):
        return self.given(_now)

    def given(self, now, chain=()):
        """The value, read through `chain`, while memory holds what the function `now` says."""
        found = [now(s) for _, s, _ in self.choices]
        if self.memo is not None and all(a is b for a, b in zip(found, self.memo[0])):
            return through(current_trace().bring(self.memo[1]), chain)
        value = None
        for (test, _, steps), base in reversed(list(zip(self.choices, found))):
            x = through(current_trace().bring(base), (*steps, *chain))
            value = x if value is None else select_whole(current_trace().bring(test), x, value)
        if self.trace is current_trace() and now is _now and not chain:
            self.memo = found, value
        return value

    def store(self, chain, new):
        """Write `new` to the part that `chain` leads to."""
        refuse_lent(self)
        self.settle()
        bring = current_trace().bring
        for n, (_, storage, steps) in enumerate(self.choices):
            mine, steps = self.mine(n), (*steps, *chain)
            if storage.readonly or storage.by_jax:
                text = message("assignment destination is read-only", locate())
                error = immutable() if is_immutable(storage) else (ValueError, text)
                current_trace().check(Lit(False, TRUTH) if mine is None else NOT(mine), *error)
                continue
            base = bring(storage.value)
            storage.write(
                with_part_replaced(base, steps, new if mine is None else select_whole(mine, new, through(base, steps)))
            )

    def mine(self, n):
        """Whether it is the n-th, as a value of the present trace; None where there is but one."""
        test = self.choices[n][0]
        if test is not None:
            return current_trace().bring(test)
        found = None
        for test, _, _ in self.choices[:-1]:
            test = current_trace().bring(test)
            found = test if found is None else OR(found, test)
        return None if found is None else NOT(found)

    def write(self, value):
        self.store((), value)

    def settle(self):
        """Become ordinary memory, where nobody else sees any of the memories it may be."""
        mine = len(self.choices)
        if self.trace is not current_trace() or mine == 1:
            return
        held = [s for _, s, _ in self.choices]
        held += [m for s in dict.fromkeys(held) if isinstance(s, UnknownAlias) for m, _ in s.sources]
        own = collections.Counter(map(id, held))
        while held:
            s = held.pop()
            # the holders among the choices, the name `s`, the argument, this list
            expected = own[id(s)] + 2 + sum(x is s for x in held)
            if (
                type(s) not in (Storage, UnknownAlias)
                or s.readonly
                or s.origin is not None
                or sys.getrefcount(s) > expected
            ):
                return
        del s
        self.choices, self.memo = [(None, Storage(self.value, self.trace), ())], None


def distinct(choices):
    """The choices, each memory and chain once."""
    found, last = {}, (choices[-1][1], tuple(map(id, choices[-1][2])))
    for test, storage, chain in choices[:-1]:
        key = storage, tuple(map(id, chain))
        if key != last:
            found[key] = (
                (OR(*map(current_trace().bring, (found[key][0], test))) if key in found else test),
                storage,
                chain,
            )
    return [*found.values(), choices[-1]]


class UnknownAlias(Storage):
    """Memory that may be that of other arrays: of which, no value in the program says.

    A loop may leave such an array behind, and a choice among very many. Reading is fine while those
    arrays stay as they were. told: the Blend it is, where there are merely too many for it to be read and written as
    that.
    """

    __slots__ = ("sources", "now", "told")

    def bases(self):
        return [s for s, _ in self.sources]

    def __init__(self, value, sources, told=None):
        self.told = told
        # reading a Shared tells whether what it may be was written since
        held = {m: m.value for s in sources for m in memories(s)}
        self.now, self.sources = value, [(s, value) for s, value in held.items() if not isinstance(s, UnknownAlias)]
        self.trace, self.origin, self.readonly, self.frozen, self.lent = current_trace(), None, False, None, None
        self.held_by = None
        self.unnamed = self.by_jax = False
        self.lies = (
            UNKNOWN
            if any(s.lies is UNKNOWN for s in sources)
            else tuple(dict.fromkeys(x for s in sources for x in s.lies))
        )

    @property
    def value(self):
        return self.given(_now)

    def given(self, now):
        """The value while memory holds what the function `now` says."""
        for s, before in self.sources:
            if now(s) is not before:
                raise self._unknown("was read after one of them was written")
        return self.now

    def write(self, value):
        raise self._unknown("is written in place")

    def _unknown(self, happened):
        text = f"an array of type {self.now.type}, which is one of several arrays, as data decided, {happened}"
        return UnsupportedError(message(text, locate(), "Take a copy where it is chosen: x = y.copy()."))


class Plain(Storage):
    """A concrete array among those that data chose from: the trace cannot write it."""

    __slots__ = ()

    def write(self, value):
        text = (
            f"an array of type {self.value.type}, which may be a plain array that the trace does not own, is written "
            "in place"
        )
        raise UnsupportedError(message(text, locate(), "Take a copy where it is chosen: x = y.copy()."))


def select_whole(test, x, y):
    """`x if test else y`, of whole values, by one bool."""
    if isinstance(test, Lit):
        return x if test.value else y
    shape = x.type.shape
    return SELECT(BROADCAST(test, shape=shape, dims=()) if shape else test, x, y)


def _now(storage):
    return storage.value


def is_immutable(storage):
    """Whether a memory is an array of jax's: one that jax has made, or an argument where those are."""
    of_jax = storage.origin is not None and storage.readonly and current_trace().root.outside.of_jax
    return storage.by_jax or of_jax


def immutable():
    """-> (class, text) of the error for a store into an array of jax's."""
    text = "JAX arrays are immutable and do not support in-place item assignment"
    return TypeError, message(text, locate(), "Make another array: x = x.at[index].set(value).")


def is_by_jax(storage):
    """Whether the arrays in a memory, or in one of those that it may be, are jax's outside of the trace."""
    return storage.by_jax or any(map(is_by_jax, storage.bases()))


def memories(storage):
    """The memories with elements of their own that one may be."""
    found, seen, pending = {}, set(), [storage]
    while pending:
        x = pending.pop()
        if x not in seen:  # several choices may lead to one
            seen.add(x)
            if not isinstance(x, AliasSet):
                found[x] = None
            pending += reversed(x.bases())
    return list(found)


def through(value, chain):
    """The part of a value that a chain of views leads to."""
    for step in chain:
        value = step.get(value)
    return value


def with_part_replaced(base, chain, new):
    """`base` with the part that a chain of views leads to replaced."""
    if not chain:
        return new
    step, rest = chain[0], chain[1:]
    return step.put(base, with_part_replaced(step.get(base), rest, new) if rest else new)


def current_trace():
    """The innermost trace of this thread, or None."""
    build = Builder.building()
    return None if build is None else build.trace


def around_regions(trace):
    """The trace of the function that a trace is a region of: a body of its loops or branches."""
    while trace.parent is not None and trace.region is not None:
        trace = trace.parent
    return trace


def traces_between(owner, inner):
    """The traces inside `owner`, outermost first, down to and including `inner`."""
    chain = []
    trace = inner
    while trace is not None and trace is not owner:
        chain.append(trace)
        trace = trace.parent
    return chain[::-1]
