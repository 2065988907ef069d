"""A sequence of calls whose sizes change: which they are, what they take, and whether what they give is right.

Nothing here imports more than NumPy, so that contestants run in environments of their own.
"""

import time

import numpy as np
from programs import PROGRAMS

CLOSE = 1e-9  # of values, relative to the largest
SLOPE = 1e-5  # of directional derivatives by differences


def lengths(most, drawn, seed=0):
    """1 to `most` one by one, then `drawn` of them at random."""
    return [*range(1, most + 1), *np.random.default_rng(seed).integers(1, most + 1, drawn).tolist()]


class Sequence:
    """The calls of one program; what: "forward", or "gradient" of the sum of squares of what it gives."""

    def __init__(self, name, what, sizes):
        self.function, self.make, self.wrt = PROGRAMS[name]
        self.name, self.what, self.sizes = name, what, sizes

    def arguments(self, k):
        return self.make(self.sizes[k], np.random.default_rng(k))

    def timed(self, call, convert=lambda args: args, budget=np.inf):
        """Call after call until the budget of seconds is spent -> ([seconds], [results])."""
        seconds, results = [], []
        while len(seconds) < len(self.sizes) and sum(seconds) < budget:
            args = convert(self.arguments(len(seconds)))
            start = time.perf_counter()
            found = call(*args)
            seconds.append(time.perf_counter() - start)
            results.append(found)
        return seconds, results

    def wrong(self, values, results):
        """Of how many calls the results are not NumPy's `values`, or no gradients of the function."""
        if self.what == "forward":
            return sum(not is_close(got, want) for got, want in zip(results, values, strict=False))
        return sum(not self.is_gradient(got, k) for k, got in enumerate(results))

    def is_gradient(self, got, k):
        """Whether it agrees with central differences along one direction; those of steps that cross a kink are left
        out, where two steps disagree."""
        args, rng = list(self.arguments(k)), np.random.default_rng(k + 1)
        point, got = args[self.wrt], np.asarray(got)
        if got.shape != np.shape(point) or got.dtype != np.asarray(point).dtype:
            return False
        along = rng.standard_normal(np.shape(point))
        slope, estimates = float(np.sum(got * along)), []
        for step in (1e-5, 1e-6, 1e-7, 1e-8):
            ends = []
            for side in (step, -step):
                args[self.wrt] = point + side * along
                ends.append(squares(self.function(*args)))
            estimates.append((ends[0] - ends[1]) / (2 * step))
        scale = abs(slope) + float(np.abs(got * along).sum()) + abs(ends[0])
        settled = [e for e, f in zip(estimates, estimates[1:]) if abs(e - f) < SLOPE * scale]
        return not settled or any(abs(slope - e) < 10 * SLOPE * scale for e in settled)


def squares(found):
    return np.sum(np.square(found))


def is_close(got, want):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return bool(np.all(np.abs(got - want) <= CLOSE * (1 + np.max(np.abs(want), initial=0.0))))
