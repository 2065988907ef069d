"""What several traces of one function say of a call, compared: the same everywhere, but for ints that are expressions
of the names of sizes.

`common_form([a, b, c], samples)` is a form, and `form_at(form, sizes)` what it is at other sizes. Objects of ours are
compared attribute by attribute; texts, number by number; all else must be equal.
"""

from __future__ import annotations

import copy
import re

import numpy as np

from ...ir.core import Lit, Value
from ...ir.dims import Dim, fit
from ...ir.generic import Unalike
from ...ir.types import Tensor
from ..guards.guard import snapshot

NUMBER = re.compile(r"\d+")
OURS = __name__.partition(".tracer.")[0]


class SizeForm:
    """Something that differs between sizes. build: of the parts at some sizes makes it."""

    __slots__ = ("parts", "build")

    def __init__(self, parts, build):
        self.parts, self.build = parts, build


def form_at(form, sizes):
    """What a form is at these sizes."""
    if isinstance(form, Dim):
        return form.at(sizes)
    return form.build([form_at(p, sizes) for p in form.parts]) if type(form) is SizeForm else form


def common_form(values, samples, where="it"):
    """The form of values seen at samples. Unalike, with the place, where they have none."""
    first, kind = values[0], type(values[0])
    if all(v is first for v in values):
        return first
    if any(type(v) is not kind for v in values):
        raise Unalike(f"{where} is a {kind.__name__} at one size, and none at another")
    if kind is int:
        return number_form(values, samples, where)
    if kind is str:
        return text_form(values, samples, where)
    if kind is list or issubclass(kind, tuple):
        return sequence_form(values, samples, where)
    if kind is dict:
        return dict_form(values, samples, where)
    if kind is slice:
        return slice_form(values, samples, where)
    if kind in (Tensor, Value, Lit):
        unlike_form(where)
    if kind.__module__.startswith(OURS) and not isinstance(first, type):
        return object_form(values, samples, where)
    return first if is_equal(values) else unlike_form(where)


def unlike_form(where):
    raise Unalike(f"{where} is not the same at all sizes")


def is_equal(values):
    """Whether plain values are one, floats by their bits."""
    first = values[0]
    if isinstance(first, np.ndarray):
        key = lambda v: (v.shape, v.dtype.str, v.tobytes())
        return all(key(v) == key(first) for v in values)
    if isinstance(first, float | complex | bool | bytes | np.generic | np.dtype | frozenset | type(None)):
        return all(repr(v) == repr(first) for v in values)
    return False


def form_of_parts(parts, build, first):
    """The form of parts; where none of these differs, the first value itself."""
    return SizeForm(parts, build) if any(isinstance(p, Dim | SizeForm) for p in parts) else first


def number_form(values, samples, where):
    found = fit(values, samples)
    return found if found is not None else unlike_form(where)


def text_form(values, samples, where):
    """A text whose numbers hang on sizes."""
    words = [NUMBER.split(v) for v in values]
    if any(w != words[0] for w in words):
        unlike_form(where)
    numbers = zip(*(map(int, NUMBER.findall(v)) for v in values))
    parts = [number_form(n, samples, where) for n in numbers]
    spelled = lambda found: "".join(w + n for w, n in zip(words[0], [*map(str, found), ""]))
    return form_of_parts(parts, spelled, values[0])


def sequence_form(values, samples, where):
    first = values[0]
    if any(len(v) != len(first) for v in values):
        raise Unalike(f"{where} has not as many items at all sizes")
    kind = type(first)
    parts = [common_form(items, samples, f"{where}[{k}]") for k, items in enumerate(zip(*values))]
    return form_of_parts(parts, (lambda x: kind(*x)) if hasattr(first, "_fields") else kind, first)


def slice_form(values, samples, where):
    ends = zip(*((v.start, v.stop, v.step) for v in values))
    return form_of_parts([common_form(p, samples, where) for p in ends], lambda parts: slice(*parts), values[0])


