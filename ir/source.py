"""Where an equation came from: the user's file and line, and the name the line gave its value.

Names are found when text is printed, never while tracing: the instruction's position in the
source (PEP 657) is looked up among the assignments of its file.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
from types import CodeType
from typing import Any, TypeAlias

from .syntax import parse

Position: TypeAlias = tuple[int | None, int | None, int | None, int | None]
PART = ".@"  # ends the qualified name of code that is a part of a function of the user's, moved into one of its own
COMPILED = " (compiled)"  # ends the name of generated code that has the place of the user's
KEPT = 256  # bound: code objects whose positions are kept
_positions: dict[int, tuple[CodeType, list[Position]]] = {}


class Source:
    """An instruction of the user's code, plus the transform that derived the equation from it (`vjp`, `jvp`).

    rules: the rules of the user's that made the equation in place of what stood there; callers: the qualified names of
    the user's functions around the one it stands in, the outermost first, as far as that is known; lanes: how many
    leading axes of its values number the lanes of a `vmap`; quiet: floating-point errors nobody is to hear of there.
    """

    __slots__ = ("code", "lasti", "mark", "rules", "callers", "lanes", "quiet")
    code: CodeType
    lasti: int
    mark: str
    rules: tuple[Any, ...]
    callers: tuple[str, ...]
    lanes: int
    quiet: tuple[str, ...]

    def __init__(
        self,
        code: CodeType,
        lasti: int,
        mark: str = "",
        rules: tuple[Any, ...] = (),
        callers: tuple[str, ...] = (),
        lanes: int = 0,
        quiet: tuple[str, ...] = (),
    ) -> None:
        self.code, self.lasti, self.mark, self.rules = code, lasti, mark, rules
        self.callers, self.lanes, self.quiet = callers, lanes, quiet

    def marked(self, mark: str) -> Source:
        """The same place, derived by a transform; the latest transform is the one shown."""
        return self._like(mark, (), 0)

    def by(self, rule: Any) -> Source:
        """The same place, of what a rule of the user's made."""
        return self._like(self.mark, (*self.rules, rule), self.lanes)

    def in_lanes(self) -> Source:
        """The same place, of values that have one more leading axis, of lanes."""
        return self._like(self.mark, self.rules, self.lanes + 1)

    def _like(self, mark: str, rules: tuple[Any, ...], lanes: int) -> Source:
        """The same place, of an equation that was derived otherwise."""
        return Source(self.code, self.lasti, mark, rules, self.callers, lanes, self.quiet)

    def position(self) -> Position:
        """(line, end line, column, end column), any of which may be None."""
        found, at = positions_of(self.code), self.lasti // 2
        return found[at] if 0 <= at < len(found) else (None,) * 4

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        """The qualified name of the function it stands in."""
        return self.code.co_qualname.replace(PART, "")

    @property
    def line(self) -> int:
        return self.position()[0] or self.code.co_firstlineno

    @property
    def target(self) -> str | None:
        """The variable this very expression was assigned to, or None."""
        if self.mark:
            return None
        return _targets(self.file).get(self.position())

    @property
    def text(self) -> str:
        """The line as the user wrote it, stripped."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return line_name(self.file, self.line, self.mark)


class KeptSource(Source):
    """The place of an equation that another process has traced: all but the code."""

    __slots__ = ("kept",)
    kept: tuple[str, str, Position]

    def __init__(
        self,
        kept: tuple[str, str, Position],
        mark: str = "",
        rules: tuple[Any, ...] = (),
        callers: tuple[str, ...] = (),
        lanes: int = 0,
    ) -> None:
        """kept: (file, qualified name of the function, position)."""
        self.kept, self.mark, self.rules, self.callers, self.lanes = kept, mark, rules, callers, lanes
        self.quiet = ()

    def _like(self, mark: str, rules: tuple[Any, ...], lanes: int) -> KeptSource:
        return KeptSource(self.kept, mark, rules, self.callers, lanes)

    def position(self) -> Position:
        return self.kept[2]

    @property
    def file(self) -> str:
        return self.kept[0]

    @property
    def function(self) -> str:
        return self.kept[1]

    @property
    def line(self) -> int:
        return self.position()[0] or 1


def line_name(file: str | None, line: int | None, mark: str = "") -> str:
    """A line in short: "solver.py:12", or where it is a derivative of it "solver.py:12 vjp"; "" where none is known."""
    return f"{os.path.basename(file)}:{line} {mark}".rstrip() if file and line else ""


def code_place(source: Any) -> tuple[str, str, int, str] | None:
    """(file, qualified name of the function, line, mark) of an equation's source; None where it has none."""
    return (source.file, source.function, source.line, source.mark) if isinstance(source, Source) else None


def encodable(text: str) -> str:
    """A text that UTF-8 can write: names of files may hold bytes that are none, which Python shows as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def positions_of(code: CodeType) -> list[Position]:
    """The positions of a code object's instructions, which Python works out from its first one each time."""
    known = _positions.get(id(code))
    if known is None or known[0] is not code:  # of two that are equal, the positions may differ
        if len(_positions) >= KEPT:
            _positions.clear()
        known = _positions[id(code)] = code, list(code.co_positions())
    return known[1]


@functools.lru_cache(256)
def _targets(file):
    """position of an assigned expression -> the name it is assigned to, for one file."""
    try:
        tree = parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[place_of_node(node.value)] = node.targets[0].id
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            for name, value in zip(node.targets[0].elts, node.value.elts, strict=False):
                if isinstance(name, ast.Name):
                    found[place_of_node(value)] = name.id
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value:
            found[place_of_node(node.value)] = node.target.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[place_of_node(node)] = node.target.id
    return found


def place_of_node(node):
    """The position of a node of a syntax tree, as those of instructions."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def hint_name(value):
    """The name a value would like in print: the user's variable, `d_z` for the cotangent of `z`, or None."""
    hint = value.hint
    if hint is None:
        eqn = value.eqn
        single = eqn is not None and len(eqn.results) == 1 and eqn.source is not None
        return eqn.source.target if single else None
    if isinstance(hint, tuple):  # (prefix, the value it is derived from)
        prefix, of = hint
        name = hint_name(of)
        return prefix + name if name else None
    return hint or None  # "" asks for no name at all
