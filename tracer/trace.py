"""One trace: the function being built, what it captured from outside, and the memory it wrote."""

import sys

import numpy as np

from ..ir.core import Builder, Lit, Value
from ..ir.ops import OPS
from ..ir.types import Tensor, type_of
from .errors import LeakError, UnsupportedError, message
from .frames import locate
from .storage import Storage

SMALL = 64  # trace-local arrays up to this many elements become constants in the program; larger ones become inputs
select, eq = OPS["select"], OPS["eq"]


class Capture:
    """A concrete array met while tracing: the object, its contents when met, and the value that stands for it."""

    __slots__ = ("array", "contents", "value", "source")

    def __init__(self, array, contents, value, source):
        self.array, self.contents, self.value, self.source = array, contents, value, source


class Trace:
    """Collects one function. `with trace:` makes it the innermost of this thread."""

    def __init__(self, name, parent=None, outside=None):
        self.parent = parent
        self.build = Builder(name, locate)
        self.build.trace = self
        self.root = parent.root if parent is not None else self
        self.journal = {}  # storage of an outer trace, written here -> its value before
        self.region = None  # the body of a loop or branch that this trace is, if it is one
        self.stored = False  # whether any memory was made in it
        self.lifted = {}  # value of an outer trace -> the parameter that stands for it here
        if parent is None:
            self.outside = outside  # what it reads and changes beyond its arguments
            self.captures = {}  # id(array) -> [Capture, ...], the latest last
            self.status = Storage(Lit(0, Tensor((), np.dtype(np.int32))), self)
            self.checks = []  # (exception class, message) behind each status number, from 1
            self.notes = []  # what could not be captured as it stands, and what was done instead, for explain()
            self.sites = {}  # what earlier visits found out about a loop
            self.bounds = {}  # integer value -> (lowest, highest) it can be
            self.known = {}  # value -> its contents where constants alone decide them, else None
            self.lifts = {}  # parameter of an inner trace -> the outer value it stands for
            self.layout = []  # (argument's storage, watched storage, its value then): see `rely_on_layout`

    def __enter__(self):
        self.build.__enter__()
        return self

    def __exit__(self, *exc):
        self.build.__exit__(*exc)

    def param(self, type, hint=None):
        return self.build.param(type, hint)

    def rely_on_layout(self, storage, watched=None):
        """Record that an argument was taken to be in row-major order.

        watched: the storage whose later writes are the only way to tell: what decided was view or copy.
        """
        if storage.trace is self.root and storage.origin is not None and storage.value.type.ndim > 1:
            self.root.layout.append((storage, watched, watched and watched.value))

    def layout_arguments(self):
        """Leaf indices of the arguments whose order of memory the trace depends on."""
        return tuple({s.origin: None for s, watched, value in self.layout if watched is None or watched.value is not value})

    def bring(self, value):
        """`value`, usable in this trace: lifted into a parameter if it belongs to an outer trace."""
        if isinstance(value, Lit) or value in self.build.values:
            return value
        found = self.lifted.get(value)
        if found is not None:
            return found
        if self.parent is not None:
            self.parent.bring(value)  # raises if no outer trace knows it
            found = self.lifted[value] = self.build.param(value.type, value.hint)
            self.root.lifts[found] = value
            return found
        raise LeakError(
            message(
                f"a traced value of type {value.type} was used outside the call that made it",
                locate(),
                "Traced values live only while their function is being traced: return them from the\n"
                "function, instead of storing them in a global, an attribute or an enclosing list.",
            )
        )

    def capture(self, array):
        """The value of a concrete ndarray (or device array) met in a traced operation."""
        root = self.root
        if id(array) in root.outside.paths:
            return self.bring(root.outside.array(array).storage.value)
        known = root.captures.setdefault(id(array), [])
        for seen in reversed(known):
            if _same(seen.contents, array):
                return self.bring(seen.value)
            break  # changed since: a new capture
        mutable = isinstance(array, np.ndarray)
        value = Value(type_of(array))
        root.build.values.add(value)
        known.append(Capture(array, array.copy() if mutable else array, value, locate()))
        return self.bring(value)

    def constant(self, array):
        """The value of a concrete array that was made while tracing and that nobody else can reach."""
        value = self.capture(array)
        outer = value
        while outer in self.root.lifts:
            outer = self.root.lifts[outer]
        self.root.known[outer] = self.root.captures[id(array)][-1].contents
        return value

    def check(self, ok, error, text):
        """Record that `ok` (a bool scalar value) must hold, or the call raises `error(text)` and changes nothing."""
        if isinstance(ok, Lit):
            if not ok.value:
                raise error(text)
            return
        before = self.bring(self.root.status.value)
        first = OPS["and"](OPS["not"](ok), eq(before, 0))
        self.root.status.write(select(first, self._number(error, text), before))

    def fail(self, error, text):
        """Record that the program, if it comes here, raises `error(text)`."""
        before = self.bring(self.root.status.value)
        self.root.status.write(select(OPS["eq"](before, Lit(0, before.type)), self._number(error, text), before))

    def _number(self, error, text):
        checks = self.root.checks
        if (error, text) not in checks:
            checks.append((error, text))
        return Lit(checks.index((error, text)) + 1, self.root.status.value.type)

    def finish_captures(self):
        """Decide what each captured array is -> [(array, value)] that become inputs, re-read at every call.

        Memory that somebody outside still refers to may change between calls: an input. Memory made
        while tracing cannot: a constant if small, an input holding the contents if large.
        """
        inputs, local = [], []
        for versions in self.captures.values():
            last = versions[-1]
            outside = _outside(last, len(versions))
            if outside and (len(versions) > 1 or not _same(last.contents, last.array)):
                raise UnsupportedError(
                    message(
                        f"an array that lives outside the function, {type_of(last.array)}, was written while the function was traced",
                        last.source,
                        "Pass the array as an argument: arguments may be written, and the caller's array then changes at every call.",
                    )
                )
            for c in versions:
                if outside:
                    inputs.append((c.array, c.value))
                elif c.value.type.size <= SMALL:
                    local.append((c.contents, c.value))
                else:
                    inputs.append((c.contents, c.value))
        return inputs, local


def _outside(capture, versions):
    """Whether anyone but the finished trace can still reach the memory of a captured array."""
    array = capture.array
    if not isinstance(array, np.ndarray):
        return False
    if array.base is None:
        return sys.getrefcount(array) > versions + 2  # the captures, the name `array`, and the argument itself
    owner = array.base
    return not isinstance(owner, np.ndarray) or sys.getrefcount(array) > versions + 2 or sys.getrefcount(owner) > 3


def _same(a, b):
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
