"""What mutable objects hold, to be put back or compared: arrays, containers, attributes, and the states of random
generators."""

import collections
import random
import types

import numpy as np

from ..common.compare import difference, kinds_differ
from ..common.errors import shown
from . import object_contents
from .object_contents import EMPTY, own

ATOMS = (
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    type,
    np.generic,
    range,
)


class Slots(dict):
    """What an object keeps in slots: {name: value or EMPTY}."""

    def give_back(self, x):
        """Let the object keep that again."""
        for name, value in self.items():
            now = own(x, name)
            if value is EMPTY and now is not EMPTY:
                object.__delattr__(x, name)
            elif value is not EMPTY and now is not value:
                object.__setattr__(x, name, value)


class Snapshot:
    """What `slots` hold, and everything that can be reached from `roots` through containers and the attributes of
    users' objects."""

    def __init__(self, roots, slots=()):
        self.slots = [(slot, slot.get()) for slot in slots]
        self.frozen = set()  # ids of arrays that may not be written
        self.held = {}  # id -> (object, what it held)
        self.random = random.getstate(), np.random.get_state(legacy=False)
        todo = list(roots)
        while todo:
            x = todo.pop()
            if isinstance(x, ATOMS) or id(x) in self.held:
                continue
            if isinstance(x, np.ndarray):
                self.held[id(x)] = x, x.copy()
                self.frozen |= {id(x)} if not x.flags.writeable else set()
                todo += x.ravel().tolist() if x.dtype == object else []
            elif isinstance(x, np.random.Generator):
                self.held[id(x)] = x, x.bit_generator.state
            elif isinstance(x, np.random.RandomState):
                self.held[id(x)] = x, x.get_state(legacy=False)
            elif isinstance(x, random.Random):
                self.held[id(x)] = x, x.getstate()
            elif isinstance(x, collections.deque):
                self.held[id(x)] = x, list(x)
                todo += x
            elif isinstance(x, dict):
                self.held[id(x)] = x, dict(x)
                todo += x.values()
            elif isinstance(x, list | set | tuple):
                self.held[id(x)] = x, type(x)(x) if type(x) in (list, set, tuple) else None
                todo += x
            elif isinstance(x, types.MethodType):
                todo.append(x.__self__)
            elif type(x).__module__.partition(".")[0] not in ("builtins", "numpy", "jax", "jaxlib"):
                in_slots = {name: own(x, name) for name in object_contents.slots(type(x))}
                self.held[id(x)] = x, Slots(in_slots)
                todo += [*filter(lambda value: value is not EMPTY, in_slots.values()), getattr(x, "__dict__", None)]

    def restore(self):
        """Give everything back what it held."""
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])
        for slot, value in self.slots:
            if slot.get() is not value:
                slot.set(value)
        for x, held in self.held.values():
            if isinstance(x, np.ndarray):
                if not x.flags.writeable and id(x) not in self.frozen:
                    x.flags.writeable = True
                if x.flags.writeable and x.tobytes() != held.tobytes():
                    x[...] = held
            elif isinstance(x, np.random.Generator):
                x.bit_generator.state = held
            elif isinstance(x, np.random.RandomState):
                x.set_state(held)
            elif isinstance(x, random.Random):
                x.setstate(held)
            elif isinstance(x, collections.deque):
                x.clear()
                x.extend(held)
            elif type(held) is Slots:
                held.give_back(x)
            elif held is not None and isinstance(x, list):
                x[:] = held
            elif held is not None and isinstance(x, dict | set):
                x.clear()
                x.update(held)

    def differs(self, other, names, existing=frozenset()):
        """The first array or attribute that holds something else than in `other`, in words; None where none does.

        existing: ids of arrays of which a place must hold the very one that it holds in `other`.
        """
        for (slot, x), (_, y) in zip(self.slots, other.slots):
            found = _leaf(x, y, existing)
            if found:
                return f"afterwards {slot.name} {found}"
        for key, (x, held) in self.held.items():
            if key not in other.held:
                continue
            was = other.held[key][1]
            if isinstance(x, np.ndarray):
                found = x.dtype != object and difference(held, was)
                if found:
                    return f"afterwards the {'argument ' + names[key] if key in names else 'array'} {found}"
            elif isinstance(x, dict) or type(held) is Slots:
                for k in {**held, **was}:
                    if k not in held or k not in was:
                        return f"afterwards {shown(k)} is set in one of them only"
                    found = _leaf(held[k], was[k], existing)
                    if found:
                        return f"afterwards {shown(k)} {found}"
            elif isinstance(x, list | collections.deque) and held is not None:
                if len(held) != len(was):
                    return f"afterwards a list has {len(held)} items, where plain Python leaves {len(was)}"
                for i, (p, q) in enumerate(zip(held, was)):
                    found = _leaf(p, q, existing)
                    if found:
                        return f"afterwards item {i} of a list {found}"
            elif isinstance(x, np.random.Generator | np.random.RandomState | random.Random) and repr(held) != repr(was):
                return "afterwards a random generator is in another state"
        return None


def _leaf(x, y, existing):
    if (
        x is not y
        and isinstance(x, np.ndarray)
        and isinstance(y, np.ndarray)
        and (id(x) in existing or id(y) in existing)
    ):
        return "is another array than plain Python leaves there"
    if isinstance(x, np.ndarray | int | float | complex | np.generic) or isinstance(
        y, np.ndarray | int | float | complex | np.generic
    ):
        return kinds_differ(x, y) or difference(x, y)
    return None
