"""Programs that run as NumPy, called with jax arrays of the CPU."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.backends.xla import dispatch, host_arrays
from wengert.tracer.program import backend_choice

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SIZES = [0, 1, 3, 100, host_arrays.BY_ITSELF // 2, 2 * host_arrays.BY_ITSELF]


@pytest.fixture(autouse=True)
def on_one_device():
    if jax.device_count() > 1:
        pytest.skip("jax arrays run as NumPy where there is one CPU device")


def of_jax(x):
    return dispatch.on_device(np.array(x))


def as_numpy(function, *args):
    """The function as NumPy, and what it gives for these arguments, which is what it does once more."""
    f = jit(function, engine="numpy")
    out = f(*args)
    assert "generated NumPy" in str(f.plan(*args))
    again = f(*args)
    agree(jax.tree.map(np.asarray, again), jax.tree.map(np.asarray, out))
    return f, out


def is_of_jax(out, want):
    """Whether all results are jax arrays, of the values and dtypes of plain Python."""
    assert all(isinstance(x, jax.Array) for x in jax.tree.leaves(out))
    assert not any(x.weak_type for x in jax.tree.leaves(out))
    for x, y in zip(jax.tree.leaves(out), jax.tree.leaves(want), strict=True):
        assert x.dtype == np.asarray(y).dtype
        agree(np.asarray(x), np.asarray(y), 1e-5 if x.dtype.itemsize < 8 else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_results_are_jax_arrays_of_their_dtypes(dtype, size):
    def function(x, y):
        return {"sorted": np.sort(x)[::2], "sum": x.sum(), "both": (x + y, [x[1:], y])}

    rng = np.random.default_rng(size)
    x, y = (rng.integers(0, 5, size).astype(dtype) for _ in range(2))
    _, out = as_numpy(function, of_jax(x), of_jax(y))
    is_of_jax(out, function(x, y))


def test_an_array_that_is_handed_back_is_the_same_object():
    x = of_jax(np.arange(5.0))
    _, (same, more) = as_numpy(lambda x: (x, x * 2), x)
    assert same is x
    agree(np.asarray(more), np.arange(5.0) * 2)


@pytest.mark.parametrize("size", [6, 1 << 15])
def test_results_share_no_memory_with_ndarrays_of_the_caller(size):
    mine = np.arange(float(size))
    f, (tail, flat, total) = as_numpy(lambda x, y: (x.copy()[1:], x.reshape(2, -1) * 1, x + y), mine, of_jax(mine))
    want = [np.array(r) for r in (tail, flat, total)]
    mine[:] = -1
    agree([np.asarray(r) for r in (tail, flat, total)], want)
    assert all(isinstance(r, jax.Array) for r in (tail, flat, total))


def test_results_of_calls_are_apart():
    f = jit(lambda x: np.cumsum(x), engine="numpy")
    first = f(of_jax(np.ones(1 << 14)))
    kept = np.array(first)
    f(of_jax(np.full(1 << 14, 2.0)))
    agree(np.asarray(first), kept)


def test_checks_raise():
    def function(x, i):
        if x.sum() < 0:
            raise ValueError("negative")
        return np.sort(x)[i]

    f, out = as_numpy(function, of_jax(np.arange(4.0)), of_jax(2))
    assert out == 2 and isinstance(out, jax.Array)
    with pytest.raises(ValueError, match="negative"):
        f(of_jax(-np.arange(4.0)), of_jax(2))
    with pytest.raises(IndexError):
        f(of_jax(np.arange(4.0)), of_jax(7))
    assert f(of_jax(np.arange(4.0)), of_jax(1)) == 1


def test_loops_and_gradients():
    def loss(w, x):
        total = 0.0
        for i in range(len(x)):
            total += np.tanh(w @ x[i]).sum()
        return total

    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 3)), rng.normal(size=(20, 3))
    _, out = as_numpy(grad(loss), of_jax(w), of_jax(x))
    want = jit(grad(loss), engine="xla")(w, x)
    is_of_jax(out, want)


def test_within_a_trace_of_jax():
    f, out = as_numpy(lambda x: np.sort(x) * 2, x := of_jax([3.0, 1.0, 2.0]))
    with jax.enable_x64(True):
        agree(np.asarray(jax.jit(lambda y: y + f(x))(1.0)), np.asarray(out) + 1)
        agree(np.asarray(jax.jit(f)(x)), np.asarray(out))
        agree(np.asarray(jax.vmap(lambda k: k * f(x))(of_jax([1.0, 2.0]))), np.outer([1, 2], out))


def test_where_transfers_are_refused_xla_answers():
    f = jit(lambda x: np.sort(x) * 2, engine="numpy")
    x = of_jax([3.0, 1.0, 2.0])
    want = np.asarray(f(x))
    with jax.transfer_guard("disallow"):
        out = f(x)
    agree(np.asarray(out), want)


def test_without_64_bits():
    x = of_jax(np.arange(4.0)[::-1])
    f, out = as_numpy(lambda x: np.sort(x) / 3, x)
    assert out.dtype == np.float64
    with jax.enable_x64(False):
        assert f(x).dtype == np.float64
        assert jit(lambda x: np.sort(x) / 3, engine="numpy")(jnp.arange(4.0)).dtype == np.float32


def test_the_text_that_runs_is_shown():
    f, _ = as_numpy(lambda x: np.sort(x) / 3, x := of_jax(np.arange(4.0)))
    assert "np.sort(" in f.text("numpy", x)
    assert "generated NumPy" in str(f.plan(x))


@pytest.mark.parametrize("faster", [False, True])
def test_the_faster_form_is_chosen(monkeypatch, faster):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "HANDED", 0.0)
    monkeypatch.setattr(backend_choice, "turns", lambda forms, times, ready=0: (1.0, 2.0 if faster else 0.5)[-len(forms) :])
    f = jit(lambda x: np.sort(x)[::-1] * 2)
    out = f(of_jax([3.0, 1.0, 2.0]))
    is_of_jax(out, np.array([6.0, 4.0, 2.0]))
    assert ("runs         as NumPy" in f.explain()) == faster
    is_of_jax(f(of_jax([5.0, 1.0, 2.0])), np.array([10.0, 4.0, 2.0]))


def answered_by(f, *args):
    """The result of a call, and whether it ran as NumPy."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_arrays, "as_ndarrays", lambda leaves, plain=host_arrays.as_ndarrays: found.append(1) or plain(leaves))
        return f(*args), bool(found)


