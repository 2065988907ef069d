"""`finally` in rewritten code: it is the function's alone, and it follows what data raise as well."""

import ast

from ...ir.syntax import nodes_of
from .expressions import at, hook

JUMPS = (ast.Return, ast.Break, ast.Continue)
DOES = (ast.Call, ast.Subscript, ast.Raise, ast.With, ast.Try, ast.Yield, *JUMPS)


def after_all(s, final):
    """A `try` of which all but the `finally` is rewritten, with that, `final`, rewritten.

    What says that tracing cannot go on is not ended by it: it only puts things back then. Where it does more than to
    leave values in names, a program that raises in the `try` leaves the call to Python.
    """
    does = {type(n) for part in s.finalbody for n in nodes_of(part)}
    if not does.isdisjoint(DOES):
        inside, s.finalbody = [s] if s.handlers else s.body, []
        s = at(ast.Try([at(ast.With([ast.withitem(at(hook("finishing"), s))], inside), s)], [], [], []), s)
    if does.isdisjoint(JUMPS):
        kinds = at(hook("unwinding", ast.Constant(True)), final[0])
        quiet = at(ast.ExceptHandler(kinds, None, [at(ast.Pass(), final[0])]), final[0])
        s.finalbody = [at(ast.Try(final, [quiet], [], []), final[0])]
    else:
        unwound = at(ast.UnaryOp(ast.Not(), hook("unwinding")), final[0])
        s.finalbody = [at(ast.If(unwound, final, []), final[0])]
    return s
