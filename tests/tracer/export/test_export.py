"""Programs exported to files and loaded: results, changes, exceptions, and what is refused, as the function has them."""

import collections
import inspect

import numpy as np
import pytest

import wengert
from wengert import ExportError, UnsupportedError, grad, jit, load, value_and_grad, vmap

Point = collections.namedtuple("Point", "x y")
scale, table = 3.0, np.arange(3.0)
CALLED = []


@pytest.fixture
def there_and_back(tmp_path):
    """A function, exported for arguments and loaded."""

    def through(f, *args, platforms=("cpu",), **kwargs):
        path = tmp_path / "program.wgt"
        (f if hasattr(f, "export") else jit(f)).export(*args, path=path, platforms=platforms, **kwargs)
        return load(path)

    return through


def alike(a, b):
    """Whether two results are the same, their kinds and containers too."""
    if isinstance(a, tuple) and hasattr(a, "_fields"):
        return a._fields == b._fields and type(a).__name__ == type(b).__name__ and all(map(alike, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray | np.generic | float | complex):
        return np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b) and np.allclose(a, b)
    return a == b


def kinds(x, y, n):
    return {"a": x * y, "n": [x.sum(), y * n, (x > 0).any()], "t": (n, "text", None, slice(1, n)), "z": y * 2j, "p": Point(x[0], x)}


def test_results_have_the_kinds_of_the_function(there_and_back):
    x = np.array([1.0, 2.0])
    g = there_and_back(kinds, x, 0.5, 3)
    assert alike(g(x, 0.5, 3), kinds(x, 0.5, 3))
    assert alike(g(x + 1, 2.5, n=3), kinds(x + 1, 2.5, 3))
    assert str(inspect.signature(g)) == "(x, y, n)" and g.__name__ == "kinds"


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bool", "complex64", "float16"])
def test_dtypes(there_and_back, dtype):
    x = np.array([[0, 1], [1, 1]], dtype)
    f = lambda x: (x[::-1].copy(), x.sum(), x.any(axis=0))
    assert alike(there_and_back(f, x)(x), f(x))


def test_arguments_are_changed(there_and_back):
    def step(u, f, out):
        u[1:-1] += f[1:-1]
        out["u"] = u.sum()
        out["seen"].append(float(u[0]))
        return u[::2]

    def given():
        return np.arange(5.0), np.ones(5), {"u": 0.0, "seen": [1.0]}

    g, (u, f, out), (v, h, other) = there_and_back(step, *given()), given(), given()
    half, expected = g(u, f, out), step(v, h, other)
    assert alike(half, expected) and alike(u, v) and alike(out, other) and np.shares_memory(half, u)
    assert type(out["seen"]) is list


def test_what_fails_changes_nothing(there_and_back):
    def bad(u, i):
        u[0] = 9.0
        if u[1] < 0:
            raise ValueError(f"u[1] is negative, {i}")
        return u[int(u[2])]

    g = there_and_back(bad, np.array([1.0, 2.0, 0.0]), 7)
    for u in (np.array([1.0, -2.0, 0.0]), np.array([1.0, 2.0, 5.0])):
        seen, plain = [], u.copy()
        for f, x in ((g, u), (bad, plain)):
            with pytest.raises((ValueError, IndexError)) as caught:
                f(x, 7)
            seen.append((type(caught.value), str(caught.value)))
        assert seen[0] == seen[1] and u[0] == 1.0
    assert g(np.array([1.0, 2.0, 1.0]), 7) == 2.0


def test_an_index_beyond_the_end_names_the_line(there_and_back):
    g = there_and_back(lambda x, i: x[i], np.arange(3.0), np.int64(0))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3") as caught:
        g(np.arange(3.0), np.int64(5))
    assert any("test_export.py" in note for note in caught.value.__notes__)


def test_an_exception_of_the_users_own_class_is_named(there_and_back):
    class Odd(Exception):
        pass

    def f(x):
        if x[0] > 0:
            raise Odd("x is odd")
        return x

    with pytest.raises(UnsupportedError, match="Odd: x is odd"):
        there_and_back(f, np.zeros(2))(np.ones(2))


def test_what_was_read_outside_is_frozen_and_told(there_and_back, monkeypatch):
    def f(x):
        return x @ table * scale

    g = there_and_back(f, np.ones(3))
    monkeypatch.setitem(globals(), "scale", 5.0)
    assert g(np.ones(3)) == 9.0 and jit(f)(np.ones(3)) == 15.0
    told = [line for line in g.describe().splitlines() if line.startswith("  frozen")]
    assert len(told) == 2 and "table = float64[3]" in told[0] + told[1] and "scale = 3.0" in told[0] + told[1]


