"""`wengert.source`: the text alone, run without wengert, does what the compiled function does."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from compare import agree
from random_flow import Program, arguments, call, function

import wengert
from wengert import UnsupportedError, grad, hessian, jit, jvp, source, value_and_grad


def made(f, *args, **kwargs):
    """The function that the source of f for these arguments defines."""
    space = {}
    exec(source(f, *args, **kwargs), space)
    return next(x for name, x in reversed(space.items()) if callable(x) and name != "np")


def same(f, *args, **kwargs):
    mine, plain = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
    agree(made(f, *args, **kwargs)(*mine[0], **mine[1]), f(*plain[0], **plain[1]))
    agree(mine, plain)


def test_the_text():
    def f(x, n):
        for i in range(n):
            x[i] = x[i + 1] * 2.0
        return x

    assert source(f, np.arange(4.0), 2) == HEAD + """
@np.errstate(all="ignore")
def f(x, n):
    assert x.shape == (4,) and x.dtype == np.float64
    assert n == 2
    x_1 = x  # test_readable.py:31
    for i in np.arange(2):
        v3 = i + 1  # test_readable.py:32
        v4 = dynamic_slice(x_1, v3, sizes=(1,))  # test_readable.py:32
        v5 = np.reshape(v4, ())  # test_readable.py:32
        v6 = v5 * 2.0  # test_readable.py:32
        v7 = np.reshape(v6, (1,))  # test_readable.py:32
        x_1 = dynamic_update_slice(x_1, v7, i)  # test_readable.py:32
    x[...] = x_1
    return x
"""


HEAD = """import numpy as np

def dynamic_slice(x, *starts, sizes):
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, sizes)]
    return x[tuple((slice(i, i + k) for i, k in zip(inside, sizes)))]

def dynamic_update_slice(x, u, *starts):
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, u.shape)]
    out = np.array(x)
    out[tuple((slice(i, i + k) for i, k in zip(inside, u.shape)))] = u
    return out
"""


@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
def test_random_programs(wide):
    for seed in range(6):
        f = function(Program(seed, wide).text, seed)
        given = arguments(seed, wide)
        found = call(f, lambda *args, f=f: made(f, *args)(*args), given)
        assert found.startswith(("agree", "refused", "RuntimeError"))


def test_arguments_results_and_memory():
    x, y = np.arange(4.0), np.arange(4.0) + 10
    same(lambda x, y: None, x, y)

    def swapped(x, y):
        first = x[0]
        x[:], y[:] = y.copy(), x.copy()
        return first, x[1:3], (x[::-1] * 1.0)[1:], 3, "text", [x.sum()], {"b": y, "a": None}

    same(swapped, x, y)
    same(swapped, x=x, y=y)
    same(lambda p, k: (p["w"] @ p["b"][0] * k, p["b"][1] if k else None), {"w": np.eye(2), "b": [np.ones(2), 2.0]}, True)
    same(lambda a, b: (a + b, a / 2, int(a) + b, a > b), np.float32(3), 2 - 1j)
    same(lambda x: (x, x[1:], x.T, x.reshape(2, 2)[0], x[::-2], np.broadcast_to(x, (2, 4)), x.view(np.int64)), x)
    twice = made(lambda x: (x + 1, x + 1, x[:2].copy()), x)(x)
    assert not np.shares_memory(twice[0], twice[1]) and not np.shares_memory(twice[2], x)


def test_derivatives():
    def loss(w, x):
        h = x
        for _ in range(3):
            if h.sum() > 0:
                h = np.tanh(w @ h)
        return (h * h).sum()

    w, x = np.linspace(-1, 1, 9).reshape(3, 3), np.array([0.5, 1.0, -0.2])
    for f in (grad(loss), value_and_grad(loss, argnums=(0, 1)), hessian(loss, argnums=1), lambda w, x: jvp(loss, (w, x), (w, x))):
        agree(made(f, w, x)(w, x), jit(f)(w, x))


table = np.arange(3.0)


def test_what_is_read_outside_is_a_keyword():
    assert np.array_equal(made(lambda x: x * table, np.ones(3))(np.ones(3), table=np.array([1.0, 0.0, 5.0])), [1.0, 0.0, 5.0])


def test_errors_of_the_data():
    def f(x, i):
        x[0] = 7.0
        return x[int(x[i])]

    g, x = made(f, np.arange(3.0), 1), np.array([1.0, 5.0, 2.0])
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        g(x, 1)
    assert x[0] == 1.0
    with pytest.raises(AssertionError):
        g(np.ones(4), 1)


@pytest.mark.parametrize(
    "f, what",
    [
        (lambda x: print(x), "calls Python"),
        (lambda x: x + np.random.rand(), "random"),
        (lambda x: int, "returns the class int"),
        (lambda x, kept=[0]: kept.append(x), "stores to"),
    ],
)
def test_what_no_text_stands_for(f, what):
    with pytest.raises(UnsupportedError, match=what):
        source(f, 1.0)


def test_it_runs_without_wengert(tmp_path):
    def solve(a, b):
        x = b.copy()
        for _ in range(50):
            x = x + 0.1 * (b - a @ x)
        return (x * x).sum()

    a, b = np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    text = source(grad(solve, argnums=1), a, b) + "print(repr(grad_solve(np.diag([1.0, 2.0, 3.0]), np.ones(3))))\n"
    (tmp_path / "alone.py").write_text(text)
    done = subprocess.run([sys.executable, "-I", "alone.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == repr(grad(solve, argnums=1)(a, b)).split(), done.stderr
    assert "wengert" not in text and wengert.source is source
