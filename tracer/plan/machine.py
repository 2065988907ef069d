"""How fast this machine is, for what a plan expects: measured once a process, in some tens of milliseconds, when a plan
is first asked for.

The model is a roofline (S. Williams, A. Waterman, D. Patterson, Roofline, CACM 52(4), 2009): a step takes the longer of
what its operations and its bytes take, and a call of it a fixed time besides.
"""

from __future__ import annotations

import functools
import time
from typing import Any, NamedTuple

import numpy as np

BYTES = 1 << 24  # bound: of the array whose copy is timed; more than caches hold
SIDES = 64, 384  # bound: rows of the matrices whose products are timed: of few, by one thread, and of many
ROW = 1 << 11  # bound: elements of the vectors whose product is timed; they stay in the cache
TURNS = 12  # bound: of which the quickest counts
CALL = {
    "numpy": 5e-7,
    "kernel": 1e-6,
    "library": 2e-6,
    "nest": 1e-6,
    "copy": 5e-7,
    "host": 2e-5,
}  # bound: seconds a step costs


class Machine(NamedTuple):
    """bandwidth: bytes a second that are read or written; products: operations a second of a product of matrices;
    arithmetic: of a product of vectors that lie in the cache."""

    bandwidth: float
    products: float
    arithmetic: float

    def json(self) -> dict[str, float]:
        return dict(self._asdict())

    def seconds(self, step: Any) -> float | None:
        """What all runs of a step should take; None where data decide how often it runs, or Python computes."""
        if step.runs is None or not step.cost.known:
            return None
        if step.steps:
            inner = [self.seconds(s) for s in step.steps]
            if step.kind == "choice":
                return max((t for t in inner if t is not None), default=None)
            return None if None in inner else sum(t for t in inner if t is not None)
        rate = self.products if step.kind == "library" else self.arithmetic
        each = max(step.cost.flops / rate, step.cost.bytes / self.bandwidth) + CALL.get(step.kind, 0.0)
        return step.runs * each


def quickest_of(run: Any) -> float:
    """Seconds of the quickest of a few runs."""
    best = np.inf
    for _ in range(TURNS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return float(best)


@functools.cache
def this_machine() -> Machine:
    """The rates of this machine."""
    source, target = np.ones(BYTES // 8), np.empty(BYTES // 8)
    squares = [np.ones((n, n)) for n in SIDES]
    x, y = np.ones(ROW), np.ones(ROW)

    def arithmetic() -> None:
        for _ in range(32):
            x.dot(y)

    copied = quickest_of(lambda: np.copyto(target, source))
    # the better of both: where other programs keep the cores busy, threads that wait for each other take far longer
    products = max(2 * len(a) ** 3 / quickest_of(functools.partial(np.matmul, a, a)) for a in squares)
    return Machine(2 * BYTES / copied, products, 64 * ROW / quickest_of(arithmetic))
