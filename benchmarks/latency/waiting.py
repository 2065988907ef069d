"""How a caller waits for a program that XLA runs on another thread: asleep, or asking (`backends/xla/spinning.py`).

    python benchmarks/latency/waiting.py [--numbers 100,1000,4000,16000,64000] [--longest 1e-4]

Columns: microseconds of a call with ndarrays, in and out, medians of calls that take turns: asleep until the result is
there; asking as calls do; asking without end; asleep again, as the control. Programs of few numbers run in the call;
those of many on all cores, of which asking without end takes one.
"""

import argparse

import jax
import numpy as np

from wengert.backends.xla import spinning
from wengert.backends.xla.spinning import Spin, ndarrays
from wengert.benchmarks.timing import interleave, table

PROGRAMS = {
    "chain": lambda x: jax.numpy.tanh(x) * jax.numpy.exp(-x) + x,
    "sort": lambda x: jax.numpy.sort(x).sum(),
    "products": lambda x: (x.reshape(-1, 10) @ x.reshape(10, -1)).sum(0),
}


class Waits:
    """A program of one array with a way to wait."""

    def __init__(self, run, x, spin=None):
        self.run, self.x, self.spin = run, x, spin

    def __call__(self):
        out = self.run(self.x)
        if self.spin is None:
            out.block_until_ready()
        return ndarrays(out, self)


def endless(result):
    while not result.is_ready():
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", default="100,1000,4000,16000,64000")
    parser.add_argument("--longest", type=float, default=spinning.LONGEST)
    args = parser.parse_args()
    spinning.LONGEST = args.longest
    jax.config.update("jax_enable_x64", True)
    rows = []
    for name, f in PROGRAMS.items():
        for n in map(int, args.numbers.split(",")):
            if name == "products" and n > 10_000:
                continue
            run, x = jax.jit(f), np.random.default_rng(n).standard_normal(n)
            ways = {"asleep": None, "as calls do": Spin(), "without end": endless, "control": None}
            calls = {way: Waits(run, x, spin) for way, spin in ways.items()}
            rows.append([f"{name} of {n}", *(1e6 * t for t in interleave(calls, seconds=0.5).values())])
    table(rows, ["program", "asleep", "as calls do", "without end", "control"])


if __name__ == "__main__":
    main()
