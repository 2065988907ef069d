"""scipy.integrate: `odeint`, with derivatives by the start, the times, the arguments, and all that its function closes
over."""

import numpy as np

from ...ir.core import Builder
from ..api.custom import or_nan
from ..api.custom_call import RuleFunction
from ..api.inner import name_of
from ..capture.capture import Kind, kind_of
from ..capture.handover import ARRAY, SCALAR
from ..common import pytree
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.scipy_registry import captures, refuse
from ..regions import hooks
from ..values.array import Traced, bring, fresh
from ..values.status import PASSED
from ..values.storage import current_trace
from .flows import INTEGRATE, Flow, numbers

# numbers that steer SciPy's steps
OPTIONS = ("rtol", "atol", "hmax", "hmin", "h0", "mxstep", "mxhnil", "mxordn", "mxords")


@captures(INTEGRATE, always=True)
def odeint(func, y0, t, args=(), Dfun=None, *, tfirst=False, **options):
    """By SciPy on the host, with its step control; derivatives are integrals of their own, to the same tolerances."""
    given = {name: x for name, x in {"Dfun": Dfun, **options}.items() if isinstance(x, Traced | np.ndarray) or x}
    if any(name not in OPTIONS or not isinstance(x, int | float) for name, x in given.items()):
        refuse(f"scipy.integrate.odeint({', '.join(given)}=...)", f"Known are {', '.join(OPTIONS)}, as numbers.")
    start, times = np.atleast_1d(handle(y0)).astype(np.float64), np.atleast_1d(handle(t)).astype(np.float64)
    if start.ndim != 1 or times.ndim != 1 or not start.size or not times.size:
        raise with_note(
            ValueError,
            message(
                f"scipy.integrate.odeint starts from a vector, at a vector of times; got {start.shape} and "
                f"{times.shape}",
                locate(),
            )
        )
    system = InitialValueProblem(func, start.shape[0], args if isinstance(args, tuple) else (args,), tfirst)
    jumps = np.pad(start[None], ((0, times.shape[0] - 1), (0, 0)))
    flow = Flow(system.func, np.ones(start.shape[0]), given, True)
    return fresh(flow(times.value, jumps.value, *system.operands))


class InitialValueProblem:
    """The right-hand side as an IR function of (state, time, *operands), the operands being all that it reads
    besides."""

    def __init__(self, function, n, args, tfirst):
        self.name = name_of(function)
        leaves, tree = pytree.flatten(args)
        given = [x for x in leaves if isinstance(x, Traced)]
        kinds = pytree.unflatten(tree, [kind_of(x) if isinstance(x, Traced) else x for x in leaves])

        def slope(y, t, args):
            out = hooks.call(function)(*((t, y) if tfirst else (y, t)), *args)
            out = np.atleast_1d(handle(out)).astype(np.float64)
            if out.shape != (n,):
                text = (
                    f"{self.name}, the function of scipy.integrate.odeint, returned an array of shape {out.shape} for "
                    f"a state of shape {(n,)}"
                )
                raise with_note(RuntimeError, message(text, locate()))
            return out

        y, t, status = numbers(n), numbers(), current_trace().root.status
        before, status.value = status.value, PASSED
        try:
            part = RuleFunction(slope, (Kind(y, ARRAY), Kind(t, SCALAR), kinds), self, self.name)
        finally:
            status.value = before
        self.func = closed_function(part, [y, t, *(x.value.type for x in given)])
        self.operands = [*(x.value for x in given), *(bring(v) for v in part.lifted)]


def closed_function(part, types):
    """A captured function as one of its arguments and of the values around it; where a check in it fails, its result is
    NaN."""
    build = Builder(part.func.name)
    with build:
        given = [build.param(type) for type in types]
        known = {v: build.param(v.type, v.hint) for v in part.lifted}
        out = part.within(build, given, PASSED, known)
        result = out[part.shown[0]]
        return build.finish([result if part.status is None else or_nan(result, out[part.status])])
