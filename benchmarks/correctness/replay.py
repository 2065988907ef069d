"""Functions and methods of other people's programs, recorded while their own tests run and replayed compiled:

    python benchmarks/correctness/replay.py CHECKOUT --package NAME TESTS... [--json ROWS --resume --minutes 4]
    python benchmarks/correctness/replay.py --table ROWS...

Every call of a function, method, property or constructor of the package is seen by a profiler; the first calls of each
are kept: a deep copy of the arguments, and the state of the random numbers. Each is then run plainly twice (what is
not the same both times is passed over), compiled as users have it, and compiled with `whole=True`: results, arguments,
objects and their attributes, random state and exceptions have to agree. What differs where plain Python answers
otherwise itself, when numbers differ in their last place, is counted apart. Functions run in processes of their own, a
batch in each; a call that takes too long ends its process and is a hang. Each leaves a row of JSON in a file.
"""

import argparse
import collections
import contextlib
import copy
import io
import json
import os
import random
import re
import select
import signal
import sys
import time
import types
import warnings

import numpy as np

from wengert import Fallback, jit
from wengert.benchmarks.correctness.corpus import failure
from wengert.benchmarks.correctness.likeness import Likeness, text_alike
from wengert.benchmarks.correctness.shaken import rounding_decides
from wengert.tracer.common.errors import WengertError

CALLS = 3  # recorded of each function
HANG = 90  # seconds of one call
LONG = 5.0  # seconds of a plain call above which it is passed over
LARGE = 4_000_000  # bytes of arrays in the arguments, above which a call is not kept
SETTLED = 20  # calls after which it is settled whether plain Python answers them
SLOW = 2.0  # seconds of a first call that are worth a line


class Recorder:
    """The first calls of the functions whose files lie in a folder: {code: [(function, arguments, random state)]}"""

    def __init__(self, folder, passed=()):
        self.folder, self.passed, self.calls, self.functions = folder, passed, {}, {}
        self.seen, self.inside = collections.Counter(), False

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if event != "call" or self.inside or not code.co_filename.startswith(self.folder):
            return
        if self.seen[code] >= 4 * CALLS or any(p in code.co_filename for p in self.passed):
            return
        self.seen[code] += 1
        self.inside = True
        try:
            self.keep(frame, code)
        except Exception:  # what cannot be copied cannot be replayed
            pass
        finally:
            self.inside = False

    def keep(self, frame, code):
        kept = self.calls.setdefault(code, [])
        if code not in self.functions:
            self.functions[code] = function_of(code, frame.f_globals)
        if len(kept) >= CALLS or self.functions[code] is None:
            return
        args, kwargs = arguments(frame, code)
        if weight((args, kwargs)) <= LARGE:
            kept.append((copy.deepcopy((args, kwargs)), random_state()))

    @contextlib.contextmanager
    def recording(self):
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


def function_of(code, space):
    """The function of a code object, found by its qualified name; None where it has none, as nested ones."""
    if "<" in code.co_qualname or code.co_flags & 0x2A0:  # a lambda, a nested function, a generator
        return None
    found = space
    for part in code.co_qualname.split("."):
        found = found.get(part) if isinstance(found, dict | types.MappingProxyType) else vars(found).get(part)
    for way in ("fget", "__func__", "func"):
        found = getattr(found, way, found)
    while getattr(found, "__code__", None) is not code and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found if getattr(found, "__code__", None) is code else None


def arguments(frame, code):
    n, more = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    values = frame.f_locals
    args = [values[k] for k in names[:n]]
    kwargs = {k: values[k] for k in names[n : n + more]}
    if code.co_flags & 4:
        args += values[names[n + more]]
    if code.co_flags & 8:
        kwargs |= values[names[n + more + bool(code.co_flags & 4)]]
    return args, kwargs


def weight(x, memo=None):
    """Bytes of the arrays in a structure, counted a few levels deep."""
    memo = set() if memo is None else memo
    if id(x) in memo or len(memo) > 10_000:
        return 0
    memo.add(id(x))
    if isinstance(x, np.ndarray):
        return x.nbytes
    items = (
        x.values()
        if isinstance(x, dict)
        else x
        if isinstance(x, list | tuple)
        else vars(x).values()
        if hasattr(x, "__dict__")
        else ()
    )
    return sum(weight(v, memo) for v in items)


def random_state():
    return np.random.get_state(), random.getstate()


def outcome(f, call, changed=lambda given: given):
    """What a call leaves: ("result", result) or ("raised", exception class), arguments, random state, text, seconds."""
    given, state = copy.deepcopy(call)
    args, kwargs = changed(given)
    np.random.set_state(state[0])
    random.setstate(state[1])
    out = io.StringIO()
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
            end = "result", f(*args, **kwargs)
    except Exception as error:
        end = "raised", error
    taken = time.perf_counter() - start
    return end, (args, kwargs), random_state(), out.getvalue(), taken


