"""Statements rewritten: the bodies of `if`, `for` and `while` become functions that a hook runs.

    for i in xs:                          def @body(@item):
        s = s + f(i)                          nonlocal i, s
        if s > t:              ->             i = @item
            break                             s = s + @w.call(f)(i)
        n += 1                                return @w.branch(s > t, @then, None, @rest, ...)
                                          @w.each(xs, @body, None, None, SITE)

A body returns None where it falls through, else what leaves it: BREAK, CONTINUE, or a Return with its
value. So `break` inside `try` or `with` unwinds as Python does. What follows a statement that may leave
early is its `rest`, run by the hook: on data both ways are traced, each with the rest behind it.
The bodies share the function's own cells, through which the hooks read, replace and restore its state.
"""

import ast

from ...ir.syntax import copied, nodes_of
from .expressions import Expressions, at, hook, in_test, is_generator, later, load, mangled, store
from .finally_parts import after_all
from .names import FUNCTIONS, Liveness, bound, declared, escapes, exits, loads, looks, outer_names
from .patterns import guarded, is_class_alone, questions_of
from .sites import NUMBERS, SITES, Site


class StatementRewriter(Expressions):
    """The rewriting of one function's body. `deep` is 0 in the function itself, more in bodies."""

    def __init__(self, private, first, outer, body, params):
        super().__init__(private, first, outer)
        self.globals, self.nonlocals = declared(body, ast.Global), declared(body, ast.Nonlocal)
        self.live = Liveness(body)
        inner = [n for s in body for n in nodes_of(s) if isinstance(n, ast.FunctionDef)]
        mine = bound(body) | params | self.nonlocals
        # what nested functions rebind
        self.foreign = set().union(*(declared(f.body, ast.Nonlocal) for f in inner)) & mine
        self.unread = bound(body) - self.globals - self.nonlocals - self.foreign - loads(body)
        self.shared = set()  # names that bodies bind: the function itself must own them
        self.deep = self.count = 0

    def temporary(self, what):
        self.count += 1
        return f"@{what}{self.count}"

    # -- blocks ------------------------------------------------------------------------------------
    def block(self, statements, tail):
        """The statements rewritten; `tail`: nothing of this function follows them but the code they return."""
        out = []
        for n, s in enumerate(statements):
            if isinstance(s, ast.If | ast.For | ast.While):
                early = escapes(s)
                rest = statements[n + 1 :] if early and tail else []
                out += self.region(s, rest, early, tail)
                if early and tail:
                    return out
            else:
                out += self.statement(s)
        return out or [ast.Pass()]

    def region(self, s, rest, early, tail):
        """A loop or branch as a call of its hook."""
        kind = {ast.If: "branch", ast.For: "each", ast.While: "repeat"}[type(s)]
        place = s.iter if isinstance(s, ast.For) else in_test(s.test)
        parts = [s.body, s.orelse, rest]
        names = (bound([s, *rest]) | self.foreign) - self.globals
        after = self.live.after[rest[-1] if rest else s]
        plain = lambda group: frozenset(mangled(n, self.private) for n in group)
        targets = bound([s.target if isinstance(s, ast.For) else s.test])
        head, middle = self.live.head.get(s, ()), self.live.done.get(s, ())
        ends = bool(exits(s.body) & {"break", "return"})
        site = Site(kind, *map(plain, (names, head, middle, after)), tail, exits(s), plain(targets), ends)
        number = ast.Constant(next(NUMBERS))
        SITES[number.value] = site

        out, made = [], []
        for what, body in zip(("body", "orelse", "rest"), parts):
            if not body:
                made.append(ast.Constant(None))
                continue
            takes = ("@item",) if isinstance(s, ast.For) and what == "body" else ()
            lead = self.assign(s.target, load("@item"), s.target) if takes else []
            out.append(self.body(what, body, takes, lead, s))
            made.append(load(out[-1].name))
        if isinstance(s, ast.For):
            first = self.visit(s.iter)
        elif isinstance(s, ast.While):
            test = self.body("test", [ast.copy_location(ast.Return(s.test), s.test)], (), [], s, plainly=True)
            out.append(test)
            first = load(test.name)
        else:
            first = self.visit(s.test)
        call = at(hook(kind, first, *made, number), place)
        if not early:
            out.append(ast.Expr(call))
        elif tail:
            out.append(ast.Return(call if self.deep else hook("leave", call)))
        else:
            code = self.temporary("code")
            out.append(ast.Assign([store(code)], call))
            left = ast.Compare(load(code), [ast.IsNot()], [ast.Constant(None)])
            value = load(code) if self.deep else ast.Attribute(load(code), "value", ast.Load())
            out.append(ast.If(left, [ast.Return(value)], []))
        return [at(o, s) if not isinstance(o, ast.FunctionDef) else o for o in self.placed(out, place)]

    def placed(self, statements, place):
        return [s if isinstance(s, ast.FunctionDef) else at(s, place) for s in statements]

    def body(self, what, statements, takes, lead, place, plainly=False):
        """A function around statements that binds their names in the enclosing function."""
        names = {
            n for n in bound(statements) | (bound(lead) if lead else set()) | self.foreign if not n.startswith("@")
        }
        shared, outer = names - self.globals, names & self.globals
        self.shared |= shared - self.nonlocals
        deep, self.deep = self.deep, self.deep + 1
        if plainly:
            inner = [at(ast.Return(self.visit(statements[0].value)), statements[0])]
        else:
            inner = self.block(statements, tail=True)
        self.deep = deep
        heads = [
            at(kind(sorted(group)), place) for kind, group in ((ast.Nonlocal, shared), (ast.Global, outer)) if group
        ]
        args = ast.arguments([], [ast.arg(n) for n in takes], None, [], [], None, [])
        made = ast.FunctionDef(
            name=self.temporary(what),
            args=args,
            body=[*heads, *lead, *inner],
            decorator_list=[],
            returns=None,
            type_comment=None,
        )
        return at(made, place)

    # -- statements --------------------------------------------------------------------------------
    def statement(self, s):
        """One statement as the list of those that replace it."""
        found = getattr(self, f"on_{type(s).__name__}", None)
        return found(s) if found else [self.generic_visit(s)]

    def on_Global(self, s):
        return []  # declared anew where the names are bound

    on_Nonlocal = on_Global

    def on_ClassDef(self, s):
        """Its body is left as it is, and so is what its bases and decorators do about it."""
        after = [] if s.name.startswith("__") else [at(ast.Expr(hook("class_made", load(s.name))), s)]
        return [at(ast.Expr(hook("strays")), s), s, *after]

    def on_Raise(self, s):
        # a class is called
        lead = [] if s.exc is None or isinstance(s.exc, ast.Call) else [at(ast.Expr(hook("strays")), s)]
        return [*lead, self.generic_visit(s)]

    def on_AsyncFunctionDef(self, s):
        return [s]

    def on_FunctionDef(self, s):
        s.decorator_list = [at(hook("call", self.visit(d)), d) for d in s.decorator_list]
        s.args = self.defaults(s.args)
        if not is_generator(s) and looks(s) is None:
            rewrite_function(s, self.private, outer_names(s, self.outer))
        return [s]

    def on_Return(self, s):
        if s.value is not None:
            s.value = self.visit(s.value)
        if self.deep:
            s.value = at(hook("Return", s.value or ast.Constant(None)), s.value or s)
        return [s]

    def on_Break(self, s):
        return [at(ast.Return(ast.Attribute(load("@w"), type(s).__name__.upper(), ast.Load())), s)]

    on_Continue = on_Break

    def on_Assert(self, s):
        s.msg = s.msg and self.visit(s.msg)
        text = [m if isinstance(m, ast.Constant) else later(m, s.test) for m in (s.msg,) if m is not None]
        s.test = at(hook("asserted", self.visit(in_test(s.test)), *text), s.test)
        return [s]

    def on_Expr(self, s):
        without_items(s.value)
        return [self.generic_visit(s)]

    def on_Assign(self, s):
        if all(isinstance(t, ast.Name) and t.id in self.unread for t in s.targets):
            without_items(s.value)
        value = self.visit(s.value)
        if any(isinstance(t, ast.Tuple | ast.List) for t in s.targets) and not isinstance(value, ast.Tuple | ast.List):
            value = at(hook("iterated", value), value) if len(s.targets) == 1 else value
        if all(
            isinstance(n, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context)
            for t in s.targets
            for n in nodes_of(t)
        ):
            s.value = value
            return [s]
        if len(s.targets) == 1 and isinstance(s.targets[0], ast.Attribute | ast.Subscript):
            return self.assign(s.targets[0], value, s)
        kept = self.temporary("value")
        out = [at(ast.Assign([store(kept)], value), s)]
        for target in s.targets:
            out += self.assign(target, load(kept), s)
        return out

    def assign(self, target, value, place):
        """Statements that store `value`, evaluated once, into a target of any form."""
        if isinstance(target, ast.Attribute):
            name = ast.Constant(mangled(target.attr, self.private))
            return [at(ast.Expr(at(hook("set_attribute", value, self.part(target.value), name), target)), place)]
        if isinstance(target, ast.Subscript):
            return [
                at(
                    ast.Expr(
                        at(hook("set_item", value, self.part(target.value), self.key(self.visit(target.slice))), target)
                    ),
                    place,
                )
            ]
        if isinstance(target, ast.Name) or not any(
            isinstance(n, ast.Attribute | ast.Subscript) for n in nodes_of(target)
        ):
            return [at(ast.Assign([target], value), place)]
        after = []  # unpacked first, stored left to right: a[i], i = 1, 2 stores at the old i

        def stand_in(node):
            if isinstance(node, ast.Tuple | ast.List):
                return type(node)([stand_in(e) for e in node.elts], ast.Store())
            if isinstance(node, ast.Starred):
                return ast.Starred(stand_in(node.value), ast.Store())
            name = self.temporary("part")
            after.append((node, name))
            return store(name)

        out = [at(ast.Assign([stand_in(target)], value), place)]
        for node, name in after:
            out += self.assign(node, load(name), place)
        return out

    def on_AnnAssign(self, s):
        if s.value is None:  # a name alone is thereby local; of any other target the parts are evaluated
            parts = (
                []
                if isinstance(s.target, ast.Name)
                else [s.target.value, *([s.target.slice] if isinstance(s.target, ast.Subscript) else [])]
            )
            return [at(ast.Expr(self.visit(p)), s) for p in parts] or ([] if self.deep else [s])
        return self.on_Assign(at(ast.Assign([s.target], s.value), s))

    def on_AugAssign(self, s):
        target = s.target
        if isinstance(target, ast.Name):
            now = at(hook("outer", load(target.id)), s) if target.id in self.outer else load(target.id)
            return [at(ast.Assign([target], at(self.inplace(now, s), s)), s)]
        owner, now = self.temporary("owner"), self.temporary("now")
        out = [at(ast.Assign([store(owner)], self.part(target.value)), target)]
        if isinstance(target, ast.Attribute):
            out.append(
                at(
                    ast.Assign(
                        [store(now)], hook("attribute", load(owner), ast.Constant(mangled(target.attr, self.private)))
                    ),
                    target,
                )
            )
            end = hook("set_attribute", load(now), load(owner), ast.Constant(mangled(target.attr, self.private)))
        else:
            key = self.temporary("key")
            out.append(at(ast.Assign([store(key)], self.key(self.visit(target.slice))), target))
            out.append(at(ast.Assign([store(now)], at(hook("item", load(owner), load(key)), target)), target))
            end = hook("set_item", load(now), load(owner), load(key))
        out.append(at(ast.Assign([store(now)], at(self.inplace(load(now), s), s)), s))
        return [*out, at(ast.Expr(end), s)]

    def inplace(self, now, s):
        return hook(f"I{type(s.op).__name__}", at(now, s.target), self.visit(s.value))

    def on_Delete(self, s):
        out = []
        for target in s.targets:
            if isinstance(target, ast.Subscript):
                target = hook("delete_item", self.part(target.value), self.key(self.visit(target.slice)))
                out.append(at(ast.Expr(target), s))
            elif isinstance(target, ast.Attribute):
                target = hook(
                    "delete_attribute", self.part(target.value), ast.Constant(mangled(target.attr, self.private))
                )
                out.append(at(ast.Expr(target), s))
            else:
                out.append(at(ast.Delete([target]), s))
        return out

    def on_With(self, s):
        lead = []
        for item in s.items:
            item.context_expr = at(hook("manager", self.visit(item.context_expr)), item.context_expr)
            target = item.optional_vars
            if target is not None and any(isinstance(n, ast.Attribute | ast.Subscript) for n in nodes_of(target)):
                name = self.temporary("entered")
                item.optional_vars = at(store(name), target)
                lead += self.assign(target, load(name), target)
        s.body = [*lead, *self.block(s.body, tail=False)]
        return [s]

    def on_Try(self, s):
        body = self.block(s.body, tail=False)
        caught = [h.type and self.visit(h.type) for h in s.handlers]
        final = [
            t or at(hook("handled"), h)
            for t, h in zip(caught, s.handlers)
            if not (len(h.body) == 1 and isinstance(h.body[0], ast.Raise) and h.body[0].exc is None)
        ]
        if final:  # what would go on there in Python, or be another exception, but not in a program
            every = ast.Tuple([copied(t) for t in final], ast.Load())
            body = [at(ast.With([ast.withitem(at(hook("trying", later(at(every, s), s)), s))], body), s)]
        for handler, kind in zip(s.handlers, caught):
            handler.type = at(hook("handled", *([kind] if kind else [])), kind or handler)
            handler.body = self.block(handler.body, tail=False)
        s.body = body
        s.orelse = self.block(s.orelse, tail=False) if s.orelse else []
        return [after_all(s, self.block(s.finalbody, tail=False)) if s.finalbody else s]

    on_TryStar = on_Try

    def on_Import(self, s):
        return [*(self.importing(s, a.name, 0) for a in s.names), s]

    def on_ImportFrom(self, s):
        wanted = tuple(a.name for a in s.names)
        out = [self.importing(s, s.module or "", s.level, *wanted), s]
        for a in s.names:
            name, parts = a.asname or a.name, (s.module or "", s.level, a.name)
            out.append(at(ast.Assign([store(name)], hook("imported", *map(ast.Constant, parts), load(name))), s))
        return out

    def importing(self, s, *parts):
        """What stands before an import: the hook that notes what that finds."""
        return at(ast.Expr(hook("importing", *map(ast.Constant, parts))), s)

    def on_Match(self, s):
        alone = [c for c in s.cases if is_class_alone(c.pattern)]
        subject, words = self.temporary("subject"), questions_of([c.pattern for c in s.cases if c not in alone])
        matched = at(hook("matched", self.visit(s.subject), *map(ast.Constant, words)), s.subject)
        s.subject = at(ast.NamedExpr(store(subject), matched), s.subject) if alone else matched
        for case in s.cases:
            case.guard = case.guard and self.visit(case.guard)
            if case in alone:
                guarded(case, load(subject), self.visit)
            case.body = self.block(case.body, tail=False)
        return [s]


