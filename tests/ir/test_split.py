"""Loops whose trips are shared out, programs written for devices, and the model of what is sent: of the IR alone, no device."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends.numpy import callable_of
from wengert.ir.core import has
from wengert.ir.for_devices import for_devices
from wengert.ir.laid import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, PERMUTE
from wengert.ir.split import LEAST, in_parts_within, split_of, way_of
from wengert.ir.spread import Spread, sent

X = np.random.default_rng(0).normal(size=(24, 6))


def rows(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = y[i, j - 1] * 0.5 + x[i, j] * i
    return y


def blurred(x):
    y = x.copy()
    for i in range(2, x.shape[0] - 1):
        for j in range(x.shape[1]):
            y[i, j] = x[i - 2, j] + x[i, j] * x[i + 1, j]
    return y


def columns(x):
    y = x.copy()
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            if x[i, j] > 0:
                y[i, j] = y[i, j] * 2 + j
    return y


def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j]
        if t > 0:
            s += np.log1p(t)
        s -= t * t
    return s


def backwards(x):
    return grad(lambda x: (rows(x) ** 2).sum())(x)


def serial(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i - 1, j] + x[i, j]
    return y


def smallest(x):
    s = x[0, 0]
    for i in range(x.shape[0]):
        s = min(s, x[i, 0])
    return s


def twice(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = s + s * x[i, 0]
    return s


def ir(f, *args):
    return for_devices(jit(f, whole=True).ir(*args))


def loops(func):
    return [eqn for eqn in func.eqns if eqn.op.name == "loop"]


def in_parts(split, n, operands):
    """What a loop gives where each of n parts of the rows is computed by itself, halos and all."""
    m, first, outs = split.parts(n), split.count, []
    build = callable_of(split.body(m))
    for part in range(n):
        begin = max(part * m - split.first, 0)
        count = max(min(split.trips, (part + 1) * m - split.first) - begin, 0)
        given = []
        for k, x in enumerate(operands):
            if k in split.axes:
                low, high = split.halo[k]
                around = [(low, high) if a == split.axes[k] else (0, 0) for a in range(x.ndim)]
                x = np.pad(x, around).take(range(part * m, (part + 1) * m + low + high), split.axes[k])
            elif k in split.sums and part:
                x = x * 0
            given.append(x)
        carried = given[first:]
        for trip in range(count):
            carried = build(np.int64(trip), np.int64(begin + split.first - part * m), np.int64(begin), *given[:first], *carried)
        outs.append(carried)
    return [
        sum(parts) if k in split.sums else np.concatenate(parts, split.axes[k]) for k, parts in enumerate(zip(*outs, strict=True), first)
    ]


@pytest.mark.parametrize("f", [rows, blurred, columns, total, backwards])
def test_parts_come_to_the_whole(f):
    func = ir(f, X)
    seen = 0
    for eqn in loops(func):
        split, why = split_of(eqn.attrs)
        assert why is None
        rng = np.random.default_rng(1)
        operands = [np.asarray(rng.normal(size=x.type.shape)).astype(x.type.dtype) for x in eqn.operands]
        want = eqn.op.body(*operands, **eqn.attrs)
        for n in (2, 3):
            if split.parts(n):
                for a, b in zip(in_parts(split, n, operands), want, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
                seen += 1
    assert seen


@pytest.mark.parametrize("f, why", [(serial, "that another one writes"), (smallest, "what another one leaves"), (twice, "what another one leaves")])
def test_trips_that_depend_on_each_other(f, why):
    (eqn,) = loops(ir(f, X))
    assert why in split_of(eqn.attrs)[1] and way_of(eqn.attrs, {"rows": 2})[0] is None


def test_where_a_loop_runs():
    (eqn,) = loops(ir(blurred, X))
    split, axis, _ = way_of(eqn.attrs, {"a": 2, "b": 4})
    assert (axis, sorted(split.halo.values())) == ("b", [(0, 0), (2, 1)])
    assert "not shared out evenly" in way_of(eqn.attrs, {"a": 5})[2]
    (total_,) = loops(ir(total, X))
    assert way_of(total_.attrs, {"a": 2})[0] and way_of(total_.attrs, {"a": 2}, exact=True)[2] == "the order of its sums is to be kept"

    def steps(x):
        for _ in range(3):
            x[1:-1] = 0.5 * (x[:-2] + x[2:])
        return x

    assert in_parts_within(loops(ir(steps, X))[0].attrs, {"a": 2}) and not in_parts_within(loops(ir(serial, X))[0].attrs, {"a": 2})
    assert LEAST > 24 * 6  # the loops over columns within `serial` are no work for devices


def several(x, labels):
    y = x.copy()
    y[1:-1, 2:] = np.tanh(x[:-2, 1:-1]) + x[2:, 2:] * 2.0 - x[1:-1, :-2]
    y[3:20] *= 2
    y[x > 1] = 5.0
    y[:, 1] = 0.0
    z = x[np.arange(len(labels)), labels]
    return y, z, grad(lambda x: (x[np.arange(len(labels)), labels] ** 2).sum())(x)


def test_a_program_for_devices_gives_the_same():
    labels = np.random.default_rng(2).integers(0, 6, 24)
    func = jit(several, whole=True).ir(X, labels)
    made = for_devices(func)
    assert not has(made, lambda eqn: eqn.op.name == "concatenate" or eqn.op.name == "slice" and eqn.operands[0].type.shape == (24, 6))
    for a, b in zip(callable_of(made)(X, labels), callable_of(func)(X, labels), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not has(ir(total, X), lambda eqn: any(r.type.dtype == np.int64 for r in eqn.results if eqn.op.name == "loop"))


def told(f, specs, *args, sizes=None):
    spread = Spread(jit(f, whole=True).ir(*args), specs, sizes or {"r": 8})
    return [(m.kind, m.size, m.times) for m in spread.moved], spread.results


A, B = np.ones((64, 32)), np.ones((32, 16))


@pytest.mark.parametrize(
    "f, specs, args, moved, result",
    [
        (lambda a: np.tanh(a) * 2, [("r",)], (A,), [], ("r", None)),
        (lambda a: a.sum(0), [("r",)], (A,), [(ALL_REDUCE, 256, 1)], (None,)),
        (lambda a: a.sum(0), [(None, "r")], (A,), [], ("r",)),
        (lambda a, b: a @ b, [("r",), ()], (A, B), [], ("r", None)),
        (lambda a, b: a @ b, [(None, "r"), ("r",)], (A, B), [(ALL_REDUCE, 64 * 16 * 8, 1)], (None, None)),
        (lambda a, b: a @ b, [("r",), ("r",)], (A, B), [(ALL_GATHER, 32 * 16 * 8, 1)], ("r", None)),
        (lambda a, b: a + b.T, [("r",), ("r",)], (A, A.T.copy()), [(ALL_TO_ALL, 64 * 32, 1)], ("r", None)),
        (lambda a: np.sort(a, 0), [("r",)], (A,), [(ALL_GATHER, 64 * 32 * 8, 1)], (None, None)),
        (lambda a: a.reshape(8, 8, 32) * 2, [("r",)], (A,), [], ("r", None, None)),
        (lambda a: a.T.reshape(-1) * 2, [("r",)], (A,), [(ALL_GATHER, 64 * 32 * 8, 1)], (None,)),
        (lambda a: a[::-1] * 2, [("r",)], (A,), [(PERMUTE, 64 * 32, 1)], ("r", None)),
    ],
)  # fmt: skip
def test_the_model(f, specs, args, moved, result):
    assert told(f, specs, *args) == (moved, [result])


def test_the_model_of_loops():
    def steps(u):
        for _ in range(10):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
        return u

    row = 32 * 8
    assert told(steps, [("r",)], A.copy()) == ([(PERMUTE, row, 10)] * 2, [("r", None)])
    assert told(blurred, [("a",)], X, sizes={"a": 2}) == ([(PERMUTE, 2 * 48, 1), (PERMUTE, 48, 1)], [("a", None)])
    assert told(total, [("a",)], X, sizes={"a": 2}) == ([(ALL_REDUCE, 8, 1)], [()])
    assert told(serial, [("a",)], X, sizes={"a": 2})[0] == [(ALL_GATHER, 24 * 48, 1)]


def test_bytes_of_collectives():
    assert [sent(kind, 800.0, 8) for kind in (ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, PERMUTE)] == [1400, 700, 700, 800]
    assert sent(ALL_REDUCE, 800.0, 1) == 0
