"""What a name holds after data chose between two things that no one value can stand for: both, and the test.

Where the test is known, as in the branch of an `if` on the same test, it is the one of the two. Whether it is None, or
true, may be asked where the two of them say it; any other use takes the choice by value, or refuses.
"""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from .nested import found_within, replaced_within
from .poison import Poison
from .speculate import choices
from .storage import current_trace


class Variant(Poison):
    """test: a bool operand of `trace`, that decides; sides: what the name holds where it holds, and where it does
    not."""

    __slots__ = ("sides", "test", "trace")
    answering = True
    of_sides = None  # `installations`: (function, arguments, by keyword) -> what it gives for each of the sides

    def __init__(self, reason, test, sides, choice=None):
        super().__init__(reason, choice)
        for name, value in (("test", test), ("sides", sides), ("trace", current_trace())):
            object.__setattr__(self, name, value)

    def say(self, reason):
        """Give another reason why it is not one thing."""
        object.__setattr__(self, "reason", reason)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Variant.of_sides(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return Variant.of_sides(func, args, kwargs)


def one_of(reason, test, sides):
    """A Variant; the side itself where the test is known, or has turned out to be a choice by value."""
    if isinstance(test, Lit):
        return sides[not test.value]
    made = choices()
    if made is None:
        return Variant(reason, test, sides)
    truth = made.truth(test)
    return Variant(reason, test, sides, made.numbers[test]) if truth is None else sides[not truth]


def is_chosen_by_value(x):
    """Whether a use of a Variant begins the trace again, with its side taken by value."""
    made = current_trace().root.choices
    return x.choice is not None and made is not None and x.choice not in made.wanted


def canonical(value):
    """The value of the outermost trace around that knows it."""
    lifts = current_trace().root.lifts
    while value in lifts:
        value = lifts[value]
    return value


def is_within(x, trace):
    """Whether the test of a Variant is of a trace or of those around it."""
    while trace is not None and trace is not x.trace:
        trace = trace.parent
    return trace is not None


def within_reach(x):
    """x, a plain Poison in its place where its test is not of the present trace or those around it."""
    return x if type(x) is not Variant or is_within(x, current_trace()) else Poison(x.reason, x.choice)


def variants_in(x):
    """The Variants that x is or holds, in lists, tuples and slices."""
    return found_within(Variant, x)


def with_variants(x, change):
    """x with each of these changed."""
    return replaced_within(Variant, x, change)


def cases(x):
    """[(what x may be, ((test, truth) of each that then holds, or does not, ...))]"""
    if type(x) is not Variant:
        return [(x, ())]
    return [(v, ((x.test, truth), *more)) for truth, side in zip((True, False), x.sides) for v, more in cases(side)]


def held(tests):
    """Whether all tests have their truths, as an operand of the present trace."""
    found = Lit(True, TRUTH)
    for test, truth in tests:
        value = current_trace().bring(test)
        value = value if truth else OPS["not"](value)
        found = value if isinstance(found, Lit) else OPS["and"](found, value)
    return found


def chain(reason, tests, values):
    """A Variant of the first of `values` whose test holds, of the last where none does."""
    found = values[-1]
    for test, value in zip(reversed(tests), reversed(values[:-1])):
        found = one_of(reason, test, (value, found))
    return found
