"""Seconds that XLA takes to compile an equation: of decoders of more and more layers, through `jit(engine="xla")`; and
that LLVM takes to optimise a line of a nest: of gradients of eight programs; and from the end of a trace to the first
answer, of programs whose loops are written out.

    python benchmarks/sizes/compiling.py [--layers 1,2,4,6]

`tracer/call/deferred.py` and `tracer/call/patience.py` estimate by them what a program would take that has not been
made yet.
"""

import argparse

import numpy as np
from programs import PROGRAMS, WIDTH, decoder, layers_of

from wengert import grad, jit
from wengert.benchmarks.settings import XLA, distances_one_by_one, first_answer, optimised, seconds_of_events, shortened


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
    print(f"\n{'written out':>16}  {'equations':>9}  {'answer':>8}  {'an equation':>11}")
    draw = np.random.default_rng(0).standard_normal
    for name, f, x in (
        ("10 points", distances_one_by_one, draw((10, 2)).tolist()),
        ("20 points", distances_one_by_one, draw((20, 2)).tolist()),
        ("40 points", distances_one_by_one, draw((40, 2)).tolist()),
        ("a small array", shortened, draw(300)),
        ("a large array", shortened, draw(100_000)),
    ):
        equations, seconds = first_answer(f, x)
        print(f"{name:>16}  {equations:9}  {seconds:6.2f} s  {1e3 * seconds / equations:8.2f} ms")


def summed(f):
    return lambda *args: np.sum(f(*args))


if __name__ == "__main__":
    main()
