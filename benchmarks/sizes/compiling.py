"""Seconds that XLA takes to compile an equation: of decoders of more and more layers, through `jit(engine="xla")`.

    python benchmarks/sizes/compiling.py [--layers 1,2,4,6]

`tracer/call/deferred.py` estimates by it what a program that has not been compiled yet would take.
"""

import argparse

import numpy as np
from programs import WIDTH, decoder, layers_of

from wengert import jit
from wengert.tracer.common import events

XLA = "xla trace", "xla lower", "xla compile"


def seconds_of(kinds, function, *args):
    """Seconds of events of some kinds in a call."""
    found = []
    listener = lambda event: found.append(event.seconds) if event.kind in kinds else None
    events.LISTENERS.append(listener)
    try:
        function(*args)
    finally:
        events.LISTENERS.remove(listener)
    return sum(filter(None, found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", default="1,2,4,6")
    layers = map(int, parser.parse_args().layers.split(","))
    print(f"{'layers':>6}  {'equations':>9}  {'XLA':>8}  {'an equation':>11}")
    for count in layers:
        x, made = np.random.default_rng(0).standard_normal((40, WIDTH)), jit(decoder, engine="xla", dynamic=False)
        arguments = x, layers_of(WIDTH, count)
        seconds = seconds_of(XLA, made, *arguments)
        equations = made.ir(*arguments).count()
        print(f"{count:6}  {equations:9}  {seconds:6.2f} s  {1e3 * seconds / equations:8.1f} ms")


if __name__ == "__main__":
    main()
