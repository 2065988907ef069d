"""A program as a function of Python's that computes with NumPy: how it is called, and its lines in a place where its
arguments have other names.

It runs in a context of its own in which NumPy warns of nothing: entering that costs 20 ns, and `np.errstate` 600.
A context is entered once at a time; who finds it taken, on another thread, uses `np.errstate`.
"""

import ast
import builtins
import contextvars

import numpy as np

from ...ir import syntax
from ..guards.effects import store_all

MISS = object()  # instead of a result: the call is another's, or has failed


class NumPyCall:
    """`run(call, *leaves)` is the fast way, `again(*leaves)` one that any number of threads may take; where it is
    silent, `call` is."""

    recipes = {}  # of one written for any size: name of an array that is made once -> the text that makes it

    def __init__(self, call, silent=False, function=None, reads=(), stores=()):
        self.call, self.again, self.silent, self.function = call, np.errstate(all="ignore")(call), silent, function
        self.reads, self.stores = tuple(reads), tuple(stores)
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run

    def __call__(self, *leaves):
        out = self.computed(*[read.get() for read in self.reads], *leaves)
        if out is MISS or not self.stores:
            return out
        result, *stored = out
        store_all(self.stores, stored)
        return result

    def computed(self, *given):
        if self.silent:
            return self.call(*given)
        try:
            return self.run(self.call, *given)
        except RuntimeError:
            return self.again(*given)

    def inlined(self, suffix, given, space, behind=()):
        """The lines of one that is silent, for a place where `given` are its arguments; what they name is put into
        `space`. behind: lines that come where the function returns, if it stores: names of `stored_names` hold what it
        gives.

        None where a statement within another says MISS.
        """
        function, objects = syntax.copied(self.function), self.call.__globals__
        # behind come the inputs of other versions
        names = {a.arg: text for a, text in zip(function.args.args, given, strict=False)}
        for n in [n for part in function.body for n in syntax.nodes_of(part) if isinstance(n, ast.Name)]:
            if n.id != "MISS":
                name = names.setdefault(n.id, n.id + suffix if n.id in objects or not hasattr(builtins, n.id) else n.id)
                space |= {name: objects[n.id]} if n.id in objects else {}
                n.id = name
        if self.stores:
            end = function.body[-1]
            function.body[-1] = syntax.parse(f"{', '.join(stored_names(self.stores))} = 0").body[0]
            function.body[-1].value = end.value
        return unless_missed(function.body, behind)


def unless_missed(body, behind):
    """The lines of statements that say MISS where they go no further: those after it under the contrary of its test.
    None where one says it in another place."""
    lines, indent = [], ""
    for part in body:
        if says_miss(part):
            lines.append(f"{indent}if {ast.unparse(contrary(part.test))}:")
            indent += "    "
        elif any(isinstance(n, ast.Name) and n.id == "MISS" for n in syntax.nodes_of(part)):
            return None
        else:
            lines += [indent + line for line in ast.unparse(part).splitlines()]
    return [*lines, *(indent + line for line in behind)]


def contrary(test):
    """The test that holds where another does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        return ast.Compare(test.left, [ast.IsNot()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def stored_names(stores):
    """Names of a result and of what is stored beside it."""
    return ["out", *(f"w{n}" for n in range(len(stores)))]


def says_miss(part):
    """Whether a statement is `if ...: return MISS`."""
    end = part.body[0] if isinstance(part, ast.If) and len(part.body) == 1 and not part.orelse else None
    return isinstance(end, ast.Return) and isinstance(end.value, ast.Name) and end.value.id == "MISS"
