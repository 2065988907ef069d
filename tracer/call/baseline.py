"""What answers a call while no program is to be waited for: plain Python, or where a derivative has none, its program
as generated NumPy."""

import numpy as np

from ...backends.numpy import callable_of
from ...ir.types import type_of
from ..capture.signature import kind_for
from ..guards import isolation
from ..values.acting import acts

MOST = 32  # bound: traces of one signature that are kept for this


def answer(entry, world, leaves, given):
    """The result of a call. world: makes the World of a trace."""
    if entry.compiled.plain is not None:
        return entry.uncaptured(leaves, given)
    found = interpreted(entry, world, leaves) if entry.numpy else None
    if found is not None:
        here, version, everything = found
        return entry.settle(here, version, results(version, everything), everything, given)
    isolation.waits()
    with isolation.waiting():
        return entry.first(*leaves, given=given)


def interpreted(entry, world, leaves, here=None):
    """-> (World, Version, all it takes) of a trace for these leaves; None for one that acts on the world, or chooses by
    value. here: the set of traces that the compiled call would be of, for which such a one is kept."""
    kinds = [kind_for(x, n) for x, n in zip(leaves, entry.names)]
    types = tuple(k.type for k in kinds)
    for known in entry.interpreted:
        if any(v.types == types for v in known.versions) and known.serves(types):
            everything = [*leaves, *known.gather()]
            version = known.version(tuple(type_of(x) for x in everything))
            if version is not None:
                return known, version, everything
    reason = "its results were needed before it was compiled"
    version = entry.of_family(here, types, reason) or entry.trace(kinds, types, reason, leaves)
    if version.assumed or version.captured.outside.draws or next(acts(version.func), None) is not None:
        entry.ahead = entry.ahead if here is None else version
        return None
    made = world(entry.compiled, version.rules)
    made.add(version)
    entry.interpreted[MOST - 1 :] = [made]
    return made, version, [*leaves, *made.gather()]


def results(version, everything):
    """What the program gives, as generated NumPy, in arrays of their own."""
    version.interpreted = version.interpreted or callable_of(version.func)
    operands = [
        np.asarray(everything[i], p.type.dtype) for i, p in zip(version.places, version.func.params, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = version.interpreted(*operands)
    return tuple(np.array(x, r.type.dtype, order="C") for x, r in zip(found, version.func.results, strict=True))
