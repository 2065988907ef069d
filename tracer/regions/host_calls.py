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
from ..guards.purity import place_of
from ..guards.running_draws import draw_type, traced_like
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.speculate import sampled
from ..values.storage import current_trace
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
        self.array, self.weak, self.value = isinstance(x, TracedArray), getattr(x, "weak", None), x.value

    def given(self, x):
        """The argument that a library's function is given."""
        return np.array(x) if self.array else x[()].item() if self.weak else x[()]


def leaf_kind(x):
    """What tells a leaf of what a function gives from others: its class, but that arrays are of one, and its type."""
    return np.ndarray if isinstance(x, np.ndarray) else type(x), draw_type(x)


def is_of_ir(x):
    return type(x) in WEAK_DTYPES or isinstance(x, np.ndarray | np.generic) and np.asarray(x).dtype.name in SHORT


def may_be_called(f, args, kwargs):
    """Whether a program may call a library's function: what calls back, gives objects, or takes other traced things
    than numbers and arrays is not of the kind."""
    home = place_of(f)[0] + "."
    if not home.startswith(HOMES) or home.startswith(OTHERS) or isinstance(f, type):
        return False
    leaves = pytree.leaves((args, kwargs))
    return all(isinstance(x, PLAIN) or type(x) is type and x in SCALAR_TYPES for x in leaves)


PLAIN = TracedArray, TracedScalar, str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, np.dtype
SCALAR_TYPES = {bool, int, float, complex, *(np.dtype(n).type for n in SHORT)}


def host_call(f, args, kwargs):
    """The results of a library's function on traced values, which it computes when the program runs."""
    spend_time()
    trace, source, name = current_trace(), locate(), place_of(f)[1]
    leaves, tree = pytree.flatten((args, kwargs))
    order = pytree.key_order((args, kwargs))
    held = [GivenNumber(x) if isinstance(x, Traced) else x for x in leaves]
    operands = [x for x in held if type(x) is GivenNumber]
    values = [trace.bring(x.value) for x in operands]
    trace.root.outside.rely(*([f.__self__] if getattr(f, "__self__", None) is not None else []))

    def call(arrays):
        given = iter(arrays)
        full = [x.given(np.asarray(next(given))) if type(x) is GivenNumber else x for x in held]
        plain, named = pytree.unflatten(tree, full, order)
        given = [x for x in full if isinstance(x, np.ndarray)]
        before = [x.copy() for x in given]
        made = f(*plain, **named)
        refuse_written(name, made, given, before)
        return made

    found, form = pytree.flatten(sample_of(call, values, name))
    kinds = list(map(leaf_kind, found))
    given = (*(t for _, t in kinds), Tensor((), np.dtype(bool)))

    def run(*arrays):
        try:
            now, tree = pytree.flatten(call(arrays))
            fits = tree == form and list(map(leaf_kind, now)) == kinds
        except Exception:  # plain Python says which
            fits = False
        if not fits:
            return (*(np.zeros(t.shape, t.dtype) for _, t in kinds), False)
        return (*(np.asarray(x, t.dtype) for (_, t), x in zip(kinds, now)), True)

    made = LibraryFunction(run, lambda _: given, name, source)
    *out, fits = OPS["external"](*values, function=made)
    text = f"{name}() raises for these data, or gives another structure or shape than when the function was traced"
    trace.check(fits, UnsupportedError, message(text, source), told=False)
    return pytree.unflatten(form, list(map(traced_like, out, found)), pytree.key_order(found))


def ascending(shape, dtype):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def refuse_written(name, made, given, before):
    """Refuse what gives no plain containers, writes into an array that it is given, or gives that."""
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
