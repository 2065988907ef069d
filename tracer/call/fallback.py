"""Calls that cannot be captured: answered by plain Python, with one warning that says why and what to write.

Plain Python runs the statement that was refused; loops and longer runs of statements before it, behind it and inside it
are compiled as functions of their own (`rewriter/division.py`), and may be refused and divided in turn.

A refusal comes before anything has happened: a trace acts on nothing, and what it has stored outside is put back. So
the user's own function can answer the call from its start. `jit(f, whole=True)` raises the refusal instead, and so does
a derivative, for plain Python has none.
"""

import contextlib
import logging
import time
import types

import numpy as np

from ...backends.xla import dispatch, processes
from ...ir.amounts import in_time
from ..capture.signature import kind_for
from ..common import events, pytree
from ..common.errors import (
    REFUSALS,
    IntegerOverflow,
    Overrun,
    Unsettled,
    UnsupportedError,
    Untold,
    called_outside,
    message,
    warn_fallback,
    without_sizes,
)
from ..common.frames import raises_for_user
from ..guards.foreign_objects import advice_for
from ..guards.patched_numpy import Replaced
from ..guards.static_arguments import key_of
from ..regions.jax_functions import speaks_jax
from ..values.storage import current_trace
from .parted import Parted
from .patience import state_in
from .plain_runs import PlainRun

MOST = 3  # bound: types of arguments that are tried after a refusal, until none is tried any more


class Refused(Exception):
    """A call that is not captured; `why` is the error that says so, `parted` what answers in its place, once made."""

    def __init__(self, why):
        super().__init__(why)
        self.why, self.parted = why, None


