"""Compiling and running deep straight-line programs: the gradient of a stack of transformer blocks, against jax.jit(jax.grad).

    python benchmarks/deep.py [blocks ...]

The weights are a list, so both capture one straight line. Columns: seconds to compile (XLA alone) for jax, for wengert, and for wengert with
nothing computed once (`plain`); the same as processor time, which other work on the machine changes less; milliseconds a call, taking turns;
megabytes of temporary memory. Values are compared first.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import interleave, table

from wengert import grad
from wengert.backends.xla.lower import lower

BLOCKS = (4, 8, 16, 24, 48)
ROWS, WIDTH, HEADS = 32, 64, 4


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


def compiled(f, args):
    """(seconds, processor seconds, program) of compiling what is lowered."""
    lowered = jax.jit(f).lower(*args)
    begun, used = time.perf_counter(), time.process_time()
    program = lowered.compile()
    return time.perf_counter() - begun, time.process_time() - used, program


def main(sizes):
    jax.config.update("jax_enable_x64", True)
    rows = []
    for dtype in (np.float64, np.float32):
        for blocks in sizes:
            args = data(blocks, dtype)
            ours, theirs = grad(stack(np)), jax.grad(stack(jnp))
            slopes = ours(*args)
            (entry,) = ours.compiled.entries.values()
            func = entry.current.versions[0].func
            given = [jnp.asarray(x) for x in jax.tree_util.tree_leaves(args)]
            assert [tuple(p.type.shape) for p in func.params] == [x.shape for x in given]
            programs = {
                "jax": compiled(theirs, jax.tree_util.tree_map(jnp.asarray, args)),
                "ours": compiled(lambda *xs, func=func: tuple(lower(func, xs)), given),
                "plain": compiled(lambda *xs, func=func: tuple(lower(func, xs, func.eqns)), given),
            }
            on_device = jax.tree_util.tree_map(jnp.asarray, args)
            takes = {"jax": on_device, "ours": given, "plain": given}
            calls = {n: (lambda p=p, xs=takes[n]: jax.block_until_ready(p(*xs))) for n, (*_, p) in programs.items()}
            for a, b in zip(*map(jax.tree_util.tree_leaves, (slopes, calls["jax"]())), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8 if dtype is np.float64 else 1e-2, atol=1e-9 if dtype is np.float64 else 1e-3)
            run = interleave(calls, seconds=2.0)
            wall, used = ([programs[name][k] for name in calls] for k in (0, 1))
            memory = [p.memory_analysis().temp_size_in_bytes / 1e6 for *_, p in programs.values()]
            name = f"{blocks} blocks {np.dtype(dtype)}"
            rows.append([name, *wall, wall[0] / wall[1], *used, *(1e3 * run[n] for n in calls), run["jax"] / run["ours"], *memory])
            print(f"{name} done", file=sys.stderr, flush=True)
    heads = [f"{what} {who}" for what in ("s", "cpu s", "ms", "MB") for who in ("jax", "ours", "plain")]
    table(rows, ["gradient", *heads[:3], "s: jax/ours", *heads[3:9], "ms: jax/ours", *heads[9:]])


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or BLOCKS)
