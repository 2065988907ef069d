"""What a program on ndarrays runs as: XLA, or the same equations as generated NumPy where that is faster.

XLA copies large ndarrays that are not aligned to 64 bytes, as NumPy's own are not, and a launch costs some
microseconds. So when a program is new that has no loops, or loops whose machine code NumPy's arrays can be given
to, both forms are timed, at its first call or once its calls have paid for XLA (`call/deferred.py`), and it keeps the
faster: from then on results are the same from call to call. Where XLA has nothing to win it is not even asked:
`program/autotune.py`.

Programs on jax arrays of the CPU run as NumPy too where that is faster, by no small time: to hand results over takes
some. Most of them are those of products of matrices, of sorting, and of straight lines that are nests.
"""

import contextlib
import functools
import logging
import math
import time

import numpy as np

from ...backends import forked, native
from ...backends.numpy import by_python, fused, has_statements, is_loop_free, once_callable, with_loops
from ...backends.xla import dispatch, host_arrays, spinning, waiting
from ...backends.xla.processes import is_one_of_several
from ...ir.amounts import in_time
from ...ir.bounded import Limited
from ...ir.exactness import exactly
from ...ir.passes.widen import has_small
from ...ir.types import type_of
from ..common import events
from ..values.array import WEAK_DTYPES
from . import numpy_call, trap
from .clock import ENOUGH, LONG, clocked, turns
from .numpy_costs import BANDWIDTH, LOOP, equations, estimated, least_in_nests, nbytes, traffic
from .on_jax_arrays import on_jax_arrays
from .specialisation_set import IN_TURN
from .trace_tree import SelectedResults, Trees

# "xla" or "numpy" for every function that asks for neither; "nests": as NumPy, straight lines as nests where they can
# be
CHOICE = None
LONGEST = 256  # bound: equations on arrays
SMALL = 16  # bound: elements of an array whose equations are counted as those of numbers
BETTER = 0.9  # bound: what a time may be off: nests for straight lines are taken where they need at most this share,
AHEAD = 0.9  # bound: and XLA: nothing is to be slower than NumPy because it was timed once
# bound: bytes of intermediate results that are no matter; beyond, four times those of arguments and results
ROOM = 1 << 26
FAR_BEHIND = 4  # bound: times as long as XLA that a form as NumPy may be expected to take, so that it is tried
TURNS = 9  # bound: of both forms, one after the other
LAUNCH = 1e-5  # seconds that a launch through XLA costs at least; measured by benchmarks/tune.py
LITTLE = 0.1  # bound: share of the time that is no matter, of what runs in native loops
MUCH = 0.5  # bound: share of a short time that nests have to save, for the seconds that they take to compile
TINY = 1e-6  # bound: seconds up to which nothing is compiled: about what a call in front of machine code takes
# bound: seconds of a run through XLA from which jax arrays are tried as NumPy at once, if not by `call/beside_xla.py`
HANDED = 3e-4
LITTLE_ROW = 1 << 13  # bound: elements of an array up to which nests are taken not to lose to NumPy's calls


class BackendChoice:
    """Stands for the program of a world in which some signatures run as NumPy. known: {types: the one in `found` that
    has answered leaves of these}, of many."""

    def __init__(self, program, found=(), known=None):
        self.program, self.found, self.known = program, tuple(found), Limited() if known is None else known

    def __call__(self, *leaves):
        types = tuple(map(type_of, leaves)) if len(self.found) > IN_TURN else ()
        known = self.known.get(types)
        for run in self.found if known not in self.found else (known, *self.found):
            out = run(*leaves)
            if out is not numpy_call.MISS:
                if types and run is not known:
                    self.known[types] = run
                return out
        forked.refuse_forked()
        with dispatch.wide():
            return self.program(*leaves)


def without_xla(here, leaves):
    """The raw results of a program where XLA cannot run."""
    call = here.call.program if isinstance(here.call, Trees) else here.call
    for run in call.found if isinstance(call, BackendChoice) else ():
        out = run(*leaves)
        if out is not numpy_call.MISS:
            return out
    raise forked.Forked


