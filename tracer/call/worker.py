"""The thread on which `jit(tier="background")` makes programs, how it leaves room for the calls meanwhile, and how it
ends."""

import atexit
import collections
import contextlib
import os
import sys
import threading
import time
import types

from ...backends import forked
from ..cache.watch import Watch
from ..common import progress
from ..common.frames import internal
from ..guards import isolation
from ..guards.reliance import library
from ..guards.state import SEEN_THROUGH

WAITING = 64  # bound: programs asked for that are not begun; of more, calls ask again
LATER = 2e-3  # bound: seconds before a trace is begun, so that the call that asked has returned
LEFT, KEPT = 1e-3, 1e-3  # bound: seconds that calls leave Python to it at a time, and keep it in between
PATIENCE = 60.0  # bound: seconds that the process waits at its end for a compilation, which cannot be stopped


class Pace:
    """As sys.setprofile calls it: lets calls being answered go first, and stops where the process ends."""

    def __init__(self):
        self.until = time.perf_counter() + isolation.BITE

    def __call__(self, frame, event, argument):
        if WORKER.closed:
            raise SystemExit
        self.until = isolation.pace(self.until)


@contextlib.contextmanager
def paced():
    """Within, this thread lets calls go first."""
    sys.setprofile(Pace())
    try:
        yield
    finally:
        sys.setprofile(None)


class Strict(Watch):
    """Ends a trace made beside the program before it runs what may act on the world, or on which the world may act."""

    def __init__(self):
        super().__init__()
        self.pace = Pace()

    def profile(self, frame, event, argument):
        self.pace(frame, event, argument)
        super().profile(frame, event, argument)

    def alike(self, f):
        function = f.__func__ if type(f) is types.MethodType else f
        ours = type(function) is types.FunctionType and internal(function.__code__)
        if ours or type(f) is types.BuiltinFunctionType and type(f.__self__) in SEEN_THROUGH:
            return True
        return super().alike(f) or f in (set, frozenset) or isinstance(f, type) and not library(f)

    def note(self, text):
        isolation.refuse(text.removesuffix(" in another process"))


class Worker:
    """The one thread of a process that makes programs. It is begun when it is first needed."""

    def __init__(self):
        self.jobs, self.more = collections.deque(), threading.Condition()
        self.thread = self.working = None
        self.closed = self.hurries = False
        self.turn = 0.0  # when a call next leaves Python to the thread

    def ask(self, job):
        """Have a program made -> whether it will be: not where too many are waiting, or the process ends."""
        with self.more:
            if self.closed or len(self.jobs) >= WAITING:
                return False
            self.jobs.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="wengert compiler", daemon=True)
                self.thread.start()
            self.more.notify_all()
            return True

    def run(self):
        while True:
            with self.more:
                self.more.wait_for(lambda: self.jobs or self.closed)
                if self.closed:
                    return
                self.working = self.jobs.popleft()
            time.sleep(LATER)
            self.working.run()
            with self.more:
                self.working = None
                self.more.notify_all()

    @contextlib.contextmanager
    def hurried(self):
        """Within, calls that wait for what is made let the thread in."""
        self.hurries = True
        try:
            yield
        finally:
            self.hurries = False

    def let_in(self):
        """Of a call that waits for what is made: where that takes little, leave Python to the thread every other
        millisecond. It has to have it again after each of some 150 calls of LLVM, and calls back to back would let it
        wait for 5 ms and more each time: for seconds, where LLVM takes 0.1 s."""
        if self.hurries and time.perf_counter() >= self.turn:
            time.sleep(LEFT)
            self.turn = time.perf_counter() + KEPT

    def close(self):
        """At the end of the process: begin nothing, and let what is being compiled end, for a thread must not come back
        from XLA after Python."""
        with self.more:
            self.closed = True
            self.jobs.clear()
            self.more.notify_all()
        if self.thread is not None:
            with progress.line("jit(tier='background')", "the process ends when XLA has done"):
                self.thread.join(PATIENCE)

    def forked(self):
        """In a new process: none of the threads is here, XLA's own not either. Where programs were being made, none is
        made any more."""
        begun = self.thread is not None
        self.__init__()
        self.closed = begun or forked.Process.started


WORKER = Worker()
atexit.register(WORKER.close)
os.register_at_fork(after_in_child=WORKER.forked)
