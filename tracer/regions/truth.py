"""`and`, `or`, `not` and chained comparisons of what may be traced."""



from ...ir.ops import OPS
from ..values.array import TracedScalar
from ..values.poison import Poison
from ..values.storage import current_trace
from .branch import choose, decided
from .builtins import truth
from .objects import asked


def both(a, b):
    """`a and b`."""
    test = asked(a)
    known = decided(test)
    if known is None:
        return choose(test, b, lambda: a)
    return b() if known else a


def either(a, b):
    """`a or b`."""
    test = asked(a)
    known = decided(test)
    if known is None:
        return choose(test, lambda: a, b)
    return a if known else b()


def both_hold(a, b):
    """`a and b` in a test, which asks whether it holds: what else the operands are needs no merging."""
    test = asked(a)
    known = decided(test)
    if known is None:
        return choose(test, lambda: truth_of(b()), lambda: False)
    return b() if known else a


def either_holds(a, b):
    """`a or b` in a test."""
    test = asked(a)
    known = decided(test)
    if known is None:
        return choose(test, lambda: True, lambda: truth_of(b()))
    return a if known else b()


def truth_of(a):
    """bool(a), also of a traced value."""
    a = asked(a)
    known = decided(a)
    return truth(a) if known is None else known


def one_thing(x):
    """`x` itself, whose identity or kind is asked for: data must not have left it one of several things."""
    if type(x) is Poison:
        x.fail()
    trace = current_trace()
    if trace is not None and isinstance(x, list | dict):
        trace.root.outside.identified = True
    return x


def negated(a):
    """`not a`."""
    a = asked(a)
    known = decided(a)
    return TracedScalar(OPS["not"](truth(a).value), bool) if known is None else not known


def chain(left, *steps):
    """`a < b < c`: each operand evaluated once, none after the first comparison that fails."""
    test, right = steps[0], steps[1]()
    result = test(left, right)
    return result if len(steps) == 2 else both(result, lambda: chain(right, *steps[2:]))
