"""What a trace read from outside, and the generated test that all of it is still so.

A `Read` is one place: a global, a closure cell, an attribute, an item of a container. Objects are guarded
by identity, numbers and strings by type and value. Containers are followed by path, so one that is
exchanged for another alike is no change. Arrays, and numbers that keep changing, are inputs: only their
type is relied on, and they are read again at every call.
"""

import builtins
import collections

import numpy as np

from ...ir.source import line_name
from ..common.errors import Overrun, UnsupportedError, message
from ..values.speculate import is_insisted_on
from .emit_lookups import CALLED, is_spelled, namer, variable
from .object_contents import contents_of
from .raw_attributes import MISSING, of_class, put

LIMIT = 1000  # items of a container that are guarded one by one
INSISTED = 20  # times as much under whole=True
READS = 2000  # bound: places whose guards a call looks at, some 50 ns each; making them takes longer by far
LARGEST = 1 << 63
SCALARS = (bool, int, float, complex, str, bytes, type(None))
BUILTINS = frozenset(vars(builtins)) - {"_", "__builtins__"}  # that every process has
VIEW = np.ndarray.view
FILLING = (collections.defaultdict,)  # would hold what it is asked for
CONTAINERS = (list, dict, tuple)  # exactly these are followed by path


class Read:
    """One outside read: what the user calls it, the line that read it, and the value found.

    how: "value" (identity, or type and value), "kind" (the type alone: what is inside has reads of its own),
    "input" (the type alone: the program takes it), "contents" (of a small array), "same" (the very object of
    another read), "apart" (another object than those of other reads), "free" (nothing). kind: also "class", what a
    class holds under a name that is looked up on it, "itself", "own", what is in the object's `__dict__` alone,
    and "memory", that of an instance of a subclass of np.ndarray.
    """

    __slots__ = ("kind", "owner", "parent", "key", "name", "file", "line", "value", "how", "other", "builtin")

    def __init__(self, kind, owner, key, name, source, parent=None):
        self.kind, self.owner, self.key, self.name, self.parent = kind, owner, key, name, parent
        self.file, self.line = (source.file, source.line) if source is not None else ("", 0)
        self.how, self.other = "value", None
        # builtin: what the name of a global that is missing means instead
        self.value, self.builtin = self.get() if parent is None else self.found(parent.value), MISSING

    @property
    def place(self):
        """What tells this read from others."""
        return self.kind, id(self.owner) if self.parent is None else self.parent.place, self.key

    def weaker(self, other):
        """Whether another read of the place relies on more."""
        return self.how == "free" or self.how == "input" and other.how not in ("free", "input")

    def holder(self):
        """The object that the place is in, now."""
        return self.owner if self.parent is None else self.parent.get()

    def get(self):
        """The value now, or MISSING."""
        return self.found(self.holder())

    def found(self, holder):
        """What an object holds at the place. At first that is the object which the trace has met: where that lay,
        the trace may have stored another by now."""
        try:
            if self.kind == "attribute":
                return getattr(holder, self.key, MISSING)
            if self.kind == "cell":
                return self.cell(holder).cell_contents
            if self.kind == "contents":
                return contents(holder)
            if self.kind == "state":
                return state(holder)
            if self.kind == "class":
                return of_class(holder, self.key)
            if self.kind == "itself":
                return holder
            if self.kind == "own":
                return vars(holder).get(self.key, MISSING)
            if self.kind == "memory":
                return VIEW(holder, np.ndarray)
            return holder.get(self.key, MISSING) if type(holder) in FILLING else holder[self.key]
        except (KeyError, IndexError, AttributeError, ValueError, TypeError):
            return MISSING

    def cell(self, holder):
        """The cell of a place of kind "cell": the holder itself, or a variable of a function known by the way to it."""
        return holder if self.parent is None else holder.__closure__[self.key]

    def target(self):
        """The object that a store goes into: asked of all places of a call before the first of them is stored to."""
        return self.holder()

    def store(self, holder, value):
        """Store into the place."""
        if self.kind == "attribute":
            put(holder, self.key, value)
        elif self.kind == "cell":
            self.cell(holder).cell_contents = value
        else:
            holder[self.key] = value

    def text(self, named, holder=None):
        """The place as a Python expression; `named(object)` gives an object a name in it. holder: the text of what it
        is in."""
        holder = holder or (named(self.owner) if self.parent is None else self.parent.text(named))
        if self.kind == "attribute":
            return f"{holder}.{self.key}" if is_spelled(self.key) else f"getattr({holder}, {self.key!r})"
        if self.kind == "cell" and self.parent is None:
            return f"{holder}.cell_contents"
        if self.kind == "cell":  # of a function that is known by the way to it
            return (
                variable(self.key) if holder == CALLED else f"{holder}.__closure__[{self.key}].cell_contents"
            )
        if self.kind == "itself":
            return holder
        if self.kind == "memory":
            return f"{named(VIEW)}({holder}, {named(np.ndarray)})"
        if self.kind in ("contents", "state"):
            return f"{self.kind}({holder})"
        if self.kind == "class":
            return f"of_class({holder}, {self.key!r})"
        if self.parent is not None and type(self.parent.value) in FILLING:
            return f"{holder}.get({named(self.key)}, {named(MISSING)})"
        return f"{holder}[{self.key!r}]" if type(self.key) in (str, int) else f"{holder}[{named(self.key)}]"

    def test(self, named, quick=None):
        """Python text that is true while the guard holds, or None where there is nothing to test.

        quick: `Lookups`, which say how places are written; the test is then false too for a number that is equal, but
        another object.
        """
        value = self.value
        if self.how == "free":
            return None
        written = (lambda read: read.text(named)) if quick is None else quick.text
        if value is MISSING:
            return self.test_missing(named, quick)
        text = written(self)
        if self.how in ("same", "apart"):
            return self.test_identity(text, written)
        if self.how == "contents":
            return f"alike({text}, {named(self.other)})"
        if self.how == "kind" and quick is not None and quick.given(self):
            return None
        if self.how != "value":
            read = text if quick is None else quick.kept(self, text)
            kind = f"type({read}) is {named(type(value))}"
            return (
                f"{kind} and -{LARGEST} <= {quick.text(self) if quick else text} < {LARGEST}"
                if type(value) is int
                else kind
            )
        if self.kind == "contents":
            return self.test_contents(named, self.parent.text(named) if quick is None else quick.text(self.parent))
        if self.kind == "state":
            return quick and quick.keywords(self) or f"{text} == {named(value)}"
        if quick is not None:
            return f"{quick.kept(self, text)} is {named(value)}"
        if type(value) in SCALARS[1:6] and value == value and value != 0:
            return f"((x := {text}) is {named(value)} or type(x) is {named(type(value))} and x == {named(value)})"
        if isinstance(value, (*SCALARS[1:6], np.generic)):
            return f"((x := {text}) is {named(value)} or snapshot(x) == {named(snapshot(value))})"
        return f"{text} is {named(value)}"

    def test_missing(self, named, quick):
        """That there is still nothing, and that a builtin of this name is what it was: the code itself finds others."""
        if self.parent is None and self.kind == "item":
            same = f" and {named(builtins)}.{self.key} is {named(self.builtin)}" if self.builtin is not MISSING else ""
            return f"{named(self.key)} not in {named(self.owner)}{same}"
        if self.kind == "own":
            holder = self.parent.text(named) if self.parent is not None else named(self.owner)
            return f"{self.key!r} not in {holder if quick is None else quick.holder(self)}.__dict__"
        now = f"{named(self)}.get()" if quick is None else f"{named(self)}.found({quick.holder(self)})"
        return f"{now} is {named(MISSING)}"

    def test_identity(self, text, written):
        """That what is at `text` is the object of another read, or none of those of others."""
        if self.how == "same":
            return f"{text} is {written(self.other)}"
        others = [written(r) for r in self.other]
        several = f"len({{{', '.join(f'id({t})' for t in [text, *others])}}}) == {len(others) + 1}"
        return f"{text} is not {others[0]}" if len(others) == 1 else several

    def test_contents(self, named, holder):
        value = self.value
        if isinstance(value, int):
            return f"len({holder}) == {value}"
        if isinstance(self.parent.value, dict) and all(type(k) is str for k in value):
            return f"[*{holder}] == {named(list(value))}"
        return f"snapshot(contents({holder})) == {named(snapshot(value))}"

    def describe(self):
        """As explain() tells it."""
        value = self.value
        if self.how == "input":
            what = (
                f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else f"any {type(value).__name__}"
            )
        elif self.how == "same":
            what = f"the same object as {self.other.name}"
        elif self.how == "apart":
            what = f"another object than {', '.join(r.name for r in self.other)}"
        elif self.kind == "contents":
            what = "its length" if isinstance(value, int) else "its keys"
        elif self.kind == "state":
            what = "as found"
        else:
            what = self.shown() if self.how == "value" else type(value).__name__
        where = f" ({line_name(self.file, self.line)})" if self.file else ""
        return f"{self.name} = {what}{where}"

    def shown(self, *now):
        """The value, or what is there now, in a few words."""
        value = now[0] if now else self.value
        if value is MISSING:
            return "missing"
        if self.kind == "state":
            return "otherwise" if now else "as found"
        return (
            f"{value!r:.40}"
            if isinstance(value, (*SCALARS, np.generic)) or self.kind == "contents"
            else f"this {type(value).__name__}"
        )

    def __str__(self):
        return f"{self.name} ({line_name(self.file, self.line)})"


