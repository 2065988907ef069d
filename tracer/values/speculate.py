"""Branches taken by value: where two ways cannot be merged, or only Python can decide, one is followed.

The trace finds out what this call's data says, by running what it has recorded so far, goes on down
that side only, and records the assumption as a check of the program. A call on other data finds the
assumption failed before anything of the result is used or written back; it takes another trace, which
has the same assumptions up to there and then the opposite one. So the traces of one signature are a tree.

A choice is first captured as a `cond`. What that leads to (poison in use, an error of ours inside)
raises `ByValue`, and the trace begins again with this one choice made by value. Only choices of the
outermost trace can be: those in loops are made many times, those in derivatives for values that are not there.
"""

import collections
import contextlib

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ..common.errors import LeakError, Overrun, ShapeError, UnsupportedError, Untold, WengertError, message
from ..common.frames import locate
from . import status
from .so_far import host_value, leading_to, run_so_far, take_in
from .storage import around_regions, current_trace

LONGEST = 256  # assumptions of one trace
BEGUN = 2  # bound: times that a trace begins again for one choice, until it looks for all others of the kind
OFTEN = 4  # bound: times that the choice which one instruction makes has to be made by value, until it is at once
SIZES = "sizes"  # among what is wanted by value: how often loops run
LATER = "later"  # likewise: that acts on the world wait until all choices by value have been made
RAISES = -1  # stands for the number of a choice where a call raises before it is made
ARGUMENTS = "arguments"  # likewise: all Python numbers among the arguments


class Assumption(Exception):
    """Stands in the list of checks for an assumption; its text is the number of the assumption. Never raised."""


class ByValue(BaseException):
    """Begin the trace again, and make this choice by value. No error, and none of the user's `except` is to see it."""

    def __init__(self, choice, cause):
        self.choice, self.cause = choice, cause


class RaisedBefore(BaseException):
    """This call raises `error`, before the choice that is being made; the function's own `except` is not to see it
    now."""

    def __init__(self, error):
        self.error = error


class Assumed:
    """An assumption: which choice of the trace, what it was taken to be (a bool, or the int that Python needed), and
    the user's line."""

    __slots__ = ("choice", "truth", "source")

    def __init__(self, choice, truth, source):
        self.choice, self.truth, self.source = choice, truth, source

    @property
    def step(self):
        return self.choice, self.truth

    def __str__(self):
        if type(self.choice) is tuple:
            return f"argument {self.choice[1]}, on which keys of a dict or members of a set hang"
        return f"{self.source} `{self.source.text}`" if self.source else "a choice outside the user's code"


class Speculation:
    """The choices of one trace, numbered in the order it meets them. path: (number, truth) of those made beforehand;
    insists: whether there is no plain Python to go on as, so that lengths and trips that data decide are taken by value
    before the function is refused."""

    def __init__(self, leaves, path=(), insists=False):
        self.leaves, self.given, self.insists = leaves, dict(path), insists
        self.wanted = set(self.given)  # the numbers of the choices made by value
        self.sized = False  # whether data were to be a size, or to say how often a loop runs
        self.begun = BEGUN if path else 0  # how often a choice that was captured had to be made by value after all
        self.often = collections.Counter()  # instruction of the user's -> how often its choice had to be
        self.attempt = 0
        self.stuck = {}  # place of a loop -> (why it was captured in no shape, the attempts in which it was not)
        if any(type(number) is tuple for number in self.given):
            self.wanted.add(ARGUMENTS)
        self.begin()

    def begin(self):
        """A trace starts, or starts again."""
        self.attempt += 1
        self.numbers = {}  # predicate -> number of the choice
        self.lines = {}  # number of a choice -> the instruction of the user's at which it is made
        self.taken = []
        self.keyed = 0  # how many numbers of the program were to be keys of a dict or members of a set
        # (how many choices had been made, where, whether that could wait) when the program first acts on the world
        self.acted = None
        # whether to begin again, or what to raise: an `except:` of the user's does not stop either
        self.again = self.error = None
        self.open = None  # number of the choice that is being captured as a `cond`
        self.seen = None  # value -> its contents in this call, as far as worked out
        # places and containers changed at the top of the trace -> a function that puts back what they held
        self.undo = {}

    def with_more(self, error):
        """Whether to begin again with sizes taken by value, after an error of ours that has not seen them so; then with
        all Python numbers among the arguments, where keys hang on them and there is no plain Python to go on as."""
        if isinstance(error, WengertError) and not isinstance(error, LeakError | ShapeError | Overrun):
            for step, asked in ((SIZES, self.sized), (ARGUMENTS, self.keyed and self.insists)):
                if asked and step not in self.wanted:
                    self.signal(step)
                    break
        return self.again

    def put_back(self):
        """Undo what a trace that does not stand has changed."""
        for undo in reversed(self.undo.values()):
            undo()
        self.undo.clear()

    def truth(self, value, early=False):
        """What a bool scalar was, or must now be, taken to be; None where it is not to be known."""
        number = self.numbers.setdefault(value, len(self.numbers))
        for t in self.taken:
            if t.choice == number:
                return t.truth
        return make_choice(self, value, number, early) if number in self.wanted else None

    def choose_before(self, eqn):
        """Begin again with the choice made by value on which it hangs whether an equation acts on the world."""
        number = self.numbers.get(eqn.operands[0]) if eqn is not None and eqn.op.name == "cond" else None
        if number is not None and number not in self.wanted:
            raise self.signal(number)

    def end_before(self):
        """The trace ends where this call raises: data of which no check fails by then take another way."""
        self.error = None
        self.taken.append(Assumed(RAISES, None, locate()))
        current_trace().fail(Assumption, str(len(self.taken) - 1))

    def numbered(self, value, where):
        """The number of a choice that may have to be made by value. where: the Source at which it is made."""
        number = self.numbers.setdefault(value, len(self.numbers))
        self.lines[number] = where and (where.code, where.lasti)
        return number

    def is_often(self, number):
        """Whether the choice that its instruction makes had to be made by value time and again."""
        return self.often[self.lines[number]] >= OFTEN

    def signal(self, number, cause=None):
        """Begin again, with this choice made by value."""
        self.again, self.begun = True, self.begun + (type(number) is int)
        if (line := self.lines.get(number)) is not None:
            self.often[line] += 1
        if number == ARGUMENTS:  # from where on the choices have other numbers
            self.given, self.wanted = {}, {k for k in self.wanted if type(k) is not int}
        self.wanted.add(number)
        return ByValue(number, cause)


