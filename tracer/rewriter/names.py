"""What statements bind, read and leave: the names behind every region, by one walk over the syntax tree."""

import ast

from ...ir.syntax import children, nodes_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)
FRAME = {"_getframe", "currentframe"}  # attributes that give a function its own frame
# builtins that look into it when given fewer arguments
SPACE = {"locals": 9, "vars": 1, "dir": 1, "eval": 2, "exec": 2}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def walk(node, inside=lambda n: not isinstance(n, SCOPES)):
    """The node and all below it, not entering what `inside` refuses (which is itself yielded)."""
    todo = list(node) if isinstance(node, list) else [node]
    while todo:
        node = todo.pop()
        yield node
        if inside(node):
            todo.extend(children(node))


def looks(function):
    """What a function looks at its own variables by, so that its body may not be moved; None if it does not."""
    fine = set()
    for node in walk(function.body):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and len(node.args) + len(node.keywords) >= SPACE.get(node.func.id, 0)
        ):
            fine.add(node.func)
        elif isinstance(node, ast.Attribute):
            if (
                node.attr in FRAME
                or node.attr in SPACE
                and isinstance(node.value, ast.Name)
                and node.value.id == "builtins"
            ):
                return node.attr
        elif isinstance(node, ast.Name) and node.id in SPACE and node not in fine:
            return node.id
    return None


def bound(statements):
    """The names that statements bind in their own function's scope."""
    found = set()
    for node in walk(statements, lambda n: not isinstance(n, (*SCOPES, *COMPREHENSIONS))):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        elif isinstance(node, COMPREHENSIONS):
            found |= {n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr)}
    return found


def declared(statements, kind):
    """The names of the `global` or `nonlocal` statements of one function."""
    return {name for node in walk(statements) if isinstance(node, kind) for name in node.names}


def parameters(a):
    """The names of a function's parameters."""
    return {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))}


def outer_names(function, around=None):
    """The names in a function that come from outside the function that is traced. around: those of the function that it
    is nested in; None where it is the one that is traced."""
    body = function.body if isinstance(function.body, list) else [function.body]
    above = declared(body, ast.Global)
    own = parameters(function.args) | bound(body) - above - declared(body, ast.Nonlocal)
    return (names_read(body) if around is None else around) - own | above


