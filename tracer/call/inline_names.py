"""The names of generated lines, which go some time after the lines.

The functions in front of one Compiled have one namespace. Lines that are exchanged leave names in it that no function's
code has, while another thread may still run the old code. Code objects do not tell: jax keeps those of all functions
that were running when it traced, for its tracebacks. So lines that are gone are buried first, and their names removed
when many others have been buried since, and no thread is running code that names them.
"""

import builtins
import collections
import sys
import types

from ...backends.xla import hosted, waiting
from ..guards.guard import alike, contents, of_class, snapshot, state

BURIED = 8  # bound: lines that are gone whose names are there
# a prompt keeps there what it has shown last, and its own functions, which lead to all that it has
KINDS = type | types.BuiltinFunctionType | types.EllipsisType | types.NotImplementedType
OF_PYTHON = {name: x for name, x in vars(builtins).items() if isinstance(x, KINDS)}
# what the tests and launches of all lines name by one name each
COMMON = {"snapshot": snapshot, "contents": contents, "alike": alike, "state": state, "of_class": of_class}
COMMON |= {"heard": waiting.heard, "original": hosted.original}


class NamedLines(list):
    """Lines of one signature. names: those in the namespace that nobody else has."""

    __slots__ = ("names",)


class LineNames:
    """Of one namespace: the lines that are gone. space: what the code names; known: its globals."""

    def __init__(self, space, known):
        self.space, self.known, self.buried = space, known, collections.deque()

    def put(self, lines, own):
        """Lines, with all that they name put into the namespace."""
        made = NamedLines(lines)
        made.names = [name for name in own if name not in self.space]
        self.space.update(own)
        return made

    def bury(self, lines):
        """No function is to run these any more."""
        if type(lines) is not NamedLines:
            return
        self.buried.append(lines)
        if len(self.buried) > BURIED:
            self.remove()

    def remove(self):
        """Remove the names of those that were buried first."""
        running = names_running(self.known)
        for _ in range(len(self.buried) - BURIED):
            lines = self.buried.popleft()
            if not running.isdisjoint(lines.names):
                self.buried.append(lines)
                continue
            for name in lines.names:
                self.space.pop(name, None)


def names_running(known):
    """The names in code with these globals that any thread is running now."""
    found = set()
    for frame in sys._current_frames().values():
        while frame is not None:
            if frame.f_globals is known:
                found.update(frame.f_code.co_names)
            frame = frame.f_back
    return found
