"""Random programs with loops that may make no trip, and whose trips give a name an array of another dtype, shape or memory: whose memory
each name's is afterwards, and what stores into it reach.

    python tests/helpers/random_trips.py 0 1000
"""

import sys

import numpy as np
import random_identity
from draws import print_seeds, run_of
from random_identity import differences

__all__ = ["differences", "draw"]

NAMES = ("x", "y", "z", "w")
CHANGES = (
    "{0} = {1} / 2", "{0} = {1} * 0.5", "{0} = {1} > 0", "{0} = {1}.astype(np.float32)", "{0} = {1} + y", "{0} = {1}[::-1]", "{0} = {1}[1:]",
    "{0} = {1}", "{0} = {1}.copy()", "{0}, {1} = {1}, {0}", "{0} = np.abs({1})", "{0} = {1} // 2", "{0} = np.zeros(3)", "{0} = {1} * c",
)  # fmt: skip
STORES = ("{0}[0] = 7", "{0}[-1] += 1", "{0} *= 2", "{0}[:] = {1}[0]", "{0}[T] = 1", "p[0] = 5")
LOOPS = ("range(T)", "range(int(T))", "range(min(T, 3))", "range((x > 1).sum())", "y[y > 1]", "range(T, 3)", "range(2)")
DTYPES = ("f8", "f8", "f4", "i8", "i4", "?")


class Case(random_identity.Case):
    def arguments(self, seed):
        r = np.random.default_rng(seed)
        x, y = ((r.normal(size=3) * 3).astype(d) for d in self.shape)
        return x, y, float(r.integers(-2, 3)), np.int64(r.integers(0, 3)) if r.random() < 0.7 else int(r.integers(0, 3))


def text(r):
    name = lambda: r.choice(NAMES)
    line = lambda kinds: r.choice(kinds).format(name(), name())
    lines = ["def f(x, y, c, T):", "    z, w, p = x, y, x"]
    for n in range(r.randint(1, 2)):
        lines.append(f"    for k{n} in {r.choice(LOOPS)}:")
        for _ in range(r.randint(1, 3)):
            pad = "        "
            if r.random() < 0.4:
                lines.append(f"{pad}if {name()}[0] > {r.choice(('0', 'c', f'k{n}'))}:")
                pad += "    "
            lines.append(pad + line(CHANGES if r.random() < 0.8 else STORES))
    lines += [f"    {line(STORES if r.random() < 0.8 else CHANGES)}" for _ in range(r.randint(1, 3))]
    a, b, same = name(), name(), f"{name()} is {name()}"
    return "\n".join([*lines, f"    return {a}, {b}, {name()}, {same}, {a}.dtype == np.float64, {b}.dtype == x.dtype", ""])


def draw(rng):
    """A program and what it is called with; rng: a random.Random."""
    return Case(text(rng), tuple(rng.choice(DTYPES) for _ in range(2)), [rng.randrange(10**6) for _ in range(5)])


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]))
