"""`show(func)` prints a function, `parse(text)` reads it back; everything left of `#` is exact.

    func loss(%w: f64[3], %X: f64[4,3]) -> f64[] {
      %z = dot_general %X, %w contract=[[1],[0]] : f64[4]  # logreg.py:4
      %0 = reduce_sum %z axes=[0]                : f64[]   # logreg.py:5
      return %0
    }

A bare number is a splat with the type of the equation's last value; others carry theirs (`0.5:f64[2]`).
The regions of an equation follow it, indented, each named by its attribute (`body: func ...`).
"""

from __future__ import annotations

import ast
import base64
import functools
import inspect
import re
import zlib

import numpy as np

from . import syntax
from .core import Builder, Constant, Func, Lit, Value
from .op import OPS
from .source import hint_name
from .types import DTYPES, SHORT, IRTypeError, Tensor, parse_type

WIDEST = 96  # columns before the type column gives up aligning
LISTED = 16  # constants up to this size are printed number by number


# -- printing --------------------------------------------------------------------------------------


def show(func: Func, sources: bool = True) -> str:
    """The text of `func`; `sources=False` leaves the source column out."""
    return "\n".join(_func_lines(func, f"func {func.name}", sources))


def _func_lines(func, head, sources):
    names = _Names()
    params = ", ".join(f"%{names.bind(p)}: {p.type}" for p in func.params)
    lines = [f"{head}({params}) -> {', '.join(map(repr, func.result_types)) or 'nothing'} {{"]
    rows = []
    for eqn in func.eqns:
        operands = ", ".join(_operand(x, names, _context(eqn.operands)) for x in eqn.operands)
        attrs = attributes_text(eqn)
        left = ", ".join(f"%{names.bind(r)}" for r in eqn.results)
        text = (
            f"{left} = {eqn.op.name}{' ' + operands if operands else ''}{attrs}"
            if left
            else f"{eqn.op.name} {operands}{attrs}"
        )
        nested = [line for label, f in labelled_regions(eqn) for line in _func_lines(f, f"{label}: func", sources)]
        rows.append(
            (
                text,
                ", ".join(repr(r.type) for r in eqn.results),
                str(eqn.source) if eqn.source and sources else "",
                nested,
            )
        )
    wide = max([len(t) for t, *_ in rows if len(t) <= WIDEST], default=0)
    types_wide = max([len(t) for _, t, *_ in rows if len(t) <= 24], default=0)
    for text, types, source, nested in rows:
        line = f"  {text:<{wide}} : {types:<{types_wide}}" if types else f"  {text:<{wide}}"
        lines.append((line + (f"  # {source}" if source else "")).rstrip())
        lines += ["    " + line for line in nested]
    results = ", ".join(_operand(r, names, None) for r in func.results)
    return [*lines, f"  return {results}".rstrip(), "}"]


class _Names:
    """Hands out one printed name per value."""

    def __init__(self):
        self.of, self.taken, self.count = {}, set(), 0

    def bind(self, value):
        wish = hint_name(value)
        if wish is None:
            name = str(self.count)
            self.count += 1
        else:
            name, n = wish, 1
            while name in self.taken:
                name, n = f"{wish}.{n}", n + 1
        self.taken.add(name)
        self.of[value] = name
        return name


def _context(operands):
    """The type a bare number takes among these operands: that of the last value."""
    return next((x.type for x in reversed(operands) if isinstance(x, Value)), None)


def _operand(x, names, context):
    if isinstance(x, Value):
        return f"%{names.of.get(x, '?unbound')}"
    return number_text(x.value) + ("" if x.type is context else f":{x.type}")


def number_text(v):
    return repr(v.item()).replace(" ", "")


def _is_default(op, name, v):
    """Attributes at their default are left out; parsing fills them in."""
    default = op.attrs.get(name, inspect.Parameter.empty)
    return type(v) is type(default) and v == default


def _is_region(v):
    return isinstance(v, Func) or (isinstance(v, tuple) and len(v) > 0 and all(isinstance(f, Func) for f in v))


def attributes_text(eqn):
    """The attributes of an equation as they are printed behind its operands: those that are no regions, and not at
    their default."""
    shown = {k: v for k, v in eqn.attrs.items() if not (_is_region(v) or _is_default(eqn.op, k, v))}
    return "".join(f" {k}={_attr(v)}" for k, v in shown.items())


def labelled_regions(eqn):
    """(the name under which a region of an equation is printed, the region)."""
    for name, v in eqn.attrs.items():
        if isinstance(v, Func):
            yield name, v
        elif _is_region(v):
            yield from ((f"{name}[{i}]", f) for i, f in enumerate(v))


