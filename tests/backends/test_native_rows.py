"""Loops over rows and planes as machine code: the numbers, the memory they take, and nothing written beside the arrays."""

import ctypes
import importlib.util

import numpy as np
import pytest
from draws import splitting

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build, control, fuse, skew, strip_mine
from wengert.backends.native.nest import Nest
from wengert.ir.ops.control import loop

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")

GUARD = 256  # bytes before and after every buffer


def shortest_paths(d):
    d = d.copy()
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, np.add.outer(d[:, k], d[k]))
    return d


def rank_one_updates(a):
    """The row and the column that are read are written too, and by the trip itself."""
    a = a.copy()
    for k in range(a.shape[0]):
        a[:, 1:] = a[:, 1:] * 0.5 + np.outer(a[:, k], a[k, 1:] - a[k, :-1])
    return a


def nests(function, *args):
    """The outermost loops of a program, as (Nest, equation)."""
    for eqn in jit(function).ir(*args).eqns:
        if eqn.op is loop:
            yield Nest(loop, [x.type for x in eqn.operands], eqn.attrs), eqn


def guarded(nest, eqn, arrays):
    """The carried results of a nest that is run between guards, on operands given as arrays."""
    first = len(arrays) - eqn.attrs["carried"]
    sizes = [*(r.type for r in nest.results), *nest.extra]
    buffers = {}
    for kind, k in nest.buffers:
        given = arrays[k] if kind == "argument" else arrays[first + k] if k in nest.aliases.values() else np.zeros(sizes[k].shape, sizes[k].dtype)
        memory = np.full(given.nbytes + 2 * GUARD, 0xA5, np.uint8)
        memory[GUARD:-GUARD] = np.frombuffer(given.tobytes(), np.uint8)
        buffers[kind, k] = memory, given
    place, _ = build.address(nest.text(), "nest")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(buffers))(place)
    entry(*(memory.ctypes.data + GUARD for memory, _ in buffers.values()))
    for (kind, _), (memory, given) in buffers.items():
        assert (memory[:GUARD] == 0xA5).all() and (memory[-GUARD:] == 0xA5).all()
        assert kind == "result" or memory[GUARD:-GUARD].tobytes() == given.tobytes()
    return [buffers["result", k][0][GUARD:-GUARD].view(r.type.dtype).reshape(r.type.shape) for k, r in enumerate(nest.results)]


RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [1, 3, 20, 70])
@pytest.mark.parametrize("function", [shortest_paths, rank_one_updates])
def test_updates_from_a_row_and_a_column(function, n):
    """They are computed beforehand, and the array is updated where it lies."""
    a = RNG.random((n, n))
    with native.asked(0):
        np.testing.assert_array_equal(jit(function)(a), function(a))
    if n == 70:
        for nest, eqn in nests(function, a):
            assert not nest.extra
            np.testing.assert_array_equal(guarded(nest, eqn, [a])[0], function(a))


def column_sums(a):
    a = a.copy()
    for j in range(1, a.shape[1]):
        a[:, j] += a[:, j - 1]
    return a


def thomas(a, b):
    """Two sweeps along columns, of inner rows only, from rows of another array and shifted ones."""
    p, q, n = np.zeros_like(a), np.zeros_like(a), a.shape[1]
    for j in range(1, n):
        p[1:-1, j] = 1.0 / (4.0 - p[1:-1, j - 1])
        q[1:-1, j] = (b[:-2, j] + b[2:, j] - a[1:-1, j] + q[1:-1, j - 1]) * p[1:-1, j]
    for j in range(n - 2, -1, -1):
        q[1:-1, j] -= p[1:-1, j] * q[1:-1, j + 1]
    return p, q


def with_borders(a):
    """Parts of columns on other lanes, and one element that is stored alone."""
    a = a.copy()
    for j in range(1, a.shape[1]):
        a[2:, j] = a[2:, j - 1] * 0.5 + a[2:, j]
        a[:-3, j] = a[:-3, j] - 0.25 * a[:-3, j - 1]
        a[0, j] = 7.0
        a[3:5, j] = a[3:5, j - 1] + 1.0
    return a


def of_planes(a):
    """A plane that is carried, and one of the columns of which is stored."""
    out, level = np.zeros_like(a), a[:, :, 0]
    for k in range(a.shape[2] - 1, -1, -1):
        level = np.sqrt(np.abs(level - a[:, :, k])) + level / (1.0 + level * level)
        out[:, :, k] = level * level - a[:, :, k]
    return out, level


def across(a):
    """Each row needs the one before it: there are no lanes along the rows."""
    a = a.copy()
    for j in range(1, a.shape[1]):
        a[1:, j] = a[:-1, j - 1] + a[1:, j]
    return a


