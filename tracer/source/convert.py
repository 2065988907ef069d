"""A function -> its twin with hooks: the same globals, cells, defaults and lines, other code."""

import os
import sysconfig
import types

from ..frames import internal
from ..scan import codes
from .expressions import HOOK, is_generator
from .find import build, find
from .names import walk
from .rewrite import function as rewrite

CELL = types.CellType()  # holds the hooks; filled by `hooks`
REFLECTIVE = {"locals", "vars", "dir", "eval", "exec", "_getframe"}  # see the function's own frame, which bodies are not
STDLIB = tuple({sysconfig.get_path(k) + os.sep for k in ("stdlib", "platstdlib")})
SITE = tuple({sysconfig.get_path(k) + os.sep for k in ("purelib", "platlib")})
LIBRARIES = tuple(os.path.join(site, name) for site in SITE for name in ("numpy", "scipy", "jax", "jaxlib", "ml_dtypes", "pytest", "_pytest"))
_codes = {}  # (code, file) -> the code with hooks, or None
_users = {}  # file -> bool
_parts = {}  # id -> code of the functions inside converted ones


def is_user(code):
    """Whether a code object is the user's: no standard library, NumPy, jax, or part of ours."""
    file = code.co_filename
    found = _users.get(file)
    if found is None:
        standard = file.startswith(STDLIB) and not file.startswith(SITE)
        found = _users[file] = not (standard or file.startswith(LIBRARIES) or internal(code))
    return found


def convert(function):
    """`function` with hooks; itself where it has no source, is a generator, or looks at its own frame."""
    code = function.__code__
    if HOOK in code.co_freevars:
        return function
    key = code, code.co_filename
    made = _codes.get(key, False)
    if made is False:
        made = _codes[key] = _convert(code, function.__globals__)
    if made is None:
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[HOOK] = CELL
    twin = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__, tuple([cells[n] for n in made.co_freevars]))
    twin.__kwdefaults__, twin.__qualname__, twin.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
    twin.__annotations__, twin.__doc__ = function.__annotations__, function.__doc__
    twin.__dict__.update(function.__dict__)
    return twin


def is_part(code):
    """Whether a code object belongs to a function inside a converted one: that one is what was called."""
    return HOOK in code.co_freevars or id(code) in _parts


def _convert(code, space):
    found = find(code, space)
    if found is None:
        return None
    node, private, imports = found
    if is_generator(node) or any(getattr(n, "id", None) in REFLECTIVE or getattr(n, "attr", None) in REFLECTIVE for n in walk(node.body)):
        return None
    try:
        made = build(rewrite(node, private), private, imports, code, (HOOK,))
    except RecursionError:
        return None
    made = renamed(made, code).replace(co_firstlineno=code.co_firstlineno)
    _parts.update((id(c), c) for c in codes(made))
    return made


def renamed(made, code):
    """`made` under the names of `code`; the bodies in it, as parts of the same function."""
    inner = []
    for const in made.co_consts:
        if isinstance(const, types.CodeType):
            const = renamed(const, code if const.co_name.startswith("@") else const)
        inner.append(const)
    part = f"{code.co_qualname}.{made.co_name}" if made.co_name.startswith("@") else code.co_qualname
    return made.replace(co_name=code.co_name, co_qualname=part, co_consts=tuple(inner))
