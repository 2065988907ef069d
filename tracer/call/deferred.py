"""Programs whose compilation through XLA waits until it has paid, and then is made on another thread.

A new straight-line program of many equations runs as generated NumPy, written in a few milliseconds, and does so until
its calls have taken a share of what XLA is estimated to need; so does any other that has been tried as NumPy, with its
nests, and takes less than that. Then XLA, and native nests where there are none, are asked for on the thread that
`jit(tier="background")` uses. Some calls are then answered by one form, and some by the other, each of which runs once
and is timed; the faster has the others. Beside calls they could not be compared: each would wait for the other by
several times what they take.
"""

import contextvars
import functools
import math
import time

import numpy as np

from ...backends.xla import dispatch, spinning, waiting
from ...ir.amounts import in_time
from ...ir.types import type_of
from ..common import events
from ..guards import isolation
from ..program import autotune, backend_choice, clock, numpy_call, siblings
from ..program.trace_tree import Trees
from ..values.array import WEAK_DTYPES
from .worker import WORKER, paced

EQUATION = 5e-3  # seconds that XLA takes to compile an equation; measured by benchmarks/sizes/compiling.py
LINE = 4e-4  # seconds that LLVM takes to optimise a line of a nest; measured by benchmarks/sizes/compiling.py
WAY = 3e-5  # bound: seconds that the way to such a program takes a call, which pay too
MANY = 40  # bound: equations from which a program does not wait for XLA
LONGEST = 1 << 12  # bound: equations on arrays up to which one is written as NumPy meanwhile
SHARE = 0.1  # bound: of the estimated seconds of a compilation, that calls take before it is asked for
AT_ONCE = 0.3  # bound: of those, that one call takes in machine code that is not optimised, so as not to wait for it
TURNS, FEW = 7, 3  # bound: calls by each of two forms, until the faster has the others; where XLA is far behind
HOPELESS = 3.0  # bound: times as long that it takes then
LARGE = 1 << 28  # bound: bytes of arguments up to which they are copied, for forms to be timed on
WAITS, ASKED, READY, DONE = "waits until it pays", "asked for", "ready", "done"


def deferred(entry, here, version, everything):
    """The raw results of a new program that runs as generated NumPy until XLA has paid; None for others."""
    eqns = list(backend_choice.equations(version.decided))
    if len(eqns) < MANY or any(e.op is backend_choice.LOOP for e in eqns) or backend_choice.of_numbers(version):
        return None
    if not may_wait_for_xla(entry, here, version, everything):
        return None
    start = time.perf_counter()
    run = backend_choice.written(entry, version, timed=True)
    raw = run(*everything)
    if raw is numpy_call.MISS:
        return None
    put_off(Deferred(entry, here, version, run), time.perf_counter() - start)
    return raw


def puts_off(entry, here, version, everything):
    """What `autotune.tried` asks to put XLA off, where a version may wait for it: done unless a call of a form as NumPy
    takes too long."""
    if not may_wait_for_xla(entry, here, version, everything):
        return None

    def is_put_off(run, seconds, quick=()):
        made = Deferred(entry, here, version, run, quick)
        if seconds > (AT_ONCE if quick else SHARE) * made.estimate:
            return False
        put_off(made)
        return True

    return is_put_off


def put_off(made, seconds=None):
    """Run a version as generated NumPy until it has paid for XLA. seconds: what it took to get there."""
    entry, here, version = made.entry, made.here, made.version
    version.engine, version.deferred = "NumPy", made
    here.contests.pop(tuple(p.type for p in version.captured.func.params), None)  # it begins when that is settled
    backend_choice.begin(here, made)
    entry.compiled.front.install(entry)
    text = "runs as generated NumPy until calls have paid for XLA"
    events.report("compile", "deferred", text, seconds, of=entry.compiled, engine="NumPy")


def may_wait_for_xla(entry, here, version, everything):
    """Whether a new version may run as NumPy until XLA has paid."""
    if version.engine or version.first_seconds is not None or version.assumed or version.chain is not None:
        return False
    if not entry.learns():
        return False
    compiled = entry.compiled
    special = compiled.exact or compiled.cache.keeps or version.captured.outside.draws or here.draws
    asked = backend_choice.asked(compiled) is not None
    if special or asked or not backend_choice.eligible(entry, here, version, LONGEST):
        return False
    return may_be_copied(everything)


def may_be_copied(leaves):
    """Whether arguments are so small that forms are timed on copies of them."""
    return sum(getattr(x, "nbytes", 0) for x in leaves) <= LARGE


def copies(leaves):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]


