"""Statements of a generated function put into one another: what is read once stands where it is read."""

import ast
from collections import Counter

from ...ir.syntax import Transformer, nodes_of

DEEP = 32  # bound: texts put into one another; Python's compiler goes down into them


def inline_single_reads(function, fixed=()):
    """The function without what it does not need; what is read once stands where it is read, so that NumPy can compute
    in place."""
    while True:
        reads, stores = name_counts(function)
        unread = _Unread(reads)
        function = unread.visit(function)
        if not unread.found:
            once = {name for name, n in reads.items() if n == stores[name] == 1 and name not in fixed}
            return _Nested(once).visit(function)


def name_counts(function):
    """How often each name is read, within a comprehension more than once, and how often stored."""
    reads, stores = Counter(), Counter()

    def names(node):
        """The names in a node, counted."""
        kind = type(node)
        if kind is ast.Name:
            (reads if type(node.ctx) is ast.Load else stores)[node.id] += 1
            return [node]
        if kind is ast.arg:
            stores[node.arg] += 2  # parameters stay
        found = []
        for field in node._fields:
            value = getattr(node, field)
            for part in value if type(value) is list else (value,):
                if isinstance(part, ast.AST):
                    inside = names(part)
                    found += inside
                    if field == "elt" or kind in (ast.comprehension, ast.Lambda):
                        often(inside)
        if kind is ast.For:  # what is computed before a loop stays there
            stored = {n.id for n in found if type(n.ctx) is ast.Store}
            often([n for n in found if n.id not in stored])
        return found

    def often(found):
        for n in found:
            reads[n.id] += 2

    names(function)
    return reads, stores


class _Unread(Transformer):
    def __init__(self, reads):
        self.reads, self.found = reads, False

    def visit_Assign(self, node):
        names = {n.id for target in node.targets for n in nodes_of(target) if isinstance(n, ast.Name)}
        if any(self.reads[name] for name in names):
            return node
        self.found = True
        return None

    def visit_If(self, node):
        self.generic_visit(node)
        node.body = node.body or [ast.copy_location(ast.Pass(), node)]
        return node


class _Nested(Transformer):
    """Statements are visited in order, so a name's text is known where it is read."""

    def __init__(self, once):
        self.once, self.texts = once, {}
        self.depths, self.deepest = {}, 0  # how many texts are in one another: of each, and in what is visited

    def visit_Assign(self, node):
        self.deepest = 0
        node.value = self.visit(node.value)
        (target,) = node.targets = [self.visit(target) for target in node.targets]
        if isinstance(target, ast.Name) and target.id in self.once and self.deepest < DEEP:
            self.texts[target.id], self.depths[target.id] = node.value, self.deepest + 1
            return None
        return node

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load) or node.id not in self.texts:
            return node
        self.deepest = max(self.deepest, self.depths[node.id])
        return self.texts[node.id]

    visit_If = _Unread.visit_If
