"""A function -> its twin with hooks: the same globals, cells, defaults and lines, other code."""

import inspect
import os
import sysconfig
import types

from ...ir.parameters import annotate
from ..aside import seen_by
from ..frames import ITERATED, PART, internal
from ..scan import codes
from .expressions import HOOK, is_generator, one_line
from .find import build, find
from .names import looks
from .rewrite import function as rewrite

CELL = types.CellType()  # holds the hooks; filled by `hooks`
FALLBACK = types.CellType()  # what to do with functions that have no source; likewise
STDLIB = tuple({sysconfig.get_path(k) + os.sep for k in ("stdlib", "platstdlib")})
SITE = tuple({sysconfig.get_path(k) + os.sep for k in ("purelib", "platlib")})
LIBRARIES = tuple(os.path.join(site, name) for site in SITE for name in ("numpy", "scipy", "jax", "jaxlib", "ml_dtypes", "pytest", "_pytest"))
HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
UNKNOWN = "is not at hand, or is no longer what was compiled"
_codes = {}  # (code, file) -> the code with hooks, or why there is none
_users = {}  # file -> bool
_inner = {}  # id -> code of the functions inside converted ones
_bare = {}  # id -> those of them that are left as they are: bodies of classes, generators, and what is inside these


def is_user(code):
    """Whether a code object is the user's: no standard library, NumPy, jax, or part of ours."""
    file = code.co_filename
    found = _users.get(file)
    if found is None:
        found = _users[file] = is_user_file(file) and not internal(code)
    return found


def is_user_file(file):
    """Whether a file is none of the standard library, NumPy or jax."""
    standard = file.startswith(STDLIB) and not file.startswith(SITE)
    return not (standard or file.startswith(LIBRARIES))


def is_builtin(kind):
    """Whether a type is Python's own. Classes made by `exec` in a namespace without a name say so too, but they live on the heap."""
    return kind.__module__ == "builtins" and not kind.__flags__ & HEAP


def convert(function):
    """`function` with hooks; itself where there is a reason to leave it alone."""
    code = function.__code__
    if HOOK in code.co_freevars:
        return function
    made = converted(code, function.__globals__)
    if type(made) is str:
        return FALLBACK.cell_contents(function) if made.endswith(UNKNOWN) else function
    space, closure = seen_by(function)
    cells = dict(zip(code.co_freevars, closure or ()))
    cells[HOOK] = CELL
    twin = types.FunctionType(made, space, function.__name__, function.__defaults__, tuple([cells[n] for n in made.co_freevars]))
    twin.__kwdefaults__, twin.__qualname__, twin.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
    twin.__doc__ = function.__doc__
    annotate(twin, function)
    twin.__dict__.update(function.__dict__)
    return twin


def converted(code, space):
    """The code with hooks, or the reason why there is none."""
    key = code, code.co_filename
    made = _codes.get(key)
    if made is None:
        made = _codes[key] = _converted(code, space)
    return made


def unconverted(code):
    """Why a function whose code is running has no hooks; None where it has, or where nobody asked for them."""
    if code in ITERATED:
        return f"the source of {code.co_name} {UNKNOWN}"
    found = _codes.get((code, code.co_filename))
    return found if type(found) is str else None


def belongs(code):
    """Whether a code object belongs to a function inside a converted one: that one is what was called."""
    return HOOK in code.co_freevars or id(code) in _inner


def is_bare(code):
    """Whether a code object inside a converted function has been left as it was."""
    return id(code) in _bare


def bare(code):
    """The codes inside one with hooks that are left as they are."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            left = not const.co_flags & inspect.CO_OPTIMIZED or const.co_flags & SUSPENDING and const.co_name != "<genexpr>"
            yield from codes(const) if left else bare(const)


SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _converted(code, space):
    found = find(code, space)
    if found is None:
        return f"the source of {code.co_name} {UNKNOWN}"
    node, private, imports = found
    if is_generator(node):
        return f"{code.co_name} is a generator or coroutine"
    if (name := looks(node)) is not None:
        return f"{code.co_name} looks at its own variables by {name}()"
    try:
        made = build(one_line(rewrite(node, private)), private, imports, code, (HOOK,))
    except RecursionError:
        return f"{code.co_name} is too deeply nested"
    made = renamed(made, code.co_name, code.co_qualname)
    _inner.update((id(c), c) for c in codes(made))
    _bare.update((id(c), c) for c in bare(made))
    return made


def renamed(made, name, qualified):
    """`made` under the names its source gives it; bodies and operands that moved into functions are parts of theirs."""
    inner = []
    for const in made.co_consts:
        if isinstance(const, types.CodeType):
            if is_part(const):
                const = renamed(const, name, qualified if qualified.endswith(PART) else qualified + PART)
            else:
                around = qualified.removesuffix(PART) + (".<locals>." if made.co_flags & inspect.CO_OPTIMIZED else ".")
                const = renamed(const, const.co_name, const.co_name if const.co_qualname == const.co_name else around + const.co_name)
        elif const == made.co_qualname and not made.co_flags & inspect.CO_OPTIMIZED:
            const = qualified  # a class body names its class
        inner.append(const)
    return made.replace(co_name=name, co_qualname=qualified, co_consts=tuple(inner))


def is_part(code):
    return code.co_name.startswith("@") or code.co_name == "<lambda>" and code.co_varnames[:1] == ("@",)
