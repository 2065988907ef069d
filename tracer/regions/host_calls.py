"""Pure functions of libraries that no rule stands for, on traced values: the program calls them on the host.

What they give is found out by a call: on what the operands are in this call where that is known, else on samples. The
program checks that later calls give the same kinds of things, of the same shapes; where they do not, or raise, plain
Python says what comes of it.
"""

import numpy as np

from ...backends.xla.external import HostFunction
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor
from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..guards.purity import PURE, place_of, verdict
from ..guards.running_draws import draw_type, traced_like
from ..numpy_api.handles import is_traced
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.library_object import LibraryObject
from ..values.speculate import sampled
from ..values.storage import current_trace, memories
from ..values.texts import held_now
from .budget import spend_time

HOMES = ("scipy.",)
OTHERS = ("scipy.optimize", "scipy.integrate", "scipy.sparse")  # call what they are given, or give objects


class LibraryFunction(HostFunction):
    """A library's function, in programs."""

    def __init__(self, function, given, name, source):
        super().__init__(function, given, name)
        self.source = source

    def tangent(self, types, moving):
        text = f"{self.__name__}() is called as it is, by the running program: it has no derivative here"
        raise UnsupportedError(message(text, self.source, "State one: wengert.custom_jvp, or custom_vjp."))


class GivenNumber:
    """Stands for a traced argument. weak: the class of Python's number, if it is one."""

    def __init__(self, x):
        self.array, self.weak, self.operands = isinstance(x, TracedArray), getattr(x, "weak", None), [x.value]

    def given(self, arrays):
        """The argument that a library's function is given."""
        x = np.asarray(next(arrays))
        return np.array(x) if self.array else x[()].item() if self.weak else x[()]


class GivenObject:
    """Stands for an object of a library's. Those made last are kept: in a loop it is one and the same."""

    def __init__(self, x):
        self.make, self.kept, self.arguments = x._make, x._kept, Arguments(*x._given)
        self.operands = self.arguments.operands

    def given(self, arrays):
        arrays = [np.asarray(next(arrays)) for _ in self.operands]
        key = tuple([x.tobytes() for x in arrays])
        made = self.kept.get(key)
        if made is None:
            args, kwargs, _ = self.arguments.given(iter(arrays))
            made = self.make(*args, **kwargs)
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.kept[key] = made
        return made


KEPT = 8  # objects of one kind; bound: what a library makes of data can be large


class Arguments:
    """Arguments with traced values and objects made of them among the leaves. operands: of the traced values."""

    def __init__(self, args, kwargs):
        leaves, self.tree = pytree.flatten((args, kwargs))
        self.order, self.held = pytree.key_order((args, kwargs)), list(map(held, leaves))
        self.operands = [v for x in self.held if type(x) in GIVEN for v in x.operands]

    def given(self, arrays):
        """-> (args, kwargs, their leaves) with the arrays for the operands."""
        full = [x.given(arrays) if type(x) in GIVEN else x for x in self.held]
        return *pytree.unflatten(self.tree, full, self.order), full


GIVEN = GivenNumber, GivenObject


def held(x):
    return GivenNumber(x) if isinstance(x, Traced) else GivenObject(x) if type(x) is LibraryObject else x


def leaf_kind(x):
    """What tells a leaf of what a function gives from others: its class, but that arrays are of one, and its type."""
    return np.ndarray if isinstance(x, np.ndarray) else type(x), draw_type(x)


def is_of_ir(x):
    return type(x) in WEAK_DTYPES or isinstance(x, np.ndarray | np.generic) and np.asarray(x).dtype.name in SHORT


def may_be_called(f, args, kwargs):
    """Whether a program may call a library's function: what calls back, gives objects, or takes other traced things
    than numbers and arrays is not of the kind."""
    return is_of_homes(f) and not isinstance(f, type) and are_plain(args, kwargs)


def is_of_homes(f):
    """Whether a function or class is of a library that programs may call."""
    home = place_of(f)[0] + "."
    return home.startswith(HOMES) and not home.startswith(OTHERS)


def may_be_made(f, args, kwargs):
    """Likewise, whether it may make an object of the library's class f."""
    return is_of_homes(f) and verdict(f) == PURE and are_plain(args, kwargs)


def are_plain(args, kwargs):
    leaves = pytree.leaves((args, kwargs))
    return all(isinstance(x, PLAIN) or type(x) is type and x in SCALAR_TYPES for x in leaves)


PLAIN = str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, np.dtype
PLAIN += TracedArray, TracedScalar, LibraryObject
SCALAR_TYPES = {bool, int, float, complex, *(np.dtype(n).type for n in SHORT)}


def or_hosted(run, may, f, args, kwargs):
    """`run(f, *args, **kwargs)`; where that cannot be captured, a call by the program, if `may(f, args, kwargs)`."""
    root = current_trace().root
    before = root.refused
    try:
        return run(f, *args, **kwargs)
    except Exception:  # what it says of traced values, it does not say of numbers
        if not is_traced(pytree.leaves((args, kwargs))) or not may(f, args, kwargs):
            raise
        root.refused = before
    return host_call(f, args, kwargs)


