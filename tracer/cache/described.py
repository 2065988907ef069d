"""An object in words that are the same in every process where it means the same: what a file compares outside values
by.

Only kinds of objects of which everything can be said are described: numbers, strings, tuples of such, modules,
functions of libraries whose versions are part of the key, and the user's functions, by their code and what they hold
beside it. `Unsaid` is raised for all others, with the reason.
"""

import functools
import hashlib
import inspect
import json
import sys
import types

import numpy as np

from ...ir.types import SHORT
from ..common.frames import GENERATED, ROOT
from ..common.origin import is_builtin, is_user, is_user_file

PACKAGE = __name__.partition(".")[0]
# of what is not the user's, the modules whose attributes and functions are the same in all processes
PURE = {
    "builtins", "math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "numbers", "numpy",
    "scipy", "ml_dtypes",
}
IMPURE = ("numpy.random", "numpy.testing", "numpy.ctypeslib", "numpy.f2py", "scipy.io", "scipy.datasets")
ROOMS = ("ir", "autodiff", "backends", "tracer")
OPTIONS = ("name", "exact", "engine", "native", "memory", "precision", "promote")


class Unsaid(Exception):
    """A program cannot be kept; the text says why, in a few words."""


def pure(module):
    """Whether a module of a library is one that answers alike in every process; its name may be None."""
    name = module or ""
    top, _, rest = name.partition(".")
    if top == PACKAGE:
        return rest.partition(".")[0] in ("", *ROOMS)
    return top in PURE and not any(name == m or name.startswith(f"{m}.") for m in IMPURE) and not shadowed(top)


def shadowed(name):
    """Whether a module with the name of a library's is a file of the user's."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and is_user_file(file)


def digest(said):
    """A description as a short text."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def described(x, within=()):
    """See the module. within: ids of the functions that are being described around it."""
    kind = type(x)
    if x is None or kind in (bool, str):
        return x
    if x is Ellipsis or x is NotImplemented:
        return ["constant", repr(x)]
    if kind in NUMBERS:
        return NUMBERS[kind](x)
    if kind in KINDS:
        return KINDS[kind](x, within)
    if isinstance(x, np.generic) and x.dtype.name in SHORT:
        return ["scalar", kind.__name__, x.tobytes().hex()]
    if isinstance(x, np.dtype) and x.name in SHORT:
        return ["dtype", x.str]
    if kind is functools.partial and not x.__dict__:
        return back_reference(x, within) or [
            "partial",
            described(x.func, (*within, id(x))),
            described_defaults(x.args, within),
            described_defaults(x.keywords, within),
        ]
    if isinstance(x, type):
        return named("type", x) if is_builtin(x) or pure(x.__module__) else raise_unsaid(f"the class {x.__name__}")
    if isinstance(x, np.ufunc):
        return ufunc(x)
    if kind is types.BuiltinFunctionType or pure(kind.__module__) and pure(getattr(x, "__module__", None)):
        return named("function", x)
    return raise_unsaid(f"a {kind.__name__}")


KINDS = {
    tuple: lambda x, within: ["tuple", *(described(i, within) for i in x)],
    list: lambda x, within: ["list", *(described(i, within) for i in x)],
    dict: lambda x, within: ["dict", *([described(k, within), described(v, within)] for k, v in x.items())],
    types.ModuleType: lambda x, within: module(x),
    types.FunctionType: lambda x, within: back_reference(x, within) or described_function(x, (*within, id(x))),
    inspect.Signature: lambda x, within: ["signature", str(x)],
}
NUMBERS = {
    int: lambda x: ["int", str(x)],
    float: lambda x: ["float", x.hex()],
    complex: lambda x: ["complex", x.real.hex(), x.imag.hex()],
    bytes: lambda x: ["bytes", x.hex()],
}


def rebuilt_object(said):
    """The object of a description of numbers and strings, and of tuples and lists of them."""
    if not isinstance(said, list):
        return said
    kind, *parts = said
    if kind in READ:
        return READ[kind](*parts)
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](map(rebuilt_object, parts))
    raise Unsaid(f"a {kind} is not rebuilt")


READ = {
    "constant": {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}.__getitem__,
    "int": int,
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": bytes.fromhex,
    "scalar": lambda name, data: np.frombuffer(bytes.fromhex(data), getattr(np, name))[0],
    "dtype": np.dtype,
}


def raise_unsaid(what):
    raise Unsaid(f"{what} cannot be told from another one in a file")


def back_reference(x, within):
    """A function met while it is being described."""
    return ["again", within.index(id(x))] if id(x) in within else None


def module(x):
    if sys.modules.get(x.__name__) is not x:
        raise_unsaid(f"the module {x.__name__}, which is not the one that is imported by this name,")
    if not pure(x.__name__) and is_library(x.__name__):
        raise_unsaid(f"what is in the module {x.__name__}")
    return ["module", x.__name__, version(x.__name__)]


