"""Random programs of every family, fresh ones each time: what agrees with plain Python, what is refused, what differs.

    python benchmarks/trust.py --seconds 60
    python benchmarks/trust.py --programs 100000 --processes 2 --report trust.txt
    python benchmarks/trust.py --family types --seed 123 --engine numpy          # one again, with its text

The families are the table in `tests/helpers/families.py`; what one offers is in `tests/helpers/draws.py`. Families take
turns by the time they have had. Most programs run as NumPy, equation by equation, which is fast and shows what capture,
memory and passes make of them; SHARES of them run on the other engines, and half of all with exact=True. A row counts
programs drawn, calls of compiled functions, and calls of NumPy's names where each is compared by itself; "explained" is
what docs/semantics.md excepts, "slow" what took longer than --patience seconds. Rates are by seconds of a processor.

Exit status 1: something differs, or did not come back.
"""

import argparse
import collections
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import resource
import secrets
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "helpers"))
from draws import Found, on
from families import FAMILIES, TIME

SHARES = {  # of 100 programs
    "numpy": 87, "straight": 4, "nests": 1, "quick": 1, "native": 2, "nested": 1, "xla": 2, "default": 1, "deferred": 1,
}  # fmt: skip
TURNS = [engine for engine, share in SHARES.items() for _ in range(share)]
VERDICTS = ("agree", "refused", "explained", "slow", "different")
MEMORY = 4 << 20  # kB, after which a process is followed by another
SHOWN = 12  # differences with their programs; all are in --report


class Slow(BaseException):
    """Not for any `except Exception` on the way."""