def test_arrays_that_are_more_than_ndarrays_are_left_to_xla():
    f = jit(lambda x, y: (np.sort(x) * 2, x, y), engine="numpy")
    x, y = of_jax(np.arange(4.0)), of_jax(3.0)
    assert answered_by(f, x, y)[1]
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    spread = jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
    out, by_numpy = answered_by(f, spread, y)
    assert not by_numpy and out[0].sharding == spread.sharding
    weak = jnp.asarray(2.0)
    out, by_numpy = answered_by(f, x.astype(weak.dtype), weak)
    assert weak.weak_type and not by_numpy and out[2].weak_type


def test_results_of_committed_arrays_are_committed():
    f, x = jit(lambda x: (np.sort(x) * 2, x.sum()), engine="numpy"), of_jax(np.arange(4.0))
    there = jax.device_put(x, jax.devices()[0])
    for given, committed in ((x, False), (there, True)):
        out, by_numpy = answered_by(f, given)
        assert by_numpy and [r.committed for r in out] == [committed, committed]


def test_numbers_of_python_are_weak(monkeypatch):
    out = jit(lambda x, s: (np.sort(x) * s, s), engine="numpy")(of_jax(np.arange(4.0)), 2.0)
    assert [r.weak_type for r in out] == [r.weak_type for r in jit(lambda x, s: (np.sort(x) * s, s), engine="xla")(of_jax(np.arange(4.0)), 2.0)]
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "HANDED", 0.0)
    monkeypatch.setattr(backend_choice, "AHEAD", 0.0)  # NumPy is the faster
    for function, by in ((lambda x, s: (np.sort(x) * s, s), "XLA"), (lambda x, s: np.sort(x) * s, "NumPy")):
        f = jit(function)
        f(of_jax(np.arange(4.0)), 2.0)
        assert answered_by(f, of_jax(np.arange(4.0)), 2.0)[1] == (by == "NumPy")


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("number", [0.0, np.float64(0.0)])
def test_bad_numbers_are_found_where_jax_looks_for_them(engine, number):
    f, x = jit(lambda x, s: np.log(np.sort(x) + s), engine=engine), of_jax(np.arange(-2.0, 2.0))
    f(x, number)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(x, number)


SEVERAL = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy as np
from wengert import jit
x = jax.device_put(np.arange(4.0), jax.devices()[1])
f = jit(lambda x: np.sort(x) * 2, engine="numpy")
print(f(x).devices() == x.devices(), "generated NumPy" in str(f.plan(x)))
"""


def test_of_several_devices_each_keeps_its_arrays():
    ran = subprocess.run([sys.executable, "-c", SEVERAL], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "False"]
