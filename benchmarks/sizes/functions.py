"""One generated function for all sizes beside those of one size: seconds to make, and microseconds a call.

    python benchmarks/sizes/functions.py [--sizes 50 200] [--only NAME]

For each of the eight programs of `programs.py`, and the gradient of its sum: whether there is a function for all sizes,
what making it takes once the traces are there, and a call of it, of the one with straight lines as nests, and of the
straight function of exactly this size (engine="numpy"), the least of five rounds each.
"""

import argparse
import timeit

import jax
import numpy as np
from programs import PROGRAMS

from wengert import grad, jit
from wengert.ir.types import type_of
from wengert.tracer.call.family import NoFamily, family
from wengert.tracer.guards.guard import Read
from wengert.tracer.program.backend_choice import as_asked
from wengert.tracer.program.size_free import SizeFree, Unalike

SEEN = 40, 57  # sizes of the calls that a family is found by


def arguments(make, n):
    return make(n, np.random.default_rng(n))


def microseconds(call):
    timer = timeit.Timer(call)
    count, _ = timer.autorange()
    return min(timer.repeat(5, count)) / count * 1e6


def of_all_sizes(compiled, make, largest, nests):
    """The NumPyCall, what it takes in, and the seconds that it took."""
    for n in SEEN:
        compiled(*arguments(make, n))
    entry = list(compiled.compiled.entries.values())[-1]
    types = lambda n: tuple(map(type_of, jax.tree_util.tree_leaves(arguments(make, n))))
    (callee, *_) = compiled.compiled.front.callees
    with compiled.compiled.lock, as_asked(entry):
        found = callee(family, entry, [types(n) for n in SEEN])
        callee(found.extended, types(largest))
        start = timeit.default_timer()
        kinds, at = [entry.types[i] for i in entry.dynamic], [s.sizes for s in found.samples]
        made = SizeFree(found.specialisations, kinds, at, found.names.names, nests=nests)
        for sizes in found.verified[len(at) :]:
            if not made.agrees(found.version(sizes), sizes):
                raise Unalike(f"it is another function at {sizes}")
        call = made.call(found.told_facts())
        return call, [x.get() if isinstance(x, Read) else x for x in made.inputs], timeit.default_timer() - start


def of_one_size(compiled, args):
    """The function of exactly these sizes and what it takes behind the leaves; None where there is none."""
    compiled(*args)
    here = list(compiled.compiled.entries.values())[-1].current
    return here.versions[-1].straight, here.gather()


def line(name, function, make, sizes):
    cells = [f"{name:24}"]
    for nests in (False, True):
        try:
            call, inputs, seconds = of_all_sizes(jit(function, engine="numpy"), make, 2 * max(sizes), nests)
        except (NoFamily, Unalike) as why:
            return f"{name:24} {type(why).__name__}: {why}"
        cells.append(f"{'nests' if nests else 'calls'} {seconds:5.2f} s")
        for n in sizes:
            leaves = jax.tree_util.tree_leaves(arguments(make, n))
            with np.errstate(all="ignore"):
                cells.append(f"{n}: {microseconds(lambda: call.call(*leaves, *inputs)):8.1f}")  # noqa: B023
    cells.append("one size")
    for n in sizes:
        args = arguments(make, n)
        leaves = jax.tree_util.tree_leaves(args)
        call, inputs = of_one_size(jit(function, engine="numpy", dynamic=False), args)
        with np.errstate(all="ignore"):
            cells.append(f"{n}: {microseconds(lambda: call.call(*leaves, *inputs)):8.1f}" if call else f"{n}: none")  # noqa: B023
    return "  ".join(cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--only")
    options = parser.parse_args()
    for name, (function, make, argument) in PROGRAMS.items():
        if options.only in (None, name):
            loss = lambda *args, function=function: np.sum(function(*args))
            print(line(name, function, make, options.sizes), flush=True)
            print(line(f"gradient, {name}", grad(loss, argnums=argument), make, options.sizes), flush=True)
