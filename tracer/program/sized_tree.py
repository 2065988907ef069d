"""Syntax trees that are alike but for numbers, as one tree in which these are expressions of sizes.

`alike` makes it of trees made at several samples: an int or a float that differs becomes a `Constant` whose value is a
`Dim` or a `SizedNumber`. `filled` writes it out as code, `matches` compares it with a tree made at a further sample.
"""

import ast
import itertools
import math

import numpy as np

from ...ir.dims import Dim, fit

SCALES = (1, 2, 4, 8, 16, -1, -2, -4)  # bound: numbers that sizes are divided by, and that are divided by sizes
PLACE = ("lineno", "end_lineno", "col_offset", "end_col_offset")
LARGEST_DIM = 1 << 40  # bound: sizes that a float is looked through for


class Unalike(Exception):
    """What was made at several samples differs in more than sizes."""


class SizedNumber:
    """A float that is a quotient with a size or a root of one in it: correctly rounded, as the same computation gives
    it; narrow: to 32 bits."""

    FORMS = {
        "part": ("{d} / {c}", lambda d, c: d / c),
        "over": ("{c} / {d}", lambda d, c: c / d),
        "root": ("math.sqrt({d})", lambda d, c: math.sqrt(d)),
        "over root": ("{c} / math.sqrt({d})", lambda d, c: c / math.sqrt(d)),
    }
    # the size that a number would be of
    SIZES = {
        "part": lambda x, c: x * c,
        "over": lambda x, c: c / x,
        "root": lambda x, c: x * x,
        "over root": lambda x, c: (c / x) ** 2,
    }

    def __init__(self, kind, dim, scale, narrow=False):
        self.kind, self.dim, self.scale, self.narrow = kind, dim, scale, narrow

    def at(self, sizes):
        found = self.FORMS[self.kind][1](self.dim.at(sizes), self.scale)
        return narrowed(found) if self.narrow else found

    def __str__(self):
        text = self.FORMS[self.kind][0].format(d=f"({self.dim})", c=self.scale)
        return f"np.float32({text}).item()" if self.narrow else text


def narrowed(x):
    """A float rounded to 32 bits."""
    return np.float32(x).item()


def sized_float(values, samples):
    """The SizedNumber that floats are at the samples, to the last bit; Unalike where none of those looked for is."""
    if all(math.isfinite(v) and v for v in values):
        for narrow in [False, True] if all(narrowed(v) == v for v in values) else [False]:
            for kind, scale in itertools.product(SizedNumber.FORMS, SCALES):
                dims = [round_size(SizedNumber.SIZES[kind](v, scale), kind) for v in values]
                if None in dims:
                    continue
                compute, rounded = SizedNumber.FORMS[kind][1], narrowed if narrow else float
                if any(rounded(compute(d, scale)) != v for d, v in zip(dims, values)):
                    continue
                dim = fit(dims, samples)
                if isinstance(dim, Dim):
                    return SizedNumber(kind, dim, scale, narrow)
    raise Unalike(f"the number {values[0]!r} of one size is {other_number(values)!r} of another")


def round_size(x, kind):
    """The size that is meant by a float; None where it is none."""
    n = round(x) if abs(x) < LARGEST_DIM else 0
    return n if n > 0 or n and "root" not in kind else None


def other_number(values):
    return next(v for v in values if repr(v) != repr(values[0]))


def sized_constant(values, samples):
    """What constants of trees are at the samples: one of them, a Dim or a SizedNumber."""
    first = values[0]
    if all(type(v) is type(first) for v in values):
        if all(repr(v) == repr(first) for v in values):
            return first
        if type(first) is int:
            dim = fit(values, samples)
            if dim is not None:
                return dim
        if type(first) is float:
            return sized_float(values, samples)
    raise Unalike(f"{first!r} of one size is {other_number(values)!r} of another")


