"""What a module of tests becomes: every NumPy computation in its functions asks a hook here, which has `numpy_computed`
compile it.

`Hooked` rewrites function bodies as they are imported: `np.sum(x, axis=0)` asks `call(np.sum, x, axis=0)`, `x[key] = y`
asks `store`.
"""

import ast
import functools
import operator
import types

import numpy as np
import numpy_computed as computed
from numpy_computed import NAMES, PYTHONS, SIGNS, UNARY, in_scope, run, written

OWN = "__computed__"  # the name by which rewritten code finds this module
SIGN_OF = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
}
SIGN_OF |= {
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
}
SIGN_OF |= {ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
ATTRIBUTES = ("T", "mT", "real", "imag")


# -- what the tests become -------------------------------------------------------------------------


class Hooked(ast.NodeTransformer):
    """Function bodies with a hook in the place of each call, operator, comparison, subscript, store and array
    attribute."""

    inside = False

    def visit_FunctionDef(self, node):
        before, self.inside = self.inside, True
        node.body = [self.visit(s) for s in node.body]
        self.inside = before
        return node

    def visit_Lambda(self, node):
        return self.generic_visit(node) if self.inside else node

    def generic_visit(self, node):
        if isinstance(node, ast.AnnAssign | ast.JoinedStr):
            return node
        return super().generic_visit(node)

    def hook(self, node, name, *args):
        new = ast.Call(ast.Attribute(ast.Name(OWN, ast.Load()), name, ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(new, node))

    def visit_Call(self, node):
        self.generic_visit(node)
        special = isinstance(node.func, ast.Name) and node.func.id in (
            "super", "locals", "globals", "vars", "eval", "exec",
        )
        if not self.inside or special:
            return node
        return ast.copy_location(ast.Call(self.hook(node.func, "calling", node.func), node.args, node.keywords), node)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return (
            self.hook(node, "binary", ast.Constant(SIGN_OF[type(node.op)]), node.left, node.right)
            if self.inside
            else node
        )

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not self.inside or type(node.op) not in SIGN_OF or isinstance(node.operand, ast.Constant):
            return node
        return self.hook(node, "unary", ast.Constant(SIGN_OF[type(node.op)]), node.operand)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if not self.inside or len(node.ops) > 1 or type(node.ops[0]) not in SIGN_OF:
            return node
        return self.hook(node, "binary", ast.Constant(SIGN_OF[type(node.ops[0])]), node.left, node.comparators[0])

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if not self.inside or not isinstance(node.ctx, ast.Load):
            return node
        return self.hook(node, "item", node.value, key_of(node.slice))

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not self.inside or not isinstance(node.ctx, ast.Load) or node.attr not in ATTRIBUTES:
            return node
        return self.hook(node, "attribute", node.value, ast.Constant(node.attr))

    def visit_Assign(self, node):
        self.generic_visit(node)
        if not self.inside or len(node.targets) > 1 or not isinstance(node.targets[0], ast.Subscript):
            return node
        target = node.targets[0]
        return ast.copy_location(
            ast.Expr(self.hook(node, "store", target.value, key_of(target.slice), node.value)), node
        )

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if not self.inside or not isinstance(node.target, ast.Name | ast.Subscript):
            return node
        sign = ast.Constant(SIGN_OF[type(node.op)])
        if isinstance(node.target, ast.Subscript):
            return ast.copy_location(
                ast.Expr(self.hook(node, "store_in", sign, node.target.value, key_of(node.target.slice), node.value)),
                node,
            )
        new = self.hook(node, "in_place", sign, ast.Name(node.target.id, ast.Load()), node.value)
        return ast.copy_location(ast.Assign([node.target], new), node)


def key_of(node):
    """A subscript as an expression: slices are calls."""
    if isinstance(node, ast.Slice):
        parts = [ast.Constant(None) if p is None else p for p in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple(
            [ast.Starred(key_of(e.value), ast.Load()) if isinstance(e, ast.Starred) else key_of(e) for e in node.elts],
            ast.Load(),
        )
    return node


def rewritten(source, file):
    """The code of a module whose NumPy computations go through the functions below; line numbers stay."""
    tree = ast.fix_missing_locations(Hooked().visit(ast.parse(source, file)))
    return compile(tree, file, "exec", dont_inherit=True)


# -- the hooks -------------------------------------------------------------------------------------


def call(f, *args, **kwargs):
    return run(lambda text: written(f, args, kwargs, text), lambda: f(*args, **kwargs))


def calling(f):
    """What to call in place of f."""
    if computed.record is None or computed.busy:
        return f
    kind = type(f)
    if (
        kind is types.FunctionType
        and f.__name__.startswith("assert_")
        and (f.__module__ or "").startswith("numpy.testing")
    ):
        return functools.partial(asserting, f)
    on = getattr(f, "__self__", None)
    if (
        kind is np.ufunc
        or isinstance(on, np.ndarray | np.generic | np.ufunc)
        or isinstance(f, np.vectorize)
        or known(f)
    ):
        return functools.partial(call, f)
    return (
        functools.partial(asserting, f) if getattr(f, "__name__", "") in ("raises", "warns", "deprecated_call") else f
    )


def known(f):
    try:
        return f in NAMES or f in PYTHONS or f in SIGNS or f in UNARY
    except TypeError:
        return False


def asserting(check, *args, **kwargs):
    """An assertion: a computation that it is to call itself (`assert_raises(ValueError, np.sum, x)`) is captured."""
    calls = check.__name__.startswith((
        "assert_raises", "assert_warns", "assert_no_warn", "raises", "warns", "deprecated",
    ))
    place = next((i for i, a in enumerate(args) if i and callable(a)), 0) if calls else 0
    if place and not isinstance(args[place], type):
        args = (*args[:place], calling(args[place]), *args[place + 1 :])
    return check(*args, **kwargs)


def binary(sign, x, y):
    return operation(PLAIN[sign], x, y, lambda text: f"{text.of(x)} {sign} {text.of(y)}")


def operation(plain, x, y, make):
    if in_scope(x) is None and in_scope(y) is None:
        return plain(x, y)
    return run(make, lambda: plain(x, y))


def unary(sign, x):
    plain = next(f for f, s in UNARY.items() if s == sign)
    return plain(x) if in_scope(x) is None else run(lambda text: f"{sign}{text.of(x)}", lambda: plain(x))


def in_place(sign, x, y):
    if in_scope(x) is None:
        return binary(sign, x, y)
    return operation(IN_PLACE[sign], x, y, lambda text: f"{text.of(x)} {sign}= {text.of(y)}")


def item(x, key):
    if isinstance(x, np.flatiter):
        return run(lambda text: f"{text.of(x.base)}.flat[{text.of(key)}]", lambda: x[key])
    return x[key] if in_scope(x) is None else run(lambda text: f"{text.of(x)}[{text.of(key)}]", lambda: x[key])


def store(x, key, value):
    if isinstance(x, np.flatiter):
        return run(
            lambda text: f"{text.of(x.base)}.flat[{text.of(key)}] = {text.of(value)}",
            lambda: operator.setitem(x, key, value),
        )
    if in_scope(x) is None:
        return operator.setitem(x, key, value)
    return run(lambda text: f"{text.of(x)}[{text.of(key)}] = {text.of(value)}", lambda: operator.setitem(x, key, value))


def store_in(sign, x, key, value):
    def plain():
        x[key] = IN_PLACE[sign](x[key], value)

    if in_scope(x) is None:
        return plain()
    return run(lambda text: f"{text.of(x)}[{text.of(key)}] {sign}= {text.of(value)}", plain)


def attribute(x, name):
    return (
        getattr(x, name) if in_scope(x) is None else run(lambda text: f"{text.of(x)}.{name}", lambda: getattr(x, name))
    )


PLAIN = {sign: f for f, sign in SIGNS.items()}
IN_PLACE = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
}
IN_PLACE |= {
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
}
IN_PLACE |= {"@": operator.imatmul}
