"""Locks in a process that is forked: its child has one thread, and what another one holds there is never released."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any

RENEWED: weakref.WeakSet[Any] = weakref.WeakSet()  # whose `lock` is another one in a child


def hold_while_forking(*locks: AbstractContextManager[Any] | None) -> None:
    """Fork only where no other thread has one of these locks, which are asked for in this order. They are such as
    nobody has for long."""
    found = [lock for lock in locks if lock is not None]

    def enter() -> None:
        for lock in found:
            lock.__enter__()

    def leave() -> None:
        for lock in reversed(found):
            lock.__exit__(None, None, None)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=enter, after_in_parent=leave, after_in_child=leave)


def _renew() -> None:
    for x in list(RENEWED):
        x.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
