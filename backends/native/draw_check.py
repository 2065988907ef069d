"""Whether draws in nests are NumPy's, to the bit: their numbers, and the state that they leave, are compared with those
of the methods, once a process."""

import functools

import numpy as np

from ...ir.ops.control import loop
from ...ir.ops.drawing import FLOAT, KINDS, WHOLE, draw, state_sample
from ...ir.types import type_of
from . import direct
from .build import has_symbol
from .drawing import alone
from .nest import Nest
from .values import NotNative

EXAMPLES = {  # kind -> parameters on which it is compared with NumPy's method
    "uniform": [(-1.0, 2.5)], "normal": [(0.5, 2.0)], "exponential": [(2.0,)],
    "integers": [(0, 6), (-5, 1 << 40), (0, 1 << 31), (3, 4)], "gamma": [(0.5, 2.0), (3.0, 1.0)],
    "standard_gamma": [(0.5,), (3.0,)], "beta": [(0.5, 0.75), (2.0, 3.0)], "chisquare": [(3.0,)],
    "laplace": [(0.5, 2.0)], "logistic": [(0.5, 2.0)], "gumbel": [(0.5, 2.0)], "lognormal": [(0.5, 2.0)],
    "rayleigh": [(2.0,)], "weibull": [(1.5,)], "standard_t": [(3.0,)], "triangular": [(0.0, 1.0, 3.0)],
    "poisson": [(3.5,), (50.0,)], "geometric": [(0.2,), (0.6,)],
}  # fmt: skip
MANY = 24  # bound: numbers that are compared


@functools.cache
def unlike_numpy(family, bits, kind):
    """Why draws of a kind are not made in nests here, or None."""
    if direct.refusal() is not None:
        return direct.refusal()
    rng, shape = np.random.default_rng(0), () if family == "Random" else (MANY,)
    attrs = {"family": family, "bits": bits, "kind": kind, "shape": shape}
    for given in EXAMPLES.get(kind, [()]):
        state = state_sample(family, bits)(rng)
        given = [np.asarray(x, WHOLE if kind == "integers" else FLOAT) for x in given]
        try:
            for _ in range(2):  # from where the first has left it too
                state, same = compared(state, given, attrs)
                if not same:
                    return f"{kind}() of a {family} of {bits} in machine code is not NumPy's"
        except NotNative as why:
            return str(why)
    return None


def compared(state, given, attrs):
    """-> (the state after a draw, whether a nest leaves the same, and has the same numbers)."""
    operands = state, np.bool_(True), *given
    want = draw.body(*operands, **attrs)
    types, made = alone([type_of(x) for x in operands], attrs)
    nest = Nest(loop, types, made)
    if not all(map(has_symbol, nest.functions())):
        raise NotNative("NumPy does not show its distributions here")
    results = [state.copy(), np.zeros(attrs["shape"], KINDS[attrs["kind"]][1])]
    inputs = [np.bool_(True), *given, *results]
    taken = [nest.buffers[n] for n in direct.given_places(nest)]
    found = direct.again(nest)(*(inputs[k] if kind == "argument" else results[k] for kind, k in taken))
    return want[0], all(np.array_equal(x, y) for x, y in zip(found, want, strict=True))
