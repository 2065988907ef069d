"""An IR function as Python source that imports numpy and nothing else.

An op whose body is one `return` is written in place, its operands substituted; an op with a longer
body becomes a helper function above. Region ops have emitters of their own (`EMIT`), and some ops a
plainer expression chosen by types and attributes (`pretty`).
"""

import ast
import builtins
import functools
import inspect
import keyword
import linecache
import math
import re
import textwrap

import numpy as np

from ...ir.core import Constant, Func, Value
from ...ir.op import OPS
from ...ir.source import hint_name
from ...ir.syntax import Transformer, compiled, fill_places, nodes_of, parse
from .pretty import pretty
from .user_lines import StatementSources, defined

EMIT = {}  # region op -> emitter(writer, eqn, operand texts) -> statements
LOOPS = ast.For, ast.While
PRELUDE_MODULES = {"np": "import numpy as np", "math": "import math"}


def emit(func, name=None, sources=True):
    """Standalone Python source of `func`, one statement an equation, the user's lines as comments."""
    module = _Module()
    return module.file(module.function(func, name or identifier(func.name), sources))


class Pieces:
    """What a function around the equations of `func` is written from.

    params, results: their names or texts; lines: the statements between; file(lines): the file that defines it;
    objects: names of what the statements use and no text stands for.
    """

    def __init__(self, func, taken=()):
        module = _Module()
        writer = _Writer(module, sources=True)
        writer.taken |= {*taken}
        self.params = [writer.bind(p) for p in func.params]
        self.lines = writer.block(func)
        self.results = [writer.operand(r, whole=True) for r in func.results]
        self.fresh, self.file, self.objects = writer.fresh, module.file, module.objects


def callable_of(func):
    """`func` as a Python function on NumPy arrays, compiled from its emitted source; returns a tuple."""
    module = _Module(StatementSources())
    body = module.function(func, "run", sources=False, always_tuple=True)
    source = "\n".join([*PRELUDE_MODULES.values(), *module.helpers.values(), *body]) + "\n"
    file = f"<wengert numpy {func.name} {id(func):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space, tree, own = dict(module.objects), parse(source), {*module.outlined.values(), "run"}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in own]
    tree.body = [node for node in tree.body if node not in functions]
    with np.errstate(all="ignore"):
        exec(compiled(tree, file, "exec"), space)
    for node in functions:
        home = module.places.settle(node, source)
        defined(node, home, func.name if node.name == "run" else node.name, space, file)
    return space["run"]


def is_hosted(eqn):
    """Whether an equation is a function that runs in Python on the host, whatever runs the rest."""
    return eqn.op.name == "external" and getattr(eqn.attrs["function"], "on_host", False)


def is_loop_free(func, known=lambda eqn: False):
    """Whether `func` is a few calls of NumPy, of which data may choose, and nowhere a loop in Python but those that are
    `known`."""
    alone = lambda eqn: known(eqn) or not (eqn.op in EMIT or eqn.effect or loops(eqn.op))
    return all(
        all(is_loop_free(f, known) for f in eqn.regions()) if eqn.op is OPS["cond"] else alone(eqn) for eqn in func.eqns
    )


@functools.cache
def loops(op):
    """Whether what an op means in NumPy is spelled with loops over elements."""
    if op.body.__module__.rpartition(".")[2] in ("special", "window", "signal", "external"):
        return op.name != "fft"
    return any(isinstance(node, LOOPS) for node in nodes_of(_tree(op.body)))


