"""Long chains that several equations read are computed once on CPUs, and nothing else changes by it."""

import jax
import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.backends.xla import materialize
from wengert.backends.xla.fence import Fence
from wengert.backends.xla.lower import lower
from wengert.backends.xla.materialize import CHEAP, materialized
from wengert.ir.core import Lit
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


X, SCALES = np.linspace(0.1, 0.9, N), list(np.linspace(0.005, 0.01, DEPTH))


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
    monkeypatch.setattr(materialize, "GROWTH", 0)
    few = SCALES[:20]
    with jax.enable_x64(True):
        func = program(residual, few)
        assert fences(func)
        run = lambda x: lower(func, [x, *few])[0]
        np.testing.assert_allclose(jax.jit(jax.grad(run))(X), grad(residual)(X, few), rtol=1e-9)
        rows = np.stack([X, X[::-1] * 0.5])
        np.testing.assert_allclose(jax.jit(jax.vmap(run))(rows), [residual(r, few) for r in rows], rtol=1e-12)


def test_explain_says_so():
    compiled = jit(residual)
    compiled(X, SCALES)
    assert f"{len(fences(program(residual)))} long chains are computed once" in compiled.explain()
