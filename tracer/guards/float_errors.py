"""NumPy's floating-point errors where the caller asks to hear of them: `np.errstate(divide="raise")` around a call, or
`np.seterr`.

A program computes in the state in which NumPy goes on. Where the caller's state asks for more than a warning, calls run
as plain Python, which says what NumPy says. `np.geterr` takes a microsecond. NumPy keeps the state in a context
variable, which has none until `np.errstate` or `np.seterr` first sets it: that is found here by setting it, and asked
for 30 ns.
"""

import contextvars

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS

SILENT = {"ignore", "warn"}
DIVIDING = {"div", "quotient", "rem", "pow", "integer_pow"}  # of integers
SAFE = {op.name for op in OPS.values() if op.traits & {"exact", "moves", "joins"}}
SAFE |= {"constant", "iota", "dynamic_update_slice", "gather", "scatter", "rounded"}
WRAPPING = {"add", "sub", "mul", "neg", "abs"}  # of NumPy's single integers, which tell of it, as arrays do not
RAISED = {"invalid": "invalid", "divide": "divide", "over": "overflow"}
TEXT = "NumPy's floating-point errors {} here, by np.errstate or np.seterr"
HINT = "Test for what would raise, or let NumPy go on around the call."


def variable():
    """The context variable that `np.errstate` sets; None where there is no such."""
    before = contextvars.copy_context()
    with np.errstate(all="raise"):
        found = [v for v, value in contextvars.copy_context().items() if before.get(v) is not value]
    return found[0] if len(found) == 1 else None


STATE = variable()
get = STATE.get if STATE is not None else lambda default: default


class Known:
    """The state last found to ask for nothing."""

    state = None


def quiet():
    """Whether the caller's state asks for warnings at most. Of a NumPy that keeps it elsewhere that is taken for
    granted."""
    state = get(None)
    if state is Known.state or state is None:
        return True
    if set(np.geterr().values()) <= SILENT:
        Known.state = state
        return True
    return False


def words_raised():
    """What the caller's state asks to raise, by the words of `jit(f, debug=)`."""
    return tuple([RAISED[found] for found, error in np.geterr().items() if error == "raise" and found in RAISED])


def errstate_text():
    """What the caller's state asks for, in words."""
    return TEXT.format(
        " and ".join(f"{found} ({error})" for error, found in np.geterr().items() if found not in SILENT)
    )


def possible(func, of_python):
    """Whether NumPy may have floating-point errors to tell of where this is computed. of_python: values that Python's
    own operators made."""
    return any(map(overflown, func.results)) or any(
        any(possible(f, of_python) for f in e.regions())
        if e.regions()
        else not of_python.issuperset(e.results[:1]) and risky(e)
        for e in func.eqns
    )


def overflown(x):
    """Whether a number may have left its narrow dtype where the trace cast it, which NumPy would tell of."""
    return isinstance(x, Lit) and x.type.kind in "fc" and x.type.dtype.char in "efF" and not np.isfinite(x.value)


def risky(e):
    if any(map(overflown, e.operands)):
        return True
    if e.op.name == "cast":
        have, want = e.operands[0].type.dtype, e.results[0].type.dtype
        return not (np.can_cast(have, want) or have.kind in "biu" and want != np.float16)
    if e.op.name in WRAPPING and not e.results[0].type.shape and e.results[0].type.kind in "iu":
        return True
    if e.op.name in ("abs", "sign") and e.operands[0].type.kind == "c":
        return True
    return (
        e.op.name in DIVIDING or e.op.name not in SAFE and any(x.type.kind in "fc" for x in (*e.operands, *e.results))
    )