def asked(compiled):
    """The engine that the user asks for, or None. Of several processes that run one program none is timed: each might
    choose another, and their numbers would part in the last bit."""
    if forked.Process.forked:
        return "numpy"
    return compiled.engine or CHOICE or ("xla" if is_one_of_several() else None)


def eligible(entry, here, version, most=LONGEST):
    """Whether a new version may run as NumPy; most: equations on arrays that it may have."""
    if (
        version.equations is not None
        or asked(entry.compiled) == "xla"
        or entry.compiled.device is not None
        or not dispatch.on_host()
        or not entry.numpy
        and (entry.compiled.donate or not can_be_handed_over(entry))
    ):
        return False
    with as_asked(entry):
        return may_be_numpy(version, most)


def can_be_handed_over(entry):
    """Whether calls of jax arrays may run as NumPy. Numbers of Python's may make results of theirs in JAX: whether they
    do, XLA's results say, where it is asked."""
    types = [entry.types[i] for i in entry.dynamic]
    strong = set(WEAK_DTYPES).isdisjoint(types)
    return host_arrays.can_be_ndarrays(types) and (strong or asked(entry.compiled) is None)


def settle(entry, here, version, everything):
    """Time both forms of a new version, where it may run as either -> whether `here.call` runs it as NumPy now."""
    if version.engine or not eligible(entry, here, version):
        return False
    program = here.call.program if isinstance(here.call, BackendChoice) else here.call
    if isinstance(program, Trees) and version.tree is None:
        program = program.program.program if isinstance(program.program, BackendChoice) else program.program

    weak = []

    def xla():
        with dispatch.wide():
            raw = program(*everything)
            if version.endures and not isinstance(raw, SelectedResults):
                waiting.heard(raw, entry.compiled.name, program)
        raw = raw.raw if isinstance(raw, SelectedResults) else raw
        weak[:] = [host_arrays.gave_weak(raw if isinstance(raw, tuple) else (raw,))]
        return spinning.ndarrays(raw, program)

    if asked(entry.compiled) is not None:
        switch_to_numpy(entry, here, version)
        return version.tree is None
    with events.timed("compile", "timing", "timed both engines", level=logging.DEBUG):
        run = faster_as_numpy(entry, version, everything, xla)
    if not entry.numpy and weak == [True]:  # which only XLA's are
        version.times = run = None
    if version.times is not None:
        tell_times(version, "XLA" if run is None else "generated NumPy")
    if run is None:
        return False
    switch_to_numpy(entry, here, version, run)
    return version.tree is None


def faster_as_numpy(entry, version, everything, xla):
    """Time both forms -> the one as NumPy where it is the faster, else None. xla(): a run of the other."""
    (first,) = turns([xla], 1)
    if not entry.numpy and first < HANDED:
        return None
    run = form_beside_xla(entry, version, everything, first)
    if run is None:
        return None
    if version.tried > max(ENOUGH, 4 * first):  # a first run waits for memory, but not as long as that
        version.times = version.tried, first
    else:
        # of jax arrays calls come one after the other, and find XLA's threads awake
        version.times = turns([lambda: run(*everything), xla], TURNS, ready=int(not entry.numpy))
    return run if is_ahead(version) else None


def is_ahead(version):
    """Whether a version is faster as NumPy, of its times."""
    ours, xla = version.times
    return AHEAD * ours <= xla


def form_beside_xla(entry, version, everything, first, known=math.inf):
    """The form as NumPy that may be faster than XLA, which a run took `first` seconds; None where there is none.
    known: seconds that a call as NumPy has taken, in one form or another."""
    arrays = everything if entry.numpy else host_arrays.as_ndarrays(everything)
    if not entry.numpy and not host_arrays.are_plain(everything):
        return None
    if not version.tried:
        # it may move four times as many bytes
        most = math.inf if known <= FAR_BEHIND * first else BANDWIDTH * (FAR_BEHIND * first + 1e-3)
        found = quickest(entry, version, arrays, most)
        if found is None:
            return None
        version.tried = found[0]
    return raw_form(entry, version)


