"""A nest as a builtin function of Python's: given NumPy's arrays and numbers themselves, it runs on their memory.

Its code has the form of METH_FASTCALL, so a call costs no more than one of a function written in C. Before anything is
done, every argument is asked for its type, dtype, shape and layout (`objects.py`); where one is not as it must be, the
function returns None and has done nothing.

It returns the results: numbers, which it makes, and the arrays that it was given to store into. Where it is given
`FRESH` or `ZEROED` instead of one, it makes that too.
"""

import ctypes
import functools
import sys
import weakref

import numpy as np

from . import objects
from .build import LOCK, has_symbol, machine_code
from .debug_lines import nest_name
from .ffi import refusal as of_ffi
from .interrupts import SYMBOLS as OF_SIGNALS
from .objects import DIGIT, FRESH, HEAD, TYPE, ZEROED

FASTCALL = 0x80  # fact
# bound: work during which other threads wait; below, to take the lock again may cost more than the nest
UNLOCKED = 2000
SYMBOLS = "PyEval_SaveThread", "PyEval_RestoreThread", *OF_SIGNALS, *objects.SYMBOLS, *objects.HELPERS

ENTRY = f"""
declare void @Py_IncRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
{{functions}}
define ptr @direct(ptr %self, ptr %given, i64 %count) {{{{
entry:
{{rooms}}
  %types.at = getelementptr i8, ptr %self, i64 {HEAD}
  %types = load ptr, ptr %types.at
  %known = getelementptr ptr, ptr %types, i64 {{known}}
  %enough = icmp eq i64 %count, {{count}}
  br i1 %enough, label %asked0, label %refused
{{tests}}
asked{{count}}:
{{call}}
finished:
{{results}}
refused:
  %none = load ptr, ptr %known
  call void @Py_IncRef(ptr %none)
  ret ptr %none
stopped:
  call void @wengert_dropped(ptr %results, i64 {{made}})
  ret ptr null
}}}}
"""

WIDEST = 16  # fact: bytes of the widest number
KEEP = """  %h{n}.at = getelementptr ptr, ptr %results, i64 {k}
  store ptr %h{n}, ptr %h{n}.at
  %h{n}.none = icmp eq ptr %h{n}, null
  br i1 %h{n}.none, label %stopped, label %held{n}
held{n}:"""
HOLD = "  %h{n} = call ptr @wengert_held(ptr %x{n}, ptr %known, ptr %t{n}, ptr @shape{n}, i32 {rank})\n" + KEEP
MAKE = f"""  %t{{n}} = getelementptr ptr, ptr %types, i64 {{twice}}
  %h{{n}} = call ptr @wengert_number_of(ptr %p{{n}}, ptr %known, ptr %t{{n}})
{KEEP}"""
ROOM = f"  %p{{n}} = alloca [{WIDEST} x i8], align {WIDEST}"
TEST = """asked{number}:
  %x{n}.at = getelementptr ptr, ptr %given, i64 {place}
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
    return None if objects.laid_out() and objects.works() else "objects are laid out in another way here"


def entry(nest):
    """Text of the function that calls @nest on Python's objects, one for each of its `given_places`.

    Its first argument is an array of addresses, two for each pointer that @nest takes: ndarray and the dtype, or the
    types that a number may be of, or what a number that it makes is of; behind them `objects.known`.
    """
    kinds, given, long = nest.kinds(), {n: at for at, n in enumerate(given_places(nest))}, nest.hearing is not None
    shapes, rooms, tests, places, held, numbers = [], [], [], [], [], []
    for n, (t, array) in enumerate(kinds):
        k = result_place(nest, n)
        if n not in given:
            rooms.append(ROOM.format(n=n))
            numbers.append(MAKE.format(n=n, k=k, twice=2 * n))
            continue
        test = f"@wengert_number(ptr %x{n}, ptr %t{n})"
        if array:
            shapes.append(f"@shape{n} = internal constant [{t.ndim} x i64] [{', '.join(f'i64 {k}' for k in t.shape)}]")
            test = f"@wengert_array(ptr %x{n}, ptr %t{n}, ptr @shape{n}, i32 {t.ndim})"
        if k is not None:
            test = f"@wengert_memory(ptr %x{n}, ptr %t{n}, ptr @shape{n}, i32 {t.ndim}, ptr %known)"
            held.append(HOLD.format(n=n, k=k, rank=t.ndim))
        x = f"%x{n}" if k is None else f"%h{n}"
        place = f"getelementptr i8, ptr {x}, i64 {HEAD}"
        places.append(f"  %p{n}.at = {place}\n  %p{n} = load ptr, ptr %p{n}.at" if array else number_text(n, t, place))
        tests.append(TEST.format(n=n, number=given[n], next=given[n] + 1, place=given[n], twice=2 * n, test=test))
    results = [*numbers, *given_back(len(nest.results))]
    before, after = UNLOCK if nest.unlocked else ("", "")
    pointers = ", ".join(f"ptr %p{n}" for n in range(len(kinds)))
    call = (
        f"{before}  %stop = call i1 @nest({pointers}, i1 true){after}\n  br i1 %stop, label %stopped, label %finished"
        if long
        else f"{before}  call void @nest({pointers}){after}\n  br label %finished"
    )
    rooms.append(f"  %results = alloca [{len(nest.results)} x ptr]")
    rooms.append(f"  store [{len(nest.results)} x ptr] zeroinitializer, ptr %results")
    told = {
        "functions": objects.declared(*objects.HELPERS),
        "rooms": "\n".join(rooms),
        "known": 2 * len(kinds),
        "count": len(given),
        "made": len(nest.results),
        "tests": "\n".join(tests),
        "call": "\n".join([*held, *places, call]),
        "results": "\n".join(results),
    }
    return "\n".join([*shapes, ENTRY.format(**told)])


def given_back(count):
    """Lines that return the results, `count` of them: one as it is, several in a tuple."""
    if count == 1:
        return ["  %only = load ptr, ptr %results", "  ret ptr %only"]
    return [f"  %all = call ptr @wengert_together(ptr %results, i64 {count})", "  ret ptr %all"]


def number_text(n, t, place):
    """The pointer to a number: Python's bools have their digit behind their size."""
    if t.kind != "b":
        return f"  %p{n} = {place}"
    return f"""  %p{n}.head = {place}
  %p{n}.type.at = getelementptr i8, ptr %x{n}, i64 {TYPE}
  %p{n}.type = load ptr, ptr %p{n}.type.at
  %p{n}.bool.at = getelementptr ptr, ptr %t{n}, i64 1
  %p{n}.bool = load ptr, ptr %p{n}.bool.at
  %p{n}.is = icmp eq ptr %p{n}.type, %p{n}.bool
  %p{n}.behind = select i1 %p{n}.is, i64 {DIGIT}, i64 0
  %p{n} = getelementptr i8, ptr %p{n}.head, i64 %p{n}.behind"""