def differing(got, want):
    """Which part differs, or None."""
    how, value = want[0]
    if got[0][0] != how:
        return f"{got[0][0]} {got[0][1]!r:.300}, not {how}"
    if how == "raised":
        if type(got[0][1]) is not type(value):
            return f"raised {failure(got[0][1])}, not {failure(value)}"
    elif not (likeness := Likeness()).same((got[0][1], *got[1][0], got[1][1]), (value, *want[1][0], want[1][1])):
        return f"result and arguments, at {likeness.found}"
    if not Likeness().same(got[2], want[2]):
        return "random state"
    return None if text_alike(got[3], want[3]) else "what is printed"


def replayed(function, calls, begin):
    """-> {"kind", "why", "whole", "first", "first whole", "compiled", "plain"} of one function; begin(way, found) is
    told what is known before each call of it."""
    wanted, passed = [], ""
    for call in calls:
        begin("plain", {})
        one = outcome(function, call)
        if one[4] > LONG:
            passed = f"takes {one[4]:.0f} s"
        elif (other := differing(outcome(function, call), one)) is None:
            wanted.append((call, one))
        else:
            passed = f"not the same twice: {other}"
    if not wanted:
        return {"kind": "passed over", "why": passed}
    found = {"kind": "right", "whole": "right", "first": 0.0, "first whole": 0.0}
    for whole, first in ((False, "first"), (True, "first whole")):
        compiled = jit(function, whole=whole)
        for call, want in wanted:
            begin(first, found)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                got = outcome(compiled, call)
            cuts = [str(w.message) for w in told if issubclass(w.category, Fallback)]
            found[first] = max(found[first], got[4])
            why = differing(got, want)
            if why is None:
                if cuts and found["kind"] == "right":
                    found["kind"], found["why"] = "cut", first_lines(cuts[0])
                continue
            raised = isinstance(got[0][1], WengertError | TypeError) if got[0][0] == "raised" else False
            if not raised and rounding_decides(outcome, function, call, want, differing):
                found["rounding"] = why
                continue
            if whole:
                found["whole"] = (
                    "refused: " + failure(got[0][1]) if isinstance(got[0][1], WengertError) else "wrong: " + why
                )
                break
            found["kind"], found["why"] = ("error" if raised else "wrong"), why
            break
        if not whole and found["kind"] in ("right", "cut"):
            found |= paces(compiled, function, wanted[0][0])
    return found


def paces(compiled, function, call):
    """Seconds of the compiled and the plain function, the least of a few turns, once it is settled which of the two
    answers."""
    times = {compiled: [], function: []}
    start = time.perf_counter()
    for _ in range(SETTLED):
        if outcome(compiled, call)[4] > 1e-3 or time.perf_counter() - start > LONG:  # plain Python is not tried there
            break
    start = time.perf_counter()
    for turn in range(7):
        if turn and time.perf_counter() - start > 2 * LONG:
            break
        for f in times:
            times[f].append(outcome(f, call)[4])
    return {"compiled": min(times[compiled]), "plain": min(times[function])}


def first_lines(text):
    return " | ".join(line.strip() for line in text.splitlines()[:3])


def child(jobs, write):
    """Replay jobs in order; one line of JSON each."""
    jit(lambda x: np.exp(x) @ x, engine="xla")(np.ones(3))  # XLA's own start is no function's first call
    for name, function, calls in jobs:

        def begin(way, found, name=name):
            print(json.dumps({**found, "name": name, "begun": way}), file=write, flush=True)

        try:
            found = replayed(function, calls, begin)
        except Exception as error:
            found = {"kind": "passed over", "why": failure(error)}
        print(json.dumps({"name": name, **found}), file=write, flush=True)


def run_apart(jobs, seconds):
    """Results of all jobs, each line as it comes; a call that takes too long ends its process, and another goes on."""
    while jobs:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            with os.fdopen(writing, "w") as write:
                child(jobs, write)
            os._exit(0)
        os.close(writing)
        text, begun = b"", None
        try:
            while select.select([reading], [], [], seconds)[0] and (more := os.read(reading, 65536)):
                text += more
                *lines, text = text.split(b"\n")
                for line in map(json.loads, lines):
                    if "begun" in line:
                        begun = line
                    else:
                        yield line
                        jobs, begun = jobs[1:], None
        finally:
            os.close(reading)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        if jobs and begun is not None:
            end = "hang" if status in (0, signal.SIGKILL) else "crash"
            way = begun.pop("begun")
            plain = {"kind": "passed over", "why": f"a plain call: {end}"}
            yield begun | {"plain": plain, "first": {"kind": end}, "first whole": {"whole": end}}[way]
            jobs = jobs[1:]


