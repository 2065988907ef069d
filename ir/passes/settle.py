"""Parameters that are numbers after all."""

from __future__ import annotations

from collections.abc import Mapping

from ..core import Atom, Eqn, Func, Lit, Value
from ..op import FLOAT, INTEGER
from ..ops.elementwise import cast
from ..ops.shape import broadcast, reshape


def settled_sizes(func: Func, known: Mapping[Atom, Lit]) -> Func:
    """`func` without the parameters in `known`, which are these numbers.

    Nothing is computed of them but their casts from integers and what repeats them in a shape, so that functions that
    differ in the numbers alone still do. All other equations stay, also those that are of numbers alone.
    """
    env: dict[Atom, Atom] = {**known}
    eqns: list[Eqn] = []
    for eqn in func.eqns:
        operands = tuple([env.get(x, x) for x in eqn.operands])
        number = operands[0] if operands else None
        if isinstance(number, Lit) and _repeats(eqn, number):
            env[eqn.results[0]] = Lit(number.value, eqn.results[0].type)
        elif operands == eqn.operands:
            eqns.append(eqn)
        else:
            new = Eqn(eqn.op, operands, eqn.attrs, (), eqn.source)
            new.results = tuple([Value(r.type, new, r.hint) for r in eqn.results])
            env.update(zip(eqn.results, new.results, strict=True))
            eqns.append(new)
    return Func(func.name, [p for p in func.params if p not in known], eqns, [env.get(r, r) for r in func.results])


def _repeats(eqn: Eqn, number: Lit) -> bool:
    """Whether an equation is the same number in another type, or at every place of another shape."""
    if eqn.op is cast:
        return number.type.kind in INTEGER and eqn.results[0].type.kind == FLOAT
    return eqn.op in (broadcast, reshape)
