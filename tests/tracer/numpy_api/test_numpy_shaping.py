"""Shapes, views, creation, joining, padding and selection on traced values: NumPy's values, dtypes, shapes, types and errors."""

import warnings

import numpy as np
import pytest
from arrays import drawn
from compare import agree, check_same
from sweep import by_xla
from table import check

import wengert
from wengert import UnsupportedError, jit

DTYPES = ["float64", "float32", "complex128", "int32", "uint8", "bool"]


def operands(dtype):
    """x [3,4], v [4], s [], b [2,3,4], i: indices, k: an index."""
    return {"x": drawn(dtype, (3, 4)), "v": drawn(dtype, 4, 1), "s": drawn(dtype, (), 2), "b": drawn(dtype, (2, 3, 4), 3),
            "i": np.array([1, 0, 2]), "k": np.int64(2)}  # fmt: skip


SHAPES = """
np.reshape(x, (4, 3)), np.reshape(x, -1), np.reshape(x, (2, -1), order="F"), np.reshape(x.T, (2, 6), order="A"), np.reshape(x.T, 12)
np.reshape(x, 12, copy=False), x.reshape(2, 2, 3), x.reshape((2, 6), order="F"), np.reshape(x, (4, 3), copy=True), np.reshape(x[:0], (0, 7))
np.reshape(x, (5, 2))  # ValueError
np.reshape(x, (-1, -1))  # ValueError
np.reshape(x.T, 12, copy=False)  # ValueError
x.reshape(-1, order="K")  # ValueError
np.ravel(x, "F"), np.ravel(x.T, "K"), np.ravel(x.T, "A"), x.ravel(), x.T.ravel(), np.ravel(b.transpose(2, 0, 1), "K")
x.flatten(), x.flatten("F"), x.T.flatten("K"), x[::-1].ravel("K")
np.squeeze(x[None, :, None]), np.squeeze(x[None], 0), x[None, :, None].squeeze(axis=(0, 2)), np.squeeze(x[:1, :1])
np.squeeze(x, 0)  # ValueError
np.expand_dims(x, 1), np.expand_dims(x, (0, -1)), np.expand_dims(s, 0)
np.expand_dims(x, 5)  # AxisError
np.atleast_1d(s), np.atleast_1d(x, s), np.atleast_2d(v), np.atleast_3d(v), np.atleast_3d(x), np.atleast_3d(b)
np.broadcast_to(v, (2, 3, 4)), np.broadcast_to(s, 3), np.broadcast_to(s, ())
np.broadcast_to(x, (3, 5))  # ValueError
np.broadcast_arrays(x, v, s), np.broadcast_arrays(x, b), np.broadcast_arrays(v)
np.broadcast_arrays(x, v[:3])  # ValueError
np.resize(x, (2, 3)), np.resize(x, 30), np.resize(x, (5, 5)), np.resize(x, (0, 2))
np.ndim(x), np.shape(x), np.size(x), np.size(x, 1), np.ndim(s), np.size(s), x.nbytes, x.itemsize, x.device
"""

AXES = """
np.transpose(x), np.transpose(b, (2, 0, 1)), np.transpose(b, (-1, 0, 1)), x.T, b.T, s.T, np.transpose(x[0, 0])
b.transpose(1, 0, 2), b.transpose((1, 0, 2)), b.transpose(None), b.transpose()
np.transpose(x, (0, 0))  # ValueError
np.transpose(x, (0, 1, 2))  # ValueError
np.swapaxes(b, 0, -1), b.swapaxes(1, 2), np.moveaxis(b, 0, -1), np.moveaxis(b, (0, 1), (-1, 0))
np.swapaxes(b, 0, 3)  # AxisError
np.moveaxis(b, 0, 5)  # AxisError
np.moveaxis(b, (0, 1), 0)  # ValueError
np.rollaxis(b, 2), np.rollaxis(b, 0, 3), np.rollaxis(b, 1, 1)
np.matrix_transpose(b), b.mT, np.linalg.matrix_transpose(x), np.permute_dims(b, (2, 1, 0))
v.mT  # ValueError
np.matrix_transpose(v)  # ValueError
np.flip(x), np.flip(b, 1), np.flip(b, (0, -1)), np.fliplr(x), np.flipud(v), np.flip(s)
np.flip(x, 2)  # AxisError
np.fliplr(v)  # ValueError
np.rot90(x), np.rot90(x, 2), np.rot90(x, 3), np.rot90(x, -1), np.rot90(b, 1, (1, 2)), np.rot90(x, 4)
np.rot90(x, 1, (0, 0))  # ValueError
np.diagonal(x), np.diagonal(x, 1), np.diagonal(x, -1), x.diagonal(9), np.diagonal(b, 0, 1, 2), np.diagonal(b, 1, 0, 2)
np.linalg.diagonal(b, offset=-1), np.diagonal(x[:, :0])
np.diagonal(v)  # ValueError
np.unstack(x), np.unstack(b, axis=-1)
np.unstack(s)  # ValueError
windows(v, 2), windows(x, (2, 3)), windows(x, 2, axis=1), windows(b, (2, 2), axis=(1, 2)), windows(v, (2, 2), axis=(0, 0)), windows(b, 4, 2)
windows(v, 9)  # ValueError
windows(x, 2)  # ValueError
"""

