"""`f(...)`: what is really called. The user's functions get hooks of their own; creation functions give traced arrays while tracing."""

import array
import builtins
import collections
import functools
import inspect
import itertools
import operator
import os
import types

import numpy as np

from ...ir.core import Builder
from ...ir.types import SHORT
from ..common.emit import constant_of, counted
from ..common.errors import CannotRoll, ConcretizationError, UnsupportedError, message
from ..common.frames import locate, name_of
from ..common.origin import is_builtin, is_user
from ..guards import memo
from ..guards.context_managers import stream_of
from ..guards.draws import drawing
from ..guards.guard import of_class
from ..guards.purity import is_foreign
from ..guards.reliance import of_user
from ..guards.state import SEEN_THROUGH, UNBOUND, inside, items, own, refuse, restore
from ..numpy_api.extents import making
from ..numpy_api.handles import handle, is_traced, laid_out
from ..numpy_api.registry import HANDLERS, call_function, call_ufunc_method
from ..numpy_api.scipy_registry import find, find_method
from ..rewriter.converted import belongs
from ..rewriter.expressions import HOOK
from ..values.array import Traced, TracedArray, TracedScalar, answers, fresh
from ..values.promote import is_device_array
from ..values.speculate import number, remember
from ..values.storage import current_trace
from .builtins import REPLACED, lacks, replaces, sample
from .convert import CELL, convert
from .dispatching import BOUND, dispatched
from .foreign import ADVICE, calling, foreign, hooked, note_functions
from .library import called, through, traced_through
from .printing import formatted, joining
from .sequences import LIST_METHODS
from .series import enumerate_, ndenumerate, ndindex, product, range_, reversed_, zip_
from .special import looked_up

PLAIN = (str, bytes, int, float, complex, list, dict, tuple, set, frozenset, Traced, np.ndarray, np.generic)  # whose methods are of what they hold
CACHED, EMPTY = type(functools.cache(len)), types.CellType()
NUMPYS = (type(np.sum), np.ufunc)
DISPATCHERS = (types.BuiltinFunctionType, type, *NUMPYS)
MUTATORS = set("append extend insert pop remove clear sort reverse update setdefault popitem add discard appendleft popleft extendleft".split())
GROWING = set("append extend insert add appendleft extendleft".split())
GROWS = "Make an array as long as it can get before it, and count: ys = np.zeros(most); n = 0; then ys[n] = y; n += 1."
ENVIRONMENT = type(os.environ)
REPLACED |= {range: range_, enumerate: enumerate_, zip: zip_, reversed: reversed_, itertools.product: product}
REPLACED |= {np.ndindex: ndindex, np.ndenumerate: ndenumerate}


