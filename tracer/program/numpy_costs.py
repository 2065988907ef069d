"""What NumPy and nests are estimated to take for the equations of a program, before the one or the other is timed."""

import math

from ...backends.numpy import TEXTS, by_python, views
from ...ir.core import Lit
from ...ir.op import OPS

LOOP, CONSTANT = OPS["loop"], OPS["constant"]
CALL = 5e-7  # seconds that a call of NumPy's takes at least; measured by benchmarks/tune.py
OF_MATRICES = 8  # such calls that a function of np.linalg takes; measured by benchmarks/tune.py
BANDWIDTH = 2e9  # bytes a second that NumPy moves at least; measured by benchmarks/tune.py
NEST = 4e10  # bound: bytes a second that a nest reads and writes at most
ENTERED = 3e-7  # bound: seconds that a nest takes at least


def equations(func):
    """Those of a program and of its branches."""
    for e in func.eqns:
        yield e
        for region in e.regions() if e.op is not LOOP else ():
            yield from equations(region)


def nbytes(x):
    return x.type.size * x.type.dtype.itemsize


def traffic(func):
    """Bytes that the equations write, one by one, nests left out."""
    trips = lambda e: e.attrs["trips"] * traffic(e.attrs["body"]) if by_python(e) else 0
    return sum(trips(e) if e.op is LOOP else sum(map(nbytes, e.results)) for e in equations(func))


def estimated(func):
    """Seconds that NumPy needs for a program; of nests, those in which memory takes what they leave."""
    written = traffic(func)
    for e in equations(func):
        if e.op is LOOP and not by_python(e):
            written += sum(map(nbytes, e.results))
        elif views(e):
            written -= nbytes(e.results[0])
    return (
        CALL * sum(OF_MATRICES if e.op in TEXTS else 1 for e in equations(func) if e.op is not LOOP)
        + written / BANDWIDTH
    )


def least_in_nests(func):
    """Seconds that a program takes at least whose every array a nest makes; infinite where NumPy makes some."""
    seconds = 0.0
    for e in equations(func):
        if e.op is LOOP and not by_python(e):
            read = (x for x in e.operands if not isinstance(x, Lit))
            seconds += ENTERED + sum(map(nbytes, (*read, *e.results))) / NEST
        elif not (views(e) or e.op is CONSTANT or all(r.type.size <= 1 for r in e.results)):
            return math.inf
    return seconds
