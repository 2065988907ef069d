"""Two values that data chooses between, or that follow each other in a loop: the one kind that can be both.

A spec is what one leaf is to the program: ("weak", Python type), ("strong", dtype), ("array", shape,
dtype), or ("object", it). Python numbers widen int -> float -> complex; a Python number becomes the
NumPy scalar beside it where that loses nothing. Anything else does not merge.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor
from .. import pytree
from ..array import WEAK_DTYPES, TracedArray, TracedScalar, fresh
from ..errors import UnsupportedError, message, shown
from ..extents.bounded import Mask
from ..frames import locate
from ..promote import PYTHON_NUMBERS, operand_as, read
from ..storage import current_trace

select = OPS["select"]


def spec(x):
    """What a leaf is to the program."""
    kind = type(x)
    if kind is TracedArray or kind is np.ndarray and x.dtype.name in SHORT:
        return "array", tuple(x.shape), x.dtype
    if kind is TracedScalar:
        return ("weak", x.weak) if x.weak else ("strong", x.type.dtype)
    if kind in PYTHON_NUMBERS:
        return "weak", kind
    if kind is Mask:
        return "mask", x.type.shape, x.type.dtype
    if isinstance(x, np.generic) and x.dtype.name in SHORT:
        return "strong", x.dtype
    return "object", x


def spelled(s):
    """A spec as a user would say it."""
    if s[0] == "weak":
        return f"a Python {s[1].__name__}"
    if s[0] == "object":
        return shown(s[1])
    return repr(type_of(s))


def described(x):
    """A value, of any structure, as a user would say it."""
    if isinstance(x, list | tuple | dict):
        return f"a {type(x).__name__} of {len(x)}"
    return spelled(spec(x))


def type_of(s):
    """The IR type of a spec that has one."""
    return Tensor(s[1], s[2]) if s[0] in ("array", "mask") else Tensor((), WEAK_DTYPES[s[1]] if s[0] == "weak" else s[1])


def equal(x, y):
    """Whether two leaves are the same thing, so that there is nothing to choose."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) is TracedArray:
        return x.storage is y.storage and x.type is y.type and len(x.chain) == len(y.chain) and all(a is b for a, b in zip(x.chain, y.chain))
    if isinstance(x, TracedScalar):
        return x._value is y._value and x.weak is y.weak
    if isinstance(x, (*PYTHON_NUMBERS, str, bytes)):
        return x == y and repr(x) == repr(y)
    return False


def alike(before, after):
    """Whether two values of one structure have equal leaves."""
    (xs, tree), (ys, other) = pytree.flatten(before), pytree.flatten(after)
    return tree == other and all(map(equal, xs, ys))


def containers(x):
    """The lists and dicts in nested containers: what may be changed in place."""
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return [*([x] if isinstance(x, list | dict) else []), *(c for v in inside for c in containers(v))]


def join(a, b, x=None, y=None):
    """The spec that both leaves can have, or None; `x` and `y` are the leaves, where numbers matter."""
    if a == b and a[0] != "object":
        return a
    kinds = {a[0], b[0]}
    if kinds == {"weak"} and bool not in (a[1], b[1]):
        current_trace().root.mixed += 1
        return max(a, b, key=lambda s: PYTHON_NUMBERS.index(s[1]))
    if kinds == {"weak", "strong"}:
        (weak, number), (strong, _) = ((a, x), (b, y)) if a[0] == "weak" else ((b, y), (a, x))
        current_trace().root.mixed += WEAK_DTYPES[weak[1]] != strong[1]
        return strong if fits(weak[1], strong[1], number) else None
    return None


def fits(kind, dtype, number):
    """Whether a Python number keeps its value as a NumPy scalar."""
    if kind is bool or dtype.kind == "b":
        return kind is bool and dtype.kind == "b"
    if dtype.kind not in {int: "iufc", float: "fc", complex: "c"}[kind]:
        return False
    if type(number) in PYTHON_NUMBERS:
        with np.errstate(all="ignore"):
            try:
                return number != number or dtype.type(number).item() == number
            except OverflowError:
                return False
    return dtype.itemsize >= 8 * (2 if dtype.kind == "c" else 1)


def operand(x, s):
    """The leaf as an operand of the present trace, of the type of spec `s`."""
    t = type_of(s)
    return x.value if type(x) is Mask else operand_as(read(x)[0], t.dtype, t.shape)


def made(value, s):
    """The traced object of spec `s` around a value."""
    return fresh(value) if s[0] == "array" else Mask(value) if s[0] == "mask" else TracedScalar(value, s[1] if s[0] == "weak" else None)


def absent(s):
    """A value of spec `s` that nobody reads."""
    return Lit(0, type_of(s))


def pick(test, x, y):
    """`x if test else y` of two numbers that are at hand."""
    both = join(spec(x), spec(y), x, y)
    if both is None or both[0] == "array":
        raise UnsupportedError(message(f"data chooses between {spelled(spec(x))} and {spelled(spec(y))}, which are no one type", locate()))
    if not isinstance(test, TracedScalar):
        return x if test else y
    return made(select(test.value, operand(x, both), operand(y, both)), both)