COPIES = """
np.copy(x), np.copy(x.T), x.copy(), x.T.copy("F"), np.copy(s), np.copy(x[0, 0]), x[0, 0].copy()
np.copy(x.T).strides, x.T.copy().strides, np.copy(x.T, "C").strides, x.strides, x.T.strides, x[:, ::2].strides
x.astype(np.float32), x.astype("i8"), x.astype(bool), x.astype(complex), x.astype(x.dtype, copy=False), x.astype(None)
np.astype(x, np.float64), x.T.astype(float).strides, x[0, 0].astype(float), x.astype(x.dtype, copy=False) is x
x.real, x.imag, np.real(x), np.imag(x), np.real(s), x.T.real, x[0, 0].real, x[0, 0].imag, np.real(2.5)
x.flags.c_contiguous, x.T.flags.f_contiguous, x[:, 0].flags.c_contiguous, x.flags.writeable, x.base is None, x.T.base is None
x.flat[3], x.flat[2:9:3], x.flat[::-1], [e for e in x.flat][:3], len(x.flat), x.flat[[1, 5]], x.flat[k], x[0, 0].flat[0]
np.shares_memory(x, x.T), np.shares_memory(x[0], x[1]), np.may_share_memory(x, x.copy()), np.shares_memory(x, x.ravel())
np.shares_memory(x, x.T.ravel()), np.shares_memory(x[::2], x[1::2]), np.shares_memory(x, v)
np.reshape(x[0, 0], ()), np.reshape(x[0, 0], (1, 1)), np.squeeze(x[0, 0]), x[0, 0].reshape(1), x[0, 0].T, np.ravel(x[0, 0])
""".replace("x.astype(object)  # ValueError\n", "")

CREATION = """
np.zeros_like(x), np.ones_like(x, float), np.full_like(x, 1), np.empty_like(x).shape, np.zeros_like(x.T).strides, np.zeros_like(x, shape=(2, 2))
np.ones_like(s), np.zeros_like(x, shape=5), np.full_like(x, x[0, 0]), np.full_like(x, v), np.full_like(x, s, dtype=complex)
np.full_like(x, np.ones(3))  # ValueError
np.zeros(3, like=x), np.ones((2, 2), np.int8, like=x), np.full(2, x[0, 0], like=x), np.eye(3, like=x), np.arange(4, like=x)
np.empty(2, like=x).shape
np.array([x[0, 0], 1], like=x), np.asarray([1, 2], like=x), np.array(x, ndmin=3, like=x), np.asarray(x, like=x) is x, np.array([v, v], like=x)
np.ascontiguousarray(x.T, like=x).strides, np.asfortranarray(x, like=x).strides, np.array(x, dtype=complex, like=x), np.array(x, like=x) is x
np.tril(x), np.triu(x), np.tril(b, 1), np.triu(x, -1), np.tril(v), np.triu(v, 1), np.tril(x[:0])
np.tril(s)  # TypeError
np.diag(v), np.diag(v, 1), np.diag(v, -2), np.diag(x), np.diag(x, 2), np.diagflat(x), np.diagflat(v, 1), np.diag(v[:0], 1), np.diag(v[:1])
np.diag(b)  # ValueError
np.vander(v), np.vander(v, 3), np.vander(v, 2, increasing=True), np.vander(v, 1), np.vander(v, 0)
np.vander(x)  # ValueError
np.meshgrid(v, x[0]), np.meshgrid(v, v[:2], indexing="ij"), np.meshgrid(v, v[:2], sparse=True), np.meshgrid(v)
np.meshgrid(v, v, v[:2], copy=False), np.meshgrid(s, v), np.ix_(i, [0, 1]), x[np.ix_(i, [0, 1])]
np.meshgrid(v, v, indexing="xx")  # ValueError
np.diag_indices_from(x[:3, :3]), np.tril_indices_from(x), np.triu_indices_from(x, 1)
np.diag_indices_from(x)  # ValueError
np.tril_indices_from(v)  # ValueError
"""

