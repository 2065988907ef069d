"""Programs of symbolic sizes through XLA: which steps of a ladder are compiled, and which calls they answer.

A family's calls are answered by generated NumPy for all sizes. Where those of sizes that share a step of the ladder
(`backends/xla/ladder.py`) have taken a share of what XLA is estimated to need for it, the step is compiled on the
thread of `jit(tier="background")`, and timed there beside NumPy on copies of that call's arguments. It answers the
calls of its sizes from then on where it was faster.
"""

import contextvars
import time

from ...backends.xla import dispatch, ladder
from ...ir.amounts import in_time
from ...ir.bounded import Limited
from ...ir.types import type_of
from ..common import events
from ..program import backend_choice
from ..program.numpy_function import MISS
from .deferred import EQUATION, copies, may_be_copied
from .worker import WORKER, paced

SHARE = 0.5  # bound: of the estimated seconds of a compilation, that calls of a step take before it is asked for
TIMES = 3  # bound: runs of which the least time counts
KEPT = 1024  # bound: combinations of types whose programs are kept, the latest
WAITS, ASKED, FASTER, SLOWER, NONE = "waits", "being compiled", "faster", "slower", "none"


class StepTally:
    """The calls of the sizes of one step. seconds, calls: of NumPy; rung: what runs it; times: (NumPy's, its own)."""

    __slots__ = ("answered", "calls", "rung", "seconds", "state", "times", "why")

    def __init__(self):
        self.calls, self.seconds, self.state, self.answered = 0, 0.0, WAITS, 0
        self.rung = self.times = self.why = None


class Laddered:
    """The ladder of a family. numpy: the function for all sizes, which takes what it says it reads, then the leaves of
    a call and what is taken in from outside."""

    def __init__(self, entry, here, family, numpy, skipped):
        self.entry, self.family, self.numpy = entry, family, numpy
        # behind what the program takes lie arrays that other traces take in from outside
        self.taken = slice(skipped, skipped + len(family.generic.func.params))
        options = {k: v for k, v in here.options.items() if k != "raising"}
        self.ladder = ladder.Ladder(family.generic, entry.compiled.name, **options)
        self.steps = {}  # step -> StepTally
        self.known = Limited(KEPT)  # types -> (sizes, Specialisation), None of other programs
        self.estimate = EQUATION * family.generic.func.count()

    @classmethod
    def of(cls, entry, here, family, numpy, skipped):
        """None where XLA is not asked for such programs."""
        func = family.generic.func
        asked = backend_choice.asked(entry.compiled) == "numpy" or not dispatch.on_host()
        few = any(p.type.small for p in func.params)
        return None if asked or few else cls(entry, here, family, numpy, skipped)

    def step(self, sizes):
        """The StepTally of these sizes, in the order of the names."""
        room = self.ladder.steps.room(dict(zip(self.family.names.names, sizes, strict=True)))
        key = tuple(room.values())
        return self.steps.get(key) or self.steps.setdefault(key, StepTally())

    # -- a call ----------------------------------------------------------------------------------------
    def answer(self, step, given):
        """What a call returns, MISS where it is another's."""
        leaves = given[self.taken]
        types = tuple(map(type_of, leaves))
        found = self.known.get(types, MISS)
        if found is MISS:
            found = self.known[types] = self.version(types)
        if found is None:
            return MISS
        sizes, version = found
        raw = tuple(step.rung(leaves, sizes))
        if version.status(raw):
            return MISS
        step.answered += 1
        return version.finish(raw, leaves, True, lambda reason: MISS)

    def version(self, types):
        """(sizes, the Specialisation) of types of leaves and inputs, None where they are of another program."""
        sizes = self.family.serves(types[: len(self.family.samples[0].version.types)])
        if sizes is None:
            return None
        made = self.family.version(sizes)
        made.places = range(len(made.func.params))
        return (sizes, made) if [p.type for p in made.func.params] == list(types) else None

    def spent(self, step, sizes, seconds, given, in_row):
        """Note that NumPy has answered a call; where that pays, ask for the step. in_row: calls in a row of these
        sizes, for which they have a program of their own if there are no others."""
        step.calls, step.seconds = step.calls + 1, step.seconds + seconds
        if step.state is WAITS and step.seconds >= SHARE * self.estimate and step.calls > in_row:
            leaves = given[self.taken]
            if may_be_copied(leaves):
                step.state = ASKED
                if not WORKER.ask(StepJob(self, step, sizes, given)):
                    step.state = WAITS

    def hopes(self, step):
        """Whether a step may yet answer calls, or does."""
        return step.state not in (SLOWER, NONE)

    def told(self):
        """A line for each step that XLA was asked for."""
        names, lines = list(self.family.names.names), []
        for key, step in sorted(self.steps.items()):
            if step.state is WAITS:
                continue
            text = f"{', '.join(f'{n} <= {k}' for n, k in zip(names, key, strict=True))}: {step.state}"
            if step.times is not None:
                numpy, own = map(in_time, step.times)
                text += f", {own} where NumPy takes {numpy}, {step.answered} calls, {len(step.rung.made.masks)} masks"
            lines.append(text + (f", {step.why}" if step.why else ""))
        return lines


class StepJob:
    """Compiles a step on the thread of the worker, and times it."""

    def __init__(self, laddered, step, sizes, given):
        self.laddered, self.step = laddered, step
        self.sizes = dict(zip(laddered.family.names.names, sizes, strict=True))
        self.given = copies(given)
        self.context = contextvars.copy_context()

    def run(self):
        step, laddered, start = self.step, self.laddered, time.perf_counter()
        compiled = laddered.entry.compiled
        try:
            with events.making(compiled):
                self.context.run(self.make)
            step.state = FASTER if step.times[1] <= step.times[0] else SLOWER
            laddered.estimate = time.perf_counter() - start
            text = lambda: f"compiled for sizes up to {step.rung.made.room}: {step.state} than NumPy"
            events.report("compile", "step", text, laddered.estimate, of=compiled)
        except BaseException as error:
            step.state, step.why = NONE, events.first_line(error)
            text = f"has no program for sizes up to those of {self.sizes}: {step.why}"
            events.report("compile", "no step", text, time.perf_counter() - start, of=compiled)
        finally:
            self.given = self.context = None

    def make(self):
        laddered, leaves = self.laddered, self.given[self.laddered.taken]
        rung = self.step.rung = laddered.ladder.rung(self.sizes)
        with paced():
            rung.prepare()
        rung(leaves, self.sizes)  # XLA prepares products when they first run
        if laddered.answer(self.step, self.given) is MISS:
            raise LookupError("it answers no such call")
        own = timed(lambda: laddered.answer(self.step, self.given))
        self.step.times, self.step.answered = (timed(lambda: laddered.numpy.again(*self.given)), own), 0


def timed(run):
    """The least seconds of a few runs."""
    found = []
    for _ in range(TIMES):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)
