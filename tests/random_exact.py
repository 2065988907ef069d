"""Random programs: `jit(exact=True)` gives bit for bit what the same program gives without passes, on the same engine.

    python tests/random_exact.py 0 200 [--kind sums|flow|wide] [--on numpy|straight|native|xla] [--grad]

Kinds: `sums` are straight lines and short loops of what inexact rules look for; `flow` and `wide` are those of random_flow.py.
Engines: programs as generated NumPy, as one function with native loops, through XLA with every loop native, and through XLA.
"""

import argparse
import collections
import copy
import random
import warnings
from unittest import mock

import jax
import numpy as np
import random_flow
from random_gradients import loss_of

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.xla import dispatch
from wengert.ir.passes import dce, fold
from wengert.ir.pipeline import run as run_passes
from wengert.tracer import engine, entry

ROWS, COLUMNS = 24, 37  # sizes at which vectors have a rest, and products are worth rewriting


class Sums:
    """Writes a function of vectors x, y of 37 elements, matrices a, b and a number p; `r` decides."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        lines = [line for _ in range(self.r.randint(3, 8)) for line in self.statement()]
        kept = self.r.sample(["x", "y", "a", "b", "p"], self.r.randint(2, 4))
        self.text = "\n    ".join(["import numpy as np\ndef f(a, b, x, y, p):", *lines, f"return {', '.join(kept)},\n"])

    def vector(self):
        return self.r.choice(["x", "y", "x", "y", "a[3]", "b[1]", "a.mean(axis=0)"])

    def factor(self):
        return self.r.choice(["0.3", "1.7", "-0.1", "3.0", "p", "2.0", "7.0"])

    def statement(self):
        v, u, w, k, l = self.vector(), self.vector(), self.vector(), self.factor(), self.factor()
        z, m, n = self.r.choice("xy"), *self.r.sample("ab", 2)
        return self.r.choice([
            [f"{z} = {k} * ({l} * {v})"],
            [f"{z} = {v} / {k} / {l}"],
            [f"{z} = ({v} * {k}) / {l} + {u}"],
            [f"{z} = {v} * {u} + {w}"],
            [f"{z} = {v} * {u} - {w} * {v}"],
            [f"{z} = {k} * {v} + {k} * {u}"],
            [f"{z} = {k} * {v} - {k} * {u}"],
            [f"{z} = {v} * (1.0 / (1.5 + {u} * {u}))"],
            [f"{z} = {v} / (1.0 / (1.5 + {u} * {u}))"],
            [f"{z} = np.log(1.0 + np.exp({v}))"],
            [f"{z} = 1.0 / (1.0 + np.exp(-{v}))"],
            [f"{z} = np.log(np.exp({v}) / np.exp({v}).sum())"],
            [f"{z} = np.abs({v}) ** {self.r.choice(['0.5', '1.5', '2.0', '3.0', '-1.0', '2.5'])} * {k}"],
            [f"{z} = {v} ** {self.r.choice(['2', '3', '-2', '5'])} + {u}"],
            [f"{z} = 1.0 / np.sqrt(1.0 + {v} * {v})"],
            [f"{z} = np.where({v} > 0, {u}, 0.0) + {w}"],
            [f"{z} = -({v} - {u}) * {k}"],
            [f"{z} = np.cumsum({v}) * {k}"],
            [f"{z} = np.tanh({v} * {k}) * {u} + {w}"],
            [f"p = (-{v}).sum() * 0.01"],
            [f"p = ({k} * {v}).sum() * 0.01"],
            [f"p = np.dot({v}, {u}) * 0.01"],
            [f"p = ({m} * {n}).sum(axis=1).sum() * 0.01"],
            [f"p = {m}.T.sum() * {k} * 0.01"],
            [f"p = np.broadcast_to({v}[:, None], (37, 5)).sum(axis=1).mean()"],
            [f"{z} = ({m} @ {v}) @ {n} * 0.1"],
            [f"{z} = {m}.T @ ({n} @ {v}) * 0.1"],
            [f"{m} = ({m} @ {n}.T) @ {n} * 0.01"],
            [f"{m} = ({m} @ {n}.T).T @ {n} * 0.01 + {m} * {k}"],
            [f"{z} = {m}.T @ ({n} @ {v}) * 0.1 + {m}.T @ ({m} @ {u}) * 0.1"],
            [f"{m} = {m} * {k} + np.outer({n} @ {v}, {u}) * 0.1"],
            [f"{m}[2:9] += {n}[3:10] * {k}"],
            [f"{z}[4:20] = {v}[3:19] + {u}[5:21] * {k}"],
            ["for i in range(24):", f"    {m}[i] = ({n}[i] @ {m}.T) @ {n} * 0.01"],
            ["for i in range(24):", f"    {m}[i] = {n}[i] @ np.outer(x, y) * 0.01"],
            ["for i in range(1, 37):", f"    {z}[i] = {z}[i - 1] * {k} * 0.1 + {v}[i]"],
            ["for i in range(24):", f"    p = p * 0.9 + {m}[i].sum() * 0.01"],
            ["for i in range(24):", f"    p += {m}[i, 3] * {n}[i, i] * 0.1"],
            ["for i in range(24):", f"    {z} = {z} * 0.9 + {m}[i] * {n}[i] * 0.1"],
            [f"if p > {k}:", f"    {z} = {v} / {l} + {u}"],
        ])  # fmt: skip


def drawn(seed, kind):
    """(function, arguments) of a seed."""
    if kind != "sums":
        return random_flow.function(random_flow.Program(seed, kind == "wide").text, seed), random_flow.arguments(seed, kind == "wide")
    r = np.random.default_rng(seed)
    given = r.normal(size=(ROWS, COLUMNS)), r.normal(size=(ROWS, COLUMNS)), r.normal(size=COLUMNS), r.normal(size=COLUMNS), float(r.normal())
    return random_flow.function(Sums(seed).text, seed), given


def outcome(seed, kind="sums", slopes=False):
    """agree, raises (both do, alike), or how the results and the arguments afterwards differ."""
    f, given = drawn(seed, kind)
    f = grad(loss_of(f), argnums=tuple(i for i, x in enumerate(given) if isinstance(x, np.ndarray))) if slopes else f
    (got, mine), (want, theirs) = run(jit(f, exact=True), given), as_traced(jit(f, exact=True), given)
    if isinstance(got, Exception) or isinstance(want, Exception):
        return "raises" if type(got) is type(want) else f"differs: {got!r:.100} against {want!r:.100}"
    return difference((got, mine), (want, theirs)) or "agree"


def as_traced(f, given):
    """`run` of a program that has seen no pass but those that generated code relies on."""
    with mock.patch.object(entry, "optimise", lambda func, **options: run_passes(func, (fold, dce))):
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
        "straight": lambda: mock.patch.object(engine, "CHOICE", "numpy"),
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
    with mock.patch.object(engine, "CHOICE", "xla"), engine_of(asked.on):
        for seed in range(asked.first, asked.last):
            found = outcome(seed, asked.kind, asked.grad)
            tally[found.partition(":")[0]] += 1
            if found not in ("agree", "raises"):
                print(seed, " ".join(found.split())[:300], flush=True)
    print(asked.first, asked.last, vars(asked), dict(tally))


if __name__ == "__main__":
    main()