# -- while tracing ---------------------------------------------------------------------------------


def choices():
    """The choices of the present trace, if choices can be made by value here."""
    trace = current_trace()
    return trace.choices if trace is not None and trace.parent is None else None


def is_insisted_on():
    """Whether a trace has no plain Python to go on as."""
    made = current_trace() and current_trace().root.choices
    return bool(made and made.insists)


def predicate(test):
    """Whether a traced object of one element holds, as a bool scalar operand."""
    value = test.value
    value = value if not value.type.shape else OPS["reshape"](value, shape=())
    return value if value.type.kind == "b" else OPS["ne"](value, Lit(0, value.type))


def by_value(test):
    """The truth of a test if it was chosen, or must now be chosen, by value; None where it is not known."""
    made = choices()
    return None if made is None else made.truth(predicate(test))


def decide(test):
    """The truth of a test that Python itself asks for: by value where that can be. None where it cannot."""
    return holds(predicate(test)) if current_trace() is not None else None


def holds(value):
    """Likewise for a bool scalar operand."""
    trace = current_trace()
    root = trace and trace.root
    if root is None or root.choices is None:
        return None
    made = root.choices
    if trace is not root:
        inner = trace
        while inner.parent is not None and inner.region is not None and inner.region.choice:
            inner = inner.parent
        if inner is root and made.open is not None and made.open not in made.wanted:
            raise made.signal(made.open)
        return None
    if isinstance(value, Lit):
        return bool(value.value)
    made.wanted.add(made.numbers.setdefault(value, len(made.numbers)))
    return made.truth(value)


def presumed(test, text, hint):
    """Likewise; in a loop or branch it is True, and a call in which it is not is refused. None only where a function is
    differentiated."""
    truth, trace = decide(test), current_trace()
    if truth is None and (outer := around_regions(trace)).parent is None and outer.choices is not None:
        trace.check(predicate(test), UnsupportedError, message(text, locate(), hint))
        return True
    return truth


def contents(value, early=False):
    """A scalar of the outermost trace taken by value; None where that cannot be.

    early: a loop, branch or inner function is being captured, and the value is of the trace around it.
    """
    made = choices()
    if made is None:
        return None
    made.wanted.add(made.numbers.setdefault(value, len(made.numbers)))
    return made.truth(value, early)


def make_choice(made, value, number, early=False):
    """Make a choice: as was said beforehand, or as this call's data has it."""
    source, trace = locate(), current_trace()
    if made.acted is not None and LATER not in made.wanted:
        if made.acted[2]:
            raise made.signal(LATER)
        for e in trace.build.eqns:
            made.choose_before(e if e.effect else None)
    if len(made.taken) >= LONGEST:
        text = (
            f"this decision on data, number {LONGEST + 1} of one call, cannot be captured: each would be a trace of "
            "its own"
        )
        raise UnsupportedError(
            message(
                text, source, "Write np.where(test, a, b), or a loop and branches whose values have one type and shape."
            )
        )
    truth = made.given.get(number) if value.type.kind == "b" else None  # of numbers, the data say more than a status
    if type(truth) is not bool:  # or the trace before came to another choice as its number
        truth = concrete(made, value, early)
    made.taken.append(Assumed(number, truth, source))
    quoted = value if value.type.kind in "iu" else None
    found = is_number(value, truth), Assumption, str(len(made.taken) - 1), quoted
    if early:
        trace.early.append(found)
    else:
        trace.check(*found)
    trace.known[value] = np.array(truth)
    return truth


