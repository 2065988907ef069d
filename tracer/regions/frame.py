"""Functions without source: their calls of outside names get hooks, in bytecode of the same length.

`range(...)` and `np.zeros(...)` load a global, and perhaps attributes of it, and call what they find. The
instructions that load it are overwritten, within the room their inline caches leave, by `-READER`, and a
`Reader` looks the name up where it always was. So globals stay live, jumps and lines stay where they are.
"""

import dis
import inspect
import sys
import types

from ..common.frames import ITERATED
from .calls import call
from .loop_frame import Frames, Hold, code_units, loop_after

KNOWN = (3, 11) <= sys.version_info[:2] <= (3, 14)  # the bytecodes this was written for
LOOPED = (range, enumerate, zip)
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_codes = {}  # code -> the same with readers


class Reader:
    """A global, or an attribute of one, as a constant of the code that calls it."""

    __slots__ = ("names",)

    def __init__(self, names):
        self.names = names

    def __neg__(self):
        frame = sys._getframe(1)
        found = global_or_builtin(self.names[0], frame)
        for name in self.names[1:]:
            found = getattr(found, name)
        if any(found is f for f in LOOPED):
            return lambda *args, **kwargs: looped(found, sys._getframe(1), args, kwargs)
        return call(found)


def global_or_builtin(name, frame):
    """What a name outside the function is, as its frame sees it."""
    for space in (frame.f_globals, frame.f_builtins):
        if name in space:
            return space[name]
    raise NameError(f"name {name!r} is not defined", name=name)


def looped(maker, frame, args, kwargs):
    """range, zip or enumerate: what a `for` runs over at once is captured with the loop."""
    made = call(maker)(*args, **kwargs)
    loop = loop_after(frame)
    return made if loop is None else Frames(made, loop)


def iterated(array, frame):
    """An iterator of a traced array that captures the loop it is made for; None where it is not made for one."""
    loop = loop_after(frame, here=True)
    return None if loop is None else Frames(array, loop)


def hooked(function):
    """A twin of a function whose source is not at hand; the function itself where its bytecode is not known."""
    code = function.__code__
    if not KNOWN or code in ITERATED or code.co_flags & SUSPENDED:
        return function
    made = _codes.get(code)
    if made is None:
        made = _codes[code] = patched(code)
        ITERATED[made] = iterated
    if function.__closure__:
        made = made.replace(co_consts=(*made.co_consts, Hold(function.__closure__)))
        ITERATED[made] = iterated
    twin = types.FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__, twin.__qualname__, twin.__module__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__module__,
    )
    twin.__dict__.update(function.__dict__)
    return twin


def patched(code):
    """The code, and the code of functions in it, with readers."""
    text, consts = bytearray(code.co_code), list(code.co_consts)
    found = list(dis.get_instructions(code))
    ends = [i.offset for i in found[1:]] + [len(text)]
    at = 0
    while at < len(found):
        last, names = called_global(found, at)
        if names:
            start = at
            while start and found[start - 1].opname == "EXTENDED_ARG":
                start -= 1
            load = [*code_units("LOAD_CONST", len(consts)), *code_units("UNARY_NEGATIVE")]
            if not has_push_null(found, at, last):
                null = code_units("PUSH_NULL")
                load = [*load, *null] if sys.version_info >= (3, 13) else [*null, *load]
            room = ends[last] - found[start].offset
            if len(load) <= room:
                consts.append(Reader(names))
                text[found[start].offset : ends[last]] = bytes(load) + bytes(code_units("NOP")) * (
                    (room - len(load)) // 2
                )
            at = last
        at += 1
    consts = [patched(c) if isinstance(c, types.CodeType) else c for c in consts]
    return code.replace(co_code=bytes(text), co_consts=tuple(consts))


def called_global(found, at):
    """(index of the last instruction, names) of the load of a global, or of attributes of one, that is called; else
    (at, None)."""
    first = found[at]
    if first.opname != "LOAD_GLOBAL":
        return at, None
    names, last = [first.argval], at
    while last + 1 < len(found):
        step = found[last + 1]
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        names.append(step.argval)
        last += 1
        if method(step):
            return last, names
    return (last, names) if first.arg & 1 or last > at and has_push_null(found, at, last) else (at, None)


def method(step):
    """Whether a load of an attribute is for a call."""
    return (
        step.opname == "LOAD_METHOD"
        or step.opname == "LOAD_ATTR"
        and sys.version_info >= (3, 12)
        and bool(step.arg & 1)
    )


def has_push_null(found, at, last):
    """Whether an instruction of its own makes the call: PUSH_NULL before the load, or after it."""
    if found[at].arg & 1 or method(found[last]):
        return False
    if sys.version_info >= (3, 13):
        return last + 1 < len(found) and found[last + 1].opname == "PUSH_NULL"
    return at > 0 and found[at - 1].opname == "PUSH_NULL"
