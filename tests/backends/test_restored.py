"""Extremes need not carry NaN where it comes back without them, and carry it elsewhere."""

import jax
import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.backends.xla import lower
from wengert.backends.xla.nan_elision import KEEP_NAN, restored
from wengert.ir.op import reals

X = np.random.default_rng(0).normal(size=(3, 3000))
W = np.random.default_rng(1).normal(size=(3000, 2))
PLACES = np.array([5, 0, 2999])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def along_the_first(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def of_all(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def logsumexp(x):
    m = x.max(axis=1)
    return m + np.log(np.exp(x - m[:, None]).sum(axis=1))


def attention(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e @ W / e.sum(axis=1, keepdims=True)


def cross_entropy(x):
    z = x - x.max(axis=-1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=-1)) - z[np.arange(len(x)), PLACES])


def spread(x):
    """The range between the extremes, of which one is of other numbers."""
    return (x - x.min(axis=1, keepdims=True)).sum(axis=1)


def exponentials(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def and_the_extreme(x):
    return softmax(x), x.max(axis=-1)


def where_it_is(x):
    return (x == x.max(axis=1, keepdims=True)).sum(axis=1)


def across(x):
    """The sums of one index for the exponentials of another."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1)[::-1, None]


def one_by_one(x):
    z = x - x.max(axis=-1, keepdims=True)
    return np.log(np.exp(z).sum(axis=-1)) - z[np.arange(len(x)), PLACES]


def chosen(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.where(x > 0, e / e.sum(axis=-1, keepdims=True), e)


def summed_across(x):
    return np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=0)


def product_across(x):
    return W[:3].T @ np.exp(x - x.max(axis=1, keepdims=True))


FREE = [softmax, along_the_first, of_all, logsumexp, attention, cross_entropy, spread]
BOUND = [exponentials, and_the_extreme, where_it_is, across, one_by_one, chosen, summed_across, product_across]


@pytest.mark.parametrize("f", FREE + BOUND)
def test_nan_is_where_it_has_to_be(f):
    func = jit(f).ir(X)
    assert bool(restored(func)) is (f in FREE)
    run = jit(f, engine="xla")
    agree(run(X), f(X), 1e-9)
    for rows, columns in ((1, 5), (0, 2999), ([0, 2], [0, 17]), (slice(None), 7), (2, slice(None))):
        x = X.copy()
        x[rows, columns] = np.nan
        with np.errstate(all="ignore"):
            agree(run(x), f(x), 1e-9)
    x = X.copy()
    x[1, 9] = np.inf
    with np.errstate(all="ignore"):
        agree(run(x), f(x), 1e-9)


def of_floats(op):
    """Whether an op takes operands of float64 alone, and no attributes."""
    return not op.attrs and any(c.specs and all(isinstance(s, str) and s.startswith("f64") for s in c.specs) for c in op.cases)


@pytest.mark.parametrize("op", sorted([op for op in KEEP_NAN if of_floats(op)], key=lambda op: op.name), ids=lambda op: op.name)
def test_these_ops_keep_nan_in_large_arrays(op):
    rng = np.random.default_rng(0)
    x, *others = [np.abs((op.sample or reals)(rng, (10_000,))) for _ in op.operands]
    x[::77] = np.nan
    for operands in ([x, *others], [*others, x]):
        with jax.enable_x64(True):
            got = np.asarray(jax.jit(lambda *xs: lower.__globals__["XLA"][op](*xs))(*operands))
        np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
