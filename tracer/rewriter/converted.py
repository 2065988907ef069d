"""The code of a function, rewritten with hooks and compiled: its lines and names are kept."""

import inspect
import types

from ..common.frames import ITERATED, PART
from ..common.scan import codes
from .expressions import HOOK, is_generator, one_line
from .find import build, find
from .names import looks
from .rewrite import rewrite_function as rewrite

UNKNOWN = "is not at hand, or is no longer what was compiled"
_codes = {}  # (code, file) -> the code with hooks, or why there is none
_inner = {}  # id -> code of the functions inside converted ones
_written = {}  # id of one of them -> the user's code that it was made of
_bare = {}  # id -> those of them that are left as they are: bodies of classes, generators, and what is inside these


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
            left = (
                not const.co_flags & inspect.CO_OPTIMIZED
                or const.co_flags & SUSPENDING
                and const.co_name != "<genexpr>"
            )
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
    _written.update(pairs(code, made))
    _bare.update((id(c), c) for c in bare(made))
    return made


def pairs(code, made):
    """(id of a code inside one with hooks, the user's code that it was made of), where name, line and parameters tell
    which."""
    sides = [{}, {}]
    for side, around in zip(sides, (code, made)):
        for c in codes(around):
            if c is not around:
                given = c.co_varnames[: c.co_argcount + c.co_kwonlyargcount]
                side.setdefault((c.co_name, c.co_firstlineno, given), []).append(c)
    for key, found in sides[1].items():
        if len(found) == len(sides[0].get(key, ())) == 1:
            yield id(found[0]), sides[0][key][0]


def written(code):
    """The user's code that one inside a converted function was made of, itself where it has no hooks; None where that
    is not known."""
    return code if id(code) not in _inner else _written.get(id(code))


def renamed(made, name, qualified):
    """`made` under the names its source gives it; bodies and operands that moved into functions are parts of theirs."""
    inner = []
    for const in made.co_consts:
        if isinstance(const, types.CodeType):
            if is_part(const):
                const = renamed(const, name, qualified if qualified.endswith(PART) else qualified + PART)
            else:
                around = qualified.removesuffix(PART) + (".<locals>." if made.co_flags & inspect.CO_OPTIMIZED else ".")
                const = renamed(
                    const,
                    const.co_name,
                    const.co_name if const.co_qualname == const.co_name else around + const.co_name,
                )
        elif const == made.co_qualname and not made.co_flags & inspect.CO_OPTIMIZED:
            const = qualified  # a class body names its class
        inner.append(const)
    return made.replace(co_name=name, co_qualname=qualified, co_consts=tuple(inner))


def is_part(code):
    return code.co_name.startswith("@") or code.co_name == "<lambda>" and code.co_varnames[:1] == ("@",)
