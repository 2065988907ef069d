"""Random programs called at random sizes, many of them: compiled functions against plain Python, gradients against
those of a program for each shape, and programs of symbolic sizes at every size they serve.

    python benchmarks/correctness/sizes.py --seconds 600
    python benchmarks/correctness/sizes.py --way learnt --seed 123 --count 1     # one again, with its text

Ways: "learnt", "asked" (`jit(dynamic=True)`), "gradients", and "every" (`tests/helpers/every_size.py`: no call path,
but a trace and a call at each size that a family says it serves). Programs of symbolic sizes are looked for at the
first new shape, whatever that costs; `--learning` leaves that to what calls have taken, as users have it. The draws are
those of `tests/helpers/random_lengths.py`.

Exit status 1: something differs.
"""

import argparse
import collections
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "helpers"))
import every_size
import random_lengths
from draws import Found, on

from wengert import grad, jit
from wengert.benchmarks.timing import table
from wengert.tracer.call import families, symbolic

WAYS = ("learnt", "asked", "gradients", "every")
ENGINES = ("straight", "straight", "straight", "nests", "default")  # whose turn it is


class Tally:
    """What came of the programs of one way."""

    def __init__(self, way):
        self.way, self.verdicts, self.seconds = way, collections.Counter(), 0.0
        self.calls = self.symbolic = 0  # in all, and those that programs of symbolic sizes have answered
        self.reasons = collections.Counter()

    def run(self, seed, engine):
        start = time.process_time()
        with on(engine):
            found = self.every(seed) if self.way == "every" else self.called(seed, engine)
        self.seconds += time.process_time() - start
        self.verdicts[found.verdict] += 1
        return found

    def every(self, seed):
        checked = every_size.Checked(seed)
        self.calls += checked.counts["sizes"]
        self.symbolic += checked.counts["calls"]
        self.reasons.update(reason[:60] for reason in checked.reasons)
        return Found.of(checked.wrong, f"{checked.program.text}# calls: {checked.program.calls}")

    def called(self, seed, engine):
        made = []

        def compiled(f):
            f = jit(f, dynamic=True if self.way == "asked" else None)
            made.append(grad(f) if self.way == "gradients" else f)
            return made[-1]

        run = random_lengths.run_gradients if self.way == "gradients" else random_lengths.run
        found = run(seed, engine, compiled)
        self.calls += found.calls
        for sizing in (w.sizing for f in made for e in f.compiled.entries.values() for w in e.worlds):
            if sizing is not None:
                self.symbolic += sum(calls for s in sizing.families for calls, _ in s.spent.values())
                self.reasons.update([sizing.why[:60]] if sizing.why is not None else [])
        return found

    def row(self):
        counts = [self.verdicts[v] for v in ("agree", "explained", "refused", "different")]
        return [self.way, *map(str, [self.verdicts.total(), *counts, self.calls, self.symbolic]), f"{self.seconds:.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--engine", choices=sorted({*ENGINES}))
    parser.add_argument("--learning", action="store_true")
    given = parser.parse_args()
    if not given.learning:
        families.TIMES, symbolic.LEAST_COST = 0.0, 1e9
    tallies = [Tally(way) for way in WAYS if given.way in (None, way)]
    begun, wrong = time.perf_counter(), 0
    for seed in range(given.seed, given.seed + given.count):
        if time.perf_counter() - begun > given.seconds:
            break
        for tally in tallies:
            engine = given.engine or ENGINES[seed % len(ENGINES)]
            found = tally.run(seed, engine)
            if found.verdict == "different":
                wrong += 1
                print(f"different: --way {tally.way} --seed {seed} --engine {engine}", found.why, found.text, sep="\n")
    head = ["way", "programs", "agree", "explained", "refused", "different", "calls or sizes", "by symbolic", "CPU s"]
    table([t.row() for t in tallies], head)
    for tally in tallies:
        for why, count in tally.reasons.most_common(6):
            print(f"  {tally.way}: {count} x {why}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
