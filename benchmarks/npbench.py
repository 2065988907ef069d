"""Every NumPy kernel of NPBench through bare `jit`, unmodified, on perturbed inputs: is it right, and how long does it
take.

    git clone https://github.com/spcl/npbench
    python benchmarks/npbench.py npbench                    # preset S
    python benchmarks/npbench.py npbench --size M --only adi,lu
    python benchmarks/npbench.py npbench --check-only       # tiny sizes, nothing timed

Inputs are the stock ones, floats times 1 + 0.05 U[0, 1): some of the stock data hide errors (a fixed point, a
symmetric matrix). Every argument and every result is compared with NumPy's, whatever the kernel says it writes.
The error is the largest difference over the largest magnitude. Where it is not small, NumPy runs again on inputs
moved by one unit in the last place: a kernel that amplifies that as much is called chaotic, not wrong.

Contestants take turns in one process, one process a kernel; ms are medians of the turns. NumPy, Numba and ours take and
give ndarrays, the JAX port, jitted as it is shipped, takes and gives device arrays, and so does ours in "device ms",
where what a kernel writes to is a copy that it returns: port/ours compares those two. "lax ms" is the same without
machine code of our own, where there is some. A port without jit at its entry is timed once more under `jax.jit`.
"moving" is a program that only takes the ndarrays, and the writing of what is written to them. "A/A" is NumPy against
NumPy, the noise. A note says where trips are written out, and where the program runs as NumPy. Numba takes the better
of the shipped variants, if it is installed.
"""

import argparse
import copy
import importlib.util
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time
import warnings

import jax
import numpy as np

from wengert import jit
from wengert.benchmarks.timing import settle, table

TINY = (8, 12, 20, 40)  # sizes are cut down to these, to the first that the kernel takes
NUMBA = ("numba_n", "numba_np")
# threads of one contestant wait without spinning
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
MARK = "result of one kernel: "


# -- a kernel and its data -------------------------------------------------------------------------


class Kernel:
    """One benchmark of the checkout: `arguments()` and `load(variant)`."""

    def __init__(self, checkout, name):
        self.info = kernels(checkout)[name]
        self.folder = checkout / "npbench" / "benchmarks" / self.info["relative_path"]

    def load(self, variant=""):
        """The kernel's function in one of its files; "" is the file that initialises."""
        path = self.folder / (self.info["module_name"] + variant + ".py")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def function(self, variant):
        return getattr(self.load(variant), self.info["func_name"])

    def arguments(self, size, cap=None):
        """The stock arguments at a preset, whole numbers cut to `cap`."""
        values = {k: min(v, cap) if cap and isinstance(v, int) else v for k, v in self.info["parameters"][size].items()}
        init = self.info.get("init")
        if init:
            out = getattr(self.load(), init["func_name"])(*[values[k] for k in init["input_args"]])
            values.update(zip(init["output_args"], out if isinstance(out, tuple) else (out,)))
        return [values[k] for k in self.info["input_args"]]


def kernels(checkout):
    """{name: description} of all benchmarks, named as their files are."""
    found = {
        path.stem: json.loads(path.read_text())["benchmark"]
        for path in sorted((checkout / "bench_info").glob("*.json"))
    }
    if not found:
        raise SystemExit(
            f"{checkout} is no checkout of NPBench: there is no bench_info/*.json. git clone "
            "https://github.com/spcl/npbench"
        )
    return found


def floats(args, change):
    return [change(a).astype(a.dtype) if isinstance(a, np.ndarray) and a.dtype.kind in "fc" else a for a in args]


def perturbed(args, rng):
    return floats(args, lambda a: a * (1 + 0.05 * rng.random(a.shape)))


def congruent(args, rng):
    """Square matrices scaled from both sides by one diagonal, which keeps them positive definite."""

    def change(a):
        d = 1 + 0.05 * rng.random(a.shape[0]) if a.ndim == 2 else None
        return a * np.outer(d, d) if a.ndim == 2 and a.shape[0] == a.shape[1] else a * (1 + 0.05 * rng.random(a.shape))

    return floats(args, change)


