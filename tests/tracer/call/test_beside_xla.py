"""Programs on jax arrays begin through XLA, and are generated NumPy once calls have shown that to be faster."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.backends.xla import dispatch, host_arrays
from wengert.benchmarks.timing import is_settling
from wengert.tracer.call import beside_xla, deferred
from wengert.tracer.program import backend_choice


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    if jax.device_count() > 1:
        pytest.skip("jax arrays run as NumPy where there is one CPU device")
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: [job.run()] and True)
    monkeypatch.setattr(beside_xla, "LEAST", 0.0)
    monkeypatch.setattr(beside_xla, "LEAST_IN_NESTS", 1e9)
    monkeypatch.setattr(deferred, "EQUATION", 1e9)  # it pays when a test says so


def ranked(x):
    y = np.sort(x) * 2.0
    return y[::-1], y.sum()


def walk(x, steps):
    """A loop whose trips data decide: signals are heard while XLA runs it."""
    s, k = 0.0, 0
    while s < steps:
        s += x[k % len(x)] + 0.5
        k += 1
    return s, k


def of_jax(x):
    return dispatch.on_device(np.array(x))


def version_of(f):
    (version,) = [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]
    return version


def settled(f, *args, want):
    """The version of a function after as many calls as it takes, each of which is right."""
    for n in range(6 + 2 * deferred.TURNS):
        got = f(*args)
        agree(jax.tree.map(np.asarray, got), jax.tree.map(np.asarray, want))
        assert all(isinstance(x, jax.Array) for x in jax.tree.leaves(got))
        if n == 3 and (waiting := version_of(f).deferred) is not None:
            assert is_settling(f) and waiting.state is deferred.WAITS
            waiting.seconds = waiting.estimate
    assert not is_settling(f)
    return version_of(f)


@pytest.mark.parametrize("function, args", [(ranked, ([3.0, 1.0, 2.0],)), (walk, ([0.5, 0.25], 30.0))])
@pytest.mark.parametrize("numpy", [True, False])
def test_calls_tell_which_is_faster(monkeypatch, function, args, numpy):
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (1.0, 4.0) if numpy else (4.0, 1.0))
    f, given = jit(function), tuple(map(of_jax, args))
    f(*given)
    (here,) = [w for e in f.compiled.entries.values() for w in e.worlds]
    before = version_of(f).deferred.replaced[1]
    version = settled(f, *given, want=function(*map(np.array, args)))
    assert version.engine == ("NumPy" if numpy else None) and version.times == ((1.0, 4.0) if numpy else (4.0, 1.0))
    assert (here.call is before) == (not numpy)
    assert "first ran    through XLA for 6 calls, until generated NumPy was compared with it beside the program" in f.explain()
    assert ("generated NumPy: " in str(f.plan(*given))) == numpy


def test_calls_that_wait_are_answered_in_front(monkeypatch):
    """Each counts, of its shape alone; the one that pays goes the long way."""
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: asked.append(job) or True)
    asked, f, few, many = [], jit(ranked), of_jax([3.0, 1.0, 2.0]), of_jax([2.0, 1.0])
    f(few), f(many)
    (here,) = [w for e in f.compiled.entries.values() for w in e.worlds]
    first, second = [v.deferred for v in here.versions]
    long, way = [], type(first).__call__
    monkeypatch.setattr(beside_xla.BesideXLA, "__call__", lambda made, *leaves: long.append(made) or way(made, *leaves))
    for _ in range(5):
        agree(jax.tree.map(np.asarray, f(few)), jax.tree.map(np.asarray, ranked(np.array([3.0, 1.0, 2.0]))))
        agree(jax.tree.map(np.asarray, f(many)), jax.tree.map(np.asarray, ranked(np.array([2.0, 1.0]))))
    assert not long and (first.calls, second.calls) == (6, 6) and not asked
    assert "through XLA, 6 calls so far; other forms wait until they pay" in f.explain()
    second.seconds = second.estimate
    for _ in range(3):
        f(few)
    assert not long and not asked
    f(many)
    assert second in long and asked == [second] and "being made in other forms" in f.explain()


def test_gradients_are_compared_too(monkeypatch):
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (1.0, 4.0))
    loss = lambda x: np.sum(np.sort(x) * np.arange(3.0))
    version = settled(jit(grad(loss)), of_jax([3.0, 1.0, 2.0]), want=np.array([2.0, 0.0, 1.0]))
    assert version.engine == "NumPy"


def test_what_cannot_be_written_stays_with_xla(monkeypatch):
    def fails(*_):
        raise RuntimeError("no NumPy today")

    monkeypatch.setattr(backend_choice, "form_beside_xla", fails)
    f = jit(ranked)
    version = settled(f, of_jax([3.0, 1.0, 2.0]), want=ranked(np.array([3.0, 1.0, 2.0])))
    assert version.engine is None and version.deferred.why == "no NumPy today"


def test_a_form_far_behind_is_not_tried_on_calls(monkeypatch):
    monkeypatch.setattr(deferred, "HOPELESS", 0.0)
    monkeypatch.setattr(beside_xla, "HOPELESS", 0.0)
    version = settled(jit(ranked), of_jax([3.0, 1.0, 2.0]), want=ranked(np.array([3.0, 1.0, 2.0])))
    assert version.deferred.trial is None and version.engine is None


@pytest.mark.parametrize("xla, numpy", [(1.2, None), (1.3, "NumPy")])
def test_it_has_to_be_clearly_ahead(monkeypatch, xla, numpy):
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (1.0, xla))
    assert settled(jit(ranked), of_jax([3.0, 1.0, 2.0]), want=ranked(np.array([3.0, 1.0, 2.0]))).engine == numpy


def mixed(x, k):
    """Rows of machine code around a product, with an index that data give."""
    y = np.exp(-x) * np.arange(x.size) + x[::-1]
    s = np.sqrt(np.abs(np.outer(y, y) @ y)) - y
    return s / s.sum(), y[k]


@pytest.fixture
def nested(monkeypatch):
    """Straight lines are made nests of XLA's program, which are taken to be faster."""
    monkeypatch.setattr(beside_xla, "LEAST", 1e9)
    monkeypatch.setattr(beside_xla, "LEAST_IN_NESTS", 0.0)
    monkeypatch.setattr(beside_xla, "AHEAD", 0.0)