GRIDS = """
np.linspace(s, 5), np.linspace(s, 5, 4, endpoint=False), np.linspace(0, v, 3), np.linspace(v, 2 * v, 4, axis=1), np.linspace(s, 2, 1)
np.linspace(s, 3, 5, retstep=True), np.linspace(v, 3, 0), np.linspace(s, 9, 4, dtype=int), np.linspace(v, 1.0, 3), np.linspace(x[0, 0], 2, 3)
np.linspace(s, 5, -1)  # ValueError
np.logspace(s, 2, 4), np.logspace(v, 1, 3, base=2), np.logspace(0, 1, 3, base=abs(s)), np.logspace(0, 1, 3, base=abs(v))
np.geomspace(abs(s) + 1, 100, 4), np.geomspace(-abs(s) - 1, -100, 4), np.geomspace(abs(v) + 1, 50, 3, axis=1)
np.geomspace(1, abs(s) + 5, 3, endpoint=False)
"""

JOINS = """
np.concatenate((x, x)), np.concatenate([x, x], 1), np.concatenate((x, v), axis=None), np.concatenate([v, [1.5]])
np.concatenate((v, v), dtype=complex)
np.concatenate((x, [1.5]), axis=None), np.concatenate((x, 1.5), axis=None), np.concat((v, v)), np.concatenate(x), np.concatenate((v, [True, False]))
np.concatenate((v, np.ones(2, np.float32))), np.concatenate((v[:0], v)), np.concatenate((v[:0], v[:0])), np.concatenate([v])
np.concatenate((x, v))  # ValueError
np.concatenate((x, x[:, :3]))  # ValueError
np.concatenate((s, s))  # ValueError
np.concatenate((x, x), axis=2)  # AxisError
np.stack((v, v)), np.stack((v, v), 1), np.stack([x, x], -1), np.stack((s, s)), np.stack((s, 1.5)), np.stack(x), np.stack([x[0, 0], x[0, 1], 1])
np.stack((x, v))  # ValueError
np.stack((v, v), axis=3)  # AxisError
np.vstack((x, v)), np.hstack((v, v)), np.hstack((x, x)), np.dstack((v, v)), np.dstack((x, x)), np.column_stack((v, v, np.stack((v, v), 1)))
np.hstack((s, v)), np.hstack((s, 1)), np.vstack((v, [1, 2, 3, 4])), np.vstack((v, v), dtype=complex)
np.vstack((x, v[:2]))  # ValueError
np.block([x, x]), np.block([[x, x], [x, x]]), np.block([[s, v]]), np.block(x), np.block([[x], [v]]), np.block([v, 1])
np.block([[x, v]])  # ValueError
np.block([x, [x]])  # ValueError
np.block((x, x))  # TypeError
np.append(x, v), np.append(x, x, 0), np.append(v, 1), np.append(v, [[1.5]])
np.append(x, v, 0)  # ValueError
np.array_split(v, 3), np.array_split(x, 2, 1), np.array_split(x, [1, 2], -1), np.split(v, 2), np.hsplit(x, 2), np.vsplit(x, 3)
np.dsplit(b, [1, 3]), np.hsplit(v, [1]), np.array_split(v, 7)
np.split(v, 3)  # ValueError
np.array_split(v, 0)  # ValueError
np.vsplit(v, 2)  # ValueError
np.insert(v, 1, 9), np.insert(v, [1, 3], [8, 9]), np.insert(x, 1, v, axis=0), np.insert(x, 1, 1, axis=1), np.insert(v, -1, [1, 2])
np.insert(x, [1], [[1], [2], [3]], axis=1), np.insert(x, [0, 2], 7, axis=1), np.insert(x, 3, 5), np.insert(v, slice(0, 4, 2), 1)
np.insert(v, np.array([True, False, True, False]), 3), np.insert(x, 1, [[1, 2, 3, 4]], axis=0), np.insert(x, 1, [1, 2, 3], axis=1)
np.insert(v, [], 3), np.insert(v, [2, 2], [5, 6]), np.insert(v, 2, s), np.insert([1.5, 2.5], 1, v)
np.insert(v, 7, 1)  # IndexError
np.insert(v, [1, 2], [1, 2, 3])  # ValueError
np.delete(v, 1), np.delete(x, [0, 2], 1), np.delete(x, slice(0, 2), 0), np.delete(x, 5), np.delete(v, -1), np.delete(v, slice(None, None, -2))
np.delete(v, [True, False, False, True]), np.delete(v, []), np.delete(b, 1, -1)
np.delete(v, 9)  # IndexError
np.tile(x, 2), np.tile(v, (2, 3)), np.tile(x, (2, 1, 2)), np.tile(s, 3), np.tile(x, 0), np.tile(v, ()), np.tile(x, (1, 1))
np.repeat(x, 2), np.repeat(x, 2, 0), np.repeat(x, [1, 0, 2], axis=0), x.repeat(3, axis=1), np.repeat(s, 3), np.repeat(v, 0)
np.repeat(x, [2], axis=1), np.repeat(v, [5, 0, 7, 1])
np.repeat(x, [1, 2], axis=0)  # ValueError
np.repeat(v, -1)  # ValueError
np.roll(v, 1), np.roll(x, -2), np.roll(x, 1, 0), np.roll(x, (1, 2), (0, 1)), np.roll(x, 1, (0, 1)), np.roll(x, (1, 2), 0), np.roll(b, 5, -1)
np.roll(s, 2), np.roll(x, k), np.roll(x, k, 1), np.roll(v, -k, 0), np.roll(x, (k, 1), (0, 1)), np.roll(x, k, (0, 1)), np.roll(x[:0], 1, 0)
np.roll(x, 1, 2)  # AxisError
"""