class Fallbacks:
    """The part of `SignatureEntry` that knows what was refused.

    refused: {types of the dynamic leaves: a Refused}; fallbacks: how many calls plain Python has answered for it;
    timed, seconds: how many of those compiled nothing, and how long they took.
    """

    def __init__(self):
        self.refused, self.fallbacks, self.timed, self.seconds = {}, 0, 0, 0.0
        self.parts = {}  # line of a refused statement -> a Parted

    def falls_back(self):
        """Whether a refused call is plain Python's to answer; a derivative has none."""
        return self.is_answerable() and not self.compiled.whole

    def is_answerable(self):
        """Whether plain Python has an answer, be it an exception."""
        inner = getattr(self.compiled.plain, "compiled", self.compiled)
        return (
            self.compiled.has_plain
            and inner.has_plain
            and (self.numpy or self.flat)
            and current_trace() is None
        )

    def kinds_of(self, leaves):
        """What each argument is to a trace."""
        try:
            return [kind_for(x, n) for x, n in zip(leaves, self.names)]
        except REFUSALS as error:
            if not self.falls_back():
                raise
            raise Refused(error) from error

    def refuse_known(self, types):
        """Raise Refused for arguments of which it is known, and for all where several have been tried."""
        known = self.refused.get(types)
        if known is None and len(self.refused) >= MOST:
            known = next(reversed(self.refused.values()))
        if known is None and not self.worlds and not self.old and len(self.elsewhere()) >= MOST:
            known = self.elsewhere()[-1]
        if known is not None:
            raise known.with_traceback(None)

    def elsewhere(self):
        """The refusals of entries that have no trace, and differ from this one in the instances among their arguments
        alone."""
        route = self.compiled.routes[self.built]
        if not route.alike:
            return []
        others = [key_of(self.leaves[i]) for i in route.static if i not in route.alike]
        return route.refusals.setdefault(tuple(others), [])

    def have_patience(self, types, here, way=None):
        """Raise Refused where a call is not to be traced, for all calls are other ones. way: what tells the way through
        choices by value that there is no trace for."""
        if self.falls_back():
            self.refuse_known(types)
            reason = lambda: "data took another way" if way is not None else self._reason(types, here)
            try:
                self.compiled.patience.ask(lambda: state_in(self, types, way), reason)
            except Unsettled as error:
                raise Refused(error) from None

    def traced(self, kinds, types, reason, given, path=()):
        """`trace`; a refusal is remembered, and raises Refused where plain Python can answer."""
        self.refuse_known(types)
        start = time.perf_counter()
        try:
            return self.trace(kinds, types, reason, given, path)
        except Exception as error:
            text, seconds = f"not captured: {events.first_line(error)}", time.perf_counter() - start
            events.report("trace", "refused", text, seconds, of=self.compiled, level=logging.DEBUG)
            if isinstance(error, Replaced | Untold) or not isinstance(error, REFUSALS):
                raise
            if self.falls_back() and (cut := self.compiled.patience.cut(error)) is not None:
                raise Refused(cut) from None
            self.compiled.patience.overran |= isinstance(error, Overrun)
            self.refuse(types, error)
        finally:
            self.compiled.patience.took(time.perf_counter() - start)

    def refuse(self, types, error):
        """Raise an error that says why a call is not captured; where plain Python can answer it is remembered, and is
        Refused, as it is where ints among the arguments need not be numbers of the program."""
        if not self.falls_back():
            raise Refused(error) if self.promoted else error
        refused = Refused(error)
        if not isinstance(error, IntegerOverflow):  # other numbers of these types may stay within
            self.refused[types] = refused
            if not self.worlds and not self.old:
                self.elsewhere().append(refused)
        raise refused from error

    @raises_for_user
    def again(self, leaves, reason, given, here=None):
        """The call where its program has ended before anything happened; reason: why, or the refusal that it raised.
        Where `here` takes in ints from outside, they are relied on from now on."""
        if isinstance(reason, Untold):
            return self.retold(leaves, reason, given)
        if not isinstance(reason, REFUSALS):
            return self.plainly(leaves, reason, given)
        if here is not None and self.must_know(here):
            return self.run(leaves, given)
        if not self.falls_back():
            raise reason
        return self.refused_call(leaves, Refused(reason), given)

    @raises_for_user
    def retold(self, leaves, untold, given):
        """The call that ends with an exception of which Python alone can make the parts: Python makes it."""
        if not self.is_answerable():
            raise untold.error or untold
        with left_to_python(self.compiled, untold):
            return self.uncaptured(leaves, given) if self.numpy else self.by_numpy(leaves, self.compiled.plain)

    def refused_call(self, leaves, refused, given):
        """Plain Python's answer, said aloud the first time."""
        if isinstance(refused.why, Unsettled):
            return self.unsettled(leaves, refused.why, given)
        self.fallbacks += 1
        parted = refused.parted
        if parted is None or not parted.stands_for(self.compiled.plain):
            text = told(self.compiled.name, refused.why) + advice_for(self.static)
            if self.compiled.is_news(text):
                warn_fallback(text)
            parted = refused.parted = self.part(refused.why)
        self.compiled.patience.was_left(refused.why, parted.pieces)
        plain, start, traces = parted.function, time.perf_counter(), parted.traces()
        try:
            with left_to_python(self.compiled, refused.why, parted.line):
                return self.uncaptured(leaves, given, plain) if self.numpy else self.by_numpy(leaves, plain)
        finally:
            if parted.traces() == traces:
                self.timed, self.seconds = self.timed + 1, self.seconds + time.perf_counter() - start
            else:
                parted.seconds = parted.before
            parted.before = parted.seconds

    def unsettled(self, leaves, why, given):
        """Plain Python's answer, where there is no trace as yet."""
        self.fallbacks += 1
        if self.compiled.is_news(text := f"{self.compiled.name} ran as plain Python, uncompiled: {why}"):
            warn_fallback(text)
        start = time.perf_counter()
        try:
            with left_to_python(self.compiled, why):
                return self.uncaptured(leaves, given) if self.numpy else self.by_numpy(leaves, self.compiled.plain)
        finally:
            self.compiled.patience.answered(time.perf_counter() - start)

    def plainly(self, leaves, reason, given=None, hint="Pass copies: f(x.copy(), y)."):
        """Run the user's function uncaptured, and say so."""
        if self.compiled.plain is None:
            raise UnsupportedError(message(reason, None, hint))
        warn_fallback(f"{self.compiled.name}: {reason}; the call ran as plain Python, uncompiled")
        with left_to_python(self.compiled, reason):
            return self.uncaptured(leaves, given)

    def uncaptured(self, leaves, given, plain=None):
        """The user's own function on the arguments of a call, or what does the same."""
        args, kwargs = given or pytree.unflatten(self.tree, self.filled(leaves), self.order)
        return called_outside(plain or self.compiled.plain, args, kwargs)

    def mistyped(self, error, leaves, given=None):
        """The call that ended with a TypeError, which jax raises for arrays of what are no numbers."""
        if isinstance(error, dispatch.UNKNOWN):
            return self.instead(leaves, error, given)
        try:
            self.kinds_of(leaves)
        except Refused as refused:
            return self.refused_call(leaves, refused, given)
        raise error

    def part(self, error):
        """The user's function with what can be compiled of it compiled."""
        self.compiled.unshare()  # the pieces are this function's
        plain = self.compiled.plain
        divides = isinstance(plain, types.FunctionType) and error.divides
        line = line_of(error, plain.__code__) if divides else None
        known = self.parts.get(line)
        if known is None or not known.stands_for(plain):
            known = self.parts[line] = Parted(plain, line, self.compiled)
        return known

    def by_numpy(self, leaves, plain):
        """The call on jax arrays, of a function written with JAX; else on read-only ndarrays of theirs, moved back."""
        shared = next(filter(processes.is_shared, leaves), None)
        is_data = lambda x: dispatch.is_device_array(x) and isinstance(x.dtype, np.dtype)  # keys of jax.random are none
        if shared is not None or not speaks_jax(self.compiled.plain):
            leaves = [processes.host_array(x) if is_data(x) else x for x in leaves]
        args, kwargs = pytree.unflatten(self.tree, self.filled(leaves), self.order)
        result = called_outside(plain, args, kwargs)
        with dispatch.wide():
            return pytree.map(lambda x: self.moved(x, shared), result)

    def moved(self, x, shared=None):
        """A result as an array of jax's, if there are such arrays; on the devices of `shared`, if there is that."""
        numeric = isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc" and x.dtype.itemsize <= 16
        if numeric and shared is not None:
            return processes.replicated_host_array(np.asarray(x), shared)
        return dispatch.device_constant(np.asarray(x), self.compiled.device) if numeric else x

    def uncompiled_seconds(self):
        """How long plain Python itself took in the calls it answered, without what its compiled pieces took."""
        within = [p for parted in self.parts.values() for p in parted.pieces]
        inner = sum(e.uncompiled_seconds() for p in within for e in p.entries.values())
        return max(0.0, self.seconds - sum(parted.seconds for parted in self.parts.values()) + inner)

    def share(self):
        """How long those calls took, and which part of it was not compiled, in words."""
        if not self.timed:
            return ""
        took = in_time(self.seconds / self.timed)
        return f": {took} each, {self.uncompiled_seconds() / max(self.seconds, 1e-12):.0%} of it uncompiled"

    def lines(self):
        """What `explain` says of it."""
        whys = [without_sizes(str(refused.why)) for refused in self.refused.values()]
        for k, (signature, refused) in enumerate(self.refused.items(), 1):
            arguments = ", ".join(f"{n}: {t}" for n, t in zip(self.names, signature))
            yield f"  not compiled: ({arguments})"
            if k < len(whys) and whys[k] == whys[k - 1]:
                continue
            first, *rest = str(refused.why).splitlines()
            yield f"    because      {first}"
            yield from (f"               {line}" for line in rest)
        if self.refused:
            yield f"    answered     {self.fallbacks} call(s), by plain Python{self.share()}"
        for parted in self.parts.values():
            yield from parted.lines()


