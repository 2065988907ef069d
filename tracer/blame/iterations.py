"""Which iteration of the user's loop a trip of a program's loop is.

On the way there the two are one. On the way back trips come in reverse, and a loop that keeps checkpoints is two, of
stretches and of the trips of one; its equations, marked as a derivative's, compute the number. What is computed of it
at the loop's own line without that mark is the variable of `for i in range(...)`.
"""

import ast
from typing import NamedTuple

from ...ir.core import Lit
from ...ir.ops.control import COUNTER
from .spelling import loop_variable, written_number


class Iteration(NamedTuple):
    """source: of the loop; at: the iteration, from 0; name, value: the variable over a range, None where there is none;
    back: whether on the way back."""

    source: object
    at: int
    name: str | None
    value: int | None
    back: bool


def iterations(trips):
    """The Iterations of the loops around a birth, outermost first: of LoopTrips."""
    found = []
    trips = [t for t in trips if not t.lane]
    for k, trip in enumerate(trips):
        within = k + 1 < len(trips) and one_place(trip.eqn.source, trips[k + 1].eqn.source)
        if not within:
            inside = k > 0 and one_place(trips[k - 1].eqn.source, trip.eqn.source)
            found.append(iteration(trip, inside))
    return found


def one_place(a, b):
    return a is not None and b is not None and a.code is b.code and a.lasti == b.lasti


def iteration(trip, inside):
    """The Iteration of one. inside: whether it is one of a stretch of trips."""
    body, source = trip.eqn.attrs["body"], trip.eqn.source
    if source is None:
        return Iteration(None, trip.number, None, None, False)
    known = {p: int(x) for p, x in zip(body.params, trip.given) if p.type is COUNTER}
    counter, at = body.params[0], trip.number
    if source.mark:
        counter, at = followed(body, source, known, counter, True)
        if at is None:
            return Iteration(source, trip.number, None, None, True)
    elif inside:
        at = next((known[p] for p in body.params if p in known and is_counted(body, source, p)), at)
    name, over = loop_variable(source) or (None, None)
    value = None if over is None else ranged(over, at)
    if over is not None and value is None:
        last, value = followed(body, source, known, counter, False)
        value = None if last is counter else value  # where nobody reads the variable it may not be computed
    return Iteration(source, at, name if value is not None else None, value, bool(source.mark))


def ranged(over, at):
    """The variable of a loop over a `range` of these arguments, in an iteration; None where none are written."""
    if not over or any(isinstance(x, ast.Starred) for x in over):
        return None
    start, step = written_number(over[0]), 1 if len(over) < 3 else written_number(over[2])
    if len(over) == 1:
        return at
    return None if start is None or step is None else start + at * step


def followed(body, source, known, counter, marked):
    """(the last number that the line of the loop computes of `counter`, what it is); None where it cannot be told.
    known: what numbers are, to which those come that are worked out."""
    of, last = {counter}, counter
    for eqn in body.eqns:
        here = eqn.source is not None and one_place(eqn.source, source) and bool(eqn.source.mark) == marked
        more = not marked and eqn.op.name == "add" and eqn.operands == (counter, Lit(1, COUNTER))  # for the next trip
        if more or not here or len(eqn.results) != 1 or eqn.results[0].type is not COUNTER or eqn.regions():
            continue
        if not all(isinstance(x, Lit) or x in known for x in eqn.operands):
            if of.intersection(eqn.operands):
                return last, None
            continue
        value = eqn.op.body(*[x.value if isinstance(x, Lit) else known[x] for x in eqn.operands], **eqn.attrs)
        known[eqn.results[0]] = int(value)
        if of.intersection(eqn.operands):
            last = eqn.results[0]
            of.add(last)
    return last, known[last]


def is_counted(body, source, p):
    """Whether the line of the loop adds 1 to a carried number, trip by trip."""
    return any(
        e.op.name == "add" and one_place(e.source, source) and p in e.operands and Lit(1, COUNTER) in e.operands
        for e in body.eqns
    )
