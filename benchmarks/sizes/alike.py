"""For which programs one program of symbolic sizes is found, and why not for the others: the eight of
`benchmarks/sizes/programs.py`, those of `benchmarks/suite.py`, and their gradients.

    python benchmarks/sizes/alike.py              # a line a program, and a tally; two minutes
    python benchmarks/sizes/alike.py --only lstm,kalman

Each is traced at SIZES and optimised, sizes being asked for; these are compared (`wengert.ir.generic`), and the result
with the program at OTHERS, which it was not made of. Columns: equations; integers of the program that stand for sizes;
ms of a trace and its passes, of the comparison, and of making the program of another size, verified.
"""

import argparse
import time
import warnings

import jax
import numpy as np

from wengert import grad, jit
from wengert.benchmarks import suite
from wengert.benchmarks.sizes.programs import PROGRAMS
from wengert.ir.dims import fit
from wengert.ir.generic import Unalike, generalised
from wengert.ir.setting import OF_ALL_SIZES, set_within
from wengert.tracer.capture.signature import kind_of_type
from wengert.tracer.common.errors import WengertError
from wengert.tracer.values.asked import SizesAsked, asked_by

SIZES = 37, 38, 74, 101, 45, 64, 103, 44, 57, 43, 16
SQUARE = {16, 64}  # of these, those that are powers of two
OTHERS = 29, 41, 128
STEPS = {"transformer": 4}  # a program whose size has to be a multiple: the size is that of SIZES times this


def loss(function):
    """The sum of the squares of what a function gives that has a derivative."""

    def summed(*args):
        total = 0.0
        for x in suite.floats(function(*args)):
            total = total + ((x * x).sum() if np.ndim(x) else x)
        return total

    return summed


def cases():
    """(name, the function or its gradient, the arguments of a size)"""
    for name, (f, arguments, over) in PROGRAMS.items():
        at = lambda n, arguments=arguments: arguments(n, np.random.default_rng(0))
        yield name, jit(f), at
        yield f"{name}, gradient", grad(loss(f), argnums=over), at
    for name, (family, program) in suite.programs().items():
        step = STEPS.get(name, 1)
        at = lambda n, program=program, step=step: program.arguments(np.random.default_rng(0), step * n)
        yield f"{family}/{name}", jit(program.function), at
        if program.over:
            yield f"{family}/{name}, gradient", grad(loss(program.function), argnums=program.over), at


def sized_shapes(arguments):
    """What each size of the dynamic arguments is, of {size of the program: arguments}; None where it does not tell."""
    leaves = [jax.tree_util.tree_leaves(args) for args in arguments.values()]
    samples, found = [{"n": n} for n in arguments], []
    for column in zip(*leaves):
        if kind_of_type(type(column[0])) is not None:
            dims = [fit(sizes, samples) for sizes in zip(*map(np.shape, column))]
            found.append(tuple(dims))
    return None if any(d is None for leaf in found for d in leaf) else found


def programs_of(function, arguments, leaves):
    """-> ({size: the program there}, how many integers of it stand for sizes)"""
    found = {}
    for n, args in arguments.items():
        asked = SizesAsked(leaves, {"n": n})
        with asked_by(asked), set_within(OF_ALL_SIZES, True):
            found[n] = asked.settled(function.ir(*args))
        if asked.refused:
            raise Unalike(asked.refused)
    return found, len(asked.params)


def compared(programs, sizes):
    """-> (ms of the comparison, ms of another size); Unalike where they are not one, or not that of other sizes."""
    start = time.perf_counter()
    generic = generalised([programs[n] for n in sizes], [{"n": n} for n in sizes])
    found = time.perf_counter() - start
    for n in OTHERS:
        if difference := generic.difference(programs[n], {"n": n}):
            raise Unalike(f"at n={n} it is another: {difference}")
    start = time.perf_counter()
    generic.at({"n": 83})
    return 1e3 * found, 1e3 * (time.perf_counter() - start)


def outcome(function, at):
    """-> (how it went, in words, what there is to say of it)"""
    try:
        arguments = {n: at(n) for n in (*SIZES, *OTHERS)}
        leaves = sized_shapes(arguments)
        if leaves is None:
            return "not asked", "the sizes of its arguments are no expressions of one"
        start = time.perf_counter()
        programs, params = programs_of(function, arguments, leaves)
        traced = 1e3 * (time.perf_counter() - start) / len(programs)
    except (WengertError, ValueError) as error:
        kind = "unalike" if isinstance(error, Unalike) else "not traced"
        return kind, str(error).splitlines()[0]
    told, why = "alike", ""
    try:
        times = compared(programs, SIZES)
    except Unalike as error:
        told, why = "alike but at 16 and 64", str(error)
        try:
            times = compared(programs, [n for n in SIZES if n not in SQUARE])
        except Unalike:
            return "unalike", str(error)
    count = next(iter(programs.values())).count()
    return told, f"{count:4} {params:3} {traced:7.1f} {times[0]:6.1f} {times[1]:6.2f}  {why}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", help="names, or parts of them, with commas between")
    only = (options.parse_args().only or "").split(",")
    warnings.simplefilter("ignore")
    tally = {}
    for name, function, at in cases():
        if any(part in name for part in only):
            told, why = outcome(function, at)
            print(f"{name:38} {told:22} {why}", flush=True)
            key = "gradient" if name.endswith("gradient") else "program", told
            tally[key] = tally.get(key, 0) + 1
    for (kind, told), count in sorted(tally.items()):
        print(f"{count:4} {kind}s: {told}")


if __name__ == "__main__":
    main()