def given_places(nest):
    """Which of its buffers a nest is given as objects, in their order: all but the numbers that it computes."""
    kinds = nest.kinds()
    return [n for n, (kind, _) in enumerate(nest.buffers) if kind == "argument" or kinds[n][0].shape]


def result_place(nest, n):
    """The place among its results of a buffer of a nest, None for another."""
    kind, k = nest.buffers[n]
    return k if kind == "result" and k < len(nest.results) else None


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
    """`call(*objects)`, one for each of the `given_places` of a nest: it runs and gives its results, the one or a
    tuple, or cannot run on these objects and gives None. `FRESH` or `ZEROED` instead of an array that it stores into:
    it makes one."""
    text, buffers = nest.text(), zip(nest.buffers, nest.kinds(), strict=True)
    found = [x for (kind, _), (t, array) in buffers for x in looked_for(kind, t, array)]
    with LOCK:
        code = machine_code(text)
        key = code.name, tuple(map(id, found)), nest_name(nest.place)
        if (call := MADE.get(key)) is None:
            addresses = (*key[1], *objects.known())
            call = MADE[key] = builtin_function(code, wanted_objects(addresses, key[2]), found)
        return call


def looked_for(kind, t, array):
    """The two objects by which a builtin function knows what it may take as a buffer, or makes it of."""
    of_python = kind == "argument" and not array and t.kind == "b"
    return (np.bool_, bool) if of_python else accepted(t, array)


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
    """The two objects by which machine code knows what it may take."""
    dtype = np.dtype(t.dtype.name)
    if array:
        return np.ndarray, dtype
    return dtype.type, float if dtype == np.float64 else dtype.type


def again(nest, call=None):
    """What does the same for objects on which the builtin function of a nest cannot run: on copies that are as it wants
    them. call: that function, where it has been made."""
    call, kinds, places = call or builtin(nest), nest.kinds(), given_places(nest)

    def run(*objects):
        ready = [as_wanted(x, *kinds[n]) for n, x in zip(places, objects, strict=True)]
        found = call(*ready)
        if found is None:
            raise SystemError("a native loop was given other arguments than it was made for")
        found = [found] if len(nest.results) == 1 else [*found]
        for n, x, y in zip(places, objects, ready, strict=True):
            k = result_place(nest, n)
            if k is not None and x is not y:
                x[...] = y
                found[k] = x
        return found[0] if len(found) == 1 else tuple(found)

    return run


def as_wanted(x, t, array):
    """An object as a nest takes it."""
    if x is FRESH or x is ZEROED and array:
        return x
    return in_order(x, t) if array else t.dtype.type(x)


def in_order(x, t):
    """An array of a type as a nest reads it."""
    return np.require(x, np.dtype(t.dtype.name), ["C", "A"])
