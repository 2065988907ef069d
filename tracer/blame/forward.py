"""Births in the order of the program, whether they arrive in a result or not: the first, as `np.errstate(...="raise")`
has it, or all lines with one, as NumPy's warnings have them."""

import numpy as np

from ...ir.core import Builder
from ...ir.ops.control import evaluate
from ...ir.walk import every_equation
from ..guards.float_errors import risky
from .flags import INSIDE, BirthFlags, births, is_quiet
from .iterations import one_place
from .replay import branch_taken, lane, loop_parts, value_at
from .walk import Birth, LoopTrip, PathStep, first_place
from .words import numpy_warning


def first_birth(replay, func, operands, words, trips=(), of=None):
    """-> (the word, the first Birth in `func`, regions included), or None. of: that of one instruction alone, as a
    Source."""
    env = dict(zip(func.params, operands, strict=True))
    for eqn in func.eqns:
        xs = [value_at(x, env) for x in eqn.operands]
        if eqn.op.name in INSIDE:
            found = first_inside(replay, eqn, xs, words, trips, of)
        env.update(zip(eqn.results, replay.run(eqn, xs), strict=True))
        if eqn.op.name not in INSIDE:
            asked = words if of is not None else [w for w in words if not is_quiet(eqn, w)]
            found = birth_of(eqn, xs, [env[r] for r in eqn.results], asked, trips) if is_of(eqn, of) else None
        if found is not None:
            return found
    return None


def birth_of(eqn, xs, results, words, trips):
    """What one equation bears on arrays -> (word, Birth), or None."""
    if not words or not risky(eqn):
        return None
    with Builder("births") as build:
        given = [build.param(x.type) for x in eqn.operands], [build.param(r.type) for r in eqn.results]
        told = list(births(eqn, *given, words))
    with np.errstate(all="ignore"):
        masks = evaluate(build.finish([mask for _, _, mask in told]), [*xs, *results])
    for (word, k, _), mask in zip(told, masks, strict=True):
        if not np.any(mask):
            continue
        bad = mask if np.ndim(mask) == results[k].ndim else ~np.isfinite(results[k])
        step = PathStep(eqn, k, first_place(np.asarray(bad)), trips)
        return word, Birth(step, tuple(xs), results[k], (step,))
    return None


def first_inside(replay, eqn, xs, words, trips, of):
    """The same of the regions that an equation runs."""
    name, attrs = eqn.op.name, eqn.attrs
    if name == "cond":
        return first_birth(replay, branch_taken(eqn, xs[0]), xs[1:], words, trips, of)
    if name in ("call", "apart"):
        return first_birth(replay, attrs["body"], xs, words, trips, of)
    if name == "map":
        for k in range(attrs["size"]):
            inside = (*trips, LoopTrip(eqn, k, (), True))
            found = first_birth(replay, attrs["body"], lane(eqn, xs, k), words, inside, of)
            if found is not None:
                return found
        return None
    flags = BirthFlags(words, key=None if of is None else lambda e, word: 0 if is_of(e, of) else None)
    trip = int(replay.compiled(("first", eqn, words, of), lambda: flags.first_trip(eqn), xs)[0])
    if trip < 0:
        return None
    given = [np.int64(trip), *loop_parts(eqn, xs)[1], *replay.state(eqn, xs, trip)]
    inside = (*trips, LoopTrip(eqn, trip, tuple(given), False))
    return first_birth(replay, attrs["body"], given, words, inside, of)


def is_of(eqn, source):
    """Whether an equation is what the instruction itself computes: any if that is None."""
    if source is None:
        return True
    return eqn.source is not None and not eqn.source.mark and one_place(eqn.source, source)


def warned_lines(replay, func, operands, words):
    """[(file, line, the text of NumPy's warning)] of all that is born, in order of the program."""
    keys = {}

    def key(eqn, word):
        if eqn.source is None or is_quiet(eqn, word):
            return None
        more = ", in the derivative of this line" if eqn.source.mark else ""
        at = eqn.source.file, eqn.source.line, numpy_warning(word, eqn) + more
        return keys.setdefault(at, len(keys))

    for eqn in every_equation(func):
        for word in words if risky(eqn) else ():
            key(eqn, word)
    program = BirthFlags(words, len(keys), key).program(func)
    flags = replay.results(program, operands)[len(func.results) :]
    return [at for at, flag in zip(keys, flags, strict=True) if flag]