def test_an_array_outside_comes_back_as_a_copy(there_and_back):
    g = there_and_back(lambda x: (table, table[1:], x), np.ones(2))
    found = g(np.ones(2))
    assert alike(found, (table, table[1:], np.ones(2))) and not np.shares_memory(found[0], table)
    found[0][0] = 7.0
    assert g(np.ones(2))[0][0] == 0.0


def test_which_object_is_which(there_and_back):
    def f(x, y):
        z = x + y
        pair = [z, z]
        return z, z, pair, pair, x, y.T, z[1:]

    x, y = np.ones(3), np.zeros(3)
    a = there_and_back(f, x, y)(x, y)
    assert a[0] is a[1] is a[2][0] and a[2] is a[3] and a[4] is x and np.shares_memory(a[5], y) and np.shares_memory(a[6], a[0])


def test_derivatives_are_exported_as_functions_are(there_and_back):
    def loss(w, X):
        return np.tanh(X @ w["w"] + w["b"]).sum() ** 2

    w, X = {"w": np.array([0.1, 0.2]), "b": 0.3}, np.array([[1.0, 2.0], [3.0, -1.0]])
    for f in (grad(loss), value_and_grad(loss), vmap(grad(lambda x, y: np.sin(x * y)), in_axes=(0, None))):
        args = (w, X) if f.__name__ != "vmap_grad_<lambda>" and "lambda" not in f.__name__ else (X[0], 2.0)
        assert alike(there_and_back(f, *args)(*args), f(*args))


def test_a_loop_and_a_branch_on_data(there_and_back):
    def relax(u, tol):
        err, n = np.inf, 0
        while err > tol:
            old = u.copy()
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
            err = np.abs(u - old).max() if n < 50 else 0.0
            n += 1
        return n

    u, v = np.arange(6.0) ** 2, np.arange(6.0) ** 2
    assert there_and_back(relax, u.copy(), 1e-3)(u, 1e-3) == relax(v, 1e-3) and np.allclose(u, v)


def test_lengths_that_data_decide(there_and_back):
    f = lambda x: x[x > 0]
    g = there_and_back(f, np.array([1.0, -1.0, 2.0]))
    for x in (np.array([-1.0, -1.0, 2.0]), np.ones(3), -np.ones(3)):
        assert alike(g(x), f(x))


def test_a_choice_by_value_is_checked(there_and_back):
    def f(x, n):
        return x.reshape(int(n), -1).sum(axis=0)

    x = np.arange(6.0)
    g = there_and_back(f, x, np.int64(2))
    assert alike(g(x, np.int64(2)), f(x, 2))
    with pytest.raises(UnsupportedError, match="the data take another way"):
        g(x, np.int64(3))


def test_long_lists_of_numbers(there_and_back):
    f = lambda rows: [sum(row) for row in rows]
    rows = [[float(i * j) for i in range(20)] for j in range(5)]
    g = there_and_back(f, rows)
    assert np.allclose(g(rows), f(rows)) and type(g(rows)) is list
    with pytest.raises(ExportError, match="a list of 5 of a list of 20 floats"):
        g(rows[:4])


def test_jax_arrays_stay_jax_arrays(there_and_back):
    jax = pytest.importorskip("jax")
    g = there_and_back(lambda x: np.sin(x) * 2, np.ones(3, np.float32))
    x = jax.numpy.ones(3, np.float32)
    assert isinstance(g(x), jax.Array) and np.allclose(jax.jit(g)(x), np.sin(np.ones(3)) * 2)
    h = there_and_back(lambda x, i: x[i], x, np.int32(0))
    inside = jax.jit(lambda x, i: h(x, i) * 2)
    assert float(inside(x, jax.numpy.int32(1))) == 2.0
    with pytest.raises(Exception, match="index 7 is out of bounds for axis 0 with size 3"):
        jax.block_until_ready(inside(x, jax.numpy.int32(7)))


@pytest.mark.parametrize(
    "args, words",
    [
        ((np.ones(4), {"w": 1.0}, 2), r"argument x of f is f64\[4\]; it was exported for f64\[3\]"),
        ((np.ones(3, np.float32), {"w": 1.0}, 2), r"is f32\[3\]; it was exported for f64\[3\]"),
        (([1.0] * 3, {"w": 1.0}, 2), r"argument x of f is .*; it was exported for f64\[3\]"),
        ((np.ones(3), {"v": 1.0}, 2), r"argument p of f has the keys \['v'\]; it was exported for \['w'\]"),
        ((np.ones(3), {"w": 1}, 2), r"argument p\['w'\] of f is the int 1; it was exported for float"),
        ((np.ones(3), [1.0], 2), "it was exported for a dict"),
        ((np.ones(3), {"w": 1.0}, 3), "argument n of f is 3; it was exported for 2"),
        ((np.ones(3), {"w": 1.0}, True), "argument n of f is True; it was exported for 2"),
        ((np.ones(3).view(np.matrix), {"w": 1.0}, 2), "it was exported for f64"),
    ],
)
def test_other_arguments_are_refused(there_and_back, args, words):
    def f(x, p, n):
        return x * p["w"] * n

    g = there_and_back(f, np.ones(3), {"w": 1.0}, 2)
    with pytest.raises(ExportError, match=words) as caught:
        g(*args)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        g(*args[:2])


