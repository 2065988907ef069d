"""Functions and methods of other people's programs, recorded while their own tests run and replayed compiled:

    python benchmarks/correctness/replay.py CHECKOUT --package NAME TESTS...

Every call of a function, method, property or constructor of the package is seen by a profiler; the first calls of each
are kept: a deep copy of the arguments, and the state of the random numbers. Each is then run plainly twice (what is
not the same both times is passed over), compiled as users have it, and compiled with `whole=True`: results, arguments,
objects and their attributes, random state and exceptions have to agree. Functions are run in processes of their own, a
batch in each; one that takes too long is ended and called a hang.
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
from wengert.tracer.common.errors import WengertError

CALLS = 3  # recorded of each function
HANG = 90  # seconds for one function, both ways
LARGE = 4_000_000  # bytes of arrays in the arguments, above which a call is not kept
SLOW = 2.0  # seconds of a first call that are worth a line
WHOLE = ["cut", "refused", "error"]


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


class Likeness:
    """Whether two results are alike: classes, structure, attributes, identity among themselves; floats to rounding."""

    def __init__(self):
        self.pairs = {}  # id of one -> the other; both are kept alive by the caller

    def same(self, got, want):
        if id(want) in self.pairs:
            return self.pairs[id(want)] == id(got) or isinstance(want, bool | int | float | str | bytes | type(None))
        self.pairs[id(want)] = id(got)
        return self.difference(got, want)

    def difference(self, got, want):
        if type(got) is not type(want):
            return False
        if isinstance(want, np.ndarray | np.generic | int | float | complex):
            return numbers_alike(got, want)
        if isinstance(want, list | tuple | collections.deque):
            return len(got) == len(want) and all(map(self.same, got, want)) and self.attributes(got, want)
        if isinstance(want, dict):
            keys = len(got) == len(want) and all(map(self.same, got, want))
            return keys and all(map(self.same, got.values(), want.values()))
        if isinstance(want, str | bytes | set | frozenset | range | slice):
            return got == want or text_alike(got, want)
        if isinstance(want, types.FunctionType | types.BuiltinFunctionType | type | types.ModuleType):
            return got is want or getattr(got, "__code__", got) == getattr(want, "__code__", 0)
        if isinstance(want, types.MethodType):
            return got.__func__ is want.__func__ and self.same(got.__self__, want.__self__)
        return self.attributes(got, want) if parts(want) else text_alike(repr(got), repr(want))

    def attributes(self, got, want):
        a, b = parts(got), parts(want)
        return list(a) == list(b) and all(map(self.same, a.values(), b.values()))


def parts(x):
    """The attributes of an object, those in slots too."""
    names = [n for c in type(x).__mro__ for n in np.atleast_1d(c.__dict__.get("__slots__", ()))]
    return {n: getattr(x, n) for n in names if isinstance(n, str) and hasattr(x, n) and n[:2] != "__"} | dict(
        sorted(getattr(x, "__dict__", {}).items())
    )


def numbers_alike(got, want):
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if b.dtype.kind not in "fc":
        return bool(np.array_equal(a, b)) if b.dtype != object else all(map(Likeness().same, a.flat, b.flat))
    finite = b[np.isfinite(b)]
    close = 1e-8 if b.dtype.itemsize >= 8 else 1e-3
    return bool(np.allclose(a, b, close, close * max(1e-3, np.max(np.abs(finite), initial=0)), equal_nan=True))


def text_alike(got, want):
    """Equal but for addresses, and the last digits of numbers."""
    plain = re.compile(r"0x[0-9a-f]+|(\d+\.\d{6})\d+")
    return plain.sub(r"\1", str(got)) == plain.sub(r"\1", str(want))


def outcome(f, call):
    """What a call leaves: ("result", result) or ("raised", exception class), arguments, random state, text, seconds."""
    (args, kwargs), state = copy.deepcopy(call)
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
    elif not Likeness().same((got[0][1], got[1]), (value, want[1])):
        return f"result {value!r:.120} is {got[0][1]!r:.120}" if not Likeness().same(got[0][1], value) else "arguments"
    elif not Likeness().same(got[1], want[1]):
        return "arguments"
    if not Likeness().same(got[2], want[2]):
        return "random state"
    return None if text_alike(got[3], want[3]) else "what is printed"


def replayed(function, calls):
    """-> {"kind", "why", "whole", "first", "ratio"} of one function."""
    wanted = []
    for call in calls:
        one, two = outcome(function, call), outcome(function, call)
        if differing(two, one) is None:
            wanted.append((call, one))
    if not wanted:
        return {"kind": "passed over"}
    found = {"kind": "right", "whole": "right", "first": 0.0}
    for whole in (False, True):
        compiled = jit(function, whole=whole)
        for call, want in wanted:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                got = outcome(compiled, call)
            cuts = [str(w.message) for w in told if issubclass(w.category, Fallback)]
            if not whole:
                found["first"] = max(found["first"], got[4])
            why = differing(got, want)
            if why is None:
                if cuts and found["kind"] == "right":
                    found["kind"], found["why"] = "cut", first_lines(cuts[0])
                continue
            raised = isinstance(got[0][1], WengertError | TypeError) if got[0][0] == "raised" else False
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
    """Seconds of the compiled and the plain function, the least of a few turns."""
    times = {compiled: [], function: []}
    for _ in range(7):
        for f in times:
            times[f].append(outcome(f, call)[4])
    return {"compiled": min(times[compiled]), "plain": min(times[function])}


def first_lines(text):
    return " | ".join(line.strip() for line in text.splitlines()[:3])


def child(jobs, write):
    """Replay jobs in order; one line of JSON each."""
    for name, function, calls in jobs:
        print(json.dumps({"name": name, "kind": "begun"}), file=write, flush=True)
        try:
            found = replayed(function, calls)
        except Exception as error:
            found = {"kind": "passed over", "why": failure(error)}
        print(json.dumps({"name": name, **found}), file=write, flush=True)


def run_apart(jobs, seconds):
    """Results of all jobs, each line as it comes; a job that takes too long ends its process, and another goes on."""
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
        while select.select([reading], [], [], seconds)[0] and (more := os.read(reading, 65536)):
            text += more
            *lines, text = text.split(b"\n")
            for line in map(json.loads, lines):
                if line["kind"] == "begun":
                    begun = line["name"]
                else:
                    yield line
                    jobs, begun = jobs[1:], None
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if jobs and begun is not None:
            ended = status not in (0, signal.SIGKILL)
            yield {"name": begun, "kind": "crash" if ended else "hang"}
            jobs = jobs[1:]


def table(lines):
    """The counts of one repository, and what is not right."""
    kinds = collections.Counter(line["kind"] for line in lines)
    whole = collections.Counter(line["whole"].partition(":")[0] for line in lines if "whole" in line)
    replayed = sum(n for k, n in kinds.items() if k != "passed over")
    slower = [line for line in lines if "plain" in line and line["compiled"] > line["plain"] * 1.1 + 2e-6]
    worst = max(lines, key=lambda line: line.get("first", 0), default=None)
    return {
        "functions": replayed,
        **{k: kinds[k] for k in ("right", "cut", "wrong", "error", "hang", "crash")},
        "whole": whole["right"],
        "first > 2 s": sum(line.get("first", 0) > SLOW for line in lines),
        "slower": len(slower),
        "worst first": f"{worst['first']:.1f} s {worst['name']}" if worst and "first" in worst else "",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", help="folder of the repository")
    parser.add_argument("--package", required=True, help="folder in it whose functions are recorded")
    parser.add_argument("--passed", nargs="*", default=["/test", "conftest"], help="parts of file names not recorded")
    parser.add_argument("--only", help="part of the names of functions to replay")
    parser.add_argument("--seconds", type=int, default=HANG, help="for one function")
    parser.add_argument("--json", help="file that each function's line is added to")
    parser.add_argument("--script", action="store_true", help="TESTS are programs, each run as __main__")
    parser.add_argument("tests", nargs="+", help="what pytest is given")
    args = parser.parse_args()
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
    print(f"{len(jobs)} functions recorded", flush=True)
    lines = []
    for line in run_apart(jobs, args.seconds):
        lines.append(line)
        if args.json:
            with open(args.json, "a") as file:
                print(json.dumps(line), file=file)
        if line["kind"] in ("wrong", "error", "hang", "crash", "cut") or line.get("whole", "right") != "right":
            print(line["kind"], line["name"], line.get("why", ""), "| whole:", line.get("whole", "")[:200], flush=True)
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
