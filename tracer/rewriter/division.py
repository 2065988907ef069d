"""A function divided at a statement: what stands before, behind and inside it becomes functions of their own.

Where one statement cannot be captured, the others can. They are gathered into pieces: runs of statements, each a
function of the variables it reads that gives back those it assigns. The statement itself, and whatever may not be
moved, stays where it is. A piece keeps the user's lines, and `find` knows its syntax tree.
"""

import ast
import copy
import types

from ...ir.syntax import nodes_of
from .find import MADE, build, find
from .names import FRAME, SPACE, Liveness, bound, declared, in_handlers, looks, names_read, walk

FIXED = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.NamedExpr, ast.AsyncFor, ast.AsyncWith,
    ast.With, ast.Try, ast.TryStar, ast.Match,
)  # fmt: skip
LOOPS = ast.For, ast.While
WORK = ast.BinOp, ast.Call, ast.Compare, ast.Subscript
OPERATIONS = 12  # bound: of such a piece without a loop; a call of a piece costs some microseconds


class MovedPiece:
    """function: what runs the statements; lines: the first and the last of the user's."""

    def __init__(self, function, lines):
        self.function, self.lines = function, lines


def divide(function, line, compiled):
    """-> (a function that does the same, [MovedPiece]), the pieces compiled; None where there is nothing to divide.

    line: of the user's file, on which the statement stands that is not captured; compiled: MovedPiece -> what is called
    in its place.
    """
    code = function.__code__
    found = find(code, function.__globals__)
    if found is None or not isinstance(found[0], ast.FunctionDef) or code.co_flags & 0x2A0 or looks(found[0]):
        return None  # a lambda, a generator or a coroutine, or it looks at its own variables
    node, private, imports = found
    division = Division(node, line, code)
    body = division.block(node.body, set(division.parameters), inside=False)
    if not division.runs:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    pieces = []
    for name, ins, outs, statements in division.runs:
        tree = piece_of(node, ins, outs, statements)
        part = function_of(function, tree, private, imports, cells)
        MADE[id(part.__code__)] = part.__code__, tree, private, imports
        pieces.append(MovedPiece(part, (statements[0].lineno, statements[-1].end_lineno)))
        cells[name] = types.CellType(compiled(pieces[-1]))
    whole = copy.copy(node)
    whole.body = body
    result = function_of(function, whole, private, imports, cells)
    result.__defaults__, result.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    result.__doc__ = function.__doc__
    return result, pieces


def function_of(function, node, private, imports, cells):
    """The function of a node, with the globals and the enclosing variables of another."""
    old = function.__code__
    extra = [n for n in cells if n not in old.co_freevars]
    code = build(node, private, imports, old, extra).replace(co_qualname=old.co_qualname)
    closure = tuple(cells[n] for n in code.co_freevars)
    result = types.FunctionType(code, function.__globals__, function.__name__, None, closure)
    result.__module__ = function.__module__
    return result


def piece_of(node, ins, outs, statements):
    """The node of a piece."""
    first, last = statements[0], statements[-1]
    names = [ast.Name(n, ast.Load()) for n in outs]
    end = ast.Return(ast.Tuple(names, ast.Load()))
    for part in (end, end.value, *names):
        ast.copy_location(part, last)
    args = ast.arguments([], [ast.copy_location(ast.arg(n), first) for n in ins], None, [], [], None, [])
    new = ast.FunctionDef(
        name=node.name, args=args, body=[*statements, end], decorator_list=[], returns=None, type_comment=None
    )
    return ast.copy_location(new, first)


class Division:
    """What becomes of the statements of one function. runs: [(name, names taken, names given back, statements)]."""

    def __init__(self, node, line, code):
        self.line, self.runs = line, []
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        self.parameters = [p.arg for p in every]
        self.elsewhere = declared(node.body, ast.Global) | declared(node.body, ast.Nonlocal)
        self.local = (bound(node.body) | set(self.parameters)) - self.elsewhere
        # functions inside may read variables whenever they run
        self.flow = Liveness(node.body, (), {*code.co_cellvars, *in_handlers(node.body)}, names_read)
        self.functions = {
            n.name for n in walk(node.body) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        } | {
            t.id
            for n in walk(node.body)
            if isinstance(n, ast.Assign) and isinstance(n.value, ast.Lambda)
            for t in n.targets
            if isinstance(t, ast.Name)
        }

    def block(self, statements, defined, inside):
        """The statements with pieces in them. defined: names that are surely assigned before, and then behind."""
        out, run, before = [], [], set()

        def close():
            if run:
                out.extend(self.piece(list(run), before, inside))
                run.clear()

        for s in statements:
            if s.lineno <= self.line <= s.end_lineno:
                close()
                out.append(self.opened(s, set(defined), inside))
            elif self.movable(s):
                before = before if run else set(defined)
                run.append(s)
            else:
                close()
                out.append(s)
            defined |= definite([s])
        close()
        return out

    def opened(self, s, defined, inside):
        """The statement that stays, with pieces in the blocks that it is made of."""
        if not isinstance(s, (*LOOPS, ast.If, ast.With)):
            return s
        new = copy.copy(s)
        inside = inside or isinstance(s, LOOPS)
        if isinstance(s, ast.For):
            defined = defined | bound([s.target])
        new.body = self.block(s.body, set(defined), inside)
        if isinstance(s, ast.If):
            new.orelse = self.block(s.orelse, set(defined), inside)
        return new

    def movable(self, s):
        """Whether a statement means the same in a function of its own."""
        names = {n.id for n in nodes_of(s) if isinstance(n, ast.Name)}
        return not (
            any(isinstance(n, FIXED) or isinstance(n, ast.Attribute) and n.attr in FRAME for n in nodes_of(s))
            or leaves(s)
            or names & {*SPACE, "globals", "super", "__class__", *self.functions}
            or bound([s]) & self.elsewhere
        )

    def piece(self, run, defined, inside):
        """The statements, or the call of a piece that stands for them."""
        below = [n for s in run for n in nodes_of(s)]
        looped = any(isinstance(n, LOOPS) for n in below)
        if not looped and (inside or sum(isinstance(n, WORK) for n in below) < OPERATIONS):
            return run
        outs = sorted(bound(run) & self.flow.after[run[-1]])
        ins = sorted(Liveness(run, outs, (), names_read).first & self.local)
        if not defined.issuperset(ins):
            return run
        name = f"@piece{len(self.runs)}"
        self.runs.append((name, ins, outs, run))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in ins], [])
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in outs], ast.Store())
        new = ast.Assign([target], call) if outs else ast.Expr(call)
        for part in nodes_of(new):
            ast.copy_location(part, run[0])
        return [new]


def leaves(s):
    """Whether a `break` or `continue` in a statement is of a loop around it."""
    below = walk([s], lambda n: not isinstance(n, LOOPS))
    return not isinstance(s, LOOPS) and any(isinstance(n, ast.Break | ast.Continue) for n in below)


def definite(statements):
    """The names that statements assign whatever way they go."""
    found = set()
    for s in statements:
        if isinstance(s, ast.If):
            found |= definite(s.body) & definite(s.orelse)
        elif isinstance(s, ast.With):
            found |= definite(s.body) | {
                n.id for i in s.items if i.optional_vars for n in nodes_of(i.optional_vars) if isinstance(n, ast.Name)
            }
        elif isinstance(s, ast.AnnAssign):
            found |= bound([s.target]) if s.value else set()
        elif isinstance(s, ast.Assign | ast.AugAssign | ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            found |= bound([s])
    return found