PADS = """
np.pad(v, 2), np.pad(x, 1), np.pad(x, (1, 2)), np.pad(x, ((1, 0), (0, 2))), np.pad(x, 1, constant_values=5), np.pad(x, 0), np.pad(s, 2)
np.pad(x, 1, constant_values=((1, 2), (3, 4))), np.pad(x, 1, constant_values=(3, 4)), np.pad(v, 1, constant_values=v[0])
np.pad(v, 1, constant_values=(v[0], v[1])), np.pad(x, {0: 1}), np.pad(x, {1: (1, 2)}), np.pad(x[:0], 1)
np.pad(x, 2, "edge"), np.pad(x, (1, 0), "edge"), np.pad(x, 2, "wrap"), np.pad(x, 9, "wrap"), np.pad(x, 2, "reflect"), np.pad(x, 8, "reflect")
np.pad(x, 2, "symmetric"), np.pad(x, (7, 9), "symmetric"), np.pad(x[:1], 2, "reflect"), np.pad(v, (0, 3), "reflect")
np.pad(v, (3, 0), mode="symmetric")
np.pad(x, 2, "empty").shape, np.pad(x[:0], ((0, 0), (1, 1)), "edge")
np.pad(x[:0], 1, "edge")  # ValueError
np.pad(x, -1)  # ValueError
np.pad(x, 1, "nothing")  # ValueError
np.pad(x, 1, "edge", constant_values=1)  # ValueError
np.pad(x, 1.5)  # TypeError
np.pad(x, ((1, 1), (1, 1), (1, 1)))  # ValueError
np.pad(x, 1, "maximum", stat_length=0)  # ValueError
np.pad(x, 2, "maximum"), np.pad(x, 2, "minimum", stat_length=2), np.pad(x, (1, 0), "maximum", stat_length=((1, 2), (3, 9)))
"""