def call(f):
    """What to call in place of f."""
    kind = type(f)
    if kind is not types.FunctionType and current_trace() is not None and not of_user(kind):  # whose own `__eq__` would be asked
        found = drawing(f)
        if found is not None:
            return found
    if kind is types.FunctionType:
        return user(f) if is_user(f.__code__) else REPLACED.get(f) or dispatched(f) or libraries(f, scipys(through(f)))
    if kind is types.MethodType:
        g = f.__func__
        if stream_of(f) is not None and current_trace() is not None:
            return foreign(f)
        if type(f.__self__) is ENVIRONMENT and current_trace() is not None:
            return REPLACED[os.getenv] if f.__name__ == "get" else changes_environment
        if type(g) is types.FunctionType and is_user(g.__code__):
            return types.MethodType(user(g), f.__self__)
        return libraries(f, scipys(f))
    if kind in DISPATCHERS:
        return _builtin(f, kind) if Builder.building() is not None else f
    named = kind in SETTERS and not isinstance(getattr(f, "__self__", None), types.FunctionType)  # a function's name is its own affair
    if named and f.__name__ == "__setattr__" and current_trace() is not None:
        return functools.partial(put, *([f.__self__] if kind is types.MethodWrapperType else []))
    if named and f.__name__ == "__delattr__" and current_trace() is not None:
        return functools.partial(remove, *([f.__self__] if kind is types.MethodWrapperType else []))
    if kind is types.MethodWrapperType and f.__name__ == "__call__" and isinstance(f.__self__, type):
        return _instance(f.__self__)
    if kind is functools.partial:
        inner = call(f.func)
        trace = current_trace()
        outside = trace is not None and trace.root.outside.knows(f)
        args, keywords = (live(f, "args"), live(f, "keywords")) if outside else (f.args, f.keywords)
        if outside:
            trace.root.outside.partial(f)
        return f if inner is f.func and args is f.args and keywords is f.keywords else functools.partial(inner, *args, **keywords)
    if isinstance(f, type):
        return not of_user(kind) and REPLACED.get(f) or _class(f)
    if kind is CACHED and Builder.building() is not None:
        return functools.partial(_uncached, f)
    if kind in GETTERS:
        return functools.partial(GETTERS[kind], f.__reduce__()[1])
    if kind is operator.methodcaller and current_trace() is not None:
        return functools.partial(_method_called, f)
    found = (dispatched(f) if kind is BOUND else None) or called(f)
    if found is not None:
        return found
    looked_up(kind, "__call__")
    run = inspect.getattr_static(kind, "__call__", None)
    if type(run) is types.FunctionType and is_user(run.__code__):
        return types.MethodType(user(run), f)
    if type(run) is types.FunctionType and traced_through(run.__code__):
        return types.MethodType(through(run), f)
    return libraries(f, f) if type(run) in (types.FunctionType, types.WrapperDescriptorType) else f


def put(owner, key, value):
    """`object.__setattr__(owner, key, value)`"""
    CELL.cell_contents.put(owner, key, value)


def remove(owner, key):
    """`object.__delattr__(owner, key)`"""
    CELL.cell_contents.remove(owner, key)


SETTERS = (types.MethodWrapperType, types.WrapperDescriptorType)


def libraries(f, found):
    """What stands for a library's function while tracing: `found`, or where that is the function itself, what `foreign` allows."""
    return foreign(f) if found is f and current_trace() is not None else found


def scipys(f):
    """One of SciPy's functions or methods while tracing: its stand-in, if there is one."""
    if current_trace() is None or not (f.__module__ or "").startswith("scipy."):
        return f
    return (find_method(f) if type(f) is types.MethodType else find(f)) or f


def _uncached(f, /, *args, **kwargs):
    """A call of a function behind functools.cache, which must not keep what is traced."""
    held = [c.cell_contents for c in getattr(f.__wrapped__, "__closure__", None) or () if c != EMPTY]
    if type(f.__wrapped__) is types.FunctionType and is_user(f.__wrapped__.__code__):
        current_trace().root.outside.function(f.__wrapped__, False)  # which may have run at another call
    given = [*args, *kwargs.values()]
    if is_traced([*given, *held]) or any(map(current_trace().root.outside.has_made, given)):
        return memo.computed(f, call(f.__wrapped__), args, kwargs)
    return memo.recalled(f, args, kwargs)


def _attributes(names, owner):
    found = [functools.reduce(getattr_, name.split("."), owner) for name in names]
    return tuple(found) if len(found) > 1 else found[0]


def _items(keys, owner):
    found = [CELL.cell_contents.item(owner, k) for k in keys]
    return tuple(found) if len(found) > 1 else found[0]


def _method_called(f, owner):
    made, given = f.__reduce__()
    keywords = made.keywords if isinstance(made, functools.partial) else {}
    name, *args = (*(made.args if isinstance(made, functools.partial) else ()), *given)
    return call(getattr_(owner, name))(*args, **keywords)


GETTERS = {operator.attrgetter: _attributes, operator.itemgetter: _items}


