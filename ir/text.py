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

import base64
import inspect
import re
import zlib
from typing import Any

import numpy as np

from .core import Atom, Constant, Eqn, Func, Value
from .forms import SIZED
from .reading import parse
from .source import hint_name
from .types import SHORT, Tensor

__all__ = ["attributes_text", "labelled_regions", "number_text", "parse", "show"]

WIDEST = 96  # columns before the type column gives up aligning
LISTED = 16  # constants up to this size are printed number by number


class Concrete:
    """What is printed of a function: its values and attributes as they are. `generic.Generic` prints expressions of
    sizes in their place."""

    def type(self, x: Atom) -> Any:
        return x.type

    def attr(self, eqn: Eqn, name: str) -> Any:
        return eqn.attrs[name]

    def operand(self, eqn: Eqn, k: int) -> Any:
        return eqn.operands[k]

    def result(self, func: Func, k: int) -> Any:
        return func.results[k]


CONCRETE = Concrete()


def show(func: Func, sources: bool = True, view: Any = CONCRETE) -> str:
    """The text of `func`; `sources=False` leaves the source column out. view: what is printed in the place of its
    types, numbers and attributes."""
    return "\n".join(_func_lines(func, f"func {func.name}", sources, view))


def _func_lines(func, head, sources, view):
    names = _Names()
    params = ", ".join(f"%{names.bind(p)}: {view.type(p)}" for p in func.params)
    results = [view.result(func, k) for k in range(len(func.results))]
    lines = [f"{head}({params}) -> {', '.join(str(view.type(r)) for r in results) or 'nothing'} {{"]
    rows = []
    for eqn in func.eqns:
        nested = []
        for label, f in labelled_regions(eqn):
            nested += _func_lines(f, f"{label}: func", sources, view)
        types = ", ".join(str(view.type(r)) for r in eqn.results)
        rows.append((_equation(eqn, names, view), types, str(eqn.source) if eqn.source and sources else "", nested))
    wide = max([len(t) for t, *_ in rows if len(t) <= WIDEST], default=0)
    types_wide = max([len(t) for _, t, *_ in rows if len(t) <= 24], default=0)
    for text, types, source, nested in rows:
        line = f"  {text:<{wide}} : {types:<{types_wide}}" if types else f"  {text:<{wide}}"
        lines.append((line + (f"  # {source}" if source else "")).rstrip())
        lines += ["    " + line for line in nested]
    told = ", ".join(_operand(r, names, None) for r in results)
    return [*lines, f"  return {told}".rstrip(), "}"]


def _equation(eqn, names, view):
    """An equation without its types and regions."""
    context = next((view.type(x) for x in reversed(eqn.operands) if isinstance(x, Value)), None)
    operands = ", ".join(_operand(view.operand(eqn, k), names, context) for k in range(len(eqn.operands)))
    attrs = attributes_text(eqn, view)
    left = ", ".join(f"%{names.bind(r)}" for r in eqn.results)
    if left:
        return f"{left} = {eqn.op.name}{' ' + operands if operands else ''}{attrs}"
    return f"{eqn.op.name} {operands}{attrs}"


class _Names:
    """Hands out one printed name per value."""

    def __init__(self):
        self.of, self.taken, self.count = {}, set(), 0

    def bind(self, value):
        wish = hint_name(value)
        if wish is not None and not wish.isidentifier():
            wish = re.sub(r"\W+", "_", wish).strip("_") or None
        if wish is None or wish.isdigit():
            name = str(self.count)
            self.count += 1
        else:
            name, n = wish, 1
            while name in self.taken:
                name, n = f"{wish}.{n}", n + 1
        self.taken.add(name)
        self.of[value] = name
        return name


def _operand(x, names, context):
    if isinstance(x, Value):
        return f"%{names.of.get(x, '?unbound')}"
    return number_text(x.value) + ("" if x.type is context else f":{x.type}")


def number_text(v):
    return repr(v if isinstance(v, SIZED) else v.item()).replace(" ", "")


def _is_default(op, name, v):
    """Attributes at their default are left out; parsing fills them in."""
    default = op.attrs.get(name, inspect.Parameter.empty)
    return type(v) is type(default) and v == default


def _is_region(v):
    return isinstance(v, Func) or (isinstance(v, tuple) and len(v) > 0 and all(isinstance(f, Func) for f in v))


def attributes_text(eqn, view=CONCRETE):
    """The attributes of an equation as they are printed behind its operands: those that are no regions, and not at
    their default."""
    shown = {k: view.attr(eqn, k) for k in eqn.attrs}
    shown = {k: v for k, v in shown.items() if not (_is_region(v) or _is_default(eqn.op, k, v))}
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
    if v is None or isinstance(v, bool | int | float | complex | Tensor | SIZED):
        return repr(v).replace(" ", "")
    return f"<{getattr(v, '__name__', type(v).__name__)}>".replace(" ", "_")


Func.__str__ = show  # type: ignore[method-assign, assignment]  # print(func) is its text