def without_items(node):
    """Have a list comprehension that nobody reads make its items, and keep none."""
    if isinstance(node, ast.ListComp):
        pair = at(ast.Tuple([node.elt, ast.Constant(None)], ast.Load()), node.elt)
        node.elt = at(ast.Subscript(pair, ast.Constant(1), ast.Load()), node.elt)


def rewrite_function(node, private, outer=None):
    """Rewrite a function's body in place; the node is returned. outer: the names that come from outside the function
    that is traced."""
    first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), None)
    body = node.body if isinstance(node.body, list) else [node.body]
    outer = outer_names(node) if outer is None else outer
    if isinstance(node, ast.Lambda):
        node.body = Expressions(private, first, outer).visit(node.body)
        return node
    params = {a.arg for a in nodes_of(node.args) if isinstance(a, ast.arg)}
    rewriter = StatementRewriter(private, first, outer, node.body, params)
    head = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
    body = rewriter.block(node.body[len(head) :], tail=True)
    lead = [
        at(kind(sorted(group)), node.body[0])
        for kind, group in ((ast.Global, rewriter.globals), (ast.Nonlocal, rewriter.nonlocals))
        if group
    ]
    owned = sorted(rewriter.shared - params)
    if owned:  # never run: it makes the names the function's own
        lead.append(
            at(
                ast.If(ast.Constant(False), [ast.Assign([store(n) for n in owned], ast.Constant(None))], []),
                node.body[0],
            )
        )
    if rebound := sorted(rewriter.foreign - rewriter.nonlocals):
        cells = ast.Lambda(
            ast.arguments([], [], None, [], [], None, []), ast.Tuple([load(n) for n in rebound], ast.Load())
        )
        lead.append(at(ast.Expr(hook("owns", cells)), node.body[0]))
    node.body = [*head, *lead, *body]
    return node


__all__ = ["FUNCTIONS", "rewrite_function"]
