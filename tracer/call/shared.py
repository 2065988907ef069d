"""Which functions share what was traced and compiled: those that are made alike of the same code.

`jit(f)` in a loop, `grad(loss)(w)`, a lambda that is made anew each time: the code, its globals, the transforms and
their options say which `Compiled` it is; enclosing variables and defaults are guarded as they are of any function
(`guards/by_way.py`). A Compiled knows its functions for the time of a call alone, so none is kept alive, nor the arrays
it encloses; objects that a trace relies on by identity go with the Compiled. The latest stay; others as long as a
function made of them does.
"""

import collections
import sys
import threading
import types
import weakref

import numpy as np

from ...ir.forks import hold_while_forking
from ..common.origin import is_user
from ..guards.by_class import by_class
from ..guards.guard import of_class
from ..guards.object_contents import is_fixed

KEPT = 256  # bound: what stays though no function of it does
LASTING = (types.BuiltinFunctionType, np.ufunc, type(np.sum))  # functions that libraries have
_lock = threading.RLock()
hold_while_forking(_lock)
_latest = collections.OrderedDict()
_alive = weakref.WeakValueDictionary()
UNPICKLED = weakref.WeakKeyDictionary()  # function with globals of its own -> what tells them (`pickled.py`)


class Kept:
    """What was compiled of a function of ours that lasts as long as that does: of one with a derivative by hand."""

    def __init__(self, owner):
        self.owner, self.made = weakref.ref(owner), {}

    def __reduce__(self):
        return Kept, (self.owner(),)


def root_of(given):
    """-> (what tells the functions made alike, what guards begin at: the function, method or instance at the bottom),
    or None where a function is to have traces of its own."""
    kind = type(given)
    if kind is types.FunctionType:
        callee = given.__dict__.get("callee")
        if callee is not None and callee.front() is given:
            compiled = callee.compiled
            return None if compiled.cell is None or compiled.key is None else (compiled, callee.object)
        if not is_user(given.__code__):
            kept = given.__dict__.get("kept")
            if type(kept) is Kept and kept.owner() is given:
                return kept, None
            return None if given.__closure__ else ((given,), None)
        said = function_key(given)
        return said and (said, given)
    if kind in LASTING:
        known = type(given.__self__) is types.ModuleType if kind is LASTING[0] else is_fixed(given)
        return ((given,), None) if known and getattr(np, given.__name__, given) is given else None
    if kind is types.MethodType:
        said = function_key(given.__func__) if by_class(type(given.__self__)) else None
        return said and ((said, type(given.__self__)), given)
    call = of_class(kind, "__call__")
    if type(call) is types.FunctionType and by_class(kind) and not hasattr(given, "__wrapped__"):
        return (kind, call), given
    return None


def function_key(f):
    """What tells the functions made of one code, None where it does not tell enough."""
    if type(f) is not types.FunctionType or not is_user(f.__code__):
        return None
    space, held, cells = f.__globals__, f.__dict__, f.__closure__
    if held and ("__wrapped__" in held or "__signature__" in held or "callee" in held):
        return None
    module = sys.modules.get(space.get("__name__"))
    # of code that was run by `exec`, in a namespace of its own; or unpickled
    home = weakref.ref(module) if module is not None and module.__dict__ is space else UNPICKLED.get(f)
    if home is None:
        return None
    if cells is not None and len(cells) > 1 and len(set(map(id, cells))) < len(cells):
        return None
    return f.__code__, home, f.__name__  # which is equal as long as it lives


def shared_compiled(key, make):
    """The Compiled under a key, made if there is none."""
    with _lock:
        if type(key[0]) is Kept:
            made, own = key[0].made, key[1:]
            if own not in made or made[own].key is None:
                made[own] = make()
                made[own].key = key
            return made[own]
        found = _alive.get(key)
        if found is None:
            found = _alive[key] = make()
            found.key = key
        _latest[key] = found
        _latest.move_to_end(key)
        if len(_latest) > KEPT:
            _latest.popitem(last=False)
        return found


def take_out(compiled):
    """Let a Compiled be found no more."""
    with _lock:
        key, compiled.key = compiled.key, None
        if type(key[0]) is Kept:
            return
        if _alive.get(key) is compiled:
            del _alive[key]
        if _latest.get(key) is compiled:
            del _latest[key]


def forget_shared():
    """Keep nothing."""
    with _lock:
        for compiled in list(_alive.values()):
            compiled.key = None
        _alive.clear()
        _latest.clear()
