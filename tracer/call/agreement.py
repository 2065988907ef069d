"""Several processes that are about to run a program together compare what they are about to run, before its first run.

They have to run the same programs in the same order, with the same numbers in all that is not spread over them. jax
takes both on trust: where it is not so, they wait for each other for ever, or go on with other numbers each. So before
the first run of a program on an array that they share, each tells the others which function, signature and program it
is, and a digest of each argument that it holds whole. What waits for the others for long says so on stderr.
"""

import contextlib
import hashlib
import os
import sys
import threading

import numpy as np

from ...backends.xla import processes
from ...ir.text import show
from ..common.errors import CheckError, message
from ..guards.guard import Read
from ..sharding.placement import Placement

WORDS, EACH, MOST = 400, 8, 64  # bound: bytes of what is said in words and of a digest, digests that are told apart
PLAIN = int, float, complex, str, bytes, type(None)
PATIENCE = 20.0  # bound: seconds of waiting for other processes, after which that is said
ORDER = "All processes have to call the same functions in the same order: look for an `if` on the number of a process."
SAME = (
    "What is not spread over the processes has to be the same in all of them: seed random generators alike, and read "
    "clocks, files and the environment in one process alone."
)


def agree_on(entry, here, version, everything):
    """Compare what this process is about to run with the others; CheckError, in all of them, where they differ.

    everything: the arguments and inputs of the call.
    """
    if version.agreed:
        return
    if (devices := shared_devices(entry.compiled.device, everything)) is not None:
        compare_with_others(entry, here, version, everything, devices)
    version.agreed = True


def agree_now_and_then(entry, here, version, everything):
    """The same for later runs, of arguments that each process has in full: the second, fourth, eighth and so on."""
    version.runs += 1
    if version.runs > 1 and not version.runs & version.runs - 1:
        compare_with_others(entry, here, version, everything, shared_devices(entry.compiled.device, everything))


def shared_devices(placement, everything):
    """Those that the processes which run a program have together; None where it runs in one process."""
    if isinstance(placement, Placement):
        return placement.mesh.devices.flat if placement.is_shared else None
    like = next(filter(processes.is_shared, everything), None)
    return None if like is None else like.sharding.device_set


def compare_with_others(entry, here, version, everything, devices):
    """The comparison; a program of which processes differ is forgotten."""
    what = f"{entry.compiled.name} ({entry.shown_types(version.types)}){place_text(entry.compiled.place)}"
    whole = zip(item_names(entry, here.inputs), everything, strict=True)
    items = [*relied_items(entry, version), *((n, all_bytes(x)) for n, x in whole if not processes.is_shared(x))]
    items.append(("the program", show(version.func, sources=False).encode()))
    items.insert(0, ("what it reads", repr([n for n, _ in items]).encode()))
    with said_when_late(what):
        told = processes.gathered_rows(packed_row(what, items), devices)
    try:
        refuse_differences(told, [name for name, _ in items], entry.compiled.name)
    except CheckError:
        entry.worlds = [w for w in entry.worlds if w is not here]
        entry.current = None
        entry.compiled.front.drop(here)
        raise


def item_names(entry, inputs):
    """What the arguments and inputs of a call are called."""
    found = [x.name if isinstance(x, Read) else "what is drawn or read outside" for x in inputs]
    return [*(f"argument {n}" for n in entry.names), *found]


def relied_items(entry, version):
    """[(name, bytes)] of the static arguments, and of the outside numbers and texts that the trace relied on."""
    found = [(f"argument {n}", x) for n, x in entry.static.items()]
    found += [(r.name, r.value) for r in version.captured.outside.reads.values() if r.how == "value"]
    return [(n, repr(x).encode()) for n, x in found if isinstance(x, PLAIN)]


def all_bytes(x):
    """All bytes that tell an array or number from others."""
    x = np.asarray(x)
    return repr((x.shape, x.dtype.str)).encode() + (repr(x.tolist()).encode() if x.dtype.hasobject else x.tobytes())


def packed_row(what, items):
    """What a process tells the others: words, and digests of [(name, bytes)]; those beyond MOST are one."""
    digests = [hashlib.blake2b(data, digest_size=EACH).digest() for _, data in items]
    last = hashlib.blake2b(b"".join(digests[MOST - 1 :]), digest_size=EACH).digest()
    digests = (digests[: MOST - 1] + [last] * (len(digests) >= MOST) + [bytes(EACH)] * MOST)[:MOST]
    return np.frombuffer(what.encode()[:WORDS].ljust(WORDS) + b"".join(digests), np.uint8)


def refuse_differences(told, names, function):
    """told: {number of a process: what it tells}; names: of the items that this one has."""
    first, *others = told
    for other in others:
        ours, theirs = told[first].tobytes(), told[other].tobytes()
        if ours == theirs:
            continue
        if ours[:WORDS] != theirs[:WORDS]:
            words = [row[:WORDS].decode(errors="replace").strip() for row in (ours, theirs)]
            text = f"process {first} calls {words[0]}\n  while process {other} calls {words[1]}"
            raise CheckError(message(text, None, ORDER))
        k = next(k for k in range(WORDS, len(ours)) if ours[k] != theirs[k]) - WORDS
        name = names[min(k // EACH, len(names) - 1)]
        text = f"{function}: {name} is not the same in processes {first} and {other}"
        raise CheckError(message(text, None, SAME))


def place_text(place):
    """(file, line) of a function, as words; of nothing none. Its folder may be another on another machine."""
    return f", {os.path.basename(place[0])}:{place[1]}" if place else ""


@contextlib.contextmanager
def said_when_late(what):
    """Around what all processes have to come to: says on stderr that they have not."""

    def say():
        text = f"wengert: waiting for {PATIENCE:.0f} s for other processes to call {what}\n  {ORDER}"
        print(text, file=sys.stderr, flush=True)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
