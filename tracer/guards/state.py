"""The state a region may change: local variables in their cells, attributes, items; and what was made inside."""


import collections
import functools
import types

import numpy as np

from ..common.errors import CannotRoll, UnsupportedError, message, shown
from ..common.frames import locate
from ..common.scan import names
from ..values.array import Traced
from ..values.identity import Flags
from ..values.speculate import remember
from ..values.storage import current_trace
from ..values.variant import Variant, cases
from .container_phis import refuse_change_of_phi
from .raw_attributes import of_class, put, raw_attribute, remove


class _Unbound:
    def __repr__(self):
        return "unbound"


UNBOUND = _Unbound()


class Slot:
    """One place that holds a value: kind "cell", "attribute" or "item"; `name` as the user would write it.

    "rebound": the cell of another function's variable, which the function at hand only calls functions to assign.
    """

    __slots__ = ("kind", "owner", "key", "name")

    def __init__(self, kind, owner, key, name):
        self.kind, self.owner, self.key, self.name = kind, owner, key, name

    def __eq__(self, other):
        return self.owner is other.owner and self.kind == other.kind and self.key == other.key

    def __hash__(self):
        return hash((id(self.owner), self.kind, self.key))

    def get(self):
        if self.kind in ("cell", "rebound"):
            try:
                return self.owner.cell_contents
            except ValueError:
                return UNBOUND
        if self.kind == "attribute":
            return raw_attribute(self.owner, self.key, UNBOUND)
        try:
            return self.owner[self.key]
        except (KeyError, IndexError):
            return UNBOUND

    def is_inherited(self):
        """Whether it is an attribute whose value is that of the class: the object itself holds none."""
        held = raw_attribute(self.owner, "__dict__", None) if self.kind == "attribute" else None
        if held is None or self.key in held:
            return False
        return not hasattr(of_class(type(self.owner), self.key), "__set__")

    def own(self):
        """The value, UNBOUND where an attribute is that of the class."""
        return UNBOUND if self.is_inherited() else self.get()

    def set(self, value):
        if self.kind in ("cell", "rebound"):
            if value is not UNBOUND:
                self.owner.cell_contents = value
            elif self.get() is not UNBOUND:
                del self.owner.cell_contents
        elif self.kind == "attribute":
            if value is not UNBOUND:
                put(self.owner, self.key, value)
            elif self.get() is not UNBOUND and not self.is_inherited():
                remove(self.owner, self.key)
        elif value is not UNBOUND:
            self.owner[self.key] = value
        elif self.get() is not UNBOUND:
            del self.owner[self.key]


# code of hooks whose own exceptions are the user's: `d[k]` raises KeyError here
TRANSPARENT = {put.__code__, remove.__code__}
CONTAINERS = (list, dict, set, collections.deque)
# from outside: by a copy
SEEN_THROUGH = (list, dict, tuple, set, collections.deque, collections.OrderedDict, collections.defaultdict)


OWN_COPY = (
    "Pass the array as an argument, make it with np.zeros or np.empty inside the function, or work on a copy: "
    "a = a.copy()."
)


def items(container):
    return list(container.items()) if isinstance(container, dict) else list(container)


def differs(container, had):
    """Whether a container holds other objects than `items` told."""
    now = items(container)
    if len(now) != len(had):
        return True
    pairs = zip(now, had)
    return (
        any(a is not c or b is not d for (a, b), (c, d) in pairs)
        if isinstance(container, dict)
        else any(a is not b for a, b in pairs)
    )


def restore(container, held):
    container.clear()
    container.extend(held) if isinstance(container, list | collections.deque) else container.update(held)


class RegionEffects:
    """What one run of a body touched beyond traced memory. trial: containers may be changed; they are put back if need
    be.

    choice: the body is one side of a choice; (the test, what it is on this side) where that is known.
    """

    def __init__(self, trial=False, choice=False):
        self.choice = choice
        self.grower = None  # who takes what the body, of a loop, appends to lists from outside it
        self.keeper = None  # likewise, of a choice, where no loop does
        self.spoiled = False  # whether a trial trip appends to such a list, so that it may not be kept
        self.trial, self.saved = trial, {}  # id -> (container, its items before)
        self.held = {}  # id -> (another object that Python holds, a function that puts back what it held)
        self.owned = {}  # id -> an object made inside, kept alive
        self.heap = {}  # Slot -> its value before the first store inside
        self.cells = frozenset()  # ids of the cells of the variables that the body shares with its function

    def save(self, owner):
        """Keep what a container held before the body, which is about to give it other items."""
        if id(owner) not in self.saved:
            self.saved[id(owner)] = owner, self.items_before(owner)

    def items_before(self, owner):
        """`items` of a container, without the stores that `heap` tells of: each was of a place that is still there."""
        before = {s.key: value for s, value in self.heap.items() if s.kind == "item" and s.owner is owner}
        if isinstance(owner, dict):
            return [(key, x) for key, held in owner.items() if (x := before.get(key, held)) is not UNBOUND]
        return [before.get(k, held) for k, held in enumerate(owner)]

    def is_saved(self, slot):
        """Whether a place is in a container that is put back as a whole."""
        return slot.kind == "item" and id(slot.owner) in self.saved


def regions():
    """The regions being run, innermost first."""
    trace = current_trace()
    while trace is not None:
        if trace.region is not None:
            yield trace.region
        trace = trace.parent


def inside():
    """Whether a body of a traced region is being run."""
    return next(regions(), None) is not None