NUMERIC_PADS = """
np.pad(x, 2, "linear_ramp"), np.pad(x, 2, "linear_ramp", end_values=3), np.pad(x, (2, 3), "linear_ramp", end_values=((1, 2), (3, 4)))
np.pad(x, (0, 3), "linear_ramp"), np.pad(x, 2, "mean"), np.pad(x, (2, 1), "mean", stat_length=((1, 2), (2, 1)))
np.pad(v, 3, "linear_ramp", end_values=v[0])
np.pad(x, 2, "reflect", reflect_type="odd"), np.pad(x, 7, "reflect", reflect_type="odd"), np.pad(x, 2, "symmetric", reflect_type="odd")
np.pad(x, (9, 4), "symmetric", reflect_type="odd"), np.pad(x[:1], 2, "reflect", reflect_type="odd")
"""

SELECTION = """
x[(0, 1, 0), (3, 3, 2)], b[(0, 1, 0), (2, 2, 1)], x[(0, 1),], x[(0, 1), 2], x[1][(0, 1),], x[:, (True, False, True, False)]
np.take(x, 2), np.take(x, [1, 5]), np.take(x, -1), np.take(x, [[0, 1], [2, 0]], axis=1), np.take(x, 1, axis=0), x.take([0, -1], axis=-1)
np.take(x, [7, -9], mode="wrap"), np.take(x, [70, -9], mode="clip"), np.take(v, []), np.take(x, True), np.take(s, 0), np.take(x, i)
np.take(x, i, axis=1), np.take(x, i, 0, mode="wrap"), np.take(x, 20 * i - 9, 0, mode="clip"), np.take(x, k, axis=0)
np.take(v, -k), np.take(x, 7 * i - 9, 1, mode="wrap"), np.take(x, [0.5]), np.take(x, np.array([], int), 1)
np.take(x, 12)  # IndexError
np.take(x, 1, axis=3)  # AxisError
np.take(x, i * 1.5)  # TypeError
np.take(x[:0], i, axis=0)  # IndexError
np.take_along_axis(x, np.array([[0], [1], [3]]), 1), np.take_along_axis(x, i[:, None], 1), np.take_along_axis(x, i.reshape(1, 3)[:, :1], -1)
np.take_along_axis(x, i, None), np.take_along_axis(x, i.reshape(-1, 1) - 2, 1), np.take_along_axis(x[:1], np.array([[0, 1], [2, 3], [1, -1]]), 1)
np.take_along_axis(x, i, 1)  # ValueError
np.take_along_axis(x, i[None, :], 0)  # IndexError
np.take_along_axis(x, i[None, :] * 1.5, 0)  # IndexError
np.compress([True, False, True], x, axis=0), x.compress([0, 1, 1], axis=1), np.compress([1, 0, 1], x), np.extract([1, 0, 0, 1], v)
np.compress([1, 1, 1, 1, 1], v)  # IndexError
np.unravel_index(i, (3, 4)), np.unravel_index(i[0], (3, 4)), np.unravel_index(i, 9), np.unravel_index(i, (2, 5), "F")
np.ravel_multi_index((i % 3, i), (3, 4)), np.ravel_multi_index((i, i), (2, 3), mode="wrap"), np.ravel_multi_index((i[0], 1), (5, 5))
np.ravel_multi_index((i, i), (2, 3), mode=("clip", "wrap"), order="F")
np.ravel_multi_index((i, i, i), (5, 5))  # ValueError
np.unravel_index(i * 1.5, (3, 3))  # TypeError
np.trace(x), np.trace(b), x.trace(1), np.trace(b, 0, 1, 2), np.trace(x, dtype=complex), np.linalg.trace(b), np.trace(x, 9)
np.trace(v)  # ValueError
"""


@pytest.mark.parametrize("dtype", by_xla(["float64", "bool"], *DTYPES))
@pytest.mark.parametrize("table", ["SHAPES", "AXES", "COPIES", "CREATION", "JOINS", "PADS", "SELECTION"])
def test_every_dtype(table, dtype):
    check(globals()[table], **operands(dtype))


@pytest.mark.parametrize("dtype", by_xla(["float64", "int32"], *(d for d in DTYPES if d != "bool")))
def test_padding_with_numbers(dtype):
    check(NUMERIC_PADS, **operands(dtype))


@pytest.mark.parametrize("dtype", by_xla(["float32"], "float64", "float32", "int32"))
def test_grids(dtype):
    check(GRIDS, rtol=1e-11, **operands(dtype))


