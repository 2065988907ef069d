"""What the rewriter knows about each loop and branch, by the number it handed to the hook."""

import itertools

SITES = {}  # what the rewriter knows about each region, by the number it handed to the hook
NUMBERS = itertools.count()


class Site:
    """One `if`, `for` or `while`.

    names: what its body and rest bind; head: what a trip may read of the state before it;
    middle: what may be read when a loop ends; after: once the rest is done too.
    targets: what the head of the statement itself binds; early: whether a loop may end before its items do.
    """

    __slots__ = ("kind", "names", "head", "middle", "after", "tail", "exits", "targets", "early")

    def __init__(self, kind, names, head, middle, after, tail, exits, targets, early=False):
        self.kind, self.names, self.head, self.middle = kind, names, head, middle
        self.after, self.tail, self.exits, self.targets, self.early = after, tail, exits, targets, early


def next_site(targets):
    """The number of a new site: a loop inside an expression, which binds nothing but `targets`, its own."""
    number, none = next(NUMBERS), frozenset()
    SITES[number] = Site("each", none, none, none, none, True, none, frozenset(targets))
    return number
