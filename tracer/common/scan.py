"""The globals, closure cells and attributes that a code object names, found in its bytecode."""

import dis
import functools
import types
from typing import NamedTuple

SILENT = ("PUSH_NULL", "CACHE", "PRECALL", "NOP", "RESUME", "COPY_FREE_VARS", "EXTENDED_ARG")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
WRITES = ("STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE")
GLOBALS, CELLS = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")


class NameLine(NamedTuple):
    """Where a name is read."""

    file: str
    line: int


class Names(NamedTuple):
    """loads: [(kind, name, Line, attributes read or stored straight from it)]; stores: the globals and outer cells
    assigned to; writes: whether attributes or items of anything are stored or deleted; deletes: the names of globals
    and outer cells that are deleted."""

    loads: tuple
    stores: tuple
    writes: bool
    deletes: tuple


@functools.lru_cache(4096)
def names(code):
    """What a function's code, with the functions inside it, reads and assigns outside itself."""
    loads, stores, writes, deletes = {}, {}, False, {}
    outer = set(code.co_freevars)
    for sub in codes(code):
        line, last = sub.co_firstlineno, None
        for ins in dis.get_instructions(sub):
            line = (ins.positions.lineno if ins.positions else None) or line
            name = ins.argval
            if ins.opname in SILENT:
                continue
            writes = writes or ins.opname in WRITES
            if ins.opname in GLOBALS or ins.opname in CELLS and name in outer:
                last = loads.setdefault(
                    ("global" if ins.opname in GLOBALS else "cell", name), (NameLine(sub.co_filename, line), {})
                )[1]
                continue
            if ins.opname in ATTRIBUTES and last is not None:
                last = last.setdefault(name, {})
                continue
            if ins.opname == "STORE_GLOBAL":
                stores["global", name] = None
            elif ins.opname == "STORE_DEREF" and name in outer:
                stores["cell", name] = None
            elif ins.opname == "DELETE_GLOBAL" or ins.opname == "DELETE_DEREF" and name in outer:
                deletes[name] = None
            last = None
    found = tuple((kind, name, *found) for (kind, name), found in loads.items())
    return Names(found, tuple(stores), writes, tuple(deletes))


def codes(code):
    """A code object and those of the functions in it."""
    yield code
    for const in code.co_consts:
        # which is not run for what the function does
        if isinstance(const, types.CodeType) and const.co_name != "__annotate__":
            yield from codes(const)