def test_straight_lines_are_nests_of_xlas_program(nested):
    f, x = jit(mixed), np.array([0.5, 1.5, -0.25])
    version = settled(f, of_jax(x), of_jax(1), want=mixed(x, 1))
    assert version.engine is None and version.within_xla is not None
    assert "through XLA, straight lines and loops as" in f.explain() and "until its nests were compared" in f.explain()
    for k in (0, 2, -1, -3):
        agree(jax.tree.map(np.asarray, f(of_jax(x * k), of_jax(k))), jax.tree.map(np.asarray, mixed(x * k, k)))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(of_jax(x), of_jax(3))
    agree(jax.tree.map(np.asarray, f(of_jax(x), of_jax(1))), jax.tree.map(np.asarray, mixed(x, 1)))


def test_jax_transforms_what_has_become_nests(nested):
    f, x = jit(mixed), np.array([0.5, 1.5, -0.25])
    version = settled(f, of_jax(x), of_jax(1), want=mixed(x, 1))
    assert version.within_xla is not None
    rows = np.stack([x, 2 * x])
    with jax.enable_x64(True):
        agree(np.asarray(jax.jit(lambda x: f(x, 1)[0])(of_jax(x))), mixed(x, 1)[0])
        agree(np.asarray(jax.vmap(lambda x: f(x, 1)[0])(of_jax(rows))), np.stack([mixed(r, 1)[0] for r in rows]))
        slope = jax.grad(lambda x: f(x, 1)[1])(of_jax(x))
    agree(np.asarray(slope), grad(lambda x: mixed(x, 1)[1])(x))


def test_gradients_are_nests_too(nested):
    loss, x = lambda x: np.sum(np.tanh(x) * np.arange(3.0)), np.array([3.0, 1.0, 2.0])
    version = settled(jit(grad(loss)), of_jax(x), want=np.arange(3.0) / np.cosh(x) ** 2)
    assert version.within_xla is not None


def test_nests_that_are_slower_are_given_up(nested, monkeypatch):
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (4.0, 1.0))
    monkeypatch.setattr(beside_xla.BesideXLA, "is_ahead", lambda made: False)
    x = np.array([0.5, 1.5, -0.25])
    version = settled(jit(mixed), of_jax(x), of_jax(1), want=mixed(x, 1))
    assert version.engine is None and version.within_xla is None


@pytest.mark.parametrize("option", [{"engine": "xla"}, {"exact": True}, {"dynamic": False}])
def test_not_where_the_user_has_chosen(monkeypatch, option):
    monkeypatch.setattr(backend_choice, "HANDED", 1e9)
    f = jit(ranked, **option)
    f(of_jax([3.0, 1.0, 2.0]))
    assert version_of(f).deferred is None


def test_short_runs_and_weak_results_are_left_to_xla(monkeypatch):
    f = jit(lambda x, s: (np.sort(x) * s, s))
    out = f(of_jax([3.0, 1.0]), 2.0)
    assert out[1].weak_type and version_of(f).deferred is None
    monkeypatch.setattr(beside_xla, "LEAST", 1e9)
    f = jit(ranked)
    f(of_jax([3.0, 1.0, 2.0]))
    assert version_of(f).deferred is None


def test_results_of_committed_arrays_are_committed(monkeypatch):
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (1.0, 4.0))
    x = of_jax([3.0, 1.0, 2.0])
    there, f = jax.device_put(x, jax.devices()[0]), jit(ranked)
    assert settled(f, x, want=ranked(np.array([3.0, 1.0, 2.0]))).engine == "NumPy"
    for given, committed in ((x, False), (there, True)):
        assert [r.committed for r in f(given)] == [committed, committed]
    many = of_jax(np.arange(float(host_arrays.BY_ITSELF)))
    for given, committed in ((many, False), (jax.device_put(many, jax.devices()[0]), True)):
        with jax.enable_x64(True):
            (out,) = host_arrays.as_jax_arrays([np.array(given)], host_arrays.committed_to([given]))
        assert out.committed == committed and out.shape == many.shape


@pytest.mark.parametrize("least", [0.0, 1e9])
def test_other_shapes_and_threads_meanwhile(monkeypatch, least):
    """Versions of several lengths in one set, called from several threads while they are compared."""
    monkeypatch.setattr(deferred, "EQUATION", 0.0)
    monkeypatch.setattr(beside_xla, "LEAST_IN_NESTS", least)
    f, wrong = jit(ranked), []

    def calls(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = rng.normal(size=rng.integers(3, 6))
            got = f(jnp.asarray(x))
            wrong.extend([x] if not np.allclose(got[0], ranked(x)[0], rtol=1e-5) else [])

    threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(3)]
    with jax.enable_x64(True):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong
