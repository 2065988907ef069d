"""Items and methods of lists, dicts, sets and deques from outside."""

import functools
import io

import numpy as np

from ..common.errors import shown
from ..values.array import Traced
from .container_methods import BOUND
from .effects import Call
from .guard import LIMIT, MISSING
from .object_contents import BUFFERS
from .state import CONTAINERS, Slot, inside, refuse_change

HOLDERS = (*CONTAINERS, np.ndarray, *BUFFERS, io.StringIO, io.BytesIO)
ADDING = {"append", "extend", "add", "appendleft", "extendleft"}  # methods that tell nothing of what was there


class ContainerReads:
    """The part of `Outside` that reads containers: item by item where that is enough, else through a copy."""

    def method(self, owner, key):
        if key in ADDING and id(owner) not in self.mirrors and not inside():
            return functools.partial(self._add, owner, key)
        if key == "get" and type(owner) is dict and id(owner) not in self.mirrors:
            return functools.partial(self._get, owner)
        return getattr(self.mirror(owner), key)

    def meet_bound(self, read):
        """Note the container, array or buffer that a method of C from outside is bound to."""
        kind, value = type(read.value), read.value
        if kind is functools.partial:
            self.read("attribute", None, "func", f"{read.name}.func", parent=read)
        elif issubclass(kind, BOUND) and isinstance(value.__self__, HOLDERS):
            self.read("attribute", None, "__self__", f"{read.name}.__self__", parent=read)

    def bound_as_seen(self, f):
        """A method of C: where it is bound to a container or array from outside, that of what stands for it."""
        owner, found = f.__self__, f
        if id(owner) in self.containers and self.containers[id(owner)][0] is owner:
            found = self.method(owner, f.__name__)
        elif type(owner) is np.ndarray and id(owner) in self.paths:
            found = getattr(self.array(owner), f.__name__)
        return f if getattr(found, "__self__", None) is owner else found  # what stands for itself, such as a tuple

    def _add(self, owner, method, *args):
        if inside():
            refuse_change(owner, f"a container outside it grows ({method})")
        if id(owner) in self.mirrors:
            return getattr(self.mirror(owner), method)(*args)
        self.calls.append((owner, Call(self.containers[id(owner)][1], method), args))

    def holds(self, owner, key):
        """Whether an outside dict holds a key; None where all of it is asked, or the key is traced."""
        seen = id(owner) in self.mirrors or any(c[0] is owner for c in self.calls)
        if seen or id(owner) not in self.containers or isinstance(key, Traced):
            return None
        held = key in owner
        if Slot("item", owner, key, "") not in self.heap and (not held or len(owner) > LIMIT):
            parent = self.containers[id(owner)][1]
            self.read("item", None, key, f"{parent.name}[{shown(key)}]", parent=parent)
            return held
        return None if held else False

    def _get(self, owner, key, default=None):
        """`owner.get(key)` of an outside dict."""
        return default if self.holds(owner, key) is False else self.item(owner, key)

    def item(self, owner, key, whole=True):
        """`owner[key]` of an outside container."""
        plain = type(owner) is dict and not isinstance(key, Traced) or type(owner) in (list, tuple) and type(key) is int
        if id(owner) in self.mirrors or not plain or any(c[0] is owner for c in self.calls):
            return self.mirror(owner)[key]
        if type(owner) is not dict and key < 0:
            self.rely_on_length(owner)
            key += len(owner) if key >= -len(owner) else 0
        if Slot("item", owner, key, "") in self.heap:
            return owner[key]
        parent = self.containers[id(owner)][1]
        read = self.read("item", None, key, f"{parent.name}[{shown(key)}]", parent=parent)
        return owner[key] if read.value is MISSING else self.enter(read, whole)

    def rely_on_length(self, owner):
        """Rely on how many items a list or tuple has, if it is from outside: which of them is counted from its end."""
        if id(owner) in self.containers and id(owner) not in self.mirrors:
            parent = self.containers[id(owner)][1]
            self.read("contents", None, None, f"the contents of {parent.name}", parent=parent)
