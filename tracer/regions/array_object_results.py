"""What NumPy makes of instances of the user's subclasses of np.ndarray: its functions are given their memory, and the
result gets the class that NumPy gives it (`numpy_api.result_classes`).
"""

import functools
import itertools
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
from ..values.chosen_array import ChosenArray
from ..values.storage import current_trace
from .array_objects import FINALIZE, GIVEN, OnTheWay, class_of_instance, memory, new_instance
from .convert import CELL
from .special import looked_up


def holds_instance(x):
    """Whether something is an instance, or a list, tuple, dict or slice with one in it."""
    if isinstance(x, ArrayObject) or type(x) is ChosenArray:
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
    return with_leaves(x, elements_of)


NUMBERS = (Traced, np.ndarray, np.generic, float, int, bool)


class Probes:
    """What stands for the arguments where NumPy is asked for classes. kinds: id of a `ChosenArray` -> the class that it
    is taken to be of."""

    def __init__(self, kinds=None):
        self.kinds = kinds or {}
        self.known = {}  # id of a probe -> (it, the instance or array that it is for)
        self.made = {}  # id of an argument -> its probe

    def of(self, x):
        if id(x) in self.made:
            return self.made[id(x)]
        if isinstance(x, ArrayObject):
            array = memory(x)
            found = probe(class_of_instance(x), array.shape, array.dtype)
        elif type(x) is ChosenArray:
            kind, array = self.kinds.get(id(x), np.ndarray), x.array
            make = made_up if kind is np.ndarray else functools.partial(probe, kind)
            found = make(array.shape, array.dtype)
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
    chosen = leaves_of_kind((args, kwargs), ChosenArray)
    if chosen:
        require_one_class(chosen, real, args, kwargs)
    plain = plain or CELL.cell_contents.call(real)
    out = plain(*without_classes(args), **without_classes(kwargs))
    probes = Probes()
    try:
        found = asked_of_numpy(real, with_leaves(args, probes.of), with_leaves(kwargs, probes.of))
    except Overridden as asked:
        raise unclassed(real, f"NumPy asks for {asked}, which is not NumPy's own") from None
    return classed(out, found, probes, real)


def require_one_class(chosen, real, args, kwargs):
    """Refuse a function whose result is an instance, or of different classes, as the classes of its arguments are."""
    found = set()
    for kinds in itertools.product(*[x.kinds for x in chosen]):
        probes = Probes({id(x): kind for x, kind in zip(chosen, kinds)})
        try:
            result = asked_of_numpy(real, with_leaves(args, probes.of), with_leaves(kwargs, probes.of))
        except Overridden:
            chosen[0].fail()
        with_leaves((result,), lambda leaf: found.add(type(leaf)))
    if any(issubclass(kind, Probe) for kind in found):
        chosen[0].fail()


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


def leaves_of_kind(x, kind):
    """The leaves of a kind in arguments, each once."""
    found = {}
    with_leaves(x, lambda leaf: found.setdefault(id(leaf), leaf) if isinstance(leaf, kind) else None)
    return list(found.values())


def kinds_in(x):
    """The classes of the instances in arguments."""
    found = dict.fromkeys(map(class_of_instance, leaves_of_kind(x, ArrayObject)))
    found |= dict.fromkeys(kind for leaf in leaves_of_kind(x, ChosenArray) for kind in leaf.kinds)
    return list(found)


def elements_of(x):
    """The memory of an array of any class; all else as it is."""
    return memory(x) if isinstance(x, ArrayObject) else x.array if type(x) is ChosenArray else x


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
