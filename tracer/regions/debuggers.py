"""`breakpoint()` and `pdb.set_trace()` in a function that is compiled: they stop in the user's own frame, so plain
Python answers such calls, whole. Where Python's `breakpoint()` does nothing, neither does the program's.
"""

import os
import sys

from ..common.errors import Debugged, message
from ..common.frames import locate
from ..guards.purity import place_of

MODULES = {"pdb", "bdb", "ipdb", "pdbpp", "pudb", "debugpy", "pydevd", "IPython", "wdb", "_pytest.debugging"}
OFF = (
    "With PYTHONBREAKPOINT=0 in the environment breakpoint() is left out. A derivative has no frame to stop in: call "
    "the function itself."
)


def is_debugger(f):
    """Whether a function starts a debugger."""
    home = place_of(f)[0]
    return f is breakpoint or home in MODULES or home.partition(".")[0] in MODULES


def is_off():
    """Whether `breakpoint()` does nothing."""
    return sys.breakpointhook is sys.__breakpointhook__ and os.environ.get("PYTHONBREAKPOINT") == "0"


def refuse_debugger(name):
    """A trace comes to a debugger."""
    text = f"{name}() stops in the frame of the function, with the values of the call"
    raise Debugged(message(text, locate(), OFF))
