"""Import statements in a traced function: what they find is relied on, as what a name of a global is.

An import is a look into `sys.modules`. The module found there is compared at every call; where there is none, the
statement is tried again, which costs what it costs in Python.
"""

import builtins
import sys

from ..common.frames import locate
from ..guards import isolation
from ..guards.guard import MISSING, Read
from ..values.storage import current_trace


class AbsentModule(Read):
    """A module that could not be imported."""

    __slots__ = ("attempt",)

    def __init__(self, attempt, key, name, source):
        self.attempt = attempt
        super().__init__("call", sys.modules, key, name, source)

    def get(self):
        try:
            self.attempt()
        except (ImportError, AttributeError):
            return None
        return MISSING

    def text(self, named):
        return f"{named(self.get)}()"


def importing(name, level, *wanted):
    """Before an import statement: note what it will find."""
    trace, space = current_trace(), sys._getframe(1).f_globals
    if trace is None:
        return
    outside = trace.root.outside
    package = {k: space[k] for k in ("__package__", "__spec__", "__name__", "__path__") if k in space}

    def attempt():
        module = builtins.__import__(name, package, None, wanted, level)
        return [getattr(module, k) for k in wanted]

    isolation.refuse(f"it imports {name}")
    try:
        found = builtins.__import__(name, package, None, wanted, level)
    except ImportError:
        made = AbsentModule(attempt, (name, level, wanted), f"import {name}", locate())
        outside.reads[made.place] = made
        return
    path = (found.__name__ if wanted else name).split(".")
    for k in range(1, len(path) + 1):
        key = ".".join(path[:k])
        if key in sys.modules:
            outside.read("item", sys.modules, key, f"the module {key}")
    if wanted and any(not hasattr(found, k) for k in wanted):
        made = AbsentModule(attempt, (name, level, wanted), f"import of {', '.join(wanted)} from {name}", locate())
        if made.value is None:
            outside.reads[made.place] = made


def imported(name, level, wanted, value):
    """What `from name import wanted` has given, as any attribute of that module."""
    trace, space = current_trace(), sys._getframe(1).f_globals
    if trace is None:
        return value
    module = builtins.__import__(name, space, None, (wanted,), level)
    return trace.root.outside.attribute(module, wanted) if getattr(module, wanted, MISSING) is value else value