def host_call(f, args, kwargs):
    """The results of a library's function on traced values, or an object of its class, which it makes when the program
    runs."""
    spend_time()
    trace, source, name = current_trace(), locate(), place_of(f)[1]
    arguments = Arguments(args, kwargs)
    values = [trace.bring(x) for x in arguments.operands]
    trace.root.outside.rely(*([f.__self__] if getattr(f, "__self__", None) is not None else []))

    given = []

    def call(arrays):
        plain, named, full = arguments.given(iter(arrays))
        given[:] = [x for x in full if isinstance(x, np.ndarray)]
        before = [x.copy() for x in given]
        made = f(*plain, **named)
        refuse_written(name, made, given, before)
        return made

    sample = sample_of(call, values, name)
    if is_library_object(sample):
        return made_later(f, args, kwargs, sample, given)
    found, form = pytree.flatten(sample)
    kinds = list(map(leaf_kind, found))
    types = (*(t for _, t in kinds), Tensor((), np.dtype(bool)))

    def run(*arrays):
        try:
            now, tree = pytree.flatten(call(arrays))
            fits = tree == form and list(map(leaf_kind, now)) == kinds
        except Exception:  # plain Python says which
            fits = False
        if not fits:
            return (*(np.zeros(t.shape, t.dtype) for _, t in kinds), False)
        return (*(np.array(x, t.dtype) for (_, t), x in zip(kinds, now)), True)

    made = LibraryFunction(run, lambda _: types, name, source)
    *out, fits = OPS["external"](*values, function=made)
    text = f"{name}() raises for these data, or gives another structure or shape than when the function was traced"
    trace.check(fits, UnsupportedError, message(text, source), told=False)
    return pytree.unflatten(form, list(map(traced_like, out, found)), pytree.key_order(found))


def ascending(shape, dtype):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def refuse_written(name, made, given, before):
    """Refuse what gives no plain containers, writes into an array that it is given, or gives that."""
    if is_library_object(made):
        return
    if not is_plain(made):
        raise UnsupportedError(message(f"{name}() gives a {type(made).__name__}, which no program makes", locate()))
    written = any(x.tobytes() != had.tobytes() for x, had in zip(given, before, strict=True))
    if written or any(np.may_share_memory(x, y) for x in pytree.leaves(made) for y in given):
        text = f"{name}() writes into an array that it is given, or gives it"
        raise UnsupportedError(message(text, locate(), "Let it make its own."))


def is_plain(x):
    if type(x) in (tuple, list):
        return all(map(is_plain, x))
    return all(map(is_plain, x.values())) if type(x) is dict else is_of_ir(x)


def sample_of(call, values, name):
    """What a call gives: on what the values are in this call, or on something of their types."""
    known = sampled(values)
    try:
        if known is not None:
            return call(known)
    except Exception as error:
        if isinstance(error, UnsupportedError) or not current_trace().root.trying:
            raise  # as this call does
        text = f"{name}() raises {type(error).__name__} for these data, which is caught"
        raise UnsupportedError(message(text, locate())) from error
    for kind in (np.ones, np.zeros, ascending):
        try:
            return call([kind(v.type.shape, v.type.dtype) for v in values])
        except Exception:  # of others, it may make something
            continue
    text = f"{name}() of traced values in a loop or branch: what it gives is not known while tracing"
    raise UnsupportedError(message(text, locate()))


# -- objects ---------------------------------------------------------------------------------------


def is_library_object(x):
    return not is_plain(x) and (type(x).__module__ + ".").startswith(HOMES)


def made_later(make, args, kwargs, like, arrays):
    """An object that a library makes of traced values, as `like` is of the arrays and others: by the program, which
    checks that it can be made, and where it is used."""
    holds = held_arrays(like)
    for x in pytree.leaves((args, kwargs)):
        if isinstance(x, TracedArray) and any(np.may_share_memory(a, h) for a in arrays for h in holds):
            for memory in memories(x.storage):
                memory.held_by = f"an array that a {type(like).__name__} is made of"
    made = LibraryObject(make, held_now((args, kwargs)), like, use, arrays)
    source, name, given = locate(), place_of(make)[1], GivenObject(made)

    def run(*arrays):
        try:
            return (type(given.given(iter(arrays))) is type(like),)
        except Exception:  # plain Python says which
            return (False,)

    truth = (Tensor((), np.dtype(bool)),)
    trace = current_trace()
    function = LibraryFunction(run, lambda _: truth, name, source)
    (fits,) = OPS["external"](*map(trace.bring, given.operands), function=function)
    text = f"{name}() raises for these data, or makes another object than when the function was traced"
    trace.check(fits, UnsupportedError, message(text, source), told=False)
    return made


def held_arrays(x):
    """Arrays that an object holds, as far as its attributes tell."""
    names = [*getattr(x, "__dict__", ()), *(n for n in dir(x) if not n.startswith("_") and n not in dir(object))]
    found = []
    for name in dict.fromkeys(names):
        if not callable(getattr(type(x), name, None)):
            try:
                value = getattr(x, name)
            except Exception:  # of a property
                continue
            found += [v for v in (value, *(value if type(value) is tuple else ())) if isinstance(v, np.ndarray)]
    return found


def use(x, name, args, kwargs):
    """What `x.name` is, or with arguments what a call of it gives."""
    like, trace = getattr(x._like, name), current_trace()
    if args is None:
        key = name, trace
        if key not in x._read:
            what = f"{type(x._like).__name__}.{name}"
            if not is_of_ir(like) or any(np.may_share_memory(like, a) for a in x._arrays):
                text = f"{what} of an object made of traced values is no number, and no array of its own"
                raise UnsupportedError(message(text, locate(), "Make the object outside, and pass it as an argument."))
            x._read[key] = found = host_call(getattr, (x, name), {})
            if isinstance(found, TracedArray):
                found.storage.held_by = f"{what}, an array that the object holds,"
        return x._read[key]
    if verdict(like) != PURE or not are_plain(args, kwargs):
        text = f"{type(x._like).__name__}.{name}() of an object made of traced values is not known to be pure"
        raise UnsupportedError(message(text, locate(), "Make the object outside, and pass it as an argument."))
    return host_call(method_of, (x, name, *args), kwargs)


def method_of(x, name, /, *args, **kwargs):
    return getattr(x, name)(*args, **kwargs)
