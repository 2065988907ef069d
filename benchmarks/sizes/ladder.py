"""Programs of symbolic sizes in the room of larger arrays (`backends/xla/ladder.py`) against XLA at the exact shapes.

    python benchmarks/sizes/ladder.py [--only kalman lstm] [--lengths 44,90,180,350] [--octave 4]

Columns: masks put in; for the lengths, mean of a call's time by that of a program of the exact shape, medians of runs
that take turns, arguments and results on the host; executables made. All values are compared. Each program has a
process of its own, since functions of one code share what is compiled.
"""

import argparse
import functools
import subprocess
import sys

import jax
import numpy as np
from programs import PROGRAMS
from sequences import squares

from wengert import grad, jit
from wengert.backends.xla import dispatch, ladder
from wengert.backends.xla.spinning import ndarrays
from wengert.benchmarks.timing import interleave
from wengert.ir.generic import Unalike
from wengert.ir.padding import Unroomy
from wengert.ir.types import type_of
from wengert.tracer.call.family import NoFamily, family

NEAR = (37, 50)  # lengths of the calls that a family is found of


def leaves_of(args):
    return [np.asarray(x) for x in jax.tree_util.tree_leaves(args)]


def family_of(f, make):
    """The family of a compiled function, of two calls."""
    calls = [make(n, np.random.default_rng(n)) for n in NEAR]
    f(*calls[0])
    entry = next(iter(f.compiled.entries.values()))
    seen = [tuple(map(type_of, leaves_of(args))) for args in calls]
    return f.callee(family, entry, seen)


def of_exact_shape(func):
    run = dispatch.program(lambda types: (func, tuple(range(len(func.params)))), "exact")

    def call(leaves):
        with dispatch.wide():
            out = run(*leaves)
        return list(map(np.array, ndarrays(out, run)))

    return call


def row(f, make, lengths):
    """(masks, mean of the ratios, executables)."""
    found = family_of(f, make)
    steps, ratios = ladder.Ladder(found.generic, "ladder"), []
    for n in lengths:
        sizes = dict.fromkeys(found.generic.names, n)
        inputs = [np.asarray(x.get() if hasattr(x, "get") else x) for x in found.version(sizes).captured.inputs]
        leaves = [*leaves_of(make(n, np.random.default_rng(n))), *inputs]
        exact = of_exact_shape(found.generic.at(sizes))
        for a, b in zip(steps.call(leaves, sizes), exact(leaves), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8 * max(1.0, np.abs(b).max(initial=0.0)))
        ours, theirs = functools.partial(steps.call, leaves, sizes), functools.partial(exact, leaves)
        times = interleave({"ladder": ours, "exact": theirs}, seconds=0.5)
        ratios.append(times["ladder"] / times["exact"])
    masks = {len(r.made.masks) for r in steps.rungs.values()}
    return max(masks), float(np.mean(ratios)), len(steps.rungs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS), help="names, quoted where they have spaces")
    parser.add_argument("--lengths", default="44,90,180,350")
    parser.add_argument("--octave", type=int, default=ladder.OCTAVE)
    args = parser.parse_args()
    if len(args.only) > 1:
        for name in args.only:
            options = ["--lengths", args.lengths, "--octave", str(args.octave)]
            subprocess.run([sys.executable, __file__, "--only", name, *options], check=True)
        return
    ladder.OCTAVE, lengths = args.octave, list(map(int, args.lengths.split(",")))
    (name,) = args.only
    function, make, wrt = PROGRAMS[name]
    made = {"forward": jit(function), "gradient": grad(lambda *xs: squares(function(*xs)), argnums=wrt)}
    for what, f in made.items():
        try:
            masks, ratio, count = row(f, make, lengths)
            print(f"{name:18} {what:9} {masks:3} masks, {ratio:.2f} x exact, {count} executables", flush=True)
        except (NoFamily, Unalike, Unroomy) as reason:
            print(f"{name:18} {what:9} none: {reason}", flush=True)


if __name__ == "__main__":
    main()