def _attr(v):
    if isinstance(v, np.dtype):
        return SHORT[v.name]
    if isinstance(v, Constant):
        flat = v.array.ravel()
        spelled = SHORT[v.array.dtype.name] + str(list(v.array.shape)).replace(" ", "")
        if flat.size <= LISTED:
            return f'dense("{spelled}",[{",".join(number_text(x) for x in flat)}])'
        return f'dense("{spelled}","{base64.b85encode(zlib.compress(flat.tobytes())).decode()}")'
    if isinstance(v, tuple | list):
        return f"[{','.join(_attr(x) for x in v)}]"
    if isinstance(v, str):
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(v, np.generic):
        v = v.item()
    if v is None or isinstance(v, bool | int | float | complex | Tensor):
        return repr(v).replace(" ", "")
    return f"<{getattr(v, '__name__', type(v).__name__)}>".replace(" ", "_")


# -- parsing ---------------------------------------------------------------------------------------


def parse(text: str) -> Func:
    """The function a text describes. Raises IRTypeError with the line that cannot be read."""
    lines = _Lines(text)
    func = _parse_func(lines, None)
    if lines.peek() is not None:
        raise lines.error("text goes on after the function")
    return func


class _Lines:
    def __init__(self, text):
        stripped = [(n, _uncomment(line).strip()) for n, line in enumerate(text.splitlines(), 1)]
        self.lines, self.at = [(n, s) for n, s in stripped if s], 0
        # an equation's text without names: its op, its attributes, how many results it names, the numbers among
        # operands
        self.known = {}
        self.numbers = {}  # text and the type it takes: the number

    def peek(self):
        return self.lines[self.at][1] if self.at < len(self.lines) else None

    def next(self):
        if self.at == len(self.lines):
            raise IRTypeError("the text ends inside a function: a `}` is missing")
        self.at += 1
        return self.lines[self.at - 1][1]

    def error(self, message):
        n, line = self.lines[min(max(self.at - 1, 0), len(self.lines) - 1)] if self.lines else (0, "")
        return IRTypeError(f"line {n}: {message}\n  {line}")


_HEAD = re.compile(r"(?:([\w\[\]]+):\s*)?func\s*([^\s(]*)\((.*)\)\s*->\s*.*\{$")
_REGION = re.compile(r"(\w+)(\[\d+\])?:\s*func\b")
_TYPE = re.compile(rf"\b(?:{'|'.join(DTYPES)})\[[\d,]*\]")
_NAME = re.compile(r"%([\w.]+)")
_EQN = re.compile(r"(?:(%[^=]+)=\s*)?(\w+)\s*(.*)$")


def _parse_func(lines, name):
    head = _HEAD.match(lines.next())
    if not head:
        raise lines.error("expected `func name(%x: f64[3], ...) -> f64[] {`")
    build, env = Builder(name or head[2]), {}
    for part in _split(head[3], ","):
        key, _, type = part.partition(":")
        env[key.strip().lstrip("%")] = build.param(parse_type(type), _hint(key.strip().lstrip("%")))
    while not (line := lines.next()).startswith("return"):
        _parse_eqn(line, lines, build, env)
    results = tuple(_parse_operand(t, env, None, lines) for t in _split(line[len("return") :], ","))
    if lines.next() != "}":
        raise lines.error("expected `}` after return")
    return build.finish(results)


def _hint(name):
    return None if name.isdigit() else re.sub(r"\.\d+$", "", name)


def _parse_eqn(line, lines, build, env):
    """Equations whose text differs in names alone are read once."""
    if '"' in line:
        _read_eqn(line, lines, build, env)
        return
    line = line.partition(" : ")[0].rstrip()
    names, spelled = _NAME.findall(line), _NAME.sub("%", line)
    if spelled not in lines.known:
        op, attrs, count, tokens = _read_eqn(line, lines, build, env)
        numbers = [None if t.strip().startswith("%") else t for t in tokens]
        if "region" not in op.traits and len(names) == count + numbers.count(None):
            lines.known[spelled] = op, attrs, count, numbers
        return
    op, attrs, count, numbers = lines.known[spelled]
    values = [_parse_operand(f"%{n}", env, None, lines) for n in names[count:]]
    if len(values) < len(numbers):
        left, context = iter(values), values[-1].type if values else None
        values = [next(left) if t is None else _parse_operand(t, env, context, lines) for t in numbers]
    with build:
        out = build.emit(op, tuple(values), attrs, hints=[_hint(n) for n in names[:count]])
    env.update(zip(names[:count], out if op.multiple else (out,), strict=True))