def is_number(value, number):
    """Whether a scalar of the program is that very number: of two zeros, the one of its sign."""
    if value.type.kind == "b":
        return value if number else OPS["not"](value)
    if number != number:
        text = "a number that Python must know here is NaN, of which no two are equal"
        raise UnsupportedError(message(text, locate(), "Test for it first: if x == x: ..."))
    same = OPS["eq"](value, Lit(number, value.type))
    if value.type.kind != "f" or number != 0:
        return same
    sign = OPS["copysign"](Lit(1, value.type), value)
    return OPS["and"](same, OPS["eq"](sign, Lit(np.copysign(1.0, number), value.type)))


def concrete(made, value, early=False):
    """What a scalar of the outermost trace is for the arguments of this call; an error that comes before it is raised,
    unless `early`."""
    return evaluated(made, [value], early)[0].item()


def sampled(values):
    """What values are for the arguments of this call; None where that is not known."""
    made = choices()
    if made is None:
        return None
    try:
        return evaluated(made, values)
    except UnsupportedError:
        return None


def evaluated(made, values, early=False):
    """What values of the outermost trace are for the arguments of this call."""
    trace = current_trace()
    take_in(made, trace)
    before = status.PASSED if early else trace.status.value

    def refuse(eqn):
        made.choose_before(eqn)
        text = "a Python decision on data that comes from outside the program while it runs"
        raise UnsupportedError(message(text, locate(), "Write np.where(test, a, b)."))

    eqns = leading_to([*values, before], made.seen, trace, refuse)
    run_so_far(made, trace, eqns, [*values, before])
    failed = int(before.value if isinstance(before, Lit) else made.seen[before])
    if failed:
        check, error = status.failure(tuple(trace.checks), failed)
        if check.error is not Assumption:
            acted = made.acted is not None or trace.root.waiting
            made.error = behind_act(error) if acted else Untold.unless(check.told, error)
            raise RaisedBefore(made.error)
    return [host_value(made, x) for x in values]


def behind_act(error):
    """What is raised for an exception of this call that comes behind an act, where data choose by value: no program is
    there yet that has acted."""
    text = f"{type(error).__name__} is raised behind what acts on the world, where data choose by value"
    return UnsupportedError(message(text, locate(), "Act behind the loop, on what it has kept."))


@contextlib.contextmanager
def checked():
    """Where the user's function runs: checks on the way to an exception that ends the trace may fail first in this
    call."""
    try:
        yield
    except Exception as error:
        made = choices()
        if (
            made is not None
            and not made.again
            and made.error is None
            and (isinstance(error, ShapeError) or not isinstance(error, WengertError))
        ):
            try:
                concrete(made, Lit(True, TRUTH))
            except UnsupportedError:
                if current_trace().root.status.value is not status.PASSED:  # which may fail before it
                    raise Untold.of(error) from None
            except RaisedBefore as first:
                if not isinstance(first.error, UnsupportedError) or not at_one_line(first.error, error):
                    raise
                made.error = None  # of two that the same line meets, the user's own says more
        raise


def at_one_line(error, other):
    """Whether the texts of two exceptions name one line."""
    place = place_in(error)
    return place is not None and place == place_in(other)


def place_in(error):
    """The line that the text of an exception names; None where it names none."""
    lines = "\n".join([str(error), *getattr(error, "__notes__", ())]).splitlines()
    return next((line.strip() for line in lines if line.startswith("  at ")), None)


def on_demand(key):
    """Whether something may be left out of this trace until it turns out to be needed, which begins the trace again."""
    trace = current_trace()
    made = trace.root.choices if trace is not None else None
    return made is not None and key not in made.wanted


def remember(place, restorer):
    """Note what a place or container holds before the trace changes it at its top: `restorer()` gives what puts it
    back."""
    made = choices()
    if made is not None and place not in made.undo:
        made.undo[place] = restorer()


def attempts(made, once):
    """`once()`, again for every choice that turns out to need to be made by value."""
    while True:
        result = None
        try:
            result = once()
        except (ByValue, RaisedBefore):
            pass
        except Exception as error:
            if not made.again and made.error is None and not made.with_more(error):
                raise
        if made.error is not None:
            raise made.error
        if not made.again:
            return result
        made.begin()
