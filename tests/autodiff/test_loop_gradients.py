"""The way back through a loop: what is added up is added in place, and a loop that is one product is differentiated as one."""

import numpy as np
import pytest

from wengert import grad, jit, jvp
from wengert.autodiff import undo_log

RNG = np.random.default_rng(1)
N = 24


def substituted(l, b):
    x = b.copy()
    for i in range(N):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]
    return (x * x).sum()


def factored(a, b):
    """The pivots of an LU factorisation in place, in three loops."""
    a = a + b
    for i in range(N):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, N):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.log(np.abs(a.diagonal())).sum()


def read_inside(a, x):
    """Each trip of the inner loop reads two rows of what no loop writes."""
    s = 0.0
    for i in range(N):
        for j in range(1, N):
            s = s + np.tanh(a[j, i] * a[j - 1, i] + x[j]) * x[i]
    return s


def regions(func):
    for eqn in func.eqns:
        for region in eqn.regions():
            yield region
            yield from regions(region)


def slope(f, args, direction, h=1e-6):
    move = lambda t: [a + t * d for a, d in zip(args, direction)]
    return (f(*move(h)) - f(*move(-h))) / (2 * h)


PROGRAMS = [substituted, factored, read_inside]
OPERANDS = RNG.normal(size=(N, N)) + N * np.eye(N), RNG.normal(size=N)


@pytest.mark.inexact
@pytest.mark.parametrize("f", PROGRAMS)
def test_cotangents_of_what_a_loop_reads_are_added_in_place(f):
    d = RNG.normal(size=(N, N)), RNG.normal(size=N)
    found = jit(grad(f, argnums=(0, 1)))(*OPERANDS)
    want = slope(f, OPERANDS, d)
    assert abs(sum((g * x).sum() for g, x in zip(found, d)) - want) <= 1e-7 * max(1.0, abs(want))
    for region in regions(grad(f, argnums=(0, 1)).ir(*OPERANDS)):
        whole = [eqn.op.name for eqn in region.eqns for r in eqn.results if r.type.shape == (N, N)]
        assert set(whole) <= {"dynamic_update_slice", "loop", "reshape"}, f"arrays made anew in every trip: {whole}"


def covered(data):
    out = np.zeros((40, 40))
    for i in range(40):
        out[i:, i] = out[i, i:] = data[:, i] @ data[:, i:]
    return out


@pytest.mark.inexact
def test_products_in_a_loop_have_products_for_derivatives():
    data, weights = RNG.normal(size=(50, 40)), RNG.normal(size=(40, 40))
    loss = lambda data: (covered(data) * weights).sum()
    d = RNG.normal(size=data.shape)
    assert abs((grad(loss)(data) * d).sum() - slope(loss, [data], [d])) < 1e-6
    assert " = loop " not in str(grad(loss).ir(data)) and " = loop " in str(jit(grad(loss), exact=True).ir(data))
    made = jit(grad(loss))
    made(data)
    assert "done at once, by one product" in made.explain()


def swept(a, x):
    """Rows and columns in turn, each read after it was written, with a swap on the way."""
    for t in range(3):
        for i in range(1, N):
            a[i] = np.tanh(a[i] + a[i - 1] * x[t])
            for j in range(1, i):
                a[i, j] += a[j, i] * a[i, j - 1]
            a[:, i] *= 0.9
        a[0], a[t] = a[t].copy(), a[0].copy()
    return (a * a).sum()


def until_small(a, x):
    """A loop that ends when data says so, within one that does not, over an array that is read at places data picks."""
    for i in range(N - 1):
        k = 0
        while np.abs(x[i]) > 0.3 and k < 9:
            x[i] = x[i] * 0.7 + 0.01 * x[np.argmax(a[i])] * x[k]
            k += 1
        if x[i] > 0:
            x[i + 1] = x[i + 1] * np.cos(x[i])
        a[k, i] = x[i] * a[i, k]
    return a.sum() + (x * x).sum()


