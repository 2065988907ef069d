"""Programs that nothing here was tuned for, drawn from public repositories: is each right, and where are we behind.

    git clone https://github.com/serge-sans-paille/pythran
    git clone https://github.com/serge-sans-paille/numpy-benchmarks
    python benchmarks/fresh.py pythran/pythran/tests numpy-benchmarks            # 60 programs, drawn by --seed 0
    python benchmarks/fresh.py pythran/pythran/tests --only laplace,harris --check-only

A program is a file that says in its comments how it is to be called (`correctness/corpus.py`: `#setup:` and `#run:`,
`#runas`, `#bench`). The call is made as it is said, and with the whole numbers of its arguments (those from 8 on) a
quarter and four times as large, as long as plain Python takes such a call and is done within --slowest seconds. The
smallest that takes so long that it can be timed at all is the first.

Everyone takes turns in one process, one process a call; ms are medians of the turns. "numpy" is the file as it stands,
ours the same function through bare `jit`, "numba" through `numba.njit` where that compiles it and gives the same;
"jax" is `jax.jit` of the file with jax.numpy for NumPy, given jax arrays, where that runs and gives the same, and
"device" is ours on jax arrays. "cpu" is the time that all cores take for a call of ours by the time that plain Python
takes for it. Ratios are of the other's time by ours: above 1, ours is faster. "A/A" is plain Python against itself.
"first" is our first call by numba's, or by that of jax.jit. What is wrong comes first, then the losses, worst first.
"""

import argparse
import ast
import copy
import importlib.util
import json
import pathlib
import random
import sys
import time
import types
import warnings

import jax
import numpy as np

from wengert import jit
from wengert.benchmarks.correctness.corpus import TooLong, limit, module_of, stated_call
from wengert.benchmarks.npbench import (
    MARK,
    after,
    difference,
    interleaved,
    mean,
    notes,
    on_device,
    printed_row,
    verdict,
)
from wengert.benchmarks.timing import settle, table

SCALES = (0.25, 1.0, 4.0)
LEAST = 8  # whole numbers from here on are taken for sizes
PATIENCE = 30  # seconds that a peer has to be made
COLUMNS = ("numpy", "numba", "jax")


def programs(checkouts):
    """{name: path} of the files that say how they are to be called."""
    found = {}
    for path in sorted(p for checkout in checkouts for p in pathlib.Path(checkout).rglob("*.py")):
        try:
            asked = stated_call(path.read_text())
        except (SyntaxError, UnicodeDecodeError, IndexError):
            continue
        if asked is not None:
            name = path.stem if path.stem not in found else f"{path.parent.name}/{path.stem}"
            found[name] = path
    return found


class Scaled(ast.NodeTransformer):
    """Whole numbers of a text, the larger ones times a number."""

    def __init__(self, scale):
        self.scale = scale

    def visit_Constant(self, node):
        if type(node.value) is int and node.value >= LEAST:
            return ast.copy_location(ast.Constant(max(round(node.value * self.scale), 2)), node)
        return node


class Called:
    """The call that a file asks for: `function`, and fresh `arguments()`."""

    def __init__(self, path, scale):
        setup, run = (Scaled(scale).visit(ast.parse(text)) for text in stated_call(path.read_text()))
        self.setup, self.module = compile(setup, path, "exec"), module_of(str(path))
        (statement,) = run.body
        self.parts = [compile(ast.Expression(x), path, "eval") for x in statement.value.args]
        self.named = {k.arg: compile(ast.Expression(k.value), path, "eval") for k in statement.value.keywords}
        self.name = statement.value.func.id
        self.function = getattr(self.module, self.name)

    def arguments(self):
        if self.named:
            raise ValueError("the call has arguments by name")
        space = dict(vars(self.module))
        exec(self.setup, space)
        return [eval(part, space) for part in self.parts]

    def for_jax(self):
        """The function with jax.numpy for NumPy, in all that its module defines."""
        space = types.ModuleType(self.module.__name__)
        for name, x in vars(self.module).items():
            other = jax.numpy if x is np else getattr(jax.numpy, name, x) if getattr(np, name, None) is x else x
            space.__dict__[name] = other
        for name, x in list(vars(space).items()):
            if type(x) is types.FunctionType and x.__globals__ is vars(self.module):
                moved = types.FunctionType(x.__code__, vars(space), name, x.__defaults__, x.__closure__)
                space.__dict__[name] = moved
        return getattr(space, self.name)


# -- everyone --------------------------------------------------------------------------------------


def timed(run):
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def numba_form(called, args, want):
    """(the function through Numba, the seconds of its first call); None where it is not compiled, or gives others."""
    if not importlib.util.find_spec("numba"):
        return None
    from numba import njit

    run = njit(called.function)
    got, first = timed(lambda: after(run, args))
    return (run, first) if difference(got, want) <= 1e-6 else None


def jax_form(called, args, want):
    """The same through `jax.jit` and jax.numpy; whole numbers are static where they must be."""
    whole = tuple(k for k, x in enumerate(args) if type(x) in (int, bool))
    for static in ((), whole):
        run = jax.jit(called.for_jax(), static_argnums=static)
        try:
            got, first = timed(lambda run=run: jax.block_until_ready(run(*on_device(args))))
        except Exception:  # whatever jax makes of a program that was not written for it
            if static == whole:
                return None
            continue
        return (run, first) if close(got, want[1]) else None


def close(got, want):
    """Whether results of jax are those of NumPy, whatever their kinds."""
    xs, ys = (jax.tree_util.tree_leaves(z) for z in (got, want))
    same = lambda x, y: np.shape(x) == np.shape(y) and np.allclose(x, y, 1e-6, 1e-9, equal_nan=True)
    return len(xs) == len(ys) and all(map(same, xs, ys))


