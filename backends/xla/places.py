"""Operations of XLA at the user's lines: what jax writes into the metadata of what an equation is lowered to.

jax takes the Python frames below an operation for its source, but for those of files that are excluded. So our own are,
and an equation is lowered by a function whose code says that it is the user's: file, function and line
(`user_frame`). Its name is the innermost scope of the operation, and that of a derivative says of which line (`vjp of
solver.py:12`).

Format of the table of positions: Objects/locations.md of CPython 3.11.
"""

import functools
import linecache
import os
import threading
import types

import jax
from jax.extend import source_info_util

from ...ir.source import COMPILED, code_place, encodable, line_name

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
OURS = (
    *(os.path.join(ROOT, room) + os.sep for room in ("autodiff", "backends", "compat", "ir", "tracer")),
    *(os.path.join(ROOT, file) for file in ("__init__.py", "__main__.py")),
    "<wengert",
)
NOTE = "While this was made ready for XLA: "
KEPT = 4096  # bound: functions that stand in for lines
LONGEST = 8  # fact: code units that one entry of the table of positions tells of
WITHOUT_COLUMNS = 13  # fact: how an entry begins that tells a line alone

for path in OURS:
    source_info_util.register_exclusion(path)


class Enclosing(threading.local):
    """scope: those of the equation which this thread lowers the region of."""

    scope = ()


ENCLOSING = Enclosing()


def run_each(run, items, *more):
    """`run(item, *more)` for each item."""
    for item in items:
        run(item, *more)


class Line:
    """`with Line(place) as each:` the operations of what `each(run, items, *more)` runs have that place; where it is
    None, that of what is around them. One frame is all that a region takes more of Python's stack."""

    __slots__ = ("place", "outer", "named")

    def __init__(self, place):
        self.place, self.outer, self.named = place, ENCLOSING.scope, None

    def __enter__(self):
        if self.place is None:
            return run_each
        frame, scope = user_frame(*self.place)
        if scope != self.outer:
            self.named = jax.named_scope("/".join(scope[shared_scopes(scope, self.outer) :]) or self.place[1])
            self.named.__enter__()
        ENCLOSING.scope = scope
        return frame

    def __exit__(self, kind, error, traceback):
        ENCLOSING.scope = self.outer
        if self.named is not None:
            self.named.__exit__(kind, error, traceback)
        if self.place is not None and isinstance(error, Exception):
            if not any(note.startswith(NOTE) for note in getattr(error, "__notes__", ())):
                file, _, line, *_ = self.place
                error.add_note(f"{NOTE}{encodable(file)}:{line}, {linecache.getline(file, line).strip()}")


def by_line(order):
    """(what is to be looked up as a place, the items that have it) for items that follow each other in one line.

    order: equations and fences. What has no source has the place of the item before it, and in front of the first that
    has one, of that.
    """
    found, first, last, met = [], None, None, None
    for item in order:
        source = item.source
        if source is not met and source is not None:
            met, place = source, code_place(source)
            place = place and (*place, source.callers)
            if place is not None and place != last:
                first, last = first or place, place
                found.append((place, []))
        if not found:
            found.append((None, []))
        found[-1][1].append(item)
    if found and found[0][0] is None:
        found[0] = first, found[0][1]
    return found


@functools.lru_cache(KEPT)
def user_frame(file, name, line, mark, callers=()):
    """`run_each` as if it stood in a line of the user's, and the scopes that tell of it: the functions around it, its
    own, and what it is the derivative of."""
    file = encodable(file)
    code = run_each.__code__.replace(
        co_filename=file,
        co_name=name.rpartition(".")[2] + COMPILED,
        co_qualname=name,
        co_firstlineno=line,
        co_linetable=one_line(len(run_each.__code__.co_code) // 2),
    )
    marks = [f"{mark} of {line_name(file, line)}"] if mark else []
    return types.FunctionType(code, {}), (*callers, name, *marks)


def shared_scopes(scope, outer):
    """How many of the first of some scopes are those around it, which an operation has anyway."""
    pairs = zip(scope, outer)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(scope), len(outer)))


def one_line(units):
    """The `co_linetable` of so many code units, all of which are in the first line, at no column that is known."""
    full, rest = divmod(units, LONGEST)
    entries = [LONGEST] * full + [rest] * (rest > 0)
    return b"".join(bytes((0x80 | WITHOUT_COLUMNS << 3 | length - 1, 0)) for length in entries)
