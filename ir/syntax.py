"""Syntax trees of Python source: made and compiled with no other thread in between, walked, copied and changed in a
third of the time that the module `ast` takes, which looks for every field that a kind of node may have.

CPython (3.11 to 3.13) counts the depth of a tree that it converts in one place for all threads, and raises SystemError
where two threads have converted at once. A conversion is left in the middle only for the garbage collector, where that
calls Python code, as jax has it do.
"""

import ast
import contextlib
import threading

from .collector import waiting
from .forks import hold_while_forking

PLACE = ("lineno", "end_lineno", "col_offset", "end_col_offset")  # fact: the attributes of nodes, by Python's manual

_converting = threading.Lock()
hold_while_forking(_converting)


def parse(text, mode="exec"):
    """As ast.parse."""
    with undisturbed():
        return ast.parse(text, mode=mode)


def compiled(tree, *args, **kwargs):
    """As compile, of a tree."""
    with undisturbed():
        return compile(tree, *args, **kwargs)


@contextlib.contextmanager
def undisturbed():
    """Within, no garbage is collected, and one thread at a time is there."""
    with _converting, waiting():
        yield


def children(node):
    """The nodes right below one, in order, but for the contexts of names and the operators."""
    found = []
    for value in vars(node).values():
        if type(value) is list:
            found += [n for n in value if isinstance(n, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def nodes_of(node):
    """The node and all below it, but for the contexts of names and the operators."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if type(node) is not ast.Name and type(node) is not ast.Constant:
            todo += children(node)


def copied(part):
    """A copy of a node, a list of nodes or another value of a field: what a tree is made of."""
    if type(part) is list:
        return list(map(copied, part))
    return copied_node(part, copied) if isinstance(part, ast.AST) else part


def copied_node(node, part):
    """A node of the same kind and place; what its fields hold is `part` of that. Contexts of names and operators
    stay."""
    if not node._fields and not node._attributes:
        return node
    made = type(node).__new__(type(node))
    fields = vars(made)
    fields.update(vars(node))
    for name, value in fields.items():
        if type(value) is list or isinstance(value, ast.AST):
            fields[name] = part(value)
    return made


def fill_places(node, below=True):
    """The node; what has no place gets that of the nearest node above it, and where there is none the first.

    below: look below nodes that have one, too.
    """
    todo = [(node, dict(zip(PLACE, (1, 1, 0, 0), strict=True)))]
    while todo:
        n, place = todo.pop()
        fields = vars(n)
        if "lineno" in fields:
            if n is not node and not below:
                continue
            place = {name: fields.get(name) for name in PLACE}
        elif n._attributes:
            fields.update(place)
        todo += [(part, place) for part in children(n)]
    return node


class Transformer:
    """As ast.NodeTransformer: `visit_Name` and so on give what stands for a node. None removes a statement."""

    _visitors = {}

    def __init_subclass__(cls):
        cls._visitors = {}

    def visit(self, node):
        kind = type(node)
        visitor = self._visitors.get(kind)
        if visitor is None:
            visitor = getattr(type(self), f"visit_{kind.__name__}", type(self).generic_visit)
            self._visitors[kind] = visitor
        return visitor(self, node)

    def generic_visit(self, node):
        fields = vars(node)
        for name, value in fields.items():
            if type(value) is list:
                made = []
                for n in value:
                    new = self.visit(n) if isinstance(n, ast.AST) else n
                    if type(new) is list:
                        made += new
                    elif new is not None or n is None:
                        made.append(new)
                value[:] = made
            elif isinstance(value, ast.AST) and value._fields:
                fields[name] = self.visit(value)
        return node
