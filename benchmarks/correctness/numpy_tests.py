"""NumPy's own tests with every NumPy computation in them captured:
`python benchmarks/correctness/numpy_tests.py [umath indexing ...]`

The files are those of the installed NumPy, imported through `numpy_hooks`: each call, operator, subscript and store on
arrays becomes a call of a compiled function that takes those arrays, while creation from literals, loops, and
assertions stay plain. (Compiling a whole test would fold its constants at trace time, and compute nothing.) pytest runs
each file twice in a process of its own, plainly and so, for it is a plugin of pytest that imports the file. Verdicts,
per test that passes plainly:

whole    it passes, and every computation was compiled
aloud    it passes, and at least one computation was refused with an error of Wengert's, or ran as plain Python with a
         warning
wrong    it fails, or passes though a result, changed argument or exception differs from plain NumPy's
warns    it fails, and passes when the warnings and floating-point errors of plain NumPy come too, which compiled code
         does not give
order    it fails, and passes when new arrays lie in memory as NumPy's do; docs/semantics.md says that they do not
words    it fails, and passes when exceptions of the right class have NumPy's words
rounds   it fails, and passes when results that agree to rounding are NumPy's to the last digit
apart    it computes only on what no program takes (objects, text, dates, long doubles, subclasses), or nothing on
         arrays at all
slow     it takes longer than --seconds

So a test that fails for one of four reasons is run once more with that one difference mended; nothing else excuses a
failure, or a differing value, dtype, shape, argument or class of exception. With numbers wrong in a test that fails, it
is wrong.

--xla runs the programs through XLA, not as generated NumPy. --why prints causes, most frequent first; --match narrows
as pytest's -k does.
"""

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

FILES = {
    "umath": "_core/tests/test_umath.py",
    "indexing": "_core/tests/test_indexing.py",
    "numeric": "_core/tests/test_numeric.py",
    "function_base": "lib/tests/test_function_base.py",
    "einsum": "_core/tests/test_einsum.py",
    "linalg": "linalg/tests/test_linalg.py",
    "ufunc": "_core/tests/test_ufunc.py",
    "shape_base": "lib/tests/test_shape_base.py",
    "core_shape_base": "_core/tests/test_shape_base.py",
    "arraysetops": "lib/tests/test_arraysetops.py",
    "index_tricks": "lib/tests/test_index_tricks.py",
    "stride_tricks": "lib/tests/test_stride_tricks.py",
    "nanfunctions": "lib/tests/test_nanfunctions.py",
}
STANDARD = list(FILES)[:6]
VERDICTS = ["whole", "aloud", "wrong", "warns", "order", "words", "rounds", "apart", "slow"]
MENDED = ["warns", "order", "words", "rounds"]


# -- the plugin ------------------------------------------------------------------------------------


class TooLong(BaseException):
    """The time for one test is over."""


class Finder:
    """Imports the test file rewritten."""

    def __init__(self, name, file, hooks):
        self.name, self.file, self.hooks = name, file, hooks

    def find_spec(self, name, path, target=None):
        return (
            importlib.util.spec_from_loader(name, self, origin=self.file)
            if name.rpartition(".")[2] == self.name
            else None
        )

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = self.file
        setattr(module, self.hooks.OWN, self.hooks)
        exec(self.hooks.rewritten(pathlib.Path(self.file).read_text(), self.file), module.__dict__)


class Plugin:
    """Notes what becomes of each test and its computations; None: they run plainly."""

    def __init__(self, computed):
        self.computed, self.found = computed, {}

    def pytest_runtest_protocol(self, item, nextitem):
        self.found[item.nodeid] = {"outcome": "passed"}
        if self.computed:
            self.computed.record = self.computed.Record()

    def pytest_runtest_logreport(self, report):
        found = self.found[report.nodeid]
        if report.outcome != "passed":
            found["outcome"] = report.outcome
            found["text"] = str(report.longrepr)[-1500:]
        if report.when == "teardown" and self.computed:
            found.update(vars(self.computed.record))
            self.computed.record = None


def limited(seconds):
    def over(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)  # again, where the first was lost in a callback


def child(key, mode, out, mended, only, given):
    """One file in this process, or `only` some tests of it; what it found as JSON."""
    import numpy
    import pytest

    numpy.testing.HAS_REFCOUNT = False  # NumPy's own switch for machines that count no references, as hooks hold some
    root = pathlib.Path(numpy.__file__).parent
    file = root / FILES[key]
    computed = None
    if mode != "plain":
        import numpy_computed as computed
        import numpy_hooks as hooks
        from random_flow import program

        from wengert.backends.xla import dispatch

        if mode == "numpy":
            dispatch.program, dispatch.owned = program, numpy.array
        computed.mended, computed.program_digits = mended, mode == "numpy"
        sys.meta_path.insert(0, Finder(file.stem, str(file), hooks))
    plugin = Plugin(computed)

    class Limits:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(self, item):
            limited(given.seconds)
            result = yield
            signal.setitimer(signal.ITIMER_REAL, 0)
            if computed:
                computed.busy = False  # which an end by force leaves
            if result.excinfo and result.excinfo[0] is TooLong:
                result.force_exception(RuntimeError("TooLong"))

    options = [
        "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--assert=plain", "--tb=native", "-n0",
        "--disable-warnings", "--color=no",
    ]
    options += ["-k", given.match] if given.match else []

    class Only:
        def pytest_collection_modifyitems(self, items):
            items[:] = [i for i in items if not only or i.nodeid in only]

    pytest.main([*options, str(file)], plugins=[plugin, Limits(), Only()])
    pathlib.Path(out).write_text(json.dumps(plugin.found))


