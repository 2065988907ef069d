"""`jit(tier="background")`: programs are traced and compiled on a thread of their own, and plain Python answers the
calls meanwhile.

The user's own function is what a program must agree with in values, writes, exceptions and output, and it is there at
once. A call without a program runs it, and then asks for the program, once. One thread makes what was asked for, in
turn (`Worker`). It traces beside the running program (`aside`); what must not be traced there is traced by the next
call, which then leaves the compiler to the thread. A finished program is put in use by the call that first wants it,
when all that the trace relied on is still so: between calls, never within one.
"""

import builtins
import time
import types

import numpy as np

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.types import type_of
from ..cache.watch import watching
from ..capture.handover import SCALAR
from ..common import events, progress
from ..common.errors import REFUSALS, warn_fallback
from ..guards import isolation
from ..guards.draw_sources import Draw
from ..guards.guard import Guard, Read
from ..guards.snapshot import ATOMS
from ..program import backend_choice
from ..program.specialisation_set import SpecialisationSet, input_key
from ..program.trace_tree import SideExit, Trees, Undecided, Untraced
from ..rules import rules
from ..values.array import WEAK_DTYPES
from .background_job import ASKED, DATA, FAILED, HERE, NEW, READY, TRIES, Job
from .deferred import copies
from .entry import SignatureEntry
from .fallback import left_to_python
from .instead import UNANSWERED
from .worker import WORKER, Strict, paced

LARGE = 1 << 28  # bound: bytes of arguments from which generated NumPy is not timed: they are made up for that
UNREADY = "its program is not ready yet, on another thread"
CALLING = "host", "external"  # ops that may run Python