class Deferred:
    """Stands for such a program among those of a `BackendChoice`. As the Job of a worker it makes the others.

    OTHER: what is made beside it; MEANWHILE: as what calls run; STATES: how those two are called; UNMADE: what failed.
    """

    OTHER, MEANWHILE, UNMADE = "XLA", "as generated NumPy", "not compiled through XLA"
    STATES = {WAITS: "waits for XLA until it pays", ASKED: "being compiled through XLA"}

    def __init__(self, entry, here, version, run, quick=()):
        self.entry, self.here, self.version, self.run_as_numpy, self.quick = entry, here, version, run, quick
        self.estimate = EQUATION * len(list(backend_choice.equations(version.decided)))
        self.estimate += LINE * sum(code.text.count("\n") for code in quick)
        self.seconds, self.calls, self.state, self.why = 0.0, 1, WAITS, None
        self.least, self.interim = math.inf, None  # seconds of the shortest call; what has plain Python answer others
        self.leaves = self.program = self.faster = self.context = self.trial = None
        self.unasked = [True]  # empty once a thread asks

    def __call__(self, *leaves):
        """The raw results of a call, MISS for other types."""
        if self.state is READY and self.trial is not None:
            return self.tried(leaves)
        self.pause()
        start = time.perf_counter()
        with isolation.calling():
            out = self.run_as_numpy(*leaves)
        if out is numpy_call.MISS:
            return out
        spent = time.perf_counter() - start
        self.seconds, self.calls, self.least = self.seconds + spent + WAY, self.calls + 1, min(spent, self.least)
        if self.state is READY and self.trial is None:  # it may have become ready meanwhile
            self.take_over(leaves)
        elif self.is_due():
            self.ask(leaves)
        return out

    def tried(self, leaves):
        """The raw results of a call by the form whose turn it is."""
        if not self.version.fits([type_of(x) for x in leaves]):
            return numpy_call.MISS
        with isolation.calling():
            out = self.trial(leaves)
        if self.trial.ended():
            self.version.times = self.trial.times()
            self.faster = self.trial.forms[0] if self.is_ahead() else None
            self.take_over(leaves)
        return out

    def pause(self):
        """Leave the processor to another form while it is timed on the other thread, and Python while it is made."""
        if self.state is ASKED:
            clock.TIMING.pause()
            WORKER.let_in()

    def is_due(self):
        """Whether calls have taken so long that XLA is to be asked for."""
        return self.state is WAITS and self.seconds >= SHARE * self.estimate

    def ask(self, leaves):
        """Have the other forms made."""
        try:
            self.unasked.pop()
        except IndexError:  # another thread asks
            return
        self.state = ASKED
        self.leaves = copies(leaves)
        self.context = contextvars.copy_context()
        if not WORKER.ask(self):
            self.optimise()
            self.leaves, self.state = None, WAITS
            self.unasked.append(True)
            return
        text = lambda: f"asked for {self.OTHER} on another thread, after {self.calls} calls {self.MEANWHILE}"
        events.report("compile", "asked", text, of=self.entry.compiled, types=self.version.types)

    # -- on the thread -----------------------------------------------------------------------------
    def run(self):
        start = time.perf_counter()
        try:
            with events.making(self.entry.compiled):
                self.context.run(self.make)
            self.state = READY
            text = lambda: f"{self.made()} beside the program, in {in_time(time.perf_counter() - start)}"
            events.report("compile", "ready", text, of=self.entry.compiled, types=self.version.types)
        except BaseException as error:
            self.why, self.faster = events.first_line(error), self.form_without()
            self.state = READY
            text = f"{self.UNMADE}: {self.why}"
            events.report("compile", "failed", text, of=self.entry.compiled, types=self.version.types)
        finally:
            self.leaves = self.context = None

    def optimise(self):
        """Have LLVM optimise what was compiled quickly."""
        for code in self.quick:
            code.optimise()
        self.quick = ()

    def has_won(self):
        """Whether a version is to run as NumPy, in code that LLVM has optimised, whatever XLA does."""
        version, leaves = self.version, self.leaves
        self.optimise()
        found = backend_choice.quickest(self.entry, version, leaves, autotune.CHEAP)
        if found is None:
            version.tried = 0.0
            return False
        version.tried, inside, raw, run = found
        if raw is numpy_call.MISS or not siblings.nothing_to_win(self.entry, version, version.tried, inside):
            return False
        version.times, version.inside, self.faster = (version.tried, None), inside, run
        return True

    def make(self):
        """Compile through XLA where that may win, and time both."""
        version, entry, leaves = self.version, self.entry, self.leaves
        if self.quick or siblings.is_spoken_for(entry, version):
            with WORKER.hurried():
                if self.has_won():
                    return
        find = lambda types: (version.func, version.places)
        program = dispatch.program(find, entry.compiled.name, **self.here.options)
        types = [(type_of(x), type(x) if type(x) in WEAK_DTYPES else None) for x in leaves]
        with paced():
            dispatch.ahead(program, types, None, dispatch.narrow(version.func))

        def xla():
            return self.waited_for(program, *leaves)

        xla()  # XLA prepares products when they first run
        self.program = program
        if version.endures:  # signals are heard where one form has the calls
            self.faster = backend_choice.faster_as_numpy(entry, version, leaves, xla)
            return
        woken = clock.woken(xla)
        form = backend_choice.form_beside_xla(entry, version, leaves, woken, self.least)
        if form is not None:
            self.trial = EngineTrial(form, functools.partial(self.waited_for, program), (math.inf, woken))

    def waited_for(self, program, *leaves):
        """The raw results of XLA's program, when they are there; signals are heard meanwhile where it may take long."""
        with dispatch.wide():
            raw = program(*leaves)
        if self.version.endures:
            waiting.heard(raw, self.entry.compiled.name, program)
        self.wait(raw, program)
        return raw

    def wait(self, raw, program):
        """Wait for what XLA's program gave, as calls of the user's do."""
        spinning.ndarrays(raw, program)

    # -- on the thread of a call -------------------------------------------------------------------
    def take_over(self, leaves):
        """Put the faster form in use."""
        entry, here, version = self.entry, self.here, self.version
        with entry.compiled.lock:
            if self.state is DONE:
                return
            self.state, version.engine = DONE, None
            choice = self.choice()
            choice.found = tuple([run for run in choice.found if run is not self])
            choice.known.clear()
            if self.faster is not None:
                self.use_faster(leaves)
            else:
                self.keep_xla(leaves)
            if version.times is not None:
                backend_choice.tell_times(version, version.engine or "XLA")
            if entry.current is here:
                entry.compiled.front.install(entry)

    def choice(self):
        """The BackendChoice that it is one of."""
        call = self.here.call
        return call.program if isinstance(call, Trees) else call

    def is_ahead(self):
        """Whether generated NumPy is faster, of the version's times."""
        return backend_choice.is_ahead(self.version)

    def form_without(self):
        """What has the calls where the other form could not be made, None for XLA."""
        return self.run_as_numpy

    def use_faster(self, leaves):
        """Have the form as NumPy answer calls of the version."""
        backend_choice.switch_to_numpy(self.entry, self.here, self.version, self.faster)

    def keep_xla(self, leaves):
        """Have XLA's program answer such leaves."""
        self.here.base.adopt(leaves, self.program)

    def made(self):
        """What another thread has done."""
        return "XLA was compiled" if self.program is not None or self.why else "machine code was optimised"

    def told(self):
        """What explain() says of it."""
        plain = self.interim.calls if self.interim is not None else 0
        others = f", and as plain Python for {plain}" if plain else ""
        if self.state is DONE:
            return f"{self.MEANWHILE} for {self.calls} calls{others}, until {self.made()} beside the program"
        hot = ", in machine code that is not optimised yet" if self.quick else ""
        return f"{self.MEANWHILE}, {self.calls} calls so far{hot}{others}; {self.STATES.get(self.state, self.state)}"


