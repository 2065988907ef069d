"""Calls of compiled functions handed to a counter, as long as somebody counts them.

The function that a user holds stays what it is, under whatever names it was imported and bound: its code is exchanged
for code that hands each call to `callee.counter`, and what it was goes on behind it, in a function whose code the
inline cache exchanges meanwhile. When the counting ends the code comes back. Calls that nobody counts do nothing for
it.
"""

import functools
import threading
import types

from ..common.frames import raises_for_user
from .inline_cache import CACHES, WATCHERS
from .inline_hit import front_code

COUNTERS = []  # who counts now, the latest last
LOCK = threading.Lock()  # for who begins and ends


def begin_counting(counter):
    """Have `counter(callee, run, *args, **kwargs)` answer the calls of all compiled functions, those too that are made
    from now on; run: what answers them otherwise."""
    with LOCK:
        COUNTERS.append(counter)
        if len(COUNTERS) == 1:
            WATCHERS.append(count_calls)
            for cache in list(CACHES):
                for callee in list(cache.callees):
                    count_calls(callee)


def end_counting(counter):
    """Have one counter hear of no more calls; without any, all functions are put back."""
    with LOCK:
        COUNTERS.remove(counter)
        if not COUNTERS:
            WATCHERS.remove(count_calls)
            for cache in list(CACHES):
                for callee in list(cache.callees):
                    put_in_front(callee)


def count_calls(callee):
    with callee.compiled.lock:
        front = callee.front()
        if front is None or callee.behind is not None:
            return
        told = front.__globals__, front.__name__, front.__defaults__, front.__closure__
        behind = types.FunctionType(front.__code__, *told)
        behind.__dict__ = front.__dict__
        callee.counter, callee.behind = through_counters, behind
        front.__code__ = counting_code(front.__code__.co_freevars)


def take_name(callee):
    """Have Python's messages about arguments name the function: it has got its name since it was made."""
    front, behind = callee.front(), callee.behind
    if front is not None and behind is not None:
        behind.__qualname__ = front.__qualname__


def put_in_front(callee):
    """Have a function answer its calls itself again."""
    with callee.compiled.lock:
        front, behind = callee.front(), callee.behind
        if behind is None:
            return
        callee.behind = None
        if front is not None:
            front.__code__, front.__defaults__ = behind.__code__, behind.__defaults__


@raises_for_user
def through_counters(callee, args, kwargs):
    """A call of a function whose calls are counted, or were when another thread began it."""
    run = callee.answering()
    for counter in tuple(COUNTERS):
        run = functools.partial(counter, callee, run)
    return run(*args, **kwargs)


def counting_code(free):
    """Code that encloses the same variables, the Callee among them."""
    return front_code(free, "*args, **kwargs", ["return callee.counter(callee, args, kwargs)"])
