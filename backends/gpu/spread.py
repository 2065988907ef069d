"""Loops of which many trips are run at once: a thread, or a block, for each."""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import loop
from ..native.code import llvm_literal, llvm_type
from ..native.interrupts import trips
from ..native.reduce import REDUCTIONS
from ..native.values import NotNative
from .independent import totals

STORE = OPS["dynamic_update_slice"]


def width(func):
    """The most elements that one equation computes."""
    own = (
        eqn.operands[1].type.size if eqn.op is STORE else max((r.type.size for r in eqn.results), default=1)
        for eqn in func.eqns
        if eqn.op is not loop
    )
    inner = (width(region) for eqn in func.eqns for region in eqn.regions())
    return max([1, *own, *inner])


def spread_trips(region, eqn, body, bound, invariants, start, step):
    """The last values of the carried numbers, or None where the trips are run in order."""
    code, nest = region.code, region.nest
    outermost = nest.depth == 0 and nest.form != "block"
    count = trips(eqn.attrs)
    if code.alone and not outermost or count is None:
        return None
    wide = width(body)
    if not outermost and wide > count:
        return None
    nest.known.counter(body.params[0], bound)
    for p, x in zip(body.params[1:], invariants):
        nest.known.same(p, x)
    found = totals(nest.known, body, eqn.attrs["carried"])
    if outermost and (found is None or any(op is not None for op in found.values())):
        raise NotNative("its trips hang together")
    if found is None:
        return None
    nest.spread_out |= outermost
    end = str(bound.value) if isinstance(bound, Lit) else region.element(region.read(bound), ())
    state = eqn.operands[len(eqn.operands) - eqn.attrs["carried"] :]
    dtypes = [x.type.dtype for x in state if not x.type.shape]
    types = [llvm_type(d) for d in dtypes]
    if outermost and nest.form == "blocks":
        with code.often(-(-count // nest.blocks)):
            code.loop((), (), lambda t: code.op(f"icmp slt i64 {t}, {end}"), step, code.block, step=nest.blocks)
        return start
    rules = [None if op is None else REDUCTIONS[op] for op in found.values()]
    first = [x if rule is None else llvm_literal(rule[1](d), d) for rule, x, d in zip(rules, start, dtypes)]
    code.barrier()
    mine = code.share("0", end, count, step, types, first)
    out = []
    for rule, x, d, part in zip(rules, start, dtypes, mine):
        if rule is None:
            out.append(x)
        else:
            out.append(rule[0](code, d, x, code.together(d, part, rule[0], nest.partials(d))))
    code.barrier()
    return out

