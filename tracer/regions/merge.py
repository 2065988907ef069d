"""Two values that data chooses between, or that follow each other in a loop: what can be both.

A spec is what one leaf is to the program: ("weak", Python type), ("strong", dtype), ("mixed", such kinds, the dtype
that holds them all), ("array", shape, dtype), or ("object", it). Numbers of several kinds become a `Mixed` one, which
is still of each its own kind in arithmetic. Anything else does not merge.
"""

import functools

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor
from ..common import pytree
from ..common.errors import IntegerOverflow, UnsupportedError, message, shown
from ..common.frames import locate
from ..extents.bounded import Mask
from ..guards.container_phis import containers_at
from ..values.array import WEAK_DTYPES, TracedArray, TracedScalar, fresh
from ..values.beyond import far
from ..values.mixed import NUMBERS, TAG, Mixed, dtype_of, kind_tag
from ..values.object_phi import ObjectPhi
from ..values.promote import PYTHON_NUMBERS, operand_as, read
from ..values.ranges import interval
from ..values.sizes import Size
from ..values.speculate import decide
from ..values.storage import current_trace

select = OPS["select"]
SCALARS = ("weak", "strong", "mixed")
WHOLE, WEAK = 2**53, Tensor((), WEAK_DTYPES[int])
TOO_LARGE = "a Python int beyond 2**53 of the compiled program stands where data choose between it and a float"


def spec(x):
    """What a leaf is to the program."""
    kind = type(x)
    if kind is TracedArray or kind is np.ndarray and x.dtype.name in SHORT:
        return "array", tuple(x.shape), x.dtype
    if kind is TracedScalar or kind is Size:
        return ("weak", x.weak) if x.weak else ("strong", x.type.dtype)
    if kind in PYTHON_NUMBERS:
        return "weak", kind
    if kind is Mixed:
        return "mixed", x.kinds, x.type.dtype
    if kind is Mask:
        return "mask", x.type.shape, x.type.dtype
    if isinstance(x, np.generic) and x.dtype.name in SHORT:
        return "strong", x.dtype
    return "object", x


def common_spec(items):
    """The spec of numbers that all have one, else None."""
    first = spec(items[0])
    if first[0] not in ("weak", "strong"):
        return None
    return first if all(spec(x)[:2] == first for x in items) and not any(map(far, items)) else None


def spelled(s):
    """A spec as a user would say it."""
    if s[0] == "weak":
        return f"a Python {s[1].__name__}"
    if s[0] == "mixed":
        return " or ".join(spelled(kind) for kind in s[1])
    if s[0] == "object":
        return shown(s[1])
    return repr(type_of(s))


def described(x):
    """A value, of any structure, as a user would say it."""
    if isinstance(x, list | tuple | dict):
        return f"a {type(x).__name__} of {len(x)}"
    if type(x) is ObjectPhi:
        return f"a {x.kind.__name__}"
    return spelled(spec(x))


def type_of(s):
    """The IR type of a spec that has one."""
    return (
        Tensor(s[1], s[2]) if s[0] in ("array", "mask") else Tensor((), WEAK_DTYPES[s[1]] if s[0] == "weak" else s[1])
    )