def small(n):
    """Whether an int may become a number of the program: sums and products of two such stay within 64 bits."""
    return -LARGEST <= n < LARGEST


def contents(container):
    """What a container holds, apart from the values that have reads of their own."""
    if isinstance(container, dict):
        return tuple(container)
    if isinstance(container, (list, tuple)):
        return len(container)
    return tuple(snapshot(x) for x in container)


def state(x):
    """What an object holds, to be compared: numbers and strings by type and value, all else by identity."""
    return type(x), *map(snapshot, contents_of(x))


def alike(array, contents):
    """Whether an array still holds what it did."""
    if type(array) is not type(contents) or array.dtype != contents.dtype or array.shape != contents.shape:
        return False
    if array.dtype.hasobject:
        return all(map(same, np.asarray(array).ravel().tolist(), np.asarray(contents).ravel().tolist()))
    hidden = (
        np.array_equal(np.ma.getmaskarray(array), np.ma.getmaskarray(contents))
        if isinstance(array, np.ma.MaskedArray)
        else True
    )
    return hidden and np.asarray(array).tobytes() == np.asarray(contents).tobytes()


def same(a, b):
    """Whether two elements of arrays of objects are one, or one number or string; records by their fields."""
    if a is b:
        return True
    if type(a) is tuple is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and isinstance(a, SCALARS) and (a == b and repr(a) == repr(b))


