"""Instances of the user's subclasses of np.ndarray in traced code: made, asked for attributes, given to NumPy.

`values.array_object` says what stands for one. Whatever NumPy does with instances is done with their memory, and the
result gets the class that NumPy gives it (`numpy_api.result_classes`); the user's `__array_finalize__` is called as
NumPy calls it, with hooks.
"""

import types
import warnings

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards import state
from ..guards.guard import MISSING, of_class
from ..guards.subclasses import class_behind, is_captured, own_classes, stand_in_class
from ..numpy_api.handles import handle
from ..numpy_api.registry import METHODS
from ..numpy_api.result_classes import Overridden, Probe, lineage, numbers, probe
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.poison import Poison
from ..values.storage import current_trace
from .convert import CELL
from .special import looked_up

# of the memory itself, whatever the class
SHOWN = frozenset("shape dtype ndim size itemsize nbytes strides tolist item flat device".split())
HIDDEN = frozenset("base flags data ctypes __array_interface__ __array_struct__ setflags setfield getfield".split())
HIDDEN |= frozenset("tofile tobytes dump dumps byteswap resize".split())
GIVEN = (list, tuple)
FINALIZE = "__array_finalize__"


def kind_of(x):
    """The class of an instance."""
    return type(x).__stands_for__


# -- made ------------------------------------------------------------------------------------------


def stand_in(instance):
    """What the trace sees in place of an instance from outside."""
    outside = current_trace().root.outside
    found = outside.array_objects.get(id(instance))
    if found is None:
        made = object.__new__(stand_in_class(type(instance)))
        made.__of_trace__, made.__of_caller__ = None, instance
        found = outside.array_objects[id(instance)] = instance, made
        outside.subclassed = True
        outside.stray.meet(type(instance))
    return found[1]


def seen(x):
    """An ndarray that is no plain one, from outside: captured instances as the trace sees them."""
    return stand_in(x) if is_captured(type(x)) and current_trace() is not None else x


def memory(x):
    """The memory of an instance, as a traced array."""
    if x.__of_trace__ is None:
        outside, instance = current_trace().root.outside, x.__of_caller__
        read = outside.read("memory", instance, None, f"the elements of {outside.called(instance)}")
        if id(read.value) not in outside.paths:
            text = f"{outside.called(instance)} is an array of dtype {read.value.dtype}"
            raise UnsupportedError(message(text, locate(), "Convert it before the call: x.astype(np.float64)."))
        x.__of_trace__ = outside.array(read.value)
    return x.__of_trace__


def made(kind, array, of=None):
    """A new instance with this memory; of: what NumPy gives `__array_finalize__`."""
    if not is_captured(kind):
        text = f"an instance of {kind.__name__}, a subclass of np.ndarray of its own protocols, is made"
        raise UnsupportedError(message(text, locate(), "Use plain arrays there."))
    new = object.__new__(stand_in_class(kind))
    new.__of_trace__, new.__of_caller__ = array, None
    state.own(new)
    outside = current_trace().root.outside
    outside.subclassed = True
    outside.stray.meet(kind)
    finalize(new, of)
    return new


def finalize(x, of):
    """Call the user's `__array_finalize__`, if there is one."""
    kind = kind_of(x)
    looked_up(kind, FINALIZE)
    found = of_class(kind, FINALIZE)
    if type(found) is types.FunctionType:
        CELL.cell_contents.call(found)(x, of)


