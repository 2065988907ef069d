"""What happens while programs are made and chosen, told as it happens: to `logging`, and to listeners such as the
profiler.

Loggers, each silent until somebody asks for it, by `logging` or by the environment variable WENGERT_LOG
(`log_setting.py`):

    wengert.trace    traces and their reasons, passes, fallbacks to plain Python
    wengert.guards   outside values that are no longer what a trace relied on, data that take another way
    wengert.compile  XLA, machine code of loops, generated NumPy, the choice of an engine, the background tier
    wengert.cache    programs on disk: read, kept, not kept

Nothing is told by calls that a program answers: only by those that make one, look for one, or are left to plain Python.
Who tells asks `heard` first wherever it costs something to say.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...backends.native import build
from ...backends.xla import compile_times
from ...ir.amounts import in_time
from ...ir.source import line_name
from . import progress

AREAS = ("trace", "guards", "compile", "cache")
LOGGERS = {area: logging.getLogger(f"wengert.{area}") for area in AREAS}
logging.getLogger("wengert").addHandler(logging.NullHandler())
LISTENERS: list[Callable[[Event], object]] = []  # called with each Event, on the thread where it happened
_now = threading.local()  # .compiled: the Compiled of which this thread makes a program


class Event:
    """Something that has just happened.

    area: one of AREAS; kind: what, one of a few words ("traced", "fallback"); name, file, line: the function, and where
    it begins or the line that is the cause, None where neither is known; text: the same in words; begun: when it began,
    by `time.perf_counter`; seconds: how long it took, None for what takes no time; facts: what else is known, by name.
    """

    __slots__ = ("area", "kind", "name", "file", "line", "text", "begun", "seconds", "facts")

    def __init__(
        self,
        area: str,
        kind: str,
        name: str,
        place: tuple[str, int] | None,
        text: str,
        seconds: float | None,
        facts: dict[str, Any],
    ) -> None:
        self.area, self.kind, self.name, self.text, self.seconds, self.facts = area, kind, name, text, seconds, facts
        self.file: str | None = place[0] if place is not None else None
        self.line: int | None = place[1] if place is not None else None
        self.begun = time.perf_counter() - (seconds or 0.0)

    def __str__(self) -> str:
        """One line: what function, where, what happened, how long it took."""
        where = f" ({line_name(self.file, self.line)})" if self.file is not None else ""
        took = "" if self.seconds is None else f", {in_time(self.seconds)}"
        return f"{self.name}{where}: {self.text}{took}"


def heard(area: str, level: int = logging.INFO) -> bool:
    """Whether anybody hears of what happens there."""
    return bool(LISTENERS) or LOGGERS[area].isEnabledFor(level)


def report(
    area: str,
    kind: str,
    text: str | Callable[[], str],
    seconds: float | None = None,
    *,
    of: Any = None,
    place: tuple[str, int] | None = None,
    level: int = logging.INFO,
    **facts: Any,
) -> None:
    """Have those who listen know that something has happened; text: in words, or a function that finds them.

    of: the Compiled, else that of which this thread makes a program; place: (file, line), else where that function
    begins.
    """
    if not heard(area, level):
        return
    compiled = of or getattr(_now, "compiled", None)
    name, where = (compiled.name, place or compiled.place) if compiled is not None else ("jax", place)
    event = Event(area, kind, name, where, text if isinstance(text, str) else text(), seconds, facts)
    for listener in tuple(LISTENERS):
        listener(event)
    LOGGERS[area].log(level, "%s", event, extra={"event": event})


def first_line(error: BaseException | str) -> str:
    """The situation that an error tells of, without what to write instead."""
    return next(iter(str(error).splitlines()), type(error).__name__)


@contextlib.contextmanager
def making(compiled: Any) -> Iterator[None]:
    """Within, this thread makes a program of a Compiled, and a call waits for it."""
    before, _now.compiled = getattr(_now, "compiled", None), compiled
    try:
        with progress.line(compiled.name):
            yield
    finally:
        _now.compiled = before


@contextlib.contextmanager
def timed(
    area: str, kind: str, text: str | Callable[[], str], *, level: int = logging.INFO, **facts: Any
) -> Iterator[None]:
    """Around what takes time: told when it has been done, not where it raises."""
    start = time.perf_counter()
    yield
    report(area, kind, text, time.perf_counter() - start, level=level, **facts)


class PassClock:
    """As `ir.pipeline.run(watch=...)` calls it: .seconds of each pass, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def __call__(self, name: str, func: Any) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.last = now

    def told(self) -> str:
        """The passes that took longest, the longest first."""
        found = sorted(self.seconds.items(), key=lambda item: -item[1])[:3]
        return ", ".join(f"{name} {in_time(seconds)}" for name, seconds in found)


# -- what the back ends tell -----------------------------------------------------------------------
XLA_PHASES = {"trace": "traced the lowered program", "lower": "made StableHLO", "compile": "compiled by XLA"}


def xla_took(phase: str, seconds: float) -> None:
    """jax has done one of XLA_PHASES, for a program of ours or for one of the user's own."""
    if getattr(_now, "compiled", None) is not None:
        level = logging.INFO if phase == "compile" else logging.DEBUG
        report("compile", f"xla {phase}", XLA_PHASES[phase], seconds, level=level)


def nest_took(seconds: float) -> None:
    """LLVM has made the machine code of a loop."""
    if getattr(_now, "compiled", None) is not None:
        report("compile", "nest", "a loop compiled to machine code by LLVM", seconds)


compile_times.when_timed(xla_took)
build.WATCHERS.append(nest_took)
