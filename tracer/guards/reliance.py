"""What code without hooks is given: it may find anything that can be reached from there, so all of that is relied on.

A trace notes what captured code reads. Functions of libraries and of C, and the user's own code without source, read
unseen. An object from outside that is handed to such code is relied on as a whole: it, and what it holds, down to what
never changes.
"""

import sys
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import internal, locate
from ..common.origin import HEAP, SOURCES
from ..common.scan import names
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.elements import run_of
from .guard import MISSING, Read, stretched
from .object_contents import CODE, UnknownContents, contents_of, is_advanced, is_fixed

MOST = 1000  # objects that are compared at every call
LARGEST = 1 << 14  # elements of an array, bytes of a buffer
OURS = ("wengert", "jax", "jaxlib")
OPEN = (types.SimpleNamespace,)  # classes of the standard library that hold the user's own state
LIBRARIES = {"numpy", "scipy", "jax", "jaxlib", "ml_dtypes", "wengert", *sys.stdlib_module_names} - {"__main__"}
PLAIN = (list, tuple, dict, set, frozenset)  # of which the trace sees copies, or which it has made itself
# of which nothing need be asked: fixed, or traced
SIMPLE = frozenset((bool, int, float, complex, str, bytes, type(None), TracedArray, TracedScalar))
PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function
# read what code does not name
BY_NAME = frozenset("getattr hasattr vars dir __dict__ attrgetter methodcaller getattr_static getmembers".split())
ADVICE = "Read what it needs in a function that is captured, or pass it as an argument."


def library(kind):
    """Whether a class or module is nobody's own state."""
    name = str(kind.__name__ if isinstance(kind, types.ModuleType) else kind.__module__).partition(".")[0]
    return name in LIBRARIES and kind not in OPEN and name != "argparse"


def of_user(kind):
    """Whether a class is written in Python, by anybody but the libraries that we know, and us."""
    if not kind.__flags__ & HEAP:
        return False
    if kind.__module__ in SOURCES:
        return True
    home = kind.__module__.partition(".")[0]
    return home not in LIBRARIES and not home.startswith("_cython")  # whose functions NumPy has


def expected(read):
    """Whether a place is what a library's module holds under a name, or a part of a function: guarded, though hardly
    anyone exchanges it."""
    held = read.parent if read.kind in ("state", "contents") and read.parent is not None else read
    of = held.owner if held.parent is None else held.parent.value
    if isinstance(of, types.FunctionType) and held.key in (*PARTS, "__globals__"):
        return True
    if held.parent is not None and held.parent.key == "callee":  # what is behind a compiled function
        return True
    return (
        isinstance(read.owner, types.ModuleType)
        and read.kind == "attribute"
        and library(read.owner)
        and not isinstance(read.value, list | dict)
    )


def made_of_traced(x):
    """Whether a tuple holds traced values and plain ones alone: the trace has made it."""
    found = [isinstance(i, Traced) for i in x]
    return any(found) and all(t or type(i) in SIMPLE for t, i in zip(found, x))


