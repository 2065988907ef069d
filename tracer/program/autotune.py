"""Programs that XLA could not make faster: new ones that are cheap beside their native loops run as NumPy before XLA
has compiled them.

A launch through XLA costs LAUNCH at least, and runs loops as the same machine code. Where what is left beside the loops
takes less than that, or little of the whole, there is nothing to gain, and the time to compile is saved as well; nor
is there in long programs on numbers.

A program that may be replaced later is compiled quickly first, where it does little: LLVM takes most of a first call
otherwise.
"""

import contextlib
import logging
import time

import numpy as np

from ...backends import native
from ...backends.numpy import callable_of
from ...ir.cost import func_cost
from ...ir.types import type_of
from ..common import events
from . import backend_choice, numpy_call, siblings

CHEAP = 1 << 23  # bound: bytes that the equations outside of nests write, up to which a program is tried
LITTLE_WORK = 3e7  # bound: operations, and numbers read and written, up to which machine code is compiled quickly first


def tried(entry, here, version, everything, put_off=None):
    """The raw results of a new version that is to run as NumPy, whatever XLA does, or until it has compiled another
    form; None where XLA is waited for.

    put_off(run, seconds, quick): have a form as NumPy, of which a call takes so long, answer until another is ready ->
    whether it does; quick: machine code of it that is not optimised. None where no other form is to come.
    """
    if version.engine or version.first_seconds is not None:
        return None
    if not backend_choice.eligible(entry, here, version):
        return step_by_step(entry, here, version, everything)
    if backend_choice.asked(entry.compiled) is None:
        if not entry.numpy:  # whose programs have to win more than what XLA takes at least
            return None
        quickly = put_off is not None and does_little(version.decided)
        found, quick = timed_as_numpy(entry, version, everything, quickly)
        if quick:
            if found is not None and found[2] is not numpy_call.MISS and put_off(found[3], found[0], quick):
                return found[2]
            for code in quick:
                code.optimise()
            found, _ = timed_as_numpy(entry, version, everything, False)
        if found is None:
            return None
        total, inside, raw, run = found
        if raw is numpy_call.MISS or not siblings.nothing_to_win(entry, version, total, inside):
            if backend_choice.traffic(version.decided) <= CHEAP:
                version.tried = total
                if raw is not numpy_call.MISS and put_off is not None and put_off(run, total):
                    return raw
            else:  # it is compared with the other form when XLA has told how long it takes
                version.fused = None
            return None
        version.times, version.inside = (total, None), inside
        backend_choice.tell_times(version, "generated NumPy")
        backend_choice.switch_to_numpy(entry, here, version, run)
        # one that presumes what this call's data do not is not the right one of its tree
        return None if version.tree is not None and version.status(raw) else raw
    start = time.perf_counter()
    backend_choice.switch_to_numpy(entry, here, version)
    version.compile_seconds = time.perf_counter() - start
    return here.call(*everything) if version.engine and version.tree is None else None


def does_little(func):
    """Whether a program is known to be short, in machine code that is not optimised too."""
    amount = func_cost(func)
    return amount.known and amount.flops + (amount.read + amount.written) / 8 <= LITTLE_WORK


def timed_as_numpy(entry, version, everything, quickly):
    """(`backend_choice.quickest` or None, machine code of it that is not optimised)"""
    with native.compiled_quickly() if quickly else contextlib.nullcontext(()) as quick:
        with events.timed("compile", "timing", "timed as NumPy", level=logging.DEBUG):
            return backend_choice.quickest(entry, version, everything, CHEAP), quick


def step_by_step(entry, here, version, everything):
    """The raw results of a program that XLA would have, where the user asks for NumPy: its loops run in Python. None
    where it acts on the world, or is one of several between which data choose."""
    special = version.effects or version.assumed or version.captured.outside.draws or version.equations is not None
    if special or not entry.numpy or entry.compiled.engine != "numpy" or entry.compiled.device is not None:
        return None
    made = []

    def run(*leaves):
        if not version.fits([type_of(x) for x in leaves]):
            return numpy_call.MISS
        made[:] = made or [callable_of(version.func)]
        taken = [np.asarray(leaves[i], p.type.dtype) for i, p in zip(version.places, version.func.params, strict=True)]
        with np.errstate(all="ignore"):
            found = made[0](*taken)
        out = tuple(np.array(x, r.type.dtype, order="C") for x, r in zip(found, version.func.results, strict=True))
        return out[0] if len(out) == 1 else out

    version.engine = "NumPy"
    backend_choice.begin(here, run)
    return run(*everything)
