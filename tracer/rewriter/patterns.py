"""Class patterns of `match`: Python asks from C which class a thing is of, where no hook is.

A case whose pattern is a class alone, `case np.ndarray():`, or several such, becomes a guard that asks `isinstance`,
which has a hook. What other cases ask is told to the hook of what is matched.
"""

import ast

from ...ir.syntax import nodes_of
from .expressions import at, hook


def is_class_alone(pattern):
    """Whether a pattern asks for nothing but a class, or one of several."""
    if isinstance(pattern, ast.MatchOr):
        return all(map(is_class_alone, pattern.patterns))
    return isinstance(pattern, ast.MatchClass) and not (pattern.patterns or pattern.kwd_patterns)


def classes(pattern):
    return pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]


def guarded(case, subject, visit):
    """A case whose pattern is a class alone, as one with a guard. subject: the expression of what is matched."""
    asked = [visit(part.cls) for p in classes(case.pattern) for part in classes(p)]
    test = at(hook("is_instance", subject, at(ast.Tuple(asked, ast.Load()), case.pattern)), case.pattern)
    case.guard = test if case.guard is None else at(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
    case.pattern = at(ast.MatchAs(None, None), case.pattern)


def questions_of(patterns):
    """What patterns ask: words of `matched` (`regions/patterns.py`)."""
    tops = [p for pattern in patterns for p in classes(pattern)]
    own = [p for p in tops if isinstance(p, ast.MatchClass) or isinstance(p, ast.MatchAs) and p.pattern is not None]
    inner = [n for p in tops for n in nodes_of(p) if n is not p]
    everything = [n for p in patterns for n in nodes_of(p)]
    singletons = any(isinstance(n, ast.MatchSingleton) and type(n.value) is bool for n in everything)
    return [
        *(["singletons"] if singletons else []),
        *(["class"] if any(isinstance(p, ast.MatchClass) or _holds_class(p) for p in own) else []),
        *(["parts"] if any(isinstance(n, ast.MatchClass) for n in inner) else []),
    ]


def _holds_class(pattern):
    return any(isinstance(n, ast.MatchClass) for n in nodes_of(pattern))