def reversed_columns(a):
    a = a.copy()
    for j in range(1, a.shape[1]):
        a[:, j] = a[::-1, j - 1] + a[:, j]
    return a


def turned(a):
    """Lanes along the rows of one array and along the columns of another."""
    a, b = a.copy(), np.zeros((a.shape[1], a.shape[0]))
    for j in range(1, a.shape[1]):
        a[:, j] -= 0.5 * a[:, j - 1]
        b[j, :] = b[j - 1, :] + a[:, j]
    return a, b


def from_the_middle(a):
    """Every lane reads one of them."""
    a = a.copy()
    for j in range(1, a.shape[1]):
        a[:, j] += a[2, j - 1]
    return a


LANES = {column_sums: True, thomas: True, with_borders: True, of_planes: True, turned: True} | dict.fromkeys(
    (across, reversed_columns, from_the_middle), False
)


@pytest.mark.parametrize("block", [1, 4, 7, 100])
@pytest.mark.parametrize("function", LANES)
def test_lanes(function, block, monkeypatch):
    """Loops along columns run block by block, where no lane needs another; whatever the size of a block is, the numbers are the same."""
    found = []

    def blocks(body, carried):
        found.append(strip_mine.lanes(body, carried))
        return found[-1] and (found[-1], block)

    shape = (13, 9, 6) if function is of_planes else (23, 12)
    args = [RNG.random(shape) for _ in range(function.__code__.co_argcount)]
    monkeypatch.setattr(control, "blocks", blocks)
    for nest, eqn in nests(function, *args):
        operands = [RNG.random(x.type.shape) for x in eqn.operands]
        for got, want in zip(guarded(nest, eqn, operands), loop.body(*operands, **eqn.attrs), strict=True):
            np.testing.assert_array_equal(got, want)
    assert [x is not None for x in found] == [LANES[function]] * len(found) and found


def test_blocks_are_made_where_columns_are_long():
    body = lambda n: next(eqn.attrs["body"] for eqn in jit(column_sums).ir(np.zeros((n, 50))).eqns if eqn.op is loop)
    assert strip_mine.blocks(body(40), 1) is None
    assert strip_mine.blocks(body(1000), 1)[1] in range(32, 129)


def smoothed(a, b):
    for _ in range(3):
        b[1:-1] = 0.25 * (a[:-2] + a[1:-1] * 2.0 + a[2:])
        a[1:-1] = np.maximum(b[:-2] - b[2:], b[1:-1])
    return a, b


@pytest.mark.parametrize("n", [4, 9, 13, 18, 31, 33, 58, 65, 66, 150])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_ends_of_rows(n, dtype):
    """The last elements of a row are done one by one, or as a shorter vector, and nothing is stored beside them."""
    args = [(RNG.random(n) * 100).astype(dtype) for _ in range(2)]
    for nest, eqn in nests(smoothed, *args):
        for got, want in zip(guarded(nest, eqn, args), loop.body(*args, **eqn.attrs), strict=True):
            np.testing.assert_array_equal(got, want)


def jacobi(a, b):
    for _ in range(3):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def fields(ex, ey, hz):
    """Three arrays of other ranges, and one row that is stored between them."""
    for t in range(3):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def onto_itself(a):
    """What is computed before any of it is stored waits in memory of its own."""
    for _ in range(3):
        a[2:-1, 1:] = a[:-3, 1:] - a[3:, :-1] * 0.5 + a[2:-1, 1:]
    return a


def far_behind(a, b):
    """All of b is needed for the first row of a."""
    for _ in range(3):
        b[:, :] = a[::-1] * 0.5
        a[:, :] = b[::-1, ::-1] + b[:1]
    return a, b


def columns_of_each_other(a, b):
    """Rows of the one are columns of the other."""
    for _ in range(3):
        b[:, 1:] = a[:, :-1] + 0.5
        a[:, 2:] = b.T[:, 2:] - b[:, 1:-1]
    return a, b


def along_a_rod(a, b):
    """Arrays of one row, of which parts follow each other; the last reads further on than the first stores."""
    for _ in range(3):
        b[1:-1] = 0.25 * (a[:-2] + 2.0 * a[1:-1] + a[2:])
        a[2:-1] = b[3:] - b[:-3]
        b[3] = 7.0
        b[:-1] += a[1:]
    return a, b


@pytest.mark.parametrize("n", [12, 13, 29, 60])
def test_strips(n, monkeypatch):
    found, emit = [], skew.Skewed.emit
    monkeypatch.setattr(skew, "NEAR", 0)
    monkeypatch.setattr(skew, "MIDDLE", 0)
    monkeypatch.setattr(fuse, "STRIP", 3)
    monkeypatch.setattr(skew.Skewed, "emit", lambda self, block: (found.append([delay for _, delay in self.groups]), emit(self, block)))
    args = [RNG.random(n) for _ in range(2)]
    for nest, eqn in nests(along_a_rod, *args):
        for got, want in zip(guarded(nest, eqn, args), loop.body(*args, **eqn.attrs), strict=True):
            np.testing.assert_array_equal(got, want)
    assert ([0, 2] in found) == (n > 14)