def new_array(kind, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """`np.ndarray.__new__`: memory of its own, or that of a buffer."""
    if buffer is None:
        array = handle(CELL.cell_contents.call(np.empty)(shape, dtype, order="C" if order is None else order))
        return array if kind is np.ndarray else made(kind, array)
    if offset or strides is not None or order not in (None, "C") or not is_array(buffer):
        text = "np.ndarray.__new__ with this buffer is not captured"
        raise UnsupportedError(message(text, locate(), "Give it an array that is C-contiguous, and nothing else."))
    array = memory(buffer) if isinstance(buffer, ArrayObject) else handle(buffer)
    if not array.shadow.flags.c_contiguous:
        raise ValueError(message("ndarray is not C-contiguous", locate()))
    if array.ndim > 1:
        current_trace().rely_on_layout(array.storage, row=True)
    shape = tuple(shape) if isinstance(shape, GIVEN) else (shape,)
    dtype, count = np.dtype(dtype), int(np.prod(shape))
    if array.dtype != dtype or shape != array.shape:
        row = array.reshape(-1).view(dtype)
        if count > row.size:
            raise TypeError(message("buffer is too small for requested array", locate()))
        array = row[:count].reshape(shape)
    else:
        array = array[...]
    return array if kind is np.ndarray else made(kind, array)


def is_array(x):
    return isinstance(x, TracedArray | ArrayObject) or type(x) is np.ndarray


def instance_new(kind, /, *args, **kwargs):
    """`kind(...)` of a class that leaves `__new__` to np.ndarray."""
    x = new_array(kind, *args, **kwargs)
    init = of_class(kind, "__init__")
    if type(init) is types.FunctionType:
        CELL.cell_contents.call(init)(x, *args, **kwargs)
    return x


def is_subclass(x):
    return isinstance(x, type) and issubclass(x, np.ndarray)


def view(x, dtype=MISSING, type=MISSING):
    """`x.view(kind)`, `x.view(dtype, kind)` of a plain array or an instance."""
    kind = dtype if is_subclass(dtype) else type
    plain = not isinstance(x, ArrayObject)
    if kind in (MISSING, np.ndarray) and plain:
        given = [a for a in (dtype, type) if a is not MISSING]
        return METHODS["view"](handle(x), *given)
    array = handle(x) if plain else memory(x)
    array = array[...] if dtype in (MISSING, None) or is_subclass(dtype) else METHODS["view"](array, dtype)
    if kind is np.ndarray:
        return array
    return made(kind_of(x) if kind is MISSING else kind, array, of=x)


# -- what NumPy makes of them ----------------------------------------------------------------------


def holds(x):
    """Whether something is an instance, or a list, tuple, dict or slice with one in it."""
    if isinstance(x, ArrayObject):
        return True
    if isinstance(x, GIVEN):
        return any(map(holds, x))
    if isinstance(x, slice):
        return holds((x.start, x.stop, x.step))
    return any(map(holds, x.values())) if type(x) is dict else False


def exchanged(x, f):
    """What `holds` looks through, with f of each leaf in its place."""
    if isinstance(x, GIVEN):
        parts = [exchanged(i, f) for i in x]
        return type(x)(parts) if type(x) in GIVEN else type(x)(*parts)
    if type(x) is dict:
        return {k: exchanged(i, f) for k, i in x.items()}
    return slice(*[exchanged(i, f) for i in (x.start, x.stop, x.step)]) if isinstance(x, slice) else f(x)


def bare(x):
    """Instances as plain arrays."""
    return exchanged(x, lambda leaf: memory(leaf) if isinstance(leaf, ArrayObject) else leaf)


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
            found = probe(kind_of(x), array.shape, array.dtype)
        elif isinstance(x, TracedArray):
            found = numbers(x.shape, x.dtype)
        elif type(x) is TracedScalar:
            number = numbers((1,), WEAK_DTYPES[x.weak] if x.weak else x.dtype)[0]
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
    out = plain(*bare(args), **bare(kwargs))
    probes = Probes()
    try:
        found = asked_of_numpy(real, exchanged(args, probes.of), exchanged(kwargs, probes.of))
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
    exchanged(x, lambda leaf: found.setdefault(kind_of(leaf)) if isinstance(leaf, ArrayObject) else None)
    return list(found)


def classed(out, found, probes, real):
    """A result, in the classes of what NumPy has made of the probes."""
    if isinstance(found, GIVEN) and isinstance(out, GIVEN) and len(found) == len(out):
        parts = [classed(x, y, probes, real) for x, y in zip(out, found)]
        return type(out)(parts) if type(out) in GIVEN else type(out)(*parts)
    if id(found) in probes.known:
        x = probes.known[id(found)][1]
        return out if isinstance(x, Traced) or type(x) is np.ndarray else x
    if isinstance(found, np.ndarray) and isinstance(out, Traced | np.ndarray | np.generic | float | int | bool):
        array = handle(out)
        if array.shape == found.shape and array.dtype == found.dtype:
            return array if not isinstance(found, Probe) else descended(array, found, probes)
    elif not isinstance(found, np.ndarray) and not isinstance(out, TracedArray):
        return out
    elif isinstance(found, np.generic) and isinstance(out, TracedArray) and not out.shape:
        return out[()]
    raise unclassed(real, f"of these NumPy gives a {type(found).__name__}")


def descended(array, found, probes):
    """A new instance, made of an argument by way of what NumPy makes in between."""
    if type(of_class(type(found).__stands_for__, FINALIZE)) is not types.FunctionType:
        return made(type(found).__stands_for__, array)  # nobody asks
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
        of = made(type(x).__stands_for__, Poison("an array that NumPy makes on the way"), of)
    return made(type(found).__stands_for__, array, of)



# -- attributes ------------------------------------------------------------------------------------


def attribute(x, key, whole=True):
    """`x.key`: the user's properties, methods and attributes, and NumPy's."""
    kind = kind_of(x)
    if key == "__class__":
        return class_asked(x)
    if key == "__dict__":
        raise UnsupportedError(message(f"the __dict__ of a {kind.__name__} is asked for as a whole", locate()))
    looked_up(kind, key)
    found = of_own_class(kind, key)
    if found is MISSING:
        numpys = vars(np.ndarray).get(key, MISSING)
        if type(numpys) is types.GetSetDescriptorType or numpys is MISSING and key.startswith("__"):
            return of_array(x, key)
        held = in_instance(x, key, whole)
        return held if held is not MISSING else of_array(x, key)
    if isinstance(found, property):
        if type(found.fget) is not types.FunctionType or not is_user(found.fget.__code__):
            raise UnsupportedError(message(f"{kind.__name__}.{key} is a property without a source", locate()))
        return CELL.cell_contents.call(found.fget)(x)
    if hasattr(type(found), "__set__") and type(found) is not types.FunctionType:
        raise UnsupportedError(message(f"{kind.__name__}.{key}, a descriptor, is not captured", locate()))
    held = in_instance(x, key, whole)
    if held is not MISSING:
        return held
    if type(found) is types.FunctionType:
        return types.MethodType(found, x)
    if isinstance(found, classmethod):
        return found.__get__(None, kind)
    if isinstance(found, staticmethod):
        return found.__func__
    if hasattr(type(found), "__get__"):
        raise UnsupportedError(message(f"{kind.__name__}.{key}, a descriptor, is not captured", locate()))
    return CELL.cell_contents.attribute(kind, key, whole)


def of_own_class(kind, key):
    """What the user's classes hold under a name, or MISSING."""
    return next((vars(c)[key] for c in own_classes(kind) if key in vars(c)), MISSING)


def class_asked(x):
    """The class of an instance; of one from outside it may be exchanged."""
    if x.__of_caller__ is not None:
        outside = current_trace().root.outside
        outside.read("attribute", x.__of_caller__, "__class__", f"the class of {outside.called(x.__of_caller__)}")
    return kind_of(x)


def in_instance(x, key, whole=True):
    """What an instance has of its own, or MISSING."""
    instance = x.__of_caller__
    if instance is None:
        return x.__dict__.get(key, MISSING)
    outside = current_trace().root.outside
    if key in vars(instance):
        return outside.attribute(instance, key, whole)
    outside.read("own", instance, key, f"{outside.called(instance)}.{key}")  # it would stand before the class's
    return MISSING


def of_array(x, key):
    """What NumPy's arrays have under a name."""
    if key in SHOWN:
        return getattr(memory(x), key)
    numpys = vars(np.ndarray).get(key, MISSING)
    if key in HIDDEN:
        raise UnsupportedError(message(f"{kind_of(x).__name__}.{key}, which np.ndarray has, is not captured", locate()))
    if key == FINALIZE:
        return lambda of: None
    if type(numpys) is types.GetSetDescriptorType:
        return apply(Getter(key), lambda array: CELL.cell_contents.attribute(array, key), (x,), {})
    if type(numpys) in (types.MethodDescriptorType, types.WrapperDescriptorType):
        return ArrayMethod(x, key)
    if hasattr(object, key):
        return getattr(x, key)
    raise AttributeError(f"{kind_of(x).__name__!r} object has no attribute {key!r}")


class Getter:
    """An attribute of NumPy's arrays as a function."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self, x):
        return vars(np.ndarray)[self.__name__].__get__(x)


class ArrayMethod:
    """A method of NumPy's arrays, bound to an instance, or to a plain array that is given instances."""

    def __init__(self, x, name):
        self.x, self.__name__ = x, name

    def __call__(self, *args, **kwargs):
        name = self.__name__
        if name == "view":
            return view(self.x, *args, **kwargs)
        if not holds(self.x) and not holds((args, kwargs)):
            return METHODS[name](self.x, *args, **kwargs)
        plain = lambda array, *rest, **given: CELL.cell_contents.call(CELL.cell_contents.attribute(array, name))(
            *rest, **given
        )
        return apply(vars(np.ndarray)[name], plain, (self.x, *args), kwargs)


def set_attribute(value, x, key):
    """`x.key = value`."""
    kind, instance = kind_of(x), x.__of_caller__
    looked_up(kind, key)
    found = of_own_class(kind, key)
    if isinstance(found, property) and found.fset is not None:
        CELL.cell_contents.call(found.fset)(x, value)
    elif isinstance(found, property):
        raise AttributeError(f"property {key!r} of {kind.__name__!r} object has no setter")
    elif found is not MISSING and hasattr(type(found), "__set__") and type(found) is not types.FunctionType:
        raise UnsupportedError(message(f"{kind.__name__}.{key}, a descriptor, is not captured", locate()))
    elif key in ("__class__", "__dict__"):
        raise UnsupportedError(message(f"{key} of a {kind.__name__} is stored", locate()))
    elif found is MISSING and type(vars(np.ndarray).get(key)) is types.GetSetDescriptorType:
        if key not in ("real", "imag", "flat") and instance is not None:
            raise UnsupportedError(message(f"{kind.__name__}.{key} of an instance from outside is stored", locate()))
        setattr(memory(x), key, bare(value))
    else:
        state.set_attribute(x if instance is None else instance, key, value)


def delete_attribute(x, key):
    raise UnsupportedError(message(f"{kind_of(x).__name__}.{key} is deleted", locate(), "Store None in its place."))


# -- items -----------------------------------------------------------------------------------------


def special(x, name):
    """The user's own special method of an instance, with hooks, or None."""
    looked_up(kind_of(x), name)
    found = of_own_class(kind_of(x), name)
    return CELL.cell_contents.call(found) if type(found) is types.FunctionType else None


def item(owner, key):
    """`owner[key]`, one of them an instance."""
    own = special(owner, "__getitem__") if isinstance(owner, ArrayObject) else None
    if own is not None:
        return own(owner, key)
    return apply(getitem, CELL.cell_contents.item, (owner, key), {})


def getitem(x, key):
    return x[key]


def set_item(owner, key, value):
    """`owner[key] = value`, one of them an instance."""
    own = special(owner, "__setitem__") if isinstance(owner, ArrayObject) else None
    if own is not None:
        own(owner, key, value)
    elif isinstance(owner, ArrayObject | TracedArray) or type(owner) is np.ndarray:
        CELL.cell_contents.set_item(bare(value), bare(owner), bare(key))
    else:
        return False
    return True


def elements(x):
    """What is gone through in place of an instance."""
    for name in ("__iter__", "__getitem__"):
        own = special(x, name)
        if own is not None:
            return own(x) if name == "__iter__" else [own(x, k) for k in range(memory(x).shape[0])]
    array = memory(x)
    return array if array.ndim == 1 else [item(x, k) for k in range(len(array))]
