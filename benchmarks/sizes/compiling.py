"""Seconds that XLA takes to compile an equation: of decoders of more and more layers, through `jit(engine="xla")`; and
that LLVM takes to optimise a line of a nest: of gradients of eight programs.

    python benchmarks/sizes/compiling.py [--layers 1,2,4,6]

`tracer/call/deferred.py` estimates by them what a program that has not been compiled yet would take.
"""

import argparse

import numpy as np
from programs import PROGRAMS, WIDTH, decoder, layers_of

from wengert import grad, jit
from wengert.benchmarks.settings import XLA, optimised, seconds_of_events


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", default="1,2,4,6")
    layers = map(int, parser.parse_args().layers.split(","))
    print(f"{'layers':>6}  {'equations':>9}  {'XLA':>8}  {'an equation':>11}")
    for count in layers:
        x, made = np.random.default_rng(0).standard_normal((40, WIDTH)), jit(decoder, engine="xla", dynamic=False)
        arguments = x, layers_of(WIDTH, count)
        seconds = seconds_of_events(XLA, made, *arguments)
        equations = made.ir(*arguments).count()
        print(f"{count:6}  {equations:9}  {seconds:6.2f} s  {1e3 * seconds / equations:8.1f} ms")
    print(f"\n{'program':16}  {'lines':>6}  {'LLVM':>8}  {'a line':>8}")
    for name, (f, arguments, over) in PROGRAMS.items():
        made = jit(grad(summed(f), argnums=over), engine="numpy", dynamic=False)
        lines, seconds = optimised(made, *arguments(20, np.random.default_rng(0)))
        print(f"{name:16}  {lines:6}  {seconds:6.2f} s  {1e3 * seconds / max(lines, 1):5.2f} ms")


def summed(f):
    return lambda *args: np.sum(f(*args))


if __name__ == "__main__":
    main()
