"""Long chains that several equations read are computed once on CPUs, and nothing else changes by it."""

import jax
import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.backends.xla import fusion_barrier
from wengert.backends.xla.fusion_barrier import CHEAP, materialized
from wengert.backends.xla.lower import lower
from wengert.backends.xla.write_after_read import Fence
from wengert.ir.core import Lit
from wengert.ir.exactness import exactly
from wengert.ir.ops import OPS
from wengert.ir.ops.control import evaluate

N, DEPTH = 128, 100


def residual(x, scales):
    """A sum carried from layer to layer, of which each layer reads the mean: n^2 work where it is fused into every reader."""
    for s in scales:
        x = x + s * (x - np.mean(x)) * (1.0 - x)
    return np.sum(x * x)


def chain(x, scales):
    """As long, with one reader a value: there is nothing to be computed once."""
    for s in scales:
        x = np.tanh(x + s) * s + 0.5
    return np.sum(x)


def spread(x, scales):
    """A stencil whose coefficients are read by chains that others contain."""
    for s in scales[:10]:
        x = x + s * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
    return np.sum(x * x)


# arrays, so that the loop over them is written out: over a list of numbers it is one loop
X, SCALES = np.linspace(0.1, 0.9, N), [np.array(s) for s in np.linspace(0.005, 0.01, DEPTH)]


def program(f, scales=SCALES):
    compiled = jit(f)
    compiled(X, scales)
    (entry,) = compiled.compiled.entries.values()
    return entry.current.versions[0].func


def fences(func):
    return [item for item in materialized(func) if isinstance(item, Fence)]


def test_only_long_shared_chains_are_fenced():
    found = fences(program(residual))
    assert found and all(e.op in CHEAP for f in found for e in f.eqns)
    assert not fences(program(chain))
    assert OPS["tanh"] not in CHEAP


@pytest.mark.parametrize("f", [residual, grad(residual), spread, grad(spread)], ids=["residual", "its gradient", "stencil", "its gradient too"])
def test_every_equation_runs_once_and_after_what_it_reads(f):
    func = program(f)
    assert fences(func)
    bound, run = set(func.params), []
    for item in materialized(func):
        for eqn in item.eqns if isinstance(item, Fence) else [item]:
            assert all(x in bound or isinstance(x, Lit) for x in eqn.operands)
            bound.update(eqn.results)
            run.append(eqn)
    assert sorted(map(id, run)) == sorted(map(id, func.eqns))


def test_xla_keeps_the_branches():
    func = program(residual)
    with jax.enable_x64(True):
        run = jax.jit(lambda *xs: lower(func, xs))
        if jax.default_backend() == "cpu":
            assert run.lower(X, *SCALES).compile().as_text().count(" conditional(") == len(fences(func))
        np.testing.assert_allclose(run(X, *SCALES), evaluate(func, (X, *SCALES)), rtol=1e-12)


def test_as_plain_python_and_its_derivative():
    check_same(residual, X, SCALES)
    step = 1e-6 * np.cos(np.arange(N))
    slope = (residual(X + step, SCALES) - residual(X - step, SCALES)) / 2e-6
    np.testing.assert_allclose(grad(residual)(X, SCALES) @ np.cos(np.arange(N)), slope, rtol=1e-6)
    np.testing.assert_allclose(jit(residual, exact=True)(X, SCALES), residual(X, SCALES), rtol=1e-12)


def test_jax_differentiates_and_batches_it(monkeypatch):
    monkeypatch.setattr(fusion_barrier, "GROWTH", 0)
    few = SCALES[:20]
    with jax.enable_x64(True):
        func = program(residual, few)
        assert fences(func)
        run = lambda x: lower(func, [x, *few])[0]
        np.testing.assert_allclose(jax.jit(jax.grad(run))(X), grad(residual)(X, few), rtol=1e-9)
        rows = np.stack([X, X[::-1] * 0.5])
        np.testing.assert_allclose(jax.jit(jax.vmap(run))(rows), [residual(r, few) for r in rows], rtol=1e-12)


def kernel(X, Y, gamma):
    """Sums of a few numbers each, whose exponentials are taken."""
    return np.exp(-gamma * ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("few, form", [(3, "branch"), (8, "product")])
@pytest.mark.parametrize("f", [kernel, grad(lambda *args: kernel(*args).sum())], ids=["sums", "their gradient"])
def test_sums_are_computed_before_exponentials(f, few, form):
    args = *np.random.default_rng(0).normal(size=(2, 40, few)), 0.1
    func = jit(f).ir(*args)
    sums = [e for e in func.eqns if e.op is OPS["reduce_sum"] and e.results[0].type.shape == (40, 40)]
    found = fences(func)
    assert [f.results for f in found] == ([list(e.results) for e in sums] if form == "branch" else [])
    with jax.enable_x64(True):
        text = jax.jit(lambda *xs: lower(func, xs)).lower(*args).as_text()
    if jax.default_backend() == "cpu":
        assert (" dot_general" in text or "stablehlo.dot" in text) is (form == "product")
    check_same(f, *args)


def test_what_is_no_exponential_or_is_stored_needs_no_branch_or_product():
    args = *np.random.default_rng(0).normal(size=(2, 40, 8)), 0.1
    assert not fences(jit(lambda X, Y, gamma: np.sqrt(((X[:, None] - Y) ** 2).sum(-1)) * gamma).ir(*args))
    stored = np.random.default_rng(0).normal(size=(40, 40, 8))
    assert len(fences(jit(lambda x: np.exp(x.sum(-1))).ir(stored))) == 1
    with exactly(True):
        assert len(fences(jit(kernel).ir(*args))) == 1


def test_explain_says_so():
    compiled = jit(residual)
    compiled(X, SCALES)
    assert f"{len(fences(program(residual)))} long chains are computed once" in compiled.explain()