class Background(SignatureEntry):
    """An Entry whose calls never wait: see the module."""

    def __init__(self, *args):
        super().__init__(*args)
        self.programs = {}  # World -> {types: its compiled program}
        function = self.compiled.plain
        transform = getattr(function, "compiled", None)
        self.answers_with = "generated NumPy" if transform is not None and not transform.has_plain else "plain Python"

    def first(self, *leaves, given=None):
        """A call that the path of `run` does not answer."""
        try:
            return self.begun(leaves, given)
        except UNANSWERED as error:
            why = error
        return self.instead(leaves, why, given)  # here: an exception of the user's has nothing to do with ours

    def begun(self, leaves, given):
        """The same: by a program that is finished by now, or without one."""
        kinds = self.kinds_of(leaves)
        types, missing, tried, undecided = tuple(k.type for k in kinds), None, [], None
        while (here := self.ready(types, missing, tried)) is not None:
            tried.append(here)
            try:
                return self.through(here, leaves, given)
            except SideExit as found:
                missing = found
            except Undecided as found:
                undecided = found
                break
            except Untraced:
                pass
        if undecided is not None:  # here: no exception of ours is handled where the user's code runs
            return self.plainly(leaves, undecided.reason, given)
        if self.numpy and isolation.is_answering():
            return self.uncaptured(leaves, given)
        job = self.job(kinds, types, missing)
        if not self.numpy or differs_from_plain(job):
            return self.waits(job, leaves, given)
        return self.answered(job, leaves, given)

    def waits(self, job, leaves, given):
        """A call for which plain Python does not give what a program does, as with jax arrays: it waits for the
        compiler."""
        forked.refuse_forked()
        with job.lock, events.making(self.compiled):
            if job.state is not READY:
                self.refuse_known(job.types)
                try:
                    job.version = self.trace(job.kinds, job.types, job.reason, leaves, job.path)
                except REFUSALS as error:
                    self.refuse(job.types, error)
                progress.phase("compiling", job.version.func.count())
                self.make(job)
                job.state, job.waited = READY, 1
        return self.first(*leaves, given=given)

    def through(self, here, leaves, given):
        """The call by a world's program; Untraced where it is not for these leaves."""
        if here.draws is not None:
            return self.drawn(here, leaves, given)
        everything = [*leaves, *here.gather()]
        return self.finish(here, self.launch(here, everything), everything, given)

    # -- without a program -------------------------------------------------------------------------
    def job(self, kinds, types, missing):
        """The Job of a call, a new one where there is none."""
        with self.compiled.lock:
            key = types, missing.path if missing is not None else ()
            if key not in self.jobs:
                here = next((w for w in self.worlds if w.serves(types)), None)
                reason = "data took another way" if missing is not None else self._reason(types, here)
                self.jobs[key] = Job(self, kinds, types, reason, missing)
                if self.current is not None and self.current in self.programs:
                    self.spread(self.current)
            return self.jobs[key]

    def answered(self, job, leaves, given):
        """The call without a program, which is asked for when the result is there."""
        with self.compiled.lock:
            now, mine = job.state, job.state in (NEW, DATA, HERE)
            job.state = ASKED if mine else now
        if now is FAILED and not job.told:
            job.told = True
            warn_fallback(
                f"{self.compiled.name} cannot be compiled, and its calls run as {self.answers_with}: {job.error}",
            )
        ours = copies(leaves) if now is DATA else None
        if now is HERE:
            mine = self.trace_here(job, leaves)
        isolation.waited()
        try:
            with isolation.answering(), left_to_python(self.compiled, UNREADY):
                result = self.uncaptured(leaves, given)
        except BaseException:
            if mine:
                job.state = now
            raise
        job.answers += 1
        job.waited += isolation.waited()
        if mine:
            job.leaves = ours
            if WORKER.ask(job):
                text = lambda: f"asked for a program of ({self.shown_types(job.types)}) on another thread: {job.reason}"
                events.report("compile", "asked", text, of=self.compiled, reason=job.reason, types=job.types)
            else:
                job.state = now
        return result

    def trace_here(self, job, leaves):
        """The trace that cannot be made beside the program, on the thread of a call -> whether there is one to
        compile."""
        try:
            job.version = self.trace(job.kinds, job.types, job.reason, leaves, job.path)
            return True
        except Exception as error:
            job.tries = TRIES
            job.failed(error)
            return False

    # -- on the thread -----------------------------------------------------------------------------
    def watch(self):
        return watching(Strict) if isolation.now() is not None else super().watch()

    def make(self, job):
        """Trace and compile; Shared where the trace must be made by a call."""
        version, files = job.version or self.stored(job.types, job.reason), {}
        if version is None:
            with isolation.beside(), np.errstate(all="ignore"):  # what a trace warns of, plain Python has warned of
                version = self.trace(job.kinds, job.types, job.reason, job.leaves or isolation.Withheld(), job.path)
                refuse_functions(version.captured.outs)
        job.version, job.leaves = version, None
        version.places = list(range(len(version.captured.func.params)))
        start = time.perf_counter()
        if not version.engine:
            with self.compiled.cache.collect(version) as files:
                job.program = self.compiled_ahead(version, job.kinds)
                self.warm(version, job)
        version.first_seconds = version.compile_seconds = time.perf_counter() - start
        self.compiled.cache.keep(self, version, files)

    def compiled_ahead(self, version, kinds):
        """The program of a version, compiled for what its calls will pass."""

        def find(found):
            if found != expected:
                raise Untraced
            return version.func, version.places

        expected = tuple(p.type for p in version.captured.func.params)
        program = dispatch.program(find, self.compiled.name, **self.compiled.lowering())
        numbers = [*(k.kind for k in kinds), *map(kind_of_input, version.captured.inputs)]
        leaves = [(t, n if n in WEAK_DTYPES else None) for t, n in zip(expected, numbers, strict=True)]
        with paced():
            dispatch.ahead(program, leaves, self.compiled.device, dispatch.narrow(version.func))
        return program

    def warm(self, version, job):
        """Run it on arguments that are made up, where that surely ends: XLA prepares products when they are first run.
        And find out whether it runs as generated NumPy."""
        params = version.captured.func.params
        if (
            not terminates(version.func)
            or version.captured.outside.draws
            or sum(p.type.size * p.type.dtype.itemsize for p in params) > LARGE
        ):
            return
        kinds = [*(k.kind for k in job.kinds), *map(kind_of_input, version.captured.inputs)]
        made = [made_up(p.type, k) for p, k in zip(params, kinds, strict=True)]
        device = self.compiled.device
        with dispatch.wide():
            made = made if device is None else dispatch.moved_to_device(made, device)
            dispatch.wait(job.program(*made))
        if not version.assumed:
            here = SpecialisationSet(self.compiled, version.rules)
            here.call = job.program
            backend_choice.settle(self, here, version, made)

    # -- taking over -------------------------------------------------------------------------------
    def ready(self, types, missing, tried):
        """The world that has a program for these types now, made the current one; None where there is none.

        missing: the way that this call's data takes, if the worlds `tried` have no program for it, unless one was
        finished just now.
        """
        with self.compiled.lock:
            key = types, missing.path if missing is not None else ()
            taken = None
            if key in self.jobs and self.jobs[key].state is READY:
                taken = self.admit(self.jobs.pop(key))
            others = (w for w in (self.current, *self.worlds) if w is not None and (w is taken or w not in tried))
            here = next((w for w in others if w.serves(types) and self.has(w, types)), None)
            if here is None and missing is None and self.old:
                here, _ = self.recall_kept(types) or (None, None)
            if here is not None and (taken is not None or here is not self.current):
                self.current = here
                if here.draws is None:
                    self.compiled.front.install(self)
            return here

    def forget_jobs(self):
        """Those that the thread is not at are asked for again, if they are wanted."""
        self.jobs = {key: job for key, job in self.jobs.items() if job.state is ASKED}

    def forget_programs(self, here):
        super().forget_programs(here)
        self.programs.pop(here, None)

    def hand_over(self, version, old, here):
        here = super().hand_over(version, old, here)
        types = tuple(p.type for p in version.captured.func.params)
        if types in (before := self.programs.get(old, {})):
            self.programs.setdefault(here, {})[types] = before.pop(types)
        self.programs.setdefault(here, {})
        self.spread(here)
        return here

    def has(self, here, types):
        return here.draws is not None or here.version((*types, *(type_of(x) for x in here.gather()))) is not None

    def admit(self, job):
        """A finished program joins the world that holds now, if it takes the same in and may hold now; else it has a
        world of its own. -> the world."""
        version, inputs = job.version, [*map(input_key, job.version.captured.inputs)]
        holds = version.rules == rules.in_force() and Guard(version.captured.outside.reads.values()).holds()
        fits = lambda w: (
            w.holds()
            and [*map(input_key, w.inputs)] == inputs
            and w.draws is None
            and not version.captured.outside.draws
        )
        here = next((w for w in (self.current, *self.worlds) if w is not None and fits(w)), None) if holds else None
        if here is None:
            here = SpecialisationSet(self.compiled, version.rules)
            self.worlds.append(here)
        here.add(version, job.tree if any(v.tree is job.tree for v in here.versions) else None)
        programs = self.programs.setdefault(here, {})
        if version.assumed:
            version.program = job.program
        elif job.program is not None:
            programs[tuple(p.type for p in version.captured.func.params)] = job.program
        if version.engine:
            backend_choice.switch_to_numpy(self, here, version)
        self.spread(here)
        version.background, job.taken, job.context = job, time.perf_counter(), None
        return here

    def spread(self, here):
        """Have a world launch what is compiled, and nothing else: jax would compile what it has not seen."""
        programs = self.programs[here]
        base = next(iter(programs.values())) if len(programs) == 1 and not self.jobs else Programs(programs)
        trees = here.call if isinstance(here.call, Trees) else None
        call = here.call if trees is None else trees.program
        if isinstance(call, backend_choice.BackendChoice):
            base = backend_choice.BackendChoice(base, call.found)
        if trees is None:
            here.call = base
        else:
            trees.program = base
        if here is self.current and here.draws is None:
            self.compiled.front.install(self)


