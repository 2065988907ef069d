"""The text of a function read back: `parse`, the inverse of `show`. Nothing is evaluated; docs/ir_text.md is the
grammar."""

from __future__ import annotations

import ast
import base64
import binascii
import functools
import math
import operator
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import syntax
from .core import Builder, Constant, Func, Lit
from .dims import Dim, parse_dim
from .op import FUNCTIONS, OPS
from .types import DTYPES, IRTypeError, parse_type

# what the rules of ops, and Python's own readers, say of a text that means nothing
WRONG = (IRTypeError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, AssertionError)
ARITHMETIC = {ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv}  # of sizes
BEYOND = (RecursionError, MemoryError)


class TextError(IRTypeError):
    """A text is no function. line, column: where, from 1."""

    line: int
    column: int


def parse(text: str, functions: Mapping[str, Any] | None = None, sizes: Mapping[str, int] | None = None) -> Func:
    """The function that a text describes.

    functions: what `function=<name>` stands for in equations of `external`, `host` and `pointwise`; those of
    scipy.special are known. sizes: the numbers for names of sizes in the text, as in `f64[n + 1,64]`.
    Raises TextError, an IRTypeError, with the line and column of what cannot be read or is of a type that is not so.
    """
    lines = _Lines(text, {**FUNCTIONS, **(functions or {})}, sizes or {})
    try:
        if sizes:
            lines.settle_types()
        func = _parse_func(lines, None)
    except TextError:
        raise
    except WRONG as error:
        raise lines.error(str(error) or type(error).__name__) from None
    except BEYOND:
        raise lines.error("it is nested too deeply") from None
    if lines.peek() is not None:
        lines.at += 1
        raise lines.error("text goes on after the function")
    return func


class _Lines:
    def __init__(self, text, functions, sizes):
        stripped = [(n, _uncomment(line).strip(), line) for n, line in enumerate(text.splitlines(), 1)]
        self.lines, self.at, self.functions = [line for line in stripped if line[1]], 0, functions
        # an equation's text without names: its op, its attributes, how many results it names, the numbers among
        # operands
        self.known, self.sizes = {}, sizes
        self.numbers = {}  # text and the type it takes: the number

    def settle_types(self):
        """Write numbers for the sizes in types."""

        def written(found):
            if found["sizes"] is None:
                return found[0]
            numbers = [self.size(part) for part in found["sizes"].split(",") if part.strip()]
            return f"{found['dtype']}[{','.join(numbers)}]"

        for k, (n, line, raw) in enumerate(self.lines):
            self.at = k + 1
            self.lines[k] = n, SIZED_TYPE.sub(written, line), raw
        self.at = 0

    def size(self, text):
        try:
            return str(Dim.of(parse_dim(text)).at(self.sizes))
        except KeyError as error:
            raise self.error(f"no size is named {error.args[0]}", text) from None

    def peek(self):
        return self.lines[self.at][1] if self.at < len(self.lines) else None

    def next(self):
        if self.at == len(self.lines):
            raise self.error("the text ends inside a function: a `}` is missing" if self.lines else "there is no text")
        self.at += 1
        return self.lines[self.at - 1][1]

    def error(self, message, token=None, at=None):
        """The TextError at the line that was read last, or the one numbered `at`; token: what is wrong of it."""
        n, line, raw = self.lines[min(max((at or self.at) - 1, 0), len(self.lines) - 1)] if self.lines else (1, "", "")
        found = raw.find(token.strip()) if token and token.strip() else -1
        column = (found if found >= 0 else len(raw) - len(raw.lstrip())) + 1
        error = TextError(f"line {n}, column {column}: {message}\n  {line}")
        error.line, error.column = n, column
        return error


_HEAD = re.compile(r"(?:([\w\[\]]+):\s*)?func\s*([^\s(]*)\((.*)\)\s*->\s*(.*?)\s*\{$")
_REGION = re.compile(r"(\w+)(\[\d+\])?:\s*func\b")
_TYPE = re.compile(rf"\b(?:{'|'.join(DTYPES)})\[[\d,]*\]")
_QUOTED = r'"(?:\\.|[^"\\])*"?'
SIZED_TYPE = re.compile(rf"{_QUOTED}|\b(?P<dtype>{'|'.join(DTYPES)})\[(?P<sizes>[^\[\]]*)\]")
_NAME = re.compile(r"%([\w.]+)")
_EQN = re.compile(r"(?:(%[^=]+)=\s*)?(\w+)\s*(.*)$")
_FUNCTION = re.compile(r"<(\S+)>")


def _parse_func(lines, name):
    head = _HEAD.match(line := lines.next())
    if not head:
        raise lines.error("expected `func name(%x: f64[3], ...) -> f64[] {`")
    build, env = Builder(name or head[2]), {}
    for part in _split(head[3], ","):
        key, _, type = part.partition(":")
        key = _bindable(key, env, lines, part)
        env[key] = build.param(_read_type(type, part, lines), _hint(key))
    while not (line := lines.next()).startswith("return"):
        _parse_eqn(line, lines, build, env)
    results = tuple(_parse_operand(t, env, None, lines) for t in _split(line[len("return") :], ","))
    told = ", ".join(repr(r.type) for r in results) or "nothing"
    if head[4].replace(" ", "") != told.replace(" ", ""):
        raise lines.error(f"the function gives {told}, and its first line says {head[4]}")
    if lines.next() != "}":
        raise lines.error("expected `}` after return")
    return build.finish(results)


