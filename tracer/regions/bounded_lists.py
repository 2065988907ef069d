"""`BoundedList`: a list of which data decide how many items it has, as rows of arrays and a count that the program
keeps.

Captured loops leave such where they append under a test, or end early. The list itself holds one stand-in,
`Uncounted`: whoever asks it what no hook below answers gets the list with its length taken by value, in a trace that
begins again; where that cannot be, the trace is refused. Items that are arrays are lent (`lending.py`).
"""

import gc

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import COUNTER
from ...ir.types import Tensor
from ..common import pytree
from ..common.errors import CannotRoll, message
from ..common.frames import locate, variable_name
from ..extents import numbers
from ..extents.bounded import BoundedArray, SpanExtent
from ..extents.numbers import FAR
from ..guards.state import regions
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.capturing import unmerged
from ..values.elements import RowRun
from ..values.poison import Poison
from ..values.room import require_room
from ..values.speculate import choices, contents
from ..values.storage import Storage, current_trace
from . import merge, picking
from .branch import choose
from .builtins import check
from .container_changes import GROWS as HINT
from .lending import borrowed, lend
from .rows import PLAIN
from .series import Listed
from .sized_calls import tell_items


def is_gone_through(owner):
    """Whether an iterator is on its way through a list, which takes items that come meanwhile: whoever holds one, a
    `for`, an `enumerate`, a generator of the user's, it refers to the list."""
    return any(type(x) in GOING for x in gc.get_referrers(owner))


class GivenUp(CannotRoll):
    """A trial trip does what only the loop around it can take."""


class Uncounted(Poison):
    """Stands in a list for its items, of which data decide how many there are."""

    __slots__ = ()

    def fail(self, *args, **kwargs):
        unmerged(self.choice, CannotRoll(message(self.reason, locate(), HINT)))

    __getattr__ = __setattr__ = __dir__ = fail


GOING = {type(iter([])), type(reversed([])), Listed}  # what goes through a list item by item
KINDS = ("plain", "weak", "strong", "array")  # of leaves of items


class ItemForm:
    """What the items of a list have in common: the structure, and a spec for each leaf; texts are the same in all."""

    def __init__(self, value, name):
        leaves, self.tree = pytree.flatten(value)
        self.order = pytree.key_order(value)
        self.specs = [("plain", x) if isinstance(x, PLAIN) else merge.spec(x) for x in leaves]
        if merge.containers(value):
            raise refused(name, "gets items that are lists or dicts")
        if any(s[0] == "mixed" for s in self.specs):
            kinds = ", now ".join(merge.spelled(s).replace(" or ", ", now ") for s in self.specs if s[0] == "mixed")
            raise refused(name, f"gets items that are now {kinds}", f"Give them one kind: {name}.append(float(t)).")
        if not all(s[0] in KINDS for s in self.specs) or any(map(merge.far, leaves)):
            raise refused(name, f"gets {merge.described(value)}, which is no number, array or tuple of such")
        self.kept = [s for s in self.specs if s[0] != "plain"]
        self.types = [merge.type_of(s) for s in self.kept]
        self.has_arrays = any(s[0] == "array" for s in self.kept)

    def __eq__(self, other):
        return self.tree == other.tree and self.specs == other.specs and self.order == other.order

    __hash__ = None

    def parts(self, value):
        """The leaves of an item that rows hold."""
        return [x for x, s in zip(pytree.leaves(value), self.specs) if s[0] != "plain"]

    def item(self, parts):
        """An item again."""
        parts = iter(parts)
        leaves = [s[1] if s[0] == "plain" else next(parts) for s in self.specs]
        return pytree.unflatten(self.tree, leaves, self.order)

    @property
    def columns(self):
        """Whether items are numbers, or tuples of such: then they make an array."""
        flat = pytree.is_leaf(self.tree) or self.tree == pytree.structure(tuple([0] * len(self.specs)))
        return flat and len(self.kept) == len(self.specs) and not self.has_arrays


def refused(name, why, hint=HINT):
    return CannotRoll(message(f"{name}, a list of which data decide how long it gets, {why}", locate(), hint))


