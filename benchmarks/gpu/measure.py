"""The suite and NPBench, with gradients, on a device: right or wrong, and how long, against `jax.jit` there and ours on
the CPU.

    git clone https://github.com/spcl/npbench
    python benchmarks/gpu/measure.py --npbench npbench                       # one command of ten minutes, on a card
    python benchmarks/gpu/measure.py --only lu,heat --device cpu --tiny      # the same, where there is none

Everybody takes and gives jax arrays that lie on the device ("device", "jax"), or takes ndarrays on the CPU ("cpu", in
a process that has no other device; "numpy"). ms are the smallest of some calls, each waited for. jax/device and
cpu/device are above 1 where ours on the device is the faster. Values are compared with NumPy's, gradients with those of
the CPU.

Programs come in the order in which they tell most: NPBench forward, the suite forward, then gradients. First calls,
which trace and compile, are made by several threads at once, and timed calls by one when all of a batch are ready.
After `--minutes` none is begun, and the table is of those that are done.
"""

import argparse
import concurrent.futures
import copy
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
from wengert.benchmarks import npbench, npbench_gradients, suite
from wengert.benchmarks.npbench import difference, mean, on_device
from wengert.benchmarks.timing import table

MARK = "row of one program: "
BATCH = 16  # programs that are compiled side by side
CLOSE = {"forward": 1e-9, "gradient": 1e-6}
SINGLE = 1e-3  # where anything is float32
HEAD = ["program", "what", "correct", "error", "first s", "jax first s", "device ms", "jax ms", "cpu ms", "numpy ms"]
HEAD += ["jax/device", "cpu/device", "notes"]


# -- what is measured ------------------------------------------------------------------------------


class Case:
    """One program: `function` on ndarrays, `port` in JAX or None, `args`; what: "forward" or "gradient"."""

    def __init__(self, name, what, function, port, args):
        self.name, self.what, self.function, self.port, self.args = name, what, function, port, args

    @property
    def key(self):
        return f"{self.name} {self.what}"


def from_suite(what, tiny):
    for name, (_, program) in suite.programs().items():
        if what == "gradient" and not program.over:
            continue
        yield f"suite {name}", lambda program=program: of_program(program, what, program.sizes[0 if tiny else 2])


def of_program(program, what, n):
    args = list(program.arguments(np.random.default_rng(0), n))
    name = f"suite {program.name}"
    if what == "forward":
        return Case(name, what, program.function, suite.in_jax(program.in_jax, args), args)
    cotangents = suite.drawn(program.function(*args))
    loss, count, given = suite.weighted(program.function, len(cotangents)), len(cotangents), [*args, *cotangents]
    port = suite.in_jax(jax.grad(suite.weighted(program.in_jax, count), argnums=program.over), given)
    return Case(name, what, grad(loss, argnums=program.over), port, given)


def from_npbench(checkout, what, tiny):
    for name in npbench.kernels(checkout):
        yield f"npbench {name}", lambda name=name: of_kernel(npbench.Kernel(checkout, name), name, what, tiny)


