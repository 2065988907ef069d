"""What the trips of a loop leave behind, one row a trip: the items of a comprehension, and what is appended to a list.

A pass of the loop says what a trip gives: numbers and arrays of its own become rows of arrays that the loop
writes, what is one thing in all trips stays that thing. What no rows can hold is refused when the loop has
settled, by `check`.
"""

import copy

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..common import pytree
from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards.container_phis import candidates_of, phi_of
from ..guards.state import inside, own, regions
from ..numpy_api.handles import value_of
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.elements import RowRun, run_of
from ..values.storage import AliasSet, Storage, current_trace, memories
from ..values.views import dynamic
from . import merge
from .fixpoint import LAST, Roll
from .lengthening import Lengthens, lengthened
from .sharing import arrays

PLAIN = (str, bytes)  # parts of items that are the same in every trip
NESTING = (list, tuple, dict)


class RowRoll(Roll):
    """A loop whose trips leave rows behind; kept: what holds them; sources: what no trip may change; prove: shows what
    was thought of arrays that grow."""

    def __init__(self, kept, sources, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kept, self.sources, self.prove = kept, sources, list

    def carry(self, slot, before, after, run):
        found = lengthened(slot, before, after, self.turns)
        if found is not None:
            raise Lengthens(found)
        return super().carry(slot, before, after, run)

    def widen(self, slot, after, run):
        found = lengthened(slot, self.first(slot, run), after, self.turns)
        if found is not None:
            raise Lengthens(found)
        return super().widen(slot, after, run)

    def emitted(self, run):
        changed = {id(slot.owner) for slot in run.heap} | set(map(id, run.writes)) | set(self.loop.growing)
        if any(id(x) in changed for x in self.sources):
            raise self.refused("it changes what it goes through")
        self.prove()
        every = [x.storage for rows in self.kept() for _, x in rows.rows.arrays]
        appended = set(every)
        if len(appended) < len(every):
            raise self.refused("one array is appended to several lists")
        for rows in self.kept():
            rows.check(self, run)
            if any(may_hold_later(self, run, slot) & appended for slot in rows.rows.standing):
                raise self.refused(f"{rows.what} are arrays that a trip before has appended too")
        return super().emitted(run)


class RowMemory:
    """The rows of one loop of so many turns, made in the trace `outer`. what: as a user would call the items."""

    def __init__(self, turns, outer, what, shown=False):
        self.shown = shown  # whether other places may hold an array too, of which `share` makes one again
        self.turns, self.outer, self.what, self.rows = turns, outer, what, None
        self.made = set()  # the leaves that are another plain array in each trip
        self.where = locate()

    def store(self, value, k, roll):
        """Keep what a trip gives in the arrays for it; other arrays where it is not what the pass before gave."""
        rows = Rows(value, k, self)
        if self.rows is not None and (new := rows.others(self.rows) - self.made):
            self.made |= new
            rows = Rows(value, k, self)
        if self.rows is None or not self.rows.hold(rows):
            for memory in self.rows.memories if self.rows is not None else ():
                if memory in roll.stores:
                    roll.stores.remove(memory)
            rows.reserve(self.turns, self.outer)
        else:
            rows.memories = self.rows.memories
        self.rows = rows
        for memory, x in zip(rows.memories, rows.parts):
            TracedArray(memory)[k] = x

    def check(self, roll, run):
        """Refuse what the rows of the last pass cannot hold."""
        if self.rows.problem is None:
            self.rows.find_sharing(roll, run, self.shown)
        if self.rows.problem is not None:
            text = f"{self.what} cannot be captured as rows of an array: {self.rows.problem}"
            raise CannotRoll(message(text, self.where))

    def share(self, items, count):
        """Put into a list, of `count` items a trip, the very arrays that other places held or hold."""
        for n, value in self.rows.begun:
            items[n] = value
        for n, slot in self.rows.shared:
            if isinstance(found := slot.get(), TracedArray | list | dict):
                items[len(items) - count + n] = found

    def items(self):
        """What the trips gave, in a list."""
        made = self.rows.items(self.turns, self.outer)
        for container in merge.containers(made) if inside() else ():
            own(container)
        return made


class OneArray:
    """An array that is one object in all trips, or a view of one memory, at one place, that each makes anew."""

    def __init__(self, x):
        self.x = x
        traced = isinstance(x, TracedArray)
        self.key = (id(x.storage), *[step.text("x") for step in x.chain]) if traced else id(x)

    def __eq__(self, other):
        return self.key == other.key

    def items(self, turns):
        x = self.x
        if not isinstance(x, TracedArray) or not x.chain:
            return [x] * turns
        # a chain of its own makes it another object
        return [TracedArray(x.storage, tuple(map(copy.copy, x.chain)), x.type, x.shadow) for _ in range(turns)]


class Rows:
    """What one trip gives, as the parts that arrays hold.

    forms: of each leaf ("static", spec) where the number of the trip alone decides it, ("plain", it), or ("rows", type,
    counts, kinds, weak, array) as a RowRun has them. problem: why rows cannot hold it.
    """

    def __init__(self, value, k, loop):
        self.problem, self.arrays, self.standing = shared_containers(value), [], []
        self.containers = merge.containers(value)
        self.items_given = value if type(value) is tuple else ()
        leaves, self.tree = pytree.flatten(value, is_leaf=lambda x: x is not None and self.together(x, k, loop))
        self.order = pytree.key_order(value)
        self.flat = type(value) is tuple and len(leaves) == len(value)  # so that leaves are numbered as the items are
        self.forms, self.parts, self.constants = [], [], {}
        for x in leaves:
            self.add(x, k, loop)

    def together(self, x, k, loop):
        """Whether one array holds all of a part: lists of like numbers too."""
        if type(x) not in NESTING or (run := run_of(x)) is not None:
            return True
        found = run or like_numbers(x)
        return found is not None and (
            type(found.weak) is not type or found.weak is float or static_numbers(found.first, k, loop.turns) is None
        )

    def add(self, x, k, loop):
        run, trace = run_of(x), current_trace()
        found = run if run is not None and run.counts else like_numbers(x)
        if found is not None:
            self.arrays += [(None, item) for item in leaves_of(x)] if found.array else ()
            whole = value_of(x) if found is not run else run.value(trace)
            self.forms.append(("rows", whole.type, found.counts, found.kinds, found.weak, found.array))
            self.parts.append(fresh(whole))
            return
        s = merge.spec(x)
        if s[0] == "object" and isinstance(x, PLAIN):
            self.forms.append(("plain", x))
        elif s[0] == "array":
            if isinstance(x, TracedArray):
                if not made_within(x.storage.trace, trace):
                    if dynamic(x.chain):
                        self.problem = "they are views of an array at places that data decide"
                    self.forms.append(("plain", OneArray(x)))
                    return
                self.arrays.append((len(self.forms) if self.flat else None, x))
            elif len(self.forms) not in loop.made:
                self.forms.append(("plain", OneArray(x)))
                return
            else:
                x = fresh(trace.capture(x))
            self.forms.append(("rows", x.type, (), (), None, True))
            self.parts.append(x)
        elif s[0] in ("weak", "strong"):
            numbers = static_numbers(x, k, loop.turns)
            if numbers is not None:
                self.constants[len(self.forms)] = numbers
                self.forms.append(("static", s))
                return
            self.forms.append(("rows", merge.type_of(s), (), (), s[1] if s[0] == "weak" else None, False))
            self.parts.append(x)
        else:
            self.forms.append(("plain", None))
            self.problem = f"they hold {merge.spelled(s)}"

    def hold(self, other):
        return self.tree == other.tree and self.forms == other.forms and self.order == other.order

    def others(self, before):
        """The leaves that were taken to be one array in all trips, and are not."""
        pairs = enumerate(zip(self.forms, before.forms))
        return {n for n, (a, b) in pairs if type(a[1]) is type(b[1]) is OneArray and not a[1] == b[1]}

    def find_sharing(self, roll, run, shown):
        """Note as a problem that others may see an array, or that it does not lie in memory as a row does.

        shown: other places may hold it too, where no trip writes it: (the row, the place) are noted in `shared`, and
        in `begun` (the row, the array) for one that such a place held when the trip began.
        """
        self.shared, self.begun, self.standing = [], [], []
        self.find_containers(roll, run, shown)
        seen, holders = set(), {}
        for slot in dict.fromkeys((*roll.slots, *run.heap)):
            for y in arrays(run.after(slot)):
                for m in memories(y.storage):
                    holders.setdefault(m, []).append((slot, y is run.after(slot) and m is y.storage))
        standing = {m: slot for slot, c in roll.carried.items() for m in c.memory or () if m is not None}
        for at, x in self.arrays:
            others = seen | (run.trace.standing - set(standing))
            bases = memories(x.storage)
            mine = is_row(x, run.trace) and others.isdisjoint((x.storage, *bases))
            seen.update((x.storage, *bases))
            places = [place for m in dict.fromkeys((x.storage, *bases)) for place in holders.get(m, [])]
            self.shared += [(at, slot) for slot, _ in places if slot.key is not LAST]
            if x.storage in standing:
                slot = standing[x.storage]
                places = [*places, (slot, pytree.is_leaf(roll.carried[slot].tree))]
                self.begun.append((at, roll.first(slot, run)))
                self.standing.append(slot)
            fine = shown and at is not None and all(alone and unwritten(roll, slot) for slot, alone in places)
            if not mine or places and not fine or sum(slot.key is not LAST for slot, _ in places) > 1:
                self.problem = "they are arrays that others may see, or not in row-major order; append x.copy()"

    def find_containers(self, roll, run, shown):
        """The same for the lists and dicts of an item."""
        for slot in dict.fromkeys((*roll.slots, *run.heap)):
            after = run.after(slot)
            held = {at for c in held_containers(after) for at in candidates_of(c, run.trace)}
            held &= {id(c) for c in self.containers}
            at = next((n for n, x in enumerate(self.items_given) if x is after), None)
            if held and (not shown or at is None or slot in roll.carried):
                self.problem = "they are lists or dicts that others may see"
            elif held and slot.key is not LAST:
                self.shared.append((at, slot))

    def reserve(self, turns, trace):
        """Memory for the rows of all trips."""
        kinds = [f[1] for f in self.forms if f[0] == "rows"]
        kinds = [Tensor((turns, *t.shape), t.dtype) for t in kinds]
        self.memories = [Storage(Lit(0, t), trace) for t in kinds]

    def items(self, turns, trace):
        """The list: an item for each trip."""
        columns, memories = [], iter(self.memories)
        for n, form in enumerate(self.forms):
            if form[0] == "static":
                columns.append(self.constants[n])
            elif form[0] == "plain":
                columns.append(form[1].items(turns) if type(form[1]) is OneArray else [form[1]] * turns)
            else:
                columns.append(rows_of(next(memories).value, *form[2:], turns, trace))
        if pytree.is_leaf(self.tree):
            return columns[0]
        leaves = zip(*columns) if columns else [()] * turns
        return [pytree.unflatten(self.tree, row, self.order) for row in leaves]


def like_numbers(x):
    """Nested lists of numbers of one spec, not all of them plain, as a RowRun of an array they could be, or None."""
    counts, kinds, level = [], [], [x]
    while level and all(type(y) is type(level[0]) for y in level) and type(level[0]) in (list, tuple):
        if len({len(y) for y in level}) != 1:
            return None
        counts.append(len(level[0]))
        kinds.append(type(level[0]))
        level = [z for y in level for z in y]
    if not counts or not level or not any(isinstance(y, TracedScalar) for y in level):
        return None
    s = merge.common_spec(level)
    if s is None:
        return None
    return RowRun(None, level[0], tuple(counts), tuple(kinds), s[1] if s[0] == "weak" else None, False)


def rows_of(value, counts, kinds, weak, array, turns, trace):
    """The items that the trips stored in one array."""
    shape = value.type.shape[1 + len(counts) :]
    each = int(np.prod(counts, dtype=int))
    if counts:
        value = OPS["reshape"](value, shape=(turns * each, *shape))
    run = RowRun(value, 0, counts, kinds, weak, array)
    return [run.items(trace, k * each) for k in range(turns)]


def leaves_of(x):
    for item in x:
        if isinstance(item, list | tuple):
            yield from leaves_of(item)
        else:
            yield item


def may_hold_later(roll, run, slot, seen=()):
    """The memory that a place may hold when a trip begins, as the trips before have made it."""
    found, standing = set(), {m: s for s, c in roll.carried.items() for m in c.memory or () if m is not None}
    for x in arrays(run.after(slot)):
        found.add(x.storage)
        if (other := standing.get(x.storage)) is not None and other not in (slot, *seen):
            found |= may_hold_later(roll, run, other, (slot, *seen))
    return found


def held_containers(value):
    """The lists and dicts in what a place holds."""
    return merge.containers(value) if isinstance(value, list | tuple | dict) else []


def is_row(x, trace):
    """Whether an array is all of its memory, made in the loop, and lies in it as a row of another does; or is one of
    several that the trip has made, as data decide."""
    storage = x.storage
    whole = not x.chain or storage.unnamed and x.size == storage.value.type.size
    if not whole or not x.writeable or not x.shadow.flags.c_contiguous:
        return False
    if type(storage) is AliasSet:
        return not storage.mixed and all(is_memory_of_trip(m, trace) for m in memories(storage))
    return type(storage) is Storage and storage.origin is None and not storage.lies


def is_memory_of_trip(storage, trace):
    """Whether memory was made in a trip of a loop."""
    own = type(storage) is Storage and storage.origin is None and not storage.lies
    return own and made_within(storage.trace, trace)


def unwritten(roll, slot):
    """Whether no trip writes in place into the array that a place held when it began."""
    c = roll.carried.get(slot)
    return c is None or all(m is None or m.value is v for m, v in zip(c.memory, c.values))


def made_within(trace, inner):
    """Whether a trace is another, or inside it."""
    while trace is not None and trace is not inner:
        trace = trace.parent
    return trace is inner


def shared_containers(value):
    """Why the lists and dicts of an item are not its own: made in the trip, and there once; None where they are."""
    inside_of, seen = next(regions()).owned, set()
    for c in merge.containers(value):
        if id(c) not in inside_of or id(c) in seen or phi_of(c) is not None:
            return f"they hold a {type(c).__name__} that others hold too"
        seen.add(id(c))
    return None


def static_numbers(x, k, turns):
    """What an integer is in each trip, if the number of the trip alone decides it: Python's own numbers."""
    if not isinstance(x, TracedScalar):
        return [x] * turns
    if x.type.kind not in "iub":
        return None
    known = {k.value: np.arange(turns)}
    found = of_counter(x.value, known, 12)
    if found is None:
        return None
    found = np.broadcast_to(found, (turns,)).astype(x.type.dtype)
    return [x.weak(v) for v in found.tolist()] if x.weak else list(found)


def of_counter(value, known, deep):
    """A scalar in all trips, computed from the counter and constants alone; None where more enters it."""
    if isinstance(value, Lit):
        return value.value
    lifts = current_trace().root.lifts
    while value not in known and value in lifts:
        value = lifts[value]  # what stands in an inner trace for it
    if value in known:
        return known[value]
    eqn = value.eqn
    found = None
    if eqn is not None and deep and "elementwise" in eqn.op.traits and not eqn.op.effect and not value.type.shape:
        operands = [of_counter(o, known, deep - 1) for o in eqn.operands]
        if all(o is not None for o in operands) and len(eqn.results) == 1:
            with np.errstate(all="ignore"):
                found = eqn.op.body(*operands, **eqn.attrs)
    known[value] = found
    return found
