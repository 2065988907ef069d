"""Straight lines as nests: programs that run as a few functions of machine code beside NumPy's calls, and how it is decided."""

import importlib.util

import numpy as np
import pytest
from compare import agree
from op_cases import EVERY_OP, func_of

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.numpy import LARGEST, callable_of, fused
from wengert.ir.core import Builder
from wengert.ir.ops import OPS
from wengert.ir.types import parse_type
from wengert.ir.verify import verify
from wengert.tracer.program import backend_choice, numpy_costs
from wengert.tracer.program.check_weakening import decided

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
LOOP, PRODUCT, SORT = OPS["loop"], OPS["dot_general"], OPS["sort"]
rng = np.random.default_rng(0)
X = rng.normal(size=(5, 4))
INDICES = rng.integers(-5, 5, size=30)


@pytest.fixture(autouse=True)
def in_nests(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", "nests")


def version(f):
    return list(f.compiled.entries.values())[-1].current.versions[-1]


def checked(f, *args, nests=1, tolerance=1e-12):
    """A function agrees with itself on its first and second call, and runs as so many nests."""
    g, want = jit(f), f(*args)
    for _ in range(2):
        agree(g(*args), want, tolerance)
    found = version(g)
    assert found.engine and sum(eqn.op is LOOP for eqn in found.numpy.eqns) == nests
    return g


@EVERY_OP
def test_every_op(op):
    """What is put together says what it did; of ops without machine code nothing is."""
    for k, c in enumerate(op.cases[:2]):
        operands, attrs = c.draw(op, np.random.default_rng(k))
        func = func_of(op, operands, attrs)
        build = Builder("twice")
        params = [build.param(p.type) for p in func.params]
        with build:
            results = build.inline(func, params)
            results = [OPS["select"](OPS["eq"](r, r), r, r) if r.type.dtype != np.float16 else r for r in results]
        made = fused(build.finish(tuple(results)))
        if made is None:
            continue
        verify(made)
        with np.errstate(all="ignore"):
            want, got = (callable_of(f)(*operands) for f in (func, made))
        for a, b in zip(want, got, strict=True):
            np.testing.assert_allclose(a, b, 1e-5 if a.dtype.char in "fF" else 1e-12)


def mixture(table, at, w):
    """Rows, a product, a softmax, and what is left of it."""
    rows = table[at] * 2 + 1
    p = np.exp(rows @ w)
    return (p / p.sum(axis=1, keepdims=True)).max(axis=0), rows[:, ::-1].sum()


def test_between_calls_of_numpy():
    w = rng.normal(size=(4, 20))
    checked(mixture, X, INDICES, w, nests=2)
    checked(lambda x: np.sort(x * 2 + 1)[::-1] - x.mean(), X.ravel(), nests=2)


WITH_VECTORS = {
    "rows": lambda a, x, y: (a * 2) @ x,
    "columns": lambda a, x, y: y @ (a * 2),
    "turned": lambda a, x, y: (a * 2).T @ y - y[0],
    "chosen": lambda a, x, y: np.where(a > 1, a, a * 3) @ x,
    "both": lambda a, x, y: y @ (a + 1) + (a * a) @ (x + 1)[:60],
    "turned before": lambda a, x, y: (a.T + a[0, 0]) @ y,
    "batches": lambda a, x, y: np.einsum("bij,bj->bi", np.stack([a * 3, a + 1]), np.stack([x, x * 2])),
    "vectors": lambda a, x, y: (a[0] * 2) @ (a[1] + x),
    "itself": lambda a, x, y: (y - 1) @ (y - 1),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128", "uint8"])
@pytest.mark.parametrize("program", WITH_VECTORS.values(), ids=WITH_VECTORS)
def test_what_is_multiplied_with_a_vector_is_not_written(program, dtype):
    draw = lambda *shape: (rng.random(size=shape) * 3).astype(dtype) if dtype != "uint8" else rng.integers(0, 9, shape).astype(dtype)
    args = draw(60, 60), draw(60), draw(60)
    agree(jit(program)(*args), program(*args), 1e-5 if dtype == "float32" else 1e-12)
    f = jit(program)
    agree(f(*args), program(*args), 1e-5 if dtype == "float32" else 1e-12)
    ops = [eqn.op for eqn in version(f).numpy.eqns]
    left = dtype == "complex128" and program is not WITH_VECTORS["columns"]  # rows of complex numbers are
    assert left or ops.count(LOOP) == 1 and PRODUCT not in ops, version(f).numpy


TINY = {
    "rotated": lambda p, r, t: p @ r.T + t,
    "distances": lambda p, r, t: np.sqrt((((p - t) @ r) * (p - t)).sum(axis=1)),
    "layers": lambda p, r, t: np.tanh(np.tanh(p @ r + t) @ r),
    "turned": lambda p, r, t: r @ p.T - t[:, None],
    "stacked": lambda p, r, t: (p.reshape(-1, 5, 1, len(r)) @ r)[:, :, 0] * 2,
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("program", TINY.values(), ids=TINY)
def test_products_with_tiny_matrices_are_made_as_they_are_read(program, k, dtype):
    if dtype == "int32" and program in (TINY["distances"], TINY["layers"]):
        pytest.skip("roots and curves of integers are floats")
    p, r, t = (rng.random(size=shape).astype(dtype) if dtype != "int32" else rng.integers(0, 9, shape, "i4") for shape in ((2500, k), (k, k), k))
    f = jit(program)
    for _ in range(2):
        agree(f(p, r, t), program(p, r, t), 1e-5 if dtype == "float32" else 1e-12)
    if dtype == "float64":
        assert PRODUCT not in [eqn.op for eqn in version(f).numpy.eqns]


def test_an_exact_program_leaves_products_to_numpy():
    a, x = rng.normal(size=(60, 60)), rng.normal(size=60)
    stacks = lambda a, c: a.reshape(6, 10, 1, 60) @ c
    few = a.reshape(-1, 4), a[:4, :4], x[:4]
    for program, args in ((WITH_VECTORS["rows"], (a, x, x)), (TINY["rotated"], few), (stacks, (a, a.T.copy()))):
        f = jit(program, exact=True)
        agree(f(*args), program(*args), 0)
        assert PRODUCT in [eqn.op for eqn in version(f).numpy.eqns]


def test_products_that_are_only_read_are_left_to_libraries():
    a, x = rng.normal(size=(60, 60)), rng.normal(size=60)
    f = jit(lambda a, x: np.exp(a @ x) * 2 + 1)
    agree(f(a, x), np.exp(a @ x) * 2 + 1, 1e-12)
    assert PRODUCT in [eqn.op for eqn in version(f).numpy.eqns]


def test_searches_and_lookups():
    def interpolation(x, xs, ys):
        k = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
        t = (x - xs[k]) / (xs[k + 1] - xs[k])
        return (1 - t) * ys[k] + t * ys[k + 1]

    xs = np.sort(rng.normal(size=20))
    checked(interpolation, rng.normal(size=50), xs, xs**2)


def test_what_only_moves_elements_is_no_nest():
    f = jit(lambda x: (x.T.reshape(-1), np.zeros((2, 3)), x[None]))
    agree(f(X), (X.T.reshape(-1), np.zeros((2, 3)), X[None]), 0)
    assert version(f).fused is None


def test_arguments_that_change_and_results_that_are_shared():
    def f(x, y):
        x[1:] += y[:-1] * 2
        z = x + y
        return z, z, x

    g, x, y = jit(f), X.copy(), X * 3
    want = f(x.copy(), y)
    got = g(x, y)
    assert got[0] is got[1] and got[2] is x
    agree(got, want, 1e-15)
    view = np.asfortranarray(X)
    agree(g(view, y), f(X.copy(), y), 1e-15)


def test_a_gradient():
    loss = lambda x, w: ((np.maximum(x, 0) * w - x) ** 2).sum()
    g, w = jit(grad(loss)), np.float64(0.3)
    agree(g(X, w), np.where(X > 0, 2 * (0.3 * X - X) * -0.7, 2 * X), 1e-12)
    assert version(g).fused is not None


# -- checks ----------------------------------------------------------------------------------------


def looked_up(table, i, j, s):
    return table[i] * s + table[j + 1][::-1] + table[s]


def test_the_first_failed_check_speaks():
    table, good, bad = np.arange(5.0), np.array([0, -5, 4]), np.array([0, 7, 9])
    many = np.arange(70) % 5
    for i, j, s in ((good, good - 1, 2), (bad, good - 1, 2), (good, bad, 2), (bad, bad, 2), (many, many - 1, 0), (many * 2, many - 1, 1)):
        f = jit(looked_up)
        for k in (s, s, -6):
            try:
                want = looked_up(table, i, j, np.int64(k))
            except IndexError as error:
                with pytest.raises(IndexError) as raised:
                    f(table, i, j, np.int64(k))
                assert str(error) in str(raised.value)
            else:
                agree(f(table, i, j, np.int64(k)), want, 1e-15)
                assert version(f).fused is not None


def status(*parts):
    """A program whose status is made of bool arguments, as the tracer makes it; parts: (number, whether it quotes)."""
    build, select = Builder("checks"), OPS["select"]
    with build:
        bad = [build.param(parse_type("bool[]")) for _ in parts]
        quoted, now = build.param(parse_type("i64[]")), None
        for b, (number, quotes) in zip(bad, parts):
            word = OPS["add"](OPS["mul"](quoted, 1 << 16), number) if quotes else number
            if now is None:
                now = select(b, *(word, 0) if quotes else (OPS["mul"](OPS["sub"](quoted, quoted), 0), 0))
                now = select(b, OPS["add"](now, number), now) if not quotes else now
            else:
                now = select(OPS["and"](b, OPS["eq"](now, 0)), OPS["add"](OPS["mul"](quoted, 1 << 16), number), now)
    return build.finish((now,))


def test_a_status_is_decided():
    func = status((1, True), (2, True), (3, True))
    short = decided(func)
    assert short.results[0].type == parse_type("bool[]") and {eqn.op.name for eqn in short.eqns} == {"or"}
    for k in range(8):
        given = [np.bool_(k >> n & 1) for n in range(3)]
        assert bool(callable_of(short)(*given, np.int64(-9))[0]) == bool(callable_of(func)(*given, np.int64(-9))[0]) == (k > 0)


@pytest.mark.parametrize("n", [3, LARGEST, LARGEST + 1])
def test_singular_systems(n):
    def f(a, b):
        return np.linalg.solve(a, b) * 2 + 1, np.linalg.inv(a).sum()

    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    g = checked(f, a, b, nests=1 if n <= LARGEST else 2, tolerance=1e-8)
    assert sum(eqn.op is OPS["lu"] for eqn in version(g).numpy.eqns) == 0
    agree(g(a[::-1], b), f(a[::-1], b), 1e-8)
    for singular in (np.ones((n, n)), np.zeros((n, n))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            g(singular, b)
    agree(g(a * 2, b), f(a * 2, b), 1e-8)


# -- which of them ---------------------------------------------------------------------------------


def test_the_quicker_form_is_taken_and_told(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.5)
    monkeypatch.setattr(backend_choice, "cheap", lambda total, inside: total < 1e-3)
    costs = {"plain": 0.1, "nests": 1e-5}

    def clocked(run, everything):
        return costs["nests" if any(name.startswith("nest") for name in run.call.__globals__) else "plain"], 0.0, run(*everything)

    monkeypatch.setattr(backend_choice, "clocked", clocked)
    monkeypatch.setattr(backend_choice, "estimated", lambda func: -len(func.params))
    monkeypatch.setattr(backend_choice, "ENOUGH", 0.0)
    monkeypatch.setattr(backend_choice, "LITTLE", -1e9)
    f = jit(lambda x: np.abs(x * 2 - 1) + x)
    agree(f(X), np.abs(X * 2 - 1) + X, 1e-15)
    assert "as NumPy, straight lines and loops as 1 function of machine code" in f.explain()
    costs["nests"] = 0.2
    monkeypatch.setattr(backend_choice, "turns", lambda forms, n, ready=0: (1.0, 2.0)[-len(forms) :])
    f = jit(lambda x: np.abs(x * 2 - 1) + x)
    agree(f(X), np.abs(X * 2 - 1) + X, 1e-15)
    assert version(f).fused is None and "as NumPy: 1 s as NumPy, 2 s through XLA" in f.explain()


ALONE = {
    "prefix": (lambda x: np.cumsum(x), 1), "prefix of rows": (lambda x: np.maximum.accumulate(x, axis=0), 1),
    "choice": (lambda x: np.where(x[0] > 0, x[1], x[2]), 1),
    "store": (lambda x: np.copyto(x[0], 0.0, where=x[1] > 0), 1), "rows": (lambda x: x.sum(1), 1), "extremes": (lambda x: (x.min(1), x.max(0)), 1),
    "whole": (lambda x: x.sum(), 0), "order": (lambda x: np.argsort(x), 0), "one call": (lambda x: x + 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_what_is_a_nest_by_itself(name):
    f, nests = ALONE[name]
    checked(f, X.copy(), nests=nests)


def test_a_run_is_measured_against_the_least_that_nests_take(monkeypatch):
    """A program is tried as nests where they could save much of what its run has taken, whatever was guessed."""
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "estimated", lambda func: 1.0)
    compiled = jit(np.cumsum)
    compiled(np.ones(100_000))
    version(compiled).fused = backend_choice.in_nests(next(iter(compiled.compiled.entries.values())), version(compiled))
    least = 2 * 8 * 100_000 / numpy_costs.NEST + numpy_costs.ENTERED
    assert backend_choice.may_save(version(compiled), 4e-4) == pytest.approx(4e-4 - least)
    with_product = jit(lambda x: (np.sin(x) @ np.sin(x).T).cumsum())
    with_product(np.ones((300, 300)))
    assert numpy_costs.least_in_nests(version(with_product).decided) == np.inf


def test_native_false_leaves_lines_to_numpy():
    f = jit(lambda x: np.abs(x * 2 - 1) + x, native=False)
    agree(f(X), np.abs(X * 2 - 1) + X, 1e-15)
    assert version(f).engine and version(f).fused is None
    with native.asked(None):
        assert fused(version(f).func) is None


def test_memory_that_is_overwritten_is_not_cleared():
    """What a nest leaves is all written by it, whatever was there; what a loop reads of what it carries is there before."""

    def powers(x):
        y, out = np.where(x > 0, x * x + 1, x**3), np.zeros(30)
        for i in range(1, 30):
            out[i] = out[i - 1] + y[i % 5, 0]
        return y, out

    for g in (jit(powers), jit(powers, engine="numpy")):
        for _ in range(5):
            for shape in ((5, 4), (30,)):  # NumPy keeps memory of few bytes for the next array of as many
                del [np.full(shape, 77.0) for _ in range(8)][:]
                assert (np.empty(shape) == 77).any()
            agree(g(X), powers(X), 1e-12)
