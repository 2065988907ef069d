"""What a name holds after data chose between two things that no one value can stand for: both, and the test.

Where the test is known, as in the branch of an `if` on the same test, it is the one of the two. Whether it is None, or
true, may be asked where the two of them say it; any other use takes the choice by value, or refuses.
"""

from .poison import Poison
from .storage import current_trace


class Variant(Poison):
    """test: a bool operand of `trace`, that decides; sides: what the name holds where it holds, and where it does
    not."""

    __slots__ = ("sides", "test", "trace")

    def __init__(self, reason, test, sides):
        super().__init__(reason)
        for name, value in (("test", test), ("sides", sides), ("trace", current_trace())):
            object.__setattr__(self, name, value)


def canonical(value):
    """The value of the outermost trace around that knows it."""
    lifts = current_trace().root.lifts
    while value in lifts:
        value = lifts[value]
    return value


def within_reach(x):
    """x, a plain Poison in its place where its test is not of the present trace or those around it."""
    if type(x) is not Variant:
        return x
    trace = current_trace()
    while trace is not None:
        if trace is x.trace:
            return x
        trace = trace.parent
    return Poison(x.reason, x.choice)
