"""Seconds from a new process to the first result: with programs kept on disk by an earlier process, without, and
jax.jit with its own.

    python benchmarks/latency/warm_start.py

Every number is of a process of its own, the least of some, the kinds of processes taking turns. Columns: importing the
compiler and numpy; then from the first call to its result, where nothing is kept (`cold`) and where all is (`warm`),
for Wengert and for jax.jit with jax_compilation_cache_dir; the second run of the warm processes is the control (A/A).
The loop is `lax.while_loop` for jax.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from wengert.benchmarks.timing import table

ROUNDS = 5
HERE = pathlib.Path(__file__).resolve()

OURS = """
import json, os, sys, time
start = time.perf_counter()
import numpy as np
from wengert import grad, jit
imported = time.perf_counter()
{program}
f = {ours}
args = make(np)
begin = time.perf_counter()
result = f(*args)
end = time.perf_counter()
lines = [line.split(None, 1)[1] for line in f.explain().splitlines() if line.startswith("    cache ")]
print(json.dumps([imported - start, end - begin, float(check(result)), " ".join(lines)]))
os._exit(0)
"""

JAX = """
import json, os, sys, time
start = time.perf_counter()
import numpy as np
import jax
import jax.numpy as jnp
imported = time.perf_counter()
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
{program}
f = {theirs}
args = make(np)
begin = time.perf_counter()
result = jax.block_until_ready(f(*args))
end = time.perf_counter()
print(json.dumps([imported - start, end - begin, float(check(result)), ""]))
os._exit(0)
"""

SMALL = """
def small(x, y):
    return np_.tanh(x) @ y + np_.exp(-x).sum()
def make(np):
    return np.linspace(0.0, 1.0, 300), np.linspace(1.0, 2.0, 300)
def check(r):
    return r
"""

LOOP = """
def relax(u, f, tol):
    h, err, n = 1.0 / (u.shape[0] - 1), np.inf, 0
    while err > tol:
        old = u.copy()
        u[1:-1] = 0.5 * (u[:-2] + u[2:] - h * h * f[1:-1])
        err = np.abs(u - old).max()
        n += 1
    return u, n
def in_jax(u, f, tol):
    h = 1.0 / (u.shape[0] - 1)
    def body(state):
        u, _, n = state
        new = u.at[1:-1].set(0.5 * (u[:-2] + u[2:] - h * h * f[1:-1]))
        return new, jnp.abs(new - u).max(), n + 1
    u, _, n = jax.lax.while_loop(lambda s: s[1] > tol, body, (u, jnp.inf, 0))
    return u, n
def make(np):
    return np.zeros(64), np.ones(64), 1e-6
def check(r):
    return r[1]
"""

NETWORK = """
def loss(params, x, y):
    for w, b in params:
        x = np_.tanh(x @ w + b)
    return np_.mean((x - y) ** 2)
def make(np):
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(32, 32)) / 6, np.zeros(32)) for _ in range(LAYERS)]
    return params, rng.normal(size=(16, 32)), rng.normal(size=(16, 32))
def check(r):
    return r[0][0].sum()
"""

PROGRAMS = {  # name: (text, ours, theirs)
    "small": (SMALL, "jit(small)", "jax.jit(small)"),
    "small, through XLA": (SMALL, "jit(small, engine='xla')", "jax.jit(small)"),
    "loop": (LOOP, "jit(relax)", "jax.jit(in_jax)"),
    "gradient, 4 layers": (NETWORK.replace("LAYERS", "4"), "grad(loss)", "jax.jit(jax.grad(loss))"),
    "gradient, 24 layers": (NETWORK.replace("LAYERS", "24"), "grad(loss)", "jax.jit(jax.grad(loss))"),
}


def run(file, cache, **env):
    """What one process measured: [seconds to import, seconds to the first result, a number of it, what explain()
    says]."""
    # installed packages have their bytecode
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept |= {"PYTHONPATH": str(HERE.parents[3]), "WENGERT_CACHE": ""}
    made = subprocess.run([sys.executable, file, cache], capture_output=True, text=True, check=True, env=kept | env)
    return json.loads(made.stdout)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for number, (name, (text, ours, theirs)) in enumerate(PROGRAMS.items()):
            mine, jaxs = os.path.join(home, f"ours{number}.py"), os.path.join(home, f"jax{number}.py")
            pathlib.Path(mine).write_text(OURS.format(program=text.replace("np_.", "np."), ours=ours))
            pathlib.Path(jaxs).write_text(JAX.format(program=text.replace("np_.", "jnp."), theirs=theirs))
            rows.append([name, *measure(mine, jaxs, os.path.join(home, f"cache{number}"))])
    table(rows, [
        "program", "import ms", "cold ms", "warm ms", "A/A", "import jax ms", "jax cold ms", "jax warm ms",
        "jax warm/warm",
    ])


def measure(mine, jaxs, cache):
    kept = run(mine, "", WENGERT_CACHE=cache)
    run(jaxs, cache + "-jax")
    assert kept[3].startswith("kept"), kept[3]
    found = {k: [] for k in ("cold", "warm", "again", "jax cold", "jax warm")}
    for turn in range(ROUNDS):
        contestants = [
            ("cold", lambda: run(mine, "")),
            ("warm", lambda: run(mine, "", WENGERT_CACHE=cache)),
            ("again", lambda: run(mine, "", WENGERT_CACHE=cache)),
            ("jax cold", lambda turn=turn: run(jaxs, f"{cache}-jax{turn}")),
            ("jax warm", lambda: run(jaxs, cache + "-jax")),
        ]
        for key, process in contestants[:: 1 if turn % 2 else -1]:
            found[key].append(process())
    assert all(r[3].startswith("read") for r in found["warm"] + found["again"])
    assert all(abs(r[2] - kept[2]) <= 1e-9 * abs(kept[2]) for rs in found.values() for r in rs)
    first = {k: 1e3 * min(r[1] for r in rs) for k, rs in found.items()}
    imports = [
        1e3 * min(r[0] for k in keys for r in found[k])
        for keys in (("cold", "warm", "again"), ("jax cold", "jax warm"))
    ]
    return [
        imports[0], first["cold"], first["warm"], first["again"] / first["warm"], imports[1], first["jax cold"],
        first["jax warm"],
        first["jax warm"] / first["warm"],
    ]  # fmt: skip


if __name__ == "__main__":
    main()