def left_to_python(compiled, why, line=None):
    """A `with` around a call that plain Python answers, which is told of then; line: the refused one, if known."""
    return python_clock(compiled, why, line) if events.heard("trace") else PlainRun(compiled)


@contextlib.contextmanager
def python_clock(compiled, why, line):
    place = (compiled.place[0], line) if line and compiled.place else None
    text, start = events.first_line(why), time.perf_counter()
    try:
        with PlainRun(compiled):
            yield
    finally:
        level = logging.DEBUG if text in compiled.reasons else logging.INFO
        compiled.reasons.add(text)
        said, seconds = {"of": compiled, "place": place, "level": level, "why": text}, time.perf_counter() - start
        events.report("trace", "fallback", f"ran as plain Python: {text}", seconds, **said)


def told(name, error):
    """The text of the warning."""
    return (
        f"{name} ran as plain Python, uncompiled: {error}\n"
        f"  Every such call does; jit({name.partition(',')[0]}, whole=True) raises this as an error instead."
    )


def line_of(error, code):
    """The line of a function on which an error arose, the innermost; None where that was not in it."""
    lines = [line for *_, line in code.co_lines() if line]
    found, tb = None, error.__traceback__
    while tb is not None:
        at = tb.tb_frame.f_code
        at_line = tb.tb_lineno or 0  # None where a compiler made the instruction
        if at.co_filename == code.co_filename and min(lines) < at_line <= max(lines):
            found = at_line
        tb = tb.tb_next
    return found