def signed(node):
    """A copy of a tree in which negative numbers are constants."""
    if type(node) is list:
        return list(map(signed, node))
    if not isinstance(node, ast.AST):
        return node
    made = copied_node(node)
    if type(made) is ast.UnaryOp and type(made.op) is ast.USub and type(made.operand) is ast.Constant:
        x = made.operand.value
        if type(x) in (int, float):
            return ast.copy_location(ast.Constant(-x), node)
    return made


def copied_node(node, copied=None):
    """A node whose children are `copied`."""
    if not node._fields:
        return node
    made = type(node).__new__(type(node))  # copy.deepcopy takes ten times as long
    vars(made).update(vars(node))
    for field in node._fields:
        value = getattr(node, field)
        if isinstance(value, list | ast.AST):
            setattr(made, field, (copied or signed)(value))
    return made


def alike(trees, samples):
    """The one tree of several `signed` ones; Unalike where there is none. It is made of the nodes of the first."""
    first = trees[0]
    if isinstance(first, ast.AST):
        if any(type(t) is not type(first) for t in trees):
            raise Unalike(f"`{text_of(first)}` of one size is `{text_of(other_than(first, trees))}` of another")
        if type(first) is ast.Constant:
            first.value = sized_constant([t.value for t in trees], samples)
            return first
        for field in first._fields:
            setattr(first, field, alike([getattr(t, field) for t in trees], samples))
        return first
    if isinstance(first, list):
        if any(len(t) != len(first) for t in trees):
            raise Unalike(f"there are {len(first)} parts of one size and {len(other_than(first, trees))} of another")
        return [alike(list(parts), samples) for parts in zip(*trees)]
    if any(t != first for t in trees):
        raise Unalike(f"{first!r} of one size is {next(t for t in trees if t != first)!r} of another")
    return first


def other_than(first, trees):
    """The one of several that is unlike the first."""
    kind = type(first)
    return next((t for t in trees if type(t) is not kind or kind is list and len(t) != len(first)), first)


def text_of(node):
    try:
        return ast.unparse(node)
    except (AttributeError, ValueError, TypeError):
        return type(node).__name__


def matches(template, tree, sizes):
    """Whether a `signed` tree is what a template of `alike` stands for at these sizes."""
    if isinstance(template, ast.Constant):
        if type(tree) is not ast.Constant:
            return False
        value = template.value
        value = value.at(sizes) if isinstance(value, Dim | SizedNumber) else value
        return type(value) is type(tree.value) and repr(value) == repr(tree.value)
    if isinstance(template, ast.AST):
        return type(template) is type(tree) and all(
            matches(getattr(template, f), getattr(tree, f), sizes) for f in template._fields
        )
    if isinstance(template, list):
        return len(template) == len(tree) and all(matches(a, b, sizes) for a, b in zip(template, tree))
    return template == tree


def is_sized(template):
    """Whether any size is in a template."""
    return any(type(n) is ast.Constant and isinstance(n.value, Dim | SizedNumber) for n in ast.walk(template))


def filled(node, names, objects=()):
    """A template as code. names: of the size -> the variable that holds it; objects: name -> the template that stands
    for it where it is read."""
    if type(node) is list:
        return [filled(x, names, objects) for x in node]
    if type(node) is ast.Constant:
        x = node.value
        if isinstance(x, Dim | SizedNumber):
            return placed_as(sizes_renamed(str(x), names), node)
        if type(x) in (int, float) and repr(x).startswith("-"):
            return placed_as(ast.UnaryOp(ast.USub(), ast.Constant(-x)), node)
    if type(node) is ast.Name and node.id in objects and type(node.ctx) is ast.Load:
        return placed_as(filled(objects[node.id], names, objects), node)
    return copied_node(node, lambda x: filled(x, names, objects))


def sizes_renamed(text, names):
    """The tree of an expression of sizes, under the names of variables."""
    tree = ast.parse(text, mode="eval").body
    for n in ast.walk(tree):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return tree


def placed_as(tree, node):
    """A tree, all of it where a node is in the source."""
    place = {k: v for k, v in vars(node).items() if k in PLACE}
    for n in ast.walk(tree):
        if n._attributes:
            for k in PLACE:
                vars(n).pop(k, None)
            vars(n).update(place)
    return tree
