"""The compiled callable: `jax.jit` itself is the fast path and the shape guard.

A `Program` traces nothing of the user's: on a signature it has not seen, `find` is asked for the IR
function of those types, which is lowered in place. The steady state is jax's own C++ dispatch.
"""

import contextlib
import ctypes
import struct
import threading
import time

import jax
import numpy as np
from jax import lax

from ...ir.core import Value
from ...ir.exactness import exactly
from ...ir.types import Tensor
from ..forked import platform, refuse_forked, under_jit
from ..native import asked, unless_failed
from . import processes
from .lower import lower
from .numbers import numbers_in_nests
from .out_of_memory import tell_largest_values
from .sharding import is_spread, over_devices
from .waiting import dear

WIDE = ("int64", "uint64", "float64", "complex128")
COMPILED = "/jax/core/compile/backend_compile_duration"
PHASES = {  # what jax.monitoring calls them
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    COMPILED: "compile",
}
ZERO_COPY = 1 << 14  # bytes from which a result's buffer is adopted instead of copied; measured by benchmarks/tune.py


config = jax.config


class Setting:
    """Says what jax.config does."""

    value = property(lambda self: config.jax_enable_x64)


X64 = jax.enable_x64 if hasattr(jax.enable_x64, "value") else Setting()  # .value of its own takes half the time
# one object, reused: 0.4 us an entry instead of 4; entered only where 64-bit types are off, so it always restores that
SCOPE = jax.enable_x64(True)


def wide():
    """64-bit types on, for a `with` statement; where they are on already, nothing."""
    return contextlib.nullcontext() if config.jax_enable_x64 else SCOPE


def program(find, name, native=True, exact=False, raising=False):
    """A callable on flat leaves. `find(types)` gives the IR function for the leaf types and which leaves it takes, or
    raises.

    native: whether loops may run as machine code of ours where that pays.
    exact: whether each operation is rounded by itself, and sums keep their order wherever that is ours to say.
    raising: the last result is a status, and is not returned: where it is not 0, waiting for the `bearer` raises one of
    FAILURES. The result is one jax array where the function has one result, else a tuple of them.
    """

    def run(*leaves):
        refuse_forked()
        func, places = find(tuple([Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in leaves]))

        def lowered(leaves):
            with exactly(exact), contextlib.nullcontext() if native else asked(None):
                out = dear(func, leaves, lower(numbers_in_nests(func), [leaves[i] for i in places]))
            if raising:
                *out, status = out
                out[bearer(func)] = borne(out[bearer(func)], status)
            return out

        out = over_devices(lowered, func, leaves, places, len(func.results) - raising)
        return out[0] if len(out) == 1 else tuple(out)

    return Program(run, name)


def borne(x, status):
    """x, which the program does not give where `status` is not 0; on several devices the number alone is looked at, for
    which nothing is gathered."""
    if not is_spread():
        return unless_failed(x, status)
    passed = lax.eq(unless_failed(status, status), np.int64(0))
    return lax.select(lax.broadcast(passed, x.shape), x, lax.full_like(x, 0))


class Program:
    """One `jax.jit` a signature: one that has raised while it was traced is slow for that signature ever after, a
    hundred microseconds a call, and a signature that is not known yet raises.

    first: that of the first signature, or of the one to come; known: signature -> each of them.
    """

    def __init__(self, run, name):
        self.run, self.name, self.known = run, name, {}
        self.first = self.fresh()

    def fresh(self):
        def run(*leaves):
            return self.run(*leaves)

        run.__name__ = run.__qualname__ = self.name
        return under_jit(run)

    def __call__(self, *leaves):
        asked = signature(leaves)
        known = self.known.get(asked)
        return self.made(asked, leaves) if known is None else known(*leaves)

    def made(self, asked, leaves):
        """The results for a signature that is not known yet, which is known from then on unless tracing it raises."""
        made = self.first if not self.known else self.fresh()
        try:
            out = made(*leaves)
        except FAILURES:  # it has run
            self.known[asked] = made
            raise
        except BaseException:
            if not self.known:
                self.first = self.fresh()
            raise
        self.known[asked] = made
        return out

    def lower(self, *leaves):
        return (self.known.get(signature(leaves)) or self.first).lower(*leaves)


def signature(leaves):
    """What tells the programs apart for which `jax.jit` is asked: shapes and dtypes, and the classes of numbers."""
    return tuple([(x.shape, x.dtype) if hasattr(x, "dtype") else type(x) for x in leaves])


# where XLA runs a call at once, where it does not; and what cannot be waited for, in a trace
FAILURES = ValueError, RuntimeError, AttributeError


def bearer(func):
    """The result that bears the news of a failed check: the smallest that is computed, and has elements. None if there
    is none."""
    *results, _ = func.results
    sizes = {
        i: r.type.size
        for i, r in enumerate(results)
        if isinstance(r, Value) and r not in func.params and results.count(r) == 1 and r.type.size
    }
    return min(sizes, key=sizes.get, default=None)