class BoundedList:
    """owner: the list; form: of its items, None while there are none. head: items of other forms before the rows.

    room: how many rows there are at most.
    """

    k = None

    def __init__(self, owner, form, room, trace):
        self.owner, self.form, self.room, self.name = owner, form, room, variable_name(owner) or "a list"
        self.head, self.choice, self.shared = [], None, False
        self.shown = self.shrinks = False  # whether the loop that made it is over; whether a trip takes items away
        self.guess = None  # (the exponent of 2 that room was taken to be, the assumption's number), if it was
        self.begun = 0  # how many rows were in use before the loop, None where data decide that
        self.memories = [Storage(Lit(0, Tensor((room, *t.shape), t.dtype)), trace) for t in form.types]
        self.count = Storage(Lit(0, COUNTER), trace)

    # -- while loops append ----------------------------------------------------------------------
    def number(self, most=None):
        """How many rows are in use, as an int or a value."""
        found = numbers.number(self.count.value)
        return numbers.bounded(found, 0, self.room if most is None else most)

    def put(self, value):
        """Append an item, for which there is room."""
        at = count = self.number(self.room - 1 if self.guess is None else FAR)
        if self.guess is not None:
            exponent, assumption = self.guess
            require_room(numbers.operand_of(numbers.compare("lt", count, self.room)), assumption, exponent + 2)
            at = numbers.least(count, self.room - 1)
        for memory, x in zip(self.memories, self.form.parts(value)):
            TracedArray(memory)[numbers.traced(at)] = x
            if isinstance(x, TracedArray):
                lend(x, self)
        self.count.write(numbers.operand(numbers.plus(count, 1)))

    def append(self, value):
        """Append an item outside of captured loops."""
        self.require_changes()
        if not self.holds(value):
            raise self.refuse("gets items of several forms")
        self.enlarge(self.room + 1)
        self.put(value)

    def require_changes(self):
        """Refuse what no region could undo, in one that did not make the list."""
        for region in regions():
            if id(self.owner) in region.owned:
                return
            if region.trial:
                raise GivenUp("a trial trip changes a list of which data decide how long it is")
            raise self.refuse("grows in a branch or loop that is captured as a whole")

    def pop(self):
        """Take the last item away."""
        count = self.number()
        ok = numbers.compare("lt", 0, count)
        if ok is False:
            raise IndexError("pop from empty list")
        if ok is not True:
            check(ok, IndexError, message("pop from empty list", locate()))
        at = numbers.bounded(numbers.minus(count, 1), 0, self.room - 1)
        found, self.shrinks = self.row(at), True
        self.count.write(numbers.operand(at))
        return found

    def truth(self):
        """Whether there are items, as a bool or a traced one."""
        some = True if self.head else numbers.compare("lt", 0, self.number())
        return some if isinstance(some, bool) else TracedScalar(some, bool)

    def enlarge(self, room):
        """Make place for more rows."""
        for memory, t in zip(self.memories, self.form.types):
            more = TracedArray(Storage(Lit(0, Tensor((room - self.room, *t.shape), t.dtype)), current_trace()))
            memory.value = np.concatenate([TracedArray(memory), more]).value
        self.room = room

    # -- questions -------------------------------------------------------------------------------
    def size(self, k=None):
        return numbers.traced(numbers.plus(self.number(), len(self.head)))

    def row(self, at):
        """The item in a row, an int in range."""
        parts = []
        for memory, s in zip(self.memories, self.form.kept):
            found = merge.made(TracedArray(memory)[numbers.traced(at)].value, s)
            parts.append(borrowed(found, self) if s[0] == "array" else found)
        return self.form.item(parts)

    def item(self, key):
        """`xs[key]`; IndexError where there is no such item."""
        if type(key) is slice:
            raise self.refuse("is asked for a part")
        known = key.known() if isinstance(key, TracedScalar) else None
        key = key if known is None or known.dtype.kind not in "iub" else int(known)
        if type(key) is not int and not picking.is_index(key):
            return self.settled()[key]
        count, known = self.number(), numbers.number(key)
        length = numbers.plus(count, len(self.head))
        ok = numbers.all_of(
            numbers.compare("le", numbers.minus(0, length), known), numbers.compare("lt", known, length)
        )
        if ok is False:
            raise IndexError("list index out of range")
        if ok is not True:
            check(ok, IndexError, "list index out of range")
        before = numbers.compare("lt", known, 0)
        at = numbers.choose(before, numbers.plus(known, length), known)
        if not self.head:
            return self.row(numbers.bounded(at, 0, self.room - 1))
        number = numbers.traced(at)
        return choose(
            number < len(self.head),
            lambda: self.head_item(number),
            lambda: self.row(self.behind(numbers.number(number))),
        )

    def behind(self, at):
        """The row of an item, after the head."""
        return numbers.bounded(numbers.greatest(numbers.minus(at, len(self.head)), 0), 0, self.room - 1)

    def head_item(self, at):
        found = self.head[-1]
        for n in range(len(self.head) - 2, -1, -1):
            found = choose(at == n, lambda n=n: self.head[n], lambda found=found: found)
        return found

    def store(self, key, value):
        """`xs[key] = value` of a number, or a tuple of such, like the others."""
        if type(key) is slice or self.head or self.form.has_arrays or not self.holds(value):
            raise self.refuse("is given other items")
        known, count = numbers.number(key), self.number()
        ok = numbers.all_of(
            numbers.compare("le", numbers.minus(0, count), known), numbers.compare("lt", known, count)
        )
        if ok is False:
            raise IndexError("list assignment index out of range")
        if ok is not True:
            check(ok, IndexError, "list assignment index out of range")
        at = numbers.choose(numbers.compare("lt", known, 0), numbers.plus(known, count), known)
        for memory, x in zip(self.memories, self.form.parts(value)):
            TracedArray(memory)[numbers.traced(numbers.bounded(at, 0, self.room - 1))] = x

    def holds(self, value):
        """Whether a value has the form of the items."""
        return not merge.containers(value) and ItemForm(value, self.name) == self.form

    def array(self):
        """The array that np.array makes of it."""
        if self.head and not all(map(self.like_number, self.head)):
            raise self.refuse("becomes an array")
        columns = [
            BoundedArray(fresh(m.value), (SpanExtent(0, numbers.traced(self.number())), *(None,) * len(t.shape)))
            for m, t in zip(self.memories, self.form.types)
        ]
        if pytree.is_leaf(self.form.tree) and columns:
            found = columns[0]
        elif self.form.columns:
            dtype = np.result_type(*[t.dtype for t in self.form.types])
            whole = np.stack([fresh(m.value).astype(dtype) for m in self.memories], axis=1)
            found = BoundedArray(whole, (SpanExtent(0, numbers.traced(self.number())), None))
        else:
            raise self.refuse("becomes an array")
        if not self.head:
            return self.of_none(found)
        return np.concatenate([picking.stacked(self.head, self.form.kept[0]), found])

    def of_none(self, found):
        """An array whose dtype and dimensions are those of np.array([]) where the list is empty."""
        if found.array.ndim == 1 and found.array.dtype == np.float64:
            return found
        text = f"{self.name}, from which an array is made, is empty: its dtype and shape are those of np.array([])"
        some = numbers.compare("lt", 0, self.number())
        numbers.require(some, EmptyList, message(text, locate(), HINT))
        return found

    def values(self):
        """The rows, as arrays of their own."""
        return [fresh(m.value) for m in self.memories]

    def number_traced(self):
        """How many rows are in use, as the int that user code would hold."""
        return numbers.traced(self.number())

    def like_number(self, x):
        """Whether an item before the rows makes an array with them."""
        s = merge.spec(x)
        return (
            pytree.is_leaf(self.form.tree)
            and s[0] in ("weak", "strong")
            and merge.type_of(s).dtype == self.form.types[0].dtype
            and self.form.kept[0][0] != "array"
        )

    # -- the list itself -------------------------------------------------------------------------
    def show(self):
        """Let the list stand for what is in the rows: at once by value, where that has turned out to be needed."""
        self.shown, made, count = True, choices(), self.count.value
        if isinstance(count, Lit):
            self.fill(int(count.value))
            return
        if made is not None:
            self.choice = made.numbered(count, locate())
            if self.choice in made.wanted or made.is_often(self.choice):
                self.fill(contents(count))
                return
        going = is_gone_through(self.owner)
        what = "gets its items while they are gone through" if going else "is used as a whole"
        reason = f"{self.name}, a list of which data decide how long it is, {what}"
        self.owner[:] = [Uncounted(reason, self.choice if self.choice is not None else ())]
        root = current_trace().root
        root.growing = {**root.growing, id(self.owner): (self, self)}
        if going:
            self.settled()

    def fill(self, length):
        """Give the list so many items."""
        if self.shared and self.form.has_arrays:
            raise self.refused("holds arrays that variables hold too")
        trace, columns = current_trace(), []
        for memory, s in zip(self.memories, self.form.kept):
            run = RowRun(trace.bring(memory.value), 0, (), (), s[1] if s[0] == "weak" else None, s[0] == "array")
            columns.append([run.item(n, trace) for n in range(length)])
        rows = zip(*columns) if columns else [()] * length
        root = trace.root
        root.growing = {k: v for k, v in root.growing.items() if k != id(self.owner)}
        self.owner[:] = [*self.head, *(self.form.item(row) for row in rows)]
        tell_items(self.owner)

    def settled(self):
        """The list by value, in a trace that begins again."""
        self.owner[0].fail()

    def refuse(self, why):
        """The exception that says what is not answered, unless the length can be taken by value: then that is done."""
        unmerged(self.choice, self.refused(why))

    def refused(self, why):
        return refused(self.name, why)


