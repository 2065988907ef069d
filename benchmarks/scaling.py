"""Weak and strong scaling of a training step and of a stencil, on one process, two processes and eight devices of one.

    python benchmarks/scaling.py [--seconds 1]

Each process is kept to one processor (two share one where there is one alone); the eight devices of one process share
all there are, which shows what their partition costs, not what it gains. Weak: as much on each device; strong: as much
in all. Efficiency: the work done a second and processor, over that of two devices that share one processor, by the time
that passed and by the time that processors worked, which other work on the machine changes less. Times are the least of
several turns; the load is printed. One device alone runs another program: stores of rows are other operations there.

The second table is of the collectives alone, between two processes over gloo: from them latency and bandwidth of the
model in `collectives.py` are taken, and with those it says what the steps of two processes should take.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from wengert import jit, value_and_grad
from wengert.benchmarks import collectives
from wengert.benchmarks.timing import table

BASE = "2 devices of one processor"
# processes, devices of each, processors of each (0: all)
CONFIGURATIONS = {"1 device": (1, 1, 1), BASE: (1, 2, 1), "2 processes": (2, 1, 1), "8 devices": (1, 8, 0)}
INPUTS, HIDDEN = 256, 256
SAMPLES, COLUMNS = 4096, 1024  # rows in all of the strong cases
BYTES = (8, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 23)
TURNS = 5


def loss(params, X, Y):
    return np.mean((np.tanh(X @ params["a"] + params["b"]) @ params["c"] - Y) ** 2)


def training(params, X, Y):
    """One step of gradient descent on a network of two layers."""
    _, slopes = value_and_grad(loss)(params, X, Y)
    return {name: params[name] - 0.1 * slopes[name] for name in params}


def stencil(u):
    """Ten steps of the heat equation on a plane."""
    for _ in range(10):
        north, south, west, east = u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:]
        v = u.copy()
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (north + south + west + east - 4.0 * u[1:-1, 1:-1])
        u = v
    return u


def rows(case, devices):
    """Rows in all."""
    return SAMPLES * (devices if case == "weak" else 1)


# -- in the processes ------------------------------------------------------------------------------------------------


def member(path, seconds):
    """What a process runs: process 0 writes {name: seconds}."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize()
    jax.config.update("jax_enable_x64", True)
    devices = jax.device_count()
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    over, whole = (NamedSharding(mesh, PartitionSpec(*spec)) for spec in (["rows"], []))

    greatest, added = (jax.jit(f, out_shardings=whole) for f in (lambda x: x.max(), lambda x: x.sum()))

    def over_all(reduce, x):
        """One number of each process, reduced."""
        own = np.zeros(jax.local_device_count())
        own[0] = x
        return float(reduce(jax.make_array_from_process_local_data(over, own)))

    def spread(make, count, *shape):
        part = make(size=(count // jax.process_count(), *shape))
        return jax.make_array_from_process_local_data(over, part, (count, *shape))

    def least(call, *args):
        """(seconds of a call, seconds of processors in all processes), the least of some turns."""
        jax.block_until_ready(call(*args))
        start = time.perf_counter()
        jax.block_until_ready(call(*args))
        once = over_all(greatest, time.perf_counter() - start)
        count, found = max(1, min(200, int(seconds / TURNS / once))), []
        for _ in range(TURNS):
            start, spent = time.perf_counter(), time.process_time()
            for _ in range(count):
                jax.block_until_ready(call(*args))
            found.append(((time.perf_counter() - start) / count, (time.process_time() - spent) / count))
        elapsed, spent = map(min, zip(*found))
        return elapsed, over_all(added, spent)

    rng = np.random.default_rng(jax.process_index())
    common = np.random.default_rng(7).normal
    params = {"a": common(size=(INPUTS, HIDDEN)) / 16, "b": np.zeros(HIDDEN), "c": common(size=(HIDDEN, 1)) / 16}
    everywhere = lambda x: jax.make_array_from_callback(x.shape, whole, lambda index: x[index])
    params = jax.tree_util.tree_map(everywhere, params)
    step, heat, found = jit(training), jit(stencil), {}
    for case in ("weak", "strong"):
        count = rows(case, devices)
        X, Y, u = spread(rng.normal, count, INPUTS), spread(rng.normal, count, 1), spread(rng.normal, count, COLUMNS)
        found[f"{case} training"] = least(step, params, X, Y)
        found[f"{case} stencil"] = [t / 10 for t in least(heat, u)]
    if jax.process_count() > 1:
        total, gather = jax.jit(lambda x: x.sum(0), out_shardings=whole), jax.jit(lambda x: x + 1, out_shardings=whole)
        for n in BYTES:
            x = spread(rng.normal, devices, n // 8)
            found[f"all-reduce {n}"] = least(total, x)
            x = spread(rng.normal, devices, -(-n // 8 // devices))
            found[f"all-gather {n}"] = least(gather, x)
    if jax.process_index() == 0:
        pathlib.Path(path).write_text(json.dumps(found))


def pinned(processors):
    """Keep this process to a processor of its own, before jax counts them, unless it is to have all."""
    if hasattr(os, "sched_setaffinity") and processors:
        known = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {known[int(os.environ["SLURM_PROCID"]) % len(known)]})


# -- around them -----------------------------------------------------------------------------------------------------


def measured(processes, devices, processors, seconds):
    """{name: seconds} of one configuration."""
    with tempfile.TemporaryDirectory() as home:
        path = pathlib.Path(home) / "found.json"
        options = ["-n", str(processes), *(["--devices", str(devices)] if devices > 1 else [])]
        command = [sys.executable, "-m", "wengert", "launch", *options, __file__, "--member", str(path)]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAX_PLATFORMS": "cpu"}
        command += ["--seconds", str(seconds), "--processors", str(processors)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        return json.loads(path.read_text())


def fitted(found, name):
    """The Link that fits the times of one collective between two processes best, each error taken as a share."""
    sizes = np.array(BYTES, float)
    times = np.array([found[f"{name} {n}"][0] for n in BYTES])
    messages = {"all-reduce": 2, "all-gather": 1}[name]  # of half of the bytes each, round a ring of two
    terms = messages * np.stack([np.ones(len(sizes)), sizes / 2], 1) / times[:, None]
    latency, per_byte = np.linalg.lstsq(terms, np.ones(len(sizes)), rcond=None)[0]
    return collectives.Link(latency, 1 / per_byte)


def expected(link, one, case):
    """{program: seconds of a step} of two processes by the model, of the times of two devices of one processor."""
    share = 0.5
    gradients = 8 * (INPUTS * HIDDEN + 2 * HIDDEN) + 8
    return {
        "training": share * one[f"{case} training"][0] + collectives.ring_all_reduce(link, 2, gradients),
        "stencil": share * one[f"{case} stencil"][0] + collectives.halo_exchange(link, 2, 8 * COLUMNS),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--member", help=argparse.SUPPRESS)
    parser.add_argument("--processors", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.member:
        pinned(given.processors)
        member(given.member, given.seconds)
        return
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{processors} processors, load {os.getloadavg()[0]:.1f} when it began")
    found = {name: measured(*how, given.seconds) for name, how in CONFIGURATIONS.items()}
    one, lines = found[BASE], []
    for case in ("weak", "strong"):
        for program in ("training", "stencil"):
            for name, (processes, devices, each) in CONFIGURATIONS.items():
                (before, worked), (passed, spent) = one[f"{case} {program}"], found[name][f"{case} {program}"]
                work = processes * devices / 2 if case == "weak" else 1  # over that of two devices
                used = min(processes * each, processors) if each else processors
                shares = [work * before / passed / used, work * worked / spent]
                lines.append([f"{case}, {program}, {name}", 1e3 * passed, 1e3 * spent, *shares])
    table(lines, ["", "ms a step", "of processors", "efficiency", "of processors"])
    two = found["2 processes"]
    print("\ncollectives between two processes, microseconds; the model with what fits best")
    links = {name: fitted(two, name) for name in ("all-reduce", "all-gather")}
    by_model = {"all-reduce": collectives.ring_all_reduce, "all-gather": collectives.all_gather}
    lines = []
    for name, link in links.items():
        for n in BYTES:
            lines.append([f"{name}, {n} B", 1e6 * two[f"{name} {n}"][0], 1e6 * by_model[name](link, 2, n)])
    table(lines, ["", "measured", "model"])
    for name, link in links.items():
        print(f"{name}: latency {1e6 * link.latency:.0f} us, bandwidth {link.bandwidth / 1e9:.2f} GB/s")
    print("\nsteps of two processes, ms; the model: what one process takes for its part, and the collective")
    lines = [
        [f"{case}, {program}", 1e3 * two[f"{case} {program}"][0], 1e3 * seconds]
        for case in ("weak", "strong")
        for program, seconds in expected(links["all-reduce"], one, case).items()
    ]
    table(lines, ["", "measured", "model"])


if __name__ == "__main__":
    main()
