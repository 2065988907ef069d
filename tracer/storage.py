"""Memory that may be written: the current SSA value of a base array, and the trace that owns it.

A write rebinds `value`; nothing in the IR is mutable. A trace that writes a storage of an outer one
records the outer value first (`Trace.journal`), so the inner function gets an extra result and the
outer storage gets that result: effects pass through transforms like any other value.
"""

import weakref

from ..ir.core import Builder
from .errors import UnsupportedError, message
from .frames import locate


class Storage:
    __slots__ = ("value", "trace", "origin", "readonly", "__weakref__")

    def __init__(self, value, trace, origin=None, readonly=False):
        self.value, self.trace = value, trace
        if trace is not None:
            trace.stored = True
        self.origin = origin  # ("argument", leaf index), ("captured", array) or None for memory made in the trace
        self.readonly = readonly

    def write(self, value):
        trace = current_trace()
        if self.trace is not trace and self not in trace.journal:
            for outer in traces_between(self.trace, trace):
                if self not in outer.journal:
                    outer.journal[self] = self.value
        self.value = value


class Blend(Storage):
    """Memory that is one array's or another's, as data decided while the program ran.

    Reading is fine while those arrays stay as they were. A write would have to reach whichever it is:
    it raises, unless nobody else can see them any more.
    """

    __slots__ = ("sources", "now", "ambiguous")

    def __init__(self, value, trace, sources):
        self.ambiguous = False  # whether other names may be the same memory, without a source saying so
        self.sources = [(weakref.ref(s), s.value) for s in sources]
        super().__init__(value, trace)

    @property
    def value(self):
        return self.given({})

    def given(self, writes):
        """The value, if no source has been written since, `writes` being taken as done."""
        for s, before in self.sources:
            if s() is not None and (writes[s()] if s() in writes else s().value) is not before:
                raise self._unknown("was read after one of them was written")
        return self.now

    @value.setter
    def value(self, value):
        self.now = value

    def write(self, value):
        if self.ambiguous or any(s() is not None for s, _ in self.sources):
            raise self._unknown("is written in place")
        super().write(value)

    def alive(self):
        """The arrays it may be that others still see."""
        return [s() for s, _ in self.sources if s() is not None]

    def _unknown(self, happened):
        text = f"an array of type {self.now.type}, which data made one of several arrays, {happened}"
        return UnsupportedError(message(text, locate(), "Take a copy where it is chosen: x = y.copy()."))


def current_trace():
    """The innermost trace of this thread, or None."""
    build = Builder.building()
    return None if build is None else build.trace


def traces_between(owner, inner):
    """The traces inside `owner`, outermost first, down to and including `inner`."""
    chain = []
    trace = inner
    while trace is not None and trace is not owner:
        chain.append(trace)
        trace = trace.parent
    return chain[::-1]