def tell_times(version, engine):
    """Say as what a version runs, and how long that took when it was timed."""
    ours, xla = (t and in_time(t) for t in version.times)
    other = f"{xla} through XLA" if xla else "XLA not asked"
    text = f"runs as {engine}: {ours} {'as NumPy' if version.within_xla is None else 'with nests in it'}, {other}"
    events.report("compile", "engine", text, engine=engine, times=version.times)


def quickest(entry, version, everything, most):
    """(seconds of a run, seconds of it in nests, results, the function) of the quicker form of a version as NumPy,
    which it keeps.

    None where all forms write more than `most` bytes. Nests for straight lines are compiled only where NumPy's calls
    take long, or are very many; beside loops that are nests in any case and with small arrays alone, at once.
    """
    version.fused = None  # another call may have tried the forms, in other machine code
    if of_numbers(version):
        return at_once_in_nests(entry, version, everything, most)
    if has_nests(version.decided) and is_small_throughout(version.decided):
        version.fused = in_nests(entry, version)
        if version.fused is not None and traffic(version.fused) <= most:
            run = written(entry, version, timed=True)
            return *clocked(run, everything), run
        version.fused = None
    found = None
    if traffic(version.decided) <= most:
        run = written(entry, version, timed=True)
        found = *clocked(run, everything), run
        if cheap(*found[:2]) and found[0] < TINY:
            return found
    version.fused = in_nests(entry, version)
    if version.fused is not None and traffic(version.fused) <= most:
        share = 0 if found is None else MUCH if cheap(*found[:2]) else LITTLE
        if found is None or may_save(version, found[0]) > share * found[0]:
            other = written(entry, version, timed=True)
            again = *clocked(other, everything), other
            if found is not None and again[0] < ENOUGH + found[0] < LONG:  # what ran first may have waited for memory
                times = turns([lambda: run(*everything), lambda: other(*everything)], TURNS)
                found, again = ((t, *form[1:]) for t, form in zip(times, (found, again)))
            if found is None or again[0] < BETTER * found[0]:
                return again
    version.fused = None
    return found


def may_save(version, seconds):
    """Seconds that nests for the straight lines of a version may save, of a run that takes so many."""
    guessed = estimated(version.decided) - estimated(version.fused)
    return max(guessed, seconds - least_in_nests(version.fused))


def at_once_in_nests(entry, version, everything, most):
    """`quickest` of a version whose other form is too long to be tried, and to be compiled to say which check fails."""
    version.fused = in_nests(entry, version)
    if traffic(version.numpy) > most:
        return None
    run = written(entry, version, timed=True)
    total, inside, out = clocked(run, everything)
    told = told_by(run, version)
    return total, inside, told(*everything) if out is numpy_call.MISS else out, told


def in_nests(entry, version):
    """The equations of a version with nests for their straight lines, or None."""
    with as_asked(entry):
        return version.as_checked(fused(version.mixed))


def cheap(total, inside):
    """Whether a run takes so little beside its loops that XLA could save nothing."""
    return total - inside <= max(LAUNCH, LITTLE * inside)


def nothing_to_win(version, total, inside):
    """Whether XLA is not asked, after a run as NumPy."""
    return of_numbers(version) or cheap(total, 0 if version.fused else inside)


def switch_to_numpy(entry, here, version, run=None):
    """Run a version as NumPy from now on, unless it is from disk and its loops cannot run so here."""
    if run is None and asked(entry.compiled) == "nests":
        version.fused = in_nests(entry, version)
    if not all(has_statements(e) for e in equations(version.numpy) if with_loops(e)):
        version.engine = version.times = None
        return
    version.straight = written(entry, version, numpy_call.finished) if entry.numpy else None
    if version.tree is not None and version.straight is None:
        if run is not None and of_numbers(version):
            version.program, version.engine = run, "NumPy"
        else:
            version.times = None
        return
    version.engine = "NumPy"
    here.straight += [version.straight] if version.straight is not None else []
    # a call that goes another way fails one of the checks, and the tree knows who it is for
    if version.tree is None:
        begin(here, run or (raw_form if version.straight is None else later)(entry, version))


