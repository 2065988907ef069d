"""All that a page tells, as one table that JSON can hold: the program in its states, source, traces, and times."""

import time

import numpy as np

from ...backends.xla import dispatch
from ..capture.signature import kind_for, kind_of_type
from ..common import pytree
from ..common.errors import UnsupportedError
from ..rules import rules
from .boxes import Boxes
from .kept import residuals_of
from .states import differences, program_states, told_states
from .tables import Tables
from .trace_tree import phases, trace_node, traces_of
from .user_source import function_span, source_files

SHOWN = 6  # bound: traces of a function whose programs are in the page, the last ones
CALLS = 5  # bound: calls of which the fastest is told
LONG = 0.2  # bound: seconds of the first after which there is no other


class PageModel:
    """What is told of one or several functions: `add` each, then `data()`."""

    def __init__(self, title):
        self.title = title
        self.tables, self.codes = Tables(lambda func: Boxes(func).tree()), set()
        self.programs, self.traces, self.timeline = [], [], []

    def add(self, callee, args=None, kwargs=None):
        """A compiled function: its traces, after calls where there are arguments. Returns whether there was a program."""
        measured = measured_calls(callee.front(), args, kwargs) if args is not None else []
        return callee(self.add_in_call, callee.compiled, args, kwargs, measured)

    def add_in_call(self, compiled, args, kwargs, measured):
        called = args is not None
        self.note_code(compiled)
        traces = traces_of(compiled)[-SHOWN:]
        wanted = types_of(args, kwargs) if called else None
        node = {"t": compiled.name, "n": f"{len(traces)} trace{'s' * (len(traces) != 1)}", "k": "function", "c": []}
        first = len(self.programs)
        for number, (entry, world, version) in enumerate(traces, 1):
            node["c"].append(trace_node(number, entry, world, version) | {"p": len(self.programs)})
            self.timeline.append({"t": f"{compiled.name}, trace {number}", "c": [[n, s] for n, s in phases(version) if s]})
            self.add_program(compiled, version.captured, version, number if len(traces) > 1 else None)
            self.programs[-1]["asked"] = wanted is None or tuple(map(repr, version.types)) == wanted
        if called and not traces:
            captured = compiled.captured(args, kwargs)[0]
            self.add_program(compiled, captured, None, None)
        self.traces.append(node)
        if measured:
            self.timeline.append({"t": f"{compiled.name}, one call", "c": measured})
        return len(self.programs) > first

    def note_code(self, compiled):
        function = compiled.plain or compiled.function
        code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
        if code is not None:
            self.codes.add(code)

    # -- programs ----------------------------------------------------------------------------------
    def add_program(self, compiled, captured, version, number):
        """The states of a trace's program."""
        if version is not None and version.equations is not None:
            states = [("read from disk", version.func)]
        else:
            applying = rules.applying(exact=compiled.exact)
            states = program_states(captured.func, exact=compiled.exact, rules=applying, known=captured.bounded)
        told, before = [], states[0][1]
        for name, func, changed, left_out in told_states(states):
            state = {"pass": name, "count": func.count(), "changed": changed}
            if not left_out:
                state["func"] = self.tables.func(func)
                if changed and told:
                    state |= self.difference(before, func)
                before = func
            told.append(state)
        self.programs.append(
            {
                "name": compiled.name + (f" {number}" if number else ""),
                "states": told,
                "kept": [[self.tables.value(x), self.tables.place(source), size] for x, source, size in residuals_of(states[-1][1])],
            }
        )
        for _, func in (states[0], states[-1]):
            self.note_sources(func)

    def difference(self, before, after):
        added, changed, removed = differences(before, after)
        number = lambda eqns: [self.tables.eqn(e) for e in eqns]
        return {"added": number(added), "altered": number(changed), "removed": number(removed)}

    def note_sources(self, func):
        for eqn in func.eqns:
            code = getattr(eqn.source, "code", None)
            if code is not None:
                self.codes.add(code)
            for region in eqn.regions():
                self.note_sources(region)

    # -- the whole ---------------------------------------------------------------------------------
    def data(self):
        """The table."""
        for code in self.codes:
            self.tables.number("files", code.co_filename, lambda code=code: code.co_filename)
        spans = {n: [] for n in range(len(self.tables.files))}
        for code in self.codes:
            if (span := function_span(code)) is not None:
                spans[self.tables.numbers["files"][code.co_filename]].append(span)
        for row in self.tables.places:  # lines of modules, and of programs from disk
            spans[row[0]].append((row[1], row[1]))
        return {
            "title": self.title,
            "files": source_files(self.tables.files, spans),
            "programs": self.programs,
            "traces": self.traces,
            "timeline": self.timeline,
            **self.tables.rows(),
        }


def measured_calls(call, args, kwargs):
    """[[what, seconds]] of calls of a function on copies of the arguments: the fastest of a few."""
    seconds = []
    while len(seconds) < 2 or len(seconds) <= CALLS and seconds[0] < LONG:
        taken, named = copied((args, kwargs))
        start = time.perf_counter()
        try:
            dispatch.wait(pytree.leaves(call(*taken, **named)))
        except Exception as error:  # the user's own, of arguments that only stand for others: the page tells it
            return [[f"raised {type(error).__name__}: {str(error):.80}", time.perf_counter() - start]]
        seconds.append(time.perf_counter() - start)
    return [["one call, the fastest of a few" if len(seconds) > 2 else "second call", min(seconds[1:])]]


def types_of(args, kwargs):
    """The types of the leaves of a call that are traced, as text."""
    leaves = pytree.leaves((args, kwargs))
    return tuple([repr(kind_for(x, "").type) for x in leaves if kind_of_type(type(x)) is not None])


def copied(tree):
    """`tree` with copies of its arrays."""
    return pytree.map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)


def nothing_to_show(name):
    """The error of a page of a function that was not called."""
    return UnsupportedError(
        f"{name} has no program yet\n  Call it first, or give {name}.view(...) the arguments of a call."
    )
