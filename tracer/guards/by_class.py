"""Objects known by the way to them instead of by identity: one trace serves all instances of a class that look alike.

An instance among the arguments (`by_class`) is put into a thread-local `InstanceCell` for the time of a call. The cell
is where the Reads of its attributes begin: they are guarded, taken in and stored to as items of a dict are. An instance
that is found on such a way is known by its way too. Of each, the class is guarded; of two of one class, whether they
are one.

A trace may still learn which object it has: code without hooks sees it, `id` is asked, another object of its class is
met outside. Then the trace serves this one object (`pin`), as it does of all objects outside.
"""

import collections
import functools
import gc
import random
import threading
import types

import numpy as np

from ..common.frames import locate
from ..common.origin import is_user
from .draw_sources import GENERATORS
from .guard import CONTAINERS, SCALARS, Read, Same
from .instances import blank, held_by_function, is_opaque, is_plain
from .object_contents import fixed_class
from .reliance import of_user
from .subclasses import is_captured, with_class

MANY = 10_000  # objects that are looked through
NO_FUNCTION = types.FunctionType((lambda: None).__code__, {})


class InstanceCell(threading.local):
    """Holds one argument of the call that this thread runs."""

    object = None

    def __init__(self, kind):
        self.kind = kind

    def __repr__(self):
        return f"any {self.kind.__name__}"


@functools.lru_cache(1024)
def by_class(kind):
    """Whether instances of a class are told apart by what is read of them: they are their attributes, which may change;
    random generators, by what they draw."""
    if kind in GENERATORS:
        return True
    own = of_user(kind) or kind is types.SimpleNamespace
    return own and (is_plain(kind) or is_captured(kind)) and fixed_class(kind) is False and not hasattr(kind, "__del__")


def is_own_function(x):
    """Whether an object is a function of the user's: its code, globals, defaults and variables say what it does."""
    return type(x) is types.FunctionType and is_user(x.__code__)


def is_front(x):
    """Whether an object is a function in front of a Compiled that may have others."""
    callee = x.__dict__.get("callee") if type(x) is types.FunctionType else None
    return callee is not None and callee.front() is x and callee.compiled.cell is not None


def likeness(x):
    """What two objects have in common if they could be one: their class, of functions the code or what was compiled."""
    if type(x) is not types.FunctionType:
        return type(x)
    callee = x.__dict__.get("callee")
    return x.__code__ if callee is None else callee.compiled


