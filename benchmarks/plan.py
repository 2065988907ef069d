"""What `f.plan()` says of ten programs and some of their other forms, beside what XLA says and what is measured.

    python benchmarks/plan.py [PROGRAM ...]

Each program runs in a process of its own, on arrays that lie as XLA wants them, so that none is copied. Columns:

    flop     by the plan, and over XLA's cost analysis (flops and transcendentals); once: where loops count once, as XLA
             counts them
    bytes    read and written by the plan's steps, over XLA's `bytes accessed`; once: as above
    peak     arguments, results and temporaries by the plan, over XLA's memory analysis, and over what the process took
             at most in a call (VmHWM, which Linux resets), with the arguments

Beyond 10 percent the last column says why. XLA is asked of the same program with `native=False`: of a nest it knows
nothing. Peaks of programs that run as NumPy are compared with what is measured alone.
"""

import argparse
import ctypes
import gc
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
from timing import table

import wengert
from wengert import grad, jit
from wengert.backends.xla.hlo_cost import Costs
from wengert.backends.xla.hlo_text import parse_module
from wengert.backends.xla.inspected import inspected

NEAR = 0.1
STATUS, RESET = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")
LOOPS = "XLA counts a body once"
FFT = "5 N log N, where XLA counts more"
ROWS = "XLA counts a body once, and all of an array in which it stores a row"
CALLS = "XLA does not count what LAPACK does, nor what it reads"
KEPT = "XLA fuses; NumPy writes each step"
ELIDED = "XLA counts a body once; NumPy writes into temporaries that nobody else has"
PACKED = "libraries take memory of their own, to pack operands of products"


def aligned(x):
    """A copy at an address that is a multiple of 64."""
    room = np.empty(x.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    out = room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def drawn(*shape, seed=0):
    return aligned(np.random.default_rng(seed).standard_normal(shape))


def heat(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def cooled(u):
    v = u.copy()
    for _ in range(20):
        v[1:-1] = v[1:-1] + 0.1 * (v[:-2] - 2.0 * v[1:-1] + v[2:]) * v[1:-1]
    return (v * v).sum()


def network(w1, b1, w2, x, y):
    h = np.tanh(x @ w1 + b1)
    return (((h @ w2) - y) ** 2).mean()


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True)) @ v


def bodies(x, m):
    d = x[:, None, :] - x[None, :, :]
    r = (d * d).sum(-1) + 1e-3
    return -(d * (m[None, :] / (r * np.sqrt(r)))[:, :, None]).sum(1)


def filtered(x):
    f = np.fft.rfft(x)
    return np.fft.irfft(f * np.exp(-0.01 * np.arange(f.shape[1])), x.shape[1])


def likelihood(x, y):
    d = x[:, None] - x[None, :]
    k = np.exp(-0.5 * d * d) + 0.1 * np.eye(x.shape[0])
    lower = np.linalg.cholesky(k)
    z = np.linalg.solve(lower, y)
    return 0.5 * z @ z + np.log(np.diag(lower)).sum()


def option(s, t):
    d = (np.log(s) + 0.5 * t) / np.sqrt(t)
    return s / (1.0 + np.exp(-1.6 * d)) - np.exp(-0.01 * t) / (1.0 + np.exp(-1.6 * (d - np.sqrt(t))))


def clusters(x, c):
    d = ((x[:, None, :] - c[None, :, :]) ** 2).sum(-1)
    nearest = d.argmin(1)
    new, count = np.zeros(c.shape), np.zeros(c.shape[0])
    np.add.at(new, nearest, x)
    np.add.at(count, nearest, 1.0)
    return new / count[:, None]


def smoothed(x):
    return (x[:, :-2] + x[:, 1:-1] + x[:, 2:]).cumsum(0)


def cell(w, x):
    h = np.zeros(w.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + x[t])
    return (h * h).sum()


