"""How many functions of other people's programs run unmodified: `python benchmarks/correctness/corpus.py CHECKOUT ...`

Two kinds of files are run. One that says `#setup:` and `#run:` in comments (as in serge-sans-paille/numpy-benchmarks),
or `#runas` (as in the tests of serge-sans-paille/pythran; `--bench`: where it says `#bench`, what that says), has its
setup executed and its call made twice, plainly and compiled, on equal arguments. Any other module
(as in TheAlgorithms/Python) has every function whose docstring holds examples compiled, and those examples
run. A function counts as run if every result, printed line, changed argument and exception is as in plain Python; "in
part" if that took a `Fallback`, so that one statement at least ran as plain Python.
"""

import argparse
import ast
import collections
import contextlib
import copy
import doctest
import importlib.util
import io
import math
import os
import re
import signal
import sys
import types
import warnings

import numpy as np

from wengert import Fallback, jit

WHOLE = BENCH = False
SECONDS = 20


NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


class ToRounding(doctest.OutputChecker):
    """Printed numbers agree to rounding; all else to the letter."""

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
            return False
        return all(
            math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12)
            for a, b in zip(NUMBER.findall(want), NUMBER.findall(got))
        )


class TooLong(BaseException):
    """The time for one function is over."""


@contextlib.contextmanager
def limit(seconds):
    def over(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def same(got, want):
    """Equal structure, types and values, floats to rounding."""
    if isinstance(want, tuple | list):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return type(got) is type(want) and got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    if isinstance(want, np.ndarray | np.generic | int | float | complex):
        if (
            type(got) is not type(want)
            or np.shape(got) != np.shape(want)
            or np.asarray(got).dtype != np.asarray(want).dtype
        ):
            return False
        scale = (
            float(np.max(np.abs(want[np.isfinite(want)]), initial=1))
            if isinstance(want, np.ndarray) and want.dtype.kind in "fc"
            else 1.0
        )
        real = np.asarray(want).real.dtype
        close = 1e-4 if real.kind == "f" and real.itemsize < 8 else 1e-9
        return bool(np.allclose(got, want, close, close * scale, equal_nan=True))
    return type(got) is type(want) and (got == want or repr(got) == repr(want))


def module_of(path):
    """The module of a file, without its `if __name__` part."""
    folder = os.path.dirname(path)
    sys.path[:0] = [folder]
    try:
        spec = importlib.util.spec_from_file_location("corpus_" + os.path.basename(path)[:-3], path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        with contextlib.redirect_stdout(io.StringIO()):
            spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(folder)


def comments(text, word):
    return [line[len(word) :].strip() for line in text.splitlines() if line.startswith(word)]


def stated_call(text):
    """(statements before it, the call) that the comments of a file ask for; None where they ask for none."""
    if "#run:" in text:
        return "\n".join(comments(text, "#setup:")), comments(text, "#run:")[0]
    said = (comments(text, "#bench ") if BENCH else []) or comments(text, "#runas ")
    if not said:
        return None
    *setup, last = ast.parse(said[0].strip("; ")).body
    is_call = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Name)
    return ("\n".join(map(ast.unparse, setup)), ast.unparse(last)) if is_call else None


def called(path, setup, run):
    """A file and the call that it asks for -> {function: outcome}"""
    name = ast.parse(run, mode="eval").body.func.id
    module = module_of(path)
    spaces = []
    for _ in range(2):
        space = dict(vars(module))
        exec(setup, space)
        spaces.append(space)
    with np.errstate(all="ignore"):
        want = eval(run, spaces[0])
    spaces[1][name] = compiled = jit(spaces[1][name], whole=WHOLE)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            got = eval(run, spaces[1])
    except Exception as error:
        return {name: failure(error)}
    changed = [k for k, v in spaces[0].items() if isinstance(v, np.ndarray) and not same(spaces[1].get(k), v)]
    notes = compiled.explain().splitlines()
    return {
        name: "runs" if same(got, want) and not changed else f"DIFFERS in {', '.join(changed) or 'the result'}",
        "notes": notes,
    }


def examples(path, text):
    """A module with doctests -> {function: outcome}; functions whose examples fail in plain Python are passed over."""
    module = module_of(path)
    outcomes = {}
    functions = {
        n: f for n, f in vars(module).items() if isinstance(f, types.FunctionType) and f.__module__ == module.__name__
    }
    for name, f in functions.items():
        if not f.__doc__ or ">>>" not in f.__doc__ or examined(f, vars(module)):
            continue
        told = []
        try:
            with limit(SECONDS), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", Fallback)
                bad = examined(f, {**vars(module), name: jit(f, whole=WHOLE)})
        except TooLong:
            bad = ["takes too long"]
        except Exception as error:
            bad = [failure(error)]
        cuts = [str(w.message) for w in told if issubclass(w.category, Fallback)]
        outcomes[name] = bad[0] if bad else f"in part: {' | '.join(cuts[0].splitlines()[:3])}" if cuts else "runs"
    return outcomes


def examined(f, space):
    """What goes wrong in the examples of a docstring."""
    bad = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            bad.append(f"DIFFERS: {example.source.strip()} gives {got.strip()[-200:]}")

        def report_unexpected_exception(self, out, test, example, exc_info):
            bad.append(failure(exc_info[1]))

    test = doctest.DocTestParser().get_doctest(f.__doc__, copy.copy(space), f.__name__, None, 0)
    with contextlib.redirect_stdout(io.StringIO()):
        flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
        Runner(ToRounding(), optionflags=flags).run(test, out=lambda s: None)
    return bad


def failure(error):
    return f"{type(error).__name__}: " + " | ".join(str(error).splitlines()[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", help="files or folders")
    parser.add_argument("--numpy", action="store_true", help="only files that import numpy")
    parser.add_argument("--whole", action="store_true", help="jit(whole=True): what cannot be captured raises")
    parser.add_argument("--bench", action="store_true", help="the larger calls, where a file has them")
    args = parser.parse_args()
    global WHOLE, BENCH
    WHOLE, BENCH = args.whole, args.bench
    files = []
    for path in args.paths:
        files += (
            [path]
            if path.endswith(".py")
            else sorted(os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs if f.endswith(".py"))
        )
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", Fallback)
    tally = collections.Counter()
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if args.numpy and "numpy" not in text:
            continue
        try:
            with limit(4 * SECONDS):
                asked = stated_call(text)
                outcomes = examples(path, text) if asked is None else called(path, *asked)
        except (Exception, SystemExit, TooLong) as error:  # a program that does not load, for reasons of its own
            tally["not loaded"] += 1
            print(f"{os.path.relpath(path)}: not loaded, {failure(error)}", flush=True)
            continue
        notes = outcomes.pop("notes", [])
        for name, outcome in outcomes.items():
            kind = outcome.partition(":")[0]
            differs = kind.startswith("DIFFERS")
            tally[kind if kind in ("runs", "in part") else "differs" if differs else "raises"] += 1
            if outcome != "runs":
                print(f"{os.path.relpath(path)}: {name}: {outcome}", flush=True)
        for note in notes:
            if "written out" in note or "captured as" in note:
                print(f"{os.path.relpath(path)}: {note.strip()}", flush=True)
    print(dict(tally))


if __name__ == "__main__":
    main()