def version(name):
    """The version of the library that a module is of, where it has one."""
    return getattr(sys.modules.get(name.partition(".")[0]), "__version__", None) if is_library(name) else None


def is_library(module):
    """Whether a module, by name, is none of the user's: nothing that is read of it is noted."""
    name = module.partition(".")[0]
    return name in sys.stdlib_module_names and name != "__main__" or name in ("jax", "jaxlib", PACKAGE, *PURE)


def named(what, x):
    """A class or function of a library, by the name under which it is found there."""
    home, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
    found = sys.modules.get(home)
    for part in (name or "").split("."):
        found = getattr(found, part, None)
    if found is not x or not pure(home):
        raise_unsaid(f"{name or type(x).__name__} of {home or 'no module'}")
    return [what, home, name, version(home)]


def ufunc(x):
    for home in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(home), x.__name__, None) is x:
            return ["ufunc", home, x.__name__, version(home)]
    return raise_unsaid(f"the ufunc {x.__name__}")


# -- functions -------------------------------------------------------------------------------------


def described_function(f, within):
    """The user's functions by their code, those in front of a Compiled by what they compile, ours by all they close
    over, a library's by name."""
    if f.__code__.co_filename == GENERATED:
        c = f.compiled
        if c.device is not None:
            raise_unsaid("a function for one device")
        return ["compiled", {n: described(getattr(c, n)) for n in OPTIONS}, described(f.callee.function, within)]
    if f.__code__.co_filename.startswith(ROOT) and pure(f.__module__):
        held = [[n, *([described(c.cell_contents, within)] if is_filled(c) else [])] for n, c in cells(f)]
        return [
            "ours",
            f.__module__,
            f.__qualname__,
            code(f.__code__),
            held,
            described_defaults(f.__defaults__, within),
            described_defaults(f.__kwdefaults__, within),
        ]
    if not is_user(f.__code__):
        return named("function", f)
    more = {k: described(v, within) for k, v in f.__dict__.items()}
    return [
        "user",
        f.__module__,
        f.__qualname__,
        code(f.__code__),
        described_defaults(f.__defaults__, within),
        described_defaults(f.__kwdefaults__, within),
        more,
    ]


def cells(f):
    """(name, cell) for each variable that a function closes over."""
    return list(zip(f.__code__.co_freevars, f.__closure__ or ()))


def is_filled(cell):
    return cell != types.CellType()


def described_defaults(defaults, within):
    """The defaults of a function; those that may change between calls are read as the trace reads them, and only their
    kind is said."""
    if not defaults:
        return None
    pairs = defaults.items() if isinstance(defaults, dict) else enumerate(defaults)
    return [
        [k, ["held", type(v).__name__] if isinstance(v, np.ndarray | list | dict) else described(v, within)]
        for k, v in pairs
    ]


def code(c):
    """A digest of a code object: instructions, constants, names, and the places that messages quote."""
    return hashlib.sha256(repr(_spelled(c)).encode()).hexdigest()


def _spelled(c):
    if isinstance(c, types.CodeType):
        return tuple(_spelled(getattr(c, n)) if n == "co_consts" else getattr(c, n) for n in CODE)
    if isinstance(c, tuple):
        return tuple(map(_spelled, c))
    if isinstance(c, frozenset):
        return "frozenset", tuple(sorted(map(repr, map(_spelled, c))))
    return type(c).__name__, repr(c)


CODE = (
    "co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount",
)
CODE += (
    "co_kwonlyargcount", "co_name", "co_qualname", "co_filename", "co_firstlineno", "co_linetable", "co_exceptiontable",
)


def leads(x):
    """[(step, object)] of what is found from a described function; `follow` takes the same steps."""
    if type(x) is functools.partial:
        return [(["partial"], x.func), *callables(x.args, x.keywords)]
    if type(x) is not types.FunctionType:
        return []
    if x.__code__.co_filename == GENERATED:
        return [(["function"], x.callee.function)]
    if x.__code__.co_filename.startswith(ROOT) and pure(x.__module__):
        return [(["holds", n], c.cell_contents) for n, c in cells(x) if is_filled(c)]
    if is_user(x.__code__):
        return [
            (["globals"], x.__globals__),
            *((["cell", n], c) for n, c in cells(x)),
            *callables(x.__defaults__ or (), x.__kwdefaults__ or {}),
        ]
    return []


def callables(positional, named):
    """[(step, function)] of what may be called among defaults, or arguments given beforehand."""
    return [(["given", k], v) for k, v in (*enumerate(positional), *named.items()) if callable(v)]


def follow(x, steps):
    """The object that `steps` lead to, as in `leads`."""
    return functools.reduce(lambda y, step: next(found for s, found in leads(y) if s == step), steps, x)
