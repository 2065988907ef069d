"""Fair timing on a noisy machine: contestants take turns in one process, and one of them runs twice as the control."""

import random
import time

from wengert.tracer.call.deferred import is_deferred
from wengert.tracer.call.in_front import in_front

AT_ONCE = 10  # calls, after which a shape that has no program is known to keep coming
FEW, ENOUGH = 10, 1e-2  # calls that tell how long one takes, and seconds from which fewer do


def interleave(contestants, seconds=2.0, rounds=40, least=40):
    """{name: function} -> {name: median seconds per call}, the contestants taking turns, each about `seconds` in all.

    A contestant whose call takes longer than a turn makes one call a turn; after `least` turns, no more are begun when
    the time is over. Who comes after whom changes from round to round: threads of the one before may still spin.
    """
    counts = {}
    for name, f in contestants.items():
        counts[name] = max(1, int(seconds / rounds / least_of_few(f)))
    times = {name: [] for name in contestants}
    draw, begun = random.Random(0), time.perf_counter()
    for turn in range(rounds):
        if turn >= least and time.perf_counter() - begun > seconds * len(contestants):
            break
        for name, f in draw.sample(list(contestants.items()), len(contestants)):
            n = counts[name]
            start = time.perf_counter()
            for _ in range(n):
                f()
            times[name].append((time.perf_counter() - start) / n)
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def least_of_few(call):
    """Seconds of the shortest of a few calls: one of the first may do what none does later."""
    spent = []
    while len(spent) < FEW and sum(spent) < ENOUGH:
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return max(min(spent), 1e-7)


def settle(run, call, seconds=10.0):
    """Call a compiled function until nothing of it is compiled beside its calls any more: what runs then is what stays,
    and other contestants have the processor for themselves."""
    end = time.perf_counter() + seconds
    while True:
        for _ in range(AT_ONCE):
            call()
        if not (is_settling(run) or is_contested(run)) or time.perf_counter() > end:
            return


def is_settling(run):
    """Whether a version of a compiled function may yet run as something else, or a shape that keeps coming has none."""
    used = in_use(run)
    deferred = any(is_deferred(v) for _, here in used for v in here.versions)
    return deferred or any(in_front(entry, here) for entry, here in used if here.sizing is not None)


def is_contested(run):
    """Whether some calls are still plain Python's, to be timed."""
    return any(c is not None and c.plain is None for _, here in in_use(run) for c in list(here.contests.values()))


def in_use(run):
    return [(entry, entry.current) for entry in run.compiled.entries.values() if entry.current is not None]


def table(rows, header):
    """Print rows of text and numbers with aligned columns."""
    cells = [header, *([c if isinstance(c, str) else f"{c:.3g}" for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
