"""`SizedRange`: range() of sizes."""

from .sizes import Size, SizedItems, plain_sizes


class SizedRange(SizedItems):
    """range() of Sizes: a captured loop goes over `plain`; whoever goes over it item by item is told of."""

    __slots__ = ("bounds", "plain")

    def __init__(self, *bounds):
        self.bounds, self.plain = bounds, range(*[b.number if type(b) is Size else b for b in bounds])

    def ends(self):
        """(start, stop, step)"""
        return (0, self.bounds[0], 1) if len(self.bounds) == 1 else (*self.bounds, 1)[:3]

    def unseen(self):
        """The range, for what goes over its items unseen."""
        plain_sizes(self.bounds, "the bound of a range that is gone through item by item")
        return self.plain

    def shown(self):
        """The range, for a captured loop, in which it shows, as does whether it has items: how many is what its ends
        differ by only where it has."""
        self.has_items()
        plain_sizes(self.bounds)
        return self.plain

    def has_items(self):
        start, stop, step = self.ends()
        return start < stop if step > 0 else stop < start

    def count(self):
        """How many items it has, as user code holds that."""
        start, stop, step = self.ends()
        if type(step) is not int or step < 1:
            return len(self.unseen())
        return (stop - start + (step - 1)) // step if self.has_items() else 0

    def __iter__(self):
        yield from self.unseen()  # told when the first item is asked for

    def __getitem__(self, key):
        return self.unseen()[plain_sizes(key, "an index")]

    def __contains__(self, x):
        return x in self.unseen()

    def __len__(self):
        return len(self.unseen())

    def __reversed__(self):
        yield from reversed(self.unseen())