def table(lines):
    """The counts of one repository."""
    kinds = collections.Counter(line["kind"] for line in lines)
    whole = collections.Counter(line["whole"].partition(":")[0] for line in lines if "whole" in line)
    replayed = sum(n for k, n in kinds.items() if k != "passed over")
    slower = [line for line in lines if "plain" in line and line["compiled"] > line["plain"] * 1.1 + 2e-6]
    worst = max(lines, key=lambda line: line.get("first", 0), default=None)
    return {
        "functions": replayed,
        "passed over": kinds["passed over"],
        **{k: kinds[k] for k in ("right", "cut", "wrong", "error", "hang", "crash")},
        "rounding decides": sum("rounding" in line for line in lines),
        "whole": whole["right"],
        "whole wrong": whole["wrong"],
        "whole hang": whole["hang"] + whole["crash"],
        "first > 2 s": sum(line.get("first", 0) > SLOW for line in lines),
        "slower": len(slower),
        "worst first": f"{worst['first']:.1f} s {worst['name']}" if worst and "first" in worst else "",
    }


def rows_of(path):
    """The last row of each function in a file of rows."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return list({row["name"]: row for row in map(json.loads, file)}.values())


def print_table(paths):
    """The table by repository of files of rows, and the reasons of the refusals by their number."""
    tables = {os.path.basename(path).removesuffix(".json"): table(rows_of(path)) for path in paths}
    heads = list(next(iter(tables.values())))
    print("| repository |", " | ".join(heads), "|")
    print("|" + "---|" * (len(heads) + 1))
    for name, counts in tables.items():
        print(f"| {name} |", " | ".join(str(counts[k]) for k in heads), "|")
    reasons = collections.Counter()
    for row in (row for path in paths for row in rows_of(path)):
        if row.get("whole", "right") != "right":
            reasons[re.sub(r"'[^']*'|\d+|\([^)]*\)", "_", row["whole"].splitlines()[0])] += 1
    for reason, n in reasons.most_common():
        print(f"{n:4} {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", help="folder of the repository")
    parser.add_argument("--package", help="folder in it whose functions are recorded")
    parser.add_argument("--passed", nargs="*", default=["/test", "conftest"], help="parts of file names not recorded")
    parser.add_argument("--only", help="part of the names of functions to replay")
    parser.add_argument("--seconds", type=int, default=HANG, help="of one call, above which it hangs")
    parser.add_argument("--minutes", type=float, default=1e9, help="of replays, after which no other one begins")
    parser.add_argument("--json", help="file that each function's row is added to")
    parser.add_argument("--resume", action="store_true", help="pass over functions that have a row there")
    parser.add_argument("--script", action="store_true", help="TESTS are programs, each run as __main__")
    parser.add_argument("--table", nargs="+", metavar="ROWS", help="print the table of these files")
    parser.add_argument("tests", nargs="*", help="what pytest is given")
    args = parser.parse_intermixed_args()
    if args.table:
        print_table(args.table)
        return
    rows = os.path.abspath(args.json) if args.json else None
    os.chdir(args.checkout)
    sys.path[:0] = [os.getcwd()]
    os.environ["MPLBACKEND"] = "Agg"
    recorder = Recorder(os.path.normpath(os.path.join(os.getcwd(), args.package)), args.passed)
    with recorder.recording():
        record(args.tests, args.script)
    jobs = [(c.co_qualname, recorder.functions[c], kept) for c, kept in recorder.calls.items() if kept]
    jobs = [(f"{f.__module__}.{name}", f, kept) for name, f, kept in jobs]
    if args.only:
        jobs = [job for job in jobs if args.only in job[0]]
    if args.resume:
        done = {row["name"] for row in rows_of(rows)}
        jobs = [job for job in jobs if job[0] not in done]
    print(f"{len(jobs)} functions recorded", flush=True)
    lines, start = [], time.monotonic()
    for line in run_apart(jobs, args.seconds):
        lines.append(line)
        if rows:
            with open(rows, "a") as file:
                print(json.dumps(line), file=file)
        if line["kind"] in ("wrong", "error", "hang", "crash", "cut") or line.get("whole", "right") != "right":
            print(line["kind"], line["name"], line.get("why", ""), "| whole:", line.get("whole", "")[:200], flush=True)
        if time.monotonic() - start > 60 * args.minutes:
            print(f"{len(jobs) - len(lines)} functions are left")
            break
    print(table(lines))


def record(tests, script):
    """Run the tests, or the programs, in this process."""
    if not script:
        import pytest

        pytest.main(["-q", "-x", "--maxfail=1000", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *tests])
        return
    import runpy

    for path in tests:
        sys.path[:0] = [os.path.dirname(os.path.abspath(path))]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(path, run_name="__main__")
        except (Exception, SystemExit) as error:
            print(f"{path}: {failure(error)}")


if __name__ == "__main__":
    main()
