"""Expressions rewritten: every call, subscript, choice and container goes through a hook.

Hooks are attributes of one object, in a cell under a name no program can spell; operands that may not
be evaluated travel as lambdas. Every new node takes the place, in lines and columns, of the old one.
"""

import ast

from ...ir.syntax import Transformer, fill_places, nodes_of
from .names import assigned_names, looks, outer_names, walk
from .sites import next_site

HOOK = "@w"
ASIDE = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)  # what may not move into a lambda


def mangled(name, private):
    """The name a class body gives to `__name`."""
    if private is None or not name.startswith("__") or name.endswith("__") or not private.strip("_"):
        return name
    return f"_{private.lstrip('_')}{name}"


def at(new, old):
    """`new`, and all of it that has no place yet, at the place of `old`."""
    ast.copy_location(new, old)
    return fill_places(new, below=False)


def load(name):
    return ast.Name(name, ast.Load())


def store(name):
    return ast.Name(name, ast.Store())


def arguments(*names):
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def hook(name, *args):
    """A call of the hook `name`."""
    return ast.Call(ast.Attribute(load(HOOK), name, ast.Load()), list(args), [])


def later(expression, first):
    """An expression as a function to be called if its value is wanted; its parameter tells it from the user's lambdas.

    first: what is evaluated before it, on whose line the function is made: the expression's own line may not be
    reached.
    """
    args = arguments("@")
    args.defaults = [ast.Constant(None)]
    return at(ast.Lambda(args, expression), first)


def moves(*expressions):
    """Whether expressions mean the same inside a lambda."""
    return not any(isinstance(n, ASIDE) for e in expressions for n in nodes_of(e))


def one_line(node):
    """Put the names of hooks on the first line of what they stand for: Python calls a method on the last line of its
    name."""
    for n in nodes_of(node):
        if (
            isinstance(n, ast.Attribute)
            and isinstance(n.value, ast.Name)
            and n.value.id == HOOK
            and n.lineno != n.end_lineno
        ):
            n.end_lineno, n.end_col_offset = n.lineno, n.col_offset + 1
    return node


def fixed(node):
    """Whether an expression is made of numbers and strings alone: the compiler's own affair."""
    return all(
        isinstance(n, ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop) for n in nodes_of(node)
    )


