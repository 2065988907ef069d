"""The one handler that XLA knows, through which it calls all nests; which of them is an attribute of the call.

XLA makes an instance of a handler for each call in a program that it has compiled or read, and deletes it with the
program (the stage `instantiate` and the state of xla/ffi/api/c_api.h). So the instance keeps the machine code: it stays
as long as a program may call it, and no longer. A program that is traced but not compiled keeps it by the attribute.

Instances may be deleted on any thread, after Python has ended too. Nothing of Python's happens then: they are put on a
list, and given back where the next nest is asked for.
"""

import ctypes
import functools

import jax

from ...ir.bounded import Limited
from .build import LOCK, NEST, engine_for, immortal, known_code, machine_code
from .ffi import FAIL, FRAME, declared, message, version
from .layout import FIELDS

TARGET = NEST.rstrip("_")
# name of machine code -> it, whoever has it: of modules that JAX has lowered and is yet to compile, whose traces it has
# been told to forget
RECENT = Limited(1 << 6)
MISSING = "wengert: the machine code of a loop has gone with the function that it was made for; lower that again"

# an instance: {the nest's @execute, its MachineCode, the next on the list}
TEXT = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@look_up = internal global ptr null
@type = internal global ptr null
@list = internal global ptr null

define void @begin(ptr %look_up, ptr %type) {
  store ptr %look_up, ptr @look_up
  store ptr %type, ptr @type
  ret void
}

define void @delete(ptr %instance) {
entry:
  %next.at = getelementptr ptr, ptr %instance, i64 2
  br label %try
try:
  %first = load atomic ptr, ptr @list monotonic, align 8
  store ptr %first, ptr %next.at
  %both = cmpxchg ptr @list, ptr %first, ptr %instance release monotonic
  %done = extractvalue { ptr, i1 } %both, 1
  br i1 %done, label %end, label %try
end:
  ret void
}

define ptr @deleted() {
  %first = atomicrmw xchg ptr @list, ptr null acquire
  ret ptr %first
}
"""

HANDLER = """
define ptr @handler(ptr %frame) {{
entry:
  %state = alloca [{room} x i8], align 8
  %place = getelementptr i8, ptr %frame, i64 8
  br label %look
look:
  %at = phi ptr [ %place, %entry ], [ %next, %other ]
  %extension = load ptr, ptr %at
  %none = icmp eq ptr %extension, null
  br i1 %none, label %stage, label %known
known:
  %kind_at = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %kind_at
  %asked = icmp eq i32 %kind, 1
  %next = getelementptr i8, ptr %extension, i64 16
  br i1 %asked, label %metadata, label %other
other:
  br label %look
metadata:
  %there = getelementptr i8, ptr %extension, i64 24
  %told = load ptr, ptr %there
  %major = getelementptr i8, ptr %told, i64 24
  store i32 {major}, ptr %major
  %minor = getelementptr i8, ptr %told, i64 28
  store i32 {minor}, ptr %minor
  %traits = getelementptr i8, ptr %told, i64 32
  store i32 0, ptr %traits
  %type_at = getelementptr i8, ptr %told, i64 40
  %type = load ptr, ptr @type
  %type_id = load i64, ptr %type
  store i64 %type_id, ptr %type_at
  br label %done
stage:
  %stage_at = getelementptr i8, ptr %frame, i64 32
  %now = load i32, ptr %stage_at
  switch i32 %now, label %done [ i32 0, label %instantiate  i32 3, label %execute ]
instantiate:
  %attributes.at = getelementptr i8, ptr %frame, i64 {attributes}
  %attributes = load ptr, ptr %attributes.at
  %span = load ptr, ptr %attributes
  %text = load ptr, ptr %span
  %size.at = getelementptr i8, ptr %span, i64 8
  %size = load i64, ptr %size.at
  %look_up = load ptr, ptr @look_up
  %new = call ptr %look_up(ptr %text, i64 %size)
  %missing = icmp eq ptr %new, null
  br i1 %missing, label %fail, label %found
found:
{set}
  store ptr %new, ptr %set.state.at
  %set.error = call ptr %set(ptr %state)
  ret ptr %set.error
execute:
{get}
  %get.error = call ptr %get(ptr %state)
  %got = icmp eq ptr %get.error, null
  br i1 %got, label %run, label %refused
refused:
  ret ptr %get.error
run:
  %instance = load ptr, ptr %get.state.at
  %nest = load ptr, ptr %instance
  %came = tail call ptr %nest(ptr %frame)
  ret ptr %came
{fail}done:
  ret ptr null
}}
"""

# the arguments of XLA_FFI_State_Set or _Get; the stage is the first, `instantiate`
STATE = """
  call void @llvm.memset.p0.i64(ptr %state, i8 0, i64 {size}, i1 false)
  store i64 {size}, ptr %state
  %{name}.ctx.from = getelementptr i8, ptr %frame, i64 {ctx}
  %{name}.ctx = load ptr, ptr %{name}.ctx.from
  %{name}.ctx.at = getelementptr i8, ptr %state, i64 {ctx_at}
  store ptr %{name}.ctx, ptr %{name}.ctx.at
  %{name}.type = load ptr, ptr @type
  %{name}.type.at = getelementptr i8, ptr %state, i64 {type_at}
  store ptr %{name}.type, ptr %{name}.type.at
  %{name}.state.at = getelementptr i8, ptr %state, i64 {state_at}
  %{name}.api.at = getelementptr i8, ptr %frame, i64 {api}
  %{name}.api = load ptr, ptr %{name}.api.at
  %{name}.at = getelementptr i8, ptr %{name}.api, i64 {function_at}
  %{name} = load ptr, ptr %{name}.at"""


class TypeInfo(ctypes.Structure):
    """XLA_FFI_TypeInfo"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class HandlerInstance(ctypes.Structure):
    """One of @handler's, in memory that stays when Python ends."""

    _fields_ = [("execute", ctypes.c_void_p), ("code", ctypes.py_object), ("next", ctypes.c_void_p)]


allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("PyMem_RawMalloc", ctypes.pythonapi))
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))


class NestName(str):
    """The name of a nest as an attribute of a call, which keeps its machine code.

    code: the MachineCode.
    """

    def __new__(cls, code):
        found = super().__new__(cls, code.name)
        found.code = code
        return found


def call(text, shapes, **options):
    """A function on jax values that runs a nest, or another function of call frames; text: of a module with @execute;
    shapes, options: as of `jax.ffi.ffi_call`."""
    name = registered(text)
    made = jax.ffi.ffi_call(TARGET, shapes, **options)
    return lambda *operands: made(*operands, name=name)


def registered(text):
    """The NestName of a module, compiled where nobody has it."""
    with LOCK:
        give_back()
        code = machine_code(text)
        RECENT[code.name] = code
        return NestName(code)


def give_back():
    """Let go of what deleted instances keep."""
    place = handler()()
    while place:
        instance = HandlerInstance.from_address(place)
        done, place = place, instance.next
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(instance.code))
        free(done)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def new_instance(text, size):
    """The address of a HandlerInstance of a nest, None where nobody has its machine code."""
    code = known_code(ctypes.string_at(text, size).decode())
    if code is None:
        return None
    place = allocate(ctypes.sizeof(HandlerInstance))
    made = HandlerInstance.from_address(place)
    made.execute, made.next = code.address("execute"), None
    made.code = immortal(code)
    return place


@functools.cache
def handler():
    """@deleted of the handler's module, which is registered then: a function that takes the list."""
    text = message(MISSING) + TEXT + handler_text()
    engine = immortal(engine_for(text, TARGET)[0])
    kind = immortal(ctypes.c_int64(0))
    info = immortal(TypeInfo(ctypes.sizeof(TypeInfo), None, engine["delete"]))
    begin = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine["begin"])
    begin(ctypes.cast(immortal(new_instance), ctypes.c_void_p), ctypes.addressof(kind))
    capsule = lambda place: jax.ffi.pycapsule(ctypes.c_void_p(place))
    described = {"type_id": capsule(ctypes.addressof(kind)), "type_info": capsule(ctypes.addressof(info))}
    jax.ffi.register_ffi_type(TARGET, described, platform="cpu")
    stages = dict.fromkeys(("instantiate", "execute"), capsule(engine["handler"]))
    jax.ffi.register_ffi_target(TARGET, stages, platform="cpu")
    return ctypes.CFUNCTYPE(ctypes.c_void_p)(engine["deleted"])


def handler_text():
    major, minor = version()
    attributes = FRAME["attrs"] + FIELDS["Attrs"]["attrs"]
    room = max(declared().fields(f"State_{kind}_Args")[""][0] for kind in ("Set", "Get"))
    told = {"major": major, "minor": minor, "attributes": attributes, "room": room, "fail": FAIL}
    return HANDLER.format(set=state_call("Set"), get=state_call("Get"), **told)


def state_call(kind):
    """Text that makes ready a call of XLA_FFI_State_`kind`."""
    fields, api = declared().fields(f"State_{kind}_Args"), declared().fields("Api")
    at = {name: offset for name, (offset, _) in fields.items()}
    told = {f"{name}_at": at[field] for name, field in (("ctx", "ctx"), ("type", "type_id"), ("state", "state"))}
    told |= {"ctx": FRAME["ctx"], "api": FRAME["api"], "function_at": api[f"XLA_FFI_State_{kind}"][0]}
    return STATE.format(name=kind.lower(), size=at["state"] + 8, **told)