class _Module:
    """What one emitted file holds: helper definitions, outlined functions among them, and objects that have no text
    (host callbacks).

    places: the sources of statements, if they are to run at the user's lines.
    """

    def __init__(self, places=None):
        self.helpers, self.objects, self.outlined, self.places = {}, {}, {}, places

    def file(self, body):
        """The whole text, `body` last."""
        text = "\n".join([*(h + "\n" for h in self.helpers.values()), *body]) + "\n"
        return "\n".join(
            [
                *(line for key, line in PRELUDE_MODULES.items() if key == "np" or re.search(rf"\b{key}\.", text)),
                "",
                text,
            ]
        )

    def function(self, func, name, sources=True, always_tuple=False):
        """Lines of `def name(...)`."""
        writer = _Writer(self, sources)
        params = ", ".join(writer.bind(p) for p in func.params)
        lines = writer.block(func)
        results = [writer.operand(r, whole=True) for r in func.results]
        single = len(results) == 1 and not always_tuple
        result = results[0] if single else f"({', '.join(results)}{',' if len(results) == 1 else ''})"
        return [f"def {name}({params}):", *("    " + line for line in [*lines, f"return {result}"])]


class _Writer:
    """The statements of one function; nested blocks share its names."""

    def __init__(self, module, sources):
        self.module, self.sources, self.names, self.taken = (
            module,
            sources,
            {},
            {"np", "math", "run", *(op.body.__name__ for op in OPS.values())},
        )
        self.numbers = {}  # wish -> the last number behind it

    def fresh(self, wish):
        name, n = wish, self.numbers.get(wish, 1)
        while name in self.taken:
            name, n = f"{wish}_{n}", n + 1
        self.taken.add(name)
        self.numbers[wish] = n
        return name

    def bind(self, value):
        wish = hint_name(value)
        self.names[value] = self.fresh(identifier(wish) if wish else f"v{len(self.names)}")
        return self.names[value]

    def block(self, func):
        """Statements that bind every equation of `func`."""
        places = self.module.places
        marked = (lambda line, source: line) if places is None else places.marked
        return [marked(line, eqn.source) for eqn in func.eqns for line in self.statement(eqn)]

    def statement(self, eqn):
        if eqn.op in EMIT:
            lines = EMIT[eqn.op](self, eqn)
        else:
            elementwise = "elementwise" in eqn.op.traits
            anchored = elementwise and any(
                isinstance(x, Value) and x.type.shape == eqn.results[0].type.shape for x in eqn.operands
            )
            operands = [self.operand(x, whole=not anchored) for x in eqn.operands]
            text = pretty(eqn, operands) or self.expression(eqn.op, operands, eqn.attrs)
            targets = ", ".join(self.bind(r) for r in eqn.results) + (
                "," if eqn.op.multiple and len(eqn.results) == 1 else ""
            )
            lines = [f"{targets} = {text}"] if targets else [text]
        if self.sources and eqn.source:
            lines[0] += f"  # {eqn.source}"
        return lines

    def operand(self, x, whole):
        """A value's name, or a literal: a bare number beside an array, a full array where its shape matters."""
        if isinstance(x, Value):
            return self.names[x]
        number = _number(x.value)
        if x.type.dtype.name not in ("float64", "int64", "complex128", "bool") or (whole and not x.type.shape):
            number = f"np.{x.type.dtype.name}({number})"
        if not whole or not x.type.shape:
            return number
        dtype = "bool" if x.type.dtype.name == "bool" else f"np.{x.type.dtype.name}"
        return f"np.full({x.type.shape}, {number}, {dtype})"

    def expression(self, op, operands, attrs):
        """The call of one op as text."""
        template = _template(op)
        values = {k: self.attribute(v) for k, v in attrs.items()}
        if template is None or any(_needs_name(op, operands, i) for i in range(len(operands))):
            self.helper(op)
            return f"{op.body.__name__}({', '.join([*operands, *(f'{k}={v}' for k, v in values.items())])})"
        names = dict(zip(op.operands, operands, strict=not op.variadic))
        if op.variadic:
            names[_variadic(op)] = f"({''.join(f'{x}, ' for x in operands[len(op.operands) :])})"
        return ast.unparse(_Substitute(_parsed({**names, **values})).visit(_copy(template)))

    def helper(self, op):
        """Define the op's own body in the module, with the module-level functions it calls."""
        for function in _closure(op.body):
            self.module.helpers.setdefault(function.__name__, _definition(function))

    def attribute(self, v):
        if isinstance(v, Constant):
            if v.array.size == 0:
                return f"np.empty({v.array.shape}, np.{v.array.dtype.name})"
            return f"np.array({_numbers(v.array.tolist())}, np.{v.array.dtype.name})"
        if isinstance(v, np.dtype):
            return f"np.dtype({v.name!r})"
        if isinstance(v, tuple):
            return f"({', '.join(map(self.attribute, v))}{',' if len(v) == 1 else ''})"
        if isinstance(v, Func):
            raise TypeError(f"region {v.name} has no text of its own; its op needs an emitter")
        if v is None or isinstance(v, bool | int | str):
            return repr(v)
        if isinstance(v, float | complex):
            return _number(v)
        name = self.fresh(f"object{len(self.module.objects)}")
        self.module.objects[name] = v
        return name


