"""What reverse mode keeps of a program for its way back: the residuals, and the user's line that made each."""

from ...ir.core import Value
from ...ir.cost import bytes_in
from ...ir.op import OPS
from ...ir.source import code_place
from ..plan.reverse import residual_values

LOOP, MAP = OPS["loop"], OPS["map"]
STORED = {OPS["dynamic_update_slice"]: 1, OPS["reshape"]: 0}  # ops by which a trip saves a value: the operand it is


def residuals_of(func):
    """[(value, the value that it is of, bytes)] of the residuals in the function itself: a result of a loop that keeps
    a value of each trip is of that value, in the loop's body."""
    return [(x, within_body(x), bytes_in(x.type)) for x, _ in residual_values(func)]


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
    return one.source is not None and other.source is not None and code_place(one.source) == code_place(other.source)
