"""Objects that generated functions name, made at several samples: one of them where they are the same, the expression
of the sizes that makes each of them otherwise."""

import ast
import functools
import types

import numpy as np

from ...ir.sample import Unalike
from ..capture.handover import Freeze, Located, Row
from ..values.views import ComplexPart, Diagonal, IndexView, Padded, Permute, Repeat, Reshape
from .sized_tree import is_sized, sized_constant

# of views, what `follow` reads
VIEWS = {
    Permute: ("perm",),
    Reshape: ("shape",),
    Repeat: ("shape",),
    Padded: (),
    ComplexPart: ("part",),
    Diagonal: ("args",),
    IndexView: ("key",),
    Located: ("places", "key"),
    Freeze: (),
    Row: ("place",),
}


def same_object(a, b):
    """Whether one object may stand for another in a generated function."""
    if a is b:
        return True
    kind = type(a)
    if type(b) is not kind:
        return False
    if kind in (tuple, list):
        return len(a) == len(b) and all(map(same_object, a, b))
    if kind is np.ndarray or isinstance(a, np.generic):
        return a.dtype == b.dtype and a.dtype.kind != "O" and a.shape == b.shape and a.tobytes() == b.tobytes()
    if kind is slice:
        return all(map(same_object, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    if kind in VIEWS:
        return all(same_object(getattr(a, name), getattr(b, name)) for name in VIEWS[kind])
    if kind is functools.partial:
        return a.func is b.func and same_object(a.args, b.args) and same_object(a.keywords, b.keywords)
    if kind is dict:
        return list(a) == list(b) and all(same_object(a[k], b[k]) for k in a)
    if kind is types.FunctionType:  # a helper, which each file defines
        return a.__code__ == b.__code__ and not a.__closure__ and not b.__closure__ and a.__defaults__ == b.__defaults__
    if kind in (int, float, complex, str, bytes, bool):
        return repr(a) == repr(b)
    return isinstance(a, np.dtype) and a == b


class SizedObjects:
    """The objects of one function, of which `space` gets those that are the same at all samples. forms: of the
    samples; taken: names that mean something in the function."""

    def __init__(self, forms, space, taken=()):
        self.forms, self.space, self.taken = forms, space, taken

    def form(self, values, wish="object"):
        """The template of the expression that an object is at the samples; Unalike where there is none."""
        first = values[0]
        if all(same_object(first, v) for v in values[1:]):
            return self.kept(first, wish)
        if any(type(v) is not type(first) for v in values):
            raise Unalike(f"an object of its NumPy, a {type(first).__name__} at one size, is of another type elsewhere")
        template = self.differing(values, type(first))
        return template if is_sized(template) else self.kept(first, wish)

    def kept(self, x, wish):
        if x is None or x is Ellipsis or type(x) in (int, str, bool):
            return ast.Constant(x)
        name = next((k for k, y in self.space.items() if y is x), None)
        if name is None:
            name, n = wish, 1
            while name in self.space or name in self.taken:
                name, n = f"{wish}_{n}", n + 1
            self.space[name] = x
        return ast.Name(name, ast.Load())

    def differing(self, values, kind):
        first = values[0]
        if kind in (int, float):
            return ast.Constant(sized_constant(values, self.forms))
        if kind in (tuple, list):
            if any(len(v) != len(first) for v in values):
                raise Unalike("tuples are of several lengths")
            return (ast.Tuple if kind is tuple else ast.List)([self.form(list(p)) for p in zip(*values)], ast.Load())
        if kind is slice:
            ends = [[getattr(v, end) for v in values] for end in ("start", "stop", "step")]
            return call_node("slice", list(map(self.form, ends)))
        if isinstance(first, np.generic) and first.dtype.kind in "iufc" and all(v.dtype == first.dtype for v in values):
            if any(v.imag or np.signbit(v.imag) for v in values if first.dtype.kind == "c"):
                raise Unalike("complex numbers of the program differ between sizes")
            number = ast.Constant(sized_constant([v.real.item() for v in values], self.forms))
            return call_node(self.kept(kind, "number_type"), [number])
        if kind in VIEWS:
            parts = [self.form([getattr(v, name) for v in values]) for name in VIEWS[kind]]
            return call_node(self.kept(remade, "remade"), [self.kept(kind, kind.__name__), *parts])
        raise Unalike(f"an object of its NumPy, a {kind.__qualname__}, is not the same at all sizes")


def call_node(function, arguments):
    function = ast.Name(function, ast.Load()) if isinstance(function, str) else function
    return ast.Call(function, arguments, [])


def remade(kind, *parts):
    """A view that does what `apply` and `at` of its kind do."""
    made = object.__new__(kind)
    for name, part in zip(VIEWS[kind], parts, strict=True):
        setattr(made, name, part)
    return made