def equal(x, y):
    """Whether two leaves are the same thing, so that there is nothing to choose."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) is TracedArray:
        return (
            x.storage is y.storage
            and x.type is y.type
            and len(x.chain) == len(y.chain)
            and all(a is b for a, b in zip(x.chain, y.chain))
        )
    if isinstance(x, TracedScalar):
        return x._value is y._value and x.weak is y.weak and getattr(x, "tag", None) is getattr(y, "tag", None)
    if isinstance(x, (*PYTHON_NUMBERS, str, bytes)):
        return x == y and repr(x) == repr(y)
    return False


def alike(before, after):
    """Whether two values of one structure have equal leaves."""
    (xs, tree), (ys, other) = pytree.flatten(before), pytree.flatten(after)
    return tree == other and all(map(equal, xs, ys))


def containers(x):
    """The lists and dicts in nested containers: what may be changed in place."""
    return [c for c, _ in containers_at(x, None)]


def join(a, b, x=None, y=None):
    """The spec that both leaves can have, or None; `x` and `y` are the leaves, where numbers matter."""
    if a[0] != "object" and a == b:  # an object may have an `==` of its own, which is not to be asked
        return None if far(x) or far(y) else a
    if a[0] not in SCALARS or b[0] not in SCALARS:
        return None
    dtype = holding([(a, x), (b, y)])
    found = {kind for s in (a, b) for kind in (s[1] if s[0] == "mixed" else [s])}
    current_trace().root.mixed += len(set(map(dtype_of, found))) > 1
    return None if dtype is None else ("mixed", tuple(sorted(found, key=NUMBERS.get)), dtype)


def holding(sides):
    """The dtype that holds numbers of several specs without loss, or None. An int among floats is checked by whoever
    makes it one."""
    given = [s[-1] for s, _ in sides if s[0] != "weak"]
    dtype = functools.reduce(np.promote_types, given) if given else None
    for s, x in sides:
        if s[0] == "weak" and not (dtype is not None and type(x) in PYTHON_NUMBERS and keeps_value(s[1], dtype, x)):
            dtype = WEAK_DTYPES[s[1]] if dtype is None else np.promote_types(dtype, WEAK_DTYPES[s[1]])
    for s, x in sides:
        if s[0] == "weak" and type(x) in PYTHON_NUMBERS:
            held = keeps_value(s[1], dtype, x)
        else:
            held = exact(dtype_of(s) if s[0] != "mixed" else s[2], dtype) or s == ("weak", int) and dtype.kind in "fc"
        if not held:
            return None
    return dtype


def exact(dtype, wide):
    """Whether all numbers of a dtype are numbers of another."""
    return (
        dtype == wide
        or np.can_cast(dtype, wide, "safe")
        and not (dtype.kind in "iu" and dtype.itemsize == 8 and wide.kind in "fc")
    )


def keeps_value(kind, dtype, number):
    """Whether a Python number keeps its value as a NumPy scalar, and as a number of its own kind in the program."""
    if far(number) or dtype.kind not in {bool: "biufc", int: "iufc", float: "fc", complex: "c"}[kind]:
        return False
    with np.errstate(all="ignore"):
        try:
            return number != number or dtype.type(number).item() == number
        except OverflowError:
            return False


def are_joinable(x, y):
    """Whether one leaf can be either of two."""
    return equal(x, y) or join(spec(x), spec(y), x, y) is not None


def int_beyond_float(x, s, edge=WHOLE):
    """Whether a leaf is a Python int that a float may not hold, as which the program carries it: what has to be
    checked."""
    if s[0] != "mixed" or s[2].kind not in "fc" or spec(x) != ("weak", int) or type(x) is int:
        return False
    known = interval(x._value)
    return known is None or known[0] < -edge or known[1] > edge


def whole(x):
    """Whether an int is one that a float holds."""
    value, edge = x.value, Lit(WHOLE, WEAK)
    return OPS["and"](OPS["le"](value, edge), OPS["ge"](value, Lit(-WHOLE, WEAK)))


# -- what the program carries of a leaf: of a Mixed number two values -------------------------------


def component_leaves(x, s):
    """A leaf as leaves that are one value each."""
    if s[0] != "mixed":
        return [x]
    return [TracedScalar(x._value), TracedScalar(x.tag)] if type(x) is Mixed else [x, np.int64(NUMBERS[spec(x)])]


def part_specs(s):
    return [s] if s[0] != "mixed" else [("strong", s[2]), ("strong", TAG.dtype)]


def assembled(values, specs, make):
    """The leaves of specs, of a value for each of their parts; make(value, spec) gives one of a single part."""
    values = iter(values)
    return [make(next(values), s) if s[0] != "mixed" else mixed(next(values), next(values), s) for s in specs]


def mixed(wide, tag, s, where=None):
    """The Mixed number of spec `s` around its two values."""
    return Mixed(wide, tag, s[1], where)


def tag_of(x):
    """The tag of a number, as an operand of the present trace."""
    return current_trace().bring(x.tag) if type(x) is Mixed else kind_tag(spec(x))


def widened(x, s):
    """A number as an operand of the dtype that a Mixed one of spec `s` is carried in."""
    return operand(TracedScalar(x._value) if type(x) is Mixed else x, ("strong", s[2]))


def operand(x, s):
    """The leaf as an operand of the present trace, of the type of spec `s`."""
    t = type_of(s)
    return x.value if type(x) is Mask else operand_as(read(x)[0], t.dtype, t.shape)


def made(value, s):
    """The traced object of spec `s` around a value."""
    return (
        fresh(value)
        if s[0] == "array"
        else Mask(value)
        if s[0] == "mask"
        else TracedScalar(value, s[1] if s[0] == "weak" else None)
    )


def absent(s):
    """A value of spec `s` that nobody reads."""
    return Lit(0, type_of(s))


def pick(test, x, y):
    """`x if test else y` of two numbers that are at hand."""
    both = join(spec(x), spec(y), x, y)
    if both is None or both[0] == "array":
        known = decide(test) if isinstance(test, TracedScalar) else test
        if known is not None:
            return x if known else y
        raise UnsupportedError(
            message(f"data chooses between {spelled(spec(x))} and {spelled(spec(y))}, which are no one type", locate())
        )
    if not isinstance(test, TracedScalar):
        return x if test else y
    if both[0] != "mixed":
        return made(select(test.value, operand(x, both), operand(y, both)), both)
    for side, holds in ((x, test.value), (y, OPS["not"](test.value))):
        if int_beyond_float(side, both):
            current_trace().check(
                OPS["or"](OPS["not"](holds), whole(side)), IntegerOverflow, message(TOO_LARGE, locate())
            )
    return mixed(select(test.value, widened(x, both), widened(y, both)), select(test.value, tag_of(x), tag_of(y)), both)