def user(f):
    """A function of the user's with hooks; what it names outside itself is noted."""
    made, trace = convert(f), current_trace()
    if trace is not None and HOOK not in made.__code__.co_freevars:
        trace.root.outside.stray.begin()
    if trace is not None and not belongs(f.__code__):
        trace.root.outside.function(f, HOOK in made.__code__.co_freevars)
        if changeable(f.__defaults__ or ()) or changeable(f.__kwdefaults__ or ()):
            if made is f:
                made = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__)
            made.__defaults__ = f.__defaults__ and live(f, "__defaults__")
            made.__kwdefaults__ = f.__kwdefaults__ and live(f, "__kwdefaults__")
    return made


def changeable(values):
    """Whether any of a tuple or dict may hold something else at another call: arrays, and containers of such."""
    values = values.values() if isinstance(values, dict) else values
    return any(isinstance(x, np.ndarray | list | dict) or is_device_array(x) or isinstance(x, tuple) and changeable(x) for x in values)


def live(owner, name):
    """A tuple or dict that an object holds, its parts read as if the traced function had asked for them: at every call."""
    held = getattr(owner, name)
    if current_trace() is None or not changeable(held):
        return held
    found, item = current_trace().root.outside.held(owner, name), CELL.cell_contents.item
    keys = held if isinstance(held, dict) else range(len(held))
    parts = {k: item(found, k) if changeable((held[k],)) else held[k] for k in keys}
    return parts if isinstance(held, dict) else tuple(parts.values())


def listed(f, *args, **kwargs):
    """A NumPy function, or a method of a ufunc, of lists of traced numbers, which its own dispatch does not look into."""
    if any(type(a) in (list, tuple) and is_traced(a) and not any(answers(type(i), "__array_function__") for i in a) for a in args):
        if isinstance(f, types.BuiltinFunctionType):
            return call_ufunc_method(f.__self__, f.__name__, args, kwargs)
        return call_ufunc_method(f, "__call__", args, kwargs) if isinstance(f, np.ufunc) else call_function(f, args, kwargs)
    if any(type(a) is types.FunctionType for a in args):  # which NumPy calls
        args = tuple(map(hooked, args))
    return f(*args, **kwargs)


def _builtin(f, kind):
    found = REPLACED.get(f)
    if found is not None:
        return found
    if kind in NUMPYS:
        found = foreign(f)
        return functools.partial(listed, f) if found is f or found.func is calling else found
    if kind is type:
        return _class(f)
    if kind is types.BuiltinFunctionType:
        owner = f.__self__
        if f.__name__ in LIST_METHODS and isinstance(owner, list | tuple) and any(isinstance(i, Traced) for i in owner):
            f = functools.partial(LIST_METHODS[f.__name__], owner)
            f.__name__ = f.func.__name__
        if isinstance(owner, list | dict | set | collections.deque) and f.__name__ in MUTATORS:
            if type(owner) not in SEEN_THROUGH and current_trace() is not None and current_trace().root.outside.knows(owner):
                text = f"{f.__name__}() changes a {type(owner).__name__} from outside, which would happen once, and not at every call"
                raise UnsupportedError(message(text, locate(), "Use a plain list, dict, set or deque; or do it outside."))
            if inside():
                refuse(owner, changed(owner, f.__name__), GROWS if f.__name__ in GROWING else None)
            else:
                remember(id(owner), lambda: functools.partial(restore, owner, items(owner)))
            if f.__name__ == "sort" and not isinstance(f, functools.partial):
                return lambda *args, key=None, **more: f(*args, key=hooked(key), **more)
        elif type(owner) is np.ndarray and f.__name__ in ("copy", "astype") and owner.dtype.name in SHORT:
            return getattr(fresh(current_trace().capture(owner)), f.__name__)
        elif f.__name__ == "__new__" and isinstance(owner, type):
            return lambda *args, **kwargs: own(f(*args, **kwargs))
        elif isinstance(owner, np.ufunc):
            return functools.partial(listed, f)
        elif type(owner) is str and f.__name__ == "format":
            return formatted(owner)
        elif type(owner) is str and f.__name__ == "join":
            return joining(owner)
        elif not isinstance(owner, PLAIN):
            return foreign(f)
    return f


