"""The verifier: whether a function of the IR is well formed."""

from .core import Func, Value
from .types import IRTypeError, Tensor


def verify(func: Func) -> Func:
    """Check that `func` is closed, bound once, and typed as its ops say; returns it. Regions too."""
    bound = set(func.params)
    if len(bound) != len(func.params):
        raise IRTypeError(f"{func.name}: a parameter is listed twice")
    for n, eqn in enumerate(func.eqns):
        where = f"{func.name}, equation {n} ({eqn.op.name})" + (f" at {eqn.source}" if eqn.source else "")
        for x in eqn.operands:
            if isinstance(x, Value) and x not in bound:
                raise IRTypeError(f"{where}: an operand of type {x.type} is used before it is bound")
        types = eqn.op.result_types(eqn.operands, eqn.attrs)
        if types != tuple(r.type for r in eqn.results):
            raise IRTypeError(f"{where}: bound as {[r.type for r in eqn.results]}, but its rule gives {list(types)}")
        for r in eqn.results:
            if r in bound:
                raise IRTypeError(f"{where}: a value is bound twice")
            bound.add(r)
        for region in eqn.regions():
            verify(region)
    for x in func.results:
        if isinstance(x, Value) and x not in bound:
            raise IRTypeError(f"{func.name}: a result of type {x.type} is never bound")
        if not isinstance(x.type, Tensor):
            raise IRTypeError(f"{func.name}: a result has no type")
    return func
