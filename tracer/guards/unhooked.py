"""Functions of the user's that Python runs without hooks while tracing: each is seen when it begins, and held to what a
trace may do unseen.

C calls such functions on its own account: special methods of objects in containers, descriptors, bodies of generators
and classes, what `sorted` compares. No list of the ways in would be whole. So once a trace has met a class, generator
or function that Python may run so, a profiler sees whatever begins: what a function without hooks names outside is
relied on, and so is all that it is given; what it calls must be pure; what it was given it must leave as it was. All
else is refused. Traces that meet none are not looked at: it takes thrice their time.
"""

import contextlib
import functools
import inspect
import os
import sys
import types

import numpy as np

from ...ir.bounded import Limited
from ..common.collecting import await_collector, is_collecting, is_of_collector
from ..common.errors import UnsupportedError, message
from ..common.frames import GENERATED, internal, locate
from ..common.origin import is_user
from ..common.scan import codes, names
from ..rewriter.converted import belongs, is_bare
from ..rewriter.expressions import HOOK
from .container_methods import changed_by
from .draw_sources import GENERATORS, LEGACY, put_back, states
from .guard import MISSING
from .object_contents import content_restorer
from .purity import PURE, is_foreign, listed, place_of, verdict
from .reliance import library, of_user
from .state import Slot

WHOLE = types.ModuleType, type, types.FunctionType
DRAWS = {n for g in (np.random.Generator, np.random.RandomState) for n in dir(g) if not n.startswith("_")}
OURS, LIBRARY, STRAY = "ours", "library", "stray"
NUMPY = os.path.dirname(np.__file__) + os.sep
SPOKEN = {print}  # pure only by the stand-ins that captured code calls
SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
# are called by hooks, or by a statement that says so
ASKED = {
    "__init__", "__new__", "__call__", "__post_init__", "__init_subclass__", "__set_name__", "__prepare__",
    "__mro_entries__",
}
ADVICE = "Call it in a function that is captured, or outside, and pass what it gives as an argument."
_kinds = Limited()  # code -> OURS, LIBRARY or STRAY


def kind_of(code):
    """What the code of a frame is: with hooks or our own; a library's; or the user's without hooks."""
    found = _kinds.get(code)
    if found is None:
        if code.co_filename == GENERATED:  # which goes with its function
            return OURS
        if HOOK in code.co_freevars or belongs(code) and not is_bare(code):
            return OURS  # what is equal may be no part of anything
        if code.co_filename.startswith(NUMPY):
            found = LIBRARY
        else:
            found = OURS if internal(code) else STRAY if is_user(code) else LIBRARY
        _kinds[code] = found
    return found


def is_generated(frame):
    """Whether the code of a frame was made by a library, for a class of its own."""
    home = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith("<") and (home.startswith("namedtuple_") or is_foreign(home))


def runs(value):
    """Whether what a class holds under a name is code of the user's that Python runs by itself."""
    if isinstance(value, property):
        return any(
            isinstance(f, types.FunctionType) and is_user(f.__code__) for f in (value.fget, value.fset, value.fdel)
        )
    if isinstance(value, functools.cached_property):
        return True
    return of_user(type(value)) and any(hasattr(type(value), n) for n in ("__get__", "__set__", "__delete__"))


def is_slotted(kind):
    """Whether Python may run methods of a class by itself, beyond those that hooks call."""
    if type(kind) is not type and of_user(type(kind)) and is_slotted(type(kind)):
        return True
    for c in kind.__mro__:
        if of_user(c):
            for name, value in vars(c).items():
                if name.startswith("_") and name.endswith("_"):  # of an Enum they are spelt so
                    f = (
                        inspect.unwrap(getattr(value, "__func__", value))
                        if callable(value) or hasattr(value, "__func__")
                        else None
                    )
                    if (
                        name not in ASKED
                        and type(f) is types.FunctionType
                        and is_user(f.__code__)
                        and f.__code__.co_filename != "<string>"
                    ):
                        return True
                elif runs(value):
                    return True
    return False