def programs():
    """name -> (the compiled function, its arguments, why it is beyond 10 percent or "")."""
    layers = drawn(512, 1024), drawn(1024), drawn(1024, 256), drawn(4096, 512), drawn(4096, 256)
    heads = drawn(2048, 64), drawn(2048, 64, seed=1), drawn(2048, 64, seed=2)
    positive = np.abs(drawn(1 << 21)) + 0.5
    field, line = drawn(1500, 1500), drawn(1 << 18)
    through = {"engine": "xla", "native": False}
    return {
        "heat, as NumPy": (jit(heat, engine="numpy"), (field, 20), ELIDED),
        "heat, by XLA": (jit(heat, **through), (field, 20), LOOPS),
        "gradient of a stencil, nests": (jit(grad(cooled), engine="numpy"), (line,), LOOPS),
        "gradient of a stencil, by XLA": (jit(grad(cooled), **through), (line,), LOOPS),
        "gradient of a network": (jit(grad(network), engine="xla"), layers, ""),
        "attention": (jit(attention, engine="xla"), heads, PACKED),
        "gradient of attention": (jit(grad(lambda *a: (attention(*a) ** 2).sum()), engine="xla"), heads, ""),
        "attention, as NumPy": (jit(attention, engine="numpy"), heads, KEPT),
        "bodies": (jit(bodies, engine="xla"), (drawn(1500, 3), np.abs(drawn(1500))), ""),
        "filter by FFT": (jit(filtered, engine="xla"), (drawn(2000, 1024),), FFT),
        "likelihood, gradient": (jit(grad(likelihood), engine="xla"), (drawn(1500), drawn(1500, seed=1)), CALLS),
        "options": (jit(option, engine="xla"), (aligned(positive), aligned(positive[::-1].copy())), ""),
        "clusters": (jit(clusters, engine="xla"), (drawn(200000, 4), drawn(16, 4, seed=1)), ""),
        "sums": (jit(smoothed, engine="xla"), (drawn(2000, 1000),), ROWS),
        "recurrent cell, gradient": (jit(grad(cell), engine="xla"), (drawn(400, 400) / 40, drawn(500, 400)), LOOPS),
    }


def resident(field):
    return next(int(line.split()[1]) * 1024 for line in STATUS.read_text().splitlines() if line.startswith(field))


def measured_peak(f, arguments):
    """Bytes of the arguments, and of what a call takes besides at most; None where Linux does not say."""
    given = sum(x.nbytes for x in arguments if isinstance(x, np.ndarray))
    f(*arguments)
    gc.collect()
    time.sleep(0.3)  # what is freed on other threads is freed by then
    try:
        ctypes.CDLL(None).malloc_trim(0)
        RESET.write_text("5")
    except (OSError, AttributeError):
        return None
    before = resident("VmRSS")
    out = f(*arguments)
    peak = resident("VmHWM") - before
    del out
    return given + peak


def one(name):
    """The row of a program, in this process."""
    f, arguments, why = programs()[name]
    peak = measured_peak(f, arguments)
    trace = f.plan(*arguments).json()["traces"][0]
    func = f.ir(*arguments)
    looked = inspected(func, native=False)
    cost, module = looked.cost(), parse_module(looked.hlo())
    once = Costs(module, once=True).computation(module.entry)
    totals, memory = trace["totals"], trace["memory"]
    return {
        "name": name,
        "engine": trace["engine"],
        "flops": totals["flops"],
        "xla flops": (cost["flops"] or 0) + (cost["transcendentals"] or 0),
        "once flops": once.flops,
        "bytes": totals["read"] + totals["written"],
        "xla bytes": cost["bytes accessed"],
        "once bytes": once.bytes,
        "peak": memory["peak"],
        "xla peak": memory["xla"],
        "measured": peak,
        "why": why,
    }


def over(a, b):
    return f"{a / b:.2f}" if b else ""


def shown(row):
    """The cells of a row."""
    pairs = [("flops", "xla flops"), ("bytes", "xla bytes"), ("peak", "xla peak"), ("peak", "measured")]
    beyond = [f"{a}" for a, b in pairs if row[b] and abs(row[a] / row[b] - 1) > NEAR]
    return [
        row["name"], row["engine"],
        f"{row['flops'] / 1e6:.4g}", over(row["flops"], row["xla flops"]), over(row["once flops"], row["xla flops"]),
        f"{row['bytes'] / 1e6:.4g}", over(row["bytes"], row["xla bytes"]), over(row["once bytes"], row["xla bytes"]),
        f"{row['peak'] / 1e6:.4g}", over(row["peak"], row["xla peak"]), over(row["peak"], row["measured"]),
        row["why"] if beyond else "",
    ]  # fmt: skip


HEAD = ["program", "engine", "Mflop", "over XLA", "once", "MB", "over XLA", "once", "peak MB", "over XLA"]
HEAD += ["over measured", "why"]


def main(names, alone):
    if alone:
        print(json.dumps(one(names[0])))
        return
    rows = []
    for name in names or programs():
        environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        command = [sys.executable, __file__, "--alone", name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        rows.append(shown(json.loads(done.stdout.splitlines()[-1])))
    table(rows, HEAD)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=wengert.__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    main(given.names, given.alone)
