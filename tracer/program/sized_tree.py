"""Syntax trees that are alike but for numbers, as one tree in which these are expressions of sizes.

`common_tree` makes it of trees made at several samples: an int or a float that differs becomes a `Constant` whose value
is a `Dim` or a `SizedNumber` (`ir/forms.py`). `code_filled` writes it out as code, `matches` compares it with a tree
made at a further sample.
"""

import ast
import contextlib

import numpy as np

from ...ir.dims import Dim
from ...ir.forms import SizedNumber
from ...ir.sample import Unalike
from ...ir.syntax import copied_node, nodes_of, parse

PLACE = ("lineno", "end_lineno", "col_offset", "end_col_offset")
CODE = {  # of the forms of numbers, in Python: the factors are powers of two
    "{f}{d}": "{f!r} * {d}",
    "{k}/{d}": "{f!r} / {d}",
    "{f}sqrt({d})": "{f!r} * math.sqrt({d})",
    "{k}/sqrt({d})": "{f!r} / math.sqrt({d})",
    "{k}/{d}*(1.0/{d})": "{f!r} / {d} * (1.0 / {d})",
}


def code_of(x):
    """A Dim or a SizedNumber as an expression, of Python's numbers."""
    if isinstance(x, Dim):
        return str(x)
    text = CODE[x.form.text].format(f=float(x.factor), d=f"({x.of})")
    return text if x.dtype == np.float64 else f"np.{x.dtype.name}({text}).item()"


def sized_constant(values, forms):
    """What constants of trees are at the samples: one of them, a Dim or a SizedNumber."""
    first = values[0]
    if all(type(v) is type(first) for v in values):
        if all(repr(v) == repr(first) for v in values):
            return first
        if type(first) is int:
            return forms.size(tuple(values))
        if type(first) is float:
            return sized_float(values, forms)
    raise Unalike


def sized_float(values, forms):
    """The SizedNumber that floats are, of 64 bits or of fewer, if they are of fewer."""
    for dtype in np.float64, np.float32:
        given = tuple(map(dtype, values))
        if all(float(x) == v for x, v in zip(given, values)):
            with contextlib.suppress(Unalike):
                found = forms.number(given)
                if isinstance(found, SizedNumber) and found.form.text in CODE:
                    return found
    raise Unalike


def sign_folded(node):
    """A copy of a tree in which negative numbers are constants."""
    if type(node) is list:
        return list(map(sign_folded, node))
    if not isinstance(node, ast.AST):
        return node
    made = copied_node(node, sign_folded)
    if type(made) is ast.UnaryOp and type(made.op) is ast.USub and type(made.operand) is ast.Constant:
        x = made.operand.value
        if type(x) in (int, float):
            return ast.copy_location(ast.Constant(-x), node)
    return made


def common_tree(trees, forms):
    """The one tree of several `sign_folded` ones; Unalike where there is none. It is made of the nodes of the first.

    forms: the `ir.forms.Forms` of the samples.
    """
    first = trees[0]
    if isinstance(first, ast.AST):
        if any(type(t) is not type(first) for t in trees):
            other = part_text(other_than(first, trees))
            raise Unalike(f"its NumPy has {part_text(first)} at one size and {other} at another")
        if type(first) is ast.Constant:
            values = [t.value for t in trees]
            try:
                first.value = sized_constant(values, forms)
            except Unalike:
                raise Unalike(f"a number is {forms.told(values)}") from None
            return first
        for field in first._fields:
            setattr(first, field, common_tree([getattr(t, field) for t in trees], forms))
        return first
    if isinstance(first, list):
        if any(len(t) != len(first) for t in trees):
            raise Unalike(
                f"its NumPy has {len(first)} parts at one size where it has {len(other_than(first, trees))} at another"
            )
        return [common_tree(list(parts), forms) for parts in zip(*trees)]
    if any(t != first for t in trees):
        other = next(t for t in trees if t != first)
        raise Unalike(f"its NumPy has {part_text(first)} at one size and {part_text(other)} at another")
    return first


def other_than(first, trees):
    """The one of several that is unlike the first."""
    kind = type(first)
    return next((t for t in trees if type(t) is not kind or kind is list and len(t) != len(first)), first)


def part_text(node):
    return "nothing" if node is None else f"`{tree_text(node)}`"


def tree_text(node):
    if not isinstance(node, ast.AST):  # of a part that may be left out, or a name
        return str(node)
    try:
        return ast.unparse(node)
    except (AttributeError, ValueError, TypeError):
        return type(node).__name__


def matches(template, tree, sizes):
    """Whether a `sign_folded` tree is what a template of `common_tree` stands for at these sizes."""
    if isinstance(template, ast.Constant):
        if type(tree) is not ast.Constant:
            return False
        value = template.value
        value = number_at(value, sizes)
        return type(value) is type(tree.value) and repr(value) == repr(tree.value)
    if isinstance(template, ast.AST):
        return type(template) is type(tree) and all(
            matches(getattr(template, f), getattr(tree, f), sizes) for f in template._fields
        )
    if isinstance(template, list):
        return len(template) == len(tree) and all(matches(a, b, sizes) for a, b in zip(template, tree))
    return template == tree


def number_at(value, sizes):
    """A constant of a template at some sizes."""
    if isinstance(value, SizedNumber):
        return float(value.at(sizes))
    return value.at(sizes) if isinstance(value, Dim) else value


def is_sized(template):
    """Whether any size is in a template."""
    return any(type(n) is ast.Constant and isinstance(n.value, Dim | SizedNumber) for n in nodes_of(template))


def code_filled(node, names, objects=()):
    """A template as code. names: of the size -> the variable that holds it; objects: name -> the template that stands
    for it where it is read."""
    if type(node) is list:
        return [code_filled(x, names, objects) for x in node]
    if type(node) is ast.Constant:
        x = node.value
        if isinstance(x, Dim | SizedNumber):
            return placed_as(sizes_renamed(code_of(x), names), node)
        if type(x) in (int, float) and repr(x).startswith("-"):
            return placed_as(ast.UnaryOp(ast.USub(), ast.Constant(-x)), node)
    if type(node) is ast.Name and node.id in objects and type(node.ctx) is ast.Load:
        return placed_as(code_filled(objects[node.id], names, objects), node)
    return copied_node(node, lambda x: code_filled(x, names, objects))


def sizes_renamed(text, names):
    """The tree of an expression of sizes, under the names of variables."""
    tree = parse(text, mode="eval").body
    for n in nodes_of(tree):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return tree


def placed_as(tree, node):
    """A tree, all of it where a node is in the source."""
    place = {k: v for k, v in vars(node).items() if k in PLACE}
    for n in nodes_of(tree):
        if n._attributes:
            for k in PLACE:
                vars(n).pop(k, None)
            vars(n).update(place)
    return tree
