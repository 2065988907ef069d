"""A nest as a builtin function of Python's: given NumPy's arrays and numbers themselves, it runs on their memory.

Its code has the form of METH_FASTCALL, so a call costs no more than one of a function written in C. It reads from the
objects where their elements lie: `PyArrayObject_fields` (numpy/ndarraytypes.h), which other extensions have compiled
in, and the scalars behind `PyObject_HEAD` (numpy/arrayscalars.h, floatobject.h). `refusal` looks whether they are laid
out so here. Before anything is done, every argument is asked for its type, dtype, shape and layout; where one is not as
it must be, the function returns True and has done nothing.
"""

import ctypes
import functools
import sys
import weakref

import numpy as np

from ...ir.types import SHORT
from .build import LOCK, has_symbol, machine_code
from .debug_lines import nest_name
from .ffi import refusal as of_ffi
from .interrupts import SYMBOLS as OF_SIGNALS

HEAD = object.__basicsize__  # bytes of an object before what is its own
TYPE = HEAD - 8  # where the type of an object stands
RANK, SHAPE, DTYPE, FLAGS = HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48  # in an array, whose first field is its data
KIND = HEAD + 8  # in a dtype, of which several may be equal: its kind, character, byte order, flags and number, 8 bytes
READY = 0x1 | 0x100  # fact: C-contiguous and aligned
FASTCALL = 0x80  # fact
# bound: work during which other threads wait; below, to take the lock again may cost more than the nest
UNLOCKED = 2000
SYMBOLS = "PyBool_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread", *OF_SIGNALS

