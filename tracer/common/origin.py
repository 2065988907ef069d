"""Whose code it is: the user's, a library's, Python's own, or ours."""

import collections.abc
import inspect
import os
import sysconfig

from ...ir.source import COMPILED
from .frames import internal

STDLIB = tuple({sysconfig.get_path(k) + os.sep for k in ("stdlib", "platstdlib")})
SITE = tuple({sysconfig.get_path(k) + os.sep for k in ("purelib", "platlib")})
LIBRARIES = tuple(os.path.join(site, name) for site in SITE for name in (
    "numpy", "scipy", "jax", "jaxlib", "ml_dtypes", "pytest", "_pytest", "numba",
))
# modules of libraries in Python whose functions and classes are traced by their source, as the user's are
SOURCES = ("scipy.spatial.transform._rotation",)
SOURCE_FILES = tuple(os.path.join(site, *name.split(".")) + ".py" for site in SITE for name in SOURCES)
# classes of Python's own that users derive theirs from, whose methods are traced likewise
BASES = {
    collections.__file__: ("UserList", "UserDict", "UserString", "ChainMap"),
    collections.abc.Sequence.__len__.__code__.co_filename: tuple(collections.abc.__all__),
}
HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class made in Python
_users = {}  # file -> bool


def is_user(code):
    """Whether a code object is the user's, or traced as theirs are: no standard library, NumPy, jax, or part of ours,
    nor what Cython puts into tracebacks."""
    file = code.co_filename
    if code.co_name.endswith(COMPILED):  # of the user's file, but not the user's
        return False
    found = _users.get(file)
    if found is None and file in BASES:
        return code.co_qualname.partition(".")[0] in BASES[file] and not code.co_flags & inspect.CO_GENERATOR
    if found is None:
        found = _users[file] = is_user_file(file) and not internal(code) and not file.endswith(".pyx")
    return found


def is_user_file(file):
    """Whether a file is none of the standard library, NumPy or jax."""
    standard = file.startswith(STDLIB) and not file.startswith(SITE)
    return not (standard or file.startswith(LIBRARIES)) or file in SOURCE_FILES


def is_builtin(kind):
    """Whether a type is Python's own. Classes made by `exec` in a namespace without a name say so too, but they live on
    the heap."""
    return kind.__module__ == "builtins" and not kind.__flags__ & HEAP
