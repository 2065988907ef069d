"""What is recorded while a profile is made: each call of a compiled function, and what happens in it.

A call is timed from its first to its last instruction, and one that gives jax arrays until they are there: else they
would be waited for in somebody else's time. What it spends on traces and compilation, on plain Python for what is not
captured, and on compiled functions within it is told apart.
"""

import contextlib
import threading
import time

import numpy as np

from ...backends.xla import dispatch
from ..call.counted import begin_counting, end_counting, take_name
from ..common import events, pytree
from ..common.frames import raises_for_user
from ..values.storage import current_trace
from .line_shares import LineShares
from .signatures import signature_key, signature_text

KEPT = 100_000  # bound: calls, and events, of which the timeline has each; others are counted
SIGNATURES = 64  # bound: signatures of a function that are told apart by the values of its ints and strings
PLAIN = np.ndarray, np.generic, float, int, complex, type(None)


class CallStats:
    """Calls of one function with one signature.

    name, place, signature: in words; calls, seconds: all, without compiled functions called within; makers, made: those
    in which a program was made, and what they took, but for plain Python; fallbacks, python: those that plain Python
    answered, and what that took; count, running, worst: the others, what they took, and the longest.
    """

    def __init__(self, compiled, signature):
        self.name, self.place, self.signature = compiled.name, compiled.place, signature
        self.calls = self.makers = self.fallbacks = self.count = 0
        self.seconds = self.made = self.python = self.running = self.worst = 0.0
        self.lines = LineShares()
        self.causes = {}  # (file, line, why) of what was left to plain Python -> [calls, seconds]

    def add(self, frame, own):
        """One more call, that took `own` seconds without those within it."""
        makes = any(e.kind != "fallback" for e in frame.events)
        python = 0.0 if not frame.fell_back else frame.python() if makes else own
        self.calls += 1
        self.seconds += own
        self.makers += makes
        self.made += own - python if makes else 0.0
        self.python += python
        if frame.fell_back:
            event = max((e for e in frame.events if e.kind == "fallback"), key=lambda e: e.seconds)
            cause = self.causes.setdefault((event.file, event.line, event.facts["why"]), [0, 0.0])
            cause[0] += 1
            cause[1] += python
        self.fallbacks += frame.fell_back
        if not frame.events:
            self.count += 1
            self.running += own
            self.worst = max(self.worst, own)

    @property
    def first_runs(self):
        """Seconds that the program itself took in calls that made it, as far as it was measured."""
        return min((self.makers - self.fallbacks if self.fallbacks else self.makers) * self.lines.seconds, self.made)

    @property
    def ran(self):
        """Seconds in the program itself."""
        return self.running + self.first_runs


class CallFrame:
    """A call that runs now. inner: seconds of compiled functions called within; events: what took time in it."""

    __slots__ = ("calls", "start", "inner", "events")

    def __init__(self, calls, start):
        self.calls, self.start, self.inner, self.events = calls, start, 0.0, []

    @property
    def fell_back(self):
        return any(e.kind == "fallback" for e in self.events)

    def spent(self, of):
        """Seconds of those events, each moment once."""
        return covered((e.begun, e.begun + e.seconds) for e in self.events if of(e))

    def python(self):
        """Seconds of plain Python, without programs made and compiled functions called meanwhile."""
        inside = self.spent(lambda e: True) - self.spent(lambda e: e.kind != "fallback")
        return max(inside - self.inner, 0.0)


def covered(intervals):
    """The length of a union of intervals."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(intervals):
        total += max(last - max(first, end), 0.0)
        end = max(end, last)
    return total


class ThreadCalls(threading.local):
    """stack: the CallFrames of this thread, of one Recorder."""

    def __init__(self):
        self.stack = []


class Muted(threading.local):
    """now: whether what happens on this thread is of a profiler's own doing."""

    now = False


MUTED = Muted()


@contextlib.contextmanager
def muted():
    """Within, nothing is recorded."""
    before, MUTED.now = MUTED.now, True
    try:
        yield
    finally:
        MUTED.now = before


class Recorder:
    """calls: {key: CallStats}; events: [(event, its thread)]; timeline: [(calls, start, seconds, its thread)]; own:
    seconds that the profiler has taken itself; elsewhere: seconds of calls on other threads than that which began."""

    def __init__(self):
        self.calls, self.events, self.timeline, self.lost = {}, [], [], 0
        self.own = self.elsewhere = 0.0
        self.thread, self.main, self.lock = ThreadCalls(), threading.get_ident(), threading.Lock()
        self.counts = {}  # Compiled -> how many signatures of it there are
        self.begun, self.ended, self.waited = None, None, False

    def begin(self):
        events.LISTENERS.append(self.heard)
        begin_counting(self.counted)
        self.begun = time.perf_counter()

    def end(self):
        self.ended = time.perf_counter()
        end_counting(self.counted)
        events.LISTENERS.remove(self.heard)
        with muted():
            for calls in self.calls.values():
                calls.lines.finish()
        self.calls, self.counts = dict(enumerate(self.calls.values())), {}  # which keeps no function alive

    # -- what happens ------------------------------------------------------------------------------
    def heard(self, event):
        if MUTED.now:
            return
        if len(self.events) < KEPT:
            self.events.append((event, threading.get_ident()))
        else:
            self.lost += 1
        if event.seconds is not None and self.thread.stack:
            self.thread.stack[-1].events.append(event)

    @raises_for_user
    def counted(self, callee, run, /, *args, **kwargs):
        """A call of a compiled function, as `begin_counting` hands it on."""
        thread = self.thread
        if MUTED.now or current_trace() is not None:  # within a trace it is no call
            return run(*args, **kwargs)
        first = time.perf_counter()
        calls = self.calls_of(callee, args, kwargs)
        if calls.lines.due(calls.calls):
            with muted():
                calls.lines.measure(callee, args, kwargs, calls.calls)
        frame = CallFrame(calls, 0.0)
        thread.stack.append(frame)
        frame.start = time.perf_counter()
        try:
            out = run(*args, **kwargs)
            if type(out) not in PLAIN:
                self.waited |= wait_for(out)
            return out
        finally:
            end = time.perf_counter()
            thread.stack.pop()
            self.ran(frame, end, frame.start - first)
            self.own += time.perf_counter() - end

    def ran(self, frame, end, before):
        """Note a call that has ended; before: seconds that the profiler took in front of it."""
        seconds, stack = end - frame.start, self.thread.stack
        with self.lock:
            self.own += before
            frame.calls.add(frame, max(seconds - frame.inner, 0.0))
            if stack:
                stack[-1].inner += seconds + before
            elif threading.get_ident() != self.main:
                self.elsewhere += seconds
            if len(self.timeline) < KEPT:
                self.timeline.append((frame.calls, frame.start, seconds, threading.get_ident()))
            else:
                self.lost += 1

    def calls_of(self, callee, args, kwargs):
        compiled = callee.compiled
        known = self.counts.get(compiled, 0)
        key = compiled, signature_key(compiled.signature, args, kwargs, known < SIGNATURES)
        found = self.calls.get(key)
        if found is None:
            with self.lock:
                self.counts[compiled] = known + 1
                take_name(callee)
                made = CallStats(compiled, signature_text(compiled.signature, args, kwargs, known < SIGNATURES))
                found = self.calls.setdefault(key, made)
        return found


def wait_for(out):
    """Until the jax arrays of a result are there -> whether there are any."""
    arrays = [x for x in pytree.leaves(out) if dispatch.is_device_array(x) and not dispatch.is_tracer_type(type(x))]
    if arrays:
        dispatch.wait(arrays)
    return bool(arrays)