def ahead(program, leaves, device=None, short=False):
    """Compile a program for leaves to come, which are not there yet: calls of it then find it compiled. Nothing is run.

    leaves: (type, the type of Python's numbers that comes there or None) each; short: for calls without 64-bit types
    too.
    """
    refuse_forked()
    place = None if device is None else jax.sharding.SingleDeviceSharding(device)

    def stand_in(type, number):
        if number is not None and place is None:
            return number(0)
        return jax.ShapeDtypeStruct(type.shape, type.dtype, sharding=place, weak_type=number is not None)

    with wide():
        program.lower(*(stand_in(*x) for x in leaves)).compile()
    if short and not config.jax_enable_x64:
        program.lower(*(stand_in(*x) for x in leaves)).compile()


def narrow(func):
    """Whether no value of `func` needs 64-bit types, so that it runs under any setting of the user's."""
    values = [*func.params, *func.results, *(x for e in func.eqns for x in (*e.operands, *e.results))]
    return all(v.type.dtype.name not in WIDE for v in values) and all(narrow(r) for e in func.eqns for r in e.regions())


def owned(array):
    """A result as a writable ndarray that owns its memory: ndarrays do, large buffers of jax arrays are adopted, small
    ones copied.

    Only for results whose buffer nobody else holds (not an argument handed back).
    """
    if type(array) is np.ndarray:
        return array
    if array.nbytes < ZERO_COPY or not _on_host(array):
        return np.array(array)
    array.block_until_ready()
    memory = (ctypes.c_char * array.nbytes).from_address(array.unsafe_buffer_pointer())
    memory.owner = array  # keeps the buffer alive as long as the ndarray
    return np.ndarray(array.shape, array.dtype, memory)


def _on_host(array):
    return len(array.devices()) == 1 and next(iter(array.devices())).platform == "cpu"


def on_host():
    """Whether programs run on the CPU unless told otherwise."""
    return platform() == "cpu"


def is_device_array(x):
    """A jax array, or a jax tracer of one."""
    return isinstance(x, jax.Array)


def is_device_type(t):
    """Whether instances of a Python type are jax arrays."""
    return issubclass(t, jax.Array | jax.core.Tracer)


def is_tracer_type(t):
    """Whether instances of a Python type stand for arrays in a trace of jax's."""
    return issubclass(t, jax.core.Tracer)


def wait(results, func=None):
    """Block until results are there; used to time a first call. func: the program, of which errors tell."""
    try:
        jax.block_until_ready(results)
    except RuntimeError as failure:
        tell_largest_values(failure, func)
        raise


def number(x):
    """The integer that a result is."""
    return int(settled(x))


def settled(x):
    """A result as an ndarray. To wait for it first, by its own method, takes less than for NumPy to ask for it."""
    if hasattr(x, "block_until_ready"):
        x.block_until_ready()
    return np.asarray(x)


# the int64 that a result on the CPU is, waited for, in half the time that np.asarray takes
word = struct.Struct("q").unpack_from
UNREADABLE = TypeError, BufferError  # what it raises elsewhere


def when_compiled(tell):
    """`tell()` is called whenever XLA has compiled a program, on the thread that has waited for it."""

    def told(event, seconds, **_):
        if event == COMPILED:
            tell()

    jax.monitoring.register_event_duration_secs_listener(told)


def when_timed(tell):
    """`tell(phase, seconds)` is called whenever jax has done one of PHASES, on the thread that has waited for it."""

    def told(event, seconds, **_):
        if event in PHASES:
            tell(PHASES[event], seconds)

    jax.monitoring.register_event_duration_secs_listener(told)


class Clock(threading.local):
    """.compiled: when XLA last had a program ready for this thread."""

    compiled = 0.0

    def note(self):
        self.compiled = time.perf_counter()


CLOCK = Clock()
when_compiled(CLOCK.note)


def compiled_at():
    """When this thread last waited for XLA to compile a program, by `time.perf_counter`; 0.0 if it never has."""
    return CLOCK.compiled


def finish_effects():
    """Block until what programs print, draw or write has happened."""
    jax.effects_barrier()


def moved_to_device(leaves, device):
    """Arrays moved to `device` where they are elsewhere."""
    if any(map(processes.is_spread, leaves)):
        text = "device= asks for one device, and an argument is spread over several processes\n  Leave device= out."
        raise ValueError(text)
    return [jax.device_put(x, device) for x in leaves]


def device_constant(array, device=None):
    """An ndarray that never changes as a jax array, whatever is being traced; of a mesh, on all its devices."""
    refuse_forked()
    with wide(), jax.ensure_compile_time_eval():
        replicated = getattr(device, "replicated", None)
        if replicated is not None and processes.spans_processes(replicated.mesh):
            return processes.laid_over(array, replicated)
        return jax.device_put(array, replicated or device)


def find_device(device):
    """A jax device from a device, a platform name ("cpu", "gpu") or "gpu:1"."""
    if device is None or not isinstance(device, str):
        return device
    platform, _, number = device.partition(":")
    try:
        devices = jax.devices(platform)
    except RuntimeError as error:
        raise ValueError(f"no {platform!r} device here: {error}") from None
    return devices[int(number or 0)]
