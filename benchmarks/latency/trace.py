"""Seconds to trace, per operation, against jax on the same program.

    python benchmarks/latency/trace.py

Warm: the programs have been traced before, so that dtype and shape rules are remembered, as in any
process that has run for a second. Ours stops at the IR as captured; jax's column is jax.make_jaxpr.
The control column is jax again, traced a second time in the same run.
"""

import jax
import jax.numpy as jnp
import numpy as np

from wengert import grad, jit
from wengert.benchmarks.timing import interleave, table

N = 200


def elementwise(np_):
    def f(x, y):
        for _ in range(N // 2):
            x = np_.tanh(x * y)
        return x

    return f


def arithmetic(np_):
    def f(x, y):
        for _ in range(N // 4):
            x = (x + y) * 0.5 - x / 3.0
        return x

    return f


def reductions(np_):
    def f(x, y):
        for _ in range(N // 2):
            x = x - np_.sum(x, axis=0)
        return x

    return f


def slices(np_):
    def f(x, y):
        for _ in range(N // 2):
            x = x + x[3]
        return x

    return f


def stores(x, y):
    for i in range(N // 2):
        x[i % 8] = x[i % 8] + y[0]
    return x


def fresh(f, x, y):
    """Trace under a new name each time: jax remembers functions it has traced."""
    return lambda: jax.make_jaxpr(lambda *a: f(*a))(x, y)


def main():
    x, y = np.ones((8, 8)), np.ones((8, 8))
    rows = []
    with jax.enable_x64(True):
        for build in (elementwise, arithmetic, reductions, slices):
            ours, theirs = jit(build(np)), build(jnp)
            rows.append(measure(build.__name__, ours, theirs, x, y))
        rows.append(measure("stores x[i] = x[i] + y[0]", jit(stores), None, x, y))
        loss = elementwise(np)
        ours, theirs = grad(lambda x, y: np.sum(loss(x, y))), jax.grad(lambda x, y: jnp.sum(elementwise(jnp)(x, y)))
        rows.append(measure("gradient of elementwise", ours, theirs, x, y))
    table(rows, ["program", "ops", "wengert us/op", "jax us/op", "A/A", "jax/wengert"])


def measure(name, ours, theirs, x, y):
    """One row; operations are counted as the equations captured."""
    ops = ours.ir(x, y, passes=False).count()
    contestants = {"ours": lambda: ours.ir(x.copy(), y, passes=False)}
    if theirs is not None:
        contestants |= {"jax": fresh(theirs, x, y), "control": fresh(theirs, x, y)}
    t = interleave(contestants, seconds=2.0, rounds=10)
    per = {k: 1e6 * s / ops for k, s in t.items()}
    if theirs is None:
        return [name, str(ops), per["ours"], "-", "-", "-"]
    return [name, str(ops), per["ours"], per["jax"], per["control"] / per["jax"], per["jax"] / per["ours"]]


if __name__ == "__main__":
    main()
