"""Loops that threads share, drawn at random (`random_nests.py`): every loop whose trips do not hang together is cut into
parts, however little it does, and compared with Python and NumPy; with helpers and without, bit by bit.

    python tests/helpers/random_shared.py 0 500

Run as a script, it prints the programs that differ, and how many loops were shared.
"""

import argparse
import collections
import contextlib
import random
import warnings

import numpy as np
from random_nests import NestProgram, alike, function

from wengert import jit
from wengert.backends import native
from wengert.backends.native import legal, parallel, threads
from wengert.tracer.common.errors import WengertError

TURNS = 3  # with helpers, who may come at any time


@contextlib.contextmanager
def however_small():
    """Within, all loops that may be are shared -> a list that gets how many parts each has."""
    names, made = ("LEAST", "PART"), []
    before, share = [getattr(parallel, name) for name in names], parallel.Part.share

    def counted(part, count):
        made.append(count)
        share(part, count)

    forget = lambda: [f.cache_clear() for f in (legal.made, legal.emitted)]
    try:
        for name in names:
            setattr(parallel, name, 1)
        parallel.Part.share = counted
        forget()
        yield made
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(parallel, name, value)
        parallel.Part.share = share
        forget()


def copies(given):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in given]


def allow(helpers):
    if threads.POOL.address is not None:
        threads.POOL.allow(helpers)


def outcome(seed):
    """-> "agree", "refused: ...", or a difference in words; within `however_small`."""
    r = random.Random(seed)
    program = NestProgram(seed, (r.randint(20, 60), r.randint(20, 60)))
    if "y[::-1]" in program.text:  # written out, of which XLA makes one fusion, for minutes
        return "left out"
    f, given = function(program.text), program.arguments(seed)
    with np.errstate(all="ignore"):
        try:
            want = f(*copies(given))
        except (IndexError, ValueError) as error:
            want = type(error)
        compiled = jit(f, engine="numpy", whole=True, dynamic=False)
        found = []
        for helpers in [0, 0, *[threads.thread_count() - 1] * TURNS]:
            allow(helpers)
            try:
                with native.asked(0):
                    found.append(compiled(*copies(given)))
            except WengertError as error:
                return f"refused: {str(error).splitlines()[0]}"
            except (IndexError, ValueError) as error:
                found.append(type(error))
    if isinstance(want, type) or any(isinstance(x, type) for x in found):
        same = all(x is want for x in found)
        return f"raises {want.__name__}" if same else f"differs: {found}, not {want}\n{program.text}"
    for n, got in enumerate(found[1:]):  # the first may have run in another form
        for part, g, w, first in zip("abxysmq", got, want, found[1]):
            if not alike(g, w):
                return f"differs in {part}: {g!r}, not {w!r}\n{program.text}"
            if np.asarray(g).tobytes() != np.asarray(first).tobytes():
                return f"differs in {part} at turn {n} from what one thread has: {g!r}, not {first!r}\n{program.text}"
    return "agree"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("first", type=int)
    p.add_argument("last", type=int)
    args = p.parse_args()
    warnings.simplefilter("ignore")
    outcomes = collections.Counter()
    with however_small() as shared:
        for seed in range(args.first, args.last):
            what = outcome(seed)
            outcomes[what.partition(":")[0].partition(" in ")[0]] += 1
            if what.startswith("differs"):
                print(f"seed {seed}: {what}", flush=True)
    print(dict(outcomes), f"{len(shared)} loops shared")


if __name__ == "__main__":
    main()
