"""A nest on jax values, beside its form through jax.lax."""

import contextlib
import threading

import jax
import numpy as np

from ...ir.ops import OPS
from ...ir.ops.control import loop
from ...ir.types import Tensor
from ..manual_axes import all_varying, manual_axes_of
from ..target import per_platform, platform
from . import direct
from .ffi import refusal
from .instances import call
from .interrupts import is_long
from .legal import taken
from .missing import tell

SMALL = 512  # fact: bytes of a buffer up to which XLA runs operations one by one
PLAIN = {OPS[name] for name in (
    "reshape", "broadcast", "transpose", "slice", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod",
)}


class Settings(threading.local):
    """What a lowering asks for in this thread. least: work from which a loop is native, ... that of `legal.LEAST`;
    None: none is."""

    least = ...
    log = None


SETTINGS = Settings()


@contextlib.contextmanager
def asked(least, log=None):
    """Lower so in this thread: natively from `least` work on, or not at all where it is None.

    log: a list that receives (attributes, why it is not native or None) of each loop met.
    """
    before = SETTINGS.least, SETTINGS.log
    SETTINGS.least, SETTINGS.log = least, log
    try:
        yield
    finally:
        SETTINGS.least, SETTINGS.log = before


def allowed():
    """Whether nests can be called from Python here, and are not refused."""
    return SETTINGS.least is not None and uncallable() is None


def uncallable():
    """Why nests cannot be called from Python here, or None."""
    return direct.refusal()


def callable_nest(types, attrs):
    """The nest of a loop that can be called from Python, however little it does; None if there is none."""
    return taken(loop, types, attrs, 0)[0] if allowed() else None


def here(func):
    """Whether all outermost loops of a function become nests where it is lowered now."""
    if SETTINGS.least is None or platform() != "cpu":
        return False
    return all(
        taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs)[0] is not None for eqn in func.eqns if eqn.op is loop
    )


def listens(func):
    """Whether XLA runs a program on the thread that calls it where it takes it for cheap, and all loops that may run
    for long are nests there.

    One by one on one thread XLA runs what has small buffers alone, but for operations that bring threads of their own.
    """
    return platform() == "cpu" and SETTINGS.least is not None and all(map(one_by_one, func.eqns))


def one_by_one(eqn):
    types, more = [x.type for x in (*eqn.operands, *eqn.results)], []
    if eqn.op is loop:
        nest = taken(eqn.op, types[: len(eqn.operands)], eqn.attrs, SETTINGS.least)[0]
        if is_long(eqn.attrs) if nest is None else is_long(eqn.attrs) and nest.hearing is None:
            return False
        more = [] if nest is None else nest.extra
    if any(t.size * t.dtype.itemsize > SMALL for t in (*types, *more)):
        return False
    if eqn.op is loop and nest is not None:
        return True
    regions = list(eqn.regions())
    return (
        all(one_by_one(e) for region in regions for e in region.eqns)
        if regions
        else "elementwise" in eqn.op.traits or eqn.op in PLAIN
    )


def lowered(op, operands, attrs, other):
    """The results of a loop on jax values, natively on the CPU and by `other(*operands)` elsewhere; None if XLA is to
    have it.

    Where programs run on something else by default, XLA has them all: nothing is compiled that is not run.
    """
    if SETTINGS.least is None or platform() != "cpu":
        return None
    types = [Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in operands]
    nest, reason = taken(op, types, attrs, SETTINGS.least)
    if SETTINGS.log is not None:
        SETTINGS.log.append((attrs, reason))
    if nest is None:
        if reason == refusal():
            tell(op, types, attrs, SETTINGS.least, reason)
        return None
    results = [*(r.type for r in nest.results), *nest.extra]
    shapes = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in results]
    launch = call(nest.text(), shapes, vmap_method="sequential", input_output_aliases=nest.aliases)

    def native(*operands):
        return all_varying(launch(*operands)[: len(nest.results)], manual_axes_of(operands))

    def through_lax(*operands):
        with asked(None):  # what is not run need not be compiled
            return other(*operands)

    @jax.custom_jvp
    def run(*operands):
        return per_platform(*operands, cpu=native, default=through_lax)

    # the foreign function has no derivative of its own
    run.defjvp(lambda primals, tangents: jax.jvp(through_lax, primals, tangents))
    return run(*operands)
