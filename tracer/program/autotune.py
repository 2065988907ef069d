"""Programs that XLA could not make faster: new ones that are cheap beside their native loops run as NumPy before XLA
has compiled them.

A launch through XLA costs LAUNCH at least, and runs loops as the same machine code. Where what is left beside the loops
takes less than that, or little of the whole, there is nothing to gain, and the time to compile is saved as well; nor
is there in long programs on numbers.
"""

import logging
import time

from ..common import events
from . import backend_choice, numpy_call

CHEAP = 1 << 23  # bound: bytes that the equations outside of nests write, up to which a program is tried


def tried(entry, here, version, everything):
    """The raw results of a new version that is to run as NumPy, whatever XLA does; None where that is not known."""
    if version.engine or version.first_seconds is not None or not backend_choice.eligible(entry, here, version):
        return None
    if backend_choice.asked(entry) is None:
        with events.timed("compile", "timing", "timed as NumPy", level=logging.DEBUG):
            found = backend_choice.quickest(entry, version, everything, CHEAP)
        if found is None:
            return None
        total, inside, raw, run = found
        if raw is numpy_call.MISS or not backend_choice.nothing_to_win(version, total, inside):
            if backend_choice.traffic(version.decided) <= CHEAP:
                version.tried = total
            else:  # it is compared with the other form when XLA has told how long it takes
                version.fused = None
            return None
        version.times, version.inside = (total, None), inside
        backend_choice.tell_times(version, "generated NumPy")
        backend_choice.switch_to_numpy(entry, here, version, run)
        # one that presumes what this call's data do not is not the right one of its tree
        return None if version.tree is not None and version.status(raw) else raw
    start = time.perf_counter()
    backend_choice.switch_to_numpy(entry, here, version)
    version.compile_seconds = time.perf_counter() - start
    return here.call(*everything) if version.engine and version.tree is None else None