def _bindable(name, env, lines, token=None):
    """A name that is bound here, without its `%`; token: with what is around it."""
    found = _NAME.fullmatch(name.strip())
    if not found:
        text = f"{name.strip() or 'nothing'} is no name: write % and letters, digits, _ and ."
        raise lines.error(text, token or name)
    if found[1] in env:
        raise lines.error(f"{name.strip()} is bound twice", token or name)
    return found[1]


def _read_type(text, token, lines):
    try:
        return parse_type(text)
    except WRONG as error:
        raise lines.error(str(error), token) from None


def _hint(name):
    return None if name.isdigit() else re.sub(r"\.\d+$", "", name)


def _parse_eqn(line, lines, build, env):
    """Equations whose text differs in names alone are read once."""
    if '"' in line:
        _read_eqn(line, lines, build, env)
        return
    line, _, told = line.partition(" : ")
    line = line.rstrip()
    names, spelled = _NAME.findall(line), _NAME.sub("%_", line)
    if spelled not in lines.known:
        op, attrs, count, tokens = _read_eqn(line, lines, build, env, told)
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
        out = build.append(op, tuple(values), attrs, None, [_hint(n) for n in names[:count]])
    _bind([f"%{n}" for n in names[:count]], out if op.multiple else (out,), told, env, lines)


def _read_eqn(line, lines, build, env, told=""):
    """-> (op, its attributes, how many results it names, its operands as written)"""
    at = lines.at
    body, *types = _split(line, " : ")
    match = _EQN.match(body)
    if not match or match[2] not in OPS:
        text = f"no op is named {match[2]!r}" if match else "expected `%z = op %x, %y key=value : type`"
        raise lines.error(text, match and match[2])
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
    names = [n for n in (match[1] or "").split(",") if n.strip()]
    try:
        with build:
            attrs = op.complete(attrs)
            out = build.append(op, operands, attrs, None, [_hint(n.strip()[1:]) for n in names])
    except WRONG as error:
        raise lines.error(str(error) or type(error).__name__, match[2], at) from None
    _bind(names, out if op.multiple else (out,), types[0] if types else told, env, lines, at)
    return op, attrs, len(names), tokens


def _bind(names, values, told, env, lines, at=None):
    """Bind the results of an equation; told: their types as written, if they are."""
    if len(names) != len(values):
        raise lines.error(f"it gives {len(values)} results, and {len(names)} are named", at=at)
    if told:
        types = ", ".join([v.type.text for v in values])
        if told.strip() != types and told.replace(" ", "") != types.replace(" ", ""):
            raise lines.error(f"its type is {types}, not {told.strip()}", told, at)
    for name, value in zip(names, values):
        env[_bindable(name, env, lines)] = value


def _parse_operand(token, env, context, lines):
    token = token.strip()
    if token.startswith("%"):
        if token[1:] not in env:
            raise lines.error(f"{token} is not bound here", token)
        return env[token[1:]]
    if (token, context) not in lines.numbers:
        value, _, type = token.partition(":")
        if not type and context is None:
            raise lines.error(f"the number {token} needs its type, such as {token}:f64[]", token)
        read, type = _parse_attr(value, lines), _read_type(type, token, lines) if type else context
        if not isinstance(read, bool | int | float | complex):
            raise lines.error(f"{token} is no operand: write a name, or a number", token)
        lines.numbers[token, context] = Lit(read, type)
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
            case ast.BinOp(op=op) if lines.sizes and type(op) in ARITHMETIC:
                return ARITHMETIC[type(op)](_number(read(node.left)), _number(read(node.right)))
            case ast.Call(func=ast.Name(id="sqrt"), args=[of]) if lines.sizes:
                return math.sqrt(_number(read(of)))
            case ast.Name(id=name) if name in lines.sizes:
                return lines.sizes[name]
            case ast.Name(id=name) if name in ("nan", "inf"):
                return float(name)
            case ast.Name(id=name) if name in ("nanj", "infj"):
                return complex(0, float(name[:-1]))
            case ast.Name(id=name) if name in DTYPES:
                return DTYPES[name]
            case ast.Call(func=ast.Name(id="dense")):
                return _dense(*(read(a) for a in node.args))
            case ast.Call(func=ast.Name(id="full"), args=[of, number]):
                t = read(of)
                return Constant(np.full(t.shape, read(number), t.dtype))
            case ast.Call(func=ast.Name(id="type")):
                return parse_type(read(node.args[0]))
        raise lines.error(f"cannot read the value {text}", text)

    if named := _FUNCTION.fullmatch(text):
        if named[1] not in lines.functions:
            raise lines.error(f"{text} is a function of Python's, which the text does not hold: name it to parse", text)
        return lines.functions[named[1]]
    if '"' not in text:
        text = _TYPE.sub(r'type("\g<0>")', text)
    try:
        return read(syntax.parse(text, mode="eval").body)
    except (SyntaxError, binascii.Error, zlib.error, *WRONG) as error:
        if isinstance(error, TextError):
            raise
        raise lines.error(f"cannot read the value {text}", text) from None


def _number(x):
    if isinstance(x, int | float):
        return x
    raise ValueError(f"{x!r} is no number")


def _dense(type, data):
    t = parse_type(type)
    if isinstance(data, str):
        size = t.size * t.dtype.itemsize
        return Constant(np.frombuffer(_inflated(base64.b85decode(data), size), t.dtype).reshape(t.shape))
    return Constant(np.array(data, t.dtype).reshape(t.shape))


def _inflated(data, size):
    """What was compressed, of which no more than its size is made."""
    stream = zlib.decompressobj()
    found = stream.decompress(data, size + 1)
    if len(found) != size or not stream.eof:
        raise ValueError("the numbers are more or fewer than the type says")
    return found


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
