"""A loop of a function without source, captured: one trip is a run of the function's own bytecode from the loop's head
to its end.

The iterator that `for` asks for its first item runs the whole loop, through the same `For` as loops with
source, on the variables of the frame that asks; then it writes them back and says that the loop is over.
A trip is a function made of the frame's code: it begins by going to the loop's FOR_ITER with the trip as
the iterator, and ends where the loop would. Loops left by `return`, or past an `else`, run as they are.
"""

import ctypes
import dis
import inspect
import sys
import threading
import types

from ..common.frames import ITERATED, PART
from ..guards.state import UNBOUND, Slot
from ..rewriter.completion import BREAK
from ..rewriter.sites import NUMBERS, SITES, Site
from ..values.storage import current_trace
from . import series
from .loops import For

VERSION = sys.version_info[:2]
# from where FOR_ITER jumps to where the loop is over
PAST = {(3, 11): 0, (3, 12): 2, (3, 13): 4, (3, 14): 4}.get(VERSION, 0)
ENDS = {"RETURN_VALUE", "RETURN_CONST"}
STOPS = ENDS | {"RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
LEAVES = ("DELETE_FAST", "DELETE_DEREF", "YIELD_VALUE", "SEND", "LOAD_LOCALS", *ENDS)
WAYS = {"JUMP_FORWARD", "EXTENDED_ARG", "NOP"}  # what may come between taking the iterator away and the end of the loop
PUTS = {"LIST_APPEND": 1, "SET_ADD": 1, "MAP_ADD": 2}  # what each takes before it reaches down the stack
_running = threading.local()  # .trips: the trips being run in this thread, innermost last
_loops = {}  # (code, offset) -> the Loop there, or None


class Hold:
    """The closure of a function, as a constant of its code."""

    def __init__(self, cells):
        self.cells = cells


def code_units(name, arg=0):
    """One instruction in bytes, caches left out."""
    wide = [b for shift in (24, 16, 8) if arg >> shift for b in (dis.opmap["EXTENDED_ARG"], arg >> shift & 255)]
    return [*wide, dis.opmap[name], arg & 255]


class LoopFrame:
    """One `for` in a code object: where its FOR_ITER is, the depth of the stack under its iterator, and what a trip may
    bind."""

    def __init__(self, code, start, over, depth, names):
        self.code, self.start, self.over, self.depth = code, start, over, depth
        self.number = next(NUMBERS)
        every = frozenset(names)
        SITES[self.number] = Site("each", every, every, every, every, True, frozenset(), frozenset())
        self.held = next((c.cells for c in code.co_consts if type(c) is Hold), ())
        self.trip = self.one()

    def one(self):
        """Code that runs one trip: a function without parameters, whose variables are set as it begins."""
        code = self.code
        consts = (*code.co_consts, None, ENTER, LEAVE)
        none, enter, leave = range(len(consts) - 3, len(consts))
        lead = [*code_units("COPY_FREE_VARS", len(code.co_freevars))] if code.co_freevars else []
        lead += code_units("RESUME") + code_units("LOAD_CONST", none) * self.depth
        lead += (
            code_units("LOAD_CONST", enter) + code_units("UNARY_NEGATIVE") + code_units("JUMP_FORWARD", self.start // 2)
        )
        text = bytearray(code.co_code)
        end = bytes(code_units("LOAD_CONST", leave) + code_units("UNARY_NEGATIVE") + code_units("RETURN_VALUE"))
        text[self.over : self.over + len(end)] = end
        units = len(lead) // 2
        table = b"".join(bytes([0x80 | 15 << 3 | min(8, units - k) - 1]) for k in range(0, units, 8))
        inside = [(a + units, b + units, c + units, d, last) for a, b, c, d, last in handlers(code) if d > self.depth]
        made = code.replace(
            co_code=bytes(lead) + bytes(text), co_consts=consts, co_argcount=0, co_posonlyargcount=0,
            co_kwonlyargcount=0,
            co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
            co_linetable=table + code.co_linetable,
            co_exceptiontable=encoded_table(inside), co_qualname=code.co_qualname.removesuffix(PART) + PART,
        )  # fmt: skip
        ITERATED[made] = ITERATED[code]
        return made


class Enter:
    def __neg__(self):
        trip = _running.trips[-1]
        write(sys._getframe(1), trip.variables)
        trip.variables.clear()
        return trip


class Leave:
    def __neg__(self):
        _running.trips[-1].note(sys._getframe(1))


ENTER, LEAVE = Enter(), Leave()


class Trip:
    """The iterator of one trip: gives one item; asked for another, the trip is over. variables: before it, then after
    it."""

    def __init__(self, item, variables):
        self.items, self.variables, self.fell = [item], variables, False

    def __iter__(self):
        return self

    def __next__(self):
        if self.items:
            return self.items.pop()
        self.fell = True
        raise StopIteration

    def note(self, frame):
        self.variables = dict(frame.f_locals)


class Frames:
    """The iterator of a captured loop; an ordinary one where nothing is traced or the loop is not in a form to
    capture."""

    def __init__(self, items, loop):
        self.items, self.loop, self.plain = items, loop, None

    def __iter__(self):
        return self

    def __next__(self):
        if self.plain is None:
            if current_trace() is not None and series.rollable(self.items):
                self.run(sys._getframe(1))
                self.plain = iter(())
            else:
                self.plain = iter(self.items)
        return next(self.plain)

    def run(self, frame):
        site = SITES[self.loop.number]
        state = Variables(frame, site.names, self.loop)
        try:
            For(self.items, state.trip, site, self.loop.number, state.named).run()
        finally:
            state.give_back(frame)


class Variables:
    """The variables of a frame, in cells of their own while a loop in it is captured."""

    def __init__(self, frame, names, loop):
        self.loop, self.space = loop, frame.f_globals
        code, values = loop.code, frame.f_locals
        cells = {
            name: types.CellType(values[name]) if name in values else types.CellType() for name in code.co_varnames
        }
        self.named = {
            name: Slot("cell", cell, "", name) for name, cell in (*cells.items(), *zip(code.co_freevars, loop.held))
        }
        self.own = list(cells)
        self.changed = [name for name in cells if name in names]
        write(frame, dict.fromkeys(self.changed, UNBOUND))  # nobody but the cells holds what the loop changes

    def trip(self, item):
        """Run one trip -> how it ended."""
        trip = Trip(item, {name: self.named[name].get() for name in self.own})
        for name in self.changed:
            self.named[name].set(UNBOUND)
        run = types.FunctionType(self.loop.trip, self.space, self.loop.code.co_name, None, self.loop.held or None)
        _running.__dict__.setdefault("trips", []).append(trip)
        try:
            run()
        except BaseException as error:
            tb = error.__traceback__
            while tb is not None:
                if tb.tb_frame.f_code is self.loop.trip:
                    trip.note(tb.tb_frame)
                tb = tb.tb_next
            raise
        finally:
            _running.trips.pop()
            for name in self.changed:
                self.named[name].set(trip.variables.get(name, UNBOUND))
        return None if trip.fell else BREAK

    def give_back(self, frame):
        write(frame, {name: self.named[name].get() for name in self.changed})


def write(frame, values):
    """Set variables of a running frame; where Python cannot unbind them, they are set to None."""
    space = frame.f_locals
    for name, value in values.items():
        if value is not UNBOUND:
            space[name] = value
        elif VERSION < (3, 12):
            space.pop(name, None)
        elif name in space:
            space[name] = None
    if VERSION < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
        space.clear()  # else it keeps alive what the frame no longer holds


# -- finding the loop ------------------------------------------------------------------------------


def loop_after(frame, here=False):
    """The Loop whose iterator is being made in a frame; None where that is not so, or the loop is not in a form to
    capture.

    here: the frame is at GET_ITER itself, and not at the call just before it.
    """
    key = code, at, _ = frame.f_code, frame.f_lasti, here
    if key not in _loops:
        found = {i.offset: i for i in dis.get_instructions(code)}
        order = sorted(found)
        place = next((n for n, o in enumerate(order) if o == at or o > at and not here), len(order))
        if not here and place < len(order) and order[place] == at:
            place += 1
        _loops[key] = _loop(code, found, order, place) if code in ITERATED else None
    return _loops[key]


def _loop(code, found, order, place):
    """The loop that begins with the GET_ITER at order[place]."""
    names = [found[o].opname for o in order[place : place + 4]]
    skip = 1 + sum(1 for n in names[1:] if n == "EXTENDED_ARG")
    if names[:1] != ["GET_ITER"] or names[skip : skip + 1] != ["FOR_ITER"]:
        return None
    head, start = order[place + 1], order[place + skip]
    if code.co_cellvars or code.co_freevars and not any(type(c) is Hold for c in code.co_consts):
        return None
    over = found[start].argval + PAST
    depth = reach(code, found, order, 0, 0).get(start)
    body = None if depth is None else reach(code, found, order, start, depth, over)
    if body is None:
        return None
    inside = [found[o] for o in body]
    if any(
        i.opname in LEAVES or over <= i.offset < over + 10 or i.opname in PUTS and under(i, body[i.offset]) <= depth
        for i in inside
    ):
        return None
    bound = {n for i in inside if "STORE_FAST" in i.opname or i.opname == "STORE_DEREF" for n in stored_names(i)}
    return LoopFrame(code, head, over, depth - 1, bound)


def under(instruction, depth):
    """Where on the stack the container is that an instruction adds to, from 1."""
    return depth - PUTS[instruction.opname] + 1 - instruction.arg


def stored_names(instruction):
    return instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)


def reach(code, found, order, start, depth, over=None):
    """offset -> depth of the stack, of all instructions that control can come to from `start`.

    over: where the loop whose FOR_ITER is `start` ends; then None if control leaves the loop by other ways.
    """
    following, table, base = dict(zip(order, order[1:])), handlers(code), depth if over is not None else 0
    depths, todo = {}, [(start, depth)]
    while todo:
        at, depth = todo.pop()
        if at in depths or at == over:
            continue
        i = found[at]
        if depth < base and (depth < base - 1 or i.opname not in WAYS):
            return None
        depths[at] = depth
        arg = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
        todo += [
            (target * 2, kept + lasti + 1) for a, b, target, kept, lasti in table if a <= at // 2 < b and kept >= base
        ]
        if i.opname == "FOR_ITER":
            if at != start or over is None:
                todo.append((i.argval + PAST, depth - 1))
        elif i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            todo.append((i.argval, depth + dis.stack_effect(i.opcode, arg, jump=True)))
        if i.opname not in STOPS and at in following:
            todo.append((following[at], depth + dis.stack_effect(i.opcode, arg, jump=False)))
    return depths


def handlers(code):
    """The exception table: (first unit, unit after the last, handler, depth of the stack, whether the place is
    pushed)."""
    data, out = iter(code.co_exceptiontable), []

    def number():
        byte = next(data)
        value = byte & 63
        while byte & 64:
            byte = next(data)
            value = value << 6 | byte & 63
        return value

    try:
        while True:
            first = number()
            size, target, mark = number(), number(), number()
            out.append((first, first + size, target, mark >> 1, mark & 1))
    except StopIteration:
        return out


def encoded_table(entries):
    """An exception table in bytes."""
    out = []
    for first, end, target, depth, lasti in entries:
        mark = 128
        for value in (first, end - first, target, depth << 1 | lasti):
            parts = [value & 63]
            while value := value >> 6:
                parts.append(value & 63 | 64)
            parts.reverse()
            parts[0] |= mark
            mark = 0
            out += parts
    return bytes(out)