def nudged(args, rng):
    """Floats, arrays and numbers, moved by one unit in the last place, up or down."""
    args = [a * (1 + np.finfo(float).eps) if type(a) is float else a for a in args]
    return floats(args, lambda a: a * (1 + np.finfo(a.dtype).eps * rng.choice([-1, 1], a.shape)))


def prepared(kernel, size, tiny):
    """(arguments, what NumPy gives on them): the first way of perturbing that NumPy itself takes, without NaN if there
    is one."""
    run, found, error = kernel.function("_numpy"), [], None
    for cap in TINY if tiny else (None,):
        for change in (perturbed, congruent):
            try:
                args = change(kernel.arguments(size, cap), np.random.default_rng(0))
                with np.errstate(all="ignore"):
                    found.append((args, after(run, args)))
                if not any(np.isnan(x).any() for x in jax.tree_util.tree_leaves(found[-1])):
                    return found[-1]
            except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError) as problem:
                error = problem
        if found:
            return found[0]
    raise error


def after(run, args):
    """[arguments as `run` leaves them, its result]: everything it does."""
    args = copy.deepcopy(args)
    result = run(*args)
    return [args, result]


# -- right or wrong --------------------------------------------------------------------------------


def difference(got, want):
    """The worst error of any argument or result; inf where kinds, shapes or whole numbers differ."""
    (xs, tree), (ys, other) = jax.tree_util.tree_flatten(got), jax.tree_util.tree_flatten(want)
    if tree != other:
        return math.inf
    return max([apart(np.asarray(x), np.asarray(y)) for x, y in zip(xs, ys)], default=0.0)


def apart(x, y):
    if x.shape != y.shape or x.dtype != y.dtype:
        return math.inf
    if x.dtype.kind not in "fc":
        return 0.0 if np.array_equal(x, y) else float(np.mean(x != y)) + 1.0
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if same.all():
            return 0.0
        if not np.isfinite(np.where(same, 0, x - y)).all():
            return math.inf
        scale = np.abs(y[np.isfinite(y)]).max(initial=0.0)
        return float(np.abs(np.where(same, 0, x - y)).max() / (scale or 1.0))


def allowed(want):
    """1e-9 of the largest magnitude in float64; 1e-4 where anything is float32."""
    leaves = [np.asarray(x).dtype for x in jax.tree_util.tree_leaves(want)]
    return 1e-4 if any(d.name in ("float32", "complex64") for d in leaves) else 1e-9


def verdict(run, args, want, got):
    """(yes, chaotic or NO; the error) of what a call left, against what `run`, in NumPy, leaves."""
    error = difference(got, want)
    if error <= allowed(want):
        return "yes", error
    moved = difference(after(run, nudged(args, np.random.default_rng(1))), want)
    return ("chaotic" if error <= 10 * moved else "NO"), error


# -- time ------------------------------------------------------------------------------------------


def interleaved(contestants, seconds, clock=time.perf_counter):
    """{name: median seconds}: each entry is (run, arguments -> fresh ones), made ready outside the time.

    They take turns in an order drawn anew, for threads of the one before may still spin.
    """
    times, spent, turn, draw = {name: [] for name in contestants}, 0.0, 0, random.Random(0)
    while turn < 3 or spent < seconds and turn < 30:
        for name in draw.sample(list(contestants), len(contestants)):
            run, fresh = contestants[name]
            ready = fresh()
            start = clock()
            out = run(*ready)
            if name.startswith("port"):
                jax.block_until_ready(out)
            times[name].append(clock() - start)
            spent += times[name][-1]
            out = ready = None  # given back here, not in the time of the next
        turn += 1
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def moving(args, want):
    """A program that only takes the arrays, and what is written to them written: what a call with ndarrays costs beside
    its work."""
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    take = jax.jit(lambda *xs: jax.numpy.zeros(()), keep_unused=True)
    written = [(i, jax.numpy.array(want[0][i])) for i in arrays if difference(want[0][i], args[i])]

    def run(*args):
        jax.block_until_ready(take(*[args[i] for i in arrays]))
        for i, value in written:
            np.copyto(args[i], np.asarray(value))

    return run


