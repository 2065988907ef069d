"""`if`, and every other choice: taken as Python does where the test is known, captured as a `cond` where data decides."""

from ..array import Traced


def decided(test):
    """Whether a test holds, as a bool; None where only the running program knows."""
    if not isinstance(test, Traced):
        return bool(test)
    if test.type.size == 1 and test.known() is None:
        return None
    return bool(test)


def branch(test, body, orelse, rest, number):
    known = decided(test)
    if known is None:
        bool(test)
    code = body() if known else orelse() if orelse is not None else None
    return rest() if code is None and rest is not None else code


def choose(test, body, orelse):
    known = decided(test)
    if known is None:
        bool(test)
    return body() if known else orelse()
