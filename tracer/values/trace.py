"""One trace: the function being built, what it captured from outside, and the memory it wrote."""

import collections
import sys

import numpy as np

from ...backends.xla.dispatch import is_tracer_type
from ...backends.xla.processes import is_spread
from ...ir.core import Builder, Lit, Value
from ...ir.intervals import of_array
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ...ir.rules.fold import uniform
from ...ir.types import type_of
from ..common.errors import CannotRoll, IntegerOverflow, LeakError, UnsupportedError, Untold, message, with_note
from ..common.exception_tables import generator_under_handler
from ..common.frames import locate, locate_equation
from .acting import Acting
from .elements import Element
from .speculate import Assumption, holds
from .status import BITS, PASSED, Check, failed, passed, quoting
from .storage import UNKNOWN, AliasSet, Storage, memories

SMALL = 64  # trace-local arrays up to this many elements become constants in the program; larger ones become inputs
select = OPS["select"]
UNSEEN = (Assumption, IntegerOverflow)  # what no handler of the user's is meant to see: Python does not raise them


class Capture:
    """A concrete array met while tracing: the object, its contents when met, and the value that stands for it."""

    __slots__ = ("array", "contents", "value", "source")

    def __init__(self, array, contents, value, source):
        self.array, self.contents, self.value, self.source = array, contents, value, source