def on_device(args):
    """Arguments with jax arrays for ndarrays, when they are there."""
    return jax.block_until_ready([jax.numpy.array(a) if isinstance(a, np.ndarray) else a for a in args])


def settled_on_device(run, args):
    """A compiled function on device arrays as a contestant, of which nothing is compiled beside its calls any more."""
    fresh, waited = lambda: on_device(args), lambda *xs: jax.block_until_ready(run(*xs))
    waited(*fresh())
    settle(run, lambda: waited(*fresh()))
    return waited, fresh


def returning(kernel, args, want):
    """The kernel for arrays that cannot be written to: it writes to copies, and returns them too."""
    written = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and difference(want[0][i], a)]

    def run(*args):
        args = [np.copy(a) if i in written else a for i, a in enumerate(args)]
        return kernel(*args), [args[i] for i in written]

    return run


def contestants(kernel, args):
    """The runners that work on these arguments, and why the others do not."""
    host = lambda: copy.deepcopy(args)
    device = lambda: on_device(args)
    found = {"numpy": (kernel.function("_numpy"), host), "again": (kernel.function("_numpy"), host)}
    if (kernel.folder / (kernel.info["module_name"] + "_jax.py")).exists():
        port = kernel.function("_jax")
        found["port"] = port, device
        if not hasattr(port, "lower"):
            static = tuple(i for i, a in enumerate(args) if not isinstance(a, np.ndarray))
            found["port jitted"] = jax.jit(port, static_argnums=static), device
    if importlib.util.find_spec("numba"):
        for variant in NUMBA:
            there = (kernel.folder / (kernel.info["module_name"] + f"_{variant}.py")).exists()
            if there and hasattr(kernel.load(f"_{variant}"), kernel.info["func_name"]):
                found[variant] = kernel.function(f"_{variant}"), host
    for name, (run, fresh) in list(found.items()):
        try:
            jax.block_until_ready(run(*fresh()))
        except Exception as error:  # whatever a contestant's code raises, it is out, and the others go on
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            del found[name]
    return found


# -- one kernel ------------------------------------------------------------------------------------


def measure(kernel, size, check_only, seconds):
    """The row of one kernel, as a dictionary."""
    args, want = prepared(kernel, size, check_only)
    run = jit(kernel.function("_numpy"))
    start = time.perf_counter()
    got = after(run, args)
    first = time.perf_counter() - start
    row = dict(zip(("correct", "error"), verdict(kernel.function("_numpy"), args, want, got)))
    if not check_only:
        settle(run, lambda: after(run, args))
    versions = [v for e in run.compiled.entries.values() for v in e.current.versions]
    traced = sum(v.trace_seconds + v.pass_seconds for v in versions)
    row |= {"first": first, "trace": traced, "compile": first - traced, "notes": notes(run)}
    if not check_only:
        everyone = contestants(kernel, args)
        everyone["ours"] = run, lambda: copy.deepcopy(args)
        everyone["moving"] = moving(args, want), lambda: copy.deepcopy(args)
        there = returning(kernel.function("_numpy"), args, want)
        everyone["device"] = settled_on_device(jit(there), args)
        if ": native" in run.explain():
            everyone["lax"] = settled_on_device(jit(there, native=False), args)
        row["times"] = interleaved(everyone, seconds)
    return row


def notes(run):
    """What explain() says of loops that were not captured as they stand, and of the engine."""
    text = run.explain()
    found = {
        "unrolled": "written out one by one",
        "peeled": "the first trip is written out",
        "paired": "two trips are captured",
    }
    found["NumPy"] = "runs         as NumPy"
    return " ".join(name for name, words in found.items() if words in text)


