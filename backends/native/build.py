"""LLVM IR text -> machine code for this processor, by llvmlite, an optional package; loaded when the first nest is
compiled."""

import contextlib
import contextvars
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

from ...ir.bounded import Limited
from ...ir.forks import hold_while_forking
from ...ir.setting import set_within
from . import objects
from .debug_lines import asked_for, tell_perf
from .threads import POOL, SHARE, pool_text
from .vector_math import SUFFIX, VectorForm, keeping_vector_forms, single_lanes

INSTALLED = importlib.util.find_spec("llvmlite") is not None
OLDEST = 0, 45  # fact: of those before, the LLVM knows no pointers without a type
NEST = "wengert_nest_"  # how the names of nests begin
# bound: lines of a module beyond which no loops are written out: LLVM took 4 to 7 s for a transformer's gradient of
# 3,000 to 4,000 lines, and a fifth of that without, for code that takes 1.16 times as long
LONG = 2500
LOADED = 128  # bound: modules that one linker loads
LOCK = threading.RLock()
ENGINES = weakref.WeakValueDictionary()  # name of machine code -> a MachineCode that somebody has
# name -> machine code, of what was compiled in this process, or kept from another
OBJECTS = Limited(1 << 8)
SYMBOLS = {}  # name of a C function -> its address
WATCHERS = []  # called with the seconds that LLVM took for each module
LOGS = []  # sets that receive the name of the machine code of each module asked for
# a list that receives each MachineCode asked for that is compiled quickly
QUICK = contextvars.ContextVar("quick", default=None)


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
    hold_while_forking(LOCK, getattr(llvm.ffi.lib, "_lock", None))
    return llvm, target_machine(llvm)


def target_machine(llvm, level=3):
    """A new one, of this processor. level: from 0 to 3, of the optimisation."""
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=level)


@functools.cache
def quick_target():
    """That for code which is compiled at once, and optimised later: a twentieth of the time, for code that takes ten
    times as long."""
    return target_machine(machine()[0], 0)


@functools.cache
def libraries():
    """The process itself, the C library under the names it has elsewhere, its vector functions, NumPy's distributions
    and its BLAS, and Python."""
    found = []
    file_of = lambda module, part: getattr(getattr(importlib.import_module(module), part, None), "__file__", None)
    of_numpy = file_of("numpy.random", "_generator"), file_of("numpy.linalg", "_umath_linalg")
    for name in (None, "libm.so.6", "libSystem.dylib", "ucrtbase", "libmvec.so.1", *of_numpy):
        with contextlib.suppress(OSError, TypeError):
            found.append(ctypes.CDLL(name))
    return [*found, ctypes.pythonapi]


@functools.cache
def has_symbol(name):
    """Whether a C function is there, which is then known to linkers; an unresolved one would end the process."""
    if name in objects.HELPERS:
        found = helpers().address(name)
    else:
        found = pool() if name == SHARE else library_address(name.removesuffix(SUFFIX))
    if found is None:
        return False
    SYMBOLS[name] = found
    with LOCK:
        machine()[0].add_symbol(name, SYMBOLS[name])
    return True


