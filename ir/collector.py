"""The collector of cyclic garbage, which waits while a program is made.

Passes make many objects that live on, equations and their values, and next to none that die in cycles. The collector
goes by how many there are, and through all of them, and all of jax's, again and again: a third of the time that they
take on a large program.
"""

import contextlib
import gc
import os
import threading

_lock = threading.Lock()
_waiting = []  # (thread, whether the collector was at work before) of each that wants it to wait


@contextlib.contextmanager
def waiting():
    """Within, nothing is collected unless it is asked for, whatever other threads that want the same do; for work of
    our own."""
    with _lock:
        entry = threading.get_ident(), gc.isenabled() or any(was for _, was in _waiting)
        _waiting.append(entry)
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _waiting.remove(entry)
            if entry[1] and not _waiting:
                gc.enable()


def forked():
    """In a new process there is one thread: no other will say that it is done."""
    others = [entry for entry in _waiting if entry[0] != threading.get_ident()]
    _waiting[:] = [entry for entry in _waiting if entry not in others]
    if not _waiting and any(was for _, was in others):
        gc.enable()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=forked)
