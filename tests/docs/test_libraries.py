"""The programs of the guide's page on other libraries run as they stand, and give what they are to give."""

import re

import jax
import numpy as np
import pytest
from places import ROOT

PAGE = (ROOT / "docs" / "guide" / "libraries.md").read_text()
PROGRAMS = dict(re.findall(r"<!-- needs (\w+) -->\n```python\n(.*?)```", PAGE, re.S))


def of_optax(s):
    assert s["value"] < 1e-4 and np.allclose(s["p"]["w"], s["truth"], atol=0.05) and s["p"]["w"].dtype == np.float64
    assert isinstance(s["p"]["w"], jax.Array)


def of_equinox(s):
    combine, static = s["equinox"].combine, s["static"]

    def port(params, X, y):
        r = jax.vmap(combine(params, static))(X)[:, 0] - y
        return jax.numpy.where(abs(r) < 1, r * r, 2 * abs(r) - 1).mean()

    gradients(s, port)


def of_flax(s):
    gradients(s, lambda params, X, y: ((s["network"].apply(params, X) - y) ** 2).mean())


def gradients(s, port):
    """The loss has gone down, and its gradient is JAX's."""
    assert s["value"] < 0.5 * s["first"]
    want = jax.value_and_grad(port)(s["params"], s["X"], s["y"])
    got = s["step"](s["params"], s["X"], s["y"])
    leaves, trees = zip(*map(jax.tree_util.tree_flatten, (got, want)))
    assert trees[0] == trees[1]
    for x, y in zip(*leaves):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def of_emcee(s):
    plain = s["sampled"](s["log_density"])
    for chain in (s["one_by_one"], s["all_at_once"]):
        assert np.allclose(chain.mean(axis=0), [2.0, 1.0, np.log(0.5)], atol=0.2)
        assert np.allclose(chain, plain, rtol=1e-6)


def of_diffrax(s):
    integrate = pytest.importorskip("scipy.integrate")

    def at(mu):
        return integrate.solve_ivp(s["van_der_pol"], (0, 5), [2.0, 0.0], args=(mu,), rtol=1e-11, atol=1e-11).y[:, -1]

    assert np.allclose(s["last"], at(1.5), rtol=1e-5)
    assert np.allclose(s["slope"], (at(1.501) - at(1.499)) / 0.002, rtol=1e-3)


CHECKS = {"optax": of_optax, "equinox": of_equinox, "flax": of_flax, "emcee": of_emcee, "diffrax": of_diffrax}


def test_every_library_has_a_program_and_a_check():
    assert set(PROGRAMS) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_programs_with_a_library(name, tmp_path):
    pytest.importorskip(name)
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name])
    wide, space = jax.config.jax_enable_x64, {"__name__": "program"}
    try:
        exec(compile(path.read_text(), str(path), "exec"), space)
        CHECKS[name](space)
    finally:
        jax.config.update("jax_enable_x64", wide)
