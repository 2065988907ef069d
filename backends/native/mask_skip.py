"""Masks under which elements matter: where all of a stretch of one is False, nothing need be computed there.

Programs that go on only with some of their elements (those which have not converged, or left) say so by masks:
`select(m, new, old)` leaves an element as it was, and what is joined with m by `and` does not matter where m is False.
"""

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.walk import conjuncts
from .code import IndexForm
from .elements import offset
from .values import Mapped, Memory

SELECT, AND = OPS["select"], OPS["and"]
STRETCH = 64  # elements that are left out together; measured by benchmarks/tune.py
LEAST = 4 * STRETCH  # elements of a row that is worth asking; measured by benchmarks/tune.py


def demands(func):
    """{value: the masks without which it does not matter}, of the truths and floats of a function that only choices and
    elementwise ops read.

    What is not computed is junk, which goes no further than that: no integer, of which indices are made, is computed
    from it.
    """
    found = {r: frozenset() for r in func.results}
    for eqn in reversed(func.eqns):
        r = eqn.results[0]
        after = found.get(r, frozenset()) if "elementwise" in eqn.op.traits and r.type.kind in "bfc" else frozenset()
        for n, x in enumerate(eqn.operands):
            if isinstance(x, Value) and x.type.kind in "bfc":
                needs = after
                if eqn.op is AND or eqn.op is SELECT and n == 1:
                    needs = after.union(m for m in conjuncts(eqn.operands[1 - n]) if isinstance(m, Value))
                found[x] = needs & found.get(x, needs)
    return {x: masks - {x} for x, masks in found.items()}


def states(rep, shape):
    """The memory, as (cell, version), of masks of that shape without all of which a mask is False."""
    if isinstance(rep, Memory) and rep.type.shape == shape and rep.latest:
        return {(rep.cell, rep.reads[rep.cell])}
    return (
        set().union(*(states(x, shape) for x in rep.operands)) if isinstance(rep, Mapped) and rep.op is AND else set()
    )


def changed_under(x, cell):
    """The masks, as `states`, outside of which x is what a cell holds already."""
    if not isinstance(x, Mapped):
        return set()
    there = lambda y: isinstance(y, Memory) and y.cell is cell and y.latest
    if x.op is SELECT and there(x.operands[2]):
        return states(x.operands[0], x.type.shape)
    if x.op is AND:
        return {s for y in x.operands for s in states(y, x.type.shape) if there(y)}
    return set()


def stretches(code, mask, shape, index, bounds, name, body):
    """`body()` for the last index `name` within bounds, without stretches in which a mask, a cell of that shape, is
    False all along."""
    (low, high), t = bounds, code.name()

    def stretch(_):
        first = code.op(f"add nsw i64 {low}, {code.op(f'mul nsw i64 {t}, {STRETCH}')}")
        end = code.least(code.op(f"add nsw i64 {first}, {STRETCH}"), high)
        at = code.value(offset(shape, (*index, IndexForm.of(code.least(first, str(shape[-1] - STRETCH))))))
        place = code.op(f"getelementptr inbounds i8, ptr {mask.pointer}, i64 {at}")
        some = code.op(
            f"icmp ne <{STRETCH} x i8> {code.op(f'load <{STRETCH} x i8>, ptr {place}, align 1')}, zeroinitializer"
        )
        bits = code.op(f"bitcast <{STRETCH} x i1> {some} to i{STRETCH}")
        inside, after = code.label(), code.label()
        code.branch(code.op(f"icmp ne i{STRETCH} {bits}, 0"), inside, after)
        code.begin(inside)
        code.count_up(first, end, lambda _: body() or (), name=name)
        code.jump(after)
        code.begin(after)
        return ()

    length = code.op(f"sub nsw i64 {high}, {low}")
    code.count_up(
        "0", code.op(f"sdiv i64 {code.op(f'add nsw i64 {length}, {STRETCH - 1}')}, {STRETCH}"), stretch, name=t
    )