ARRAY = f"""
define internal i1 @array(ptr %x, ptr %types, ptr %shape, i32 %rank) {{
entry:
  %type.at = getelementptr i8, ptr %x, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %type.wanted = load ptr, ptr %types
  %is = icmp eq ptr %type, %type.wanted
  br i1 %is, label %ndarray, label %no
ndarray:
  %dtype.at = getelementptr i8, ptr %x, i64 {DTYPE}
  %dtype = load ptr, ptr %dtype.at
  %dtype.wanted.at = getelementptr ptr, ptr %types, i64 1
  %dtype.wanted = load ptr, ptr %dtype.wanted.at
  %kind.at = getelementptr i8, ptr %dtype, i64 {KIND}
  %kind = load i64, ptr %kind.at
  %kind.wanted.at = getelementptr i8, ptr %dtype.wanted, i64 {KIND}
  %kind.wanted = load i64, ptr %kind.wanted.at
  %dtype.is = icmp eq i64 %kind, %kind.wanted
  %flags.at = getelementptr i8, ptr %x, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %flags.wanted = and i32 %flags, {READY}
  %flags.are = icmp eq i32 %flags.wanted, {READY}
  %rank.at = getelementptr i8, ptr %x, i64 {RANK}
  %rank.found = load i32, ptr %rank.at
  %rank.is = icmp eq i32 %rank.found, %rank
  %shape.at = getelementptr i8, ptr %x, i64 {SHAPE}
  %shape.found = load ptr, ptr %shape.at
  %some = and i1 %dtype.is, %flags.are
  %all = and i1 %some, %rank.is
  br i1 %all, label %look, label %no
look:
  %d = phi i32 [ 0, %ndarray ], [ %d.next, %same ]
  %more = icmp slt i32 %d, %rank
  br i1 %more, label %axis, label %yes
axis:
  %n.at = getelementptr i64, ptr %shape.found, i32 %d
  %n = load i64, ptr %n.at
  %n.wanted.at = getelementptr i64, ptr %shape, i32 %d
  %n.wanted = load i64, ptr %n.wanted.at
  %n.is = icmp eq i64 %n, %n.wanted
  br i1 %n.is, label %same, label %no
same:
  %d.next = add i32 %d, 1
  br label %look
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

NUMBER = f"""
define internal i1 @number(ptr %x, ptr %types) {{
entry:
  %type.at = getelementptr i8, ptr %x, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %one = load ptr, ptr %types
  %other.at = getelementptr ptr, ptr %types, i64 1
  %other = load ptr, ptr %other.at
  %is.one = icmp eq ptr %type, %one
  %is.other = icmp eq ptr %type, %other
  %is = or i1 %is.one, %is.other
  ret i1 %is
}}
"""


ENTRY = f"""
declare ptr @PyBool_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
{{functions}}
define ptr @direct(ptr %self, ptr %given, i64 %count) {{{{
entry:
  %types.at = getelementptr i8, ptr %self, i64 {HEAD}
  %types = load ptr, ptr %types.at
  %enough = icmp eq i64 %count, {{count}}
  br i1 %enough, label %asked0, label %refused
{{tests}}
asked{{count}}:
{{call}}
finished:
  %false = call ptr @PyBool_FromLong(i64 0)
  ret ptr %false
refused:
  %true = call ptr @PyBool_FromLong(i64 1)
  ret ptr %true
stopped:
  ret ptr null
}}}}
"""

TEST = """asked{n}:
  %x{n}.at = getelementptr ptr, ptr %given, i64 {n}
  %x{n} = load ptr, ptr %x{n}.at
  %t{n} = getelementptr ptr, ptr %types, i64 {twice}
  %is{n} = call i1 {test}
  br i1 %is{n}, label %asked{next}, label %refused"""

UNLOCK = "  %thread = call ptr @PyEval_SaveThread()\n", "\n  call void @PyEval_RestoreThread(ptr %thread)"


@functools.cache
def refusal():
    """Why no nest can be called so here, or None."""
    if of_ffi() is not None:
        return of_ffi()
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or not all(map(has_symbol, SYMBOLS)):
        return "this is no CPython of 64 bits that shows its functions"
    return None if laid_out() else "objects are laid out in another way here"


def laid_out():
    """Whether arrays and numbers have their fields where they are read."""
    at = lambda x, offset, kind: kind.from_address(id(x) + offset).value
    pointer, x = ctypes.c_void_p, np.arange(12.0).reshape(3, 4)
    found = (
        at(x, HEAD, pointer),
        at(x, TYPE, pointer),
        at(x, DTYPE, pointer),
        at(x, RANK, ctypes.c_int32),
        x.dtype is np.dtype(np.float64),
    )
    if found != (x.ctypes.data, id(np.ndarray), id(x.dtype), 2, True) or [
        *(ctypes.c_int64 * 2).from_address(at(x, SHAPE, pointer))
    ] != [3, 4]:
        return False
    kinds = {at(t, KIND, ctypes.c_int64): t for t in map(np.dtype, SHORT)}
    if len(kinds) != len(SHORT) or at(np.dtype(x.dtype, copy=True), KIND, ctypes.c_int64) != at(
        x.dtype, KIND, ctypes.c_int64
    ):
        return False
    if at(x.dtype.newbyteorder(), KIND, ctypes.c_int64) in kinds:
        return False
    memory = np.zeros(48, np.uint8)
    aside = memory[1 - memory.ctypes.data % 8 :][:40].view(np.float64)
    for y, wanted in ((x, READY), (x.T, READY ^ 1), (x[:, ::2], READY ^ 1), (aside, READY ^ 0x100)):
        if at(y, FLAGS, ctypes.c_int32) & READY != wanted:
            return False
    numbers = 2.5, *(kind(2.5) for kind in (
        np.float64, np.float32, np.complex128, np.complex64, np.int64, np.uint8, np.bool_,
    )), np.False_
    same = lambda y: (
        ctypes.string_at(id(y) + HEAD, np.dtype(type(y)).itemsize) == np.asarray(y).tobytes()
        and at(y, TYPE, pointer) == id(type(y))
    )
    return all(map(same, numbers))


def entry(types, unlocked, long=False):
    """Text of the function that calls @nest on Python's objects. types: one for each pointer that @nest takes, arrays'
    and numbers'.

    unlocked: whether other threads of Python's may run meanwhile; long: whether @nest tells that a signal's handler has
    raised. Its first argument is an array of addresses, two for each object:
    ndarray and the dtype, or the types that a number may be of.
    """
    shapes, tests, places = [], [], []
    for n, (t, array) in enumerate(types):
        place = f"getelementptr i8, ptr %x{n}, i64 {HEAD}"
        if array:
            shapes.append(f"@shape{n} = internal constant [{t.ndim} x i64] [{', '.join(f'i64 {k}' for k in t.shape)}]")
            places.append(f"  %p{n}.at = {place}\n  %p{n} = load ptr, ptr %p{n}.at")
        else:
            places.append(f"  %p{n} = {place}")
        test = (
            f"@array(ptr %x{n}, ptr %t{n}, ptr @shape{n}, i32 {t.ndim})" if array else f"@number(ptr %x{n}, ptr %t{n})"
        )
        tests.append(TEST.format(n=n, next=n + 1, twice=2 * n, test=test))
    before, after = UNLOCK if unlocked else ("", "")
    given = ", ".join(f"ptr %p{n}" for n in range(len(types)))
    call = (
        f"{before}  %stop = call i1 @nest({given}, i1 true){after}"
        if long
        else f"{before}  call void @nest({given}){after}"
    )
    call += "\n  br i1 %stop, label %stopped, label %finished" if long else "\n  br label %finished"
    told = {
        "functions": ARRAY + NUMBER,
        "count": len(types),
        "tests": "\n".join(tests),
        "call": "\n".join([*places, call]),
    }
    return "\n".join([*shapes, ENTRY.format(**told)])


class Definition(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    ]


WORD = ctypes.sizeof(ctypes.c_void_p)
WORDS = ctypes.sizeof(Definition) // WORD  # bound: of a Definition


class Wanted(np.ndarray):
    """The addresses that @direct looks at, `count` of them, and behind them the Definition of its function and what
    that is called: Python reads it where the function goes, when the garbage collector may have emptied `holds`.

    holds: what has to stay as long as the function may be called.
    """

    count, holds = 0, ()


def wanted_objects(addresses, name):
    """A Wanted of these, for a function of this name."""
    text, count = name.encode() + b"\0", len(addresses)
    memory = np.zeros(count + WORDS + -(-len(text) // WORD), np.uintp)
    memory[:count] = addresses
    memory[count + WORDS :].view(np.uint8)[: len(text)] = np.frombuffer(text, np.uint8)
    found = memory.view(Wanted)
    found.count = count
    return found


# (name of machine code, what each object is to be, what profilers call it) -> its function, as long as somebody has it:
# machine code does not tell signed integers from unsigned, nor lines
MADE = weakref.WeakValueDictionary()


def builtin(nest):
    """`call(*objects)`, one for each of the buffers of a nest: it runs and gives False, or cannot run on these objects
    and gives True."""
    text, found = nest.text(), [kind for t, array in nest.kinds() for kind in accepted(t, array)]
    with LOCK:
        code = machine_code(text)
        key = code.name, tuple(map(id, found)), nest_name(nest.place)
        if (call := MADE.get(key)) is None:
            call = MADE[key] = builtin_function(code, wanted_objects(key[1], key[2]), found)
        return call


def builtin_function(code, known, objects=()):
    """The builtin function @direct of a MachineCode, whose first argument is the Wanted `known`; objects: those whose
    addresses these are, if they might go."""
    known.holds = code, objects
    place = known.ctypes.data + WORD * known.count
    made = Definition.from_address(place)
    made.name, made.flags = place + WORD * WORDS, FASTCALL
    code.enter(known, place + Definition.function.offset, "direct")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return make(place, known, None)


def accepted(t, array):
    """The two objects by which @array and @number know what they may take."""
    dtype = np.dtype(t.dtype.name)
    if array:
        return np.ndarray, dtype
    return dtype.type, float if dtype == np.float64 else dtype.type


def again(nest):
    """`call(*objects)` for objects on which the builtin function of a nest cannot run: on copies that are as it wants
    them."""
    call, kinds, buffers = builtin(nest), nest.kinds(), nest.buffers

    def run(*objects):
        ready = [in_order(x, t) if array else t.dtype.type(x) for x, (t, array) in zip(objects, kinds, strict=True)]
        if call(*ready):
            raise SystemError("a native loop was given other arguments than it was made for")
        for (kind, _), x, y in zip(buffers, objects, ready, strict=True):
            if kind == "result" and x is not y:
                x[...] = y

    return run


def in_order(x, t):
    """An array of a type as a nest reads it."""
    return np.require(x, np.dtype(t.dtype.name), ["C", "A"])
