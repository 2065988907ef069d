"""Functions known by the way to them instead of by identity: one trace serves all function objects of one code, and
methods and callable objects of one class.

A function that is compiled is put into a thread-local `CalleeCell` for the time of a call. Its code and defaults, and
what its enclosing variables hold, are Reads that begin there, so that a guard asks the function object that is called
now: one made anew in a loop has other cells. Functions of the user's that are found on such a way, in a variable or
among defaults, are known by their way too.

Cells are told apart by the function that they are read through. Where a variable that the trace assigns, or takes in at
every call, is reached through two functions, these are relied on by identity: that they share it is no part of the way.
"""

import types

from ..common.frames import locate
from .by_class import InstanceCell, beginning
from .guard import Read


class CalleeCell(InstanceCell):
    """Holds the function of the call that this thread runs, and the Callee that it belongs to."""

    callee = None

    def __init__(self):
        super().__init__(types.FunctionType)


class ByWay:
    """The part of `Outside` that knows functions by the way to them."""

    def __init__(self):
        # id of a cell -> (it, {place of the way to a function, or None: (that way, number of the cell)})
        self.routes = {}
        self.followed = set()  # functions known by their way whose code and defaults are relied on
        self.alone = False  # whether the trace is for one function object
        self.callee = None  # the cell of the function that is called, where that is known by its way
        super().__init__()

    def begin_callee(self, cell, name):
        """Note the function that is called."""
        self.callee, way = cell, Read("attribute", cell, "object", name, None)
        called = way.value
        # code generated for it holds nothing else; an instance may be made one of another class
        way.how = "free" if type(called) in (types.FunctionType, types.MethodType) else "kind"
        self.reads[way.place] = way
        self.ways[id(called)] = called, way
        self.names[id(called)] = called, name
        if type(called) is types.MethodType:  # of an instance that is known by its class
            for part, shown in (("__self__", called.__func__.__code__.co_varnames[:1]), ("__func__", (name,))):
                read = Read("attribute", None, part, "".join(shown) or part, None, way)
                read.how = "kind" if part == "__self__" else "free"  # a method keeps both
                self.reads[read.place] = read
                self.ways[id(read.value)] = read.value, read
                self.names[id(read.value)] = read.value, read.name

    def front_by_way(self, read):
        """A function in front of a Compiled, known by that and by the way to the user's function behind it; False where
        behind it is something else."""
        callee, name = read.value.__dict__["callee"], read.name
        if callee.object is not None and type(callee.object) is not types.FunctionType:
            return False
        read.how, held = "kind", Read("attribute", None, "callee", name, None, read)
        held.how = "free"
        for key in ("compiled", "object"):
            part = Read("attribute", None, key, f"{name}.{key}", None, held)
            self.reads[part.place] = part
        self.reads[held.place], self.ways[id(read.value)] = held, (read.value, read)
        if callee.object is not None and (known := self.way(callee.object)) is not None:
            part.how, part.other = "same", known
        elif callee.object is not None and not self.knows(callee.object):
            part.how = "kind"
            self.ways[id(callee.object)] = callee.object, part
            self.names[id(callee.object)] = callee.object, name
            self.read("attribute", callee.object, "__code__", f"{name}.__code__")
        return True

    def is_of_callee(self, read):
        """Whether a Read begins at the function that is called."""
        return self.callee is not None and beginning(read) is self.callee

    def of_functions(self):
        """What the trace has noted of functions, where it is to keep none of them alive."""
        return () if self.callee is None else (self.functions, self.routes, self.followed)

    def read_cell(self, f, cell, name, line):
        """The Read of a variable that a function closes over."""
        way, number = self.routed(f, cell, name)
        if way is None:
            return self.read("cell", cell, "", name, line)
        return self.read("cell", None, number, name, line, way)

    def routed(self, f, cell, name):
        """Note through which function a cell is reached -> (the way to that, the number of the cell in it)."""
        way, number = self.way(f), f.__code__.co_freevars.index(name)
        self.routes.setdefault(id(cell), (cell, {}))[1][way and way.place] = way, number
        return way, number

    def route(self, cell):
        """-> (the way to the function through which a cell is reached, its number there), or None where it is the cell
        itself that is known."""
        found = self.routes.get(id(cell), (None, {None: None}))[1]
        return None if None in found else next(iter(found.values()))

    def parts_by_way(self, f, way, names):
        """Rely on the code and the defaults of a function that is known by its way."""
        if f in self.followed:
            return
        self.followed.add(f)
        self.read("attribute", f, "__code__", f"{f.__name__}.__code__")
        for name in names:
            if getattr(f, name) is not None:  # where there is none, none is used by calls of this signature
                for part in self.items_within(self.read("attribute", f, name, f"{f.__name__}.{name}")):
                    self.firm(part)
        if way.how != "free":  # of the function that is called they are part of the key
            made = Read("attribute", None, "__globals__", f"{f.__name__}.__globals__", locate(), way)
            self.reads.setdefault(made.place, made)

    def items_within(self, read):
        """The Reads of what a tuple or dict holds, and the tuples in it."""
        held = read.value
        self.read("contents", None, None, f"the contents of {read.name}", parent=read)
        for key in held if type(held) is dict else range(len(held)):
            part = self.read("item", None, key, f"{read.name}[{key!r}]", parent=read)
            yield part
            if type(part.value) is tuple:
                yield from self.items_within(part)

    def settle_routes(self):
        """Pin the functions that share a variable which the trace has assigned or taken in."""
        changed = {id(slot.owner) for slot in self.heap if slot.kind == "cell"}
        for key in changed & self.routes.keys():
            found = self.routes[key][1]
            if len(found) > 1:
                for x, way in list(self.ways.values()):
                    if way.place in found:
                        self.pin(x)
