"""Programs of seven families in plain NumPy, as they stand, against everyone who can run them: is it right, and how
long does it take.

    python benchmarks/suite.py                              # all programs and gradients at two sizes
    python benchmarks/suite.py --family tiny --sizes small  # or --only heat,lstm
    python benchmarks/suite.py --check-only                 # tiny sizes, nothing timed
    python benchmarks/suite.py --csv suite.csv --svg suite.svg --npbench npbench

Values are compared with NumPy's, on ndarrays and on jax arrays; gradients of all results under random cotangents with
central differences of the NumPy program along random directions. A peer whose numbers are others is left out, and the
notes say so.

All take turns in one process, one process a program; ms are medians of the turns. NumPy, ours ("ours"), Numba and
torch.compile take and give ndarrays; "moving" is a program that only takes them. jax.jit of the program, or of what a
JAX user would write for it, takes and gives jax arrays, and so does ours in "device". numpy/ours, numba/ours and
torch/ours compare ndarrays, jax/ours compares jax arrays; above 1, ours is faster. "A/A" are NumPy against itself and
jax.jit against itself. First calls trace and compile, ours on ndarrays. MB are the temporary buffers of the programs
that XLA compiled. Losses, all ratios below 1, are printed by name.
"""

import argparse
import csv
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import time
import warnings

import jax
import numpy as np

from wengert import grad, jit
from wengert.backends import native
from wengert.benchmarks import npbench
from wengert.benchmarks.figure import figure
from wengert.benchmarks.npbench import MARK, PASSIVE, after, difference, mean, moving, notes, on_device, verdict
from wengert.benchmarks.npbench_gradients import compared, temporary
from wengert.benchmarks.programs import rebuilt
from wengert.benchmarks.timing import interleave, settle, table

FAMILIES = ("dense", "stencils", "recurrences", "particles", "nets", "gathering", "tiny")
PEERS = ("numpy", "jax", "numba", "torch")


def programs(families=FAMILIES):
    """{name: (family, program)}"""
    found = {}
    for family in families:
        for program in importlib.import_module(f"wengert.benchmarks.programs.{family}").PROGRAMS:
            assert program.name not in found, program.name
            found[program.name] = family, program
    return found


# -- the loss --------------------------------------------------------------------------------------


def floats(result):
    """The results that have a derivative."""
    return [
        x
        for x in (result if isinstance(result, tuple) else (result,))
        if getattr(x, "dtype", np.dtype(type(x))).kind == "f"
    ]


def weighted(function, count):
    """A program's results against as many cotangents, which come last: a number."""

    def loss(*args):
        total = 0.0
        for x, c in zip(floats(function(*args[:-count])), args[-count:]):
            total = total + (x * c).sum()
        return total

    return loss


def drawn(result):
    rng = np.random.default_rng(7)
    return [np.asarray(rng.normal(size=np.shape(x))) for x in floats(result)]


# -- the peers -------------------------------------------------------------------------------------


def in_jax(function, args):
    return jax.jit(function, static_argnums=tuple(i for i, a in enumerate(args) if isinstance(a, int)))


