"""Where SciPy's functions find their handlers, by module and name: SciPy is never imported here, only found where the
user has it.

A handler takes what the SciPy function takes and stands in for it where an argument is traced. SciPy's own functions
are met at calls in captured source (`find`); its ufuncs come through NumPy's protocol too, and have rules like NumPy's
(`promote.UFUNCS`).
"""

import functools
import sys

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import Traced, fresh
from ..values.promote import LATER, UFUNCS
from ..values.storage import current_trace
from .handles import is_traced

FUNCTIONS = {}  # module -> {name: handler}
ALWAYS = set()  # handlers that are called though no argument is traced
RULES = {}  # module -> {name of a ufunc: rule on values}
DISTRIBUTIONS = {}  # name in scipy.stats -> {method: handler}
_found, _methods, _seen = {}, {}, set()


def captures(module, *names, always=False):
    """Decorator: the handler of `module`.name for each name, its own if none is given. always: whatever the arguments,
    as one is a function."""

    def register(handler):
        if always:
            ALWAYS.add(handler)
        for name in names or (handler.__name__.rstrip("_"),):
            FUNCTIONS.setdefault(module, {})[name] = handler
        return handler

    return register


def scipy_rule(*names, module="scipy.special", double=False):
    """Decorator: the rule of ufuncs, a function of traced arrays of one shape. double: it computes in float64, as SciPy
    does."""

    def register(function):
        def run(*values):
            single = double and values[-1].type.dtype == np.float32
            xs = [fresh(v).astype(np.float64) if single else fresh(v) for v in values]
            out = function(*xs)
            return (out.astype(np.float32) if single else out).value

        for name in names or (function.__name__.rstrip("_"),):
            RULES.setdefault(module, {})[name] = run
        return function

    return register


def refresh():
    """Look for handled functions among the modules loaded since the last look."""
    for module in {*FUNCTIONS, *RULES, "scipy.stats"} - _seen:
        loaded = sys.modules.get(module)
        if loaded is None or getattr(getattr(loaded, "__spec__", None), "_initializing", False):
            continue
        _seen.add(module)
        for name, handler in FUNCTIONS.get(module, {}).items():
            if (real := getattr(loaded, name, None)) is not None:
                _found[real] = functools.partial(captured, handler, real)
        for name, run in RULES.get(module, {}).items():
            if isinstance(real := getattr(loaded, name, None), np.ufunc):
                UFUNCS.setdefault(real, run)
        if module == "scipy.stats":
            _methods.update(
                (id(d), (d, table))
                for name, table in DISTRIBUTIONS.items()
                if (d := getattr(loaded, name, None)) is not None
            )


LATER.append(refresh)


def find(f):
    """What to call in place of one of SciPy's functions, or None."""
    found = _found.get(f)
    if found is None and len(_seen) <= len(FUNCTIONS):
        refresh()
        found = _found.get(f)
    return found


def find_method(method):
    """What to call in place of a method of one of SciPy's distributions, frozen ones too, or None."""
    owner, args, kwargs = method.__self__, (), {}
    if hasattr(owner, "dist") and hasattr(owner, "kwds"):
        owner, args, kwargs = (
            next((d for d, _ in _methods.values() if type(d) is type(owner.dist)), None),
            owner.args,
            owner.kwds,
        )
    refresh()
    known = _methods.get(id(owner))
    if known is None or method.__name__ not in known[1]:
        return None
    handler, real = known[1][method.__name__], method
    return functools.partial(frozen, handler, real, args, kwargs)


def frozen(handler, real, args, kwargs, *given, **others):
    if not any_traced((*given, *others.values(), *args, *kwargs.values())):
        return real(*given, **others)
    return handler(*given[:1], *args, *given[1:], **kwargs, **others)


def captured(handler, real, *args, **kwargs):
    meant = any_traced((*args, *kwargs.values())) or (handler in ALWAYS and current_trace() is not None)
    return handler(*args, **kwargs) if meant else real(*args, **kwargs)


def any_traced(items):
    return any(isinstance(x, Traced) or is_traced(x) for x in items)


def refuse(
    what,
    hint="Apply it to arrays that do not depend on traced arguments, or write it with functions that are captured.",
):
    raise UnsupportedError(message(f"{what} is not captured on traced values", locate(), hint))


def only(name, **given):
    """UnsupportedError where an option has a value that the handler does not know: option=(value, values it knows)."""
    for option, (value, known) in given.items():
        if not any(value is k or (type(value) is type(k) and value == k) for k in known):
            refuse(f"{name}({option}={value!r})", f"It is with {option} among {', '.join(map(repr, known))}.")
