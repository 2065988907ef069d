"""Which handlers stand around an instruction, and generators that are run within one.

A generator is not rewritten: where its handlers stand is told by its exception table [CPython, exception
handling].
"""

import dis
import functools
import inspect
import sys

from .frames import is_ours

PASSING_ON = {"CALL_INTRINSIC_1", "CLEANUP_THROW"}  # what begins the handlers that Python itself puts around a `yield`


def generator_under_handler():
    """The code of a generator, not ours, that is being run within a `try` or a `with`; None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_flags & inspect.CO_GENERATOR and not is_ours(code) and is_under_handler(frame):
            return code
        frame = frame.f_back
    return None


def is_under_handler(frame):
    """Whether a frame stands within a `try` or a `with` of its own."""
    return any(start <= frame.f_lasti < end for start, end in stretches(frame.f_code))


@functools.lru_cache(256)
def stretches(code):
    """(first offset, end) of each stretch of a code under a handler of its author's."""
    names = {i.offset: i.opname for i in dis.get_instructions(code)}
    return [(start, end) for start, end, target in protected(code) if names.get(target) not in PASSING_ON]


def protected(code):
    """(first offset, end, offset of the handler) of each stretch of a code under a handler."""
    numbers = varints(code.co_exceptiontable)
    for start, length, target, _ in zip(numbers, numbers, numbers, numbers):
        yield 2 * start, 2 * (start + length), 2 * target


def varints(table):
    """The numbers of an exception table, six bits a byte."""
    number = 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            yield number
            number = 0