class Reliance:
    """The part of `Outside` that relies on objects as a whole."""

    def __init__(self):
        self.whole = {}  # id -> (object, its Read or None, what it holds)
        super().__init__()

    def rely(self, *given):
        """Rely on all that can be reached from objects -> the Reads of those that were met outside."""
        todo, seen, found = [(x, False) for x in given], set(), []
        while todo:
            x, outside = todo.pop()
            if (
                type(x) in SIMPLE
                or id(x) in seen
                or is_fixed(x)
                or isinstance(x, Traced)
                or type(x).__module__.partition(".")[0] in OURS
            ):
                continue
            if type(x) is list and run_of(x) is not None or type(x) is tuple and made_of_traced(x):
                continue  # nothing but traced numbers
            seen.add(id(x))
            if len(seen) > stretched(MOST):
                text = (
                    f"more than {MOST} objects can be reached from a {type(given[0]).__name__} that code without "
                    "hooks is given"
                )
                raise UnsupportedError(message(text, locate(), ADVICE))
            read, held = self._held(x, outside)
            found += [read] if read is not None else []
            todo += [(v, outside or read is not None) for v in held]
        return found

    def _held(self, x, outside):
        """-> (the Read of what an object holds, the objects that it holds). outside: whether an object from outside
        holds it."""
        kind = type(x)
        self.pin(x)
        if not outside and (
            kind is np.ndarray
            and id(x) not in self.paths
            and not x.dtype.hasobject
            or kind in PLAIN
            and not self.outer(x)
        ):
            return None, [] if kind is np.ndarray else flattened(x)
        self.as_found(x, self.called(x))
        known = self.whole.get(id(x))
        if known is not None and known[0] is x:
            return known[1:]
        outside = outside or self.knows(x)
        self.stray.meet(kind)
        if is_advanced(x):
            return None, self._frame(x, outside)
        try:
            held = contents_of(x)
        except UnknownContents as error:
            if not outside:
                return None, []
            text = (
                f"{self.called(x)}, a {kind.__name__} from outside, is given to code that is not captured, and what "
                "it holds cannot be compared"
            )
            raise UnsupportedError(message(f"{text} ({error})", locate(), ADVICE)) from None
        inner = [v for v in held if not is_fixed(v)]
        if outside and (self.slots_of(x) or any(isinstance(v, Traced) for v in held)) and not self.has_made(x):
            return Read("state", x, None, f"what {self.called(x)} holds", locate()), self._attributes(x)
        if self.is_inside(x, held, outside):
            self.whole[id(x)] = x, None, inner
            return None, inner
        self._refuse_large(x, held)
        name = self.called(x)
        read = self.read("state", x, None, f"what {name} holds")
        self.whole[id(x)] = x, read, inner
        self.met_within(held, name)
        return read, inner

    def met_within(self, held, name):
        """Note objects that one from outside holds, as being from outside too."""
        for x in held:
            kind = type(x)
            if kind not in SIMPLE and (of_user(kind) or kind is slice or not is_fixed(x)):
                self.names.setdefault(id(x), (x, f"a {kind.__name__} in {name}"))
                self.met_within(x if kind in (tuple, frozenset) else (), name)

    def _attributes(self, x):
        """Rely one by one on the attributes of an object from outside, some of which the trace has stored or takes in
        -> what they hold."""
        name, held = self.called(x), getattr(x, "__dict__", None)
        if type(held) is not dict:
            text = (
                f"{name}, a {type(x).__name__} from outside in which the trace has stored, is given to code that is "
                "not captured"
            )
            raise UnsupportedError(message(text, locate(), ADVICE))
        stored = {s.key for s in self.slots_of(x)}
        with self.unstored(x):
            space = self.read("attribute", x, "__dict__", name)
            self.read("contents", None, None, f"the names in {name}", parent=space)
        known = {k: v for k, v in held.items() if not isinstance(v, Traced)}
        for key in known:
            if key not in stored:
                self.firm(self.read("attribute", x, key, f"{name}.{key}"))
        return list(known.values())

    def _frame(self, x, outside):
        """What a generator or another iterator holds, which is not from outside."""
        if outside:
            text = (
                f"{self.called(x)}, a {type(x).__name__} from outside, is another after every use; traced, it would "
                "be used once"
            )
            raise UnsupportedError(message(text, locate(), "Make a list of it outside, and pass that."))
        frame = getattr(x, "gi_frame", None)
        return [] if frame is None or internal(frame.f_code) else list(frame.f_locals.values())

    def _refuse_large(self, x, held):
        if (
            isinstance(x, np.ndarray)
            and x.size > LARGEST
            or any(type(v) is bytes and len(v) > 8 * LARGEST for v in held)
        ):
            size = f"of shape {x.shape}" if isinstance(x, np.ndarray) else f"of {len(x)} items"
            what = f"{self.called(x)}, a {type(x).__name__} {size}"
            text = f"{what}, is read by code that is not captured, and too large to be compared at every call"
            raise UnsupportedError(message(text, locate(), ADVICE))

    def function_itself(self, f):
        """Rely on the code and the defaults of a function, which may be exchanged."""
        if ("attribute", id(f), "__code__") in self.reads:
            return
        self.met_within([*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()], f.__name__)
        if (way := self.way(f)) is not None:
            self.parts_by_way(f, way, PARTS[1:])
            return
        for name in PARTS:
            if getattr(f, name) is not None:
                read = self.read("attribute", f, name, f"{f.__name__}.{name}")
                read.how, read.other = "value", None
                if name == "__kwdefaults__":
                    self.read("state", None, None, f"what {read.name} holds", parent=read)

    def partial(self, f):
        """Rely on what a partial was given, and to what."""
        for name in ("func", "args"):
            read = self.read("attribute", f, name, f"{self.called(f)}.{name}")
            read.how, read.other = "value", None
        if any(map(is_fixed, f.keywords.values())):
            self.read(
                "state",
                None,
                None,
                f"what {self.called(f)} is given by name",
                parent=self.read("attribute", f, "keywords", "keywords"),
            )

    def noted(self, owner, key):
        """Whether what an attribute is has to be relied on, be it that of a library's."""
        if isinstance(owner, types.ModuleType | type):
            return not library(owner)
        if isinstance(owner, types.FunctionType):
            return not internal(owner.__code__) and (not key.startswith("__") or self.way(owner) is not None)
        return (
            not library(kind := type(owner))
            or self.knows(owner)
            and not is_fixed(owner)
            and kind.__module__.partition(".")[0] not in OURS
        )

    def outer(self, x):
        """Whether a container is one met outside, not the trace's copy of it."""
        return id(x) in self.containers and self.containers[id(x)][0] is x

    def is_simple(self, x):
        """Whether a container is the trace's own, and holds nothing that would have to be relied on."""
        kind = type(x)
        if kind not in PLAIN or self.outer(x) or not SIMPLE.issuperset(map(type, x)):
            return False
        return kind is not dict or SIMPLE.issuperset(map(type, x.values()))

    def is_inside(self, x, held, outside):
        """Whether an object is the trace's own: made in it, or the result of a call that may hold what is traced."""
        made = self.made.get(id(x))
        if made is not None and made() is x or any(isinstance(v, Traced) for v in held):
            return True
        return not (outside or id(x) in self.paths or self.outer(x))

    def changed(self, reads):
        """Those of these that code without hooks has changed meanwhile."""
        return [r for r in reads if r.get() != r.value]

    def forget(self, reads):
        """Let go of what is no longer as it was found."""
        for read in reads:
            self.whole.pop(id(read.owner), None)
            self.reads.pop(read.place, None)

    def ran(self, code, space, local):
        """Note what a function of the user's that ran without hooks names outside itself."""
        for kind, name, line, chain in names(code).loads:
            if kind == "global" and name in space:
                read = self.read("item", space, name, name, line)
                if read.value is not MISSING:
                    self.follow(read, chain)
            elif kind == "cell" and name in local:
                self.rely(local[name])
        for x in local.values():
            kind = x if isinstance(x, type) and is_method_of(x, code) else type(x)
            if of_user(kind):
                self.classed(kind, code)

    def firm(self, read):
        """Rely on a number that captured code may take in at every call: what has no hooks is to find the number
        itself."""
        if read.how == "input" and not isinstance(read.value, np.ndarray):
            if isinstance(read.get(), Traced):  # then the trace is made again, where it is relied on
                text = f"{read.name}, a number that keeps changing, is read by code that is not captured"
                raise UnsupportedError(message(text, locate(), ADVICE))
            read.how, read.other = "value", None

    def classed(self, kind, code):
        """Rely on the attributes of a class that code without hooks may have read of an instance, and on the method
        that this is."""
        named = code.co_names if BY_NAME.isdisjoint(code.co_names) else None
        for c in kind.__mro__:
            if of_user(c):
                for key, value in vars(c).items():
                    if any(f.__code__ is code or named is None or key in named for f in functions(value)):
                        self.read("class", kind, key, f"{kind.__name__}.{key}")
                    elif not key.startswith(("__", "_abc_")) and not isinstance(value, (*CODE, types.FunctionType)):
                        held = self.read("attribute", kind, key, f"{kind.__name__}.{key}")
                        self.firm(held)
                        self.rely(held.value)


def is_method_of(kind, code):
    """Whether a class, or a base of it, holds a function of this code."""
    return any(
        f.__code__ is code for c in kind.__mro__ if of_user(c) for value in vars(c).values() for f in functions(value)
    )


def functions(value):
    """The Python functions that a class attribute runs: itself, or those of a property, a class method or another
    descriptor."""
    if isinstance(value, types.FunctionType):
        return [value]
    held = [getattr(value, name, None) for name in ("fget", "fset", "fdel", "func", "__func__", "__wrapped__")]
    return [f for f in held if isinstance(f, types.FunctionType)]


def flattened(x):
    """What a plain container holds, without copies for those that hold nothing of interest."""
    items = [*x, *x.values()] if isinstance(x, dict) else x
    if type(x) in PLAIN and SIMPLE.issuperset(map(type, items)):
        return []
    return [v for v in items if not isinstance(v, Traced) and not is_fixed(v)]
