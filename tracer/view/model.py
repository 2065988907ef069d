"""All that a page tells, as one table that JSON can hold: the program in its states, source, traces, and times."""

import collections
import inspect
import time

import numpy as np

from ...backends.xla import dispatch
from ...ir.source import line_name
from ...ir.walk import every_equation
from ..common import pytree
from ..common.errors import UnsupportedError
from ..common.frames import is_ours
from ..common.terminal import several
from ..plan.measured import measured_of
from ..plan.step import derivative_mark
from ..plan.subject import existing, for_arguments
from ..rules import rules
from .boxes import Boxes
from .kept import residuals_of
from .states import differences, program_states, told_states
from .tables import Tables
from .trace_tree import node, trace_node, trace_phases
from .user_source import function_span, source_files

SHOWN = 6  # bound: traces of a function whose programs are in the page, the last ones
CALLS = 5  # bound: calls of which the fastest is told
LONG = 0.2  # bound: seconds of the first after which there is no other


class PageModel:
    """What is told of one or several functions: `add` each, then `data()`."""

    def __init__(self, title):
        self.title = title
        self.tables, self.codes = Tables(lambda func: Boxes(func).tree()), set()
        self.programs, self.traces, self.timeline, self.measured = [], [], [], []

    def add(self, callee, args=None, kwargs=None):
        """A compiled function: its traces, after calls where there are arguments. -> whether there was a program."""
        called = args is not None
        calls = timed_calls(callee, args, kwargs) if called else []
        return callee(self.add_in_call, callee.compiled, called, args, kwargs, calls)

    def add_in_call(self, compiled, called, args, kwargs, calls):
        self.note_code(compiled)
        subjects, served = existing(compiled)[-SHOWN:], []
        if called:
            served = for_arguments(compiled, *with_copied_arrays((args, kwargs)))
            subjects = subjects or served
        asked = {id(s.version) for s in served}
        count = sum(s.version is not None for s in subjects)
        top = {"t": compiled.name, "n": several(count, "trace"), "k": "function", "c": []}
        first = len(self.programs)
        for number, subject in enumerate(subjects, 1):
            self.add_subject(subject, top, number, len(subjects) > 1, not called or id(subject.version) in asked)
        self.traces.append(top)
        if called:
            here = [n for n in range(first, len(self.programs)) if self.programs[n]["asked"]]
            self.add_calls(compiled, args, kwargs, calls, here[-1] if here else -1)
        return len(self.programs) > first

    def add_subject(self, subject, top, number, numbered, asked):
        """A trace: what is told of it, its program, and how it was come by."""
        if subject.func is None:
            top["c"].append(node("plain Python", subject.why, "why"))
            return
        name = subject.name + (f" {number}" if numbered else "")
        if subject.version is not None:
            top["c"].append(trace_node(number, subject) | {"p": len(self.programs)})
            self.timeline.append(
                {"t": f"{name}, until it ran", "c": [[n, s] for n, s in trace_phases(subject.version) if s]}
            )
        self.add_program(subject, name)
        self.programs[-1]["asked"] = asked

    def add_calls(self, compiled, args, kwargs, calls, program):
        """What calls took, and each step of one."""
        told = measured_of(compiled, *with_copied_arrays((args, kwargs)))
        track = {"t": f"{compiled.name}, a call", "c": calls}
        if told.steps:
            track["steps"] = list(map(step_row, told.steps))
            track["engine"], track["program"] = told.engine, program
        if told.why:
            track["why"] = told.why
        self.timeline.append(track)
        if program >= 0 and told.steps:
            spent = collections.Counter()
            for step in told.steps:
                if step.line:
                    spent[step.file, step.line] += step.duration_us * 1e-6
            self.measured.append((program, spent))

    def note_code(self, compiled):
        """The user's own function is shown, whatever is left of it in the program."""
        code = getattr(inspect.unwrap(compiled.plain or compiled.function), "__code__", None)
        if code is not None and not is_ours(code):
            self.codes.add(code)
            self.tables.file(code.co_filename)

    # -- programs ----------------------------------------------------------------------------------
    def add_program(self, subject, name):
        """The states of a trace's program."""
        compiled, captured = subject.compiled, subject.captured
        if subject.version is not None and subject.version.equations is not None:
            states = [("read from disk", subject.func)]
        else:
            applying = rules.applying(exact=compiled.exact)
            states = program_states(captured.func, exact=compiled.exact, rules=applying, known=captured.bounded)
        told, before = [], states[0][1]
        for step, func, changed, left_out in told_states(states):
            state = {"pass": step, "count": func.count(), "changed": changed}
            if not left_out:
                state["func"] = self.tables.func(func)
                if changed and told:
                    state |= self.difference(before, func)
                before = func
            told.append(state)
        self.programs.append(
            {
                "name": name,
                "states": told,
                "kept": [self.kept_row(*found) for found in residuals_of(states[-1][1])],
            }
        )
        for _, func in (states[0], states[-1]):
            self.note_sources(func)

    def kept_row(self, value, inner, size):
        return [self.tables.value(value), self.tables.place(inner.eqn.source), size, self.tables.value(inner)]

    def difference(self, before, after):
        added, changed, removed = differences(before, after)
        number = lambda eqns: [self.tables.eqn(e) for e in eqns]
        return {"added": number(added), "altered": number(changed), "removed": number(removed)}

    def note_sources(self, func):
        codes = (getattr(eqn.source, "code", None) for eqn in every_equation(func))
        self.codes.update(code for code in codes if code is not None)

    def file_number(self, path):
        """The number of a file; -1 where it is none of those shown."""
        return self.tables.numbers["files"].get(path, -1)

    # -- the whole ---------------------------------------------------------------------------------
    def data(self):
        """The table."""
        for code in self.codes:
            self.tables.file(code.co_filename)
        spans = {n: [] for n in range(len(self.tables.files))}
        for code in self.codes:
            if (span := function_span(code)) is not None:
                spans[self.tables.numbers["files"][code.co_filename]].append(span)
        for row in self.tables.places:  # lines of modules, and of programs from disk
            spans[row[0]].append((row[1], row[1]))
        for program, times in self.measured:
            self.programs[program]["times"] = [
                [n, line, t] for (file, line), t in times.items() if (n := self.file_number(file)) >= 0
            ]
        return {
            "title": self.title,
            "files": source_files(self.tables.files, spans),
            "programs": self.programs,
            "traces": self.traces,
            "timeline": self.timeline,
            **self.tables.rows(),
        }