def generators_of(frame):
    """The random generators that the code of a frame may draw from: those that it holds or names, and attributes of
    objects that it does."""
    found = {id(LEGACY): LEGACY}
    held = [*frame.f_locals.values(), *[frame.f_globals.get(n) for n in frame.f_code.co_names]]
    for x in held:
        parts = () if isinstance(x, WHOLE) else getattr(x, "__dict__", {}).values()
        found |= {id(g): g for g in (x, *parts) if isinstance(g, GENERATORS)}
    return list(found.values())


@functools.lru_cache(1024)
def names_within(code):
    return frozenset(code.co_names)


def restorer(read):
    """A function that gives an attribute of a module, or an object, back what it holds."""
    if read.kind != "attribute":
        return content_restorer(read.owner)
    if read.value is MISSING:
        return functools.partial(delattr, read.owner, read.key)
    return functools.partial(setattr, read.owner, read.key, read.value)


class Unhooked:
    """Sees, in this thread, the functions that run without hooks between `begin` and `end`."""

    def __init__(self, outside):
        self.outside, self.on, self.before = outside, False, None
        self.lasting = False  # whether to the end of the trace
        self.known = {}  # id of a code -> (it, its kind)
        self.drawing = {}  # id of a frame -> (it, [(a generator that it may draw from, its state)])
        self.entered = {}  # id of a frame -> (it, the Reads of what it may change, what undoes that)
        self.classes = set()
        self.comparing = None  # the frames seen by a call that compares for itself what has changed
        self.refusal = self.unraisable = None
        self.aside = None  # the frame of a function that the garbage collector calls

    def meet(self, kind):
        """Note a class whose methods may be run from now on."""
        if not self.lasting and id(kind) not in self.classes and of_user(kind):
            self.classes.add(id(kind))
            if is_slotted(kind):
                self.begin()

    def begin(self):
        """Look at all that begins, until the trace ends."""
        self.lasting = True
        self.start()

    def start(self):
        if not self.on:
            self.on, self.before = True, sys.getprofile()
            self.unraisable, sys.unraisablehook = sys.unraisablehook, self.unraised
            await_collector()
            sys.setprofile(self.profile)

    def end(self):
        if self.on:
            self.on, self.aside = False, None
            if self.refusal is not None:  # in the midst of functions that have changed something by then
                for _, reads, undo in self.entered.values():
                    self.put_back(reads, undo)
            self.entered.clear()
            self.drawing.clear()
            sys.unraisablehook = self.unraisable
            if hasattr(self.before, "enable"):  # a profiler written in C
                sys.setprofile(None)
                self.before.enable()
            else:
                sys.setprofile(self.before)

    def unraised(self, seen):
        """As Python calls it for an exception where it closes a generator: our own is raised when the trace ends."""
        if seen.exc_value is not self.refusal:
            self.unraisable(seen)

    @contextlib.contextmanager
    def unseen(self):
        """Around what the tracer itself asks of libraries, which is none of the user's."""
        seeing = sys.getprofile()
        sys.setprofile(None)
        try:
            yield
        finally:
            sys.setprofile(seeing)

    @contextlib.contextmanager
    def within(self):
        """Around a call of C whose caller compares what it has changed: what ran meanwhile is relied on afterwards."""
        before, self.comparing = self.comparing, {}
        self.start()
        try:
            yield
        finally:
            seen, self.comparing = self.comparing, before
            if before is None and not self.lasting:
                self.end()
        for code, space, local in seen.values():
            self.outside.ran(code, space, local)

    def profile(self, frame, event, argument):
        """As sys.setprofile calls it."""
        if callable(self.before):
            self.before(frame, event, argument)
        if is_collecting():
            return
        code = frame.f_code
        known = self.known.get(id(code))
        if known is None:
            known = self.known[id(code)] = code, kind_of(code)
        kind = known[1]
        if kind is OURS:
            return
        if self.aside is not None:
            if event == "return" and frame is self.aside:
                self.aside = None
            return
        if event == "call":
            if kind is STRAY and not is_generated(frame):
                if is_of_collector(code):
                    self.aside = frame
                    return
                self.enter(frame)
            elif frame.f_back is not None and self.known.get(id(frame.f_back.f_code), (0, 0))[1] is STRAY:
                self.judge(listed(frame.f_globals.get("__name__") or "", code.co_qualname), code.co_qualname)
        elif kind is STRAY:
            if event == "c_call":
                self.call(argument)
            elif event == "return":
                self.leave(frame)

    def enter(self, frame):
        """A function without hooks begins, or a generator goes on."""
        code = frame.f_code
        if not DRAWS.isdisjoint(names_within(code)):
            self.drawing[id(frame)] = frame, states(generators_of(frame))
        if id(frame) in self.entered:
            return
        local = dict(frame.f_locals)
        for name in names(code).deletes:
            self.refuse(f"deletes {name}, a variable outside")
        for kind, name in names(code).stores:
            if not self.noted(frame, kind, name):
                self.refuse(f"assigns {name}, a variable outside")
        try:
            reads = self.named(frame, local) if names(code).writes else []
            if self.comparing is None:
                self.outside.ran(code, frame.f_globals, local)
                reads += self.outside.rely(*local.values())
        except UnsupportedError as error:
            self.refusal = error
            raise
        if self.comparing is not None:
            key = (
                id(code),
                id(frame.f_globals),
                *(id(v) if n in code.co_freevars else type(v) for n, v in local.items()),
            )
            self.comparing.setdefault(key, (code, frame.f_globals, local))
        if reads or code.co_flags & SUSPENDING:
            self.entered[id(frame)] = frame, reads, list(map(restorer, reads))

    def named(self, frame, local):
        """The Reads of what a function may change that it names outside."""
        objects, attributes = [], []
        for kind, name, _, chain in names(frame.f_code).loads:
            value = frame.f_globals.get(name) if kind == "global" else local.get(name)
            if not isinstance(value, types.ModuleType):
                if self.outside.names.setdefault(id(value), named := (value, name)) is named:
                    self.outside.doubtful.add(id(value))
                objects.append(value)
            elif not library(value):
                attributes += [self.outside.read("attribute", value, key, f"{name}.{key}") for key in chain]
        return attributes + self.outside.rely(*objects, *[r.value for r in attributes if r.value is not MISSING])

    def noted(self, frame, kind, name):
        """Whether the trace knows that a variable is assigned, or has made it."""
        if kind == "global" and Slot("item", frame.f_globals, name, name) in self.outside.assigned:
            return True
        if any(key[0] is frame.f_code for key in self.outside.functions):
            return True
        back = frame.f_back
        while kind == "cell" and back is not None:
            if name in back.f_code.co_cellvars and any(c is frame.f_code for c in codes(back.f_code)):
                return True
            back = back.f_back
        return False

    def leave(self, frame):
        """A function without hooks returns, or a generator waits."""
        held, drawn = self.drawing.pop(id(frame), (None, ()))
        if held is frame and repr(states([g for g, _ in drawn])) != repr(drawn):
            put_back(drawn)
            self.refuse("draws random numbers")
        kept = self.entered.get(id(frame))
        if kept is None or kept[0] is not frame:
            return
        if not frame.f_code.co_flags & SUSPENDING:
            del self.entered[id(frame)]
        changed = self.put_back(*kept[1:])
        if changed:
            self.refuse(f"changes {changed[0].name}")

    def put_back(self, reads, undo):
        """Give what a function has changed what it held -> its Reads."""
        changed = self.outside.changed(reads)
        for give_back in undo if changed else ():
            give_back()
        return changed

    def call(self, f):
        """A function of C that code without hooks is about to call."""
        owner = changed_by(f)
        if owner is not None:
            if self.outside.outer(owner) or self.outside.knows(owner):
                self.refuse(f"changes a {type(owner).__name__} from outside by {f.__name__}()")
            return
        self.judge("acts" if type(f) is types.BuiltinFunctionType and f in SPOKEN else verdict(f), place_of(f)[1])

    def judge(self, found, name):
        if found != PURE:
            self.refuse(f"calls {name}(), which may give another answer each time, or acts on the world")

    def refuse(self, what):
        frame = sys._getframe(1)
        while kind_of(frame.f_code) is not STRAY:
            frame = frame.f_back
        name = frame.f_code.co_qualname.replace("<locals>.", "")
        text = f"{name} is run by Python itself while tracing, where it is not captured, and {what}"
        self.refusal = UnsupportedError(message(text, locate(), ADVICE))
        raise self.refusal