def loads(nodes):
    """The names read anywhere in statements or expressions, by `x += 1` too, those in lambdas and comprehensions
    included."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    below = [n for node in nodes if node is not None for n in nodes_of(node)]
    added = {n.target.id for n in below if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return added | {n.id for n in below if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def names_read(nodes):
    """As `loads`, without the names that lambdas and comprehensions have for their own."""
    found = set()
    for node in nodes if isinstance(nodes, list) else [nodes]:
        for n in walk(node, lambda n: not isinstance(n, (ast.Lambda, *COMPREHENSIONS))) if node is not None else ():
            if isinstance(n, ast.Lambda):
                found |= names_read(n.body) - parameters(n.args) | names_read([*n.args.defaults, *n.args.kw_defaults])
            elif isinstance(n, COMPREHENSIONS):
                own = {m.id for g in n.generators for m in nodes_of(g.target) if isinstance(m, ast.Name)}
                inner = [g.iter for g in n.generators[1:]] + [i for g in n.generators for i in g.ifs]
                inner += [n.key, n.value] if isinstance(n, ast.DictComp) else [n.elt]
                found |= names_read(inner) - own | names_read(n.generators[0].iter)
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found.add(n.target.id)
            elif isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                found.add(n.id)
    return found


def assigned_names(target):
    return {n.id for n in nodes_of(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def escapes(statement):
    """Whether a return, or a break or continue of an enclosing loop, leaves the statement."""
    return bool(exits(statement))


def exits(node, loop=False):
    """The ways control leaves `node`: "return", "break", "continue"; `loop`: inside a loop of its own."""
    if isinstance(node, list):
        return set().union(*(exits(n, loop) for n in node)) if node else set()
    if isinstance(node, ast.Return):
        return {"return"}
    if isinstance(node, ast.Break | ast.Continue):
        return set() if loop else {type(node).__name__.lower()}
    if isinstance(node, SCOPES) or isinstance(node, ast.expr):
        return set()
    if isinstance(node, ast.For | ast.While):
        return exits(node.body, True) | exits(node.orelse, loop)
    return set().union(*(exits(n, loop) for n in children(node)))


def in_functions(statements):
    """The names of which enclosing scopes or functions inside may read, at any time."""
    found = declared(statements, ast.Nonlocal) | declared(statements, ast.Global)
    inner = [n for n in walk(statements) if isinstance(n, (*SCOPES, ast.GeneratorExp))]
    return found | {m.id for n in inner for m in nodes_of(n) if isinstance(m, ast.Name)}


def in_handlers(statements):
    """The names that handlers may read, of whatever statement raises."""
    tries = [n for n in walk(statements) if isinstance(n, ast.Try | ast.TryStar)]
    parts = [part for n in tries for part in (*n.handlers, *n.finalbody, *n.orelse)]
    return {m.id for part in parts for m in nodes_of(part) if isinstance(m, ast.Name)}


class Liveness:
    """Backward data flow over one function.

    after: statement -> names that may be read once it is done.
    head:  loop -> names that may be read when a trip begins.
    done:  loop -> names that may be read when no further trip comes, by its `else` or later.
    first: names that may be read when it begins.
    Names that nested functions, handlers or enclosing scopes may read are live everywhere, or those of `always`.
    out: what is read behind the last statement; reads: what gives the names that nodes read.
    """

    def __init__(self, statements, out=(), always=None, reads=None):
        self.after, self.head, self.done, self.reads = {}, {}, {}, reads or loads
        self.always = in_functions(statements) | in_handlers(statements) if always is None else set(always)
        self.first = self.block(statements, set(out), set(), set())

    def block(self, statements, out, leave, again):
        """What is live before the statements; `leave`, `again`: after a break, after a continue."""
        for s in reversed(statements):
            self.after[s] = out | self.always
            out = self.before(s, out, leave, again)
        return out

    def before(self, s, out, leave, again):
        if isinstance(s, ast.Return | ast.Raise):
            return self.reads([*children(s)])
        if isinstance(s, ast.Break):
            return leave
        if isinstance(s, ast.Continue):
            return again
        if isinstance(s, ast.If):
            return self.reads(s.test) | self.block(s.body, out, leave, again) | self.block(s.orelse, out, leave, again)
        if isinstance(s, ast.While | ast.For):
            return self.loop(s, out, leave, again)
        if isinstance(s, ast.Assign | ast.AnnAssign):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            if s.value is None:
                return out
            return (out - set().union(*map(assigned_names, targets))) | self.reads(targets) | self.reads(s.value)
        if isinstance(s, ast.AugAssign):
            return out | assigned_names(s.target) | self.reads([s.target, s.value])
        if isinstance(s, ast.With):
            inner = self.broken(out, [s.body], out, leave, again) | out
            for item in s.items:
                inner = inner - (assigned_names(item.optional_vars) if item.optional_vars else set())
                inner |= self.reads([item.context_expr, item.optional_vars])
            return inner
        if isinstance(s, ast.Try | ast.TryStar):
            self.broken(
                out | leave | again, [s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody], out, leave, again
            )
            return out | leave | again | self.reads(s)
        if isinstance(s, ast.Match):
            for case in s.cases:
                self.block(case.body, out, leave, again)
            return out | leave | again | self.reads(s)
        if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return (out - {s.name}) | self.reads(s)
        return out | self.reads(s) | (bound([s]) if isinstance(s, ast.Delete) else set())

    def broken(self, always, parts, out, leave, again):
        """What is live before the first of `parts`, any statement of which may be the last to run before `always` is
        read."""
        kept, self.always = self.always, self.always | always
        before = [self.block(part, out | self.always, leave, again) for part in parts]
        self.always = kept
        return before[0]

    def loop(self, s, out, leave, again):
        done = self.block(s.orelse, out, leave, again)
        targets = assigned_names(s.target) if isinstance(s, ast.For) else set()
        test = self.reads(s.test) if isinstance(s, ast.While) else self.reads(s.target)
        head = done | test
        while True:
            more = head | (self.block(s.body, head, out, head) - targets)
            if more == head:
                break
            head = more
        self.head[s] = head | self.always
        self.done[s] = done | out | self.always
        return head | (self.reads(s.iter) if isinstance(s, ast.For) else set())
