"""What every program depends on beside the user's code: versions, our own source, the machine, and settings of
libraries."""

import functools
import hashlib
import os
import platform
import sys
import time

import numpy as np

from ...backends.xla import executables
from ...ir.rules import EXACT, RULES
from ..numpy_api.registry import HANDLERS
from ..program import backend_choice
from ..regions.builtins import REPLACED
from .described import PACKAGE, Unsaid, pure

FORMAT = 1
LOADED = time.time_ns()  # by now all of our modules have been read


def environment():
    """A description of all of it, at this moment."""
    settings = [sorted(np.geterr().items()), repr(sorted(np.get_printoptions().items())), backend_choice.CHOICE]
    return [*fixed(), *settings, *map(len, (RULES, EXACT, HANDLERS, REPLACED))]


@functools.cache
def fixed():
    """What stays as it is as long as the process lives."""
    python = [sys.version, sys.implementation.cache_tag, sys.byteorder, repr(sys.flags)]
    return [FORMAT, *python, np.__version__, source(), *processor(), *executables.machine()]


def source():
    """A digest of our own modules as they were loaded; Unsaid where they have been edited since."""
    found = hashlib.sha256()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name.partition(".")[0] != PACKAGE or not pure(name):
            continue
        stat = nearest_stat(file)
        if stat.st_ctime_ns > LOADED:
            raise Unsaid(f"{file} has been changed since it was imported")
        found.update(repr((name, file, stat.st_size, stat.st_mtime_ns)).encode())
    return found.hexdigest()


def nearest_stat(file):
    """The status of a file, or of the archive that it is in."""
    while True:
        try:
            return os.stat(file)
        except (NotADirectoryError, FileNotFoundError):
            above = os.path.dirname(file)
            if above == file:
                raise
            file = above


def processor():
    """The processor's model and features, as Linux tells them; elsewhere what the system says it is."""
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read(1 << 13).split("\n\n")[0]
    except OSError:
        return [sys.platform, *platform.uname()]
    told = (
        "vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer",
        "CPU part",
    )
    return [sys.platform, *sorted(line for line in first.splitlines() if line.partition(":")[0].strip() in told)]
