"""What one trace meets of the world outside it: what it relied on, what it takes in, and what it changes there.

An array found outside is an argument like any other: it is read at every call, and may be written. A
container is seen through a copy, in which such arrays are traced; what was done to the copy is done to
the container at every call. Attributes and items stored to hold their new values while the function is
traced, are put back then, and are stored again at every call, after all that can fail.
"""

import collections
import copy
import io
import types
import weakref

import numpy as np

from ...ir.core import Value
from ...ir.types import SHORT, Tensor, type_of
from ..common.errors import UnsupportedError, message, shown
from ..common.frames import locate
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.storage import Storage, current_trace
from . import isolation
from .by_class import ByClass
from .by_way import ByWay
from .container_reads import ContainerReads
from .draws import Draws
from .effects import Original
from .function_reads import FunctionReads
from .guard import MISSING, SCALARS, Read, contents, refuse_large, refuse_many, small
from .instances import hidden, is_plain
from .object_contents import CODE, LOCKS, NUMPYS, is_advanced, shown_kind
from .reliance import OURS, Reliance
from .relied_arrays import RELIED_ON, ReliedArrays
from .repeated_calls import Asked, context
from .running_draws import DRAWN
from .state import SEEN_THROUGH, Slot, items
from .stores import Stores, flat_contents
from .subclasses import is_captured
from .unhooked import Unhooked

NUMBERS = (int, float, complex)
REBOUND = {"stdout", "stderr", "stdin"}  # looked up again by what prints
OF_OBJECTS = ("attribute", "own", "memory")  # kinds of places that an object known by its way has
FUNCTIONS = {types.FunctionType, types.BuiltinFunctionType, type, *NUMPYS}  # are to the trace what they are


def changing(value):
    """Whether a value could be taken in at every call instead of being relied on."""
    if type(value) is int:
        return small(value)
    return (
        type(value) in NUMBERS
        or isinstance(value, np.generic)
        and value.dtype.name in SHORT
        and value.dtype.kind in "iufc"
    )