def test_python_numbers_stay_weak():
    check_same(lambda a: (np.reshape(a, (1, 1)), np.transpose(a), np.atleast_1d(a), a.real, a.imag, np.real(a), np.ones(2, np.float32) * a), 2.5)
    check_same(lambda a, x: (np.linspace(a, x, 3), np.concatenate((x, a), axis=None), np.stack((x, a)),
        np.insert(x, 0, a)), 2.5, np.ones((), np.float32))


# -- memory ----------------------------------------------------------------------------------------


def through_views(x, y):
    x.reshape(-1)[0] = 1
    x.T[1, 2] = 2
    x.ravel()[5] = 3
    np.flip(x)[0, 0] = 4
    np.rot90(x)[1, 1] = 5
    np.squeeze(x[None])[2, 0] = 6
    np.moveaxis(x, 0, 1)[3, 1] = 7
    np.split(x, 3)[1][0, 0] = 8
    np.atleast_3d(x)[1, 1, 0] = 9
    x.reshape(4, 3, order="F")[0, 0] = 10  # a copy
    x.T.ravel()[1] = 11  # a copy
    x.flatten()[2] = 12  # a copy
    np.expand_dims(x, 0)[0, 0] += y
    x.T.reshape(2, 6)[:] = 13  # a copy
    x.T.reshape(12, order="F")[3] = 14
    return x.sum()


def flats(x, v):
    x.flat[1] = 5
    x.flat[2:9:3] = v
    x.flat[[10, 11]] = v[:1]
    x.T.flat[3] = 9
    np.fill_diagonal(x, v[0])
    return x.flat[2]


def fillings(x, v, n):
    np.fill_diagonal(x, v)
    x[0].fill(3)
    np.put(x, [1, -1], [7, 8])
    x.put([4, 5, 6], v)
    np.put(x, n, 50, mode="wrap")
    np.put_along_axis(x, np.array([[1], [2], [0]]), 9, 1)
    np.put_along_axis(x.T, n[None, :] % 4, v[:1], 0)
    np.copyto(x[2], v)


def parts(z, v):
    z.real = v
    z.imag[1] = 5
    z.real += 1
    z[0].real = 2
    np.diag(z)
    return z.imag, np.real(z)


def reinterpreted(x):
    x.view(np.int64)[0] = 5
    x.view(np.uint64)[1] += np.uint64(1)
    return x.view("i8"), x.view(), x[:2].view(complex)


def reinterpreted_complex(z):
    z.view(float)[:, 1] = 7
    return z.view(np.float64), z.view(np.float64).view(complex)


def einsum_views(x):
    np.einsum("ii->i", x[:, :3])[:] = 9
    np.einsum("ij->ji", x)[1, 0] = 5
    return np.einsum("ii->i", x[:, :3])


def test_views_write_through():
    check_same(through_views, drawn(float, (3, 4)), 2.5)
    check_same(flats, drawn(float, (3, 4)), drawn(float, 2))
    check_same(fillings, drawn(float, (3, 4)), drawn(float, 4), np.array([14, 30, 2]))
    check_same(parts, drawn(complex, 3), drawn(float, 3))
    check_same(parts, drawn("complex64", 3), drawn("float32", 3))
    check_same(reinterpreted, drawn(float, 4))
    check_same(reinterpreted_complex, drawn(complex, (2, 3)))
    check_same(einsum_views, drawn(float, (3, 4)))


def written_flat(x):
    x.reshape(-1)[0] = 100
    return x.sum()


def seen_through_a_view(x):
    y = x.reshape(-1)
    x[0, 0] = 7
    return y


def written_inside(x):
    @jit
    def inner(y):
        y.reshape(-1)[1] = 50
        return (y * y).sum()

    return inner(x.T), x


LAYOUTS = [lambda x: x.copy(), lambda x: x.T, np.asfortranarray, lambda x: x[:, ::2], lambda x: x[::2], lambda x: x[::-1]]


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_in_any_memory_order(layout):
    """What is a view of an argument depends on its order of memory; where that can be told, the call runs as plain Python."""
    reads = lambda x: x.reshape(-1), lambda x: (x.ravel("K"), x.strides), lambda x: x.ravel("A")
    for function in (written_flat, seen_through_a_view, written_inside, *reads):
        check_same(function, layout(drawn(float, (4, 4))))