def _read_eqn(line, lines, build, env):
    """-> (op, its attributes, how many results it names, its operands as written)"""
    body = _split(line, " : ")[0]
    match = _EQN.match(body)
    if not match or match[2] not in OPS:
        raise lines.error(f"no op is named {match[2]!r}" if match else "expected `%z = op %x, %y key=value : type`")
    op, words = OPS[match[2]], _split(match[3], " ")
    attrs = {}
    while words and re.match(r"\w+=", words[-1]):
        key, _, value = words.pop().partition("=")
        attrs[key] = _parse_attr(value, lines)
    regions = {}
    while lines.peek() and (region := _REGION.match(lines.peek())):
        found = _parse_func(lines, region[1] + (region[2] or ""))
        regions.setdefault(region[1], []).append(found)
        attrs[region[1]] = tuple(regions[region[1]]) if region[2] else found
    tokens = _split(" ".join(words), ",")
    context = next(
        (env[t.strip()[1:]].type for t in reversed(tokens) if t.strip()[1:] in env and t.strip()[0] == "%"), None
    )
    operands = tuple(_parse_operand(t, env, context, lines) for t in tokens)
    names = [n.strip().lstrip("%") for n in (match[1] or "").split(",") if n.strip()]
    with build:
        out = build.emit(op, operands, attrs := op.complete(attrs), hints=[_hint(n) for n in names])
    for n, value in zip(names, out if op.multiple else (out,), strict=True):
        env[n] = value
    return op, attrs, len(names), tokens


def _parse_operand(token, env, context, lines):
    token = token.strip()
    if token.startswith("%"):
        if token[1:] not in env:
            raise lines.error(f"{token} is not bound here")
        return env[token[1:]]
    if (token, context) not in lines.numbers:
        value, _, type = token.partition(":")
        if not type and context is None:
            raise lines.error(f"the number {token} needs its type, such as {token}:f64[]")
        lines.numbers[token, context] = Lit(_parse_attr(value, lines), parse_type(type) if type else context)
    return lines.numbers[token, context]


def _parse_attr(text, lines):
    def read(node):
        match node:
            case ast.Constant():
                return node.value
            case ast.List():
                return tuple(read(x) for x in node.elts)
            case ast.UnaryOp(op=ast.USub()):
                return -read(node.operand)
            case ast.BinOp(op=ast.Add()):
                return read(node.left) + read(node.right)
            case ast.BinOp(op=ast.Sub()):
                return read(node.left) - read(node.right)
            case ast.Name(id=name) if name in ("nan", "inf"):
                return float(name)
            case ast.Name(id=name) if name in ("nanj", "infj"):
                return complex(0, float(name[:-1]))
            case ast.Name(id=name) if name in DTYPES:
                return DTYPES[name]
            case ast.Call(func=ast.Name(id="dense")):
                return _dense(*(read(a) for a in node.args))
            case ast.Call(func=ast.Name(id="type")):
                return parse_type(read(node.args[0]))
        raise lines.error(f"cannot read the value {text}")

    if '"' not in text:
        text = _TYPE.sub(r'type("\g<0>")', text)
    try:
        return read(syntax.parse(text, mode="eval").body)
    except SyntaxError:
        raise lines.error(f"cannot read the value {text}") from None


def _dense(type, data):
    t = parse_type(type)
    if isinstance(data, str):
        return Constant(np.frombuffer(zlib.decompress(base64.b85decode(data)), t.dtype).reshape(t.shape))
    return Constant(np.array(data, t.dtype).reshape(t.shape))


_QUOTED = r'"(?:\\.|[^"\\])*"?'
_COMMENT = re.compile(rf"{_QUOTED}|#")


@functools.cache
def _marks(mark):
    return re.compile(rf"{_QUOTED}|[(\[{{]|[)\]}}]|{re.escape(mark)}")


def _split(text, mark):
    """Split at `mark` where no bracket or quote is open; empty pieces are dropped."""
    pieces, start, depth = [], 0, 0
    for found in _marks(mark).finditer(text):
        what = found[0]
        if what == mark:
            if depth == 0:
                pieces.append(text[start : found.start()])
                start = found.end()
        elif what[0] != '"':
            depth += 1 if what in "([{" else -1
    return [p for p in (*pieces, text[start:]) if p.strip()]


def _uncomment(line):
    if "#" not in line:
        return line
    return next((line[: found.start()] for found in _COMMENT.finditer(line) if found[0] == "#"), line)


Func.__str__ = show  # type: ignore[method-assign, assignment]  # print(func) is its text
