"""A line on the terminal while a call waits for the compiler longer than a second: what is done, how large the program
is, how long it has taken.

Written to stderr if that is a terminal, and wiped when the program is there, before it runs; WENGERT_PROGRESS=0 turns
it off. Elsewhere nothing is written, and no thread is begun.
"""

import contextlib
import functools
import os
import shutil
import sys
import threading
import time

from ...backends.xla import compile_times

AFTER, EVERY = 1.0, 0.2  # seconds until the line appears, and until it changes
WIPE = "\r\x1b[K"
_thread = threading.local()  # .line: that of the call being made here


class ProgressLine:
    """The line of one call."""

    def __init__(self, name, phase):
        self.name, self.begun = name, time.perf_counter()
        self.lock, self.over = threading.Lock(), threading.Event()
        self.phase, self.count = phase, None  # how many equations, or a function that tells
        self.there = False
        threading.Thread(target=self.run, name="wengert progress", daemon=True).start()

    def run(self):
        wait = AFTER
        while not self.over.wait(wait):
            wait = EVERY
            with self.lock:
                if self.phase is not None and not self.over.is_set():
                    self.write(WIPE + self.text())
                    self.there = True

    def text(self):
        count = self.count() if callable(self.count) else self.count
        size = f", {count} equation{'s' * (count != 1)}" if count is not None else ""
        return f"{self.name}: {self.phase}{size}, {time.perf_counter() - self.begun:.1f} s"[
            : shutil.get_terminal_size().columns - 1
        ]

    def hide(self):
        """Wipe it, until there is another phase."""
        with self.lock:
            self.phase = None
            if self.there:
                self.write(WIPE)
            self.there = False

    def wipe(self):
        """Wipe it until it changes next, for what is written meanwhile."""
        with self.lock:
            if self.there:
                self.write(WIPE)
            self.there = False

    def write(self, text):
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            sys.stderr.write(text)
            sys.stderr.flush()


def wanted():
    """Whether there is a terminal to write to."""
    off = (
        os.environ.get("WENGERT_PROGRESS", "").lower() in ("0", "off", "no", "false")
        or os.environ.get("TERM") == "dumb"
    )
    try:
        return not off and sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


@contextlib.contextmanager
def line(name, doing="tracing"):
    """Within, a call of this name waits for the compiler."""
    if getattr(_thread, "line", None) is not None or not wanted():
        yield
        return
    listen()
    _thread.line = made = ProgressLine(name, doing)
    try:
        yield
    finally:
        _thread.line = None
        made.over.set()
        made.hide()


def phase(name, count):
    """What the call of this thread waits for now, on how many equations."""
    made = getattr(_thread, "line", None)
    if made is not None:
        made.phase, made.count = name, count


def tracing(trace):
    """Likewise, a trace that grows."""
    phase("tracing", lambda: len(trace.build.eqns))


@functools.cache
def listen():
    """Have lines wiped when XLA is done: what the program prints comes then."""
    compile_times.when_compiled(hide_line)


def hide_line():
    made = getattr(_thread, "line", None)
    if made is not None:
        made.hide()


def wipe_line():
    """Have the line out of the way of what this thread writes now."""
    made = getattr(_thread, "line", None)
    if made is not None:
        made.wipe()
