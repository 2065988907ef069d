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
import weakref

from ...ir.bounded import Remembered
from .debug_lines import asked_for, tell_perf

INSTALLED = importlib.util.find_spec("llvmlite") is not None
OLDEST = 0, 45  # fact: of those before, the LLVM knows no pointers without a type
LOADED = 128  # bound: modules that one linker loads
LOCK = threading.RLock()
ENGINES = weakref.WeakValueDictionary()  # name of machine code -> a MachineCode that somebody has
# name -> machine code, of what was compiled in this process, or kept from another
OBJECTS = Remembered(1 << 8)
SYMBOLS = {}  # name of a C function -> its address
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
    return llvm, target_machine(llvm)


def target_machine(llvm):
    """A new one, of this processor."""
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=3)


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
    """Whether a C function is there, which is then known to linkers; an unresolved one would end the process."""
    function = next((getattr(library, name) for library in libraries() if hasattr(library, name)), None)
    if function is None:
        return False
    SYMBOLS[name] = ctypes.cast(function, ctypes.c_void_p).value
    with LOCK:
        machine()[0].add_symbol(name, SYMBOLS[name])
    return True


class MachineCode:
    """The machine code of a module, which is there as long as somebody has this. name: a digest of all that decides it;
    data: it as an object file."""

    __slots__ = ("name", "engine", "data", "__weakref__")

    def __init__(self, name, engine, data):
        self.name, self.engine, self.data = name, engine, data

    def address(self, function):
        return self.engine[function]


def machine_code(text):
    """The MachineCode of a module of IR text, compiled where nobody has it."""
    with LOCK:
        name = object_name(text)
        found = ENGINES.get(name)
        if found is None:
            start = time.perf_counter()
            found = ENGINES[name] = MachineCode(name, *engine_for(text, name))
            OBJECTS[name] = found.data
            for tell in WATCHERS:
                tell(time.perf_counter() - start)
        for log in LOGS:
            log.add(name)
        return found


def address(text, function):
    """-> (the address of a function of a module of IR text, which stays as long as the process lives, the name of the
    module's machine code)."""
    found = immortal(machine_code(text))
    return found.address(function), found.name


def object_file(name):
    """Machine code of this process as an object file, None where nobody has it."""
    found = ENGINES.get(name)
    return OBJECTS.get(name) if found is None else found.data


def engine_for(text, code):
    """-> (what holds the machine code of a module, and knows its addresses; that as an object file)."""
    llvm, target = machine()
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    made = OBJECTS.get(code)
    if made is None:
        optimise_module(llvm, target, module)
        made = target.emit_object(module)
    declared = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    named = [f.name for f in module.functions if f.name and not f.is_declaration and f.linkage is llvm.Linkage.external]
    library = llvm.JITLibraryBuilder().add_object_img(made).add_current_process()
    for name in filter(has_symbol, declared):
        library.import_symbol(name, SYMBOLS[name])
    for name in named:
        library.export_symbol(name)
    linked = library.link(LINKER.next(llvm, target), f"{code}-{LINKER.count}")
    if asked_for() and sys.platform == "linux":
        sections = llvm.ObjectFileRef.from_data(made).sections()
        size = sum(section.size() for section in sections if section.is_text())
        tell_perf({name: linked[name] for name in named}, size)
    return linked, made


def optimise_module(llvm, target, module):
    """Run LLVM's passes over a module."""
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    # llvmlite's own way to dispose of a manager is hidden by a method of its other base, which does nothing
    if (base := getattr(llvm, "NewPassManager", None)) is not None and "_dispose" in vars(base):
        base._dispose(manager)
        manager.detach()


class Linker:
    """What loads machine code: another one from time to time, for it keeps something of all that it has loaded. It goes
    when all of that has gone."""

    count = 0

    def next(self, llvm, target):
        if self.count % LOADED == 0:
            self.made = llvm.create_lljit_compiler(target, use_jit_link=sys.platform != "win32")
        self.count += 1
        return self.made


LINKER = Linker()


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