class EmptyList(CannotRoll):
    """A list that data left empty becomes an array of another type than the program has."""


def bounded_list(x):
    """The BoundedList that a list is, or None."""
    trace = current_trace()
    if trace is None or not trace.root.growing or type(x) is not list:
        return None
    found = trace.root.growing.get(id(x))
    return found[0] if found is not None and isinstance(found[0], BoundedList) and found[0].owner is x else None


def started(owner, form, room, trace, guess=None):
    """The BoundedList that a loop begins with, made in the trace around it: what the list holds is in its rows, or its
    head."""
    before = bounded_list(owner)
    held = [] if before is not None else list(owner)
    made = BoundedList(owner, form, room + (before.room if before is not None else len(held)), trace)
    made.head, made.guess = held, guess
    if before is not None:
        made.head, made.shared = before.head, before.shared
        if not before.form == form:
            raise refused(made.name, "gets items of several forms")
        for memory, other in zip(made.memories, before.memories):
            TracedArray(memory)[: before.room] = TracedArray(other)
        made.count.write(before.count.value)
        made.begun = None
    elif held and not form.has_arrays and all(not merge.containers(x) and ItemForm(x, made.name) == form for x in held):
        made.head = []
        for n, memory in enumerate(made.memories):
            TracedArray(memory)[: len(held)] = picking.stacked([form.parts(x)[n] for x in held], form.kept[n])
        made.count.write(numbers.operand(len(held)))
        made.begun = len(held)
    return made
