"""From a function to its syntax tree: found by line and position, and believed only if it compiles to the function's
own code."""

import __future__

import ast
import dis
import functools
import inspect
import linecache
import os
import stat
import sys
import types

from ...ir.syntax import children, compiled, copied, fill_places, parse
from .names import SCOPES, bound, walk
from .travelled import travelled

PLACED = inspect.CO_NESTED | getattr(inspect, "CO_METHOD", 0)  # flags that say where a function stands
LOADS = {*dis.hasconst, dis.opmap.get("LOAD_SMALL_INT")}
MADE = {}  # id of a code -> (it, its node, name of the class around it, imports), of functions made of such nodes
FUTURE = functools.reduce(int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


@functools.lru_cache(64)
def _functions(text):
    """(name, first line) -> [(node, name of the innermost class around it)] of a file, and the names it imports at its
    top."""
    found = {}

    def visit(node, private):
        for child in children(node):
            if isinstance(child, SCOPES) and not isinstance(child, ast.ClassDef):
                name = getattr(child, "name", "<lambda>")
                line = min([child.lineno, *(d.lineno for d in getattr(child, "decorator_list", ()))])
                found.setdefault((name, line), []).append((child, private))
            visit(child, child.name if isinstance(child, ast.ClassDef) else private)

    try:
        tree = parse(text)
        visit(tree, None)
    except (SyntaxError, RecursionError):
        return {}, ()
    imports = [n for n in walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    return found, tuple(sorted(bound(imports) - {"*"}))


def find(code, space):
    """-> (a fresh copy of the function's node, name of the class around it, names its module imports), or None where
    there is no source that fits."""
    if id(code) in MADE and MADE[id(code)][0] is code:
        _, node, private, imports = MADE[id(code)]
        return copied(node), private, imports
    result = _find(code, space)
    if result is None:  # what is cached may be older than the function
        linecache.checkcache(code.co_filename)
        result = _find(code, space)
    return result


def _find(code, space):
    return next((found for text in texts_for(code, space) if (found := found_in(text, code)) is not None), None)


def texts_for(code, space):
    """The sources that a function may be of."""
    text = "".join(linecache.getlines(code.co_filename, space)) or given(code.co_filename)
    if text:
        yield text
    yield from travelled()


def found_in(text, code):
    """What `find` tells, where a function is of this source."""
    found, imports = _functions(text)
    for node, private in found.get((code.co_name, code.co_firstlineno), ()):
        node = bare(copied(node))
        try:
            made = build(node, private, imports, code)
        except SyntaxError:
            continue
        if same_code(made, code):
            return node, private, imports
    return None


def text_around(code, space):
    """The text of the source that a function is of; None where it is not at hand."""
    return next((text for text in texts_for(code, space) if found_in(text, code) is not None), None)


@functools.cache
def given(name):
    """The program that the interpreter was given without a file: as `python -c`, or as a file on standard input."""
    try:
        if name == "<string>":
            asked = next(n for n, x in enumerate(sys.orig_argv) if n and x.startswith("-") and x.endswith("c"))
            return sys.orig_argv[asked + 1]
        if name == "<stdin>" and stat.S_ISREG((found := os.fstat(0)).st_mode):
            return os.pread(0, found.st_size, 0).decode()
    except (StopIteration, IndexError, OSError, UnicodeDecodeError, AttributeError):
        pass
    return ""


def bare(node):
    """The function without its decorators, defaults and annotations: they are the function object's affair."""
    a = node.args
    strip = lambda arg: arg and ast.copy_location(ast.arg(arg.arg), arg)
    first, named, only = (list(map(strip, group)) for group in (a.posonlyargs, a.args, a.kwonlyargs))
    args = ast.arguments(first, named, strip(a.vararg), only, [None] * len(only), strip(a.kwarg), [])
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(args, node.body), node)
    kind = type(node)
    # code begins at the first line of these
    marks = [ast.copy_location(ast.Constant(None), d) for d in node.decorator_list]
    return ast.copy_location(
        kind(name=node.name, args=args, body=node.body, decorator_list=marks, returns=None, type_comment=None), node
    )


def build(node, private, imports, code, extra=()):
    """Compile a function node in surroundings like those of `code`: the same free names, class, imports and future
    flags.

    Imports matter: the compiler calls `math.gcd(...)` differently where `math` is an imported name.
    """
    name = getattr(node, "name", "<lambda>")
    params = [ast.arg(n) for n in (*code.co_freevars, *extra)]
    body = [ast.Expr(node)] if isinstance(node, ast.Lambda) else [node]
    if name not in code.co_freevars and not isinstance(node, ast.Lambda):
        body.insert(0, ast.Global([name]))  # its own name is no variable of the surroundings made here
    outer = ast.FunctionDef(
        name="@outer",
        args=ast.arguments([], params, None, [], [], None, []),
        body=body,
        decorator_list=[],
        returns=None,
        type_comment=None,
    )
    top = ast.ClassDef(name=private, bases=[], keywords=[], body=[outer], decorator_list=[]) if private else outer
    first = [ast.copy_location(ast.Import([ast.alias("_", name)]), node) for name in imports]
    tree = ast.Module([*first, top], [])
    for part in (top, outer, *params, body[0]):
        ast.copy_location(part, node)
    made = compiled(
        fill_places(tree), code.co_filename, "exec", code.co_flags & FUTURE, dont_inherit=True
    )
    for step in ([private] if private else []) + ["@outer", name]:
        made = next(c for c in made.co_consts if isinstance(c, types.CodeType) and c.co_name == step)
    return made


def same_code(made, code):
    """Whether two code objects are one function: the same instructions, names, constants, place by place.

    pytest rewrites asserts as it imports a test: there, everything but the code of the asserts must fit.
    """
    if (
        made.co_varnames[: made.co_argcount] != code.co_varnames[: code.co_argcount]
        or (made.co_flags ^ code.co_flags) & ~PLACED
    ):
        return False
    if any(n.startswith("@py_") for n in code.co_varnames):
        known = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
        same = (
            set(made.co_names) <= known | {"AssertionError"}
            and set(made.co_varnames) <= known
            and lines(made) <= lines(code)
        )
        return same and loaded(made) <= loaded(code)
    if made.co_code != code.co_code or made.co_names != code.co_names or made.co_varnames != code.co_varnames:
        return False
    if constants(made) != constants(code):
        return False
    if code.co_name == "<lambda>" and set(made.co_positions()) != set(code.co_positions()):
        return False
    inner = [[c for c in m.co_consts if isinstance(c, types.CodeType)] for m in (made, code)]
    return len(inner[0]) == len(inner[1]) and all(same_code(a, b) for a, b in zip(*inner))


def constants(code):
    """The constants of a code object, told apart as the compiler does: 1, 1.0 and True differ, so do 0.0 and -0.0.

    A class body names itself among them, as a part of what surrounds it.
    """
    own = None if code.co_flags & inspect.CO_OPTIMIZED else code.co_qualname
    return [constant_key(c) for c in code.co_consts if not isinstance(c, types.CodeType) and (own is None or c != own)]


def loaded(code):
    """The constants that the instructions of a code object load; since Python 3.14 small ints are parts of
    instructions, and `co_consts` has none."""
    found = [i.argval for i in dis.get_instructions(code) if i.opcode in LOADS]
    return {constant_key(c) for c in found if not isinstance(c, types.CodeType)}


def constant_key(constant):
    if isinstance(constant, tuple):
        return tuple(map(constant_key, constant))
    if isinstance(constant, frozenset):
        return frozenset(map(constant_key, constant))
    return type(constant), repr(constant)


def lines(code):
    return {line for _, _, line in code.co_lines() if line}
