"""Objects of Python and NumPy as machine code sees them: what is asked of those given, and how results are made.

Machine code reads from objects where their elements lie: `PyArrayObject_fields` (numpy/ndarraytypes.h), which other
extensions have compiled in, and the scalars behind `PyObject_HEAD` (numpy/arrayscalars.h, floatobject.h). `laid_out`
looks whether they are so here. Numbers and arrays are made by functions of NumPy's C interface, at their places in the
table that extensions are compiled against (numpy/_core/code_generators/numpy_api.py).

All nests of a process share the functions of this module, which are compiled once.
"""

import ctypes
import functools
import importlib

import numpy as np

from ...ir.types import SHORT

HEAD = object.__basicsize__  # bytes of an object before what is its own
TYPE = HEAD - 8  # where the type of an object stands
RANK, SHAPE, DTYPE, FLAGS = HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48  # in an array, whose first field is its data
KIND = HEAD + 8  # in a dtype, of which several may be equal: its kind, character, byte order, flags and number, 8 bytes
DIGIT = 8  # fact: bytes from where the value of a number of NumPy's stands to the first digit of an int of Python's
READY = 0x1 | 0x100  # fact: C-contiguous and aligned
FRESH, ZEROED = None, False  # instead of an array: one of memory as it comes, one of zeros
SCALAR, ZEROS, EMPTY = 60, 183, 184  # fact: places of PyArray_Scalar, PyArray_Zeros, PyArray_Empty
SYMBOLS = "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem"

# the functions that nests call: whether an object is such an array, such a number, or such an array to store into or
# what stands for it; whether it is one of two; a reference to that array, made where it is to be; a number; to let go
# of references; a tuple of them
HELPERS = {
    "wengert_array": "i1 @wengert_array(ptr, ptr, ptr, i32)",
    "wengert_number": "i1 @wengert_number(ptr, ptr)",
    "wengert_memory": "i1 @wengert_memory(ptr, ptr, ptr, i32, ptr)",
    "wengert_either": "i1 @wengert_either(ptr, ptr)",
    "wengert_held": "ptr @wengert_held(ptr, ptr, ptr, ptr, i32)",
    "wengert_number_of": "ptr @wengert_number_of(ptr, ptr, ptr)",
    "wengert_dropped": "void @wengert_dropped(ptr, i64)",
    "wengert_together": "ptr @wengert_together(ptr, i64)",
}


