"""`wengert.profile`: where the time of a function or of a block of code goes, by calls, user lines and compilation."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .chrome_trace import trace_events
from .html_report import report_html
from .recorder import Recorder
from .summary import summary
from .text_report import report_text

CALLS = 10  # bound: calls of a function that is profiled, where it is not said how many


class Profile:
    """What happened in the calls of compiled functions while it was made.

    `print(p)`: tables for a terminal; `p.json()`: the same as plain data; `p.save("trace.json")`: a timeline that
    ui.perfetto.dev and chrome://tracing open; `p.result`: what the last call returned, of `profile(f, ...)`. In a
    notebook it shows itself.
    """

    def __init__(self, title: str = "a block") -> None:
        self.title, self.result = title, None
        self._recorder: Recorder | None = None
        self._data: dict[str, Any] | None = None

    def __enter__(self) -> Profile:
        if self._recorder is not None:
            raise RuntimeError("a Profile is made once\n  Write `with wengert.profile() as p:` for another.")
        self._recorder = Recorder()
        self._recorder.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recorder = self._ended(False)
        recorder.end()
        self._data = summary(recorder)

    def _ended(self, ended: bool = True) -> Recorder:
        if self._recorder is None or ended and self._data is None:
            raise RuntimeError(
                "nothing has been profiled yet\n  Write `with wengert.profile() as p: ...`, then print(p) behind it."
            )
        return self._recorder

    def json(self) -> dict[str, Any]:
        """The tables as dicts, lists, strings and numbers; times in seconds.

        "seconds", "shares" of the whole, "calls" by function and signature, "lines", "phases" of compilation that calls
        waited for and those in the "background", "traces" with reasons, "misses" of guards, "fallbacks" with reasons,
        "engines" chosen, "cache", "notes".
        """
        self._ended()
        return copy.deepcopy(self._data or {})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline as a trace file (JSON, Chrome's trace event format)."""
        trace = trace_events(self._ended(), self.title)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)

    def __str__(self) -> str:
        self._ended()
        return report_text(self._data, self.title)

    def __repr__(self) -> str:
        if self._data is not None:
            return str(self)
        return f"<Profile of {self.title}, {'not begun' if self._recorder is None else 'being made'}>"

    def _repr_html_(self) -> str | None:
        return None if self._data is None else report_html(self._data, self.title)


def profile(
    function: Callable[..., Any] | None = None,
    /,
    *args: Any,
    calls: int | None = None,
    seconds: float | None = None,
    **kwargs: Any,
) -> Profile:
    """Where the time goes: of calls of a function, or of all that runs in a `with` block.

    `profile(f, *args, **kwargs)` calls f ten times, or `calls` times, or for as many `seconds`, and returns a Profile.
    The calls are real ones: what f writes or prints it writes and prints each time. f need not be compiled itself;
    compiled functions that it calls are what is told of.

    `with profile() as p: ...` records every call of every compiled function meanwhile, on all threads, also of those
    that are made in the block.

    Calls are timed one by one; at a few of them the program is run once more, step by step, to find the share of each
    user line, which does not count as time of the call. Calls cost some microseconds more while a profile is made, and
    nothing otherwise.

    >>> import numpy as np, wengert
    >>> f = wengert.jit(lambda x: np.tanh(x).sum())
    >>> p = wengert.profile(f, np.ones(1000), calls=5)
    >>> p.json()["calls"][0]["calls"]
    5
    """
    if function is None:
        if args or kwargs or calls is not None or seconds is not None:
            raise TypeError("profile() without a function takes no arguments\n  Write profile(f, x, calls=100).")
        return Profile()
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(
            f"profile takes a function and its arguments, got {kind} {function!r:.40}\n  Write profile(f, x), not "
            "profile(f(x))."
        )
    if calls is not None and (not isinstance(calls, int) or calls < 1):
        raise ValueError(f"profile calls a function calls=1 times or more often, not {calls!r:.40}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"profile calls a function for seconds=... more than 0, not {seconds!r:.40}")
    most = calls if calls is not None else CALLS if seconds is None else None
    made, count = Profile(getattr(function, "__name__", type(function).__name__)), 0
    with made:
        until = float("inf") if seconds is None else time.perf_counter() + seconds
        while (most is None or count < most) and (not count or time.perf_counter() < until):
            made.result = function(*args, **kwargs)
            count += 1
    return made
