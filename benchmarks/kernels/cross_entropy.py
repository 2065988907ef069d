"""Gradients of softmax, cross-entropy, log-sum-exp and attention as they are written in NumPy: without and with the
pass that has no derivative through a maximum which cancels (`ir/passes/shifts.py`), and JAX's of the same text.

    python benchmarks/kernels/cross_entropy.py

The best of many calls of float32 on jax arrays, in milliseconds.
"""

import contextlib
import time
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from wengert import grad
from wengert.ir import pipeline
from wengert.tracer.call.shared import forget_shared

TURNS = 15


def programs(np):
    """{name: a function of one matrix}, by NumPy or jax.numpy."""

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def cross_entropy(x):
        t = x - x.max(1, keepdims=True)
        return -(t - np.log(np.exp(t).sum(1, keepdims=True)))[np.arange(len(x)), np.arange(len(x)) % x.shape[1]].mean()

    def log_sum_exp(x):
        m = x.max(1)
        return (np.log(np.exp(x - m[:, None]).sum(1)) + m).sum()

    def attention(x):
        return ((softmax(x @ x.T * np.float32(0.1)) @ x) ** 2).sum()

    return {
        "softmax": lambda x: (softmax(x) ** 2).sum(),
        "cross-entropy": cross_entropy,
        "log-sum-exp": log_sum_exp,
        "attention": attention,
    }


SHAPES = {"attention": (1024, 64)}


def best_of(functions, x):
    """The shortest call of each of some functions, called in turn, in milliseconds."""
    found = [[] for _ in functions]
    for _ in range(TURNS):
        for f, times in zip(functions, found):
            start = time.perf_counter()
            jax.block_until_ready(f(x))
            times.append(time.perf_counter() - start)
    return [1e3 * min(times) for times in found]


def ours(f, x, without):
    """(the gradient of a function, compiled anew for x, how many equations it has)."""
    forget_shared()
    slope = grad(f)
    with mock.patch.object(pipeline, "shifts", lambda func: func) if without else contextlib.nullcontext():
        slope(x)
        return slope, slope.ir(x).count()


def main():
    print(f"{'gradient of':15} {'shape':>12} {'equations':>13} {'without':>9} {'with':>9} {'JAX':>9}")
    for name, f in programs(np).items():
        shape = SHAPES.get(name, (4096, 1024))
        x = jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)
        (plain, many), (short, few) = (ours(f, x, without) for without in (True, False))
        times = best_of([plain, short, jax.jit(jax.grad(programs(jnp)[name]))], x)
        print(f"{name:15} {shape!s:>12} {many:6} {few:6} " + " ".join(f"{t:9.2f}" for t in times))


if __name__ == "__main__":
    main()