class ByClass:
    """The part of `Outside` that knows objects by the way to them."""

    def __init__(self):
        self.ways = {}  # id of an object -> (it, the Read that found it)
        self.pins = False  # whether an argument is known by identity after all
        self.array_objects = {}  # id of an instance of a subclass of np.ndarray -> (it, what stands for it)
        self.subclassed = False  # whether there are such, be they made in the trace
        super().__init__()

    def begin(self, x, cell, name):
        """Note an argument that is in a cell."""
        way = Read("attribute", cell, "object", name, None)
        way.how = "kind"
        self.reads[way.place] = way
        self.ways[id(x)] = x, way

    def way(self, x):
        """The Read that leads to an object known by its way, or None."""
        found = self.ways.get(id(x))
        return found and found[1]

    def is_on_a_way(self, read):
        """Whether a Read begins in a cell."""
        return isinstance(beginning(read), InstanceCell)

    def met(self, read):
        """Whether what a Read has found is known by its way, and needs no guard of its identity."""
        value, known = read.value, self.way(read.value)
        if known is not None and (self.is_on_a_way(read) or type(value) is types.FunctionType):
            read.how, read.other = "same", known
            return True
        if known is not None:
            self.pin(value)
        elif (by_class(type(value)) or is_own_function(value)) and not self.knows(value) and self.is_on_a_way(read):
            read.how = "kind"
            self.ways[id(value)] = value, read
            if type(value) is types.FunctionType:  # of another code it may be another that the trace has met
                self.read("attribute", value, "__code__", f"{value.__name__}.__code__")
            return True
        return is_front(value) and not self.knows(value) and self.is_on_a_way(read) and self.front_by_way(read)

    def rely_on_bits(self, generator):
        """Rely on what kind of bit generator one that is known by its way has."""
        way = self.way(generator)
        if way is not None and not isinstance(generator, random.Random):
            key = "bit_generator" if isinstance(generator, np.random.Generator) else "_bit_generator"
            made = Read("attribute", None, key, f"{way.name}.{key}", locate(), way)
            made.how = "kind"
            self.reads.setdefault(made.place, made)

    def pin(self, x):
        """Rely on which object it is."""
        if id(x) in self.ways:
            way = self.ways[id(x)][1]
            way.how, way.value = "value", x
            self.pins = self.pins or way.parent is None
            self.alone = self.alone or self.is_of_callee(way)

    def pin_within(self, x):
        """Likewise of what an object of the trace's own leads to; of all objects, where that is more than is looked
        through."""
        todo, seen = [x], set()
        while todo and self.ways and len(seen) <= MANY:
            x = todo.pop()
            if id(x) in self.ways:
                self.pin(x)
            elif id(x) not in seen and not is_opaque(x) and not self.knows(x):
                seen.add(id(x))
                todo += held_by_function(x) if isinstance(x, types.FunctionType) else gc.get_referents(x)
        for x, _ in list(self.ways.values()) if len(seen) > MANY else ():
            self.pin(x)

    def settle_ways(self, outs):
        """Once the trace has ended: pin what its results or guards name, or what may be an object met elsewhere; rely
        on the others being several."""
        if not self.ways:
            return
        for out in outs:
            self.pin_within(out.object if out.how == "object" else None)
        for read in self.reads.values():
            for x in (read.owner, *named_in(read.key)):
                self.pin(x)
        elsewhere = {likeness(x) for x, _ in self.names.values() if id(x) not in self.ways}
        kinds = collections.defaultdict(list)
        for x, way in self.ways.values():
            kinds[likeness(x)].append(way)
            if likeness(x) in elsewhere:
                self.pin(x)
        for first, *others in kinds.values():
            if any(way.parent is not None or self.is_of_callee(way) for way in (first, *others)) and others:
                made = Read("itself", None, tuple(r.place for r in others), first.name, locate(), first)
                made.how, made.other = "apart", others
                self.reads[made.place] = made

    def let_go(self):
        """Keep nothing alive that is known by its way."""
        if not self.ways:
            return
        for read in self.reads.values():
            if self.is_on_a_way(read) or type(read.value) is np.ndarray and read.how in ("free", "input", "same"):
                read.value = kept_of(read)
        for held in (self.ways, self.names, self.heap, self.entered, self.whole, self.made, self.containers):
            held.clear()
        self.array_objects.clear()
        self.draws.let_go()
        for held in (self.paths, self.arrays, self.scalars, self.copies, *self.of_functions()):
            held.clear()


def beginning(read):
    """The object at which the way to a Read begins."""
    while read.parent is not None:
        read = read.parent
    return read.owner


def named_in(key):
    """What a key is made of."""
    if type(key) is tuple:
        return [part for x in key for part in named_in(x)]
    return [key.object if type(key) is Same else key]


def kept_of(read):
    """In place of the value of a Read, what its guard asks of that."""
    value, kind = read.value, type(read.value)
    if read.how in ("free", "same"):
        return NO_FUNCTION if kind is types.FunctionType else None
    if read.how == "input" and kind is np.ndarray:
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    if read.how == "kind" and not isinstance(value, (*SCALARS, np.generic)):
        return kind() if kind in CONTAINERS else NO_FUNCTION if kind is types.FunctionType else blank_of(kind)
    return None if read.how == "apart" else value


def blank_of(kind):
    """An instance without attributes, and without elements."""
    if kind is np.ndarray:
        return np.empty(0)
    if kind in GENERATORS or issubclass(kind, np.random.BitGenerator):
        return kind(np.random.PCG64(0)) if kind is np.random.Generator else kind(0)
    return with_class(kind, np.empty(0)) if issubclass(kind, np.ndarray) else blank(kind)


def present(x):
    """What a cell holds now; all else as it is."""
    return x.object if type(x) is InstanceCell else x