def test_arrays_that_share_memory_and_those_that_may_not_be_written(there_and_back):
    def f(x, y):
        x += y
        return x

    g, x = there_and_back(f, np.ones(3), np.ones(3)), np.ones(4)
    with pytest.raises(ExportError, match="argument x is written, and shares memory"):
        g(x[:3], x[1:])
    x.flags.writeable = False
    with pytest.raises(ExportError, match="argument x is written, and is read-only"):
        g(x[:3], np.ones(3))
    same = [1.0]
    h = there_and_back(lambda a, b: (a, b), [1.0], [1.0])
    with pytest.raises(ExportError, match="at another place"):
        h(same, same)


def test_containers_are_one_object_where_they_were(there_and_back):
    """Where that could tell: a program that was traced for one list at two places is no program for two lists."""

    def f(a, b):
        a["x"].append(1.0)
        return len(b["x"]), a is b

    one = {"x": [1.0]}
    g = there_and_back(f, one, one)
    assert g(one, one) == (2, True) and one == {"x": [1.0, 1.0]}
    with pytest.raises(ExportError, match="argument b of f is another object than it was"):
        g({"x": [1.0]}, {"x": [1.0]})
    long = [0.5] * 100
    h = there_and_back(lambda a, b: (a.__setitem__(0, 2.0), b[0]), long, list(long))
    with pytest.raises(ExportError, match="argument b of <lambda> is a list that is at another place"):
        h(long, long)
    with pytest.raises(UnsupportedError, match="a long list of numbers at two places"):
        there_and_back(lambda a, b: a is b, long, long)
    add = there_and_back(lambda a, b: a[0] + b[1], long, list(long))
    assert add(long, long) == add(long, list(long)) == 1.0


class Model:
    weights = np.ones(2)


def draws(x):
    return x + np.random.default_rng().random()


def prints(x):
    print(x[0])
    return x


def stores(x):
    global stored
    stored = x
    return x


def writes(x):
    table[0] = x[0]
    return x


def gives(x):
    return Model


def takes(model, x):
    return x * model.weights


@pytest.mark.parametrize(
    "f, args, words",
    [
        (draws, (np.ones(2),), "draws random numbers"),
        (prints, (np.ones(2),), "calls Python while it runs"),
        (stores, (np.ones(2),), "stores to stored, outside its arguments"),
        (writes, (np.ones(2),), "writes to table, an array outside its arguments"),
        (gives, (np.ones(2),), "returns .*Model, which no file tells"),
        (takes, (Model(), np.ones(2)), "takes a Model, which no file tells"),
    ],
)
def test_what_no_file_can_hold_is_refused(f, args, words, tmp_path):
    before = table.copy()
    with pytest.raises(UnsupportedError, match=words) as caught:
        jit(f).export(*args, path=tmp_path / "none.wgt", platforms=("cpu",))
    assert len(str(caught.value).splitlines()) > 1, "it says what to write instead"
    assert not list(tmp_path.iterdir()) and np.array_equal(table, before)


def test_a_model_in_a_lambda_is_frozen(there_and_back):
    model = Model()
    g = there_and_back(lambda x: takes(model, x), np.ones(2))
    assert alike(g(np.ones(2)), np.ones(2)) and "weights" in g.describe()


def test_platforms():
    f = jit(lambda x: np.linalg.solve(x, np.sort(x[0])))
    made = f.export(np.eye(3))
    assert "runs on      cpu, cuda" in made and made.path is None
    assert "runs on      cuda" in f.export(np.eye(3), platforms=["cuda"])
    with pytest.raises(ValueError, match="cpu, cuda, rocm, tpu, not gpu"):
        f.export(np.eye(3), platforms=("gpu",))


def test_a_file_for_other_platforms_alone_says_so(there_and_back):
    g = there_and_back(lambda x: x + 1, np.ones(2), platforms=("tpu",))
    with pytest.raises(ExportError, match="it runs on tpu, not on cpu"):
        g(np.ones(2))


def test_the_same_program_is_the_same_file():
    one, other = [jit(lambda x: np.sin(x).sum()).export(np.ones(3)).data for _ in range(2)]
    assert one == other


def test_texts(there_and_back):
    g = there_and_back(lambda x: np.sin(x), np.ones(2))
    assert "sin %x" in g.text() and "stablehlo.sine" in g.text("stablehlo") and repr(g).startswith("<loaded ")
    with pytest.raises(ValueError, match="'ir' or 'stablehlo'"):
        g.text("assembly")
    assert wengert.ir.text.parse(g.text()).result_types == wengert.ir.text.parse(g.text("ir")).result_types