# their module: LLVM takes three times as long where it optimises them, and a call of a nest as long as now
MODULE = f"""
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
define i1 @wengert_array(ptr %x, ptr %types, ptr %shape, i32 %rank) noinline optnone {{
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
define i1 @wengert_number(ptr %x, ptr %types) noinline optnone {{
entry:
  %type.at = getelementptr i8, ptr %x, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is = call i1 @wengert_either(ptr %type, ptr %types)
  ret i1 %is
}}
define i1 @wengert_memory(ptr %x, ptr %types, ptr %shape, i32 %rank, ptr %known) noinline optnone {{
  %array = call i1 @wengert_array(ptr %x, ptr %types, ptr %shape, i32 %rank)
  %made = call i1 @wengert_either(ptr %x, ptr %known)
  %is = or i1 %array, %made
  ret i1 %is
}}
define i1 @wengert_either(ptr %x, ptr %two) noinline optnone {{
  %one = load ptr, ptr %two
  %other.at = getelementptr ptr, ptr %two, i64 1
  %other = load ptr, ptr %other.at
  %is.one = icmp eq ptr %x, %one
  %is.other = icmp eq ptr %x, %other
  %is = or i1 %is.one, %is.other
  ret i1 %is
}}
define ptr @wengert_held(ptr %x, ptr %known, ptr %types, ptr %shape, i32 %rank) noinline optnone {{
entry:
  %make = call i1 @wengert_either(ptr %x, ptr %known)
  br i1 %make, label %new, label %given
given:
  call void @Py_IncRef(ptr %x)
  ret ptr %x
new:
  %fresh = load ptr, ptr %known
  %is.fresh = icmp eq ptr %x, %fresh
  %which = select i1 %is.fresh, i64 4, i64 3
  %make.at = getelementptr ptr, ptr %known, i64 %which
  %function = load ptr, ptr %make.at
  %dtype.at = getelementptr ptr, ptr %types, i64 1
  %dtype = load ptr, ptr %dtype.at
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr %function(i32 %rank, ptr %shape, ptr %dtype, i32 0)
  ret ptr %array
}}
define ptr @wengert_number_of(ptr %at, ptr %known, ptr %types) noinline optnone {{
  %function.at = getelementptr ptr, ptr %known, i64 2
  %function = load ptr, ptr %function.at
  %dtype.at = getelementptr ptr, ptr %types, i64 1
  %dtype = load ptr, ptr %dtype.at
  %number = call ptr %function(ptr %at, ptr %dtype, ptr null)
  ret ptr %number
}}
define void @wengert_dropped(ptr %results, i64 %count) noinline optnone {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %next.one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %x.at = getelementptr ptr, ptr %results, i64 %i
  %x = load ptr, ptr %x.at
  %none = icmp eq ptr %x, null
  br i1 %none, label %next.one, label %drop
drop:
  call void @Py_DecRef(ptr %x)
  br label %next.one
next.one:
  %next = add i64 %i, 1
  br label %look
done:
  ret void
}}
define ptr @wengert_together(ptr %results, i64 %count) noinline optnone {{
entry:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %failed, label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %x.at = getelementptr ptr, ptr %results, i64 %i
  %x = load ptr, ptr %x.at
  %put = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %x)
  %next = add i64 %i, 1
  br label %look
failed:
  call void @wengert_dropped(ptr %results, i64 %count)
  ret ptr null
done:
  ret ptr %tuple
}}
"""


def declared(*names):
    """Lines that declare functions of this module."""
    return "\n".join(f"declare {HELPERS[name]}" for name in names)


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
    if [ctypes.c_uint8.from_address(id(x) + HEAD + DIGIT).value for x in (False, True)] != [0, 1]:
        return False
    same = lambda y: (
        ctypes.string_at(id(y) + HEAD, np.dtype(type(y)).itemsize) == np.asarray(y).tobytes()
        and at(y, TYPE, pointer) == id(type(y))
    )
    return all(map(same, numbers))


@functools.cache
def known():
    """What the lines find at %known: the addresses of `FRESH` and `ZEROED`, and of the functions that make numbers,
    arrays of zeros, and arrays; None where NumPy has no such table."""
    core = importlib.import_module(f"numpy.{'_core' if hasattr(np, '_core') else 'core'}._multiarray_umath")
    capsule = getattr(core, "_ARRAY_API", None)
    if capsule is None:
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    at = lambda place: ctypes.c_void_p.from_address(table + place * ctypes.sizeof(ctypes.c_void_p)).value
    return id(FRESH), id(ZEROED), at(SCALAR), at(ZEROS), at(EMPTY)


def works():
    """Whether the functions at these places make what they are taken for."""
    if known() is None:
        return False
    *_, scalar, zeros, empty = known()
    dtype, shape = np.dtype(np.float64), (ctypes.c_int64 * 2)(2, 3)
    words = ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    number = ctypes.PYFUNCTYPE(*words)(scalar)(np.array(2.5).ctypes.data, id(dtype), None)
    made = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int)
    arrays = []
    for make in (zeros, empty):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))
        arrays.append(made(make)(2, ctypes.addressof(shape), dtype, 0))
    fresh = lambda x: x.shape == (2, 3) and x.dtype is dtype and x.flags.owndata and x.flags.carray
    right = type(number) is np.float64 and number == 2.5 and not arrays[0].any()
    return right and all(type(x) is np.ndarray and fresh(x) for x in arrays)
