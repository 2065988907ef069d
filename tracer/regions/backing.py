"""`xs[i] = x` where data decide i: in a captured loop the numbers of the list, or of lists in it, are an array."""

import copy
import functools

import numpy as np

from ...ir.ops import OPS
from ..common.errors import CannotRoll, IntegerOverflow, message, with_note
from ..common.frames import locate, variable_name
from ..guards import state
from ..guards.container_phis import refuse_change_of_phi
from ..guards.state import regions
from ..rewriter.completion import CONTINUES, FALLS
from ..values.array import TracedArray, TracedScalar
from ..values.elements import RowRun
from ..values.storage import Storage, current_trace
from . import merge, picking
from .bounded_lists import GivenUp
from .container_changes import AppendsTo
from .growing import Hidden, grown

APART = 256  # bound: items of a list of which data decide the kind, each by itself
READ, STORED = "list index out of range", "list assignment index out of range"
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

    def __len__(self):
        return self.size(0)


class Backed:
    """A list whose numbers are an array in a loop. counts: the lengths of the lists, outermost first.

    spec: of what it holds while the loop runs, which may be a number of several kinds: then a second array says which
    each is, and every trip must store items anew until all are of the kind `stored`.
    """

    def __init__(self, owner):
        self.owner, self.name = owner, variable_name(owner) or "a list"
        self.lists, self.counts, leaves = levels(owner)
        self.spec = spec_of(leaves) if leaves else None
        self.leaves, self.length, self.stored, self.written = leaves, self.counts and self.counts[0], None, False
        self.key, self.growing, self.covering, self.renewed = id(owner), None, [], False
        if self.spec is None or len({id(x) for x, _ in self.lists}) < len(self.lists):
            text = f"items of {self.name} are stored, at places that data decide, which are no numbers of one type"
            raise CannotRoll(message(text, locate(), HINT))

    def again(self, spec):
        """The same, of items of another spec: while a turn is traced the list does not show what it holds."""
        other = copy.copy(self)
        other.spec = spec
        return other

    @property
    def state(self):
        """What an attempt at the loop has known of it."""
        return self.spec

    def begin(self, growing):
        """Make the array, in the trace around the loop."""
        self.growing, self.parts_held = growing, []
        self.leaves = levels(self.owner)[2]  # a turn that is given up may have had others in their places
        for x in self.leaves if self.mixed else ():
            require_held(x, self.spec)
        for n, s in enumerate(merge.part_specs(self.spec)):
            leaves = [merge.component_leaves(x, self.spec)[n] for x in self.leaves] if self.mixed else self.leaves
            value = picking.stacked(leaves, s if self.mixed else self.spec).value
            self.parts_held.append(np.copy(TracedArray(Storage(value, current_trace())).reshape(self.counts)))

    @property
    def mixed(self):
        return self.spec[0] == "mixed"

    def begin_turn(self):
        self.stored, self.covering = None, []

    def end_turn(self, code, k, roll):
        """Whether all items are stored anew, of one kind; refuse what leaves many of several kinds."""
        whole = not (code is not None and code.may - {FALLS, CONTINUES}) and self.covering
        self.renewed = bool(whole) and not any(g.left for g in self.covering)
        if self.mixed and self.written and not self.renewed and len(self.leaves) > APART:
            text = f"items of {self.name} are stored, at places that data decide, which are no numbers of one type"
            raise CannotRoll(message(text, locate(), HINT))

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
        index = self.checked(index, READ)
        if len(index) < len(self.counts):
            return RowInList(self, index)
        values = [TracedArray(a.storage, a.chain)[index].value for a in self.parts_held]
        return merge.mixed(*values, self.spec) if self.mixed else picking.number_of(values[0], self.spec)

    def write(self, index, value):
        given, index = index, self.checked(index, STORED)
        kind, self.written = merge.spec(value), True
        if len(index) == len(self.counts) and kind[0] in ("weak", "strong") and not merge.far(value):
            spec = merge.join(self.spec, kind, None, value)
            if spec is not None and spec != self.spec:
                raise Backs(self.again(spec), self.growing)
            if self.mixed and self.stored in (None, kind):
                self.stored = kind
                self.covering = self.covering or self.covers(given)
                require_held(value, self.spec)
                parts = merge.component_leaves(value, self.spec)
            elif kind == self.spec:
                parts = [value]
            else:
                spec = None
            if spec is not None:
                for a, x in zip(self.parts_held, parts):
                    TracedArray(a.storage, a.chain)[index] = x
                return
        text = f"{merge.described(value)} is stored into {self.name}, a list of {merge.spelled(self.spec)}"
        raise CannotRoll(message(text, locate(), HINT))

    def covers(self, index):
        """The loops, if a store at these places comes in each of their turns and so to each of the items; else []."""
        wanted, found = [], []
        for key in index:
            value = key._value if isinstance(key, TracedScalar) else None
            while value in current_trace().root.lifts:
                value = current_trace().root.lifts[value]
            wanted.append(value)
        for region in regions():
            if region.grower is None:
                return []
            found.append(region.grower)
            if region.grower is self.growing:
                break
        counters = {g.k._value: g.turns for g in found}
        exact = len(counters) == len(wanted) and all(counters.get(v) == n for v, n in zip(wanted, self.counts))
        return found if exact and len(set(wanted)) == len(wanted) else []

    def checked(self, index, text):
        """The places, the last of which is within the list it is of; IndexError(text) where it is not."""
        *lead, key = index
        n = self.counts[len(lead)]
        if picking.is_index(key):
            return (*lead, picking.pick_item(range(n), key, text))
        if isinstance(key, slice) or isinstance(key, TracedScalar) and key.known() is None:
            text = f"a part of {self.name} is used, whose items a captured loop stores"
            raise CannotRoll(message(text, locate(), HINT))
        if type(key) is int and not -n <= key < n:
            raise with_note(IndexError, message(text, locate()))
        return (*lead, list(range(n))[key])

    def finish(self, growing):
        """Give the lists their items, in the trace around the loop; those that are only read keep theirs."""
        if not self.written:
            return
        number = self.of_kinds() if self.mixed and not self.renewed else self.of_one_kind()
        last = [x for x, index in self.lists if len(index) == len(self.counts) - 1]
        for n, x in enumerate(last):
            for k in range(len(x)):
                state.set_item(x, k, number(n * len(x) + k))

    def of_one_kind(self):
        """A function that gives the n-th number, where all are of one kind."""
        spec = self.stored if self.mixed else self.spec
        weak = spec[1] if spec[0] == "weak" else None
        array = self.parts_held[0].reshape(-1).astype(merge.type_of(spec).dtype, copy=False)
        run = RowRun(array.value, 0, self.counts, (), weak, False)
        return lambda n: run.item(n, current_trace())

    def of_kinds(self):
        """Likewise, where data decide the kind of each."""
        values, tags = [np.copy(a).reshape(-1) for a in self.parts_held]
        return lambda n: merge.mixed(values[n].value, tags[n].value, self.spec)


