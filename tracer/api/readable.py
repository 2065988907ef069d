"""`wengert.source`: a captured function, or a derivative, as a Python function that imports NumPy and nothing else."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.numpy import Pieces, identifier
from ...ir.core import Value
from ...ir.pipeline import run as optimise
from ..capture.handover import ARRAY, FREEZE, SCALAR, Located
from ..common import pytree
from ..common.errors import UnsupportedError, message, shown
from ..guards.guard import Read
from ..rules import rules
from ..values.speculate import Assumption
from ..values.status import BITS
from .jit import jit

PLAIN = (int, float, complex, bool, str, bytes, type(None))
WIDE = {float: "float64", complex: "complex128", int: "int64"}  # what a Python number of a program is
OTHER_WAY = "the data take another way than those this source was made of"


def source(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """`function` for arguments like these, as the text of a standalone Python function of the same name.

    function: any that `jit` takes, compiled or not; a derivative of it (`grad(f)`, `jvp(f)`, ...) is one too.
    args, kwargs: arguments as in a call. Arrays, NumPy scalars and floats stand for all of their shape and dtype, the
              rest for itself.

    The text is the optimised program in NumPy, one statement an equation, with the user's lines as comments. What it
    defines takes the same arguments, returns what the compiled function returns, changes the same arrays, and raises
    what it raises. Arrays and numbers that `function` reads outside are keywords of it.

    Raises UnsupportedError for what no text stands for: random draws, prints, other calls of Python, objects, stores
    outside.

    >>> import numpy as np
    >>> import wengert
    >>> def f(x):
    ...     return np.sin(x) * x
    >>> print(wengert.source(f, 1.0))  # doctest: +ELLIPSIS
    import numpy as np
    <BLANKLINE>
    @np.errstate(all="ignore")
    def f(x):
        x = np.float64(x)
        v1 = np.sin(x)  # ...
        v2 = v1 * x  # ...
        return float(v2)
    <BLANKLINE>
    """
    made: Any = jit
    callee = getattr(function, "callee", None) or made(function).callee
    compiled = callee.compiled
    captured, names, kinds = callee(compiled.captured, args, kwargs, objects=True)
    return Standalone(compiled, captured, names, kinds, args, kwargs).text()


class Standalone:
    """The parts of one such function."""

    def __init__(self, compiled, captured, names, kinds, args, kwargs):
        self.name, self.captured, self.names, self.kinds = identifier(compiled.name), captured, names, kinds
        self.args, self.kwargs = args, kwargs
        applying = rules.applying(exact=compiled.exact)
        self.func = optimise(captured.func, exact=compiled.exact, rules=applying, known=captured.bounded)
        self.pieces = Pieces(self.func, ["CHECKS", self.name])
        self._check()

    def _check(self):
        captured = self.captured
        if self.pieces.objects:
            self._refuse(
                "calls Python while it runs (a print, a draw, a callback)",
                "Take that out of the function, and pass what it gives.",
            )
        if any(not isinstance(x, np.ndarray | Read) for x in captured.inputs):
            self._refuse("draws random numbers", "Draw them before, and pass them.")
        if captured.stores:
            self._refuse(f"stores to {captured.stores[0].name}, outside", "Return it.")
        if captured.given is not None:
            self._refuse("changes or returns a list or dict of its arguments", "Return a new one.")

    def _refuse(self, what, hint):
        raise UnsupportedError(message(f"{self.name} {what}, which has no text in NumPy", None, hint))

    # -- parameters --------------------------------------------------------------------------------
    def parameters(self):
        """-> (the text between the parentheses, statements that unpack and look at the arguments)."""
        taken, lines = iter(self.pieces.params), []
        leaves = iter(zip(self.names, self.kinds, pytree.leaves((self.args, self.kwargs)), strict=True))

        def argument(x):
            parts = [next(leaves) for _ in pytree.leaves(x)]
            if len(parts) == 1 and pytree.is_leaf(pytree.structure(x)):
                name, kind, leaf = parts[0]
                text = self.pieces.fresh(identifier(name)) if kind is None else next(taken)
                lines.extend(self.looked_at(text, text, kind, leaf))
                return text
            head = (
                self.pieces.fresh(identifier(parts[0][0].partition("[")[0].partition(".")[0]))
                if parts
                else self.pieces.fresh("empty")
            )
            for name, kind, leaf in parts:
                place = head + name[min([n for n in (name.find("["), name.find(".")) if n >= 0], default=len(name)) :]
                lines.extend(self.looked_at(place if kind is None else next(taken), place, kind, leaf))
            return head

        positional = [argument(x) for x in self.args]
        keywords = [argument(self.kwargs[k]) for k in sorted(self.kwargs)]
        outside = list(taken)
        for name, param in zip(outside, self.func.params[-len(outside) :] if outside else (), strict=True):
            lines.extend(type_assertion(name, param.type))
        rest = [*keywords, *outside]
        return ", ".join([*positional, *(["*"] if rest else []), *rest]), lines

    def looked_at(self, name, place, kind, leaf):
        """Statements that give an argument its name, and see that it is what the program was made for."""
        if kind is None:
            if not isinstance(leaf, PLAIN):
                self._refuse(f"takes a {type(leaf).__name__}", "Give it arrays, numbers and text.")
            return [f"assert {place} {'is' if leaf is None or isinstance(leaf, bool) else '=='} {leaf!r}"]
        given = [] if name == place else [f"{name} = {place}"]
        return (
            [*given, *type_assertion(name, kind.type)]
            if kind.kind is ARRAY
            else [f"{name} = np.{kind.type.dtype.name}({place})"]
        )

    # -- results -----------------------------------------------------------------------------------
    def leaf(self, out):
        """The text of one leaf of the result."""
        if out.how == "chosen":
            texts, which = [self.leaf(part) for part in out.object], self.values[out.index]
            return ExpressionText(
                "(" + "".join(f"{t} if {which} == {n} else " for n, t in enumerate(texts[:-1])) + f"{texts[-1]})"
            )
        if out.how == "unsure" or FREEZE in out.chain:
            said = (
                "one of several arrays, as data decided in a loop"
                if out.how == "unsure"
                else "an array that may not be written"
            )
            self._refuse(f"returns {said}", "Return a copy: x.copy().")
        starts = [self.values[i] for i in range(self.captured.values)]
        step_of = lambda x, step: step.text(x, starts) if type(step) is Located else step.text(x)
        if out.how == "argument":
            return ExpressionText(functools.reduce(step_of, out.chain, self.pieces.params[out.index]))
        if out.how == "value":
            text = functools.reduce(step_of, out.chain, self.values[out.index])
            return ExpressionText(
                text if out.kind is ARRAY else f"{text}[()]" if out.kind is SCALAR else f"{out.kind.__name__}({text})"
            )
        if out.how == "copy":
            return ExpressionText(f"np.array({out.object.tolist()!r}, np.{out.object.dtype.name})")
        if out.how == "object" and isinstance(out.object, PLAIN):
            return out.object
        return self._refuse(
            f"returns {shown(out.object)}", "Return arrays, numbers, and lists, tuples and dicts of them."
        )

    def own(self):
        """-> (statements that give what is returned and stored memory of its own, before any store; the texts of all
        results)."""
        captured, lines, texts = self.captured, [], list(self.pieces.results)
        leaves = [part for o in captured.outs for part in (o.object if o.how == "chosen" else (o,))]
        arrays = {o.index for o in leaves if o.how == "value" and o.kind is ARRAY}
        several = len(captured.writes) > 1
        for i, value in enumerate(self.func.results[: captured.values + len(captured.writes)]):
            needed = i in arrays or bool(captured.writes) if i < captured.values else several
            if needed and (not fresh(value) or value in self.func.results[:i]):
                texts[i] = self.pieces.fresh("result" if i < captured.values else "new")
                lines.append(f"{texts[i]} = np.array({self.pieces.results[i]})")
        return lines, texts

    def checks(self):
        """-> (the table of errors, the statements that raise one)."""
        checks = self.captured.checks
        if not checks:
            return [], []
        table = ["CHECKS = [", *(f"    lambda n: {raising(c)}," for c in checks), "]", ""]
        status = self.pieces.results[-1]
        return table, [f"if {status}:", f"    raise CHECKS[({status} & {(1 << BITS) - 1}) - 1]({status} >> {BITS})"]

    def text(self):
        """The whole file."""
        parameters, lines = self.parameters()
        table, raises = self.checks()
        own, self.values = self.own()
        changed = self.values[self.captured.values : self.captured.values + len(self.captured.writes)]
        stores = [f"{self.pieces.params[i]}[...] = {new}" for i, new in zip(self.captured.writes, changed, strict=True)]
        result = self.captured.rebuild([self.leaf(o) for o in self.captured.outs])
        body = [*lines, *self.pieces.lines, *raises, *own, *stores, f"return {self.spelled(result)}"]
        return self.pieces.file(
            [*table, '@np.errstate(all="ignore")', f"def {self.name}({parameters}):", *("    " + line for line in body)]
        )

    def spelled(self, x):
        """The expression that makes a result."""
        if type(x) is ExpressionText or isinstance(x, PLAIN):
            return repr(x)
        if type(x) in (list, tuple):
            inside = ", ".join(map(self.spelled, x)) + ("," if type(x) is tuple and len(x) == 1 else "")
            return f"[{inside}]" if type(x) is list else f"({inside})"
        if type(x) is dict:
            return "{" + ", ".join(f"{k!r}: {self.spelled(v)}" for k, v in x.items()) + "}"
        return self._refuse(f"returns a {type(x).__name__}", "Return lists, tuples and dicts.")


def fresh(value):
    """Whether a result is a new array, nobody else's memory."""
    return (
        isinstance(value, Value)
        and value.eqn is not None
        and "elementwise" in value.eqn.op.traits
        and bool(value.type.shape)
    )


class ExpressionText(str):
    """An expression; its repr is the expression itself."""

    __repr__ = str.__str__


def type_assertion(name, type):
    """The statement that sees to an array's shape and dtype."""
    return [f"assert {name}.shape == {type.shape} and {name}.dtype == np.{type.dtype.name}"]


def raising(check):
    """The expression that makes the error of a failed check, of which n is the number it quotes."""
    if check.error is Assumption:
        return f"RuntimeError({OTHER_WAY!r})"
    if issubclass(check.error, UnsupportedError):
        return f"RuntimeError({check.text!r})"
    error = next(c for c in check.error.__mro__ if c.__module__ == "builtins" or c is np.linalg.LinAlgError)
    name = error.__name__ if hasattr(builtins, error.__name__) else "np.linalg.LinAlgError"
    if check.args is not None:
        return f"{name}({', '.join(map(repr, check.args))})"
    if not check.quotes:
        return f"{name}({check.text!r})"
    before, after = check.text.split("{}", 1)
    return f"{name}({before!r} + str(n) + {after!r})"
