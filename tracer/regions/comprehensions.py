"""`[f(x) for x in xs]` over many items, captured as one loop that stores into an array: its items are rows of that.

The loop is made like that of a `for`: one trip is traced, and what comes of it says what the array is to
hold. Items that are not of one type, arrays that others see too, and a trip that runs without anything
traced are left to Python, item by item.
"""

import itertools

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..common import pytree
from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards.state import cells, inside, own, regions
from ..numpy_api.handles import value_of
from ..rewriter.sites import SITES
from ..values.array import Traced, TracedArray, TracedScalar, fresh
from ..values.beyond import far
from ..values.elements import MANY, RowRun, run_of
from ..values.storage import Storage, current_trace
from . import fixpoint_memo, merge, series
from .fixpoint import Roll
from .loops import RETRY, LoopCapture, spend_trip

PLAIN = (str, bytes)  # items, or parts of items, that are the same in every trip


def collect(items, body, number, flat=False, test=None):
    """The list of `body(item)`; flat: of the items of the lists that it gives; of those items of which test holds."""
    items = series.series_of(items) if current_trace() is not None else items
    kept = decided_places(items, test) if test is not None and captured(items) else None
    if captured(items) and (test is None or kept is not None):
        items = series.Selected(items, kept) if kept is not None else items
        found = Collect(items, body, number).run()
    else:
        found = [body(x) for x in items if test is None or test(x)]
    return own(list(itertools.chain.from_iterable(found)) if flat else found)


def decided_places(items, test):
    """The numbers of the items of which a test holds; None where data decide that."""
    kept = []
    for k in range(series.length(items)):
        answer = test(series.item(items, k))
        if isinstance(answer, Traced) and answer.known() is None:
            return None
        if answer:
            kept.append(k)
    return kept


def captured(items):
    """Whether a comprehension over these is tried as a loop."""
    if current_trace() is None or not series.rollable(items):
        return False
    count = series.length(items)
    return count is not None and count > MANY


class Collect(LoopCapture):
    """A list comprehension, as a loop; `run()` -> the list."""

    def __init__(self, items, body, number):
        super().__init__(body, SITES[number], number, cells(body))
        self.items = series.begun(items)
        self.count = series.length(self.items)

    def trip(self, k):
        return self.body(series.item(self.items, k))

    def run(self):
        found, trace = [], current_trace()
        if not self.memory.get("records"):
            kept, value = self.probe(lambda: self.trip(0))
            if kept:
                found.append(value)
            else:
                self.memory["records"] = True
        while (k := len(found)) < self.count:
            if self.memory.get("records") and self.count - k > MANY and not fixpoint_memo.hopeless(self):
                try:
                    return found + self.rolled(k)
                except RETRY as error:
                    reason = str(error)
                fixpoint_memo.failed(self, reason)
                self.told(f"{self.count - k} items are written out one by one", reason)
                return found + [self.trip(j) for j in range(k, self.count)]
            before = len(trace.build.eqns)
            spend_trip()
            found.append(self.trip(k))
            if len(trace.build.eqns) > before:
                self.memory["records"] = True
        return found

    def rolled(self, first):
        self.rows, self.turns, self.outer = None, self.count - first, current_trace()
        roll = None

        def turn(counter):
            k = TracedScalar(counter, int)
            self.store(self.trip(k + first if first else k), k, roll)

        roll = Roll(self, turn, turns=self.turns)
        roll.emit()
        made = self.rows.items(self.turns, self.outer)
        for container in merge.containers(made) if inside() else ():
            own(container)
        return made

    def store(self, value, k, roll):
        """Keep what a trip gives in the arrays for it; other arrays where it is not what the pass before gave."""
        rows = Rows(value, k, self)
        if self.rows is None or not self.rows.hold(rows):
            for memory in self.rows.memories if self.rows is not None else ():
                if memory in roll.stores:
                    roll.stores.remove(memory)
            rows.reserve(self.turns, self.outer)
            self.rows = rows
        else:
            self.rows.constants = rows.constants
        for memory, x in zip(self.rows.memories, rows.parts):
            TracedArray(memory)[k] = x


class Rows:
    """What one trip gives, as the parts that arrays hold.

    forms: of each leaf ("static", values) where the number of the trip alone decides it, ("plain", it), or ("rows",
    dtype, shape, RowRun or None, spec).
    """

    def __init__(self, value, k, loop):
        check_containers(value, loop)
        leaves, self.tree = pytree.flatten(value, is_leaf=lambda x: x is not None and self.together(x, k, loop))
        self.order = pytree.key_order(value)
        self.forms, self.parts, self.constants, seen = [], [], {}, set()
        for x in leaves:
            self.add(x, k, loop, seen)

    def together(self, x, k, loop):
        """Whether one array holds all of a part: lists of like numbers too."""
        if type(x) not in NESTING or (run := run_of(x)) is not None:
            return True
        found = run or like_numbers(x)
        return found is not None and (
            type(found.weak) is not type or found.weak is float or static_numbers(found.first, k, loop.turns) is None
        )

    def add(self, x, k, loop, seen):
        run, trace = run_of(x), current_trace()
        found = run if run is not None and run.counts else like_numbers(x)
        if found is not None:
            for item in leaves_of(x) if found.array else ():
                check_fresh(item, seen, loop)
            whole = value_of(x) if found is not run else run.value(trace)
            self.forms.append(("rows", whole.type, found.counts, found.kinds, found.weak, found.array))
            self.parts.append(fresh(whole))
            return
        s = merge.spec(x)
        if s[0] == "object" and isinstance(x, PLAIN):
            self.forms.append(("plain", x))
        elif s[0] == "array":
            if not isinstance(x, TracedArray):
                x = fresh(current_trace().capture(x))
            else:
                check_fresh(x, seen, loop)
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
            raise refused(f"an item holds {merge.spelled(s)}", loop)

    def hold(self, other):
        return self.tree == other.tree and self.forms == other.forms and self.order == other.order

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
                columns.append([form[1]] * turns)
            else:
                columns.append(rows_of(next(memories).value, *form[2:], turns, trace))
        if pytree.is_leaf(self.tree):
            return columns[0]
        return [pytree.unflatten(self.tree, leaves, self.order) for leaves in zip(*columns)]


NESTING = (list, tuple, dict)


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
    specs = {s[:2] for s in map(merge.spec, level)}
    if len(specs) != 1 or (s := specs.pop())[0] not in ("weak", "strong") or any(map(far, level)):
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


def refused(why, loop):
    return CannotRoll(message(f"the comprehension cannot be captured as a loop: {why}", locate()))


def check_containers(value, loop):
    """The lists and dicts of an item are its own: made in the trip, and there once."""
    inside, seen = next(regions()).owned, set()
    for c in merge.containers(value):
        if id(c) not in inside or id(c) in seen:
            raise refused(f"an item holds a {type(c).__name__} that others hold too", loop)
        seen.add(id(c))


def check_fresh(x, seen, loop):
    """The arrays of an item are its own too, and lie in memory as the rows of an array do."""
    trace, storage = current_trace(), x.storage
    own = type(storage) is Storage and storage.trace is trace and storage.origin is None and not x.chain
    if not own or storage in seen or not x.writeable or storage.lies or not x.shadow.flags.c_contiguous:
        raise refused("an item is an array that others may see, or that does not lie in row-major order", loop)
    held = trace.region.heap
    if any(y.storage is storage for slot in held for y in merge_arrays(slot.get())):
        raise refused("an item is an array that others may see", loop)
    seen.add(storage)


def merge_arrays(value):
    return [x for x in pytree.leaves(value) if isinstance(x, TracedArray)]


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