def in_test(node):
    """A test, of whose `and` and `or` only the truth is wanted: they are marked."""
    if isinstance(node, ast.BoolOp):
        node.tested = True
        for value in node.values:
            in_test(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        in_test(node.operand)
    return node


def is_generator(node):
    """Whether a function is a generator or a coroutine: those are left alone."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    body = node.body if isinstance(node.body, list) else [node.body]
    return any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith) for n in walk(body))


PLAIN = (ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context)
PLAIN = (*PLAIN, ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)  # of what a test is made that changes nothing


def is_collected(node):
    """Whether a list comprehension is captured as a loop is: its tests may be asked before the first item is made."""
    tests = [n for g in node.generators for test in g.ifs for n in nodes_of(test)]
    return all(isinstance(n, PLAIN) for n in tests) and is_by_trips(node)


def both(tests):
    """All of the tests of a comprehension, rewritten, as one."""
    result = tests[-1]
    for test in reversed(tests[:-1]):
        result = at(hook("both", test, later(result, test)), test)
    return result


def is_fed(node):
    """Whether a generator expression that is the first argument of a call is gone through as a loop is."""
    return len(node.generators) == 1 and is_by_trips(node)


def is_by_trips(node):
    """Whether a comprehension is the same where each trip has variables of its own: no function that outlives its trip
    sees them."""
    parts = [n for g in node.generators for n in (g.target, g.iter, *g.ifs)] + [node.elt]
    if any(g.is_async for g in node.generators) or not moves(*parts):
        return False
    inner = [n for part in [*parts[1:]] for n in nodes_of(part)]
    fed = {id(n.args[0]) for n in inner if isinstance(n, ast.Call) and len(n.args) == 1 and not n.keywords}
    targets = [n for g in node.generators for n in nodes_of(g.target)]
    return not any(
        isinstance(n, ast.Lambda) or isinstance(n, ast.GeneratorExp) and id(n) not in fed for n in inner
    ) and all(isinstance(n, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context) for n in targets)


class Expressions(Transformer):
    """The rewriting of expressions inside one function; `first` is its first parameter, for `super()`, `outer` the
    names from around it."""

    def __init__(self, private, first, outer=frozenset()):
        self.private, self.first, self.outer = private, first, outer

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            if self.first is None:
                return node
            above = at(hook("call", node.func), node.func)
            return at(ast.Call(above, [load("__class__"), load(self.first)], []), node)
        f = node.func
        fed = node.args and isinstance(node.args[0], ast.GeneratorExp) and is_fed(node.args[0])
        node.func = at(hook("fed" if fed else "call", f if isinstance(f, ast.Name) else self.visit(f)), f)
        first = [self.generated(node.args[0])] if fed else []
        node.args = first + [self.visit(a) for a in node.args[len(first) :]]
        node.keywords = [self.generic_visit(k) for k in node.keywords]
        for k in node.keywords:
            k.value = k.value if k.arg else at(hook("mapped", k.value), k.value)
        if isinstance(f, ast.Attribute) and f.lineno != f.end_lineno:  # the call of a method is on the line of its name
            node.lineno, node.col_offset = f.end_lineno, max(f.end_col_offset - len(f.attr), 0)
        return node

    def visit_Name(self, node):
        if node.id not in self.outer or not isinstance(node.ctx, ast.Load):
            return node
        return at(hook("outer", node), node)

    def visit_Starred(self, node):
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = at(hook("iterated", node.value), node.value)
        return node

    def visit_comprehension(self, node):
        node.ifs = [in_test(test) for test in node.ifs]
        self.generic_visit(node)
        node.iter = at(hook("iterated", node.iter), node.iter)
        node.ifs = [at(hook("asked", test), test) for test in node.ifs]
        return node

    def visit_Attribute(self, node):
        node.value = self.part(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        return at(hook("attribute", node.value, ast.Constant(mangled(node.attr, self.private))), node)

    def part(self, node):
        """An expression of which an attribute or item is wanted."""
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            node = self.visit(node)
            node.func.attr += "_of"
            return node
        return self.visit(node)

    def visit_Subscript(self, node):
        node.value, node.slice = self.part(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            return node
        return at(hook("item", node.value, self.key(node.slice)), node)

    def key(self, node):
        """A subscript as an ordinary expression: slices are objects."""
        if isinstance(node, ast.Slice):
            none = lambda part: part or ast.Constant(None)
            return at(hook("slice", none(node.lower), none(node.upper), none(node.step)), node)
        if isinstance(node, ast.Tuple):
            return at(ast.Tuple([self.key(e) for e in node.elts], ast.Load()), node)
        return node

    def visit_JoinedStr(self, node):
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visit(part.format_spec) if part.format_spec else ast.Constant(None)
                part = at(ast.Tuple([self.visit(part.value), ast.Constant(part.conversion), spec], ast.Load()), part)
            parts.append(part)
        return at(hook("text", *parts), node)

    def visit_BoolOp(self, node):
        if not moves(*node.values[1:]):
            return self.generic_visit(node)
        self.generic_visit(node)
        names = {ast.And: ("both", "both_hold"), ast.Or: ("either", "either_holds")}
        name = names[type(node.op)][getattr(node, "tested", False)]
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = at(hook(name, value, later(result, value)), node)
        return result

    def visit_UnaryOp(self, node):
        if fixed(node):
            return node
        self.generic_visit(in_test(node))
        name = "negated" if isinstance(node.op, ast.Not) else type(node.op).__name__
        return at(hook(name, node.operand), node)

    def visit_BinOp(self, node):
        if fixed(node):
            return node
        self.generic_visit(node)
        return at(hook(type(node.op).__name__, node.left, node.right), node)

    def visit_Compare(self, node):
        if fixed(node):
            return self.generic_visit(node)
        moved = len(node.ops) == 1 or moves(*node.comparators)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):  # asks the container about one item
            node.left, node.comparators = self.visit(node.left), [self.part(node.comparators[0])]
        else:
            self.generic_visit(node)
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):  # identity calls no method that could tell
            one_thing = lambda x: x if isinstance(x, ast.Constant) else at(hook("one_thing", x), x)
            node.left, node.comparators = one_thing(node.left), [one_thing(x) for x in node.comparators]
        if not moved:
            return node
        names = [type(op).__name__ for op in node.ops]
        if len(names) == 1:
            return at(hook(names[0], node.left, node.comparators[0]), node)
        steps = []
        for name, right in zip(names, node.comparators):
            steps += [at(ast.Attribute(load(HOOK), name, ast.Load()), node), later(right, node.left)]
        return at(hook("chain", node.left, *steps), node)

    def visit_IfExp(self, node):
        if not moves(node.body, node.orelse):
            return self.generic_visit(node)
        in_test(node.test)
        self.generic_visit(node)
        return at(hook("choose", node.test, later(node.body, node.test), later(node.orelse, node.test)), node)

    def _made(self, node):
        self.generic_visit(node)
        if isinstance(node, ast.Dict):
            node.values = [v if k else at(hook("mapped", v), v) for k, v in zip(node.keys, node.values)]
            node.keys = [k and self.member(k) for k in node.keys]
        elif isinstance(node, ast.Set):
            node.elts = [self.member(e) for e in node.elts]
        elif isinstance(node, ast.SetComp):
            node.elt = self.member(node.elt)
        elif isinstance(node, ast.DictComp):
            node.key = self.member(node.key)
        return at(hook("own", node), node) if isinstance(getattr(node, "ctx", None), ast.Load | None) else node

    def member(self, node):
        """An expression that Python asks for its hash."""
        return node if isinstance(node, ast.Constant | ast.Starred) else at(hook("member", node), node)

    visit_List = visit_Dict = visit_Set = visit_SetComp = visit_DictComp = _made

    def visit_ListComp(self, node):
        """`[elt for x in xs for y in ys]` as `collect(xs, lambda x: collect(ys, lambda y: elt))`, where nothing in it
        tells that from the comprehension."""
        if not is_collected(node):
            return self._made(node)
        self.generic_visit(node)
        made = node.elt
        for n, g in enumerate(reversed(node.generators)):
            trip = self.one_trip(g, made, node)
            more = [ast.Constant(bool(n)), *([self.one_trip(g, both(g.ifs), node)] if g.ifs else [])]
            made = at(hook("collect", g.iter, trip, ast.Constant(self.site(g, node)), *more), node)
        return made

    def generated(self, node):
        """A generator expression, not begun: what it runs over, and functions of one item."""
        self.generic_visit(node)
        (g,) = node.generators
        parts = [g.iter, self.one_trip(g, node.elt, node), ast.Constant(self.site(g, node))]
        if g.ifs:
            parts.append(self.one_trip(g, both(g.ifs), node))
        return at(hook("generated", *parts), node)

    def one_trip(self, generator, elt, node):
        """A function of one item that gives what the comprehension has for it."""
        one = ast.List([load("@")], ast.Load())
        item = at(ast.ListComp(elt, [ast.comprehension(generator.target, one, [], 0)]), elt)
        item = at(ast.Subscript(item, ast.Constant(0), ast.Load()), elt)
        return at(ast.Lambda(arguments("@"), item), elt)

    def site(self, generator, node):
        """The number of a loop that binds no name of the function's."""
        return next_site(assigned_names(generator.target))

    def visit_Lambda(self, node):
        if is_generator(node) or looks(node) is not None:
            return node
        node.args = self.defaults(node.args)
        first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), None)
        node.body = Expressions(self.private, first, outer_names(node, self.outer)).visit(node.body)
        return node

    def defaults(self, args):
        """The parameters of a nested function, their defaults rewritten: those belong to this scope."""
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        return args