class EngineTrial:
    """Some calls by generated NumPy, then as many by XLA: threads of the one are awake for a while after it, and would
    have the other wait in each turn. woken: seconds of each where threads of XLA's are awake (`clock.woken`), as they
    may not be where calls come the long way; spent: seconds of the calls of each."""

    def __init__(self, run, xla, woken):
        self.forms, self.woken, self.spent = (run, xla), woken, ([], [])

    def __call__(self, leaves):
        """The raw results of a call."""
        k = int(len(self.spent[0]) >= TURNS)
        start = time.perf_counter()
        out = self.forms[k](*leaves)
        self.spent[k].append(time.perf_counter() - start)
        return out

    def ended(self):
        """Whether it is known who is faster: without calls by XLA where that is, soon where it takes several times as
        long."""
        count = len(self.spent[1])
        ours, xla = self.times()
        if not count:
            return len(self.spent[0]) >= TURNS and xla < ours
        return count >= TURNS or count >= FEW and xla > HOPELESS * ours

    def times(self):
        """Seconds of each."""
        return tuple([min(known, clock.in_a_row(t)) if t else known for known, t in zip(self.woken, self.spent)])


def is_deferred(version):
    """Whether a version may yet run as something else."""
    return version.deferred is not None and version.deferred.state is not DONE
