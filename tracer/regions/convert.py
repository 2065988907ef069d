"""A function -> its twin with hooks: the same globals, cells, defaults and lines, other code."""

import types

from ...ir.parameters import annotate
from ..common.origin import SOURCES
from ..guards.isolation import seen_by
from ..rewriter.converted import UNKNOWN, converted
from ..rewriter.expressions import HOOK

CELL = types.CellType()  # holds the hooks; filled by `hooks`
FALLBACK = types.CellType()  # what to do with functions that have no source; likewise


STEADS = {}  # (module, name) of a library's generator, which no hooks go into -> a function that is converted for it


def convert(function):
    """`function` with hooks; itself where there is a reason to leave it alone."""
    if function.__module__ in SOURCES:
        function = STEADS.get((function.__module__, function.__qualname__), function)
    code = function.__code__
    if HOOK in code.co_freevars:
        return function
    made = converted(code, function.__globals__)
    if type(made) is str:
        return FALLBACK.cell_contents(function) if made.endswith(UNKNOWN) else function
    space, closure = seen_by(function)
    cells = dict(zip(code.co_freevars, closure or ()))
    cells[HOOK] = CELL
    twin = types.FunctionType(
        made, space, function.__name__, function.__defaults__, tuple([cells[n] for n in made.co_freevars])
    )
    twin.__kwdefaults__, twin.__qualname__, twin.__module__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__module__,
    )
    twin.__doc__ = function.__doc__
    annotate(twin, function)
    twin.__dict__.update(function.__dict__)
    return twin
