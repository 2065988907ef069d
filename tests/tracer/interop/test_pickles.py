"""Compiled functions in pickles, copies and worker processes: how they were made travels, by name or by value."""

import copy
import functools
import pickle
import subprocess
import sys
import types
import weakref

import jax.numpy as jnp
import numpy as np
import pytest
from collected import collect

import wengert
from wengert import custom_vjp, from_jax, grad, hessian, jacfwd, jit, value_and_grad, vmap
from wengert.examples import logistic

X = np.arange(3.0)


def by_value():
    """Functions as a script has them: cloudpickle takes them apart, for no module has them under their name."""
    scale, table = 3.0, np.array([1.0, 2.0, 4.0])
    loss = lambda x: (x * x).sum() * scale

    class Model:
        def __init__(self, gain):
            self.gain = gain
            self.step = jit(self.plain)
            self.partial = functools.partial(jit(lambda w, x: w * x), 2.0)

        def plain(self, x):
            return self.gain * x

        @jit
        def method(self, x):
            return self.gain + x

    @jit
    def doubled(x, n):
        return x if n == 0 else doubled(x * 2, n - 1)

    @custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
    model = Model(2.0)
    return {
        "jit": (jit(loss), (X,)),
        "options": (jit(loss, exact=True, engine="numpy", device="cpu", cache=False), (X,)),
        "check": (jit(loss, check=True), (X,)),
        "table": (jit(lambda x: x + table), (X,)),
        "grad": (grad(loss), (X,)),
        "value_and_grad": (value_and_grad(loss, argnums="x"), (X,)),
        "vmap": (vmap(loss, in_axes=(1,)), (np.ones((2, 3)),)),
        "hessian": (hessian(loss), (X,)),
        "jacfwd": (jacfwd(jit(np.tanh)), (X,)),
        "jit of grad": (jit(grad(loss)), (X,)),
        "from_jax": (from_jax(lambda x: jnp.tanh(x).sum()), (X,)),
        "grad of from_jax": (grad(from_jax(lambda x: jnp.tanh(x).sum())), (X,)),
        "rule": (square, (X,)),
        "grad of rule": (grad(lambda x: square(x).sum()), (X,)),
        "calls itself": (doubled, (X, 3)),
        "ufunc": (jit(np.tanh), (X,)),
        "method": (model.method, (X,)),
        "bound": (model.step, (X,)),
        "partial": (model.partial, (X,)),
    }


@pytest.fixture
def cloudpickle():
    return pytest.importorskip("cloudpickle")


@pytest.mark.parametrize("name", by_value())
def test_by_value(name, cloudpickle):
    f, given = by_value()[name]
    meant = [f(*given) for _ in range(3)][-1]  # after three calls the code has what was compiled inline
    made = pickle.loads(cloudpickle.dumps(f))
    again = pickle.loads(cloudpickle.dumps(made))
    for other in (made, again):
        for _ in range(2):
            for got, want in zip(parts_of(other(*given)), parts_of(meant), strict=True):
                assert type(got) is type(want)
                np.testing.assert_array_equal(got, want)


def parts_of(x):
    return list(x) if isinstance(x, tuple) else [x]


