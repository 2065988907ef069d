"""A function of the user's, forward or its gradient, compiled for a described card.

    from wengert.benchmarks.gpu.compiled import compiled_for
    from wengert.benchmarks.gpu.target import described

    compiled_for(described("sm_90"), lambda x: (x * x).sum(), np.ones(8)).launches
"""

import dataclasses
import time

from wengert import jit
from wengert.backends.xla.inspected import inspected
from wengert.benchmarks.gpu.launches import Launches, launches_of


@dataclasses.dataclass
class CompiledProgram:
    """text: of the executable; launches: its `Launches`; temporary: bytes of its temporary buffers; equations: of the
    program; seconds: to trace, lower and compile it."""

    text: str
    launches: Launches
    temporary: int
    equations: int
    seconds: float


def compiled_for(device, function, *args, **options):
    """The `CompiledProgram` of a call of a function, plain or made by `jit` or `grad`, on a described device; options
    are those of `jit`. It raises what tracing, lowering and XLA's compiler raise."""
    start = time.perf_counter()
    made = jit(function, device=device, **options)
    return of_func(device, made.ir(*args), start)


def of_func(device, func, start=None, trips=None):
    """The same of an IR function, as it stands; trips: as of `launches_of`."""
    start = time.perf_counter() if start is None else start
    looked = inspected(func, device=device)
    text = looked.hlo()
    temporary = (looked.memory() or {}).get("temp", 0)
    return CompiledProgram(text, launches_of(text, trips), temporary, func.count(), time.perf_counter() - start)