def changed(owner, how):
    """A container in which a captured body changes how many items there are, as the user would say it."""
    name, kind = name_of(owner), type(owner).__name__
    happens = f"grows ({how})" if how in GROWING else f"is changed ({how})"
    return f"{name}, a {kind} made outside it, {happens}" if name else f"a {kind} made outside it {happens}"


def _class(f):
    """A class, called: the user's `__new__` and `__init__`, and the `__call__` of a metaclass, get hooks too."""
    looked_up(type(f), "__call__")
    run = of_class(type(f), "__call__")
    return functools.partial(user(run), f) if sourced(run) and current_trace() is not None else _instance(f)


def sourced(f):
    """Whether a method is the user's, and written in a file."""
    return type(f) is types.FunctionType and is_user(f.__code__) and not f.__code__.co_filename.startswith("<")


def _instance(f):
    """What `type.__call__` of a class comes to."""
    looked_up(f, "__new__", "__init__", "__post_init__")
    init = f.__init__
    after = getattr(f, "__post_init__", None)
    if hasattr(f, "__dataclass_fields__") and type(after) is types.FunctionType and getattr(f, "__dictoffset__", 0):
        return functools.partial(_dataclass, f, init, after)
    if sourced(f.__new__) and current_trace() is not None:
        return functools.partial(_new, f)
    run = of_class(type(f), "__call__")
    if (run is type.__call__ or sourced(run)) and f.__new__ is object.__new__ and type(init) is types.FunctionType and is_user(init.__code__):
        return functools.partial(_construct, f, init)
    if is_foreign(f.__module__ or "") and not issubclass(f, np.generic) and (found := foreign(f)) is not f:
        return found
    if sourced(run):
        return functools.partial(_made, functools.partial(type.__call__, f))
    return f if is_builtin(f) and f not in CONTAINERS else functools.partial(_made, f)


def _made(f, /, *args, **kwargs):
    if current_trace() is not None and isinstance(f, type) and is_foreign(f.__module__):
        note_functions(args, kwargs)
    return own(f(*args, **kwargs))


def _new(f, /, *args, **kwargs):
    """What the user's `__new__` returns may be an object that was there before."""
    made = user(f.__new__)(f, *args, **kwargs)
    if isinstance(made, f):
        looked_up(type(made), "__init__")
        init = type(made).__init__
        if type(init) is types.FunctionType and is_user(init.__code__):
            user(init)(made, *args, **kwargs)
        elif init is not object.__init__:
            init(made, *args, **kwargs)
    return made


def _construct(f, init, /, *args, **kwargs):
    made = own(object.__new__(f))
    user(init)(made, *args, **kwargs)
    return made


def _dataclass(f, init, after, /, *args, **kwargs):
    """The `__init__` of a dataclass has no source, but what it calls has."""
    made = own(f.__new__(f))
    made.__dict__["__post_init__"] = types.MethodType(user(after), made)
    try:
        init(made, *args, **kwargs)
    finally:
        del made.__dict__["__post_init__"]
    return made


CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict)


# -- arrays made while tracing ---------------------------------------------------------------------


def lifted(made):
    """A plain array that was just made, as a traced one, so that traced values can be stored into it."""
    if isinstance(made, tuple | list):
        return type(made)(map(lifted, made))
    if type(made) is not np.ndarray or made.dtype.name not in SHORT or not made.dtype.isnative or not made.flags.writeable:
        return made
    value = constant_of(made) if made.size <= 1 or made.strides == (0,) * made.ndim or uniform(made) else current_trace().constant(made)
    return fresh(value) if made.flags.c_contiguous else laid_out(value, np.empty_like(made))


