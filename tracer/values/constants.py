"""Numbers known while tracing: what follows from constants alone, worked out by the ops' own NumPy meaning when Python
asks."""

import numpy as np

from ...ir.core import Lit
from .storage import current_trace


def known(value):
    """`value` as an ndarray if no argument, captured input or region result enters it, else None."""
    if isinstance(value, Lit):
        return np.full(value.type.shape, value.value, value.type.dtype)
    trace = current_trace()
    if trace is None:
        return None
    root = trace.root
    todo = [value]
    while todo:
        v = todo[-1]
        if v in root.known or isinstance(v, Lit):
            todo.pop()
        elif v in root.lifts:  # a parameter that stands for a value of an outer trace
            outer = root.lifts[v]
            if outer in root.known or isinstance(outer, Lit):
                root.known[v] = _of(outer, root)
            else:
                todo.append(outer)
        elif v.eqn is None or v.eqn.op.effect or "region" in v.eqn.op.traits:
            root.known[v] = None
        else:
            waiting = [x for x in v.eqn.operands if not isinstance(x, Lit) and x not in root.known]
            if waiting and not any(root.known.get(x, 0) is None for x in v.eqn.operands):
                todo.append(waiting[0])
            else:
                _evaluate(v.eqn, root)
    return root.known[value]


def _of(x, root):
    return np.full(x.type.shape, x.value, x.type.dtype) if isinstance(x, Lit) else root.known[x]


def _evaluate(eqn, root):
    operands = [root.known.get(x, 0) if not isinstance(x, Lit) else _of(x, root) for x in eqn.operands]
    if any(x is None for x in operands):
        root.known.update(dict.fromkeys(eqn.results))
        return
    with np.errstate(all="ignore"):
        out = eqn.op.body(*operands, **eqn.attrs)
    for r, x in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
        root.known[r] = np.asarray(x, r.type.dtype)