class Guard:
    """The outside values that the traces of one world relied on; inline, about 15 ns a value."""

    def __init__(self, reads):
        self.reads = list(reads)
        space = {}
        text = f"def test():\n    return {' and '.join(self.inline(0, space)) or 'True'}"
        exec(compile(text, "<wengert guard>", "exec"), space)
        self._test = space["test"]

    def inline(self, k, space, quick=None):
        """Python tests that hold while nothing changed; the objects they name are put into `space`, numbered `k`.

        quick: the `Lookups` of these reads; the tests are then to be joined in this order, and write what they find
        at places that are needed again to locals.
        """
        space |= {"snapshot": snapshot, "contents": contents, "alike": alike, "state": state, "of_class": of_class}
        named = namer(f"g{k}", space)
        found = [r.test(named, quick) for r in self.reads]
        return [t for t in found if t is not None]

    def holds(self):
        """Whether everything is as it was."""
        try:
            return self._test()
        except STALE:
            return False

    def changed(self):
        """The reads that do not hold; what lies in such a place is not looked at."""
        found = {}
        for r in self.reads:
            parent = r.parent
            while parent is not None and parent.place not in found:
                parent = parent.parent
            if parent is None and not Guard([r]).holds():
                found[r.place] = r
        return list(found.values())


STALE = (KeyError, IndexError, AttributeError, ValueError, TypeError, NameError)


def snapshot(value):
    """What is compared where identity is not enough: (type, value) for numbers and strings, identity for the rest."""
    if isinstance(value, float | complex):
        return type(value), repr(value)
    if isinstance(value, SCALARS):
        return type(value), value
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if type(value) is tuple:
        return tuple, tuple(map(snapshot, value))
    return Same(value)


def stretched(bound):
    """A bound of what a call looks at, which is wider where no plain Python answers instead."""
    return bound * INSISTED if is_insisted_on() else bound


def refuse_large(container, name):
    """Refuse to guard a container item by item if there are too many."""
    if len(container) > stretched(LIMIT):
        raise UnsupportedError(
            f"{name}, a {type(container).__name__} of {len(container)} items, is read from outside the function; "
            "guarding each at every call\n"
            "  would be slow. Pass it as an argument, or hold the numbers in an array."
        )


def refuse_many(reads, name):
    """Refuse to guard more places than a call can look at; name: of the next."""
    if len(reads) >= stretched(READS):
        text = f"more than {READS:,} places outside are read, {name} the last of them; each is looked at at every call"
        raise Overrun(message(text, None, "Hold the numbers in arrays."))


class Same:
    """Equal only to a wrapper of the very same object; keeps it alive so that its id is not reused."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __eq__(self, other):
        return isinstance(other, Same) and self.object is other.object

    def __hash__(self):
        return id(self.object)