def library_address(name):
    """The address of a C function of the libraries, None where none has it."""
    function = next((getattr(library, name) for library in libraries() if hasattr(library, name)), None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def pool():
    """The address of the function that shares the parts of a loop among threads, which begin with it."""
    code = immortal(machine_code(pool_text()))
    POOL.begin(code.address)
    return code.address(SHARE)


@functools.cache
def helpers():
    """The MachineCode of the functions that nests share."""
    with set_within(QUICK, None):
        return immortal(machine_code(objects.MODULE))


@functools.cache
def vector_form(function, one, count):
    """The VectorForm of a C function of `count` numbers of one type of LLVM's; None where there is none here."""
    features = machine()[0].get_host_cpu_features()
    letter, width = ("d", 32) if features.get("avx2") else ("b", 16)
    lanes = width // {"float": 4, "double": 8}[one]
    vector = f"_ZGV{letter}N{lanes}{'v' * count}_{function}"
    return VectorForm.of(function, vector, one, lanes, count) if has_symbol(vector) else None


class MachineCode:
    """The machine code of a module, which is there as long as somebody has this. name: a digest of all that decides it;
    data: it as an object file.

    text: of a module that was compiled quickly, until it is optimised; cells: (a weak reference to who has it, address,
    function) of what holds the address of a function of it; quick: what holds the first code, which may be running.
    """

    __slots__ = ("name", "engine", "data", "text", "cells", "quick", "__weakref__")

    def __init__(self, name, engine, data, text=None):
        self.name, self.engine, self.data = name, engine, data
        self.text, self.cells, self.quick = text, [], None

    def address(self, function):
        return self.engine[function]

    def enter(self, owner, place, function):
        """Have the address of a function where it is called from."""
        if self.text is not None:
            self.cells.append((weakref.ref(owner), place, function))
        ctypes.c_void_p.from_address(place).value = self.address(function)

    def optimise(self):
        """Have LLVM optimise what was compiled quickly; later calls run that."""
        with LOCK:
            if self.text is None:
                return
            self.quick = self.engine
            self.engine, self.data = timed_engine(self.text, self.name)
            OBJECTS[self.name], self.text = self.data, None
            for owner, place, function in self.cells:
                if owner() is not None:
                    ctypes.c_void_p.from_address(place).value = self.address(function)
            self.cells.clear()


def machine_code(text):
    """The MachineCode of a module of IR text, compiled where nobody has it."""
    with LOCK:
        name, asked = object_name(text), QUICK.get()
        quickly = asked is not None and name not in OBJECTS and not asked_for()
        found = ENGINES.get(name)
        if found is None:
            found = ENGINES[name] = MachineCode(name, *timed_engine(text, name, quickly), text if quickly else None)
            if not quickly:
                OBJECTS[name] = found.data
        elif not quickly:
            found.optimise()
        if found.text is not None and found not in asked:
            asked.append(found)
        for log in LOGS:
            log.add(name)
        return found


def compiled_quickly():
    """Within, modules that nobody has are compiled without being optimised -> a list that receives their
    MachineCodes."""
    return set_within(QUICK, [])


def timed_engine(text, code, quickly=False):
    """`engine_for`; who wants to know is told how long it took."""
    start = time.perf_counter()
    made = engine_for(text, code, quickly)
    for tell in WATCHERS:
        tell(time.perf_counter() - start)
    return made


def address(text, function):
    """-> (the address of a function of a module of IR text, which stays as long as the process lives, the name of the
    module's machine code)."""
    found = immortal(machine_code(text))
    return found.address(function), found.name


def known_code(name):
    """The MachineCode of a name, None where nobody has it."""
    return ENGINES.get(name)


def object_file(name):
    """Machine code of this process as an object file, None where nobody has it."""
    found = known_code(name)
    return OBJECTS.get(name) if found is None else found.data


def engine_for(text, code, quickly=False):
    """-> (what holds the machine code of a module, and knows its addresses; that as an object file). quickly: not
    optimised."""
    llvm, target = machine()
    context = llvm.create_context()
    module = llvm.parse_assembly(keeping_vector_forms(text), context=context)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    made = quick_target().emit_object(module) if quickly else OBJECTS.get(code)
    if made is None:
        optimise_module(llvm, target, module, text.count("\n") <= LONG)
        if SUFFIX in text:
            add_single_lanes(llvm, module, text, context)
        made = target.emit_object(module)
    named = [f.name for f in module.functions if f.name and not f.is_declaration and f.linkage is llvm.Linkage.external]
    if asked_for():
        return loaded_for_debuggers(llvm, module, made, named), made
    declared = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    library = llvm.JITLibraryBuilder().add_object_img(made).add_current_process()
    for name in filter(has_symbol, declared):
        library.import_symbol(name, SYMBOLS[name])
    for name in named:
        library.export_symbol(name)
    return library.link(LINKER.next(llvm, target), f"{code}-{LINKER.count}"), made


def add_single_lanes(llvm, module, text, context):
    """What an optimised module calls one by one beside the vector form of the same."""
    for name, definition in single_lanes(text, str(module)).items():
        module.link_in(llvm.parse_assembly(definition, context=context))
        module.get_function(name).linkage = llvm.Linkage.internal


def loaded_for_debuggers(llvm, module, made, named):
    """{name of a function: its address}, loaded by MCJIT, which tells gdb of it; it stays as long as the process
    lives."""
    engine = immortal(llvm.create_mcjit_compiler(module, target_machine(llvm)))
    engine.set_object_cache(lambda *_: None, lambda _: made)
    engine.finalize_object()
    found = {name: engine.get_function_address(name) for name in named}
    if sys.platform == "linux":
        sections = llvm.ObjectFileRef.from_data(made).sections()
        tell_perf(found, sum(section.size() for section in sections if section.is_text()))
    return found


def optimise_module(llvm, target, module, unroll):
    """Run LLVM's passes over a module. unroll: whether trips of its loops may be written out."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(target, options)
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
    return f"{NEST}{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"
