"""Which loops run natively, and why the others do not."""

from .build import has_symbol
from .ffi import refusal
from .nest import Nest
from .values import Refused

TRIPS = 64  # least number of trips, those of loops within counted, for which a call pays
UNKNOWN = 100  # trips that a loop without a bound is taken to make


def trips(func_attrs):
    """Trips of a loop and of those within it."""
    n = func_attrs["trips"] if func_attrs["trips"] is not None else func_attrs["bound"] if func_attrs["bound"] is not None else UNKNOWN
    return n * (1 + inside(func_attrs["body"]))


def inside(func):
    return sum(trips(e.attrs) if e.op.name == "loop" else sum(map(inside, e.regions())) for e in func.eqns)


def taken(op, types, attrs, least=TRIPS):
    """(nest, None), or (None, the reason why a loop is left to XLA)."""
    reason = refusal()
    if reason is None and trips(attrs) < least:
        reason = f"it makes {trips(attrs)} trips at most, too few to pay"
    if reason is not None:
        return None, reason
    try:
        nest = Nest(op, types, attrs)
    except Refused as why:
        return None, str(why)
    missing = [name for name in nest.functions() if not has_symbol(name)]
    return (None, f"the C library has no {missing[0]}") if missing else (nest, None)
