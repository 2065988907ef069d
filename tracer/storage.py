"""Memory that may be written: the current SSA value of a base array, and the trace that owns it.

A write rebinds `value`; nothing in the IR is mutable. A trace that writes a storage of an outer one
records the outer value first (`Trace.journal`), so the inner function gets an extra result and the
outer storage gets that result: effects pass through transforms like any other value.
"""

from ..ir.core import Builder


class Storage:
    __slots__ = ("value", "trace", "origin", "readonly")

    def __init__(self, value, trace, origin=None, readonly=False):
        self.value, self.trace = value, trace
        self.origin = origin  # ("argument", leaf index), ("captured", array) or None for memory made in the trace
        self.readonly = readonly

    def write(self, value):
        trace = current_trace()
        if self.trace is not trace and self not in trace.journal:
            for outer in traces_between(self.trace, trace):
                if self not in outer.journal:
                    outer.journal[self] = self.value
        self.value = value


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