def own(made):
    """Note that an object was made in the innermost region: its changes are nobody else's affair."""
    for region in regions():
        region.owned[id(made)] = made
        break
    if not isinstance(made, CONTAINERS) and current_trace() is not None:
        current_trace().root.outside.own(made)
    return made


def own_new(made, deep=False):
    """`own` for a list, dict or set that has just been made by what has no hooks; deep: with the lists in it."""
    if type(made) in (list, dict, set) and inside():
        own(made)
        for x in made if deep else ():
            own_new(x, deep)
    return made


def own_cells(cells):
    """Note that the variables of a function are made in the innermost region, where one is run."""
    for region in regions():
        region.owned.update((id(c), c) for c in cells)
        break


def refuse_deletions(f):
    """Refuse a function that deletes a global, or a variable of a function around it."""
    for name in names(f.__code__).deletes:
        text = f"{name}, a variable outside {f.__name__}, is deleted, which would happen once, and not at every call"
        raise UnsupportedError(message(text, locate(), "Assign None to it."))


def note_rebound(f):
    """Remember what the variables outside a function hold that a call of it may assign, in every region that is run and
    did not make them."""
    stores = names(f.__code__).stores
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ())) if stores else {}
    for kind, name in stores:
        slot = Slot("item", f.__globals__, name, name) if kind == "global" else Slot("rebound", cells[name], "", name)
        for region in regions():
            if id(slot.owner) in region.owned:
                break
            if id(slot.owner) not in region.cells:
                region.heap.setdefault(slot, slot.get())


def note(slot):
    """Remember the value a slot has before it is stored to, in every region that did not make its owner, and in the
    trace."""
    trace = current_trace()
    if trace is not None:
        if slot.kind == "item":
            refuse_change_of_phi(slot.owner)
        trace.root.changes[id(slot.owner)] += 1
        trace.root.altered += 1
        if isinstance(slot.owner, BaseException):
            trace.root.outside.changed_errors.append(slot.owner)
        trace.root.outside.store(slot)
    for region in regions():
        if id(slot.owner) in region.owned:
            return
        if slot not in region.heap:
            region.heap[slot] = slot.get()
    remember(slot, lambda: functools.partial(slot.set, slot.get()))


def refuse_change(owner, what, hint=None):
    """A change that no region can undo or carry: allowed only on objects made inside."""
    refuse_change_of_phi(owner)
    for region in regions():
        if id(owner) in region.owned:
            return
        if region.trial and isinstance(owner, CONTAINERS):
            region.save(owner)
            continue
        raise CannotRoll(
            message(
                f"{what}, inside a loop or branch that is captured as a whole",
                locate(),
                hint or "Write results into an array made before it (ys = np.zeros(n); ys[i] = y), or rebind a name.",
            )
        )


def change_held(x, put_back):
    """An object that Python itself holds has been changed. No region can carry that, so it is put back, but for those
    made inside; a trial trip keeps what it held. put_back: a function that gives it that."""
    for region in regions():
        if id(x) in region.owned:
            return
        if region.trial:
            region.held.setdefault(id(x), (x, put_back))
            continue
        put_back()
        what = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
        text = f"{what} that the trace does not own is changed, inside a loop or branch that is captured as a whole"
        raise CannotRoll(message(text, locate(), OWN_COPY if isinstance(x, np.ndarray) else "Change it outside."))


def before_change(owner, what, hint=None):
    """Before a container gets other items: refused where no region could undo it; at the top of the trace what it holds
    is kept."""
    refuse_change_of_phi(owner)
    if current_trace() is not None:
        current_trace().root.altered += 1
    if inside():
        refuse_change(owner, what, hint)
    elif isinstance(owner, CONTAINERS):
        remember(id(owner), lambda: functools.partial(restore, owner, items(owner)))


def cells(*functions):
    """name -> Slot of every variable that these bodies share with their function."""
    found = {}
    for f in functions:
        if hasattr(f, "__code__"):
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
                if not name.startswith("@") and name != "__class__":
                    found.setdefault(name, Slot("cell", cell, "", name))
    return found


# -- stores ----------------------------------------------------------------------------------------


def set_item(owner, key, value):
    """`owner[key] = value` of something that is neither an ndarray nor of a user's class."""
    if isinstance(owner, dict | list) and not isinstance(key, slice | Traced):
        if isinstance(owner, list):
            try:
                place = range(len(owner))[key]
            except (IndexError, TypeError):
                owner[key] = value  # raises what lists say
                raise
            if key < 0 and current_trace() is not None:
                current_trace().root.outside.rely_on_length(owner)
            key = place  # one item, however it is written
        held = dict.get(owner, key) if isinstance(owner, dict) else None
        if type(held) is Variant and any(case is UNBOUND for case, _ in cases(held)):
            held.fail()  # whether it is there decides behind which other keys it stands
        note(Slot("item", owner, key, f"[{shown(key)}]"))
    elif not isinstance(owner, Traced):
        before_change(owner, f"items of a {type(owner).__name__} are stored")
    owner[key] = value


def set_attribute(owner, key, value, store=put):
    plain = type(owner) is np.ndarray
    if inside() and (plain or key[:2] != "__" and type(of_class(type(owner), key)) is types.GetSetDescriptorType):
        # what code of C is given, which takes no traced value where two ways meet
        refuse_change(owner, f"{key} of a {type(owner).__name__} that the trace does not own is set")
    if not plain and not isinstance(owner, Traced | Flags):
        note(Slot("attribute", owner, key, f"{type(owner).__name__}.{key}"))
    store(owner, key, value)
    space = current_trace().root.outside.space_of(owner, key) if current_trace() is not None else None
    if space is not None:
        set_item(space, key, value)