def answer(job, patience):
    """What came of one program, as a row of plain values."""
    family, seed, engine, exact = job
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        with on(engine, exact):
            found = FAMILIES[family](seed, engine)
    except Slow:
        found = Found("slow", f"more than {patience} s")
    except Exception as error:
        found = Found("different", f"the tester fails: {type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    shown = found.text if found.verdict == "different" else ""
    return found.verdict, found.why, shown, found.calls, found.names, time.process_time() - start


def serve(pipe, patience):
    """Programs that come down the pipe, one after another."""

    def stop(*_):
        raise Slow

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe.send("ready")
    while (job := pipe.recv()) is not None:
        pipe.send((*answer(job, patience), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


class Worker:
    """A process that runs programs; one that is silent for too long, or too large, is followed by another."""

    def __init__(self, patience):
        self.patience = patience
        self.job, self.since = None, time.monotonic()
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=serve, args=(end, patience), daemon=True)
        self.process.start()
        end.close()

    def give(self, job):
        self.job, self.since = job, time.monotonic()
        self.pipe.send(job)

    def overdue(self):
        waits = 3 + os.getloadavg()[0] / os.cpu_count()  # for a processor
        return self.job is not None and time.monotonic() - self.since > waits * self.patience

    def stop(self):
        self.process.kill()
        self.process.join()


class Tally:
    """What has been found, and whose turn it is."""

    def __init__(self, names, first):
        self.first, self.next = first, 0
        self.rows = {name: collections.Counter() for name in names}
        self.seconds = dict.fromkeys(names, 0.0)
        self.refused, self.found = collections.Counter(), []
        self.engines = collections.Counter()

    def job(self):
        seed = self.first + self.next
        self.next += 1
        family = min(self.seconds, key=lambda name: self.seconds[name] / TIME.get(name, 1))
        self.seconds[family] += 0.01  # the others are next while it runs
        return family, seed, TURNS[seed * 37 % 100], seed // 100 % 2 == 1

    def take(self, job, verdict, why, text, calls, names, seconds):
        family, _, engine, exact = job
        row = self.rows[family]
        row.update({"drawn": 1, "calls": calls, "names": names, verdict: 1})
        self.seconds[family] += seconds
        self.engines[f"{engine}{', exact' * exact}"] += 1
        if verdict == "refused":
            self.refused[family, why] += 1
        if verdict in ("different", "slow"):
            self.found.append((job, verdict, why, text))

    @property
    def drawn(self):
        return sum(row["drawn"] for row in self.rows.values())

    def report(self):
        """The tables, as lines."""
        head = ["family", "drawn", "calls", "names", *VERDICTS, "programs/s", "calls/s"]
        columns = ["drawn", "calls", "names", *VERDICTS]
        total = collections.Counter()
        for row in self.rows.values():
            total.update(row)
        lines = []
        for name, row, seconds in [
            *((n, r, self.seconds[n]) for n, r in self.rows.items()),
            ("all", total, sum(self.seconds.values())),
        ]:
            rates = [f"{(row[k] / seconds if seconds else 0):.1f}" for k in ("drawn", "calls")]
            lines.append([name, *(f"{row[k]:,}" for k in columns), *rates])
        width = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
        yield f"seeds {self.first} to {self.first + self.next - 1}; " + ", ".join(
            f"{n} {k}" for k, n in sorted(self.engines.items())
        )
        yield ""
        for line in [head, *lines]:
            yield "  ".join(cell.ljust(width[k]) if k == 0 else cell.rjust(width[k]) for k, cell in enumerate(line))
        yield from ["", f"refused, {len(self.refused)} reasons"]
        yield from (f"{count:7,}  {family}: {why}" for (family, why), count in self.refused.most_common(40))
        for job, verdict, why, text in self.found:
            family, seed, engine, exact = job
            yield f"\n{verdict}: --family '{family}' --seed {seed} --engine {engine}{' --exact' * exact}\n{why}\n{text}"


def run(asked):
    """A tally of programs until the time is over, or as many as were asked for."""
    workers, tally = (
        [Worker(asked.patience) for _ in range(asked.processes)],
        Tally(asked.only or FAMILIES, asked.first),
    )
    told = start = time.monotonic()
    while workers:
        ready = multiprocessing.connection.wait([w.pipe for w in workers], 1)
        for w in [w for w in workers if w.pipe in ready or w.overdue()]:
            try:
                said = w.pipe.recv() if w.pipe in ready else None
            except EOFError:
                said = None
            if said is None and w.job is None:
                raise RuntimeError("a process of the testers ended before it began")
            if w.job is not None:
                tally.take(w.job, *(said or (
                    "slow", "the process does not come back, or has ended", "", 0, 0, 0.0,
                ))[:6])
            spent = (
                time.monotonic() - start > asked.seconds
                if asked.programs is None
                else tally.drawn + len(workers) > asked.programs
            )
            if said is None or w.job and (said[0] == "slow" or said[-1] > MEMORY) or spent:
                w.stop()
                workers.remove(w)
                if not spent:
                    workers.append(Worker(asked.patience))
            else:
                w.give(tally.job())
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(
                f"{told - start:.0f} s: {tally.drawn:,} programs, {len(tally.found)} to look at",
                file=sys.stderr,
                flush=True,
            )
            if asked.report:
                # a long run that is cut off has said what it found
                asked.report.write_text("\n".join(tally.report()) + "\n")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--first", type=int, default=secrets.randbelow(10**9) * 1000, help="the first seed; fresh ones unless given"
    )
    parser.add_argument("--only", nargs="*", help="families")
    parser.add_argument("--patience", type=float, default=30, help="seconds of a processor that one program may take")
    parser.add_argument("--report", type=pathlib.Path, help="a file for the whole report")
    parser.add_argument("--family")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--engine", default="numpy", choices=SHARES)
    parser.add_argument("--exact", action="store_true")
    asked = parser.parse_args()
    if asked.family:
        with on(asked.engine, asked.exact):
            found = FAMILIES[asked.family](asked.seed, asked.engine)
        print(found.text, found.verdict, found.why, sep="\n")
        return found.verdict == "different"
    tally = run(asked)
    lines = list(tally.report())
    print(*lines[: len(lines) - len(tally.found)], *lines[len(lines) - len(tally.found) :][:SHOWN], sep="\n")
    if asked.report:
        asked.report.write_text("\n".join(lines) + "\n")
    return bool(tally.found)


if __name__ == "__main__":
    sys.exit(main())
