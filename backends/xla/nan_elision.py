"""Extremes that need not carry NaN, because it comes back without them: `exp(x - max(x))` over its own sum is NaN with
x.

Where one element is NaN, NumPy's maximum is NaN; XLA's CPU compiler loses it in large arrays, and a maximum that
carries it costs (`reduction.with_nan`). Call an index along the axes that stay *bad* if x has NaN there. A maximum
without NaN is wrong at bad indices only. What is computed from it is followed through the function, as one of these:

    WRONG      may be another number at bad indices
    PARTLY     so too, but NaN wherever x is
    ANYWHERE   wrong at other places too, if there is a bad index at all
    SOMEWHERE  so too, but then with a NaN somewhere, as it has to be
    WHOLLY     right, and NaN at bad indices
    WITH       right, and NaN wherever x is

What is PARTLY NaN is WHOLLY so once it is summed along the axes of the maximum, and most ops keep the NaN of an
operand. What is nothing of these is right. Where all that is returned is right, any number will do where an element is
NaN.
"""

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.ops.indexing import gather
from ...ir.ops.linalg import dot_general
from ...ir.ops.reduction import reduce_max, reduce_min, reduce_sum
from ...ir.ops.shape import broadcast, reshape

WRONG, PARTLY, ANYWHERE, SOMEWHERE, WHOLLY, WITH = range(6)
RIGHT = None, WHOLLY, WITH
NOTHING = None, None
LOST = {OPS[name] for name in ("maximum", "minimum", "clamp")}  # what XLA may lose NaN in
KEEP_NAN = {op for op in OPS.values() if "elementwise" in op.traits and "masks_nan" not in op.traits} - LOST
FIRST_KEEPS_NAN = {OPS["strong_mul"]}  # that of the first operand


def restored(func):
    """The extremes of floats in `func` for which any number will do where an element is NaN."""
    found = {
        k: e
        for k, e in enumerate(func.eqns)
        if e.op in (reduce_max, reduce_min) and isinstance(e.operands[0], Value) and e.attrs["axes"]
    }
    found = {k: eqn for k, eqn in found.items() if eqn.operands[0].type.kind == "f"}
    last = {x: k for k, eqn in enumerate(func.eqns) for x in eqn.operands} if found else {}
    return [eqn for k, eqn in found.items() if comes_back(func, eqn, k, last)]


def comes_back(func, extreme, place, last):
    """last: {value: the place of the last equation that reads it}"""
    (x,), axes = extreme.operands, extreme.attrs["axes"]
    stay = tuple(a for a in range(x.type.ndim) if a not in axes)
    # (what it is, the axis of x along each of its own or None)
    known = {extreme.results[0]: (WRONG, stay), x: (WITH, tuple(range(x.type.ndim)))}
    end = last.get(extreme.results[0], place)
    while place < end:
        place += 1
        eqn = func.eqns[place]
        read = [known.get(y, NOTHING) for y in eqn.operands]
        if all(found is NOTHING for found in read):
            continue
        found = transfer(eqn, read, axes, stay)
        if found is not None and len(eqn.results) == 1:
            known[eqn.results[0]] = found
            end = max(end, last.get(eqn.results[0], place)) if found[0] not in RIGHT else end
        elif any(kind not in RIGHT for kind, _ in read):
            return False
    return all(known.get(r, NOTHING)[0] in RIGHT for r in func.results)


def transfer(eqn, read, axes, stay):
    """What an equation makes of what it reads, and the axes of x along its own; None if that is not known."""
    kind, along = read[0]
    if eqn.op is broadcast and kind in (WRONG, WHOLLY):
        dims = eqn.attrs["dims"]
        return kind, tuple(along[dims.index(d)] if d in dims else None for d in range(len(eqn.attrs["shape"])))
    if eqn.op is reshape and kind in (WRONG, WHOLLY):
        return reshaped_axes(kind, along, eqn.operands[0].type.shape, eqn.results[0].type.shape)
    if eqn.op is reduce_sum:
        return (
            NOTHING
            if kind == SOMEWHERE and not eqn.results[0].type.shape
            else summed(kind, along, eqn.attrs["axes"], axes, stay)
        )
    if eqn.op is dot_general:
        parts = [
            kind == PARTLY and {*axes} <= {*over} for (kind, _), over in zip(read, eqn.attrs["contract"], strict=True)
        ]
        return (
            NOTHING if any(part and other[0] in RIGHT for part, other in zip(parts, read[::-1], strict=True)) else None
        )
    if eqn.op is gather:
        return (ANYWHERE, None) if kind in (WRONG, PARTLY) and read[1] is NOTHING else None
    return elementwise_nans(eqn.op, read, stay) if "elementwise" in eqn.op.traits else None


def reshaped_axes(kind, along, before, after):
    """Axes of one element come and go."""
    kept = [(n, a) for n, a in zip(before, along) if n != 1]
    if [n for n, _ in kept] != [n for n in after if n != 1] or any(
        a is not None for n, a in zip(before, along) if n == 1
    ):
        return None
    left = iter(kept)
    return kind, tuple(None if n == 1 else next(left)[1] for n in after)


def summed(kind, along, over, axes, stay):
    if kind in (PARTLY, WITH) and {*axes} <= {*over}:
        return (WHOLLY, stay) if {*axes} == {*over} else NOTHING
    if kind == WRONG and all(along[a] is None for a in over):
        return WRONG, tuple(a for k, a in enumerate(along) if k not in over)
    return None


def elementwise_nans(op, read, stay):
    """An elementwise op."""
    keeping = {kind for kind, _ in (read if op in KEEP_NAN else read[:1] if op in FIRST_KEEPS_NAN else ())}
    kinds = {kind for kind, _ in read}
    if kinds & {ANYWHERE, SOMEWHERE}:
        return SOMEWHERE if keeping & {WHOLLY, SOMEWHERE} else ANYWHERE, None
    lies = [along for kind, along in read if kind is not None]
    places = {tuple(along.index(a) if a in along else None for a in stay) for along in lies}
    if len(places) > 1 or None in next(iter(places)):
        return None
    outer = tuple(a if a in stay else None for a in lies[0])
    if WHOLLY in keeping:
        return WHOLLY, outer
    wrong = not kinds <= {*RIGHT}
    if keeping & {PARTLY, WITH}:
        return PARTLY if wrong else WITH, tuple(range(len(outer)))
    return (WRONG, outer) if wrong else NOTHING
