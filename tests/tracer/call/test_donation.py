"""`jit(donate=)`: arrays that a call gives away are overwritten, and no other is; what may be needed again is kept."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wengert import grad, jit, value_and_grad
from wengert.tests.helpers.draws import function

DTYPES = ("float64", "float32", "float16", "complex128", "complex64", "int64", "int32", "uint8", "bool")


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def lines(f):
    """What explain() says of arrays that are given away."""
    return [line.split("donates")[1].strip() for line in f.explain().splitlines() if line.startswith("    donates")]


def array(n=6, dtype="float64"):
    return jnp.arange(1, n + 1).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_lie_where_arguments_lay(dtype):
    f = jit(lambda x, y: np.where(y > 0, y, x), donate="x")
    for _ in range(4):  # the first call, and those that the function in front answers
        x, y = array(6, dtype), array(6, dtype)
        where = x.unsafe_buffer_pointer()
        out = f(x, y)
        np.testing.assert_array_equal(out, np.asarray(y))
        assert out.dtype == dtype and x.is_deleted() and not y.is_deleted()
        assert out.unsafe_buffer_pointer() == where
    assert lines(f) == ["x: results lie where they lay"]


def test_shapes_that_come_later():
    f = jit(lambda x: x * 2, donate="x")
    for n in (3, 4, 5, 3, 4, 5, 3):
        x = array(n)
        np.testing.assert_array_equal(f(x), 2.0 * np.arange(1, n + 1))
        assert x.is_deleted()


def test_states_of_training():
    def loss(p, x):
        return ((np.tanh(x @ p["w"]) @ p["v"] - 1.0) ** 2).mean()

    def step(params, state, x):
        value, slopes = value_and_grad(loss)(params, x)
        for name in params:
            state[name] = 0.9 * state[name] + slopes[name]
            params[name] = params[name] - 0.1 * state[name]
        return value

    def begin(of):
        params = {"w": of(np.full((4, 5), 0.1)), "v": of(np.full((5, 1), 0.2))}
        return params, {k: of(np.zeros(v.shape)) for k, v in params.items()}

    f, x = jit(step, donate=("params", "state")), np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    ours, theirs = begin(jnp.asarray), begin(np.asarray)
    for _ in range(3):
        before = [*ours[0].values(), *ours[1].values()]
        np.testing.assert_allclose(f(*ours, jnp.asarray(x)), step(*theirs, x), rtol=1e-12)
        assert all(a.is_deleted() for a in before)
        for one, other in zip(ours, theirs, strict=True):
            assert all(np.allclose(one[k], other[k], rtol=1e-12) for k in other)


def test_parts_of_an_argument():
    f = jit(lambda p: {k: v + 1.0 for k, v in p.items()}, donate="p.a")
    p = {"a": array(), "b": array()}
    f(p)
    assert p["a"].is_deleted() and not p["b"].is_deleted()
    assert lines(f) == ["p['a']: results lie where they lay"]


@pytest.mark.parametrize(
    "text, why",
    [
        ("x", "it is handed back, or a view of it"),
        ("x[1:], x + 1.0", "it is handed back, or a view of it"),
        ("[x], x + 1.0", "it is handed back, or a view of it"),
        ("x.sum()", "no result is left that is f64[6]"),
        ("x.reshape(2, 3) + 1.0", "no result is left that is f64[6]"),
        ("(x + 1.0) > 2.0", "no result is left that is f64[6]"),
        ("y * 0.0 + x.shape[0] + np.arange(6.0)", "it is not read"),
        ("x[int(y)] * x", "a check may fail (IndexError, IntegerOverflow, OverflowError, ValueError), and the call is then made again"),
        ("x + 1.0 if x.sum() > 99.0 else x.sum()", "data choose among its traces"),
        ("print(x.shape) or x + 1.0", "it acts on the world, and may raise when it has begun"),
    ],
)
def test_what_is_kept(text, why, capsys):
    f = jit(function(f"import numpy as np\ndef f(x, y): return {text}", "f"), donate="x")
    for _ in range(3):
        x = array()
        f(x, 2.0)
        assert not x.is_deleted()
        np.testing.assert_array_equal(x, np.arange(1.0, 7.0))
    assert set(lines(f)) == {f"x kept: {why}"}


def test_a_failed_check_leaves_the_array():
    f = jit(lambda x, i: x * x[i], donate="x")
    x = array()
    f(x, jnp.int64(1))
    with pytest.raises(IndexError):
        f(x, jnp.int64(6))
    np.testing.assert_array_equal(x, np.arange(1.0, 7.0))


def test_one_result_for_two_arrays():
    f = jit(lambda x, y: x + y, donate=("x", "y"))
    x, y = array(), array()
    f(x, y)
    assert x.is_deleted() and not y.is_deleted()
    assert lines(f) == ["x: results lie where they lay", "y kept: no result is left that is f64[6]"]


def test_one_array_twice():
    f = jit(lambda x, y: (x + 1.0) * y, donate="x")
    f(array(), array())
    x = array()
    np.testing.assert_array_equal(f(x, x), np.arange(2.0, 8.0) * np.arange(1.0, 7.0))
    assert not x.is_deleted()


def test_two_arrays_of_one_memory():
    f = jit(lambda x, y: (x + 1.0) * y, donate="x")
    x = array(4096)
    y = jax.device_put(x, jax.devices()[0], may_alias=True)
    assert x is not y
    np.testing.assert_array_equal(f(x, y), np.arange(2.0, 4098.0) * np.arange(1.0, 4097.0))
    np.testing.assert_array_equal(y, np.arange(1.0, 4097.0))


def test_an_array_that_is_read_outside_too():
    space = types.SimpleNamespace(w=array())
    f = jit(lambda x: x + space.w, donate="x")
    for _ in range(3):
        x = array()
        np.testing.assert_array_equal(f(x), 2.0 * np.arange(1, 7))
        assert x.is_deleted() and not space.w.is_deleted()
    f(space.w)  # which gives that one away
    assert space.w.is_deleted()
    space.w = array()
    np.testing.assert_array_equal(f(array()), 2.0 * np.arange(1, 7))


def test_an_array_from_outside_that_is_handed_back():
    space = types.SimpleNamespace(w=array(), old=None)

    def step(x):
        space.old = space.w
        space.w = x * 2.0
        return x + 1.0

    for f in (lambda x: (x + 1.0, space.w), lambda x: {"w": space.w, "x": x * 2.0}, step):
        f = jit(f, donate="x")
        for _ in range(3):
            x = space.w = array()
            f(x)
            assert not x.is_deleted() and (space.old is None or not space.old.is_deleted())
        assert set(lines(f)) == {"x kept: an array from outside is handed back, which may be the same"}


def test_names_of_no_arrays_are_told():
    f = jit(lambda *args: args[0] + 1.0, donate="args")
    f(array())
    assert lines(f) == ["nothing of args: arrays are called arg0"]


def test_what_is_measured_overwrites_nothing():
    f = jit(lambda x: x * 2.0 + 1.0, donate="x")
    f(array())
    x = array()
    f.plan(x, measure=True)
    np.testing.assert_array_equal(x, np.arange(1.0, 7.0))


def test_memory_that_numpy_sees_is_kept():
    f = jit(lambda x: x + 1.0, donate="x")
    x = array(4096)
    seen = np.asarray(x)
    f(x)
    np.testing.assert_array_equal(seen, np.arange(1.0, 4097.0))


def test_ndarrays_are_never_overwritten():
    f = jit(lambda x, y: x + y, donate="x")
    x = np.arange(4096.0)
    for y in (x + 1.0, jnp.ones(4096)):
        f(x, y)
        np.testing.assert_array_equal(x, np.arange(4096.0))


def test_within_other_traces_nothing_is_overwritten():
    f = jit(lambda x: x * x, donate="x")
    x = array()
    np.testing.assert_array_equal(grad(lambda x: f(x).sum())(x), 2.0 * np.arange(1, 7))
    np.testing.assert_array_equal(jit(lambda x: f(x) + x)(x), np.arange(1.0, 7.0) ** 2 + np.arange(1.0, 7.0))
    np.testing.assert_array_equal(jax.jit(lambda x: f(x) + x)(x), np.arange(1.0, 7.0) ** 2 + np.arange(1.0, 7.0))
    assert not x.is_deleted()


def test_an_array_that_is_gone():
    f = jit(lambda x, y: x + y, donate="x")
    for _ in range(3):
        x = array()
        f(x, array())
        with pytest.raises(RuntimeError, match=r"is called with deleted memory: x\n  A call to which donate= gives"):
            f(x, array())


@pytest.mark.parametrize(
    "donate, options, error, text",
    [
        (0, {}, TypeError, "donate takes names of parameters, not 0"),
        ("z", {}, ValueError, "donate names 'z', and no parameter is called so\n  They are x, y."),
        ("x", {"check": True}, ValueError, "check=True needs once it has run"),
        ("x", {"debug": "nan"}, ValueError, "debug= needs once it has run"),
        ("x", {"tier": "background"}, ValueError, "tier='background' needs once it has run"),
    ],
)
def test_what_cannot_be_asked(donate, options, error, text):
    with pytest.raises(error) as found:
        jit(lambda x, y: x + y, donate=donate, **options)
    assert text in str(found.value)
