"""`xs.append(x)` in a captured loop: what each trip appends becomes rows, and the list gets its items when the loop is
over.

While a trip is traced the list shows nothing but its last item and its length: whatever else is asked of it
refuses the loop. That a list is appended to is found out in a first attempt, which is then begun again with
the list known.
"""

import contextlib
import functools

from ..common import pytree
from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate, variable_name
from ..guards import state
from ..rewriter.completion import CONTINUES, FALLS, Completion
from ..values.array import TracedScalar
from ..values.poison import USES, Poison
from ..values.storage import current_trace
from .bounded_lists import GivenUp, ItemForm, bounded_list
from .branch import ASKED
from .builtins import len_, replaces
from .container_changes import GROWS, AppendsTo, before_change
from .counting import CountedList, CountsIn
from .fixpoint import LAST
from .lengthening import Lengthened, begin_as_before, prove, remember_growth, undo
from .rows import RowMemory
from .sized_calls import tell_items
from .stand_ins import Counting
from .takers import outermost, spoil, taker
from .variants import that_is_there

ONWARD = (AppendsTo, GivenUp)  # of what a loop may not be captured for, what a loop around has to know
TRIES = 16  # attempts at one loop
NESTED = 4096  # items of a container that are looked at for lists that grow


class Hidden(Poison):
    """Stands for what a list holds that is being appended to."""

    __slots__ = ()

    def fail(self, *args, **kwargs):
        raise CannotRoll(message(self.reason, locate(), GROWS))

    __getattr__ = __setattr__ = __dir__ = fail


for _use in USES:
    setattr(Hidden, _use, Hidden.fail)


class GrownList(Hidden):
    """Stands in variables for a list that the loop appends to, and refuses what is no append, last item or length."""

    __slots__ = ("grown",)
    stands = True

    def __init__(self, grown):
        super().__init__(f"{grown.name}, a list that a captured loop appends to, is used in it")
        object.__setattr__(self, "grown", grown)

    def fail(self, *args, **kwargs):
        raise self.grown.refused("is used in it")

    __getattr__ = __setattr__ = __dir__ = fail


for _use in USES:
    setattr(GrownList, _use, GrownList.fail)


class Grown:
    """A list that each trip of a loop appends `count` items to. held: its last item, as a place that loops carry."""

    def __init__(self, owner, around, sample):
        self.owner, self.key, self.count = owner, id(owner), 1
        self.name = variable_name(owner) or "a list"
        self.held = around.held if around is not None else {LAST: owner[-1]} if owner else {}
        self.values, self.rows, self.sample = [], None, sample
        self.length = len(owner) if around is None else None

    @property
    def state(self):
        """What an attempt at the loop has known of it."""
        return self.count

    def begin(self, growing):
        self.rows = RowMemory(growing.turns, growing.outer, f"what is appended to {self.name}", True)

    def begin_turn(self):
        self.values = []

    def end_turn(self, code, k, roll):
        """Keep what a turn has appended."""
        if code is not None and code.may - {FALLS, CONTINUES} and self.values:
            counted = CountedList(self.owner, ItemForm(self.values[-1], self.name), self.name)
            raise CountsIn(counted, outermost(self.owner))
        if len(self.values) != self.count:
            self.count = len(self.values)
            raise AppendsTo(self)
        self.rows.store(tuple(self.values), k, roll)

    def parts(self):
        """[(a list that holds it, what answers for that list in the loop)]"""
        return [(self.owner, self)]

    def append(self, value):
        self.values.append(value)
        state.set_item(self.held, LAST, value)

    def item(self, key):
        if type(key) is int and key == -1 and LAST in self.held:
            return self.held[LAST]
        raise self.refused("is asked for an item other than its last")

    def store(self, key, value):
        raise self.refused("is given other items too")

    def size(self, k):
        """Its length now, in the k-th turn."""
        if self.length is None:
            raise self.refused("is asked for its length")
        return self.length + len(self.values) + k * self.count

    def finish(self, growing):
        """Give the list its items, in the trace around the loop."""
        items = [x for row in self.rows.items() for x in row]
        self.rows.share(items, self.count)
        tell_items(items)
        extend(self.owner, items)

    def refused(self, why):
        """What begins the loop again with rows that can be read while it runs; what refuses it, where none can be."""
        if self.sample is not None:
            return CountsIn(CountedList(self.owner, ItemForm(self.sample, self.name), self.name), outermost(self.owner))
        text = f"{self.name}, a list that a captured loop appends to, {why}"
        return CannotRoll(message(text, locate(), GROWS))