class Outside(ContainerReads, FunctionReads, Stores, Reliance, ByWay, ByClass):
    """arguments: how many dynamic arguments come before the inputs; promoted: places taken in though they are numbers;
    frozen: of what kinds of numbers small arrays are relied on instead of taken in."""

    of_jax = False  # whether the function is called with jax arrays
    asks_jax = False  # whether it has called functions of JAX's
    stand_in = None  # `installations`: an array of a subclass as the trace sees it

    def __init__(self, arguments=0, promoted=(), frozen=""):
        self.arguments, self.promoted, self.frozen = arguments, frozenset(promoted), frozen
        self.reads = {}  # place -> Read
        self.inputs = []  # [(Read, Value)]
        self.functions, self.names = {}, {}  # names: id -> (object, what the user calls it)
        self.paths = {}  # id(array) -> the Read that found it
        self.containers = {}  # id(container) -> (it, the Read that found it)
        self.arrays, self.scalars = {}, {}
        self.mirrors = {}  # id(container) -> (it, the copy, the copy's items as made, Read)
        self.copies = {}  # id(copy) -> Read
        self.grown = {}  # id -> what such a copy held once those calls were made of it
        self.calls = []  # [(container, Call, arguments)]
        self.heap = {}  # Slot -> value before the trace
        self.entered = {}  # Slot -> what stands for that value in the trace
        self.assigned = set()  # slots of globals and cells that the functions called may assign
        self.made = {}  # id -> weak reference to an instance made while tracing
        self.doubtful = set()  # ids of what code without hooks names, which may be from outside, or made in the trace
        self.written = ()
        self.relied = ReliedArrays()
        self.draws = Draws()
        self.check_places = {}  # number of a check -> the user's line that made it, where that is known
        self.changed_errors = []  # exceptions of which attributes were stored, which are put back where the trace ends
        self.identified = False  # whether it was asked which list or dict one is
        self.stray = Unhooked(self)  # sees what runs without hooks
        # how many calls have asked the world; what the program calls that acts on it, last
        self.asked, self.acted = 0, None
        super().__init__()

    # -- reading -----------------------------------------------------------------------------------
    def read(self, kind, owner, key, name, source=None, parent=None):
        if parent is None and kind in OF_OBJECTS and id(owner) in self.ways:
            owner, parent = None, self.way(owner)
        place = kind, id(owner) if parent is None else parent.place, key
        found = self.reads.get(place)
        if found is None:
            refuse_many(self.reads, name)
            found = self.reads[place] = Read(kind, owner, key, name, source or locate(), parent)
            if kind not in ("contents", "state"):
                self.meet(found)
        return found

    def meet(self, read):
        """Note how an object was reached."""
        value, kind = read.value, type(read.value)
        if read.place in self.promoted and changing(value):
            read.how = "input"
        elif kind is np.ndarray and value.dtype.name in SHORT and value.dtype.isnative and not self.is_frozen(read):
            first = self.paths.setdefault(id(value), read)
            read.how, read.other = ("free", None) if first is read else ("same", first)
        elif isinstance(value, np.ndarray) and not is_captured(kind):
            isolation.refuse(f"it needs to know what is in the array {read.name}")
            read.how, read.other = "contents", self.relied.meet(value, read)
            if value.dtype.hasobject:
                self.names.setdefault(id(value), (value, read.name))
        elif kind in SEEN_THROUGH:
            first = self.containers.setdefault(id(value), (value, read))[1]
            read.how, read.other = (
                ("kind" if kind in (list, dict, tuple) else "value", None) if first is read else ("same", first)
            )
        elif kind not in SCALARS:
            self.meet_bound(read)
            self.met(read)
            self.met_within(value if kind is frozenset else (), read.name)
            self.names.setdefault(id(value), (value, read.name))
            self.stray.meet(value if isinstance(value, type) else kind)
            if "decimal" in (kind.__module__, getattr(value, "__module__", None), getattr(value, "__name__", None)):
                made = Asked(context, (), {}, 0, "the context of decimal", locate(), False)
                self.reads.setdefault(made.place, made)

    def is_frozen(self, read):
        array = read.value
        return read.kind != "memory" and array.dtype.kind in self.frozen and array.size <= RELIED_ON

    def enter(self, read, whole=True):
        """What the trace gets to see of the value of a read."""
        value = read.value
        if read.how == "input" and not isinstance(value, np.ndarray):
            return self.scalar(read)
        return self.seen(value, whole)

    def seen(self, value, whole=True):
        """A value of an outside place as the trace sees it."""
        if type(value) is np.ndarray:
            return self.array(value) if id(value) in self.paths else value
        if type(value) in SEEN_THROUGH and whole and id(value) in self.containers:
            return self.mirror(value)
        return Outside.stand_in(value) if isinstance(value, np.ndarray) else value

    def take(self, read, type):
        root = current_trace().root
        value = Value(type, None, "".join(c if c.isalnum() else "_" for c in read.name).strip("_"))
        root.build.values.add(value)
        self.inputs.append((read, value))
        return value

    def array(self, array):
        found = self.arrays.get(id(array))
        if found is None:
            read = self.paths[id(array)]
            read.how = "input" if read.how == "free" else read.how
            value = self.take(read, type_of(array))
            storage = Storage(
                value, current_trace().root, self.arguments + len(self.inputs) - 1, not array.flags.writeable
            )
            found = self.arrays[id(array)] = TracedArray(storage)
        return found

    def scalar(self, read):
        found = self.scalars.get(read.place)
        if found is None:
            weak = type(read.value) if type(read.value) in NUMBERS else None
            value = self.take(read, Tensor((), WEAK_DTYPES[weak] if weak else read.value.dtype))
            found = self.scalars[read.place] = TracedScalar(value, weak)
            current_trace().root.numbers |= {value} - {weak is int and value}
        return found

    def mirror(self, container):
        """The copy of an outside container that the trace works on."""
        found = self.mirrors.get(id(container))
        if found is not None:
            return found[1]
        try:
            return self.copied(container)
        except RecursionError:
            text = (
                f"{self.containers[id(container)][1].name:.100}, a {type(container).__name__} from outside, is nested "
                "too deeply"
            )
            raise UnsupportedError(message(text, locate(), "Hold its items in one list, or in an array.")) from None

    def copied(self, container):
        read, kind = self.containers[id(container)][1], type(container)
        refuse_large(container, read.name)
        self.refuse_copy(container, read.name)
        owner = self.instance_of(container)
        self.refuse_in_region(owner)
        with self.unstored(owner):
            made = self.as_met(read, container)
        if kind is tuple:
            return made
        self.mirrors[id(container)] = container, made, flat_contents(made), read
        self.stored_attributes(owner, container, made)
        for _, call, args in [c for c in self.calls if c[0] is container]:
            getattr(made, call.method)(*args)
            self.grown[id(made)] = items(made)
        self.calls = [c for c in self.calls if c[0] is not container]
        return made

    def as_met(self, read, container):
        """A copy of a container, with what it held before the trace."""
        kind = type(container)
        self.read("contents", None, None, f"the contents of {read.name}", parent=read)
        if kind is tuple:
            parts = [self.part(read, i) for i in range(len(container))]
            made = container if all(a is b for a, b in zip(parts, container)) else tuple(parts)
            self.mirrors[id(container)] = container, made, None, read
            return made
        made = copy.copy(container)
        if kind not in (list, collections.deque):
            self.met_within(container, read.name)  # keys and members, which no read names
        isolation.require_unchanged(self.reads["contents", read.place, None].value, contents(made), read.name)
        self.mirrors[id(container)] = container, made, None, read
        self.copies[id(made)] = read
        if kind in (list, collections.deque):
            for i in range(len(container)):
                made[i] = self.part(read, i)
        elif kind is not set:
            for k in container:
                made[k] = self.part(read, k)
        return made

    def part(self, parent, key):
        container = parent.value
        if Slot("item", container, key, "") in self.heap:
            return container[key]
        return self.enter(self.read("item", None, key, f"{parent.name}[{shown(key)}]", parent=parent))

    # -- hooks -------------------------------------------------------------------------------------
    def attribute(self, owner, key, whole=True):
        """`owner.key`, noted if it is outside."""
        kind, whole = type(owner), whole or key == "__dict__" and bool(self.slots_of(owner))
        if kind is types.ModuleType and (known := self.noted_function(owner, key)) is not None:
            return known
        if kind is np.ndarray:
            return getattr(self.array(owner) if id(owner) in self.paths else owner, key)
        if kind in SEEN_THROUGH:
            return self.method(owner, key) if id(owner) in self.containers else getattr(owner, key)
        if not self.noted(owner, key) and not self.own_state(owner, key):
            return getattr(owner, key)
        made = self.made.get(id(owner))
        if made is not None and made() is owner or Slot("attribute", owner, key, "") in self.heap:
            return getattr(owner, key)
        name = f"{self.called(owner)}.{key}"
        fixed = (
            next((vars(c)[key] for c in kind.__mro__ if key in vars(c)), MISSING)
            if not isinstance(owner, type | types.ModuleType)
            else MISSING
        )
        if (
            isinstance(fixed, types.FunctionType | classmethod)
            and type(value := getattr(owner, key)) is types.MethodType
        ):
            self.bound(owner, key, fixed)
            return value
        value = getattr(owner, key, MISSING)
        if value is MISSING or getattr(owner, key, MISSING) is value or isinstance(value, (*SCALARS, np.ndarray)):
            read = self.read("attribute", owner, key, name)
            return getattr(owner, key) if value is MISSING else self.enter(read, whole)
        if not isinstance(value, (types.MethodType, *CODE)):
            self.rely(owner)
        return value

    def noted_function(self, module, key):
        """A function of a module that is as it was when it was noted, or None."""
        known = self.reads.get(("attribute", id(module), key))
        same = (
            known is not None
            and type(known.value) in FUNCTIONS
            and known.how == "value"
            and vars(module).get(key) is known.value
        )
        return known.value if same else None

    def bound(self, owner, key, fixed):
        """Rely on what makes a method: the function `fixed` of the class, and the class itself."""
        bound = self.read("attribute", owner, key, f"{self.called(owner)}.{key}")
        bound.how, bound.other = "free", None
        self.read("attribute", None, "__func__", f"{type(owner).__name__}.{key}", parent=bound)
        if isinstance(fixed, classmethod):  # bound to the class that the owner has now
            self.read("attribute", None, "__self__", f"the class of {self.called(owner)}", parent=bound)

    def own_state(self, owner, key):
        """Whether what a library's module or object holds under a name may be exchanged: it is then guarded like any
        other."""
        if isinstance(owner, types.ModuleType):
            return owner.__name__.partition(".")[0] not in OURS and key not in REBOUND and key in vars(owner)
        return (
            self.knows(owner)
            and not isinstance(owner, type)
            and isinstance(held := getattr(owner, "__dict__", None), dict)
            and key in held
        )

    def knows(self, x):
        """Whether an object was met outside."""
        return self.names.get(id(x), (self,))[0] is x

    def held(self, owner, key):
        """A tuple or dict that a function or a partial holds, noted: default arguments, and arguments given
        beforehand."""
        return self.enter(
            self.read("attribute", owner, key, f"{getattr(owner, '__name__', type(owner).__name__)}.{key}"), True
        )

    def called(self, owner):
        found = self.names.get(id(owner))
        return (
            found[1]
            if found
            else owner.__name__
            if isinstance(owner, type | types.ModuleType)
            else type(owner).__name__
        )

    def own(self, made):
        """Note an instance made while tracing: it is not outside."""
        self.stray.meet(type(made))
        try:
            self.made[id(made)] = weakref.ref(made)
        except TypeError:
            self.made[id(made)] = lambda: made

    def has_made(self, x):
        """Whether an object is an instance, made in the trace, that can be made anew from its attributes."""
        found = (made := self.made.get(id(x))) and made() is x and not isinstance(x, Traced)
        return found and (isinstance(x, ArrayObject) or is_plain(type(x)))

    def was_there(self, x):
        """Whether an object is known to be from outside."""
        key = id(x)
        made = self.made.get(key)
        if made is not None and made() is x or key in self.doubtful:
            return False
        met = self.containers.get(key) or self.ways.get(key) or self.relied.met.get(key)
        found = self.paths.get(key)
        there = met is not None and met[0] is x or found is not None and found.value is x
        return there or self.knows(x) or key in self.of_arguments

    def check_made(self, x):
        """Refuse to give out an object that holds traced values and that no call could make anew."""
        if isinstance(x, (Traced, Original)) or type(x) in SCALARS or self.was_there(x) or hidden(x) is None:
            return
        text = (
            f"the function returns or stores a {type(x).__name__} with traced values in it, which no call could make "
            "anew"
        )
        raise UnsupportedError(message(text, None, "Return the values, and make it of them outside."))

    def check_state(self, x):
        """Refuse to give out an object made in the trace whose state every call would find as the call before has left
        it."""
        if not self.knows(x) and (is_advanced(x) or isinstance(x, (io.IOBase, *LOCKS))):
            made = f"the function returns or stores a {shown_kind(x)} that it has made"
            text = f"{made}, which would be one and the same for all calls"
            hint = (
                "Return what it gives, as a list, and make it of that outside."
                if hasattr(x, "__next__")
                else "Make it outside."
            )
            raise UnsupportedError(message(text, None, hint))

    def finish(self):
        """Let go of what would keep memory made in the trace alive."""
        self.mirrors.clear()
        self.calls.clear()

    def worth_promoting(self):
        """The places of numbers that were relied on though the function itself changes them."""
        return [
            r.place for r in self.reads.values() if r.how == "value" and r.place in self.written and changing(r.value)
        ]


def gathered(inputs, env=None, number=None):
    """What a program takes in beside its arguments, now; `env` are the draws, `number` is the call's."""
    return [
        x.get() if isinstance(x, Read) else env[x.index] if isinstance(x, DRAWN) else number if x is None else x
        for x in inputs
    ]