def looping():
    """Functions with loops and branches on data, one that another one calls, one that raises."""
    halved = lambda s: s / 2

    def below(s):
        while s > 1.0:
            s = halved(s)
        return s

    def total(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                s += below(x[i] * 3)
        return s

    def positive(x):
        if x.sum() < 0:
            raise ValueError("x must be positive")
        return np.sqrt(x)

    return total, positive


def test_loops_and_branches_are_captured_where_they_arrive(cloudpickle):
    """cloudpickle tells no file, so the source travels, also with what has travelled once."""
    total, _ = looping()
    made = pickle.loads(cloudpickle.dumps(jit(total)))
    again, slope = pickle.loads(cloudpickle.dumps((made, grad(made))))
    assert made.__wrapped__.__code__.co_filename != __file__ or cloudpickle.__version__ < "3.1.2"
    for f in (made, again):
        assert f(X) == total(X)
        assert "by value" not in f.explain() and "2 loops" in f.explain()
    np.testing.assert_array_equal(slope(X), grad(total)(X))


ARRIVING = """
import pickle, sys
import numpy as np
total, slope = pickle.loads(open(sys.argv[1], "rb").read())
x = np.arange(40.0)
print(total(x), slope(x)[5], "2 loops" in total.explain())
"""


def test_in_another_process_too(cloudpickle, tmp_path):
    total, _ = looping()
    (tmp_path / "pickle").write_bytes(cloudpickle.dumps((jit(total), grad(total))))
    ran = subprocess.run([sys.executable, "-c", ARRIVING, tmp_path / "pickle"], capture_output=True, text=True, timeout=300)
    x = np.arange(40.0)
    assert ran.stdout.split() == [str(total(x)), str(grad(total)(x)[5]), "True"], ran.stderr


def test_what_is_raised_is_the_users(cloudpickle):
    _, positive = looping()
    made = pickle.loads(cloudpickle.dumps(jit(positive)))
    for f in (made, pickle.loads(cloudpickle.dumps(made))):
        for sign in (1, -1, -1):
            if sign > 0:
                np.testing.assert_array_equal(f(X), np.sqrt(X))
            else:
                with pytest.raises(ValueError, match="x must be positive"):
                    f(-X)
        with pytest.raises(TypeError, match="argument"):
            f(X, X)


def test_nothing_compiled_travels(cloudpickle):
    f = jit(lambda x: np.tanh(x) @ np.ones((3, 3)))
    before = len(cloudpickle.dumps(f))
    for n in range(1, 4):
        f(np.ones((n, 3)))
    assert len(cloudpickle.dumps(f)) < before + 6000  # lines that test signatures, without what they name


def test_what_is_unpickled_again_is_not_traced_again(cloudpickle):
    scale = 2.0
    data = cloudpickle.dumps(jit(lambda x: np.sin(x) * scale))
    for n in range(3):
        made = pickle.loads(data)
        np.testing.assert_array_equal(made(X + n), np.sin(X + n) * 2)
    assert made.explain().startswith("<lambda>: 1 trace(s)")


def test_copies_with_other_globals_keep_apart(cloudpickle):
    code = "import numpy as np\ndef f(x):\n    return x * K + T[0]\n"
    made = []
    for k in (2.0, 3.0):
        space = {"__name__": "__main__", "K": k, "T": [k]}
        exec(code, space)
        made.append(pickle.loads(cloudpickle.dumps(jit(space["f"]))))
    for _ in range(3):
        assert [f(1.0) for f in made] == [4.0, 6.0]
    made[0].__wrapped__.__globals__["T"][0] = 10.0
    assert [f(1.0) for f in made] == [12.0, 6.0]


def test_functions_that_assign_globals_keep_their_own(cloudpickle):
    space = {"__name__": "__main__", "count": 0}
    exec("def f(x):\n    global count\n    count += 1\n    return x * count\n", space)
    data = cloudpickle.dumps(jit(space["f"]))
    one, other = pickle.loads(data), pickle.loads(data)
    assert [one(2.0), one(2.0), other(2.0), one(2.0), other(2.0)] == [2.0, 4.0, 2.0, 6.0, 4.0]


def test_a_copy_is_traced_through(cloudpickle):
    made = pickle.loads(cloudpickle.dumps(jit(lambda x: x * x)))
    np.testing.assert_array_equal(grad(lambda x: (made(x) * x).sum())(X), 3 * X * X)
    np.testing.assert_array_equal(vmap(jit(made))(X), X * X)
    assert made.plan(X) and made.ir(X).params and made.callee.compiled is made.compiled


def test_by_name(monkeypatch):
    """A decorated function of a module is what the module has under its name: that is all of the pickle."""
    module = types.ModuleType("a_module_of_tests")
    exec("from wengert import jit\n@jit\ndef f(x):\n    return x * 2\n", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    data = pickle.dumps(module.f)
    assert pickle.loads(data) is module.f and len(data) < 100
    assert pickle.loads(pickle.dumps(functools.partial(module.f, 2.0)))() == 4.0


def test_under_another_name_pickle_says_that_it_cannot():
    with pytest.raises(pickle.PicklingError, match="not the same object as wengert.examples.logistic.loss"):
        pickle.dumps(jit(logistic.loss))


def test_copies_are_the_function():
    f = jit(lambda x: x + 1)
    held = {"f": f, "x": X}
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    assert copy.deepcopy(held)["f"] is f and copy.deepcopy(held)["x"] is not X


def test_what_cannot_travel_says_so(cloudpickle):
    _, pull = wengert.vjp(np.sin, X)
    with pytest.raises(TypeError, match="part of a derivative at a point\n  Pickle the function"):
        cloudpickle.dumps(pull)
    device = next(iter(jnp.ones(1).devices()))
    with pytest.raises(TypeError, match='Name it as text: jit\\(f, device="cpu:0"\\)'):
        cloudpickle.dumps(jit(lambda x: x, device=device))


def test_what_was_pickled_is_not_kept_alive(cloudpickle):
    f = jit(lambda x: x + 1, device="cpu")
    f(X)
    cloudpickle.dumps(f)
    compiled = weakref.ref(f.compiled)
    del f
    collect()
    assert compiled() is None


# -- workers ---------------------------------------------------------------------------------------


def test_a_spawned_process_imports_it_by_name(tmp_path):
    """The standard pool, as a script has it: decorated functions are found by their name in the other process."""
    script = """
        import concurrent.futures, multiprocessing
        import numpy as np
        from wengert import grad, jit
        @jit
        def total(x):
            return (x * x).sum()
        def slope(x):
            return grad(total)(x)
        if __name__ == "__main__":
            total(np.ones(3))
            with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                print(*pool.map(total, [np.arange(3.0), np.ones(2)]), pool.submit(slope, np.ones(2)).result())
    """
    lines = [line[8:] for line in script.splitlines()]
    (tmp_path / "script.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("5.0 2.0 [2. 2.]\n", 0), done.stderr


def test_joblib_workers(cloudpickle):
    joblib = pytest.importorskip("joblib")
    scale = 2.0
    f = jit(lambda x: np.sin(x) * scale)
    f(X)
    traces = lambda x: (f(x), f.explain().split()[1])
    found = joblib.Parallel(n_jobs=1, backend="loky")(joblib.delayed(traces)(X + n) for n in range(3))
    found += joblib.Parallel(n_jobs=2, backend="loky", batch_size=1)(joblib.delayed(traces)(X + n) for n in range(6))
    for n, (got, count) in zip([0, 1, 2, *range(6)], found, strict=True):
        np.testing.assert_array_equal(got, np.sin(X + n) * 2)
        assert count == "1"  # one trace a process, however many batches


def test_dask_delayed(cloudpickle):
    dask = pytest.importorskip("dask")
    scale = 2.0
    f, slope = jit(lambda x: (x * x).sum() * scale), grad(lambda x: (x * x).sum())
    parts = [dask.delayed(f)(X), dask.delayed(slope)(X)]
    total, slopes = dask.compute(*parts, scheduler="processes", num_workers=1)
    assert total == 10.0
    np.testing.assert_array_equal(slopes, 2 * X)