def dict_form(values, samples, where):
    keys = list(values[0])
    if any(list(v) != keys for v in values):
        unlike_form(where)
    parts = [common_form([v[k] for v in values], samples, f"{where}[{k!r}]") for k in keys]
    return form_of_parts(parts, lambda x: dict(zip(keys, x)), values[0])


def attributes_of(x):
    """{name: value} of an object of ours, in __dict__ and in slots."""
    slots = [n for c in type(x).__mro__ for n in np.atleast_1d(c.__dict__.get("__slots__", ())).tolist()]
    return {n: getattr(x, n) for n in slots if n != "__weakref__" and hasattr(x, n)} | getattr(x, "__dict__", {})


def object_form(values, samples, where):
    """The form of objects of ours, by their attributes."""
    held = [attributes_of(v) for v in values]
    names = list(held[0])
    if not names or any(list(h) != names for h in held):
        unlike_form(where)
    parts = [common_form([h[n] for h in held], samples, f"{where}.{n}") for n in names]

    def build(found):
        made = copy.copy(values[0])
        for name, x in zip(names, found):
            object.__setattr__(made, name, x)
        return made

    return form_of_parts(parts, build, values[0])


# -- what is captured ------------------------------------------------------------------------------

SAID = {"outs": "a result", "checks": "an error that it may raise"}
PARTS = ("values", "writes", "layout", "order", "relied", "heeds", "bounded", "constants", "given", "checks", "outs")


class CapturedForm:
    """All that a call hands over, at several sizes: `Captured` but for the program."""

    def __init__(self, captured, samples):
        """captured: the Captured of each of the samples."""
        self.first, self.one = captured[0], same_outs(captured[0].outs)
        # notes that tell numbers of one size are left out
        self.notes = [note for note in self.first.notes if all(note in c.notes for c in captured)]
        for c in captured[1:]:
            self.require_alike(c)
        found = {n: [getattr(c, n) for c in captured] for n in PARTS}
        self.parts = {n: common_form(values, samples, SAID.get(n, n)) for n, values in found.items()}

    def require_alike(self, captured):
        """Refuse a trace of which more than numbers is another."""
        if captured.tree != self.first.tree:
            raise Unalike("what it returns has not one structure at all sizes")
        if same_outs(captured.outs) != self.one:
            raise Unalike("results that are one object at one size are several at another")
        require_same_world(self.first, captured)

    def at(self, sizes, func):
        """The Captured of these sizes around a program."""
        made = copy.copy(self.first)
        made.func, made.notes = func, list(self.notes)
        for name, form in self.parts.items():
            setattr(made, name, form_at(form, sizes))
        made.outs = [made.outs[k] for k in self.one]  # what is handed out as one object is one Out
        return made

    def agrees(self, captured, sizes):
        """Why the Captured of one more trace is not this one at its sizes; "" where it is."""
        try:
            for name, form in self.parts.items():
                common_form([form_at(form, sizes), getattr(captured, name)], [sizes, sizes], SAID.get(name, name))
            self.require_alike(captured)
        except Unalike as error:
            return str(error)
        return ""


def same_outs(outs):
    """For each result the first one that is the same Out."""
    places = {}
    return [places.setdefault(id(out), k) for k, out in enumerate(outs)]


def require_same_world(a, b):
    """Refuse two traces that rely on, or take in, what is not the same outside."""
    mine, other = a.outside.reads, b.outside.reads
    if mine.keys() != other.keys() or not all(is_same_read(mine[p], other[p]) for p in mine):
        raise Unalike("it does not read the same outside at all sizes")
    if len(a.inputs) != len(b.inputs) or not all(map(same_input, a.inputs, b.inputs)):
        raise Unalike("it does not take in the same from outside at all sizes")


def is_same_read(x, y):
    """Whether two traces found the same at a place, as far as they rely on it."""
    return x.how == y.how and (x.how != "value" or x.value is y.value or snapshot(x.value) == snapshot(y.value))


def same_input(x, y):
    if x is y or hasattr(x, "place") and hasattr(y, "place") and x.place == y.place:
        return True
    both = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    return both and x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