@pytest.mark.parametrize(
    ("function", "delays"), [(jacobi, [0, 1]), (fields, [0, 0, 0]), (onto_itself, [0, 2]), (far_behind, None), (columns_of_each_other, None)]
)
def test_waves(function, delays, monkeypatch):
    """Stores of whole arrays follow each other row by row, no closer than what they read of each other allows."""
    found, emit = [], skew.Skewed.emit
    monkeypatch.setattr(skew, "NEAR", 0)
    monkeypatch.setattr(skew, "MIDDLE", 0)
    monkeypatch.setattr(skew.Skewed, "emit", lambda self, block: (found.append([delay for _, delay in self.groups]), emit(self, block)))
    args = [RNG.random((21, 21)) for _ in range(function.__code__.co_argcount)]
    for nest, eqn in nests(function, *args):
        operands = [RNG.random(x.type.shape) for x in eqn.operands]
        for got, want in zip(guarded(nest, eqn, operands), loop.body(*operands, **eqn.attrs), strict=True):
            np.testing.assert_array_equal(got, want)
    assert delays in found if delays else all(len(x) == 1 for x in found)


def test_waves_are_of_arrays_that_are_not_near(monkeypatch):
    found, emit = [], skew.Skewed.emit
    monkeypatch.setattr(skew.Skewed, "emit", lambda self, block: (found.append(len(self.groups)), emit(self, block)))
    for n in (20, 200):
        list(nests(jacobi, *[np.zeros((n, n))] * 2))
    assert found == [1, 1, 2]


def neighbours(cells):
    """A sum of parts of an array within a frame, which is put together for the first few readers and stored for many."""
    for _ in range(4):
        p = np.zeros((cells.shape[0] + 2, cells.shape[1] + 2), cells.dtype)
        p[1:-1, 1:-1] = cells
        near = p[:-2, :-2] + p[:-2, 1:-1] + p[2:, 2:] + p[1:-1, :-2] + p[1:-1, 2:]
        cells = ((near == 2) | (cells == 1)).astype(cells.dtype)
    return cells


def beside(cells):
    for _ in range(4):
        p = np.zeros(cells.shape[0] + 2, cells.dtype)
        p[1:-1] = cells
        cells = p[:-2] + p[2:]
    return cells


def test_frames_that_are_read_often_lie_in_memory():
    for f, cells, stored in ((neighbours, np.arange(300).reshape(20, 15) % 7 // 5, True), (beside, np.arange(50.0), False)):
        with splitting(10**9):  # in whose parts nothing is chosen
            ((nest, eqn),) = nests(f, cells)
            assert ("llvm.smin" in nest.text()) != stored
        (got,) = guarded(nest, eqn, [cells])
        np.testing.assert_array_equal(got, f(cells))


def whole_rows(a, k):
    for i in range(len(a)):
        a[i] = a[i] - 0.5 * a[k[i]]
    return a


def parts_of_rows(a, k):
    for i in range(len(a)):
        a[i, 1:4] = a[i, 1:4] * a[k[i], 1:4] + a[k[i] - 1, 1:4]
    return a


def shifted_rows(a, k):
    for i in range(len(a)):
        a[i, 1:] = a[i, 1:] - 0.5 * a[k[i], :-1]
    return a


def turned_rows(a, k):
    for i in range(len(a)):
        a[i] = a[i] - 0.5 * a[k[i], ::-1]
    return a


def columns_by_data(a, k):
    for i in range(len(a)):
        a[:, i] = a[:, i] - 0.5 * a[:, k[i]]
    return a


ROWS = {whole_rows: True, parts_of_rows: True, shifted_rows: False, turned_rows: False, columns_by_data: False}


@pytest.mark.parametrize(("function", "in_place"), ROWS.items())
def test_rows_from_rows_that_may_be_the_same(function, in_place):
    """A row is computed where it lies from rows that are it or others, element by element, but not from their other elements."""
    rng = np.random.default_rng(0)
    compiled = jit(function, engine="numpy")
    for k in (np.arange(6), rng.integers(0, 6, 6), np.full(6, 3), np.arange(6)[::-1].copy()):
        a = rng.normal(size=(6, 6))
        ((nest, _),) = nests(function, a, k)
        assert ("alloca double" not in nest.text()) == in_place
        np.testing.assert_allclose(compiled(a.copy(), k), function(a.copy(), k), rtol=1e-13)
