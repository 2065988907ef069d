"""A number of which data decides what kind it is: a Python int or float, or a scalar of NumPy's.

NumPy's promotion, Python's errors and its ints without end go by the kind, so the kinds stay apart: the program
carries the number in a dtype that holds every kind's without loss, and beside it a tag that says which kind it is.
What the kinds agree on is computed once (`meeting`), the rest for each of them (`apart`), or the trace goes on under
the assumption that it is one of them. What is returned is of its kind on ndarrays, and of the widest on jax arrays.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor
from ..common.emit import cast_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from .array import WEAK_DTYPES, TracedScalar, bring
from .capturing import open_choice, unmerged
from .nested import found_within, replaced_within

PYTHON = (bool, int, float, complex)
TAG = Tensor((), np.dtype(np.int64))
NUMBERS = {("weak", kind): n for n, kind in enumerate(PYTHON)}  # spec of a kind -> its number in the program
NUMBERS |= {("strong", np.dtype(name)): n for n, name in enumerate(SHORT, len(PYTHON))}


class Mixed(TracedScalar):
    """kinds: the specs it may have, ("weak", Python type) or ("strong", dtype), in the order of their numbers. tag: the
    number of the one it has."""

    __slots__ = ("tag", "kinds", "choice", "where", "joined")

    def __init__(self, value, tag, kinds, where=None, choice=None):
        self.tag, self.kinds = tag, tuple(sorted(kinds, key=NUMBERS.get))
        self.where, self.choice = where or locate(), open_choice() if choice is None else choice
        self.joined = common_kind(self.kinds, value.type.dtype)
        super().__init__(value, self.joined[1] if self.joined and self.joined[0] == "weak" else None)

    @property
    def value(self):
        """The number where only that matters, as in a test or a result: in the widest of its kinds, if one is."""
        if self.joined is None:
            self.fail()
        return bring(self._value)

    def known(self):
        return None

    def fail(self):
        said = " or ".join(map(kind_text, self.kinds))
        text = f"a number is {said}, as data decides at {self.where}, and its kind decides what happens here"
        hint = "Give both sides one kind of number: float(x), or x.dtype.type(number)."
        unmerged(self.choice, UnsupportedError(message(text, locate(), hint)))

    def of(self, kind):
        """The number as it is where it is of this kind."""
        x, dtype = bring(self._value), dtype_of(kind)
        if not np.can_cast(x.type.dtype, dtype):  # what is of another kind may not be a number of this one
            x = OPS["select"](OPS["eq"](bring(self.tag), kind_tag(kind)), x, Lit(0, x.type))
        return TracedScalar(cast_to(x, dtype), kind[1] if kind[0] == "weak" else None)

    def widest(self):
        """The number as what is returned: of the widest of its kinds."""
        return TracedScalar(self.value, self.joined[1] if self.joined[0] == "weak" else None)

    def but(self, kind):
        """The number where it is not of this kind."""
        rest = [k for k in self.kinds if k != kind]
        return self.of(rest[0]) if len(rest) == 1 else Mixed(self._value, self.tag, rest, self.where, self.choice)


def dtype_of(kind):
    return WEAK_DTYPES[kind[1]] if kind[0] == "weak" else kind[1]


def kind_text(kind):
    return f"a Python {kind[1].__name__}" if kind[0] == "weak" else repr(Tensor((), kind[1]))


def common_kind(kinds, dtype):
    """The one kind that a number of several is given back as, if it is a wider one that Python programs take for the
    others."""
    weak = [k[1] for k in kinds if k[0] == "weak"]
    strong = [k for k in kinds if k[0] == "strong"]
    if not strong:
        return ("weak", max(weak, key=PYTHON.index)) if bool not in weak or len(weak) == 1 else None
    takes = {bool: "b", int: "iufc", float: "fc", complex: "c"}
    return (
        strong[0] if len(strong) == 1 and strong[0][1] == dtype and all(dtype.kind in takes[k] for k in weak) else None
    )


def widest_number(x):
    """A number as it is given back: of the widest kind that data may have chosen."""
    return TracedScalar(x.value, x.weak) if type(x) is Mixed else x


def kind_tag(kind):
    return Lit(NUMBERS[kind], TAG)


def mixed_in(xs):
    """The Mixed numbers among arguments, in lists, tuples and slices too."""
    return found_within(Mixed, tuple(xs))


def has_mixed(xs):
    """Whether there is one among them."""
    return next(mixed_in(xs), None) is not None


def replaced(xs, change):
    """The arguments with each Mixed number changed."""
    return [replaced_within(Mixed, x, change) for x in xs]
