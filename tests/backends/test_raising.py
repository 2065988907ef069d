"""Programs of jax arrays that raise where a check has failed: same errors, same results, no status."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wengert import jit
from wengert.backends import native
from wengert.backends.xla import dispatch
from wengert.tracer.program.trap import Trap

pytestmark = pytest.mark.skipif(not native.can_raise(), reason="there is no machine code of ours here")


def picked(x, i):
    return x[i].sum(), x * 2


def world(f):
    (entry,) = f.compiled.entries.values()
    return entry.current


def test_raises_what_it_did_and_goes_on():
    f, x, good, bad = jit(picked), jnp.arange(5.0), jnp.array([0, 1]), jnp.array([0, 9])
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
        f(x, bad)  # the first call
    for _ in range(3):
        assert [r.tolist() for r in f(x, good)] == [1.0, [0, 2, 4, 6, 8]]
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            f(x, bad)
    assert isinstance(world(f).call, Trap)


def test_the_call_launches_no_status(monkeypatch):
    f, x, i = jit(picked), jnp.arange(5.0), jnp.array([0, 1])
    f(x, i)
    monkeypatch.setattr(world(f), "base", None)
    monkeypatch.setattr(dispatch, "number", None)
    total, double = f(x, i)
    assert total == 1 and double.shape == (5,)
    with dispatch.wide():
        assert len(world(f).call.quick(x, i)) == 2


def test_several_shapes_share_it():
    f, x = jit(picked), jnp.arange(5.0)
    for i in ([0], [0, 1], [0], [4, 4, 4]):
        assert float(f(x, jnp.array(i))[0]) == sum(i)
        with pytest.raises(IndexError):
            f(x, jnp.array([7] * len(i)))
    assert len(world(f).versions) == 3 and isinstance(world(f).call, Trap)


def test_large_programs_that_do_not_wait_fail_too():
    """Such a call is run on another thread: the error comes when a result is waited for."""
    f, x = jit(lambda x, i: np.tanh(x @ x)[i]), jnp.ones((300, 300))
    assert f(x, jnp.array([1, 2])).shape == (2, 300)
    with pytest.raises(IndexError):
        f(x, jnp.array([1, 300]))


def test_another_version_that_checks_nothing():
    def f(x, i):
        return x + i if x.ndim else x * i

    def g(x, i):
        return x[i] if x.ndim == 1 else x + i

    for function in (f, g):
        made, i = jit(function), jnp.array(1)
        for _ in range(2):
            assert made(jnp.arange(3.0), i).tolist() == np.asarray(function(np.arange(3.0), np.array(1))).tolist()
            assert made(jnp.ones((2, 2)), i).tolist() == np.asarray(function(np.ones((2, 2)), np.array(1))).tolist()
    assert not isinstance(world(made).call, Trap)
    with pytest.raises(IndexError):
        made(jnp.arange(3.0), jnp.array(3))


def test_the_bearer_is_not_empty():
    """XLA computes nothing that is."""
    f = jit(lambda x, i: (np.sin(x[:0]), x[i]))
    f(jnp.arange(3.0), jnp.array(0))
    assert world(f).call.bearer == 1
    with pytest.raises(IndexError):
        f(jnp.arange(3.0), jnp.array(3))
    g = jit(lambda x, i: (x, x[i][:0]))
    for _ in range(2):
        assert g(jnp.ones((3, 2)), jnp.array(0))[1].shape == (0,)
        with pytest.raises(IndexError):
            g(jnp.ones((3, 2)), jnp.array(3))
    assert not isinstance(world(g).call, Trap)


def test_errors_that_are_no_check(monkeypatch):
    """What cannot run so runs with its status from then on."""
    f, x, i = jit(picked), jnp.arange(5.0), jnp.array([0, 1])
    f(x, i)

    def refused(*leaves):
        raise RuntimeError("no such function here")

    here = world(f)
    monkeypatch.setattr(here.call, "quick", refused)
    with dispatch.wide():
        assert float(here.call(x, i)[0]) == 1 and here.call is here.base
    assert float(f(x, i)[0]) == 1


def test_in_a_trace_of_jax():
    f = jit(lambda x: np.linalg.solve(x, x[0]))
    f(jnp.eye(2))
    np.testing.assert_array_equal(jax.jit(lambda y: f(jnp.eye(2)) + y)(1.0), [2, 1])
    with pytest.raises(jax.errors.JaxRuntimeError, match="LinAlgError: Singular matrix"):
        jax.jit(lambda y: f(jnp.zeros((2, 2))) + y)(1.0)


@pytest.mark.parametrize("options", [{"native": False}, {"device": "cpu"}, {"tier": "background"}])
def test_where_it_is_not(options):
    f, x = jit(picked, **options), jnp.arange(5.0)
    for _ in range(3):
        assert float(f(x, jnp.array([0, 1]))[0]) == 1
        with pytest.raises(IndexError):
            f(x, jnp.array([0, 9]))