class Growing:
    """The lists that the turns of a loop append to; known: those that an attempt before has found."""

    def __init__(self, number, turns, most=None):
        self.number = number  # of the loop
        self.turns, self.most = turns, turns if most is None else most  # most: how many turns there are at most
        self.outer, self.lists, self.counts = current_trace(), {}, {}
        self.k, self.roll, self.tries, self.left = None, None, 0, False
        self.named = {}  # name -> Slot of the variables in which the lists may be

    def know(self, grown):
        """Begin again with a list known -> whether that is news."""
        self.tries += 1
        if self.tries > TRIES:
            return False
        known = self.counts.setdefault(grown.key, [])
        news = grown.state not in known
        known.append(grown.state)
        if type(before := self.lists.get(grown.key)) is Lengthened:
            before.undo()
        self.lists[grown.key] = grown
        grown.begin(self)
        return news

    def appended(self):
        return [g for g in self.lists.values() if isinstance(g, Grown | CountedList)]

    def room(self, counted):
        """How many items a list may get in this loop; None where nothing bounds that."""
        if type(counted.exactly) is int:
            return max(counted.exactly, 1)
        if self.most is None or counted.most is None:
            return None
        return max(self.most * counted.most, 1)

    @property
    def changed(self):
        """The ids of the lists that a turn changes."""
        return {id(x) for g in self.lists.values() for x, _ in g.parts()}

    def kept(self):
        return [g.rows for g in self.lists.values() if isinstance(g, Grown)]

    def turn(self, run, k):
        """Run one turn, and keep what it appends."""
        region = current_trace().region
        region.grower, self.k = self, k
        for g in self.lists.values():
            g.begin_turn()
            if type(g) is Lengthened:
                g.opened(k)
        with self.hidden():
            code = run(k)
        self.left = code is not None and bool(code.may - {FALLS, CONTINUES})
        for g in self.lists.values():
            g.end_turn(code, k, self.roll)
        return code

    def once(self, both):
        """Capture the two sides of a choice, and keep what they append."""
        for g in self.lists.values():
            g.begin_turn()
        with self.hidden():
            code = both(self)
        for g in self.lists.values():
            g.end_turn(code, None, self.roll)
        return code

    def answered(self, test):
        """What the test of a `while` says after a turn."""
        with self.hidden():
            return ASKED.cell_contents(test())  # as long as the lists show what a turn has left in them

    @contextlib.contextmanager
    def hidden(self):
        root = current_trace().root
        shown = {id(x): (stand_in, self) for g in self.lists.values() for x, stand_in in g.parts()}
        before, root.growing = root.growing, {**root.growing, **shown}
        held = [(x, list(x)) for g in self.lists.values() for x, _ in g.parts()]
        for x, _ in held:
            x[:] = [Hidden("a list that a captured loop appends to, or stores into, is used in it")]
        shown = {id(g.owner): GrownList(g) for g in self.appended()}
        slots = [s for s in self.named.values() if id(s.get()) in shown]
        for slot in slots:
            slot.set(shown[id(slot.get())])
        try:
            yield
        finally:
            for slot in slots:
                if type(slot.get()) is GrownList:
                    slot.set(slot.get().grown.owner)
            root.growing = before
            for owner, items in held:
                owner[:] = items

    def append(self, owner, value, chosen):
        """chosen: data may decide whether this comes."""
        grown = self.lists.get(id(owner))
        if grown is not None and not isinstance(grown, Grown | CountedList):
            raise CannotRoll(message("a list grows in a captured loop that stores its items too", locate(), GROWS))
        around = current_trace().root.growing.get(id(owner))
        if type(grown) is not CountedList and (chosen or self.turns is None or bounded_list(owner) is not None):
            name = variable_name(owner) or "a list"
            raise CountsIn(CountedList(owner, ItemForm(value, name), name), outermost(owner))
        if grown is None:
            raise AppendsTo(Grown(owner, around and around[0], value))
        grown.append(value)

    def finish(self, code):
        """Give the lists their items, in the trace around the loop -> how it ended, with them in place of what stood
        for them."""
        for g in self.lists.values():
            g.finish(self)
        leaves, tree = pytree.flatten(code.value) if code is not None else ([], None)
        if not any(type(x) is GrownList for x in leaves):
            return code
        value = pytree.unflatten(tree, list(map(list_behind, leaves)), pytree.key_order(code.value))
        return Completion(code.status, code.may, value)


def grown_in(loop, growing, make, trip):
    """Capture a loop, again with what it grows as that is found -> how it ended. make: a turn -> the Roll of it."""
    begin_as_before(growing, loop)
    growing.named = loop.named
    while True:
        loop.growing = growing.changed
        growing.roll = make(lambda counter: growing.turn(trip, TracedScalar(counter, int)))
        growing.roll.prove = functools.partial(prove, growing)
        try:
            code = growing.roll.emit()
        except AppendsTo as found:
            know_or_raise(growing, found)
            continue
        except BaseException as error:
            found = undo(growing)
            if found and loop.memory.pop("lengthened", None) and isinstance(error, CannotRoll | UnsupportedError):
                growing.lists, growing.counts = {}, {}
                continue
            if not found or type(error) is not UnsupportedError:
                raise
            raise CannotRoll(str(error)) from error  # the loop may be captured where arrays keep their lengths
        remember_growth(growing, loop)
        try:
            return growing.finish(code)
        except ONWARD:
            raise
        except CannotRoll as error:  # the loop has been captured: there is no other way to go
            raise UnsupportedError(str(error)) from error


def know_or_raise(growing, found):
    """Know a list that turns out to grow, or tell who else has to."""
    if getattr(found, "grower", growing) is not growing or not growing.know(found.grown):
        undo(growing)
        raise found.outward() from None


class Sides:
    """The two sides of a choice, as a Growing takes the turns of a loop: data decide whether either comes."""

    turns = None


def grown_by_choice(place, named, both):
    """Capture both sides of a choice, again with the lists that they append to as these are found -> how they ended.
    named: name -> Slot of the variables that they share with their function; both: a Growing that takes what they
    append -> how they ended."""
    growing = Growing(("choice", place), None, 1)
    growing.roll, growing.named = Sides, named
    while True:
        try:
            return growing.finish(growing.once(both))
        except AppendsTo as found:
            know_or_raise(growing, found)


def appending(owner):
    """`owner.append` in a captured loop, None where that is the list's own."""
    found, chosen = taker(owner) if type(owner) is list else (None, False)
    if found is None:
        return None if (held := bounded_list(owner)) is None else held.append
    if next(state.regions()).trial:
        return lambda value: (spoil(owner), owner.append(value))[1]
    return lambda value: found.append(owner, that_is_there(value), chosen)


def extend(owner, items):
    if appending(owner) is None:
        before_change(owner, "append")
        owner.extend(items)
        return
    for x in items:
        appending(owner)(x)


@replaces(len)
def len_of(x, /):
    found = grown(x)
    return len_(x) if found is None else found[0].size(found[1].k)


def require_shown(x, truth=False):
    """Refuse the loop where it goes through a list that it appends to, or asks for its truth where it may be empty."""
    found = grown(x)
    if found is not None and bounded_list(x) is None and not (truth and found[0].length):
        raise found[0].refused("is asked for all it holds")


def list_behind(x):
    """The list that a variable holds, where one stands for it."""
    return x.grown.owner if type(x) is GrownList else x


def grown(x):
    """(the Grown that a list is in the loop being traced, its Growing), or None."""
    trace = current_trace()
    x = list_behind(x)
    if trace is None or not trace.root.growing or type(x) is not list:
        return None
    mirror = trace.root.outside.mirrors.get(id(x))
    return trace.root.growing.get(id(x if mirror is None else mirror[1]))


def shown_whole(x):
    """x, which is used as a whole: a list that grows in it is settled, or refuses the capture."""
    trace, x = current_trace(), list_behind(x)
    kind = type(x)
    if trace is None or not trace.root.growing:
        return x
    if kind is list and (found := grown(x)) is not None:
        held = bounded_list(x)
        if held is not None and x:
            held.settled()
        raise found[0].refused("is used as a whole")
    if kind in (list, tuple) and len(x) <= NESTED:
        for y in x:
            if type(y) in (list, tuple, dict) or type(y) is GrownList:
                shown_whole(y)
    elif kind is dict and len(x) <= NESTED:
        for y in x.values():
            shown_whole(y)
    return x


def gone_through(x):
    """What a loop goes through in place of x."""
    held = bounded_list(list_behind(x))
    return x if held is None else Counting(held)