def require_held(x, spec):
    """Check that an int among floats is one that a float holds."""
    if type(x) is int and not merge.keeps_value(int, spec[2], x):
        raise CannotRoll(message(merge.TOO_LARGE, locate()))
    if merge.int_beyond_float(x, spec):
        current_trace().check(merge.whole(x), IntegerOverflow, message(merge.TOO_LARGE, locate()))


def spec_of(leaves):
    """The spec of numbers, of several kinds as it may be; None where there is no such."""
    found = merge.common_spec(leaves)
    if found is not None or not all(merge.spec(x)[0] in ("weak", "strong") for x in leaves):
        return found
    kinds = {merge.spec(x): x for x in leaves}
    if len(kinds) < 2:
        return None
    first, *others = kinds.items()
    found = functools.reduce(lambda a, b: a and merge.join(a, b[0], None, b[1]), others, first[0])
    if found is None or merge.type_of(("strong", found[-1])).kind not in "iuf":
        return None
    fits = [merge.join(merge.spec(x), found, x, None) == found and not merge.int_beyond_float(x, found) for x in leaves]
    return found if all(fits) else None


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
    refuse_change_of_phi(owner)
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
    return type(owner[0]) is list and bool(leaves := levels(owner)[2]) and spec_of(leaves) is not None


def store_anywhere(owner, index, value):
    """`owner[index] = value` outside of loops: each of its items is what it was, or the value."""
    at, spec = picking.pick_item(range(len(owner)), index, STORED), merge.common_spec(owner)
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


def same_row(x, y):
    """Whether two lists are one, as a bool or a traced one, while an array stands for the list that either is in; None
    where none does."""
    rows = [z if type(z) is RowInList else found[0] if (found := grown(z)) is not None else None for z in (x, y)]
    if not any(type(r) is RowInList for r in rows):
        return None
    if not all(type(r) is RowInList for r in rows) or len({(id(r.backed), len(r.index)) for r in rows}) == 2:
        return False
    tests = [a == b for a, b in zip(rows[0].index, rows[1].index)]
    traced = [t.value for t in tests if isinstance(t, TracedScalar)]
    return all(t for t in tests if type(t) is bool) and (
        not traced or TracedScalar(functools.reduce(OPS["and"], traced), bool)
    )


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