def counted(a, x):
    """Where a number is stored depends on numbers stored before."""
    places = np.zeros(N, int)
    for i in range(1, N):
        places[i] = (places[i - 1] * 5 + i) % N
        x[places[i]] = x[places[i]] * x[i] + a[i, places[i - 1]]
    return (x * x).sum()


def whenever_possible(half, trips):
    return 0 if isinstance(half, undo_log.UndoLog) else 1


@pytest.mark.parametrize("f", [substituted, factored, swept, until_small, counted])
def test_what_is_restored_is_what_was_kept(f, monkeypatch):
    def derived():
        return jit(grad(f, argnums=(0, 1)))(*(x / N for x in OPERANDS))

    monkeypatch.setattr(undo_log, "cost", whenever_possible)
    found = derived()
    monkeypatch.setattr(undo_log, "restoring", lambda plain, *_: plain)
    for a, b in zip(found, derived()):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_second_derivatives_of_what_is_restored(monkeypatch):
    directions = [RNG.normal(size=x.shape) for x in OPERANDS]

    def derived():
        return jvp(lambda *xs: grad(substituted, argnums=(0, 1))(*xs), OPERANDS, tuple(directions))[1]

    found = derived()
    monkeypatch.setattr(undo_log, "restoring", lambda plain, *_: plain)
    for a, b in zip(found, derived()):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("f", [substituted, factored])
def test_rows_that_were_read_are_not_kept(f, monkeypatch):
    def kept():
        func = grad(f, argnums=(0, 1)).ir(*OPERANDS)
        return sum(p.type.size for region in regions(func) for p in region.params if p.hint and "saved" in p.hint)

    restored = kept()
    monkeypatch.setattr(undo_log, "restoring", lambda plain, *_: plain)
    assert restored * 4 < kept()


# -- what need not be kept -------------------------------------------------------------------------


def below(a, b):
    """A triangle of a times b, in place: what a trip reads, the next ones overwrite."""
    for i in range(N):
        for j in range(N):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    return (b * b).sum()


def ragged(starts, columns, values, x):
    """A matrix by rows of the lengths that `starts` decides, times x."""
    y = np.empty(starts.size - 1)
    for i in range(starts.size - 1):
        row = slice(starts[i], starts[i + 1])
        y[i] = values[row] @ x[columns[row]]
    return (y * y).sum()


def carried(func):
    """The elements that the loops of a program carry, those of loops within others too."""
    loops = [eqn for f in (func, *regions(func)) for eqn in f.eqns if eqn.op.name == "loop"]
    return [r.type.size for eqn in loops for r in eqn.results]


def test_an_inner_loop_restores_what_the_outer_one_restores_too():
    a, b = RNG.normal(size=(N, N)), RNG.normal(size=(N, N))
    derivative = grad(lambda a, b: below(a, b.copy()), argnums=(0, 1))
    found = jit(derivative)(a, b)
    d = RNG.normal(size=(2, N, N))
    want = slope(lambda a, b: below(a, b.copy()), (a, b), d)
    assert abs(sum((g * x).sum() for g, x in zip(found, d)) - want) <= 1e-7 * max(1.0, abs(want))
    assert max(carried(derivative.ir(a, b))) == N * N  # not a row a trip: N * N * N


@pytest.mark.inexact
def test_what_is_gathered_of_an_invariant_is_gathered_again():
    starts, columns = np.array([0, 2, 2, 5, 6, 9]), RNG.integers(0, 7, 9)
    values, x = RNG.normal(size=9), RNG.normal(size=7)
    loss = lambda values, x: ragged(starts, columns, values, x)
    derivative = grad(loss, argnums=(0, 1))
    found, d = jit(derivative)(values, x), (RNG.normal(size=9), RNG.normal(size=7))
    want = slope(loss, (values, x), d)
    assert abs(sum((g * x).sum() for g, x in zip(found, d)) - want) <= 1e-7 * max(1.0, abs(want))
    func = derivative.ir(values, x)
    assert max(carried(func)) <= 9
    scattered = [eqn for region in regions(func) for eqn in region.eqns if eqn.op.name == "scatter_add"]
    assert scattered and all(eqn.operands[0] in region.params for region in regions(func) for eqn in region.eqns if eqn in scattered)
