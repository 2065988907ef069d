"""Steps that give their arrays away: the time of a call, and the memory that a process needs for a hundred of them.

    python benchmarks/sizes/donation.py
    python benchmarks/sizes/donation.py --only adam --sizes 1e5,1e6

A step is called on what it returned before, as training loops and simulations do. "kept" is `jit(step)`, "donated"
`jit(step, donate=...)`, and "jax" `jax.jit(step, donate_argnums=...)` of the step with jax.numpy for NumPy; all have
jax arrays of float64, each in a process of its own. us a call: the least of several rounds, of which each ends by
waiting for the last result. "peak" is the most memory that the process had at once, less what it had before the first
call, by the bytes of one array.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from wengert import jit
from wengert.benchmarks.timing import settle, table

ROUNDS, CALLS = 7, 20


def momentum(p, m, g, xp=np):
    m = 0.9 * m + g
    return p - 0.1 * m, m, g


def adam(p, m, v, g, xp=np):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return p - 0.01 * m / (xp.sqrt(v) + 1e-8), m, v, g


def wave(u, before, xp=np):
    beside = xp.concatenate((u[1:], u[:1])) + xp.concatenate((u[-1:], u[:-1]))
    return 2.0 * u - before + 0.1 * (beside - 2.0 * u), u


# name -> (the step, how many arrays it takes, the names of those that it gives away)
STEPS = {
    "momentum": (momentum, 3, ("p", "m")),
    "adam": (adam, 4, ("p", "m", "v")),
    "wave": (wave, 2, ("before",)),
}
WHO = "kept", "donated", "jax"


def made(name, who):
    step, _, given = STEPS[name]
    if who == "jax":
        names = step.__code__.co_varnames
        return jax.jit(lambda *xs: step(*xs, xp=jnp), donate_argnums=tuple(map(names.index, given)))
    return jit(step, donate=given if who == "donated" else ())


def peak():
    """Bytes: the most memory that the process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured(name, who, size):
    """{"us": of a call, "peak": in arrays}."""
    jax.config.update("jax_enable_x64", True)
    run, count = made(name, who), STEPS[name][1]
    small = [jnp.ones(16) for _ in range(count)]
    jax.block_until_ready(run(*small))
    state = [jnp.full(size, 0.01 * (k + 1)) for k in range(count)]
    jax.block_until_ready(state)
    before = peak()

    def calls():
        nonlocal state
        for _ in range(CALLS):
            state = list(run(*state))
        jax.block_until_ready(state)

    if who != "jax":
        settle(run, calls)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        calls()
        times.append((time.perf_counter() - start) / CALLS)
    return {"us": 1e6 * min(times), "peak": (peak() - before) / (8 * size)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--sizes", default="1e3,1e5,1e6,1e7")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, who, size = options.one.split(",")
        print(json.dumps(measured(name, who, int(size))))
        return
    rows = []
    for name in options.only.split(",") if options.only else STEPS:
        for size in (int(float(x)) for x in options.sizes.split(",")):
            found = {}
            for who in WHO:
                command = [sys.executable, __file__, "--one", f"{name},{who},{size}"]
                found[who] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            us = [found[who]["us"] for who in WHO]
            rows.append([name, f"{size:g}", *us, us[0] / us[1], us[2] / us[1], *(found[who]["peak"] for who in WHO)])
    head = ["step", "size", *(f"{who} us" for who in WHO), "kept/donated", "jax/donated"]
    table(rows, [*head, *(f"{who} peak" for who in WHO)])


if __name__ == "__main__":
    main()