class Programs:
    """Stands for the program of a world: one for each set of types, and none for others."""

    def __init__(self, programs):
        self.programs = programs

    def __call__(self, *leaves):
        program = self.programs.get(tuple([type_of(x) for x in leaves]))
        if program is None:
            raise Untraced
        return program(*leaves)


def kind_of_input(x):
    """The Python type of what a program takes in beside its arguments: a Read's, a Draw's, an array, or the number of
    the call."""
    return type(x.value) if isinstance(x, Read) else x.kind if isinstance(x, Draw) else int if x is None else type(x)


def made_up(type, kind):
    """A value of a type, as an array or number of the kind."""
    x = np.ones(type.shape, type.dtype)
    return (
        kind(1)
        if kind in WEAK_DTYPES
        else x[()]
        if kind is SCALAR or isinstance(kind, builtins.type) and issubclass(kind, np.generic)
        else x
    )


def terminates(func):
    """Whether a program has no loops and does not call Python: it ends soon, whatever it is given."""
    return not any(
        e.effect or e.op.name in CALLING or "trips" in e.attrs or not all(map(terminates, e.regions()))
        for e in func.eqns
    )


def refuse_functions(outs):
    """A function made in a trace sees globals as the trace did; made beside the program, it must not leave it, nor what
    may hold it."""
    for out in outs:
        x = out.object
        if out.how == "object" and (
            isinstance(x, types.FunctionType) or not isinstance(x, (*ATOMS, np.ndarray, np.dtype))
        ):
            isolation.refuse(f"it returns or stores a {type(x).__name__}")


def differs_from_plain(job):
    """Whether plain Python gives other numbers than the program of a job, as far as is known before it is there."""
    known = job.version is not None and job.version.differs_from_plain
    return known or any(t.small for t in job.types) or rules.change_numbers(rules.in_force())
