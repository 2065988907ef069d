"""What one trace stores outside: the values there were are kept, and put back after it; the new ones are stored again
at every call."""

import collections
import contextlib
import copy

import numpy as np

from ..common.errors import CannotRoll, UnsupportedError, message, shown
from ..common.frames import locate
from ..values.array_object import ArrayObject
from . import isolation
from .effects import Call, Contents, Deletion, Original
from .guard import LIMIT, MISSING, Read
from .object_contents import BUFFERS
from .raw_attributes import of_class
from .state import UNBOUND, inside

WITHIN = {list, tuple, dict, collections.OrderedDict, collections.defaultdict}


def flat_contents(container):
    """What a container holds, in order, keys included."""
    return [x for pair in container.items() for x in pair] if isinstance(container, dict) else list(container)


def differ(had, now):
    """Whether two lists hold other objects."""
    return len(had) != len(now) or any(a is not b for a, b in zip(had, now))


def put_in_order(space, order):
    """Give a dict this order of its keys."""
    held = {k: space[k] for k in order if k in space} | space
    if list(held) != list(space):
        space.clear()
        space.update(held)


class Stores:
    """The part of `Outside` that stores.

    derives: whether the trace has called a transform, such as a derivative, which plain Python would make anew;
    of_arguments: ids of the lists and dicts among the arguments, for which `containers` answers.
    """

    def __init__(self):
        self.derives, self.of_arguments = False, frozenset()
        self.inherited = set()  # slots of attributes whose value before was that of the class
        self.deleted = {}  # Slot -> the order of the names in its object's `__dict__` before
        self.stored_inside = {}  # id -> a container of which loops and branches have stored items
        self.handed = {}  # id of a container that leaves the trace -> (it, what does in its place)
        super().__init__()

    def target(self, owner):
        """The container that a store into `owner` reaches: its copy where there is one, or where it has been added
        to."""
        found = self.mirrors.get(id(owner))
        if found is None and any(c is owner for c, _, _ in self.calls):
            return self.mirror(owner)
        return owner if found is None else found[1]

    def as_found(self, x, name):
        """Refuse that code without hooks reads what the trace has stored into: it would find what was there before."""
        if isinstance(x, np.ndarray):
            stored = any(np.may_share_memory(x, a) and self.is_written(h.storage) for a, h in self.taken())
        else:
            _, made, had, _ = self.mirrors.get(id(x), (None, None, None, None))
            stored = had is not None and differ(had, flat_contents(made)) or any(c is x for c, _, _ in self.calls)
            stored = stored or any(s.get() is not self.heap[s] for s in self.slots_of(x, "item"))
        if stored:
            text = f"{name} is read by code that is not captured, after the function has stored into it"
            raise UnsupportedError(
                message(text, locate(), "Store into it after that, or read it in a function that is captured.")
            )

    def require_apart(self):
        """Refuse that a program stores into memory which Python itself has read while tracing, or the other way
        round."""
        changed = {id(array) for array, _, _ in self.relied.changed()}
        held = [(array, read.name, id(array) in changed) for array, _, read in self.relied.met.values()]
        reads = [r for r in self.reads.values() if r.kind == "state" and isinstance(r.holder(), BUFFERS)]
        held += [(np.frombuffer(r.holder(), np.uint8), r.name, False) for r in reads if len(r.holder())]
        for x, handle in self.taken() if held else ():
            stored = self.is_written(handle.storage)
            for other, name, different in held:
                if (stored or different) and np.may_share_memory(x, other):
                    text = f"{name} shares memory with an array that the program takes in, and one is written"
                    raise UnsupportedError(message(text, None, "Write and read it under one name."))

    def is_written(self, storage):
        """Whether the trace has stored into the memory of an outside array that the program takes in."""
        return storage.value is not self.inputs[storage.origin - self.arguments][1]

    def taken(self):
        """[(an outside array that the program takes in, what stands for it)]"""
        return [(self.paths[k].value, handle) for k, handle in self.arrays.items()]

    def instance_of(self, space):
        """The outside object whose `__dict__` this is, or the trace's copy of it; None for all other containers."""
        read = self.copies.get(id(space)) or self.containers.get(id(space), (None, None))[1]
        held = read is not None and read.kind == "attribute" and read.key == "__dict__"
        return None if not held else read.owner if read.parent is None else read.parent.value

    def space_of(self, owner, key):
        """The copy of an outside object's `__dict__`, where the trace has made one and an attribute of this name lies
        there."""
        found = self.mirrors.get(id(getattr(owner, "__dict__", None)))
        if found is None or found[2] is None or hasattr(of_class(type(owner), key), "__set__"):
            return None
        return found[1]

    def copies_made(self):
        """The copies of outside containers that the trace works on, but for very long ones."""
        return [made for _, made, had, _ in self.mirrors.values() if had is not None and len(made) <= LIMIT]

    def copies_since(self, known):
        """[(copy, its items as made)] of those that are not among these."""
        known = {id(x) for x, _ in known}
        found = [
            (made, had)
            for _, made, had, _ in self.mirrors.values()
            if had is not None and len(had) <= LIMIT and id(made) not in known
        ]
        return [
            (made, self.grown[id(made)])
            if id(made) in self.grown
            else (made, list(zip(had[::2], had[1::2], strict=True)) if isinstance(made, dict) else had)
            for made, had in found
        ]

    def refuse_copy(self, container, name):
        """Refuse that a body sees as a whole what a body has stored items of: the copy would hold these, whatever
        becomes of the body."""
        if inside() and id(container) in self.stored_inside:
            text = f"{name} is read as a whole in a loop or branch, where items of it are stored"
            raise CannotRoll(message(text, locate(), "Read its items one by one, or copy it before: y = [*x]."))

    def store(self, slot):
        """Before a store: keep the value there was, and inside a region let the trace see it as it sees any other."""
        if slot.kind in ("cell", "rebound"):
            return
        if slot.kind == "item" and inside():
            self.stored_inside[id(slot.owner)] = slot.owner
        if slot in self.heap:
            if slot in self.deleted and slot.get() is UNBOUND:  # what is stored anew comes last in its dict
                self.heap[slot] = self.heap.pop(slot)
            return
        made = self.made.get(id(slot.owner))
        parent = self.containers.get(id(slot.owner))
        if made is not None and made() is slot.owner or slot.kind == "item" and parent is None:
            return
        isolation.refuse(f"it stores to {slot.name}")
        self.heap[slot] = slot.get()
        if slot.is_inherited():
            self.inherited.add(slot)
        if inside():
            name = f"{parent[1].name}[{shown(slot.key)}]" if parent else f"{self.called(slot.owner)}.{slot.key}"
            read = self.read(
                slot.kind, slot.owner if parent is None else None, slot.key, name, parent=parent and parent[1]
            )
            self.entered[slot] = self.enter(read) if read.value is not MISSING else UNBOUND
            slot.set(self.entered[slot])

    def enter_rebound(self):
        """Before a region is run: {Slot of each global that the functions called may rebind: what it holds}, arrays and
        numbers as the trace sees them, which also the variables around these functions hold then."""
        for slot in self.assigned:
            self.enter_variable(slot)
        return {slot: slot.get() for slot in self.assigned if slot.kind == "item"}

    def enter_variable(self, slot):
        """Rely on what a variable holds that a region may assign: where it does not, it holds that."""
        if slot not in self.entered and (held := slot.get()) is self.heap[slot] and held is not UNBOUND:
            self.entered[slot] = self.enter(self.rely_on_slot(slot))
            slot.set(self.entered[slot])

    def rely_on_slot(self, slot):
        place = self.place(slot)
        return self.read(place.kind, place.owner, place.key, slot.name, parent=place.parent)

    def place(self, slot):
        """The Read, not relied on, of a slot."""
        container = self.containers.get(id(slot.owner))
        if slot.kind == "cell" and (found := self.route(slot.owner)) is not None:
            way, number = found
            return self.reads.get(("cell", way.place, number)) or Read("cell", None, number, slot.name, None, way)
        parent = self.way(slot.owner) if container is None else container[1]
        key = slot.kind, id(slot.owner) if parent is None else parent.place, slot.key
        name = slot.name if container is None else f"{parent.name}[{shown(slot.key)}]"
        return self.reads.get(key) or Read(
            slot.kind, slot.owner if parent is None else None, slot.key, name, None, parent
        )

    def delete(self, slot):
        """Before a place is deleted that `store` has been told of."""
        if slot in self.heap:
            first = slot.kind == "attribute" and not any(s.owner is slot.owner for s in self.deleted)
            held = getattr(slot.owner, "__dict__", None) if first else None
            self.deleted[slot] = list(held) if type(held) is dict else None

    def rely_on_absence(self, slot):
        """Rely on a place having nothing in it, which calls store into and delete again."""
        if slot.kind != "attribute":
            self.rely_on_slot(slot)
            return
        parent = self.way(slot.owner)
        self.read("own", slot.owner if parent is None else None, slot.key, slot.name, parent=parent)

    def rely_on_being(self, slot):
        """The Read of a place that calls delete: there is to be something, of a type."""
        after = slot.own()
        slot.set(self.heap[slot])
        known = self.place(slot).place in self.reads
        read = self.rely_on_slot(slot)
        slot.set(after)
        if not known:
            read.how = "kind"
        return read

    def slots_of(self, owner, kind="attribute"):
        """The attributes of an object, or its items, that the trace has stored into."""
        return [s for s in self.heap if s.kind == kind and s.owner is owner] if owner is not None else ()

    @contextlib.contextmanager
    def unstored(self, owner):
        """Meanwhile, the attributes of an outside object are what they were before the trace."""
        slots = self.slots_of(owner)
        now, order = [(s, s.own()) for s in slots], list(getattr(owner, "__dict__", ()) if slots else ())
        for s in slots:
            s.set(UNBOUND if s in self.inherited else self.heap[s])
        try:
            yield
        finally:
            for s, x in now:
                s.set(x)
            if order:
                put_in_order(owner.__dict__, order)

    def refuse_in_region(self, owner):
        """Refuse a look at all attributes in a body that is captured as a whole, where some have been stored."""
        if inside() and self.slots_of(owner):
            text = f"the __dict__ of a {type(owner).__name__} is looked at in a loop or branch, after a store"
            raise CannotRoll(message(text, locate(), "Read the attributes by their names."))

    def stored_attributes(self, owner, space, made):
        """What the trace has stored so far into an object, for the copy of its `__dict__`."""
        if stored := {s.key for s in self.slots_of(owner)}:
            now = {k: x if k in stored else made[k] for k, x in space.items()}
            made.clear()
            made.update(now)

    def effects(self):
        """[(place, value after the trace)] of all that is to be stored at every call."""
        out = []
        for slot, before in self.heap.items():
            after = slot.get()
            if after is self.entered.get(slot, MISSING):
                continue
            if slot in self.assigned and slot not in self.entered and after is before:
                if before is not UNBOUND:
                    self.rely_on_slot(slot)
                continue
            after = slot.own()
            before = UNBOUND if slot in self.inherited else before
            if after is UNBOUND and before is UNBOUND:
                self.rely_on_absence(slot)
                continue
            if slot in self.deleted and before is not UNBOUND:
                out.append((Deletion(self.rely_on_being(slot)), None))
            if after is not UNBOUND:
                out.append((self.place(slot), after))
        self.written = {place.place for place, _ in out}
        for _, made, had, read in self.mirrors.values():
            if had is not None and differ(had, flat_contents(made)):
                out.append((Contents(read), dict(made) if isinstance(made, dict) else list(made)))
                self.written |= {r.place for r in self.reads.values() if r.kind == "item" and r.parent is read}
        out += [(call, args) for _, call, args in self.calls]
        self.rely_on_distinct(place for place, _ in out)
        self.require_apart()
        out = self.relied.effects() + out  # before their places hold other arrays
        return [(place, self.given(value)) for place, value in out]

    def rely_on_distinct(self, places):
        """Rely on containers of one kind being several objects, where one of them is stored to at these places, or
        where it was asked which is which: were two of them one, the trace would be another."""
        changed = {type(p.read.value if isinstance(p, Contents | Call) else p.holder()) for p in places}
        for kind in (list, dict, tuple) if self.identified else changed & {list, dict}:
            first, *others = [read for x, read in self.containers.values() if type(x) is kind] or [None]
            if others:
                made = Read("itself", None, tuple(r.place for r in others), first.name, locate(), first)
                made.how, made.other = "apart", others
                self.reads[made.place] = made

    def given(self, x):
        """A value that leaves the trace, the containers themselves in place of their copies."""
        if isinstance(x, ArrayObject) and x.__of_caller__ is not None:
            x = x.__of_caller__
        read = self.copies.get(id(x))
        if read is not None:
            return Original(read)
        if isinstance(x, np.ndarray) and id(x) not in self.ways:
            return self.relied.given(x)
        if id(x) in self.ways:
            return Original(self.way(x))
        if id(x) in self.of_arguments:
            return x
        if type(x) in WITHIN or isinstance(x, tuple) and hasattr(x, "_fields"):
            if id(x) not in self.handed:
                self.handed[id(x)] = x, self.given_inside(x)
            return self.handed[id(x)][1]
        return x

    def given_inside(self, x):
        """A list, tuple or dict with what leaves the trace in it."""
        if isinstance(x, dict):
            inside = {k: self.given(v) for k, v in x.items()}
            if all(inside[k] is v for k, v in x.items()):
                return x
            made = copy.copy(x)
            made.update(inside)
            return made
        inside = [self.given(v) for v in x]
        if all(a is b for a, b in zip(inside, x)):
            return x
        return inside if type(x) is list else tuple.__new__(type(x), inside)

    def restore(self):
        """Put back what the trace stored to."""
        for slot, before in self.heap.items():
            slot.set(UNBOUND if slot in self.inherited else before)
        for slot, order in self.deleted.items():
            if order is not None:
                put_in_order(slot.owner.__dict__, order)
        self.relied.restore()
