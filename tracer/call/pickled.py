"""Compiled functions in pickles: how one was made travels, and what it was made of; nothing that was compiled.

A compiled function is a Python function, so pickle and cloudpickle treat it as one. Where it stands in its module
under its own name, as decorated functions do, its name is all that travels. cloudpickle takes others apart: code,
enclosing variables, attributes. The code finds what is compiled where builtins are looked for, and that stays here;
among the enclosing variables is the Callee, and that is made again by the transform it came from:

    jit(f, exact=True)  ->  remade("jit", {"exact": True}, f)

What cloudpickle has put together is then given code that hands its calls to the function so made. It does not tell of
which file the user's functions are, and without their source no loop or branch is captured: the sources travel too.
"""

import dis
import functools
import sys
import types
import weakref

from ..common.scan import codes
from ..rewriter.find import text_around
from ..rewriter.travelled import compressed, receive
from . import shared
from .inline_hit import front_code

HOME = __name__.partition(".")[0]
NUMBERS = (bool, int, float, complex, str, bytes, type(None))
DEEPEST = 8  # bound: functions within functions, and tuples within tuples, that are compared
MANY = 256  # bound: functions whose source is looked for, for one pickle
MAIN = "__main__", "__mp_main__"  # modules of which cloudpickle takes functions apart though they stand there
EMPTY = types.CellType()
KEPT = 256  # bound: functions that were unpickled whose contents are kept
_unpickled = {}  # what tells functions -> the same, of the first of them
_leaving = weakref.WeakKeyDictionary()  # Compiled -> a weak reference to the Callee of it that a pickle took in last


def remembered(front, name, **options):
    """A function in front of a Compiled, which a pickle makes again as `wengert.NAME(given, **options)`."""
    front.callee.made = name, options, front.__wrapped__
    return front


def reduced_callee(callee):
    """What a pickle keeps of a Callee."""
    if callee.made is None:
        raise TypeError(
            f"{callee.compiled.name} cannot be pickled: it is part of a derivative at a point\n  Pickle the function, "
            "and call wengert.vjp or wengert.linearize where it arrives."
        )
    name, options, given = callee.made
    device, mesh = options.get("device"), options.get("mesh")
    if mesh is not None and not isinstance(mesh, int | dict):
        raise TypeError(
            f"{callee.compiled.name} cannot be pickled: its mesh is of devices of this process\n  Write the mesh as a "
            f'number of devices, or as sizes of its axes: {name}(f, mesh={{"rows": 4}}).'
        )
    if device is not None and not isinstance(device, str):
        raise TypeError(
            f"{callee.compiled.name} cannot be pickled: {device!r} is a device of this process\n  Name it as text: "
            f'{name}(f, device="cpu:0").'
        )
    _leaving[callee.compiled] = weakref.ref(callee)  # which holds its Compiled
    return remade, (name, options, given, sources_of(given)), callee.front()


def reduced_compiled(compiled):
    """What a pickle keeps of a Compiled: which function it is behind."""
    last = _leaving.get(compiled, lambda: None)()
    callee = last or compiled.front.own or next(iter(compiled.front.callees))
    return compiled_of, (callee,)


def compiled_of(callee):
    return callee.compiled


def remade(name, options, given, sources=()):
    """The Callee of a function made as one was that has been pickled."""
    receive(sources)
    if type(given) is types.FunctionType and "callee" not in given.__dict__:
        known_again(given)
    front = getattr(sys.modules[HOME], name)(given, **options)
    front.callee.ahead = front
    return front.callee


def put_behind(front, callee):
    """Have a function that is being unpickled hand its calls to the one that was made for it."""
    if "callee" not in front.__dict__:  # else it was found by its name
        free, line = front.__code__.co_freevars, "return callee.ahead(*args, **kwargs)"
        front.__code__ = front_code(free, "*args, **kwargs", [line])


# -- sources ----------------------------------------------------------------------------------------


def sources_of(f):
    """The sources, compressed, of functions that a pickle of `f` takes apart: of `f`, and of those that it encloses or
    finds among its globals."""
    found, met, todo = {}, set(), [f]
    while todo and len(met) < MANY:
        f = plain_function(todo.pop())
        if f is None or f.__code__ in met or stands_by_name(f) and f.__module__ not in MAIN:
            continue
        met.add(f.__code__)
        text = text_around(f.__code__, f.__globals__)
        if text is not None:
            found[text] = None
        names = {name for code in codes(f.__code__) for name in code.co_names}
        todo += [f.__globals__[name] for name in sorted(names & f.__globals__.keys())]
        todo += [c.cell_contents for c in f.__closure__ or () if c != EMPTY]
    return compressed(found)


def plain_function(x):
    """The function of Python's behind a method, a partial, a compiled function; None for all else."""
    for _ in range(DEEPEST):
        if isinstance(x, types.MethodType | functools.partial):
            x = getattr(x, "__func__", None) or x.func
        elif type(x) is types.FunctionType and type(vars(x).get("__wrapped__")) is not types.NoneType:
            x = x.__wrapped__
        else:
            break
    return x if type(x) is types.FunctionType else None


# -- functions that are unpickled again and again ---------------------------------------------------


def known_again(f):
    """Have a function share its traces with those unpickled from equal pickles before, if all its globals are equal
    for good: workers unpickle a function for each batch of calls."""
    told = settled_contents(f, DEEPEST)
    if told is not None:
        if len(_unpickled) > KEPT:
            _unpickled.clear()
        told = shared.UNPICKLED[f] = _unpickled.setdefault(told, told)
        f.__code__ = told[0]  # a trace relies on it by identity


def settled_contents(f, depth):
    """What tells the functions that were unpickled from equal pickles: all the global names that the code reads, with
    what they hold. None where something of that can change, or is not there yet."""
    names, held = global_names(f.__code__), []
    if names is None:
        return None
    for name in names:
        if name in f.__globals__:
            token = token_of(f.__globals__[name], depth)
            if token is None:
                return None
            held.append((name, token))
        elif name not in f.__builtins__:
            return None
    return f.__code__, tuple(held)


def global_names(code):
    """The names in a code object and in those within it that may be of globals, sorted; None where it assigns one."""
    found, todo = set(), [code]
    while todo:
        code = todo.pop()
        if any(i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for i in dis.get_instructions(code)):
            return None
        found |= {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return sorted(found)


def token_of(x, depth):
    """What is equal for equal values that nobody can change, None for others."""
    if isinstance(x, NUMBERS) and type(x) in NUMBERS:
        return type(x), repr(x)  # which tells -0.0 from 0.0
    if isinstance(x, types.ModuleType | types.BuiltinFunctionType | type):
        return x
    if type(x) is tuple and depth:
        parts = [token_of(part, depth - 1) for part in x]
        return None if None in parts else (tuple, *parts)
    if type(x) is types.FunctionType and depth:
        if stands_by_name(x):
            return x
        plain = not (x.__closure__ or x.__defaults__ or x.__kwdefaults__ or x.__dict__)
        return settled_contents(x, depth - 1) if plain else None
    return None


def stands_by_name(f):
    """Whether a function is what its module has under its name."""
    found = sys.modules.get(f.__module__)
    for name in f.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is f
