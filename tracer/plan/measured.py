"""What each step of a program really took in one call.

`measured` runs the program of one specialisation again, on arguments that are there, and tells of every statement of
generated NumPy, every nest and every instruction of XLA how long it took and of which user line it is. The program
writes nothing outside and changes no argument: it gives its raw results, which are dropped. What acts on the world is
not run again, nor what draws random numbers.

To be told when a step ends costs time of its own (about 0.1 us a statement, and up to a microsecond an instruction of
XLA's), and statements that are told of are not put into one another. So the times are parts of `seconds`, which is what
the whole took untold.
"""

import collections
import time

from ...backends.numpy import StatementClock, by_python
from ...backends.xla import dispatch
from ...backends.xla.op_times import op_times
from ...ir.source import line_name
from ...ir.types import type_of
from ...ir.walk import own_lines
from ..call.contest import taken_types
from ..call.fallback import Refused
from ..call.receipt import equation_sources, loop_trip_counts
from ..common.errors import REFUSALS
from ..program import backend_choice, numpy_call
from ..program.clock import turns as clock_turns
from ..program.trace_tree import Trees
from ..program.trap import Trap

LOOP = backend_choice.LOOP
RUNS = 3  # bound: runs, of which the quickest is told
LONG = 0.3  # bound: seconds of a run after which there is no other
MOST = 1 << 18  # bound: instructions of XLA in one run, each of which the profiler keeps in memory


class Step:
    """A step of a program in one call.

    name: the op, or the HLO instruction; file, line: of the user's, None where it is of no line; scope: what it is
    derived by ("vjp", "jvp") or the function it stands in, as far as that is known; start_us, duration_us:
    microseconds since the program began, and how long it took, of all its runs together; times: how often it ran;
    fused: [(file, line)] of other lines that were made one instruction, or one loop, with this one; form: "NumPy",
    "machine code" of a loop, or "XLA"; key: what it is in the program, its equation or the name of its instruction.
    """

    __slots__ = ("name", "file", "line", "scope", "start_us", "duration_us", "times", "fused", "form", "key")

    def __init__(self, name, file, line, scope, start_us, duration_us, times=1, fused=(), form="XLA", key=None):
        self.name, self.file, self.line, self.scope = name, file, line, scope
        self.start_us, self.duration_us, self.times, self.fused = start_us, duration_us, times, list(fused)
        self.form, self.key = form, name if key is None else key

    def __repr__(self):
        where = line_name(self.file, self.line) or "no line"
        return f"Step({self.name}, {where}, {self.start_us:.1f} us + {self.duration_us:.1f} us)"


class Measured:
    """engine: "generated NumPy" or "XLA"; steps: [Step] in the order they began; seconds: of a run that is told of
    nothing, told_seconds: of the one that the steps are of; why: in words, why there are no steps, else None."""

    def __init__(self, engine, steps=(), seconds=0.0, told_seconds=0.0, why=None):
        self.engine, self.steps, self.seconds, self.told_seconds = engine, list(steps), seconds, told_seconds
        self.why = why

    def by_line(self):
        """{(file, line): share of the time of all steps}, the largest first."""
        total, found = sum(s.duration_us for s in self.steps) or 1.0, {}
        for s in self.steps:
            found[s.file, s.line] = found.get((s.file, s.line), 0.0) + s.duration_us / total
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def measured_call(f, *args, **kwargs):
    """`measured` of the program that answers such a call of a compiled function; arguments are not changed.

    It must have been called with arguments of these types before: else there is no program yet, and `why` says so.
    """
    return f.callee(measured_of, f.compiled, args, kwargs)


def measured_of(compiled, args, kwargs):
    """The same, within a call of a Callee."""
    entry, leaves = compiled.known_entry(args, kwargs)
    if entry is None:
        return Measured(None, why="there is no program for such arguments yet: call it once")
    with entry.held(leaves):
        dynamic = [leaves[i] for i in entry.dynamic]
        here, version, everything = serving(entry, dynamic)
        return Measured(None, why=everything) if version is None else measured(entry, here, version, everything)


def serving(entry, leaves):
    """-> (specialisation set, specialisation, all it takes) for the dynamic leaves of a call, or (None, None, why there
    is none)."""
    try:
        types = entry.types_of(leaves)
    except (Refused, *REFUSALS) as error:
        return None, None, f"plain Python answers such calls: {error}"
    here, version = entry.known_version(types)
    if here is None:
        why = "plain Python answers such calls" if entry.refused else "there is no program for such arguments yet"
        return None, None, why
    if here.draws is not None:
        return None, None, "it draws random numbers, and is not run again"
    if version is not None and version.tree is not None:
        version = version.tree.current
    if version is None:
        return None, None, "there is no program for such arguments yet"
    return here, version, [*leaves, *here.gather()]


