"""A function of the user's, forward or its gradient, compiled for a described card.

    from wengert.benchmarks.gpu.compiled import compiled_for
    from wengert.benchmarks.gpu.target import described

    compiled_for(described("sm_90"), lambda x: (x * x).sum(), np.ones(8)).launches
"""

import dataclasses
import time

import jax

from wengert import jit
from wengert.backends.xla.dispatch import wide
from wengert.backends.xla.inspected import inspected
from wengert.benchmarks.gpu.launches import Launches, launches_of

# where there is no card to try kernels on, XLA (jaxlib 0.10) takes one for products over a middle axis, which it then
# cannot tile
# (in plain jax too): there the library is asked for instead, as it is on a card that refuses a kernel
UNTILED = "Couldn't find output tile sizes"
TO_LIBRARY = {"xla_gpu_enable_triton_gemm": False}


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
    try:
        text, temporary = looked.hlo(), (looked.memory() or {}).get("temp", 0)
    except jax.errors.JaxRuntimeError as error:
        if UNTILED not in str(error):
            raise
        with wide():
            made = looked.lowered().compile(TO_LIBRARY)
        text, temporary = made.as_text(), made.memory_analysis().temp_size_in_bytes
    return CompiledProgram(text, launches_of(text, trips), temporary, func.count(), time.perf_counter() - start)
