"""Syntax trees that are alike but for numbers, as one tree in which these are expressions of sizes.

`alike` makes it of trees made at several samples: an int or a float that differs becomes a `Constant` whose value is a
`Dim` or a `SizedNumber`. `filled` writes it out as code, `matches` compares it with a tree made at a further sample.
"""

import ast
import copy
import math

from ...ir.dims import Dim, fit

SCALES = (1, 2, 4, 8, 16)  # bound: numbers that sizes are divided by, and that are divided by sizes
LARGEST_DIM = 1 << 40  # bound: sizes that a float is looked through for


class Unalike(Exception):
    """What was made at several samples differs in more than sizes."""


class SizedNumber:
    """A float that is a quotient with a size or a root of one in it: correctly rounded, as the same computation gives
    it."""

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

    def __init__(self, kind, dim, scale):
        self.kind, self.dim, self.scale = kind, dim, scale

    def at(self, sizes):
        return self.FORMS[self.kind][1](self.dim.at(sizes), self.scale)

    def __str__(self):
        return self.FORMS[self.kind][0].format(d=f"({self.dim})", c=self.scale)


def sized_float(values, samples):
    """The SizedNumber that floats are at the samples, to the last bit; Unalike where none of those looked for is."""
    if all(math.isfinite(v) and v for v in values):
        for kind, (_, compute) in SizedNumber.FORMS.items():
            for scale in [c * sign for c in SCALES for sign in (1, -1)]:
                found = [SizedNumber.SIZES[kind](v, scale) for v in values]
                if not all(0 < abs(d) < LARGEST_DIM for d in found):
                    continue
                dims = list(map(round, found))
                if all(d and (d > 0 or "root" not in kind) and compute(d, scale) == v for d, v in zip(dims, values)):
                    dim = fit(dims, samples)
                    if isinstance(dim, Dim):
                        return SizedNumber(kind, dim, scale)
    raise Unalike(f"the number {values[0]!r} of one size is {values[1]!r} of another")


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
    raise Unalike(f"{first!r} of one size is {next(v for v in values if repr(v) != repr(first))!r} of another")


def signed(tree):
    """A tree in which negative numbers are constants."""
    return _Signed().visit(copy.deepcopy(tree))


class _Signed(ast.NodeTransformer):
    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        x = node.operand
        if type(node.op) is ast.USub and type(x) is ast.Constant and type(x.value) in (int, float):
            return ast.copy_location(ast.Constant(-x.value), node)
        return node


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


def filled(template, names, objects=()):
    """A template as code. names: of the size -> the variable that holds it; objects: name -> the template that stands
    for it where it is read."""
    return _Filled(names, dict(objects)).visit(copy.deepcopy(template))


class _Filled(ast.NodeTransformer):
    def __init__(self, names, objects):
        self.names, self.objects = names, objects

    def visit_Constant(self, node):
        if isinstance(node.value, Dim | SizedNumber):
            made = placed_as(sizes_renamed(str(node.value), self.names), node)
            return made
        if type(node.value) in (int, float) and repr(node.value).startswith("-"):
            return placed_as(ast.UnaryOp(ast.USub(), ast.Constant(-node.value)), node)
        return node

    def visit_Name(self, node):
        if node.id in self.objects and type(node.ctx) is ast.Load:
            return placed_as(filled(self.objects[node.id], self.names, self.objects), node)
        return node


def sizes_renamed(text, names):
    """The tree of an expression of sizes, under the names of variables."""
    tree = ast.parse(text, mode="eval").body
    for n in ast.walk(tree):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return tree


def placed_as(tree, node):
    """A tree, all of it where a node is in the source."""
    for n in ast.walk(tree):
        ast.copy_location(n, node)
    return tree