def installed(name):
    """A module, or None. It may be there and not load."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


def compiled_by(program, peers):
    """{peer: the program as that compiles it}, of those that are asked for and installed, and may be able to."""
    found = {}
    if "numba" in peers and program.numba and (numba := installed("numba")):
        found["numba"] = rebuilt(program.function, numba.njit)
    if "torch" in peers and program.port is None and (torch := installed("torch")):  # torch.compile writes loops out
        found["torch"] = torch.compile(program.function)
    return found


def first(run, args):
    """(what a call gives, its seconds)"""
    start = time.perf_counter()
    return jax.block_until_ready(run(*args)), time.perf_counter() - start


def worst(verdicts):
    return min(verdicts, key=("NO", "NaN", "chaotic", "yes").index)


def near(got, want):
    """Whether a peer computes the same, in whatever dtype and container it gives it."""
    got, want = (x if isinstance(x, tuple | list) else (x,) for x in (got, want))
    return (
        difference([np.asarray(x).astype(np.asarray(y).dtype) for x, y in zip(got, want, strict=True)], list(want))
        < 1e-6
    )


# -- one program -----------------------------------------------------------------------------------


def forward(program, args, timed, seconds, peers):
    """A row: the program itself, right or wrong, and if `timed`, how long it takes and how much memory."""
    function = program.function
    run, want = jit(function), after(function, args)
    start = time.perf_counter()
    got = after(run, args)
    row = {"what": "forward", "first": time.perf_counter() - start}
    there = on_device(args)
    if timed:
        settle(run, lambda: run(*args))
        settle(run, lambda: jax.block_until_ready(run(*there)))
    found = [verdict(function, args, want, g) for g in (got, [args, run(*there)])]
    row |= {"correct": worst(said for said, _ in found), "error": max(error for _, error in found), "notes": notes(run)}
    take = moving(args, want)
    everyone = {
        "numpy": lambda: function(*args),
        "numpy again": lambda: function(*args),
        "ours": lambda: run(*args),
        "moving": lambda: take(*args),
    }
    everyone["device"] = lambda: jax.block_until_ready(run(*there))
    port = in_jax(program.in_jax, args)
    result, row["jax first"] = first(port, there)
    if near(result, want[1]):
        everyone |= {name: lambda: jax.block_until_ready(port(*there)) for name in ("jax", "jax again")}
    else:
        row["notes"] += " jax: other numbers"
    if not timed:
        return row
    for name, peer in compiled_by(program, peers).items():
        try:
            result, row[f"{name} first"] = first(peer, args)
            if near(result, want[1]):
                everyone[name] = lambda peer=peer: peer(*args)
            else:
                row["notes"] += f" {name}: other numbers"
        except Exception as problem:  # whatever a peer raises, it is out, and the others go on
            row["notes"] += f" {name}: {type(problem).__name__}"
    row |= {"MB": temporary(run.ir(*args)), "jax MB": memory(port, there)}
    row["times"] = interleave(everyone, seconds, least=3)
    return row


def backward(program, args, timed, seconds, peers):
    """A row: the gradient of the program; of the peers, only JAX has one."""
    cotangents = drawn(program.function(*args))
    given, loss = [*args, *cotangents], weighted(program.function, len(cotangents))
    run = jit(grad(loss, argnums=program.over))
    gradient, spent = first(run, given)
    correct, error = compared(loss, given, program.over, gradient, 1 if timed else 3)
    there = on_device(given)
    if timed:
        settle(run, lambda: run(*given))
        settle(run, lambda: jax.block_until_ready(run(*there)))
    if not near(run(*there), gradient):
        correct = "NO"
    row = {"what": "gradient", "first": spent, "correct": correct, "error": error, "notes": notes(run)}
    everyone = {"ours": lambda: run(*given), "device": lambda: jax.block_until_ready(run(*there))}
    port = in_jax(jax.grad(weighted(program.in_jax, len(cotangents)), argnums=program.over), given)
    try:
        result, row["jax first"] = first(port, there)
    except ValueError:
        row["notes"] += " jax: no derivative"
    else:
        if near(result, gradient) or compared(loss, given, program.over, result)[0] in ("yes", "chaotic"):
            everyone |= {name: lambda: jax.block_until_ready(port(*there)) for name in ("jax", "jax again")}
        else:
            row["notes"] += " jax: other numbers"
    if not timed:
        return row
    row["MB"] = temporary(run.ir(*given))
    if "jax" in everyone:
        row["jax MB"] = memory(port, there)
    row["times"] = interleave(everyone, seconds, least=3)
    return row


def memory(run, args):
    return run.lower(*args).compile().memory_analysis().temp_size_in_bytes / 1e6


def measured(family, program, sizes, gradient=True, timed=False, seconds=0.1, peers=()):
    """The rows of one program; what fails is a row that says so."""
    rows = []
    for n in dict.fromkeys(sizes):
        args = list(program.arguments(np.random.default_rng(0), n))
        for part in (forward, backward)[: 1 + bool(gradient and program.over)]:
            named = {"family": family, "program": program.name, "size": n, "large": n == program.sizes[2]}
            try:
                rows.append(named | part(program, args, timed, seconds, peers))
            except Exception as problem:  # it is what is to be found
                said = str(problem).strip().splitlines() or [""]
                rows.append(
                    named
                    | {"what": part.__name__, "correct": "fails", "notes": f"{type(problem).__name__}: {said[0][:100]}"}
                )
    return rows


def checked(family, program):
    """The rows of one program at its tiny size, nothing timed."""
    return measured(family, program, program.sizes[:1])


# -- all of them -----------------------------------------------------------------------------------


def chosen(options):
    """({name: (family, program)}, names of NPBench's kernels) of what is asked for."""
    found = programs((options.family,) if options.family else FAMILIES)
    others = list(npbench.kernels(options.npbench)) if options.npbench else []
    names = options.only.split(",") if options.only else [*found, *others]
    if unknown := sorted(set(names) - {*found, *others}):
        raise SystemExit(f"no such program: {', '.join(unknown)}")
    return {name: found[name] for name in found if name in names}, [name for name in others if name in names]


def here(family, program, options):
    """The rows of one program, in this process."""
    sizes = (
        program.sizes[:1]
        if options.check_only
        else program.sizes[1:2]
        if options.sizes == "small"
        else program.sizes[1:]
    )
    with native.asked(None if options.without_native else native.LEAST):
        return measured(
            family,
            program,
            sizes,
            not options.no_gradient,
            not options.check_only,
            options.seconds,
            options.peers.split(","),
        )


def apart(family, program, options):
    """The rows of one program, in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--one", program.name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.timeout, env=os.environ | PASSIVE
        )
    except subprocess.TimeoutExpired:
        return [
            {
                "family": family,
                "program": program.name,
                "what": "forward",
                "correct": "timeout",
                "notes": f"over {options.timeout} s",
            }
        ]
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    said = (done.stderr.strip().splitlines() or [f"died with {done.returncode}"])[-1]
    return [{"family": family, "program": program.name, "what": "forward", "correct": "fails", "notes": said[:100]}]


def kernels(names, options):
    """Rows of NPBench's kernels, which npbench.py measures."""
    given = {
        "one": None,
        "checkout": options.npbench,
        "only": ",".join(names),
        "size": "S",
        "check_only": options.check_only,
    }
    rows = []
    for name, row in npbench.gone_through(
        npbench.__file__, npbench.measure, argparse.Namespace(**given, seconds=2.0, timeout=120.0)
    ).items():
        times = row.get("times", {})
        if times:
            times = {k: times[k] for k in ("numpy", "ours", "moving") if k in times} | {"numpy again": times["again"]}
            for peer, forms in (("jax", ("port", "port jitted")), ("numba", npbench.NUMBA)):
                times |= (
                    {peer: min(row["times"][k] for k in forms if k in row["times"])}
                    if set(forms) & set(row["times"])
                    else {}
                )
        rows.append(
            {"family": "npbench", "program": name, "size": "S", "large": True, "what": "forward"}
            | row
            | {"times": times}
        )
    return rows


# -- the report ------------------------------------------------------------------------------------

COLUMNS = ("numpy", "ours", "moving", "numba", "torch", "device", "jax")
HEAD = ["program", "size", "what", "correct", "error", "first s", "jax first s"] + [f"{c} ms" for c in COLUMNS]
HEAD += [f"{p}/ours" for p in PEERS] + ["A/A numpy", "A/A jax", "MB", "jax MB", "notes"]


def ratio(row, peer):
    """A peer's time over ours, both with the arrays that the peer takes; NaN where one is missing."""
    times = row.get("times") or {}
    ours = times.get("device", times.get("ours")) if peer == "jax" else times.get("ours")
    return times[peer] / ours if peer in times and ours else math.nan


def cells(row):
    times = row.get("times") or {}
    again = [times[f"{k} again"] / times[k] if f"{k} again" in times else math.nan for k in ("numpy", "jax")]
    numbers = [row.get(k, math.nan) for k in ("error", "first", "jax first")] + [
        1e3 * times.get(k, math.nan) for k in COLUMNS
    ]
    numbers += [ratio(row, peer) for peer in PEERS] + again + [row.get("MB", math.nan), row.get("jax MB", math.nan)]
    return [row["program"], str(row.get("size", "")), row["what"], row["correct"], *numbers, row["notes"]]


def means(rows):
    """Rows of geometric means: of each family and of all, forward and gradient."""
    found = []
    for family in [*dict.fromkeys(row["family"] for row in rows), "all"]:
        for what in ("forward", "gradient"):
            these = [
                row for row in rows if family in ("all", row["family"]) and row["what"] == what and row.get("times")
            ]
            if these:
                found.append(
                    [family, what, str(len(these)), *(mean(ratio(row, peer) for row in these) for peer in PEERS)]
                )
    return found


def losses(rows):
    """Rows of all that a peer does faster, the worst first."""
    found = []
    for row in rows:
        for peer in PEERS:
            r = ratio(row, peer)
            if r < 1.0:
                ours = row["times"].get("device", row["times"]["ours"]) if peer == "jax" else row["times"]["ours"]
                found.append(
                    [row["program"], str(row["size"]), row["what"], peer, r, 1e3 * ours, 1e3 * row["times"][peer]]
                )
    return sorted(found, key=lambda row: row[4])


def printed(rows, head):
    """A table without the columns in which no row has a number."""
    kept = [i for i in range(len(head)) if any(isinstance(row[i], str) or row[i] == row[i] for row in rows)]
    table([[row[i] for i in kept] for row in rows], [head[i] for i in kept])


def report(rows, options):
    printed([cells(row) for row in rows], HEAD)
    right = sum(row["correct"] in ("yes", "chaotic") for row in rows)
    print(f"\n{right} of {len(rows)} right")
    for row in rows:
        if row["correct"] not in ("yes", "chaotic"):
            print(
                f"  {row['program']} {row.get('size', '')} {row['what']}: {row['correct']} {row.get('error', '')} "
                f"{row['notes']}"
            )
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file).writerows([["family", *HEAD], *([row["family"], *cells(row)] for row in rows)])
    if any(row.get("times") for row in rows):
        print("\ngeometric means, above 1 where ours is faster")
        printed(means(rows), ["family", "what", "rows", *(f"{p}/ours" for p in PEERS)])
        lost = losses(rows)
        print(f"\n{len(lost)} losses")
        printed(lost, ["program", "size", "what", "to", "ratio", "ours ms", "theirs ms"])
        if options.svg:
            pathlib.Path(options.svg).write_text(
                figure([row | {"ratios": {p: ratio(row, p) for p in PEERS}} for row in rows])
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--only", default="", help="programs, and kernels of NPBench, with commas between")
    parser.add_argument("--sizes", default="all", choices=["small", "all"])
    parser.add_argument("--no-gradient", action="store_true")
    parser.add_argument("--check-only", action="store_true", help="tiny sizes, nothing timed")
    parser.add_argument(
        "--without-native", action="store_true", help="no loop as machine code, whether llvmlite is installed or not"
    )
    parser.add_argument(
        "--peers",
        default="numba,torch",
        help="beside NumPy and JAX, where installed; torch compiles for a quarter of a minute each",
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="of timed runs for each contestant")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds a program may take in all")
    parser.add_argument("--csv", help="a file for the table")
    parser.add_argument("--svg", help="a file for a figure of the ratios")
    parser.add_argument(
        "--npbench",
        type=pathlib.Path,
        help="a checkout of https://github.com/spcl/npbench, whose kernels are to follow",
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    if options.one:
        print(MARK + json.dumps(here(*programs()[options.one], options)))
        return
    rows, (mine, others) = [], chosen(options)
    for family, program in mine.values():
        start = time.perf_counter()
        found = (here if options.check_only else apart)(family, program, options)
        said = ", ".join(
            f"{row['what']} {row.get('size', '')} {row['correct']} {row['notes']}".strip() for row in found
        )
        print(f"{family} {program.name}: {said} ({time.perf_counter() - start:.1f} s)", file=sys.stderr, flush=True)
        rows += found
    report(rows + (kernels(others, options) if others else []), options)


if __name__ == "__main__":
    main()