def test_reading_in_any_memory_order_is_compiled():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_same(lambda x: (x.reshape(-1) * 2, x.T.ravel() + 1), np.asfortranarray(drawn(float, (3, 4))))
    with pytest.warns(wengert.Fallback, match="row-major"):
        jit(written_flat)(np.asfortranarray(drawn(float, (3, 4))))


@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(wrap):
    check_same(lambda x: np.fill_diagonal(x, [1, 2, 3], wrap), drawn(float, (9, 3)))
    check_same(lambda x: np.fill_diagonal(x, 7, wrap), drawn(int, (3, 5)))
    check_same(lambda x: np.fill_diagonal(x, x[0, 0, 0], wrap), drawn(float, (3, 3, 3)))
    check_same(lambda x: np.fill_diagonal(x, 1), drawn(float, 3))
    check_same(lambda x: np.fill_diagonal(x, 1), drawn(float, (2, 3, 3)))


def assign(view):
    def write(x):
        view(x)[...] = 1

    return write


@pytest.mark.parametrize("view", [
    np.diagonal, lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0), lambda x: x.imag,
])  # fmt: skip
def test_read_only_views(view):
    check_same(assign(view), drawn(float, (3, 4)))


def test_bits_of_every_width():
    for a, b in [("f4", "i4"), ("u1", "i1"), ("?", "u1"), ("u1", "?"), ("f2", "u2"), ("c8", "f4"), ("i8", "f8")]:
        x = np.array([0, 1, 0, 1], "u1").view(a) if b == "?" else drawn(a, (2, 4))
        check_same(lambda x, b=b: x.view(b), x)
    check_same(lambda x: x.view(np.int32), drawn("f8", ()))
    check_same(lambda x: (x[0].view(np.int64), x[0].view()), drawn("f8", 2))
    check_same(lambda x: x.view(complex), drawn("f8", (2, 3)))


# -- errors that depend on data, and what has no static shape --------------------------------------


def test_indices_are_checked_when_the_program_runs():
    x, i = drawn(float, (3, 4)), np.array([0, 3])
    for f in (lambda x, i: np.take(x, i, 0), lambda x, i: np.take_along_axis(x, i[None] + 0 * i[:, None], 0), lambda x, i: np.put(x, 5 * i, 1)):
        check_same(f, x, i)
    check_same(lambda x, i: np.unravel_index(i, (1, 3)), x, i)
    check_same(lambda x, i: np.ravel_multi_index((i, i), (4, 3)), x, i)
    check_same(lambda s: np.geomspace(s, 5, 3), np.float64(0))


def test_out_arguments():
    check_same(lambda x, out: (np.concatenate((x, x), out=out), out), drawn(float, 2), np.zeros(4))
    check_same(lambda x, out: (np.stack((x, x), out=out), out), drawn("f4", 2), np.zeros((2, 2)))
    check_same(lambda x, out: (np.take(x, [0, 1], out=out), np.trace(np.diag(x), out=out[0]) is None), drawn(float, 2), np.zeros(2))


@pytest.mark.parametrize("function, hint", [
    (lambda x: x.view("S8"), "dtype"), (lambda x: np.pad(x, 1, lambda *a: None), "mode"),
])  # fmt: skip
def test_what_has_no_static_shape_says_so(function, hint):
    with pytest.raises((UnsupportedError, TypeError), match=hint):
        jit(function)(drawn(float, 3))


def test_numpy_integers_are_sizes_by_value():
    f = jit(lambda x, n: np.reshape(x, (n, -1)))
    for n in (2, 1, 4, 2):
        agree(f(drawn(float, 4), np.int64(n)), drawn(float, 4).reshape(n, -1))
    assert "3 trace(s)" in f.explain()


# -- derivatives -----------------------------------------------------------------------------------


def moves(x):
    parts = [np.pad(x, 1, "reflect"), np.roll(x, 1, 0), np.tile(x, 2), np.tril(x), np.diag(x[0]), np.repeat(x, 2, 0), np.delete(x, 1, 1)]
    parts += [np.take(x, [0, 0, 1], 1), np.lib.stride_tricks.sliding_window_view(x, 2, 1), np.vander(x[0]), np.insert(x, 1, x[0], 0)]
    return sum(np.sum(np.sin((k + 1) * p)) for k, p in enumerate(parts))


