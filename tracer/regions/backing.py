"""`xs[i] = x` where data decide i: in a captured loop the numbers of the list, or of lists in it, are an array."""

import numpy as np

from ..common.errors import CannotRoll, message
from ..common.frames import locate, variable_name
from ..guards import state
from ..guards.state import regions
from ..values.array import TracedArray, TracedScalar
from ..values.elements import RowRun
from ..values.storage import Storage, current_trace
from . import merge, picking
from .bounded_lists import GivenUp
from .counting import AppendsTo
from .growing import Hidden, grown

HINT = "Hold the numbers in an array: xs = np.zeros(n)."


class Backs(AppendsTo):
    """A trip stores into a list that the loop did not know of. grower: of the loop that is to know it."""

    def __init__(self, backed, grower):
        text = f"items of {backed.name} are stored, at places that data decide"
        CannotRoll.__init__(self, message(text, locate(), HINT))
        self.grown, self.grower = backed, grower


class RowInList(Hidden):
    """Stands for a list in a list while an array stands for both: `index` are the places that lead to it."""

    __slots__ = ("backed", "index")

    def __init__(self, backed, index):
        super().__init__(f"a list in {backed.name}, whose items a captured loop stores, is used in it as a whole")
        object.__setattr__(self, "backed", backed)
        object.__setattr__(self, "index", index)

    def item(self, key):
        return self.backed.read((*self.index, key))

    def store(self, key, value):
        self.backed.write((*self.index, key), value)

    def size(self, k):
        return self.backed.counts[len(self.index)]


class Backed:
    """A list whose numbers are an array in a loop. counts: the lengths of the lists, outermost first."""

    state = 0  # what an attempt at the loop has known of it

    def __init__(self, owner):
        self.owner, self.name = owner, variable_name(owner) or "a list"
        self.lists, self.counts, leaves = levels(owner)
        self.spec = merge.common_spec(leaves) if leaves else None
        self.leaves, self.length = leaves, self.counts and self.counts[0]
        if self.spec is None or len({id(x) for x, _ in self.lists}) < len(self.lists):
            text = f"items of {self.name} are stored, at places that data decide, which are no numbers of one type"
            raise CannotRoll(message(text, locate(), HINT))

    def begin(self, growing):
        """Make the array, in the trace around the loop."""
        value = picking.stacked(self.leaves, self.spec).value
        self.array = np.copy(TracedArray(Storage(value, current_trace())).reshape(self.counts))

    def parts(self):
        """[(a list that is changed, what answers for it in the loop)]"""
        return [(x, RowInList(self, index)) for x, index in self.lists]

    def item(self, key):
        return self.read((key,))

    def store(self, key, value):
        self.write((key,), value)

    def size(self, k):
        return self.counts[0]

    def read(self, index):
        index = self.checked(index)
        if len(index) < len(self.counts):
            return RowInList(self, index)
        return picking.number_of(TracedArray(self.array.storage, self.array.chain)[index].value, self.spec)

    def write(self, index, value):
        index = self.checked(index)
        if len(index) < len(self.counts) or merge.spec(value)[:2] != self.spec or merge.far(value):
            text = f"{merge.described(value)} is stored into {self.name}, a list of {merge.spelled(self.spec)}"
            raise CannotRoll(message(text, locate(), HINT))
        TracedArray(self.array.storage, self.array.chain)[index] = value

    def checked(self, index):
        """The places, the last of which is within the list it is of."""
        *lead, key = index
        n = self.counts[len(lead)]
        if picking.is_index(key):
            return (*lead, picking.pick_item(range(n), key))
        if isinstance(key, slice) or isinstance(key, TracedScalar) and key.known() is None:
            text = f"a part of {self.name} is used, whose items a captured loop stores"
            raise CannotRoll(message(text, locate(), HINT))
        return (*lead, range(n)[key])

    def finish(self):
        """Give the lists their items, in the trace around the loop."""
        weak = self.spec[1] if self.spec[0] == "weak" else None
        run = RowRun(self.array.reshape(-1).value, 0, self.counts, (), weak, False)
        last = [(x, index) for x, index in self.lists if len(index) == len(self.counts) - 1]
        for n, (x, _) in enumerate(last):
            for k in range(len(x)):
                state.set_item(x, k, run.item(n * len(x) + k, current_trace()))


def levels(owner):
    """([(list, the places that lead to it)] of nested lists of like lengths, these lengths, all numbers in them)"""
    found, counts, level = [], [], [(owner, ())]
    while level and all(type(x) is list for x, _ in level):
        if len({len(x) for x, _ in level}) != 1 or not level[0][0]:
            return [], (), []
        found += level
        counts.append(len(level[0][0]))
        level = [(y, (*index, k)) for x, index in level for k, y in enumerate(x)]
    return found, tuple(counts), [x for x, _ in level]


def require_backing(owner):
    """Begin the outermost loop again in which the list is not made, with an array in its place; a trial trip of one is
    given up."""
    found = None
    for region in regions():
        if id(owner) in region.owned:
            break
        if region.trial and found is None:
            raise GivenUp("a trial trip stores into a list at places that data decide")
        found = region.grower or found
    if found is not None:
        raise Backs(Backed(owner), found)


def holds_rows(owner):
    """Whether a list is one of lists of numbers."""
    return type(owner[0]) is list and bool(leaves := levels(owner)[2]) and merge.common_spec(leaves) is not None


def store_anywhere(owner, index, value):
    """`owner[index] = value` outside of loops: each of its items is what it was, or the value."""
    at, spec = picking.pick_item(range(len(owner)), index), merge.common_spec(owner)
    if spec is not None and merge.spec(value)[:2] == spec and not merge.far(value):
        array = np.copy(picking.stacked(owner, spec))
        array[at] = value
        items = picking.rows(array, spec)
    elif len(owner) <= picking.CHOICES:
        items = [merge.pick(at == k, value, x) for k, x in enumerate(owner)]
    else:
        return False
    for k, x in enumerate(items):
        state.set_item(owner, k, x)
    return True


def inside_of(owner, key, kind, trace):
    """(the item of a list, tuple, range or dict,) where data decide which, or a captured loop appends to it; else
    None."""
    if kind is list and (found := grown(owner)) is not None:
        return (found[0].item(key),)
    if kind is RowInList:
        return (owner.item(key),)
    if not picking.is_index(key):
        return None
    owner = trace.root.outside.mirror(owner) if id(owner) in trace.root.outside.containers else owner
    if kind is list and owner and holds_rows(owner):
        require_backing(owner)
    if kind is not dict:
        return (picking.pick_item(owner, key),)
    return (picking.looked_up(owner, key),) if picking.has_number_keys(owner) else None


def stored_by_place(owner, key, value):
    """Whether an array has taken what a captured loop stores into a list."""
    found = owner if type(owner) is RowInList else grown(owner)
    if found is not None:
        (found[0] if type(found) is tuple else found).store(key, value)
        return True
    if not picking.is_index(key):
        return False
    outside = current_trace().root.outside
    owner = outside.mirror(owner) if id(owner) in outside.containers else owner
    require_backing(owner)
    return store_anywhere(owner, key, value)
