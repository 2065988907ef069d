"""Every op, the suite and NPBench, with gradients, compiled for graphics cards that need not be here: what compiles,
and what it launches.

    pip install jax==X jax-cuda12-plugin==X jax-cuda12-pjrt==X        # of one version; see target.py
    git clone https://github.com/spcl/npbench
    python benchmarks/gpu/compile.py --npbench npbench                # about ten minutes on one core
    python benchmarks/gpu/compile.py --groups ops --cards sm_90       # or --only lu,jacobi_2d --sizes S

A row is a program and a card: kernels; launches, submissions by the host (CUDA graphs taken together) and waits of the
host for the device, in one call; calls of Python; calls of libraries; operations on float64, those in programs that
are neither given nor give float64 ("stray"); temporary memory. `launches.py` says how they are counted. Nothing is run,
so no time and no value is checked.

Programs are compiled in a process of their own, which is begun again behind the one over which it died.
"""

import argparse
import collections
import csv
import faulthandler
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import jax

from wengert.benchmarks.gpu import subjects
from wengert.benchmarks.gpu.target import CARDS, NoCompiler, described
from wengert.benchmarks.timing import table

MARK, BEGUN = "row of one program: ", "begun: "
HEAD = ["program", "size", "what", "card", "kernels", "launches", "submits", "waits", "calls", "f64", "stray", "kB"]
HEAD += ["libraries"]
LISTS = {"most launches": "launches", "most waits of the host": "waits", "most memory": "temporary"}
WORST = 10  # rows of a list of the worst


def options_of(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npbench", type=pathlib.Path, help="a checkout of https://github.com/spcl/npbench")
    parser.add_argument("--groups", default="ops,suite,npbench", help="of these, with commas between")
    parser.add_argument("--only", default="", help="names of ops, programs and kernels, with commas between")
    parser.add_argument("--sizes", default="tiny,S", help="of programs and kernels")
    parser.add_argument("--cards", default=",".join(CARDS), help=f"of {', '.join(CARDS)}")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a program may take, cards together")
    parser.add_argument("--csv", help="a file for all rows")
    parser.add_argument("--from", dest="start", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


# -- in a process of its own -----------------------------------------------------------------------


def compile_all(options):
    """Print a row of each program from the number `options.start` on."""
    jax.config.update("jax_platforms", "cpu")
    devices = {card: described(card) for card in options.cards.split(",")}
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    for number, subject in list(enumerate(subjects.chosen(options)))[options.start :]:
        print(f"{BEGUN}{number}", flush=True)
        faulthandler.dump_traceback_later(options.timeout, exit=True, file=open(os.devnull, "w"))
        rows = subjects.row_of(subject, devices)
        faulthandler.cancel_dump_traceback_later()
        print(MARK + json.dumps(rows), flush=True)


def gathered(options, told=lambda subject, rows: None):
    """[(subject, {card: row})] of all programs; `told` is called with each as it comes."""
    wanted, found = subjects.chosen(options), []
    while len(found) < len(wanted):
        command = [sys.executable, __file__, *sys.argv[1:], "--from", str(len(found))]
        start, before = time.perf_counter(), len(found)
        with (
            tempfile.TemporaryFile("w+") as complaints,  # a pipe that nobody reads meanwhile would stop it
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
        ):
            begun = None
            for line in process.stdout:
                if line.startswith(BEGUN):
                    begun, start = int(line[len(BEGUN) :]), time.perf_counter()
                elif line.startswith(MARK):
                    found.append((wanted[len(found)], json.loads(line[len(MARK) :])))
                    told(*found[-1])
            process.wait()
            complaints.seek(0)
            said = complaints.read().strip().splitlines()
        if begun is None and len(found) == before:
            raise SystemExit("\n".join(said[-3:]))
        if len(found) < len(wanted):
            late = time.perf_counter() - start >= options.timeout
            why = f"over {options.timeout:g} s" if late else f"the compiler died with {process.returncode}"
            found.append((wanted[len(found)], {card: {"error": why} for card in options.cards.split(",")}))
            told(*found[-1])
    return found


# -- the report ------------------------------------------------------------------------------------


def cells(subject, card, row):
    named = [f"{subject.group} {subject.name}", subject.size, subject.what, card]
    if "error" in row:
        return [*named, *[""] * 8, row["error"]]
    numbers = [row[k] for k in ("kernels", "launches", "submissions", "waits", "callbacks", "doubles", "stray")]
    libraries = " ".join(f"{n} x {name}" for name, n in row["libraries"].items())
    marks = f"{row['unknown']} loops of unknown trips; " if row["unknown"] else ""
    return [*named, *map(str, numbers), f"{row['temporary'] / 1e3:.0f}", marks + libraries]


def by_group(rows):
    """Rows of sums: of each group, way and size, and card."""
    sums = collections.defaultdict(collections.Counter)
    for subject, card, row in rows:
        size = "" if subject.group == "ops" else subject.size
        here = sums[subject.group, size, subject.what, card]
        here["programs"] += 1
        here["compile"] += "error" not in row
        for key in ("kernels", "launches", "submissions", "waits", "callbacks", "stray"):
            here[key] += row.get(key, 0)
        here["libraries"] += sum(row.get("libraries", {}).values())
        here["temporary"] = max(here["temporary"], row.get("temporary", 0))
    head = ["group", "size", "what", "card", "programs", "compile", "kernels", "launches", "submits", "waits", "calls"]
    head += ["libraries", "stray", "most kB"]
    keys = ("programs", "compile", "kernels", "launches", "submissions", "waits", "callbacks", "libraries", "stray")
    return head, [[*key, *(str(s[k]) for k in keys), f"{s['temporary'] / 1e3:.0f}"] for key, s in sums.items()]


def report(found, options):
    rows = [(s, card, row) for s, cards in found for card, row in cards.items()]
    programs = [x for x in rows if x[0].group != "ops"]
    table([cells(*x) for x in programs], HEAD)
    right = [x for x in programs if "error" not in x[2]]
    for title, key in LISTS.items():
        worst = sorted((x for x in right if x[2][key]), key=lambda x: -x[2][key])[:WORST]
        print(f"\n{title}")
        table([cells(*x) for x in worst], HEAD)
    doubtful = [x for x in rows if "error" not in x[2] and (x[2]["callbacks"] or x[2]["stray"])]
    print(f"\n{len(doubtful)} call Python, or compute in float64 what was given as less")
    table([cells(*x) for x in doubtful], HEAD)
    unseen = [x for x in rows if x[2].get("unseen")]
    print(f"\n{len(unseen)} are lowered only where there is a card")
    for subject, card, row in unseen:
        print(f"  {subject.key} {card}: {row['unseen']}")
    failing = [x for x in rows if "error" in x[2] and not x[2].get("unseen")]
    print(f"\n{len(failing)} of {len(rows)} do not compile")
    for subject, card, row in failing:
        print(f"  {subject.key} {card}: {row['error']}")
    print()
    head, sums = by_group(rows)
    table(sums, head)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file).writerows([HEAD, *(cells(*x) for x in rows)])


def main():
    options = options_of()
    if options.start is not None:
        compile_all(options)
        return

    def told(subject, rows):
        for card, row in rows.items():
            print("  ".join(cells(subject, card, row)), file=sys.stderr, flush=True)

    try:
        report(gathered(options, told), options)
    except NoCompiler as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
