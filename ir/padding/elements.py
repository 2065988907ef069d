"""Elementwise ops in room: what is in a tail stays there, and what is computed of known numbers is one."""

import numpy as np

from ..op import OPS, Cost
from ..ops.elementwise import and_, mul, or_, select, strong_mul
from ..ops.external import pointwise
from .building import ROOM, refuse
from .moving import lying_as
from .tails import Roomy, same_number

SIMPLE = 1 << 20  # bound: whole numbers up to it are computed with the same whatever is rounded together


def elementwise(scope, eqn, *xs):
    """Junk is computed with, and stays in the tail."""
    layout = common_layout(scope, eqn, xs)
    xs = [lying_as(scope, eqn, x, layout) for x in xs]
    value = eqn.op(*[x.value for x in xs], **scope.attrs(eqn))
    free = frozenset.intersection(*[x.free for x in xs])
    ends = {a: c for a in range(len(layout)) if (c := end_of(eqn, [x.ends.get(a) for x in xs])) is not None}
    return [Roomy(value, layout, ends, free)]


def common_layout(scope, eqn, xs):
    """How the elements of all operands can lie: as those do that have them in memory."""
    layout = []
    for a in range(len(xs[0].axes)):
        found = {x.axes[a] for x in xs if a not in x.free}
        layout.append(found.pop() if len(found) == 1 else xs[0].axes[a] if not found else plain_of(scope, eqn, a))
    return tuple(layout)


def plain_of(scope, eqn, axis):
    return (scope.dims(eqn.results[0])[axis],)


def end_of(eqn, ends):
    """The number in a tail of a result, for those in the tails of its operands; None where it is not known."""
    known = [c for c in ends if c is not None]
    if len(known) < len(ends):
        return decided(eqn.op, ends, eqn.results[0].type.dtype)
    if eqn.op.cost >= Cost.FUNCTION and not all(map(simple, known)):
        return None
    with np.errstate(all="ignore"):
        made = np.asarray(eqn.op.body(*known, **eqn.attrs)).astype(eqn.results[0].type.dtype)[()]
    return made if simple(made) or (eqn.op is select or len(known) == 1 and same_number(made, known[0])) else None


def decided(op, ends, dtype):
    """What one operand decides alone: the side that is chosen, and products with zero where there is no NaN."""
    zero = any(c is not None and c == 0 for c in ends)
    if op is select and ends[0] is not None:
        return ends[1 if ends[0] else 2]
    if op is strong_mul and ends[0] is not None and ends[0] == 0:
        return np.zeros((), dtype)[()]
    if op in (and_, mul) and dtype.kind in "biu" and zero:
        return np.zeros((), dtype)[()]
    if op is or_ and dtype == bool and any(c is not None and c for c in ends):
        return np.bool_(True)
    return None


def simple(number):
    """Whether all ways to compute with a number agree: a small whole one, an infinity, NaN."""
    if number.dtype.kind == "c":
        return simple(number.real) and simple(number.imag)
    return number.dtype.kind in "biu" or not np.isfinite(number) or (number == np.round(number) and abs(number) < SIMPLE)


def on_the_host(scope, eqn, *xs):
    refuse(eqn, "a function of the host's is not called with what is in tails")


ROOM.add({op: on_the_host if op is pointwise else elementwise for op in OPS.values() if "elementwise" in op.traits})
