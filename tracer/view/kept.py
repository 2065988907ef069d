"""What reverse mode keeps of a program for its way back: the residuals, and the user's line that made each."""

from ...ir.core import Value
from ...ir.op import OPS
from .tables import mark_of

LOOP, MAP = OPS["loop"], OPS["map"]
STORED = {OPS["dynamic_update_slice"]: 1, OPS["reshape"]: 0}  # ops by which a trip saves a value: the operand it is


def residuals_of(func):
    """[(value, the value that it is of, bytes)] of what equations of the user's make and adjoint ones read, in the
    function itself: a result of a loop that keeps a value of each trip is of that value, in the loop's body."""
    found = {}
    for eqn in func.eqns:
        for x in eqn.operands if mark_of(eqn.source) == "vjp" else ():
            if isinstance(x, Value) and x.eqn is not None and mark_of(x.eqn.source) == "":
                found[x] = within_body(x), x.type.size * x.type.dtype.itemsize
    return [(x, inner, size) for x, (inner, size) in found.items()]


def within_body(value):
    """A value, or of a result of a loop or map the one in its body that it is made of."""
    eqn = value.eqn
    if eqn.op not in (LOOP, MAP):
        return value
    last = eqn.attrs["body"].results[eqn.results.index(value)]
    while isinstance(last, Value) and last.eqn is not None and last.eqn.op in STORED and same_line(last.eqn, eqn):
        last = last.eqn.operands[STORED[last.eqn.op]]
    if not isinstance(last, Value) or last.eqn is None or last.eqn.source is None:
        return value
    return within_body(last)


def same_line(one, other):
    """Whether two equations are of one line: what saves a value in a loop is of the loop's own."""
    return one.source is not None and other.source is not None and str(one.source) == str(other.source)