class Trace(Acting):
    """Collects one function. `with trace:` makes it the innermost of this thread."""

    def __init__(self, name, parent=None, outside=None):
        self.parent = parent
        self.build = Builder(name, locate_equation)
        self.build.trace = self
        self.root = parent.root if parent is not None else self
        self.journal = {}  # storage of an outer trace, written here -> its value before
        self.region = None  # the body of a loop or branch that this trace is, if it is one
        self.standing = set()  # memory that stands, in the body of a loop, for what a name holds when a trip begins
        self.stored = False  # whether any memory was made in it
        self.once = parent is None  # whether it runs once a call, as its text stands
        self.looped = parent is not None and parent.looped  # whether it is within the body of a loop
        self.lanes = parent is not None and parent.lanes  # whether it is within what lanes do, or a rule of the user's
        self.rebound = {}  # id of an array that a loop may have made longer -> (it, what it was before)
        self.hoisted = {}  # (op, operands, attributes) -> results of what is computed here for a trace within it
        self.lifted = {}  # value of an outer trace -> the parameter that stands for it here
        self.container_phis = {}  # id of a list or dict -> the ContainerPhi that it stands for
        self.given = {}  # parameter of a function applied once, where it is captured -> the outer value it is given
        if parent is None:
            self.outside = outside  # what it reads and changes beyond its arguments
            self.captures = {}  # id(array) -> [Capture, ...], the latest last
            self.status = Storage(PASSED, self)
            self.checks = {}  # Check -> its number, from 1
            self.waiting = []  # acts that come when all choices by value have been made, see `act`
            self.raised_as = []  # exceptions that stand for one of two, as data decide
            self.early = []  # checks of this trace that came up while a loop or branch was captured
            self.refused = None  # the last error that said that Python asked for a number
            self.numbers = set()  # the parameters that are Python numbers
            self.choices = None  # the Choices of a trace that can make some by value
            self.copies = 1  # how often the code being run is written out, for loops that are
            self.notes = []  # what could not be captured as it stands, and what was done instead, for explain()
            self.streams = {}  # id -> "stdout" or "stderr", as which the function has read it
            self.made = []  # locks and buffers that the function makes
            self.within = []  # the context managers being run of `printing.PASSING`
            self.trying = []  # the `try` statements being run whose handlers an exception of the program cannot reach
            self.growing = {}  # id of a list -> (what a captured loop has of it that appends to it, all such lists)
            self.sites = {}  # what earlier visits found out about a loop
            self.bounds = {}  # integer value -> (lowest, highest) it can be; None where that is not known
            # what a loop leaves of an int it carries -> (what it was before, least and greatest that was added)
            self.drifts = {}
            # how often data chose between an int and a float, and the like, of which the wider was taken
            self.mixed = 0
            self.changes = collections.Counter()  # id of an object -> how often its attributes or items were stored
            self.altered = 0  # how often memory, or what an object or container holds, was changed
            self.turning = 0  # how many loops are being run or captured
            self.known_trips = 0  # of loops that ran with the Python numbers among the arguments known
            self.trips = 0  # of loops that ran while tracing, as Python runs them
            self.of_python = set()  # values that operators of Python's numbers made
            self.zero_raises = False  # whether NumPy's numbers are divided as Python's are: as Numba does
            self.unproven = 0  # how often Python ints had to be checked for overflow
            self.known = {}  # value -> its contents where constants alone decide them, else None
            self.lifts = {}  # parameter of an inner trace -> the outer value it stands for
            self.relied = {}  # (argument leaf index, what of the array was asked) -> the answer
            # (argument's storage, watched storage, its value then, of a row too, memory that lies as it does): see
            # `rely_on_layout`
            self.layout = []

    @property
    def repeated(self):
        """Whether it is within the body of a loop or branch."""
        return self.region is not None or self.parent is not None and self.parent.repeated

    def repeats(self, value):
        """Whether a value is computed within the body of a loop or branch, and not brought there from before all of
        them."""
        while value in self.root.lifts:
            value = self.root.lifts[value]
        return self.repeated and value not in self.root.build.values

    def __enter__(self):
        self.build.__enter__()
        return self

    def __exit__(self, *exc):
        self.build.__exit__(*exc)

    def param(self, type, hint=None):
        return self.build.param(type, hint)

    def rely_on_layout(self, storage, watched=None, row=False):
        """Record that an argument was taken to be in row-major order.

        watched: the storage whose later writes are the only way to tell, or its being returned: what decided was view
        or copy. row: whether steps between the elements of a mere row decide too, and the argument's own being
        returned.
        """
        if storage.lies is UNKNOWN:
            text = (
                "an array that a loop carries, and that lies in memory otherwise before than after a trip, is asked "
                "how it lies"
            )
            raise CannotRoll(message(text, locate(), "Take a copy before it is asked: x = y.copy()."))
        if isinstance(storage, AliasSet):
            if storage.mixed:
                text = "an array that data chose from several, which lie differently in memory, is asked how it lies"
                raise UnsupportedError(message(text, locate(), "Take a copy where it is chosen: x = y.copy()."))
            for base in memories(storage):
                self.rely_on_layout(base, watched, row)
        elif storage.trace is self.root and storage.origin is not None and storage.value.type.ndim > (not row):
            self.root.layout.append((storage, watched, watched and watched.value, row, None))
        else:  # memory of the program's own: only both arrays together tell, or a write
            for base in [m for s in storage.lies for m in memories(s)]:
                if base.trace is self.root and base.origin is not None and base.value.type.ndim > 1:
                    self.root.layout.append((base, watched, watched and watched.value, row, storage))

    def rely_on_layouts_of(self, *storages):
        """Record that whether arrays share memory is asked: what was taken for a view, or for a copy, decides it."""
        asked = {id(m) for s in storages for m in memories(s)}
        told = lambda s, watched, value, row, made: asked & {id(s), id(watched), id(made)}
        self.root.layout = [(x[0], None, None, x[3], None) if told(*x) else x for x in self.root.layout]

    def layout_arguments(self, returned=()):
        """Leaf indices of the arguments whose order of memory the trace depends on; `returned`: the storages that the
        caller gets."""
        shown = collections.Counter(map(id, returned))

        def tells(s, watched, value, row, made):
            if watched is None or watched.value is not value:
                return True
            if made is not None:
                return shown[id(made)] + (shown[id(watched)] if watched is not made else 0) > 1
            return (row or watched is not s) and id(watched) in shown

        return tuple({s.origin: None for s, *asked in self.layout if tells(s, *asked)})

    def bring(self, value):
        """`value`, usable in this trace: lifted into a parameter if it belongs to an outer trace."""
        trace, within = self, []  # no recursion: choices lie in one another by the hundred
        while trace is not None:
            if isinstance(value, Lit) or value in trace.build.values:
                found = value
            elif (found := trace.lifted.get(value)) is None and type(value) is Element:
                found = value.cut(trace)
            if found is not None:
                break
            within.append(trace)
            trace = trace.parent
        if trace is not None:
            for inner in reversed(within):
                found = inner.lifted[value] = inner.build.param(value.type, value.hint)
                inner.root.lifts[found] = value
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
        if is_tracer_type(type(array)):
            text = "a value that jax is tracing is read from outside the function"
            raise UnsupportedError(message(text, locate(), "Pass it as an argument."))
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

    def alike(self, a, b):
        """Whether two values are captured constants of the same contents: arrays that nobody but the trace can reach
        any more."""
        found = [c for versions in self.captures.values() for c in versions if c.value is a or c.value is b]
        return (
            len(found) == 2 and _same(found[0].contents, found[1].contents) and not any(_outside(c, 1) for c in found)
        )

    def check(self, ok, error, text, value=None, unless=(), words=None, args=None, told=True):
        """Record that `ok` (a bool scalar value) must hold, or the call raises `error(text)` and changes nothing.

        value: an integer scalar, whose number when the program runs takes the place of the first `{}` in the text.
        words: what the exception says, made of traced values, where it comes to a handler; where it does not, and there
        is no one number that the program could quote, plain Python says it.
        unless: [(test, error, text)], what is raised instead where a test holds: one check, as cheap as without, of
        what has several reasons. args, told: see `Check`.
        """
        if unless and (self.root.trying or isinstance(ok, Lit)):  # each may have a handler of its own
            for test, other, words in unless:
                self.check(OPS["not"](test), other, words)
            unless = ()
        if isinstance(ok, Lit):
            if not ok.value and isinstance(value, Lit):
                raise quoting(error, text, value.value)
            if not ok.value and self.caught(error, text):
                raise self.worded(error, text, value, words)
            if not ok.value and (words is not None or value is not None):
                raise Untold.of(with_note(error, text.replace("{}", "…").lstrip("\n")))
            if not ok.value:
                raise with_note(error, text)
            return
        if self.caught(error, text):
            held = holds(ok)  # by value, it comes to the handler
            if held is False:
                raise self.worded(error, text, value, words)
            if held:
                return
        if words is not None and value is None:
            text, told = text.replace("{}", "…").lstrip("\n"), False
        if (code := generator_under_handler()) is not None and error not in UNSEEN:
            what = f"{error.__name__}, if it is raised, may be handled by {code.co_qualname}, a generator"
            hint = "Make the items without a `try` or a `with` around them."
            raise UnsupportedError(message(what, locate(), hint))
        before = self.bring(self.root.status.value)
        bad = OPS["not"](ok)
        first = bad if before is PASSED else OPS["and"](bad, passed(before))
        status = self._failed(error, text, value, args, told)
        for test, other, words in reversed(unless):
            status = select(test, self._failed(other, words), status)
        self.root.status.write(select(first, status, before))

    def worded(self, error, text, value, words):
        """The exception that comes to a handler of the user's."""
        if words is None and value is None:
            return with_note(error, text)
        said, _, more = text.partition("\n")
        made = error(self.quoted(said, value) if words is None else words())
        if more:
            made.add_note(more)
        return made

    quoted = None  # (text, integer scalar) -> the text with the number in place of the first `{}`; filled in above

    def check_early(self):
        """Record what came up while loops or branches were captured: it comes before what they have checked."""
        for ok, error, text, value in reversed(self.early):  # of which the first is to speak first
            self.status.write(select(ok, self.status.value, self._failed(error, text, value)))
        self.early = []

    def fail(self, error, text, args=None, told=True):
        """Record that the program, if it comes here, raises `error(text)`. args, told: see `Check`."""
        if self.caught(error, text):
            holds(Lit(False, TRUTH))
        before = self.bring(self.root.status.value)
        now = self._failed(error, text, None, args, told)
        self.root.status.write(now if before is PASSED else select(passed(before), now, before))

    def failing(self, error, text):
        """The number that the status has where a check of the program's says `error(text)`, for what runs on the
        host."""
        return int(self._failed(error, text).value)

    def caught(self, error, text):
        """Whether a handler of the user's waits for an exception."""
        handlers = [around for around in self.root.trying if around.handles]
        return error not in UNSEEN and any(around(error, text)[0] is not error for around in handlers)

    def passed(self):
        """Whether nothing has failed before this point: what follows a failure computes with garbage, and may never
        end."""
        return passed(self.bring(self.root.status.value))

    def _failed(self, error, text, value=None, args=None, told=True):
        for around in reversed(self.root.trying) if error not in UNSEEN else ():
            (error, text), was = around(error, text), error
            value, args, told = (value, args, told) if error is was else (None, None, around.handles)
        checks = self.root.checks
        drawn = len(self.root.outside.draws.list)
        check = Check(error, text, value is not None, drawn, args, told)
        if check not in checks:
            self.root.outside.check_places[len(checks) + 1] = locate()
        number = checks.setdefault(check, len(checks) + 1)
        if number >> BITS:
            raise UnsupportedError(
                message(
                    f"one program checks more than {1 << BITS} things while it runs",
                    locate(),
                    "Write a loop over an array.",
                )
            )
        return failed(number, value)

    def finish_captures(self):
        """Decide what each captured array is -> (inputs, re-read at every call; constants; {input: interval}); the
        former as [(array, value)].

        Memory that somebody outside still refers to may change between calls: an input. Memory made
        while tracing cannot: a constant if small or all of one number, an input holding the contents if large, whose
        integers are known.
        """
        inputs, local, intervals = [], [], {}
        together = {}
        for versions in self.captures.values():
            together.setdefault(id(getattr(versions[-1].array, "base", None)), []).append((versions[-1], len(versions)))
        for versions in self.captures.values():
            last = versions[-1]
            outside = _outside(last, len(versions), together)
            if outside and (len(versions) > 1 or not _same(last.contents, last.array)):
                raise UnsupportedError(
                    message(
                        f"an array that lives outside the function, {type_of(last.array)}, was written while the "
                        "function was traced",
                        last.source,
                        "Pass the array as an argument: arguments may be written, and the caller's array then changes "
                        "at every call.",
                    )
                )
            for c in versions:
                if outside:
                    inputs.append((c.array, c.value))
                elif is_spread(c.contents):
                    inputs.append((c.contents, c.value))
                elif c.value.type.size <= SMALL or uniform(np.asarray(c.contents)):
                    local.append((c.contents, c.value))
                else:
                    inputs.append((c.contents, c.value))
                    intervals[c.value] = of_array(np.asarray(c.contents))
        return inputs, local, intervals


def _outside(capture, versions, together=None):
    """Whether anyone but the finished trace can still reach the memory of a captured array.

    together: {id of an array: captured views of it, each with the number of its captures}
    """
    array = capture.array
    if not isinstance(array, np.ndarray):
        return False
    held = sys.getrefcount(array) > versions + 2  # the captures, the name `array`, and the argument itself
    if held or array.base is None:
        return held
    owner = array.base
    views = (together or {}).get(id(owner), [])
    if not isinstance(owner, np.ndarray) or sys.getrefcount(owner) > max(len(views), 1) + 2:
        return True
    return any(sys.getrefcount(c.array) > n + 1 for c, n in views if c is not capture)


def _same(a, b):
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