def of_kernel(kernel, name, what, tiny):
    """A kernel that writes to copies, and returns them too; None where nothing can be derived."""
    function = kernel.function("_numpy")
    args, want = npbench.prepared(kernel, "S", tiny)
    if what == "forward":
        return Case(f"npbench {name}", what, npbench.returning(function, args, want), port_of(kernel, args), args)
    where = tuple(i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    if not where:
        return None
    written, shapes = npbench_gradients.observed(function, args)
    cotangents = npbench_gradients.drawn(shapes, False)
    loss = npbench_gradients.weighted(function, cotangents, written, copies=True)
    return Case(f"npbench {name}", what, grad(loss, argnums=where), None, args)


def port_of(kernel, args):
    """The hand-written port in JAX, jitted, or None."""
    if not (kernel.folder / (kernel.info["module_name"] + "_jax.py")).exists():
        return None
    port = kernel.function("_jax")
    static = tuple(i for i, a in enumerate(args) if not isinstance(a, np.ndarray))
    return port if hasattr(port, "lower") else jax.jit(port, static_argnums=static)


def cases(options):
    """[(name, what, how to make its Case)] of what is asked for, the most telling first."""
    only, found = {n for n in options.only.split(",") if n}, []
    for what in options.what.split(","):
        if options.npbench is not None:
            found += [(name, what, make) for name, make in from_npbench(options.npbench, what, options.tiny)]
        found += [(name, what, make) for name, make in from_suite(what, options.tiny)]
    return [x for x in found if not only or x[0].split()[1] in only]


# -- one process: on the device, or on the CPU -----------------------------------------------------


def waited(run, args):
    """The results of a call, when they are there."""
    return jax.block_until_ready(run(*args))


def begun(name, what, make, role):
    """(row, {contestant: a call of it}) of a program whose first calls have been made and compared."""
    row, calls = {"name": name, "what": what, "notes": ""}, {}
    try:
        case = make()
        if case is None:
            return None, calls
        run = jit(case.function)
        args = on_device(case.args) if role == "device" else copy.deepcopy(case.args)
        start = time.perf_counter()
        got = waited(run, args)
        row["first"] = time.perf_counter() - start
        calls[role] = lambda: waited(run, args)
        row |= checked(case, got) if role == "device" else {}
        if role == "device" and case.port is not None:
            add_port(case, args, row, calls)
        elif role == "cpu" and what == "forward":
            calls["numpy"] = lambda: case.function(*copy.deepcopy(case.args))
    except Exception as problem:  # it is what is to be found
        said = " ".join(str(problem).split())[:120]
        row |= {"correct": "fails", "notes": f"{type(problem).__name__}: {said}"}
    return row, calls


def checked(case, got):
    """{"correct", "error"} against NumPy, or against the gradient on the CPU."""
    if case.what == "forward":
        with np.errstate(all="ignore"):
            want = case.function(*copy.deepcopy(case.args))
    else:
        want = jit(case.function, device="cpu")(*copy.deepcopy(case.args))
    numbers = lambda results: [np.asarray(x) for x in jax.tree_util.tree_leaves(results)]
    got, want = numbers(got), numbers(want)
    single = any(x.dtype in (np.float32, np.complex64) for x in want)
    error = difference(got, want)
    return {"correct": "yes" if error <= (SINGLE if single else CLOSE[case.what]) else "NO", "error": error}


def add_port(case, args, row, calls):
    """The port's first call; a port that cannot run is out, and the notes say so."""
    try:
        start = time.perf_counter()
        waited(case.port, args)
        row["jax first"] = time.perf_counter() - start
        calls["jax"] = lambda: waited(case.port, args)
    except Exception as problem:  # whatever it raises
        row["notes"] += f" jax: {type(problem).__name__}"


def quickest(call, seconds):
    """The smallest of some calls, three at least."""
    found, end = [], time.perf_counter() + seconds
    while len(found) < 3 or time.perf_counter() < end and len(found) < 100:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def measure_all(options):
    """Print a row of each program, batch by batch, until the time is over."""
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    end, waiting = time.monotonic() + 60 * options.minutes, cases(options)
    if options.role == "device":
        print(f"on {jax.devices()[0].device_kind}, jax {jax.__version__}", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        while waiting and time.monotonic() < end:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            for row, calls in pool.map(lambda x: begun(*x, options.role), batch):
                if row is None:
                    continue
                for who, call in calls.items():
                    row[f"{who} ms"] = 1e3 * quickest(call, options.seconds)
                print(MARK + json.dumps(row), flush=True)
    left = [f"{name} {what}" for name, what, _ in waiting]
    if left:
        print(f"no time for {len(left)}: {', '.join(left)}", file=sys.stderr, flush=True)


# -- both processes, and the table -----------------------------------------------------------------


def started(role, options):
    """A process that measures on the device, or on the CPU alone."""
    command = [sys.executable, __file__, *sys.argv[1:], "--role", role]
    environment = os.environ | ({"JAX_PLATFORMS": "cpu"} if role == "cpu" or options.device == "cpu" else {})
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def rows_of(process, told):
    """{(name, what): row} of all that a process prints."""
    found = {}
    for line in process.stdout:
        if line.startswith(MARK):
            row = json.loads(line[len(MARK) :])
            found[row["name"], row["what"]] = row
            told(row)
    process.wait()
    return found


def cells(key, there, here):
    row = here | there
    ms = [row.get(f"{who} ms", math.nan) for who in ("device", "jax", "cpu", "numpy")]
    notes = " ".join(x for x in (there.get("notes", ""), "" if here.get("notes", "") == "" else "cpu fails") if x)
    firsts = [there.get("first", math.nan), there.get("jax first", math.nan)]
    ratios = [ms[1] / ms[0], ms[2] / ms[0]]
    return [*key, there.get("correct", ""), there.get("error", math.nan), *firsts, *ms, *ratios, notes]


def report(there, here):
    body = [cells(key, row, here.get(key, {})) for key, row in there.items()]
    table(body, HEAD)
    right = sum(row.get("correct") == "yes" for row in there.values())
    print(f"\n{right} of {len(there)} right on the device")
    for what in dict.fromkeys(key[1] for key in there):
        mine = [r for r in body if r[1] == what]
        means = ", ".join(f"{t} {mean(r[HEAD.index(t)] for r in mine):.2f}" for t in ("jax/device", "cpu/device"))
        print(f"geometric means, {what}, {len(mine)} programs: {means}")
    for row in body:
        if row[2] != "yes":
            print(f"  {row[0]} {row[1]}: {row[2]} {row[3]} {row[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npbench", type=pathlib.Path, help="a checkout of https://github.com/spcl/npbench")
    parser.add_argument("--device", default="gpu", choices=["gpu", "cpu"], help="cpu: the same where there is no card")
    parser.add_argument("--only", default="", help="programs and kernels, with commas between")
    parser.add_argument("--what", default="forward,gradient")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes; else S of NPBench, and the suite's large ones")
    parser.add_argument("--minutes", type=float, default=8.0, help="after which no batch is begun")
    parser.add_argument("--seconds", type=float, default=0.1, help="of timed calls for each contestant")
    parser.add_argument("--threads", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--role", choices=["device", "cpu"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        measure_all(options)
        return
    alone = started("cpu", options)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        quiet = pool.submit(rows_of, alone, lambda row: None)
        say = lambda row: print(
            f"{row['name']} {row['what']}: {row.get('correct')} {row['notes']}", file=sys.stderr, flush=True
        )
        there = rows_of(started("device", options), say)
        report(there, quiet.result())


if __name__ == "__main__":
    main()
