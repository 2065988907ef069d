"""Random programs: `jit(exact=True)` gives bit for bit what the same program gives without passes, on the same engine.

    python tests/helpers/random_exact.py 0 200 [--kind sums|flow|wide] [--on numpy|straight|native|xla] [--grad]

Kinds: `sums` are straight lines and short loops of what inexact rules look for; `flow` and `wide` are those of random_flow.py.
Engines: programs as generated NumPy, as one function with native loops, through XLA with every loop native, and through XLA.
"""

import argparse
import collections
import copy
import warnings
from unittest import mock

import jax
import numpy as np
import random_flow
from random_gradients import loss_of
from sums import Sums, sums_arguments

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.xla import dispatch
from wengert.ir.passes import dce, fold
from wengert.ir.pipeline import run as run_passes
from wengert.tracer.call import attempts
from wengert.tracer.common.errors import WengertError
from wengert.tracer.program import backend_choice


def drawn(seed, kind):
    """(function, arguments) of a seed."""
    if kind != "sums":
        return random_flow.function(random_flow.Program(seed, kind == "wide").text, seed), random_flow.arguments(seed, kind == "wide")
    return random_flow.function(Sums(seed).text, seed), sums_arguments(seed)


def outcome(seed, kind="sums", slopes=False):
    """agree, raises (both do, alike), or how the results and the arguments afterwards differ."""
    f, given = drawn(seed, kind)
    f = grad(loss_of(f), argnums=tuple(i for i, x in enumerate(given) if isinstance(x, np.ndarray))) if slopes else f
    (got, mine), (want, theirs) = run(jit(f, exact=True), given), as_traced(jit(f, exact=True), given)
    if isinstance(got, Exception) or isinstance(want, Exception):
        refused = isinstance(got, WengertError) and isinstance(want, WengertError)  # for one reason of several
        return "raises" if refused or type(got) is type(want) else f"differs: {got!r:.100} against {want!r:.100}"
    return difference((got, mine), (want, theirs)) or "agree"


def as_traced(f, given):
    """`run` of a program that has seen no pass but those that generated code relies on."""
    with mock.patch.object(attempts, "optimise", lambda func, **options: run_passes(func, (fold, dce))):
        return run(f, given)


def run(f, given):
    """(the result of f, or what it raises, the arguments afterwards)"""
    mine = copy.deepcopy(given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*mine), mine
        except Exception as error:
            return error, mine


def difference(got, want):
    """How two trees of numbers differ, or ""."""
    (got, tree), (want, other) = jax.tree_util.tree_flatten(got), jax.tree_util.tree_flatten(want)
    if tree != other:
        return f"differs: {tree} against {other}"
    return next((f"differs: {a!r:.120} against {b!r:.120}" for a, b in zip(got, want) if not same_bits(a, b)), "")


def same_bits(a, b):
    """Whether two leaves are of one kind and hold the same bits, but for what a NaN carries."""
    if type(a) is not type(b):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind not in "fc":
        return a.dtype == b.dtype and a.dtype.kind not in "fc" and np.array_equal(a, b)
    a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)))


def engine_of(name):
    """What a `with` statement is to enter so that programs run on one of ENGINES."""
    return {
        "numpy": lambda: mock.patch.object(dispatch, "program", random_flow.program),
        "straight": lambda: mock.patch.object(backend_choice, "CHOICE", "numpy"),
        "native": lambda: native.asked(0),
        "xla": lambda: native.asked(None),
    }[name]()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--kind", default="sums", choices=["sums", "flow", "wide"])
    parser.add_argument("--on", default="numpy", choices=["numpy", "straight", "native", "xla"])
    parser.add_argument("--grad", action="store_true")
    asked = parser.parse_args()
    tally = collections.Counter()
    with mock.patch.object(backend_choice, "CHOICE", "xla"), engine_of(asked.on):
        for seed in range(asked.first, asked.last):
            found = outcome(seed, asked.kind, asked.grad)
            tally[found.partition(":")[0]] += 1
            if found not in ("agree", "raises"):
                print(seed, " ".join(found.split())[:300], flush=True)
    print(asked.first, asked.last, vars(asked), dict(tally))


if __name__ == "__main__":
    main()