def uniform(array):
    first = array.flat[0]
    return bool((array == first).all()) and (first != 0 or not np.signbit(array).any() if array.dtype.kind == "f" else array.dtype.kind in "iub")


def with_inputs(x):
    """Nested lists with their plain arrays as captured ones: those may change between calls."""
    if isinstance(x, list | tuple):
        return type(x)(map(with_inputs, x)) if type(x) in (list, tuple) else x
    return handle(x) if type(x) is np.ndarray and x.dtype.name in SHORT else x


def memory_of(x):
    """An object that has or makes an array, as that array, which is read again at every call; anything else as it is."""
    kind = type(x)
    if kind in (list, tuple, str, bytes) or isinstance(x, Traced | np.ndarray | np.generic | int | float | complex | type) or is_device_array(x):
        return x
    looked_up(kind, "__array__")
    make = getattr(kind, "__array__", None)
    if type(make) is types.FunctionType and is_user(make.__code__):
        return user(make)(x)
    if make is not None:
        text = f"a {kind.__name__} becomes an array while tracing: what it makes may be another at the next call"
        raise UnsupportedError(message(text, locate(), "Make it outside, and pass the array."))
    if hasattr(kind, "__buffer__") or hasattr(x, "__array_interface__") or isinstance(x, BUFFERS):
        return np.asarray(x)
    return x


BUFFERS = (bytearray, memoryview, array.array)


def settled(x):
    """Sizes and bounds that are traced but known, as plain numbers."""
    if isinstance(x, list | tuple) and type(x) in (list, tuple):
        return type(x)(map(settled, x))
    if isinstance(x, TracedScalar) and x.known() is not None:
        return x.known()[()].item() if x.weak else x.known()[()]
    return x


def _creation(real):
    def stand_in(*args, **kwargs):
        if real in (np.ones, np.full):
            args = args or (kwargs.pop("shape"),)
            if is_traced(settled(args[0])):
                return making.sized(real, settled(args[0]), *args[1:], **kwargs)
        if real in HANDLERS and (is_traced(args) or is_traced(list(kwargs.values()))):
            return call_function(real, args, kwargs)
        return lifted(real(*map(hooked, map(settled, args)), **kwargs))

    return stand_in


def _conversion(real):
    def stand_in(x, *args, **kwargs):
        x = memory_of(x)
        if type(x) is np.ndarray and real is not np.array:
            made = real(x, *args, **kwargs)
            return made if made is x else call_function(real, (handle(x), *args), kwargs)
        x = with_inputs(x)
        return call_function(real, (x, *args), kwargs) if is_traced(x) else lifted(real(x, *args, **kwargs))

    return stand_in


for _f in (np.ones, np.full, np.linspace, np.logspace, np.geomspace, np.full_like, np.zeros_like, np.ones_like, np.empty_like):
    REPLACED[_f] = _creation(_f)
for _f in (np.diag, np.diagflat, np.tril, np.triu, np.meshgrid, np.indices, np.fromfunction, np.vander):
    REPLACED[_f] = _creation(_f)
for _f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.copy):
    REPLACED[_f] = _conversion(_f)


def size(x):
    """A size, which must be known: NumPy would take a traced number for no number at all."""
    x = settled(x)
    found = number(x) if isinstance(x, TracedScalar) else None
    if found is not None:
        return found
    if is_traced(x):
        text = "a shape depends on data: how large the array is would be known only when the program runs"
        hint = "Make it as large as it can get and keep the count beside it: ys = np.zeros(len(x));\nor pass the size as an int, which is static."
        raise ConcretizationError(message(text, locate(), hint))
    return x


