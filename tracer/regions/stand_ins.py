"""Iterators of ours that stand for Python's over things that a captured loop can run over: ordinary ones, until a loop
takes their parts."""

import builtins
import copy

from ..common.errors import ConcretizationError, message
from ..common.frames import locate
from ..guards.object_contents import StandIn


class Zipped(StandIn):
    """zip or enumerate of things a captured loop can run over; an ordinary iterator everywhere else."""

    ends = True

    def __init__(self, parts, plain):
        self.parts, self.plain = parts, plain

    def __iter__(self):
        return self

    def __next__(self):
        if self.plain is None:
            for part in self.parts:
                iter(part)  # one of them says why it has no end that is known
        self.parts = None  # begun: from here on a plain iterator
        return next(self.plain)

    def begun(self, early, inner):
        """The items, for a loop to run over, its parts by `inner`; here nothing is left then, or where the loop may end
        early, who knows what."""
        rest = twin(self)
        rest.parts, rest.plain = [inner(p, early) for p in self.parts], None
        self.parts, self.plain = None, Left() if early or not self.ends else builtins.iter(())
        return rest

    def __copy__(self):
        self.parts, made = None, twin(self)  # what two have in common, such as an iterator within, both advance
        made.parts, made.plain = None, copy.copy(self.plain)
        return made

    def __repr__(self):
        return object.__repr__(self) if self.plain is None else repr(self.plain)


def twin(x):
    made = object.__new__(type(x))
    made.__dict__.update(x.__dict__)
    return made


def iterators_within(x):
    """The iterators that are gone through where x is."""
    return [x, *(y for p in x.parts or () for y in iterators_within(p))] if isinstance(x, Zipped) else []


class Left:
    """An iterator over which a captured loop has run that may have ended early."""

    def __iter__(self):
        return self

    def __next__(self):
        text = "an iterator is asked for more items after a captured loop over it, which may have left some of them"
        raise ConcretizationError(message(text, locate(), "Make a list of it first, or run over the indices."))


class Reversed(Zipped):
    """reversed() of such a thing."""


class MappedSeries(Zipped):
    """map() of such things."""

    def __init__(self, function, parts, plain):
        super().__init__(parts, plain)
        self.function = function


class Chain(Zipped):
    """itertools.chain of such things."""


class Endless(Zipped):
    """itertools.count of ints: the items never end. parts: the first, and the step."""

    ends = False


class Islice(Zipped):
    """itertools.islice of such a thing: the items whose numbers are `kept`, a range."""

    def __init__(self, parts, plain, kept):
        super().__init__(parts, plain)
        self.kept = kept


class Pairwise(Zipped):
    """itertools.pairwise of such a thing."""


class Counting(Zipped):
    """The items of a list of which data decide how many it has."""

    def __init__(self, held):
        super().__init__((held,), self.settled(held))

    @staticmethod
    def settled(held):
        yield from held.settled()


class Listing(Zipped):
    """An iterator over a list that nobody else has."""


class Selected(Zipped):
    """Those items of a series whose numbers are given."""

    def __init__(self, part, kept):
        super().__init__((part,), None)
        self.kept = kept
