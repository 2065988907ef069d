"""Integers of a differentiated function that depend on nothing it is differentiated by, or on the point alone: taken by
value in the trace around it, where a call's data are known.

A function that is differentiated has no plain Python to go on as where a part of it is not captured. So where the
length of a selection stands in the way, the trace begins again, and takes such lengths by value; a call in which
another is meant has a trace of its own.
"""

from ...ir.core import Lit
from . import speculate
from .storage import current_trace

LENGTHS = "lengths"  # among what is wanted by value


def differentiated(trace):
    """Whether a trace is of a function that is differentiated, or within one."""
    while trace is not None and trace.parent is not None:
        if trace.given:
            return True
        trace = trace.parent
    return False


def demand_lengths(error):
    """Begin again with lengths taken by value, where that may help; raise `error` where it has been tried."""
    prefer_lengths(error)
    raise error


def prefer_lengths(cause=None):
    """Begin again with lengths taken by value, where that may help and has not been tried."""
    trace = current_trace()
    made = trace.root.choices if trace is not None else None
    if made is not None and LENGTHS not in made.wanted and differentiated(trace):
        raise made.signal(LENGTHS, cause)


def length_by_value(count):
    """The integer scalar `count` as a number, where lengths are wanted by value and it can be had; else None."""
    trace = current_trace()
    made = trace.root.choices
    if made is None or LENGTHS not in made.wanted:
        return None
    outer = in_outermost(count, trace)
    if outer is None:
        return None
    with trace.root:
        return outer.value if isinstance(outer, Lit) else speculate.contents(outer)


def in_outermost(value, trace):
    """The same value in the outermost trace, computed again there; None where it depends on what a loop or branch
    does."""
    while trace.parent is not None and not isinstance(value, Lit):
        known = dict(trace.given) | {p: v for v, p in trace.lifted.items()}
        if trace.region is not None:
            if value not in known:
                return None
            value, trace = known[value], trace.parent
            continue
        eqns, todo = set(), [value]
        while todo:
            x = todo.pop()
            if isinstance(x, Lit) or x in known or x.eqn in eqns:
                continue
            if x.eqn is None or x.eqn.effect:
                return None
            eqns.add(x.eqn)
            todo += x.eqn.operands
        with trace.parent:
            for eqn in trace.build.eqns:
                if eqn in eqns:
                    out = trace.parent.build.emit(eqn.op, [known.get(x, x) for x in eqn.operands], eqn.attrs)
                    known |= zip(eqn.results, out if isinstance(out, tuple | list) else (out,), strict=True)
        value, trace = known[value], trace.parent
    return value