def _sized(real):
    """Creation from sizes alone, which must be known, or bounded where `making` says so."""

    def stand_in(*args, **kwargs):
        args, kwargs = tuple(map(settled, args)), {k: settled(v) for k, v in kwargs.items()}
        if real is np.zeros and (is_traced(args) or is_traced(list(kwargs.values()))):
            return making.sized(real, *((kwargs.pop("shape"),) if "shape" in kwargs else ()), *args, **kwargs)
        return lifted(real(*map(size, args), **{k: size(v) for k, v in kwargs.items()}))

    return stand_in


for _f in (np.zeros, np.eye, np.identity, np.tri, np.bartlett, np.blackman, np.hamming, np.hanning):
    REPLACED[_f] = _sized(_f)


@replaces(np.kaiser)
def kaiser(M, beta):
    M, beta = size(M), settled(beta)
    if not isinstance(beta, Traced) or M <= 1:
        return lifted(np.kaiser(M, 0.0 if isinstance(beta, Traced) else beta))
    alpha = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((np.arange(M) - alpha) / alpha) ** 2.0)) / np.i0(np.float64(1) * beta)


@replaces(np.empty)
def empty(*args, **kwargs):
    if is_traced([settled(x) for x in (*args, *kwargs.values())]):
        return REPLACED[np.zeros](*args, **kwargs)
    made = np.empty(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()})
    return lifted(np.zeros_like(made)) if made.dtype.name in SHORT else made


@replaces(np.ndarray)
def ndarray(*args, **kwargs):
    return empty(*args, **kwargs) if not {"buffer", "offset", "strides"} & kwargs.keys() and len(args) < 3 else np.ndarray(*args, **kwargs)


@replaces(np.arange)
def arange(*args, **kwargs):
    args = tuple(map(settled, args))
    if is_traced(args):
        return making.arange(*args, **kwargs)
    made = np.arange(*args, **kwargs)
    if len(args) == 1 and made.dtype == np.int64 and made.size > 1:
        return fresh(counted(made.shape))
    return lifted(made)


def environment(key, *default):
    """An environment variable, which is relied on."""
    current_trace().root.outside.read("item", os.environ, key, f"os.environ[{key!r}]")
    return os.environ.get(key, *default) if default else os.environ[key]


@replaces(os.getenv)
def getenv(key, default=None):
    return environment(key, default) if current_trace() is not None else os.getenv(key, default)


def changes_environment(*args, **kwargs):
    raise UnsupportedError(message("os.environ is walked through or changed in a traced function", locate(), "Read the variables one by one."))


@replaces(next)
def next_(iterator, *default):
    trace = current_trace()
    if trace is not None and (inside() or id(iterator) in trace.root.outside.names):
        raise CannotRoll(message("next() takes another item each time it is called; traced, it would be called once", locate(), ADVICE))
    return builtins.next(iterator, *default)


@replaces(getattr)
def getattr_(owner, name, *default):
    trace = current_trace()
    if trace is None or not isinstance(name, str):
        return builtins.getattr(owner, name, *default)
    if isinstance(owner, Traced):
        if lacks(owner, name):
            return builtins.getattr(sample(owner), name, *default)
        if default and not builtins.hasattr(owner, name):
            raise UnsupportedError(message(f"{type(sample(owner)).__name__}.{name} is not captured on traced values", locate()))
        return builtins.getattr(owner, name, *default)
    try:
        return CELL.cell_contents.attribute(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


@replaces(hasattr)
def hasattr_(owner, name):
    if current_trace() is not None and type(owner) in (TracedArray, TracedScalar):
        return not lacks(owner, name)
    return getattr_(owner, name, UNBOUND) is not UNBOUND


@replaces(setattr)
def setattr_(owner, name, value):
    CELL.cell_contents.set_attribute(value, owner, name)


@replaces(delattr)
def delattr_(owner, name):
    CELL.cell_contents.delete_attribute(owner, name)


for _f in (functools.reduce, builtins.map, builtins.filter):
    REPLACED[_f] = functools.partial(lambda real, f, *args: real(CELL.cell_contents.call(f) if f is not None else f, *args), _f)
