"""What runs while a function is traced: a program is kept only if all that decided it can be compared in another
process.

What a trace reads outside itself it notes (`outside`). Code that runs without hooks notes nothing, and a function such
as `time.localtime` is called once, by the trace, whatever it answers in the next process. So every call of a Python
function is seen here, in the thread that traces, and those are named that forbid a program to be kept.
"""

import builtins
import contextlib
import dis
import functools
import sys
import types

import numpy as np

from ..common.collecting import await_collector, is_collecting, is_of_collector
from ..common.frames import GENERATED
from ..common.origin import is_builtin, is_user
from ..common.scan import codes
from ..guards.purity import as_documented
from ..guards.reliance import of_user
from ..numpy_api import scipy_registry as scipy
from ..numpy_api.registry import HANDLERS
from ..regions.builtins import REPLACED
from ..regions.calls import call
from ..rewriter.converted import belongs
from ..values.array import Traced
from .described import is_library, pure

HIDDEN = {
    "id", "hash", "open", "input", "globals", "locals", "vars", "dir", "eval", "exec", "compile", "__import__",
    "breakpoint",
}
UNORDERED = {"set", "frozenset"}  # of strings, they come in another order in each process
OWNERS = (
    list, dict, tuple, str, bytes, int, float, complex, range, slice, types.ModuleType, np.ndarray, np.generic,
    np.dtype, np.ufunc, Traced,
)
DOING = (
    "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap",
)
DOING += ("tofile", "dump", "dumps")
PLAIN = ("numpy", "math", "cmath", "operator", "functools", "itertools")  # modules of which an import tells nothing new
TELLING = (
    "base_repr", "binary_repr", "broadcast_shapes", "diag_indices", "isdtype", "isfortran", "issubdtype", "iterable",
    "mask_indices",
)
TELLING += (
    "promote_types", "row_stack", "tril_indices", "triu_indices", "typename", "fromiter", "fromstring", "mintypecode",
)
KNOWN = {getattr(np, n) for n in TELLING if hasattr(np, n)}


class Watch:
    """why: what forbids the program to be kept, in the order met."""

    def __init__(self):
        self.why, self.seen = [], set()
        self.aside = None  # the frame of a function that the garbage collector calls

    def profile(self, frame, event, argument):
        """As sys.setprofile calls it."""
        if self.aside is not None:
            if event == "return" and frame is self.aside:
                self.aside = None
            return
        if event != "call" or is_collecting():
            return
        code = frame.f_code
        if code is CALL:
            if not self.alike(f := frame.f_locals["f"]):
                name = getattr(f, "__qualname__", None) or type(f).__name__
                name = as_documented(getattr(f, "__module__", None) or "", name)[1]
                self.note(f"it calls {name}, which may answer otherwise in another process")
        elif id(code) not in self.seen:
            if is_of_collector(code):
                self.aside = frame
                return
            self.seen.add(id(code))
            if is_user(code) and not belongs(code) and not generated(frame):
                self.note(f"{code.co_qualname} ran without being captured")

    def alike(self, f):
        return answers_alike(f)

    def note(self, text):
        if text not in self.why:
            self.why.append(text)


CALL = call.__code__


def generated(frame):
    """Whether the code of a frame was made by a library, for a class of its own."""
    home = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith("<") and (home.startswith("namedtuple_") or is_library(home))


@contextlib.contextmanager
def watching(kind=Watch):
    """A Watch over what runs within, in this thread."""
    watch = kind()
    if sys.getprofile() is not None:
        watch.note("a profiler ran while it was traced")
        yield watch
        return
    await_collector()
    sys.setprofile(watch.profile)
    try:
        yield watch
    finally:
        sys.setprofile(None)


def answers_alike(f):
    """Whether what is called in captured source gives the same for the same arguments in every process, so far as is
    known."""
    kind = type(f)
    name = getattr(f, "__name__", "")
    if name in DOING:
        return False
    if kind is types.FunctionType:
        return (
            f.__code__.co_filename == GENERATED or is_user(f.__code__) or is_known_function(f) or simple(f.__module__)
        )
    if kind is functools.partial:
        return True  # `call` asks about what it calls
    if isinstance(f, type):
        return f.__name__ not in UNORDERED and (
            is_builtin(f) or simple(f.__module__) or pure(f.__module__) and f.__module__.startswith("numpy")
        )
    if kind is types.BuiltinFunctionType:
        return builtin_alike(f)
    if kind is types.MethodType:
        return (
            is_user(f.__func__.__code__)
            if type(f.__func__) is types.FunctionType and not isinstance(f.__self__, Traced)
            else True
        )
    if kind in (types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType):
        return True
    return is_known_function(f) or simple(kind.__module__) and kind.__module__ != "functools"


def builtin_alike(f):
    """As `answers_alike`, of a builtin function or method."""
    owner = f.__self__
    if isinstance(owner, types.ModuleType) or owner is None:
        return is_known_function(f) or simple(f.__module__) and not (owner is builtins and f.__name__ in HIDDEN)
    return isinstance(owner, OWNERS) or isinstance(owner, type) and is_builtin(owner)


def simple(module):
    """Whether all that a module of a library has is the same in every process; of NumPy's and SciPy's, the tracer's
    tables say what is."""
    return pure(module) and module.partition(".")[0] not in ("numpy", "scipy")


def is_known_function(f):
    """Whether a function of NumPy's or SciPy's is one that the tracer knows."""
    if of_user(type(f)):
        return False
    try:
        return f in HANDLERS or f in REPLACED or f in KNOWN or isinstance(f, np.ufunc) or scipy.find(f) is not None
    except TypeError:  # not hashable
        return False


@functools.lru_cache(4096)
def hidden(code):
    """What in a function's code is not noted while it runs, or None: imports, and orders that are not the same in all
    processes."""
    for c in codes(code):
        # of an import: the constants loaded before it, of which the first is 0 where the name is absolute
        level, last = None, None
        for ins in dis.get_instructions(c):
            if ins.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
                level, last = last, ins.argval
            if ins.opname == "IMPORT_NAME" and not (level == 0 and ins.argval in PLAIN and pure(ins.argval)):
                return f"{code.co_qualname} imports {ins.argval} when it runs"
            if ins.opname in ("BUILD_SET", "SET_ADD", "SET_UPDATE"):
                return f"{code.co_qualname} makes a set, whose order is another in each process"
            if ins.opname in ("LOAD_GLOBAL", "LOAD_NAME") and ins.argval in HIDDEN | UNORDERED:
                return f"{code.co_qualname} uses {ins.argval}"
        if any(isinstance(k, frozenset) and not all(type(i) in (int, float, bool) for i in k) for k in c.co_consts):
            return f"{code.co_qualname} has a set, whose order is another in each process"
    return None
