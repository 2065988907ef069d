"""Traces of one function at several sizes, and the one generated function that they have in common."""

import copy

import jax
import numpy as np
from compare import agree

from wengert import jit
from wengert.tracer.guards.guard import Read
from wengert.tracer.program.numpy_function import MISS
from wengert.tracer.program.size_free import SizeFree

SAMPLES = [{"n": n} for n in (37, 38, 75, 101, 45, 66)]


class SampledCalls:
    """function: traced; make(rng, **sizes): arguments; transform: what is compiled, of the function."""

    def __init__(self, function, make, transform=lambda f: f, samples=SAMPLES, where=None, nests=False):
        self.make = make
        self.compiled = jit(transform(function), engine="numpy", whole=True)
        self.plain = function if transform(function) is function else self.compiled  # derivatives at one size each
        versions = [self.version(sample) for sample in samples]
        self.made = SizeFree(versions, self.types, samples, where or {"n": (0, 0)}, nests=nests)

    def arguments(self, sizes, seed=0):
        return self.make(np.random.default_rng(seed), **sizes)

    def version(self, sizes):
        """The trace for arguments of these sizes."""
        before = [v for entry in self.compiled.compiled.entries.values() for v in entry.current.versions]
        self.compiled(*self.arguments(sizes))
        entry = list(self.compiled.compiled.entries.values())[-1]
        self.types = [entry.types[i] for i in entry.dynamic]
        return next(v for v in entry.current.versions if v not in before)

    def grow(self, *samples):
        """Have the function serve all sizes up to these."""
        for sample in samples:
            assert self.made.agrees(self.version(sample), sample), sample

    def inputs(self):
        return [x.get() if isinstance(x, Read) else x for x in self.made.inputs]

    def check(self, sizes, rtol=1e-12):
        """The results and the arguments left behind are plain Python's at all these sizes."""
        call = self.made.call()
        for k, sample in enumerate(sizes):
            ours = self.arguments(sample, seed=k)
            plain = copy.deepcopy(ours)
            with np.errstate(all="ignore"):
                want = self.plain(*plain)
            got = call(*jax.tree_util.tree_leaves(ours), *self.inputs())
            assert got is not MISS, sample
            agree(got, want, rtol)
            agree(ours, plain, rtol)
        return call


def vector(rng, n):
    return (rng.standard_normal(n),)


def vectors(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n)


def rows(rng, n):
    return (rng.standard_normal((n, 4)),)


def square(rng, n):
    return (rng.standard_normal((n, n)),)
