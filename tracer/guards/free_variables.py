"""What a function can reach outside itself, found in its code and that of the user's functions it names: to be put
back, or compared."""

import functools
import types

from ..common.origin import is_user
from ..common.scan import names
from .reliance import library
from .state import UNBOUND, Slot


class Reach:
    """objects: what is named there; slots: the globals, cells, and attributes of modules and classes that name it."""

    def __init__(self, function):
        self.objects, self.slots, self.seen = [], {}, {}
        self.visit(function)

    def visit(self, x):
        if id(x) in self.seen:
            return
        self.seen[id(x)] = x
        if isinstance(x, functools.partial):
            self.objects += [x.args, x.keywords]
            self.visit(x.func)
        elif isinstance(x, types.MethodType):
            self.visit(x.__self__)
            self.visit(x.__func__)
        elif isinstance(x, types.FunctionType):
            self.function(x)
        elif isinstance(x, staticmethod | classmethod):
            self.visit(x.__func__)
        elif isinstance(x, property):
            [self.visit(f) for f in (x.fget, x.fset) if f is not None]
        elif isinstance(x, type):
            if not library(x):
                [
                    self.visit(v)
                    for v in list(vars(x).values())
                    if isinstance(v, types.FunctionType | staticmethod | classmethod | property)
                ]
        elif not isinstance(x, types.ModuleType):
            self.objects.append(x)
            self.visit(type(x))

    def function(self, f):
        if hasattr(f, "__wrapped__"):
            self.visit(f.__wrapped__)
        if not is_user(f.__code__):
            return
        cells, found = dict(zip(f.__code__.co_freevars, f.__closure__ or ())), names(f.__code__)
        chains = {(kind, name): chain for kind, name, _, chain in found.loads}
        for kind, name in {**chains, **dict.fromkeys(found.stores)}:
            if kind == "global" or name in cells:
                slot = (
                    Slot("item", f.__globals__, name, name) if kind == "global" else Slot("cell", cells[name], "", name)
                )
                self.follow(slot, chains.get((kind, name), {}))

    def follow(self, slot, chain):
        value = slot.get()
        self.slots[slot] = value
        if value is UNBOUND:
            return
        self.visit(value)
        if isinstance(value, types.ModuleType | type) and not library(value):
            for key, more in chain.items():
                if hasattr(value, key):
                    self.follow(Slot("attribute", value, key, f"{slot.name}.{key}"), more)
