"""Plain Python run line by line, its variables compared with the values of a captured program that bear their names."""

import sys

import numpy as np

from ...ir.source import hint_name
from ..capture.signature import kind_of_type
from ..common.compare import difference
from ..common.origin import is_user


class LineRecorder:
    """The numbers and arrays that each line of the user's binds or changes while `function` runs: (code, line, name,
    value), in order."""

    def __init__(self, function, args, kwargs):
        self.events, self.frames, self.finals, self.code = [], {}, {}, getattr(function, "__code__", None)
        before = sys.gettrace()
        sys.settrace(self.enter)
        try:
            function(*args, **kwargs)
        except Exception as error:
            self.error = error
        finally:
            sys.settrace(before)

    def enter(self, frame, event, arg):
        if not is_user(frame.f_code):
            return None
        self.frames[id(frame)] = frame.f_lineno, self.locals(frame)
        return self.step

    def step(self, frame, event, arg):
        line, before = self.frames.get(id(frame), (frame.f_lineno, {}))
        now = self.locals(frame)
        for name, value in now.items():
            if name not in before or before[name].dtype != value.dtype or before[name].tobytes() != value.tobytes():
                self.events.append((frame.f_code.co_filename, line, name, value))
        self.frames[id(frame)] = frame.f_lineno, now
        if event == "return":
            del self.frames[id(frame)]
            if frame.f_code is self.code:
                self.finals = now
        return self.step

    def locals(self, frame):
        return {
            n: np.array(x)
            for n, x in frame.f_locals.items()
            if kind_of_type(type(x)) is not None or type(x) in (int, bool)
        }

    def first(self, func, values):
        """-> (the first line whose variable differs, what is known) in a program whose values were worked out."""
        made = {}
        for eqn in func.eqns:
            for r in eqn.results:
                name = hint_name(r)
                if name and eqn.source is not None:
                    made.setdefault((eqn.source.file, eqn.source.line, name), []).append((eqn.source, values[r]))
        seen = {}
        for file, line, name, value in self.events:
            seen.setdefault((file, line, name), []).append(value)
        agreed = None
        for file, line, name, value in self.events:
            key = file, line, name
            ours = made.get(key, [])
            if len(ours) != len(seen[key]):
                continue
            source, got = ours.pop(0)
            seen[key].pop(0)
            if got.shape != value.shape:
                found = f"has the shape {list(got.shape)}, against {list(value.shape)}"
            else:
                found = difference(got.astype(value.dtype), value)
            if found:
                return (
                    source,
                    f"There {name}, as captured, {found} in plain Python. The program runs as it was captured.",
                )
            agreed = source
        last = {hint_name(r): (eqn, values[r]) for eqn in func.eqns for r in eqn.results if hint_name(r)}
        for name, (eqn, got) in last.items():  # what a loop or branch leaves, where nothing binds it again
            value = self.finals.get(name)
            found = (
                "region" in eqn.op.traits
                and value is not None
                and got.shape == value.shape
                and difference(got.astype(value.dtype), value)
            )
            if found:
                return (
                    eqn.source,
                    f"After this {eqn.op.name} {name}, as captured, {found} in plain Python. The program runs as it "
                    "was captured.",
                )
        known = f"variables agree up to {agreed}" if agreed else "no variable could be compared"
        return None, f"The program runs as it was captured, and was captured wrongly; {known}."
