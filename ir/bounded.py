"""Tables that do not grow for ever: of what can be made again, and of objects of which there is to be one each."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any, TypeVar

ENTRIES = 4096  # bound: entries of a table of what can be made again
K = TypeVar("K")
V = TypeVar("V")


class Limited(dict[K, V]):
    """What can be made again, of which so many are kept: where there are more, the quarter that was put in first goes.
    Only `d[key] = value` looks for that."""

    __slots__ = ("most",)
    most: int

    def __init__(self, most: int = ENTRIES) -> None:
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most:
            for old in list(itertools.islice(self.copy(), self.most // 4 + 1)):
                self.pop(old, None)
        super().__setitem__(key, value)


class Interned(dict[K, V]):
    """Key -> the one object of it, which is found under it as long as somebody else has it; of those that nobody has,
    some stay. Whoever finds nothing asks `kept`.

    most: how many there may be until they are looked through; no fewer than twice as many as are in use.
    """

    __slots__ = ("least", "lock", "most")

    def __init__(self, least: int) -> None:
        self.least = self.most = least
        self.lock = threading.RLock()  # while they are looked through, who looks for one waits

    def kept(self, key: K, made: V) -> V:
        """The one object of a key: `made` where there is none yet."""
        with self.lock:
            found = self.setdefault(key, made)
            if len(self) > self.most:
                self.sweep()
        return found

    def sweep(self) -> None:
        """Drop what nobody else has."""
        with self.lock:
            held: list[tuple[K, weakref.ref[Any]]] = [(key, weakref.ref(x)) for key, x in self.items()]
            self.clear()
            for key, ref in held:
                if (x := ref()) is not None:
                    self[key] = x
            self.most = max(self.least, 2 * len(self))