# -- the table -------------------------------------------------------------------------------------


def ran(key, mode, given, mended="", only=()):
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        out, tests = pathlib.Path(folder) / "found.json", pathlib.Path(folder) / "tests.json"
        tests.write_text(json.dumps(only))
        paths = [
            str(here),
            str(here.parents[1] / "tests" / "helpers"),
            str(here.parents[2]),
            os.environ.get("PYTHONPATH", ""),
        ]
        arguments = [sys.executable, __file__, "--child", key, mode, str(out), mended, str(tests)]
        arguments += ["--match", given.match, "--seconds", str(given.seconds)]
        space = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        done = subprocess.run(arguments, env=space, capture_output=True, text=True, cwd=folder)
        if not out.exists():
            raise SystemExit(f"{key}, {mode}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return json.loads(out.read_text())


def verdict(found):
    if found["differing"]:
        return "wrong"
    if "TooLong" in found.get("text", ""):
        return "slow"
    if found["outcome"] == "failed":
        return found.get("mended", "wrong")
    if found["refused"] or found["outside"] and found["captured"]:
        return "aloud"
    return "whole" if found["captured"] else "apart"


def brief(reason):
    """A reason without its numbers and place."""
    return re.sub(r"\d+", "#", reason.splitlines()[0])[:130] if reason else ""


def causes(name, found, shown):
    """The causes of one verdict, each with its number of tests and one example."""
    tests = collections.Counter()
    example = {}
    for node, f in found:
        if name == "wrong":
            notes = [(how.split(":")[0] + " " + head(where), f"{where}: {how}") for where, how in f["differing"]]
            notes = notes or [("fails: " + brief(last_line(f["text"])), f["text"][-shown:])]
        else:
            notes = [(brief(reason), where) for where, reason in f["refused"]] + [
                (f"outside: {o}", o) for o in f["outside"]
            ]
        for cause, text in dict(notes[::-1]).items():
            tests[cause] += 1
            example.setdefault(cause, f"{node.split('::', 1)[1]}: {text}")
    for cause, n in tests.most_common():
        print(f"  {n:5} {cause}\n          {example[cause][:shown]}")


def head(where):
    called = re.match(r"[\w.]+\(|\w+\.\w+\(", where)
    return called.group()[:-1] if called else re.sub(r"\d+", "#", where.split("  with ")[0])[:40]


def last_line(text):
    lines = re.split(r'^  File "', text, flags=re.M)[-1].splitlines()
    said = [x for x in lines[1:] if x.strip() and not x.startswith("    ")]
    return " ".join(said[0].split()) if said else text.strip()[-200:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", default=STANDARD)
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--why", choices=VERDICTS, nargs="*", default=[])
    parser.add_argument("--shown", type=int, default=260)
    parser.add_argument("--match", default="")
    parser.add_argument("--save", help="a folder for what was found")
    parser.add_argument("--seconds", type=int, default=120, help="for one test")
    parser.add_argument("--child", nargs=5)
    given = parser.parse_args()
    if given.child:
        key, mode, out, mended, only = given.child
        return child(key, mode, out, mended, json.loads(pathlib.Path(only).read_text()), given)
    print(
        f"{'file':16}{'tests':>6} "
        + "".join(f"{v:>7}" for v in VERDICTS)
        + "  not counted: skipped or failing plainly",
        flush=True,
    )
    for key in given.files:
        mode = "xla" if given.xla else "numpy"
        plain, mine = ran(key, "plain", given), ran(key, mode, given)
        for mended in MENDED:
            failing = [n for n, f in mine.items() if f["outcome"] == "failed" and "mended" not in f and f.get(mended)]
            again = ran(key, mode, given, mended, failing) if failing else {}
            for n in failing:
                if again[n]["outcome"] == "passed" and not again[n]["differing"]:
                    mine[n]["mended"] = mended
                elif "TooLong" in again[n].get("text", ""):
                    mine[n]["text"] = again[n]["text"]
        passing = [n for n, f in plain.items() if f["outcome"] == "passed"]
        by = {v: [] for v in VERDICTS}
        for n in passing:
            by[verdict(mine[n])].append((n, mine[n]))
        print(
            f"{key:16}{len(passing):6} "
            + "".join(f"{len(by[v]):7}" for v in VERDICTS)
            + f"  {len(plain) - len(passing)}",
            flush=True,
        )
        for v in given.why:
            print(f" {v}:")
            causes(v, by[v], given.shown)
        if given.save:
            pathlib.Path(given.save, f"{key}.json").write_text(json.dumps(mine))


if __name__ == "__main__":
    main()