def stand_by(entry, here, version):
    """The same for a version whose calls a function for the whole call answers that is made elsewhere: what it is by
    itself is written when it is first called, hardly ever."""
    if asked(entry.compiled) == "nests":
        version.fused = in_nests(entry, version)
    version.engine = "NumPy"
    begin(here, later(entry, version))


def begin(here, run):
    """Have the program of a set ask one more form of a version first, which says MISS of calls of others."""
    trees = here.call if isinstance(here.call, Trees) else None  # which know whose call it is, and stay in front
    call = here.call if trees is None else trees.program
    known = isinstance(call, BackendChoice)
    before = call if known else BackendChoice(trap.with_status(call))
    call = BackendChoice(before.program, [*before.found, run], before.known)
    if trees is None:
        here.call = call
    else:
        trees.program = call


def told_by(run, version):
    """A form as NumPy, of which a plain one says which check has failed."""
    plain = functools.cache(lambda: once_callable(version.func))

    def told(*leaves):
        out = run(*leaves)
        if out is not numpy_call.MISS:
            return out
        taken = [np.asarray(leaves[place]) for place in version.places]
        if any((x.shape, x.dtype) != (p.type.shape, p.type.dtype) for x, p in zip(taken, version.func.params)):
            return out  # of leaves of other types
        with np.errstate(all="ignore"):
            out = plain()(*taken)
        return out[0] if len(out) == 1 else tuple(map(np.asarray, out))

    return told


def later(entry, version):
    """The raw form of a version, written when it is first called: where there is one function for the whole call,
    hardly ever."""
    made = functools.cache(lambda: raw_form(entry, version))
    return lambda *leaves: made()(*leaves)


def raw_form(entry, version):
    """A version as NumPy that gives its raw results, in the kind of arrays that the calls of `entry` take."""
    run = written(entry, version)
    if entry.numpy:
        return run
    version.on_jax_arrays = on_jax_arrays(run, version)
    return version.on_jax_arrays


def written(entry, version, form=numpy_call.raw, timed=False):
    """A version as NumPy, in one form or the other, with machine code where the user leaves it be; timed: as what its
    compilation takes."""
    start = time.perf_counter()
    types = [entry.types[i] for i in entry.dynamic]
    with as_asked(entry):
        made = form(version, types if entry.numpy else [np.ndarray if dispatch.is_device_type(t) else t for t in types])
    if timed:
        version.compile_seconds = (version.compile_seconds or 0.0) + time.perf_counter() - start
    seconds = time.perf_counter() - start
    events.report("compile", "numpy", "written as NumPy statements", seconds, level=logging.DEBUG)
    return made


@contextlib.contextmanager
def as_asked(entry):
    """Within, there are nests where the user leaves them be, and as exact as asked."""
    with exactly(entry.compiled.exact), contextlib.nullcontext() if entry.compiled.native else native.asked(None):
        yield


def may_be_numpy(version, most=LONGEST):
    """Whether a program has no loops but nests, acts on nothing, and needs little more memory as NumPy, which fuses
    nothing."""
    func = version.decided
    eqns = list(equations(func))
    if version.effects or has_small(func) or sum(map(on_arrays, eqns)) > most:
        return False
    if not is_loop_free(func, has_statements):
        return False
    ends = sum(map(nbytes, (*func.params, *func.results)))
    return all(nbytes(r) <= max(ROOM, 4 * ends) for e in eqns for r in e.results)


def on_arrays(eqn):
    return any(r.type.size > SMALL for r in eqn.results)


def has_nests(func):
    """Whether a program has loops that run as machine code."""
    return any(e.op is LOOP and not by_python(e) for e in equations(func))


def is_small_throughout(func):
    """Whether all arrays of the equations outside of loops are so small that nests are as fast as NumPy's calls."""
    return all(r.type.size <= LITTLE_ROW for e in equations(func) if e.op is not LOOP for r in e.results)


def of_numbers(version):
    """Whether a program is so long that XLA would take seconds to compile it, most of it equations on numbers, which it
    does not run faster."""
    return len(version.decided.eqns) > LONGEST + sum(map(on_arrays, version.decided.eqns))
