"""What reverse mode keeps of a program for its way back: the residuals, and the user's line that made each."""

from ...ir.core import Value
from ...ir.op import OPS
from .tables import mark_of

LOOP, MAP = OPS["loop"], OPS["map"]
STORED = {OPS["dynamic_update_slice"]: 1, OPS["reshape"]: 0}  # ops by which a trip saves a value: the operand it is


def residuals_of(func):
    """[(value, the source that made it, bytes)] of what equations of the user's make and adjoint ones read, in the
    function itself: what regions make stands in the results of their equations, of all trips together."""
    found = {}
    for eqn in func.eqns:
        for x in eqn.operands if mark_of(eqn.source) == "vjp" else ():
            if isinstance(x, Value) and x.eqn is not None and mark_of(x.eqn.source) == "":
                found[x] = maker(x), x.type.size * x.type.dtype.itemsize
    return [(x, source, size) for x, (source, size) in found.items()]


def maker(value):
    """The source of what made a value: of a result of a loop or map, that of the equation in its body."""
    eqn = value.eqn
    if eqn.op not in (LOOP, MAP):
        return eqn.source
    last = eqn.attrs["body"].results[eqn.results.index(value)]
    while isinstance(last, Value) and last.eqn is not None and last.eqn.op in STORED and same_line(last.eqn, eqn):
        last = last.eqn.operands[STORED[last.eqn.op]]
    if not isinstance(last, Value) or last.eqn is None or last.eqn.source is None:
        return eqn.source
    return maker(last)


def same_line(one, other):
    """Whether two equations are of one line: what saves a value in a loop is of the loop's own."""
    return one.source is not None and other.source is not None and str(one.source) == str(other.source)
