"""Subclasses of np.ndarray as people write them, and a comparison of calls that looks at classes, attributes and memory."""

import numpy as np
from compare import agree

from wengert import jit


class Plain(np.ndarray):
    pass


class Tagged(np.ndarray):
    """Attributes that go on, as NumPy's own pages write it; how often they have."""

    unit = 3.0

    def __new__(cls, values, tag="made"):
        made = np.asarray(values, dtype=float).view(cls)
        made.tag = tag
        return made

    def __array_finalize__(self, of):
        if of is None:
            return
        self.tag = getattr(of, "tag", "none")
        self.steps = getattr(of, "steps", 0) + 1

    def scaled(self, k):
        return self * k

    @property
    def first(self):
        return self[0]

    @first.setter
    def first(self, value):
        self[0] = value

    @classmethod
    def zeros(cls, n):
        return cls(np.zeros(n), "zeros")

    @staticmethod
    def twice(x):
        return 2 * x


class Higher(Tagged):
    __array_priority__ = 5.0

    def scaled(self, k):
        return super().scaled(k) + 1


class Unit(np.ndarray):
    """Memory that is an attribute too."""

    def __new__(cls, values):
        values = np.array(values, dtype=float)
        norm = np.linalg.norm(values)
        if norm == 0.0:
            raise ValueError("no direction")
        values /= norm
        made = super().__new__(cls, values.shape, float, values)
        made.A = values
        return made

    def flipped(self):
        return Unit(-self.A)

    def flip(self):
        self.A[0] *= -1
        return self.A

    def w(self):
        return self.A[0] * 2


class Own(np.ndarray):
    """Operators of its own."""

    def __add__(self, other):
        return "added"

    def __radd__(self, other):
        return "added from the right"

    def __mul__(self, other):
        return np.asarray(self) * 2 + np.asarray(other)

    def __rmul__(self, other):
        return np.asarray(self) * 3 + np.asarray(other)

    def __getitem__(self, key):
        return np.asarray(super().__getitem__(key)) * 10

    def __len__(self):
        return 7

    def __bool__(self):
        return False

    def __neg__(self):
        return 5.0

    def __eq__(self, other):
        return NotImplemented

    def __iadd__(self, other):
        np.ndarray.__iadd__(self, other)
        self.count = getattr(self, "count", 0) + 1
        return self

    def sum(self, *args, **kwargs):
        return super().sum(*args, **kwargs) + 1


CLASSES = [Plain, Tagged, Higher, Own]


def laid_open(x, around=()):
    """What a result is, its classes and attributes by name; an object within itself by how far out it is."""
    if any(x is y for y in around) and isinstance(x, np.ndarray):
        return "again", [x is y for y in around]
    around = (*around, x)
    if isinstance(x, list | tuple):
        return [type(x).__name__, *(laid_open(v, around) for v in x)]
    if isinstance(x, dict):
        return {k: laid_open(v, around) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return [type(x).__name__, np.ndarray.view(x, np.ndarray), laid_open(getattr(x, "__dict__", {}), around)]
    return x


def arrays_in(x, around=()):
    """The arrays of a result and of their attributes, in order."""
    if any(x is y for y in around):
        return []
    around = (*around, x)
    if isinstance(x, list | tuple):
        return [y for v in x for y in arrays_in(v, around)]
    if isinstance(x, dict):
        return arrays_in(list(x.values()), around)
    return [x, *arrays_in(getattr(x, "__dict__", {}), around)] if isinstance(x, np.ndarray) else []


def sharing(x):
    """Which of the arrays are one object, and which share memory."""
    found = arrays_in(x)
    pairs = [(p, q) for i, p in enumerate(found) for q in found[:i]]
    return [(p is q, np.shares_memory(np.ndarray.view(p, np.ndarray), np.ndarray.view(q, np.ndarray))) for p, q in pairs]


def outcome(f, args):
    try:
        return f(*args)
    except Exception as error:
        return error


def check_calls(f, *makes, calls=2, rtol=1e-12, compiled=None):
    """Calls on new arguments, which `makes` make of the call's number: plain and compiled they leave the same."""
    compiled = compiled or jit(f)
    for n in range(calls):
        plainly, args = [make(n) for make in makes], [make(n) for make in makes]
        with np.errstate(all="ignore"):
            want, got = outcome(f, plainly), outcome(compiled, args)
        if isinstance(want, Exception):
            assert isinstance(got, type(want)), f"{want!r} against {got!r}"
            continue
        if isinstance(got, Exception):
            raise got
        agree(laid_open([got, args]), laid_open([want, plainly]), rtol)
        assert sharing([got, args]) == sharing([want, plainly])
    return compiled