def measure(path, scale, options):
    """The row of one call, as a dictionary."""
    called = Called(path, scale)
    args = called.arguments()
    with limit(int(options.slowest) + 1), np.errstate(all="ignore"):
        want, plain = timed(lambda: after(called.function, args))
    if plain > options.slowest:
        return {"correct": "slow"}
    run = jit(called.function)
    got, first = timed(lambda: after(run, args))
    row = dict(zip(("correct", "error"), verdict(called.function, args, want, got), strict=True))
    row |= {"plain": plain, "first": first, "notes": notes(run)}
    if options.check_only or row["correct"] == "NO":
        return row
    with np.errstate(all="ignore"):
        settle(run, lambda: after(run, args))
    host, device = lambda: copy.deepcopy(args), lambda: on_device(args)
    everyone = {"numpy": (called.function, host), "again": (called.function, host), "ours": (run, host)}
    for name, find in (("numba", numba_form), ("jax", jax_form)):
        try:
            with limit(PATIENCE):
                found = find(called, args, want)
        except (Exception, TooLong) as error:  # it is out, and the others go on
            row[f"no {name}"] = f"{type(error).__name__}: {str(error)[:80]}"
            continue
        if found is not None:
            everyone[name] = found[0], host if name == "numba" else device
            row[f"{name} first"] = found[1]
    if "jax" in everyone:
        waited = lambda f: lambda *xs: jax.block_until_ready(f(*xs))
        everyone["jax"] = waited(everyone["jax"][0]), device
        try:
            on_device_run = jit(called.function)
            ours = waited(on_device_run)
            settle(on_device_run, lambda: ours(*device()))
            everyone["device"] = ours, device
        except Exception as error:  # it writes to arrays that cannot be written to
            row["no device"] = f"{type(error).__name__}: {str(error)[:80]}"
    with np.errstate(all="ignore"):
        row["times"] = interleaved(everyone, options.seconds)
        pair = {name: everyone[name] for name in ("numpy", "ours")}
        row["cpu"] = interleaved(pair, options.seconds / 4, clock=time.process_time)
    return row


def child(path, scale, options):
    """The row of a call, measured in a process of its own."""
    command = [sys.executable, __file__, "--one", str(path), "--scale", str(scale), "--seconds", str(options.seconds)]
    command += ["--slowest", str(options.slowest), *["--check-only"] * options.check_only]
    return printed_row(command, options.timeout)


# -- the table -------------------------------------------------------------------------------------


def ratios(row):
    """{who: the time of the other by ours}"""
    times = row.get("times")
    if not times:
        return {}
    found = {who: times[who] / times["ours"] for who in ("numpy", "numba") if who in times}
    if "device" in times:
        found["jax"] = times["jax"] / times["device"]
    return found


def shown(name, scale, row):
    found, times = ratios(row), row.get("times", {})
    firsts = [row["first"] / row[f"{who} first"] for who in ("numba", "jax") if f"{who} first" in row]
    cells = [name, f"{scale:g}", row["correct"], 1e3 * times.get("numpy", row.get("plain", float("nan")))]
    cells += [found.get(who, "-") for who in COLUMNS]
    cells.append(row["cpu"]["ours"] / max(row["cpu"]["numpy"], 1e-9) if "cpu" in row else "-")
    cells.append(times["again"] / times["numpy"] if times else "-")
    return [*cells, "/".join(f"{x:.2g}" for x in firsts) or "-", row.get("notes", "")]


RATIOS = [f"{who}/ours" for who in COLUMNS]
HEADER = ["program", "scale", "correct", "numpy ms", *RATIOS, "cpu", "A/A", "first", "notes"]


def report(rows):
    """Print what is wrong, the losses, and all, with the means."""
    wrong = [key for key, row in rows.items() if row["correct"] == "NO"]
    print(f"wrong: {', '.join(f'{name} at {scale:g}' for name, scale in wrong) or 'none'}")
    lost = sorted((x, who, key) for key, row in rows.items() for who, x in ratios(row).items() if x < 1)
    for x, who, (name, scale) in lost:
        print(f"  {x:.2f} of {who}: {name} at {scale:g}")
    table([shown(*key, row) for key, row in rows.items()], HEADER)
    right = [row for row in rows.values() if row["correct"] in ("yes", "chaotic")]
    means = {who: [r[who] for r in map(ratios, right) if who in r] for who in COLUMNS}
    text = ", ".join(f"{who}/ours {mean(found):.2f} of {len(found)}" for who, found in means.items() if found)
    print(f"{len(right)} of {len(rows)} calls right; geometric means: {text or '-'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--scales", default=",".join(map(str, SCALES)))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--slowest", type=float, default=2.0)
    parser.add_argument("--timeout", type=float, default=180.0)
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--one", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--scale", type=float, default=1.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        warnings.simplefilter("ignore")
        with jax.enable_x64(True):
            print(MARK + json.dumps(measure(options.one, options.scale, options)))
        return
    found = programs(options.checkouts)
    names = options.only.split(",") if options.only else sorted(found)
    if unknown := [name for name in names if name not in found]:
        parser.error(f"there is no {', '.join(unknown)}, but {', '.join(sorted(found)) or 'no program'}")
    if not options.only:
        names = sorted(random.Random(options.seed).sample(names, min(options.count, len(names))))
    rows = {}
    for name in names:
        for scale in map(float, options.scales.split(",")):
            row = child(found[name], scale, options)
            print(f"{name} at {scale:g}: {row['correct']} {row.get('notes', '')}", file=sys.stderr, flush=True)
            if row["correct"] not in ("fails", "slow"):
                rows[name, scale] = row
    report(rows)


if __name__ == "__main__":
    main()
