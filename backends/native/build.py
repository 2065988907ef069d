"""LLVM IR text -> machine code for this processor, by llvmlite, an optional package; loaded when the first nest is
compiled."""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import re
import sys
import threading
import time

from .debug_lines import asked_for, tell_perf

INSTALLED = importlib.util.find_spec("llvmlite") is not None
OLDEST = 0, 45  # fact: of those before, the LLVM knows no pointers without a type
LOCK = threading.RLock()
ENGINES = {}  # name of machine code -> what holds it, as long as the process lives: programs have bare pointers into it
OBJECTS = {}  # name -> machine code, of what was compiled in this process, or kept from another
WATCHERS = []  # called with the seconds that LLVM took for each module
LOGS = []  # sets that receive the name of the machine code of each module asked for


@functools.cache
def version():
    """The first two numbers of llvmlite's version, where it tells."""
    try:
        found = importlib.metadata.version("llvmlite")
    except importlib.metadata.PackageNotFoundError:  # put there without saying so
        return OLDEST
    return tuple(map(int, re.findall(r"\d+", found)[:2]))


@functools.cache
def machine():
    """(llvmlite.binding, the target machine of this processor)"""
    llvm = importlib.import_module("llvmlite.binding")  # a fifth of a second, which only those pay who compile a nest
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    made = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    return llvm, made


@functools.cache
def libraries():
    """The process itself, the C library under the names it has elsewhere, NumPy's distributions, and Python."""
    found = []
    distributions = getattr(importlib.import_module("numpy.random"), "_generator", None)
    for name in (None, "libm.so.6", "libSystem.dylib", "ucrtbase", getattr(distributions, "__file__", None)):
        with contextlib.suppress(OSError, TypeError):
            found.append(ctypes.CDLL(name))
    return [*found, ctypes.pythonapi]


@functools.cache
def has_symbol(name):
    """Whether a C function is there, which is then known to the linker; an unresolved one would end the process."""
    function = next((getattr(library, name) for library in libraries() if hasattr(library, name)), None)
    if function is None:
        return False
    with LOCK:
        machine()[0].add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return True


def address(text, name):
    """-> (the address of the function `name` of a module of IR text, the name of the module's machine code in OBJECTS);
    compiled once."""
    with LOCK:
        code = object_name(text)
        if code not in ENGINES:
            start = time.perf_counter()
            ENGINES[code] = engine_for(text, code)
            for tell in WATCHERS:
                tell(time.perf_counter() - start)
        for log in LOGS:
            log.add(code)
        return ENGINES[code].get_function_address(name), code


def engine_for(text, code):
    """The engine that holds the machine code of a module."""
    llvm, target = machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    if code not in OBJECTS:
        builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
    named = [f.name for f in module.functions if f.name and not f.is_declaration and f.linkage is llvm.Linkage.external]
    engine = immortal(llvm.create_mcjit_compiler(module, target))
    engine.set_object_cache(lambda _, made: OBJECTS.setdefault(code, made), lambda _: OBJECTS.get(code))
    engine.finalize_object()
    if asked_for() and sys.platform == "linux":
        sections = llvm.ObjectFileRef.from_data(OBJECTS[code]).sections()
        size = sum(section.size() for section in sections if section.is_text())
        tell_perf({name: engine.get_function_address(name) for name in named}, size)
    return engine


def immortal(x):
    """An object that is never freed, not even when Python ends: what has a bare pointer into it may be freed later."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return x


def object_name(text):
    """A digest of all that decides the machine code of a module."""
    llvm, target = machine()
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    parts = text, target.triple, str(target.target_data), processor, str(llvm.llvm_version_info)
    return f"nest-{hashlib.sha256(repr(parts).encode()).hexdigest()}"
