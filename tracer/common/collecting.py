"""Whether the garbage collector runs in this thread. What it calls, destructors and callbacks, may run between any two
instructions, and is no part of the program."""

import gc
import threading

_thread = threading.local()


def note_collection(phase, _, thread=_thread):
    """As gc.callbacks calls it, at the end of the process too, when modules have lost their names."""
    thread.on = phase == "start"


def await_collector():
    """Begin to notice: for good, since a list that Python goes through must not be shortened by other threads."""
    _thread.on = False
    if not any(f is note_collection for f in gc.callbacks):
        gc.callbacks.insert(0, note_collection)


def is_collecting():
    """Whether the collector runs in this thread now: it has called this module, and not yet at its end."""
    return getattr(_thread, "on", False)


def is_of_collector(code):
    """Whether code is a callback of the collector's, which it calls before or after it collects."""
    return any(getattr(f, "__code__", None) is code for f in gc.callbacks)
