"""A line on stderr, once a process, when the first loop meets XLA that would be machine code if native code were not
off: what that costs, and why.

WENGERT_PROGRESS=0 turns it off, as it does the line of calls that wait. Programs without such loops say nothing.
"""

import contextlib
import importlib.metadata
import os
import sys

from ...ir.exactness import ONLY_EXACT
from ...ir.source import line_name
from . import build
from .legal import emitted, least_work, loop_work

COSTS = "loops such as that at {place} run as no machine code, which would be 2 to 60 times faster"
INSTALL = ": pip install -U 'wengert[native]'"
TOLD = []  # what has been said


def tell(op, types, attrs, least, reason):
    """A loop has been left to XLA because native code is off."""
    if (
        TOLD
        or loop_work(attrs) < least_work(least)
        or os.environ.get("WENGERT_PROGRESS", "").lower() in ("0", "off", "no", "false")
    ):
        return
    if isinstance(emitted(op, tuple(types), tuple(attrs.items()), ONLY_EXACT.get()), str):
        return
    with build.LOCK:
        if TOLD:
            return
        more = INSTALL if reason.startswith("llvmlite") else f" (jaxlib {importlib.metadata.version('jaxlib')})"
        TOLD.append(f"wengert: {COSTS.format(place=loop_line(attrs))}; {reason}{more}\n")
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there is no stderr, or it is closed
        sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + TOLD[0])
        sys.stderr.flush()


def loop_line(attrs):
    """The user's line of a loop, as far as one is known."""
    source = next((eqn.source for eqn in attrs["body"].eqns if eqn.source is not None), None)
    return "an unknown line" if source is None else line_name(source.file, source.line)