def _number(v):
    v = v.item() if isinstance(v, np.generic) else v
    if isinstance(v, complex) and not (
        np.isfinite(v) and math.copysign(1, v.real) > 0 and math.copysign(1, v.imag) > 0
    ):
        return f"complex({_number(v.real)}, {_number(v.imag)})"  # `(-0+1j)` and `inf*1j` are other numbers
    if v != v and not isinstance(v, complex):
        return "np.nan" if math.copysign(1, v) > 0 else "-np.nan"
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(v))


def _numbers(v):
    return f"[{', '.join(map(_numbers, v))}]" if isinstance(v, list) else _number(v)


def identifier(name):
    name = re.sub(r"\W", "_", name)
    return name + "_" if keyword.iskeyword(name) or not name or name[0].isdigit() else name


@functools.cache
def _tree(function):
    definition = parse(textwrap.dedent(inspect.getsource(function))).body[0]
    definition.decorator_list = []
    return definition


def _statements(function):
    """The body without its docstring."""
    body = _tree(function).body
    return body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body


@functools.cache
def _template(op):
    """The expression an op's body returns, if that is all it does and it names only numpy and its arguments."""
    body = _statements(op.body)
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return None
    bound = {n.id for n in nodes_of(body[0]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known = {*op.operands, *op.attrs, *PRELUDE_MODULES, *dir(builtins)}
    if op.variadic:
        known.add(_variadic(op))
    used = {n.id for n in nodes_of(body[0]) if isinstance(n, ast.Name)} - bound
    return body[0].value if used <= known else None


def _needs_name(op, operands, i):
    """An operand written twice must be a name or a number, never a computed text."""
    if op.variadic or operands[i].replace(".", "").replace("_", "").isalnum():
        return False
    return sum(isinstance(n, ast.Name) and n.id == op.operands[i] for n in nodes_of(_template(op))) > 1


def _variadic(op):
    return next(p.name for p in inspect.signature(op.body).parameters.values() if p.kind is p.VAR_POSITIONAL)


def _parsed(texts):
    return {k: parse(v, mode="eval").body for k, v in texts.items()}


def _copy(tree):
    return parse(ast.unparse(tree), mode="eval").body


class _Substitute(Transformer):
    def __init__(self, values):
        self.values = values

    def visit_Name(self, node):
        return self.values.get(node.id, node)


@functools.cache
def _definition(function):
    tree = _tree(function)
    stripped = ast.FunctionDef(tree.name, tree.args, _statements(function), [], None, None)
    for arg in nodes_of(stripped.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return ast.unparse(fill_places(stripped))


@functools.cache
def _closure(function):
    """`function` and the functions of its folder that it calls, callees first."""
    found, folder = [], function.__module__.rpartition(".")[0]

    def walk(f):
        if f in found:
            return
        for node in nodes_of(_tree(f)):
            if isinstance(node, ast.Name):
                g = f.__globals__.get(node.id)
                if inspect.isfunction(g) and g.__module__.rpartition(".")[0] == folder and g is not f:
                    walk(g)
        found.append(f)

    walk(function)
    return found