def child(script, checkout, name, options):
    """The row of one kernel, measured by a script in a process of its own."""
    command = [
        sys.executable,
        script,
        str(checkout),
        "--one",
        name,
        "--size",
        options.size,
        "--seconds",
        str(options.seconds),
    ]
    return printed_row(command + ["--check-only"] * options.check_only, options.timeout)


def printed_row(command, timeout):
    """The row that a process prints behind MARK, or what came of it instead."""
    told = {"capture_output": True, "text": True, "timeout": timeout, "env": os.environ | PASSIVE}
    try:
        done = subprocess.run(command, **told)
    except subprocess.TimeoutExpired:
        return {"correct": "timeout", "notes": f"over {timeout} s"}
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    last = [s for s in done.stderr.splitlines() if s.strip()][-1:] or [f"died with {done.returncode}"]
    said = next((s for s in reversed(done.stderr.splitlines()) if "Error" in s), last[0])
    return {"correct": "fails", "notes": said.strip().rpartition("errors.")[2][:80]}


# -- the table -------------------------------------------------------------------------------------


def cells(name, row):
    times = row.get("times", {})
    ours = times.get("ours", math.nan)
    port = min((times[k] for k in ("port", "port jitted") if k in times), default=math.nan)
    numba = min((times[k] for k in NUMBA if k in times), default=math.nan)
    device, lax, alone, moving, again, shipped = (times.get(k, math.nan) for k in (
        "device", "lax", "numpy", "moving", "again", "port",
    ))
    ms = [1e3 * t for t in (alone, ours, moving, device, lax, shipped, port, numba)]
    lax = device if math.isnan(lax) else lax
    against = [alone / ours, port / device, numba / ours, port / lax, again / alone]
    return [
        name,
        row["correct"],
        row.get("error", math.nan),
        row.get("trace", math.nan),
        row.get("compile", math.nan),
        *ms,
        *against,
        row["notes"],
    ]


def mean(values):
    """The geometric mean of those that are numbers."""
    logs = [math.log(v) for v in values if v == v]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


HEAD = [
    "kernel", "correct", "error", "trace s", "compile s", "numpy ms", "ours ms", "moving ms", "device ms", "lax ms",
    "port ms", "jitted ms", "numba ms", "numpy/ours", "port/ours", "numba/ours", "port/lax", "A/A", "notes",
]  # fmt: skip


def asked(about, timeout):
    """The options of a script that goes through the kernels."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, help="a checkout of https://github.com/spcl/npbench")
    parser.add_argument("--size", default="S", choices=["S", "M"])
    parser.add_argument("--only", default="", help="kernels, with commas between")
    parser.add_argument("--check-only", action="store_true", help="tiny sizes, nothing timed")
    parser.add_argument("--timeout", type=float, default=timeout, help="seconds a kernel may take in all")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of timed runs a kernel")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def gone_through(script, measure, options):
    """{name: row} of all kernels asked for, each in a process of its own; in such a process, print its row -> None."""
    if options.one:
        jax.config.update("jax_enable_x64", True)
        warnings.simplefilter("ignore")
        kernel = Kernel(options.checkout, options.one)
        print(MARK + json.dumps(measure(kernel, options.size, options.check_only, options.seconds)))
        return None
    rows = {}
    for name in [n for n in options.only.split(",") if n] or list(kernels(options.checkout)):
        rows[name] = row = child(script, options.checkout, name, options)
        print(f"{name}: {row['correct']} {row.get('random', '')} {row['notes']}", file=sys.stderr, flush=True)
    return rows


def main():
    rows = gone_through(__file__, measure, asked(__doc__, 120.0))
    if rows is None:
        return
    body = [cells(name, row) for name, row in rows.items()]
    table(body, HEAD)
    right = sum(row["correct"] in ("yes", "chaotic") for row in rows.values())
    means = ", ".join(
        f"{title} {mean(r[HEAD.index(title)] for r in body):.2f}"
        for title in ("numpy/ours", "port/ours", "numba/ours", "port/lax")
    )
    print(f"\n{right} of {len(rows)} right; geometric means: {means}")


if __name__ == "__main__":
    main()
