"""Compiling and running deep straight-line programs: the gradient of a stack of transformer blocks, against
jax.jit(jax.grad).

    python benchmarks/latency/deep.py [blocks ...]

The weights are a list, so both capture one straight line. Columns: seconds to the first result, all told, for jax, for
wengert, and for wengert where no program runs in pieces (`whole`); the same as processor time, which other work on the
machine changes less; seconds in XLA's compiler alone; milliseconds a call of jax arrays, taking turns. Values are
compared first.
"""

import math
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from wengert import grad
from wengert.benchmarks.timing import interleave, table
from wengert.ir import outline

BLOCKS = (4, 8, 16, 24, 48)
ROWS, WIDTH, HEADS = 32, 64, 4
COMPILED = "/jax/core/compile/backend_compile_duration"
seconds = []  # that XLA took for each program


def norm(np_, x, scale, shift):
    centred = x - np_.mean(x, axis=-1, keepdims=True)
    return centred / np_.sqrt(np_.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * scale + shift


def block(np_, x, w):
    """Attention and a two-layer network, each added onto x of shape (ROWS, WIDTH)."""
    h = norm(np_, x, w["scale1"], w["shift1"])
    q, k, v = (np_.transpose(np_.reshape(h @ w[n], (ROWS, HEADS, -1)), (1, 0, 2)) for n in "qkv")
    a = q @ np_.transpose(k, (0, 2, 1)) / (WIDTH // HEADS) ** 0.5
    a = np_.exp(a - np_.max(a, axis=-1, keepdims=True))
    a = a / np_.sum(a, axis=-1, keepdims=True)
    x = x + np_.reshape(np_.transpose(a @ v, (1, 0, 2)), (ROWS, WIDTH)) @ w["out"]
    h = norm(np_, x, w["scale2"], w["shift2"]) @ w["wide"] + w["bias"]
    h = 0.5 * h * (1.0 + np_.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
    return x + h @ w["narrow"]


def stack(np_):
    def loss(weights, x):
        for w in weights:
            x = block(np_, x, w)
        return np_.mean(x * x)

    return loss


def data(blocks, dtype):
    rng = np.random.default_rng(0)
    matrix = lambda m, n: (rng.normal(size=(m, n)) / np.sqrt(m)).astype(dtype)
    row = lambda n: rng.normal(size=n).astype(dtype) / 10
    square = lambda: {name: matrix(WIDTH, WIDTH) for name in ("q", "k", "v", "out")}
    rows = lambda: {name: row(WIDTH) + ("scale" in name) for name in ("scale1", "shift1", "scale2", "shift2")}
    wide = lambda: {"wide": matrix(WIDTH, 4 * WIDTH), "bias": row(4 * WIDTH), "narrow": matrix(4 * WIDTH, WIDTH)}
    return [square() | rows() | wide() for _ in range(blocks)], matrix(ROWS, WIDTH)


def first(f, args):
    """Seconds to the first result, processor seconds, seconds of those in XLA's compiler."""
    seconds.clear()
    begun, used = time.perf_counter(), time.process_time()
    jax.block_until_ready(f(*args))
    return time.perf_counter() - begun, time.process_time() - used, sum(seconds)


def whole(f):
    """A function whose programs never run in pieces."""
    least = outline.LEAST

    def call(*args):
        outline.LEAST = math.inf
        try:
            return f(*args)
        finally:
            outline.LEAST = least

    return call


def main(sizes):
    jax.config.update("jax_enable_x64", True)
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, spent, **_: seconds.append(spent) if event == COMPILED else None
    )
    rows = []
    for dtype in (np.float64, np.float32):
        for blocks in sizes:
            rows.append(measured(blocks, dtype))
            print(f"{rows[-1][0]} done", file=sys.stderr, flush=True)
    heads = [f"{what} {who}" for what in ("s", "cpu s", "XLA s", "ms") for who in ("jax", "ours", "whole", "jax/ours")]
    table(rows, ["gradient", *heads])


def measured(blocks, dtype):
    args = jax.tree_util.tree_map(jnp.asarray, data(blocks, dtype))
    programs = {"jax": jax.jit(jax.grad(stack(jnp))), "ours": grad(stack(np)), "whole": whole(grad(stack(np)))}
    spent = {name: first(f, args) for name, f in programs.items()}
    calls = {name: (lambda f=f: jax.block_until_ready(f(*args))) for name, f in programs.items()}
    results = {name: f() for name, f in calls.items()}
    for name in ("ours", "whole"):
        for a, b in zip(*map(jax.tree_util.tree_leaves, (results[name], results["jax"])), strict=True):
            np.testing.assert_allclose(
                a, b, rtol=1e-8 if dtype is np.float64 else 1e-2, atol=1e-9 if dtype is np.float64 else 1e-3
            )
    run = interleave(calls, seconds=2.0)
    columns = [[spent[name][k] for name in programs] for k in range(3)] + [[1e3 * run[name] for name in programs]]
    return [f"{blocks} blocks {np.dtype(dtype)}", *(x for c in columns for x in (*c, c[0] / c[1]))]


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or BLOCKS)