def step_row(step):
    """[name, line, scope, begin and length in seconds, how often it ran, "vjp" or "jvp" of a derivative]"""
    where, times = line_name(step.file, step.line), (step.start_us * 1e-6, step.duration_us * 1e-6, step.times)
    return [step.name, where, step.scope or "", *times, derivative_mark(step.scope or "")]


def called_by(callee):
    """The function that a user calls, or where that is gone, as that of `jit(f).view(x)` is, another like it."""
    return callee.front() or callee.compiled.front.function(callee)


def timed_calls(callee, args, kwargs):
    """[[what, seconds]] of calls of a function on copies of the arguments: the fastest of a few, or of one that acts on
    more than its arguments the first."""
    call, seconds = called_by(callee), []
    while (
        not seconds or is_pure(callee.compiled) and (len(seconds) < 2 or len(seconds) <= CALLS and seconds[-1] < LONG)
    ):
        taken, named = with_copied_arrays((args, kwargs))
        start = time.perf_counter()
        try:
            dispatch.wait(pytree.leaves(call(*taken, **named)))
        except Exception as error:  # the user's own, of arguments that only stand for others: the page tells it
            return [[f"raised {type(error).__name__}: {str(error):.80}", time.perf_counter() - start]]
        seconds.append(time.perf_counter() - start)
    if len(seconds) == 1:
        return [["the first call, compilation included: another would act again", seconds[0]]]
    return [["one call, the fastest of a few" if len(seconds) > 2 else "the second call", min(seconds[1:])]]


def is_pure(compiled):
    """Whether calls change nothing but their arguments, as far as programs tell; plain Python tells nothing."""
    found = existing(compiled)
    return bool(found) and not any(acts_outside(s.version, s.captured) for s in found)


def acts_outside(version, captured):
    return version.effects or captured.stores or captured.given is not None or captured.outside.draws


def with_copied_arrays(tree):
    """`tree` with copies of its arrays."""
    return pytree.map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)


def nothing_to_show(name):
    """The error of a page of a function that was not called."""
    return UnsupportedError(
        f"{name} has no program yet\n  Call it first, or give {name}.view(...) the arguments of a call."
    )
