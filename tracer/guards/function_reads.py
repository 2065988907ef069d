"""What functions name outside themselves: noted where they are called, followed where no hook sees what they read."""

import builtins
import types

import numpy as np

from ..common.errors import UnsupportedError, message, shown
from ..common.frames import locate
from ..common.scan import names
from ..values.array import Traced
from . import isolation
from .guard import BUILTINS, MISSING, SCALARS
from .object_contents import NUMPYS
from .reliance import library
from .relied_arrays import RELIED_ON
from .state import SEEN_THROUGH, UNBOUND, Slot, inside

NUMBERS = (int, float, complex)
ADDING = {"append", "extend", "add", "appendleft", "extendleft"}  # methods that tell nothing of what was there
REBOUND = {"stdout", "stderr", "stdin"}  # looked up again by what prints
FEW = 64  # items of a container that code without hooks may read
FUNCTIONS = {types.FunctionType, types.BuiltinFunctionType, type, *NUMPYS}  # are to the trace what they are


class FunctionReads:
    """Reads of names, by functions with hooks and without."""

    def function(self, f, hooked):
        """Note what a function that is called names outside itself."""
        code, closure = f.__code__, f.__closure__ or ()
        self.function_itself(f)
        way = self.way(f)
        key = code, id(f.__globals__), way and way.place, *map(id, closure)
        if key in self.functions:
            return
        self.functions[key] = f
        cells, found = dict(zip(code.co_freevars, closure)), names(code)
        for kind, name in found.stores:
            self.assigns(f, kind, name, cells)
        for kind, name, line, chain in found.loads:
            read = self.named(f, kind, name, line, cells)
            if read is not None and not hooked:
                self.follow(read, chain)

    def assigns(self, f, kind, name, cells):
        """Note a variable outside that a function assigns."""
        slot = Slot("item", f.__globals__, name, name) if kind == "global" else Slot("cell", cells[name], "", name)
        isolation.refuse(f"it assigns {name}, a variable outside")
        self.assigned.add(slot)
        if kind != "global":
            self.routed(f, slot.owner, name)
        if slot not in self.heap:
            self.heap[slot] = slot.get()
            if inside() or self.place(slot).place in self.promoted:  # whether it is assigned has to be seen
                self.enter_variable(slot)

    def named(self, f, kind, name, line, cells):
        """The Read of a variable outside that a function names; None where the trace has given it what it holds."""
        slot = Slot("item", f.__globals__, name, name) if kind == "global" else Slot("cell", cells.get(name), "", name)
        if kind != "global" and slot.owner is not None:
            self.routed(f, slot.owner, name)
        value = slot.get() if slot.owner is not None else UNBOUND
        isolation.agree(kind, slot.owner, slot.key, MISSING if value is UNBOUND else value)
        if isinstance(value, Traced) or value is UNBOUND and not (kind == "global" and hasattr(builtins, name)):
            return None
        if self.heap.get(slot, value) is not value:
            return None  # assigned since
        read = (
            self.read_cell(f, slot.owner, name, line)
            if slot.kind == "cell"
            else self.read("item", slot.owner, slot.key, name, line)
        )
        isolation.agree(kind, slot.owner, slot.key, read.value)
        if read.value is MISSING and kind == "global":
            read = self.builtin(read, line)
        if read.how == "input" and not isinstance(read.value, np.ndarray):
            isolation.refuse(f"{name}, a number outside, keeps changing")
            self.heap.setdefault(slot, value)
            self.entered[slot] = self.scalar(read)
            slot.set(self.entered[slot])
        return read

    def builtin(self, read, line):
        """The Read of what a name means that is no global: it may be exchanged in the module `builtins`, or be the
        user's own there."""
        if read.key in BUILTINS:
            read.builtin = getattr(builtins, read.key)
            return read
        return self.read("item", vars(builtins), read.key, read.name, line)

    def follow(self, read, chain):
        """Rely on all that code without hooks can reach from a name."""
        value = read.value
        self.firm(read)
        self.as_found(value, read.name)
        if read.how == "free":
            if value.size > RELIED_ON:
                text = (
                    f"{read.name}, an array of shape {value.shape}, is read by a generator or a function without "
                    "source, which is not captured"
                )
                raise UnsupportedError(
                    message(text, locate(), "Pass it as an argument, or read it in a function that is captured.")
                )
            read.how, read.other = "contents", value.copy()
        elif isinstance(value, np.ndarray) and read.how in ("input", "same"):
            # the program takes it in, and this has read it while tracing
            self.rely(value)
        if type(value) in SEEN_THROUGH and len(value) <= FEW:
            self.read("contents", None, None, f"the contents of {read.name}", parent=read)
            if type(value) in (list, dict, tuple):
                for k in value if isinstance(value, dict) else range(len(value)):
                    self.follow(self.read("item", None, k, f"{read.name}[{shown(k)}]", parent=read), {})
        if isinstance(value, types.ModuleType) and library(value) or isinstance(value, (*SCALARS, np.ndarray)):
            return
        for key, more in chain.items():
            if getattr(value, key, MISSING) is getattr(value, key, None):
                self.follow(self.read("attribute", value, key, f"{read.name}.{key}"), more)
