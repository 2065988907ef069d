"""What NumPy makes of instances of the user's subclasses of np.ndarray: its functions are given their memory, and the
result gets the class that NumPy gives it (`numpy_api.result_classes`).
"""

import types
import warnings

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..guards.guard import of_class
from ..numpy_api.handles import handle
from ..numpy_api.result_classes import Overridden, Probe, lineage, made_up, probe
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.storage import current_trace
from .array_objects import FINALIZE, GIVEN, OnTheWay, class_of_instance, memory, new_instance
from .convert import CELL
from .special import looked_up


def holds_instance(x):
    """Whether something is an instance, or a list, tuple, dict or slice with one in it."""
    if isinstance(x, ArrayObject):
        return True
    if isinstance(x, GIVEN):
        return any(map(holds_instance, x))
    if isinstance(x, slice):
        return holds_instance((x.start, x.stop, x.step))
    return any(map(holds_instance, x.values())) if type(x) is dict else False


def with_leaves(x, f):
    """What `holds_instance` looks through, with f of each leaf in its place."""
    if isinstance(x, GIVEN):
        parts = [with_leaves(i, f) for i in x]
        return type(x)(parts) if type(x) in GIVEN else type(x)(*parts)
    if type(x) is dict:
        return {k: with_leaves(i, f) for k, i in x.items()}
    return slice(*[with_leaves(i, f) for i in (x.start, x.stop, x.step)]) if isinstance(x, slice) else f(x)


def without_classes(x):
    """Instances as plain arrays."""
    return with_leaves(x, lambda leaf: memory(leaf) if isinstance(leaf, ArrayObject) else leaf)


NUMBERS = (Traced, np.ndarray, np.generic, float, int, bool)


class Probes:
    """What stands for the arguments where NumPy is asked for classes."""

    def __init__(self):
        self.known = {}  # id of a probe -> (it, the instance or array that it is for)
        self.made = {}  # id of an argument -> its probe

    def of(self, x):
        if id(x) in self.made:
            return self.made[id(x)]
        if isinstance(x, ArrayObject):
            array = memory(x)
            found = probe(class_of_instance(x), array.shape, array.dtype)
        elif isinstance(x, TracedArray):
            found = made_up(x.shape, x.dtype)
        elif type(x) is TracedScalar:
            number = made_up((1,), WEAK_DTYPES[x.weak] if x.weak else x.dtype)[0]
            return x.weak(number) if x.weak else number
        elif isinstance(x, Traced) or type(x) is types.FunctionType:
            raise Overridden("a function that it is given")
        elif type(x) is np.ndarray:
            found = x.copy()
        else:
            return x
        self.known[id(found)], self.made[id(x)] = (found, x), found
        return found


def apply(real, plain, args, kwargs):
    """f(*args, **kwargs) of NumPy's: of plain arrays, and its result in the class that NumPy gives it. plain: what
    stands for f in the trace."""
    trace = current_trace()
    if trace is None:
        raise UnsupportedError(message("a traced array is used after its trace has ended", locate()))
    for x in kinds_in((args, kwargs)):
        looked_up(x, FINALIZE, "__array_ufunc__", "__array_wrap__")
    plain = plain or CELL.cell_contents.call(real)
    out = plain(*without_classes(args), **without_classes(kwargs))
    probes = Probes()
    try:
        found = asked_of_numpy(real, with_leaves(args, probes.of), with_leaves(kwargs, probes.of))
    except Overridden as asked:
        raise unclassed(real, f"NumPy asks for {asked}, which is not NumPy's own") from None
    return classed(out, found, probes, real)


def asked_of_numpy(real, args, kwargs):
    """The call, of probes."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return real(*args, **kwargs)
    except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        raise unclassed(real, f"NumPy refuses made-up numbers: {error}".splitlines()[0]) from None


def unclassed(real, why):
    """Of which class a result is cannot be told."""
    name = getattr(real, "__name__", "a function of NumPy's")
    return UnsupportedError(
        message(f"{name} is not captured on subclasses of np.ndarray: {why}", locate(), "Give it np.asarray(x).")
    )


def kinds_in(x):
    """The classes of the instances in arguments."""
    found = {}
    with_leaves(x, lambda leaf: found.setdefault(class_of_instance(leaf)) if isinstance(leaf, ArrayObject) else None)
    return list(found)


def classed(out, found, probes, real):
    """A result, in the classes of what NumPy has made of the probes."""
    if isinstance(found, GIVEN) and isinstance(out, GIVEN) and len(found) == len(out):
        parts = [classed(x, y, probes, real) for x, y in zip(out, found)]
        return type(out)(parts) if type(out) in GIVEN else type(out)(*parts)
    if id(found) in probes.known:
        x = probes.known[id(found)][1]
        return x if isinstance(x, ArrayObject) else out
    if not isinstance(found, np.ndarray):
        if isinstance(out, TracedArray) and isinstance(found, np.generic) and not out.shape:
            return out[()]
        if not isinstance(out, TracedArray):
            return out
    elif isinstance(out, NUMBERS):
        array = handle(out)
        if array.shape == found.shape and array.dtype == found.dtype:
            return descended(array, found, probes) if isinstance(found, Probe) else array
    raise unclassed(real, f"of these NumPy gives a {type(found).__name__}")


def descended(array, found, probes):
    """A new instance, made of an argument by way of what NumPy makes in between."""
    if type(of_class(type(found).__stands_for__, FINALIZE)) is not types.FunctionType:
        return new_instance(type(found).__stands_for__, array)  # nobody asks
    line = lineage(found)
    for n, x in enumerate(line):
        if id(x) in probes.known:
            line[n:] = [x]
            break
    last = line[-1]
    if id(last) in probes.known:
        of = probes.known[id(last)][1]
        line.pop()
    elif last is None:
        of = None
        line.pop()
    elif isinstance(last, Probe):
        of = None
    else:
        raise UnsupportedError(message("an instance is made of an array that NumPy makes in between", locate()))
    for x in reversed(line[1:]):
        of = new_instance(type(x).__stands_for__, OnTheWay(x), of)
    return new_instance(type(found).__stands_for__, array, of)
