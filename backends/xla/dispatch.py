"""The compiled callable: `jax.jit` itself is the fast path and the shape guard.

A `Program` traces nothing of the user's: on a signature it has not seen, `find` is asked for the IR
function of those types, which is lowered in place. The steady state is jax's own C++ dispatch.
"""

import contextlib
import ctypes
import struct

import jax
import numpy as np
from jax import lax

from ...ir.core import Value
from ...ir.exactness import exactly, multiplying
from ...ir.passes import widen
from ...ir.types import Tensor
from ..forked import refuse_forked
from ..native import asked, ending, unless_failed
from ..target import lowering_for, platform
from . import processes
from .jitted import FAILURES as FAILURES
from .jitted import DonatingProgram, Program
from .jitted import signature as signature
from .lower import lower
from .numbers import numbers_in_nests
from .out_of_memory import tell_largest_values
from .sharding import is_spread, over_devices, spread_arrays
from .waiting import dear

NARROW = {"float64": np.float32, "complex128": np.complex64, "int64": np.int32, "uint64": np.uint32}
WIDE = ("int64", "uint64", "float64", "complex128")
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


@contextlib.contextmanager
def lowering_as(native=True, exact=False, precision="highest", device=None, least=...):
    """Within, this thread lowers programs by these options, which are those of `program`."""
    natively = contextlib.nullcontext() if native and least is ... else asked(least if native else None)
    with exactly(exact), multiplying(precision), lowering_for(device), natively:
        yield


def program(
    find, name, native=True, exact=False, raising=False, precision="highest", device=None, least=..., donor=None
):
    """A callable on flat leaves. `find(types)` gives the IR function for the leaf types and which leaves it takes, or
    raises.

    native, least: whether loops may run as machine code of ours, and the work from which they do, ... where that pays.
    exact: whether each operation is rounded by itself, and sums keep their order wherever that is ours to say.
    precision: of products, one of `exactness.PRECISIONS`.
    raising: the last result is a status, and is not returned: where it is not 0, waiting for the `bearer` raises one of
    FAILURES.
    device: the one on which it is to run, None for wherever its arrays lie.
    donor: says over which arrays results may be written, as `DonatingProgram` asks it; None: over none.

    The result is one jax array where the function has one result, else a tuple of them.
    """

    def run(*leaves):
        refuse_forked()
        # where JAX looks for bad numbers, it hands on numbers of Python's
        func, places = find(tuple([Tensor(np.shape(x), np.dtype(getattr(x, "dtype", type(x)))) for x in leaves]))

        def lowered(leaves):
            options = native, exact, precision, device, least
            with lowering_as(*options), ending(func, made := numbers_in_nests(widen(func))):
                out = dear(func, leaves, lower(made, [leaves[i] for i in places]))
            if raising:
                *out, status = out
                out[bearer(func)] = borne(out[bearer(func)], status)
            return out

        out = over_devices(lowered, func, leaves, places, len(func.results) - raising)
        return out[0] if len(out) == 1 else tuple(out)

    return Program(run, name) if donor is None else DonatingProgram(run, name, donor)


def borne(x, status):
    """x, which the program does not give where `status` is not 0; on several devices the number alone is looked at, for
    which nothing is gathered."""
    if not is_spread():
        return unless_failed(x, status)
    passed = lax.eq(unless_failed(status, status), np.int64(0))
    return lax.select(lax.broadcast(passed, x.shape), x, lax.full_like(x, 0))


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


def is_weak(x):
    """Whether something in a trace of jax's stands for a number of Python's."""
    return isinstance(x, jax.core.Tracer) and bool(getattr(x, "weak_type", False))


def is_device_type(t):
    """Whether instances of a Python type are jax arrays."""
    return issubclass(t, jax.Array | jax.core.Tracer)


where, size_of = jax.numpy.where, jax.numpy.size


def is_device_class(t):
    """Whether a class is that of jax arrays itself."""
    return t is jax.Array


def is_tracer_type(t):
    """Whether instances of a Python type stand for arrays in a trace of jax's."""
    return issubclass(t, jax.core.Tracer)


# what jax raises where Python asks for a number that stands in a trace of its own
UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
UNDECIDED = *UNKNOWN, jax.errors.NonConcreteBooleanIndexError


def is_short():
    """Whether 64-bit types are off where this is called."""
    return not config.jax_enable_x64


def is_at_once():
    """Whether what is computed here is computed at once, and stands for nothing in a trace of jax's."""
    with wide():
        return not isinstance(jax.numpy.add(1, 1), jax.core.Tracer)


def computed_at_once():
    """What is computed within is so, where nothing that it is computed of stands in a trace."""
    return jax.ensure_compile_time_eval()


def as_operand(x, type):
    """A leaf of a call as an operand of a program, whatever the setting of 64-bit types is."""
    if isinstance(x, jax.Array):
        return x
    with wide():
        return jax.numpy.asarray(x, type.dtype)


def on_device(x):
    """An ndarray or one of NumPy's numbers as a jax array of its dtype, whatever the setting of 64-bit types is; all
    else as it is."""
    if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind not in "biufc":
        return x
    with wide():
        return jax.numpy.asarray(x)


def as_jax(x):
    """A number or array as a jax array, of no more bits than the setting of 64-bit types allows; all else as it is."""
    if not isinstance(x, jax.Array | np.ndarray | np.generic | float | complex):
        return x
    narrow = NARROW.get(np.result_type(x).name) if is_short() else None
    return jax.numpy.asarray(x) if narrow is None else jax.numpy.asarray(x).astype(narrow)


def jitted_over_arrays(function, args, kwargs):
    """`function(*args, **kwargs)` under jax.jit, where all leaves but arrays and floats are static."""
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    moving = [k for k, x in enumerate(leaves) if isinstance(x, jax.Array | np.ndarray | np.generic | float | complex)]

    def run(arrays):
        full = list(leaves)
        for k, x in zip(moving, arrays):
            full[k] = x
        args, kwargs = jax.tree_util.tree_unflatten(tree, full)
        return function(*args, **kwargs)

    return jax.jit(run)([leaves[k] for k in moving])


def picked_by(number, options):
    """Of arrays, the one of which a traced number says which it is."""
    return jax.lax.select_n(number.astype(np.int32), *options)


JITTED = type(jax.jit(lambda: None))


def is_jitted(f):
    """Whether something is what `jax.jit` has made of a function."""
    return type(f) is JITTED and hasattr(f, "__wrapped__")


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


def finish_effects():
    """Block until what programs print, draw or write has happened."""
    jax.effects_barrier()


def moved_to_device(leaves, device):
    """Arrays moved to `device` where they are elsewhere. Raises ValueError where it is the description of one, or where
    some of them are spread over several processes."""
    if any(map(processes.is_spread, leaves)):
        text = "device= asks for one device, and an argument is spread over several processes\n  Leave device= out."
        raise ValueError(text)
    try:
        return [jax.device_put(x, device) for x in leaves]
    except jax.errors.JaxRuntimeError as error:
        if "compile-only" not in str(error):
            raise
        raise ValueError(
            f"{device} is the description of a device: programs are compiled for it, and none runs\n  Ask f.plan(...) "
            "or f.text(...)."
        ) from None


def device_constant(array, device=None):
    """An ndarray that never changes as a jax array, whatever is being traced; of a mesh, on all its devices."""
    refuse_forked()
    with wide(), jax.ensure_compile_time_eval():
        if hasattr(device, "mesh"):
            return spread_arrays([array], device.mesh, [()])[0]
        return jax.device_put(array, device)