def test_gradients():
    x = drawn(float, (3, 4))
    slope = wengert.grad(moves)(x)
    step = 1e-6 * drawn(float, (3, 4), 5)
    agree((slope * step).sum(), (moves(x + step) - moves(x - step)) / 2, rtol=1e-6)


# -- functions of functions, dtypes, bits ----------------------------------------------------------

LINES = """
np.apply_along_axis(np.sum, 0, x), np.apply_along_axis(np.sum, 1, b), np.apply_along_axis(lambda r: r[::-1], -1, x), np.apply_along_axis(np.sum, 0, v)
np.apply_along_axis(lambda r: np.outer(r, r), 1, b), np.apply_along_axis(lambda r, k: r * k, 0, x, 2), np.apply_along_axis(lambda r: r * s, 0, x)
np.apply_along_axis(lambda r: 3, 0, x), np.apply_along_axis(lambda r: np.take(r, k), 1, x), np.apply_along_axis(np.sort, 1, x)
np.apply_over_axes(np.sum, b, (0, 2)), np.apply_over_axes(np.sum, b, 1), np.apply_over_axes(np.max, b, (-1,))
np.apply_along_axis(np.sum, 5, x)  # AxisError
np.apply_along_axis(np.sum, 0, x[:, :0])  # ValueError
np.result_type(x, np.int8), np.result_type(x, 1.5), np.can_cast(x, complex), np.can_cast(x, np.int8), np.min_scalar_type(x)
"""
BITS = """
np.unpackbits(x), np.unpackbits(x, axis=1), np.unpackbits(x, axis=0, bitorder="little"), np.unpackbits(x, axis=1, count=5), np.unpackbits(v, count=40)
np.unpackbits(v, count=-3), np.packbits(x), np.packbits(x > 9, axis=1), np.packbits(b, axis=1, bitorder="little")
np.packbits(v[:0]), np.unpackbits(s)
np.unpackbits(v, count=-33)  # ValueError
np.unpackbits(v, bitorder="odd")  # ValueError
np.unpackbits(v.astype(int))  # TypeError
np.packbits(v * 1.5)  # TypeError
"""


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_lines_and_dtypes(dtype):
    check(LINES, **operands(dtype))


def test_bits():
    check(BITS, **operands("uint8"))


def test_checks_inside_a_line_reach_the_caller():
    check_same(lambda x, i: np.apply_along_axis(lambda r: np.take(r, i), 0, x), drawn(float, (2, 3)), np.int64(2))


def test_grids_of_traced_ends_are_refused():
    with pytest.raises(UnsupportedError, match="np.mgrid of a range with traced ends"):
        jit(lambda n: np.mgrid[0:n, 0:3])(np.int64(3))
    check_same(lambda n: np.ogrid[0:n], 3)


@pytest.mark.parametrize("name", ["array_str", "busday_count"])
def test_refusals_name_the_reason(name):
    function = getattr(np, name)
    with pytest.raises(UnsupportedError, match=rf"np.{name}\b"):
        jit(lambda x: function(*{"busday_count": (x, x)}.get(name, (x,))))(drawn(float, 3))


@pytest.mark.parametrize("dtype", by_xla(["float64"], *DTYPES))
def test_concatenators(dtype):
    for f in (
        lambda x, v, s: (np.r_[v, v], np.r_[x, x], np.r_[v, 1, 2.5, v], np.r_[1:4, v, 0:1:3j], np.r_[[1, 2], v[0], [v[1], 2]]),
        lambda x, v, s: (np.r_[s[()], 3], np.r_["-1", x, x], np.r_["0,2", v, v], np.r_["1,2,0", v, v], np.r_["0,3,1", x, x]),
        lambda x, v, s: (np.r_["0,2,1", v, 1:5], np.r_["0,3,0", v, 1:4], np.r_["0,2,0", 1:4, v], np.c_["0,3,-1", v, v]),
        lambda x, v, s: (np.c_[v, v], np.c_[x, x], np.c_[v[:3], x], np.c_[s[()], s[()]], np.c_[v, 1:5]),
    ):
        args = [drawn(dtype, shape) for shape in ((3, 4), 4, ())]
        agree(jit(f)(*args), f(*args))
    with pytest.raises(UnsupportedError, match="makes a matrix"):
        jit(lambda x: np.r_["r", x])(drawn(dtype, 3))
