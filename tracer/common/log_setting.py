"""WENGERT_LOG: which of the loggers "wengert.trace", "wengert.guards", "wengert.compile" and "wengert.cache" write to
stderr.

    WENGERT_LOG=info                 all four: programs made, reasons, fallbacks
    WENGERT_LOG=debug                all four, and more: each pass, each fallback call, each miss on disk
    WENGERT_LOG=trace,cache          these two
    WENGERT_LOG=trace:debug,guards   with a level of its own each
    WENGERT_LOG=0                    none, as without it (also: off, no, false)

Words are separated by commas, in any case of letters; of two that name one area the more verbose holds. A word that is
none of these is told of in one line on stderr, and the others hold. Lines are

    1.234 s wengert.trace    smooth (script.py:10): traced (u: f64[8]), 5 equations: first call, 0.0021 s

with the seconds since `logging` was imported in front. What is written so is not handed to the handlers of the root
logger, which would write it again. Without the variable nothing is set here: `logging` decides.
"""

import contextlib
import logging
import os
import sys

from . import progress
from .events import AREAS, LOGGERS

VARIABLE = "WENGERT_LOG"
LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
OFF = ("", "0", "off", "no", "false")


class LogLines(logging.Handler):
    """Writes to what is stderr now, and wipes the line of progress first."""

    def emit(self, record):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr is closed, or there is none
            progress.wipe_line()
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


class Seconds(logging.Formatter):
    """See the module."""

    def format(self, record):
        return f"{record.relativeCreated / 1e3:7.3f} s {record.name:<16} {record.getMessage()}"


def parsed_setting(text):
    """-> ({area: level} of what a value of WENGERT_LOG asks for, [the words in it that mean nothing])."""
    levels, unknown = {}, []
    for word in ([] if text.strip().lower() in OFF else text.lower().split(",")):
        area, colon, level = (part.strip() for part in word.partition(":"))
        if not area and not colon:  # a comma at the end
            continue
        areas = AREAS if area in ("all", *LEVELS) else (area,)
        level = area if area in LEVELS and not colon else level if colon else "info"
        if area in LEVELS and colon or level not in LEVELS or not set(areas) <= set(AREAS):
            unknown.append(word.strip())
            continue
        levels |= {a: min(LEVELS[level], levels.get(a, logging.INFO)) for a in areas}
    return levels, unknown


def set_up(text):
    """Have what a value of WENGERT_LOG asks for be written to stderr -> the handler that does, None where nothing is
    asked for."""
    levels, unknown = parsed_setting(text)
    if unknown:
        found, known = ", ".join(map(repr, unknown)), ", ".join((*AREAS, "all", *LEVELS))
        text = f"wengert: {VARIABLE} has {found}; write some of {known}, or area:level such as trace:debug"
        print(text, file=sys.stderr)
    if not levels:
        return None
    handler = LogLines()
    handler.setFormatter(Seconds())
    for area, level in levels.items():
        LOGGERS[area].setLevel(level)
        LOGGERS[area].addHandler(handler)
        LOGGERS[area].propagate = False
    return handler


set_up(os.environ.get(VARIABLE, ""))