def measured(entry, here, version, everything):
    """-> Measured of a specialisation in one call. entry: the SignatureEntry it is of; here: its SpecialisationSet;
    everything: the dynamic leaves of the call, and behind them what the set takes in from outside (`here.gather()`).

    The arguments must fit it, and its guard hold: `serving` finds both.
    """
    contest = here.contests.get(taken_types(version))
    if contest is not None and contest.plain:
        return Measured("plain Python", why="plain Python is faster, and answers its calls")
    if version.effects:
        return Measured(engine_of(version), why="it prints, stores or calls Python as it runs, and is not run again")
    if version.straight is not None or version.engine:
        return of_statements(entry, version, everything)
    return of_instructions(here, version, everything)


def engine_of(version):
    return "generated NumPy" if version.straight is not None or version.engine else "XLA"


def of_statements(entry, version, everything):
    """Of a program that runs as generated NumPy."""
    clock, types = StatementClock(), [entry.types[i] for i in entry.dynamic]
    with backend_choice.as_asked(entry):
        plain, told = numpy_call.raw(version, types), numpy_call.clocked_call(version, types, clock)
    found, begun = [], time.perf_counter()
    while len(found) < RUNS and (not found or time.perf_counter() - begun < LONG):
        clock.begin()
        out = told.computed(*everything)
        told_seconds = time.perf_counter() - clock.begun
        if out is numpy_call.MISS:
            return Measured("generated NumPy", why="a check of the program fails for these arguments")
        found.append((told_seconds, statement_steps(clock)))
    told_seconds, steps = min(found, key=lambda run: run[0])
    (seconds,) = clock_turns([lambda: plain.computed(*everything)], RUNS) if told_seconds < LONG else (told_seconds,)
    return Measured("generated NumPy", steps, seconds, told_seconds)


def statement_steps(clock):
    """The steps of the run that a clock has seen."""
    steps = []
    for k, eqn in enumerate(clock.eqns):
        if clock.times[k]:
            is_nest = eqn.op is LOOP and not by_python(eqn)
            (file, line, scope), *others = nest_places(eqn) if is_nest else [source_place(eqn.source)]
            start, spent = 1e6 * (clock.first[k] - clock.begun), 1e6 * clock.spent[k]
            fused = sorted({(f, n) for f, n, _ in others} - {(file, line)})
            form = "machine code" if is_nest else "NumPy"
            steps.append(Step(eqn.op.name, file, line, scope, start, spent, clock.times[k], fused, form, eqn))
    return sorted(steps, key=lambda s: s.start_us)


def nest_places(eqn):
    """[(file, line, what it was derived by)] of a loop as machine code: its own in front, or where it is made of
    straight lines that which most of it is of; behind it those of what is in it."""
    counts = collections.Counter(source_place(s) for region in eqn.regions() for s in equation_sources(region))
    inside = [place for place, _ in counts.most_common() if place[0] is not None]
    own = [source_place(eqn.source)] if eqn.source is not None or not inside else []
    return [*own, *inside]


def source_place(source):
    """(file, line, what it was derived by) of an equation's source."""
    return (None, None, "") if source is None else (source.file, source.line, source.mark)


def of_instructions(here, version, everything):
    """Of a program that XLA has compiled."""
    program = launched_program(here, version, everything)
    if program is None:
        return Measured("XLA", why="it runs in pieces, which are not told apart")
    if too_many(version.func):
        return Measured("XLA", why="its loops run too many instructions to be told of each")
    found = op_times(program, everything, RUNS, own_lines(version.func))
    if isinstance(found, str):
        return Measured("XLA", why=found)
    steps = [Step(op.name, op.file, op.line, op.scope, op.start, op.duration, op.times, op.fused) for op in found]
    told_seconds = 1e-6 * max(s.start_us + s.duration_us for s in steps)

    def run():
        with dispatch.wide():
            dispatch.wait(program(*everything))

    (seconds,) = clock_turns([run], RUNS) if told_seconds < LONG else (told_seconds,)
    return Measured("XLA", steps, seconds, told_seconds)


def launched_program(here, version, everything):
    """The `dispatch.Program` that a specialisation is launched as, None where it is several."""
    if version.tree is not None:
        return version.program
    call = here.call
    for stand_in in (Trees, backend_choice.BackendChoice):
        call = call.program if isinstance(call, stand_in) else call
    call = call.quick if isinstance(call, Trap) else call
    call = getattr(call, "keeping", call)  # it runs several times on the same arrays
    if hasattr(call, "programs"):  # of the background tier
        call = call.programs.get(tuple(type_of(x) for x in everything))
    return call if isinstance(call, dispatch.Program) and version.chain is None else None


def too_many(func):
    """Whether one run of a program may be of more instructions than are kept."""
    trips = [t for t, _ in loop_trip_counts(func)]
    return None not in trips and sum(trips) * max(func.count(), 1) > MOST
