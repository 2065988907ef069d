"""A sample of `random_numpy.py`: calls of every name of the registry, and what its draws have found."""

import numpy as np
import pytest
from calls import names
from compare import check_same
from random_numpy import limited, quick

from wengert import jit
from wengert.tracer.errors import UnsupportedError


@pytest.mark.parametrize("part", range(8))
def test_every_name(part):
    """One call of each, as generated NumPy; a name of whose parameters nothing is known raises KeyError."""
    with quick():
        found = [(name, limited(name, 5000)) for name in list(names())[part::8]]
    wrong = [f"{name}: {d and d.text}\n    {detail}" for name, (verdict, detail, d) in found if verdict in ("different", "slow")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["add", "floor_divide", "sum", "argmax", "sort", "linalg.solve", "ndarray.astype", "clip"])
def test_values_by_xla(name):
    verdict, detail, d = limited(name, 5001)
    assert verdict in ("agree", "refused", "explained"), f"{d.text}: {detail}"


def test_where_takes_booleans_only():
    x, m = np.arange(3.0), np.array([1, 0, 1])
    for f in (lambda x, m: np.sum(x, where=m), lambda x, m: np.add(x, 1, where=m, out=x), lambda x, m: x.mean(where=m), lambda x, m: np.copyto(x,
        1.0, where=m)):
        check_same(f, x, m)
    check_same(lambda x, m: np.sum(x, where=[1, 0, 1]), x, m)
    check_same(lambda x, m: np.sum(x, where=m[:2] > 0), x, m)


def test_methods_along_one_axis():
    x = np.arange(6.0).reshape(2, 3)
    check_same(lambda x: np.add.accumulate(x[0], axis=None), x)
    check_same(lambda x: np.add.accumulate(x, axis=(-1,)), x)
    check_same(lambda x: np.add.accumulate(x, axis=None), x)
    check_same(lambda x: np.add.reduceat(x, [], axis=(1,)), x)
    check_same(lambda x: np.add.reduceat(x, [0], axis=(0, 1)), x)
    check_same(lambda x: np.multiply.reduceat(x[0, 0], [0]), x)
    check_same(lambda x: np.cumsum(x, axis=(0,)), x)


def test_at_takes_numbers_for_arrays():
    """No operand of `at` is weak, and one that meets no element is no error."""
    check_same(lambda x: (np.add.at(x, np.array([0, 0]), -1), x), np.ones(3, np.uint8))
    check_same(lambda x, i: (np.fmin.at(x, i, 2), x), np.ones(3), np.zeros(0, int))
    check_same(lambda x, i: np.gcd.at(x, i, 2), np.ones(3), np.array([9]))


def test_scalars_stored_among_integers():
    """A float scalar becomes an int as Python makes one; an array's elements are cast."""

    def store(x, v):
        x[1] = v
        return x

    for v in (np.nan, np.inf, 1e30, -1e30, 300.7, np.float64(np.nan), np.float32(2.5), np.array([np.nan])[:1]):
        check_same(store, np.zeros(3, np.int64), v if not isinstance(v, np.ndarray) else v[0])
    check_same(lambda x: store(x, np.inf), np.zeros(3, np.int32))
    with pytest.raises(UnsupportedError):
        jit(store)(np.zeros(3), np.complex64(1j))


def test_unsigned_numbers_beyond_python_ints_raise():
    with pytest.raises(OverflowError):
        jit(lambda x: x.tolist())(np.array([2**64 - 1], np.uint64))
    with pytest.raises(OverflowError):
        jit(lambda x: x.item())(np.array([2**63], np.uint64))
    check_same(lambda x: (x.tolist(), x[0].item()), np.array([2**63 - 1], np.uint64))


def test_a_start_alone_stays_as_it_is():
    x, none = np.array([3, -4]), np.zeros(2, bool)
    for ufunc in (np.hypot, np.gcd, np.lcm):
        check_same(lambda x, m, u=ufunc: u.reduce(x, initial=-3, where=m), x, none)


def test_kinds():
    x = np.arange(3.0)
    check_same(lambda x: np.unstack(x), x)
    check_same(lambda x: (x.conj(), x.conjugate()), np.array(1j))
    check_same(lambda x: (np.float64(2) * x[0]).argsort(), x)
    check_same(lambda x: np.sum(x[0], out=np.zeros_like(x[:1]).reshape(())), x)
    check_same(lambda x: np.isposinf([x[0], x[1]]), x)
    check_same(lambda x: x.round(), 1.5)
    check_same(lambda x: x.is_integer(), np.array(1.5))
    check_same(lambda x: x.std(correction=1), x)
    check_same(lambda x, m: np.mean(x, where=m, axis=0), np.array(1.0), np.array(True))
    check_same(lambda x: np.mean(x, axis=0), np.array(1.0))
    check_same(lambda x, i: np.put(x, i, 10**12), np.zeros(3, np.uint32), np.array([1]))


def test_out_is_cast_by_NumPys_rules():
    x = np.array([1.5, 2.5, -1.0])
    for f in (
        lambda x, o: np.argmin(x, out=o),
        lambda x, o: np.round(x[:1].reshape(()), out=o),
        lambda x, o: np.std(x, out=o),
        lambda x, o: np.ptp(x, out=o),
        lambda x, o: np.take(x, 1, out=o),
    ):
        for dtype in (np.uint16, np.int32, np.float32, np.float64, complex):
            check_same(f, x, np.zeros((), dtype))


def test_wrong_arguments():
    x = np.arange(6.0).reshape(2, 3)
    check_same(lambda x: np.full_like(x, -200, dtype=np.int8), x)
    check_same(lambda x: x.item(0, 0, 0), x)
    check_same(lambda x: np.array(x, order="X"), x)
    check_same(lambda x: np.histogram2d(x, x), x)
    check_same(lambda x: np.histogram_bin_edges(x, weights=x[0]), x)
    check_same(lambda x: np.cov(x, dtype=int), x)
    check_same(lambda x: np.isin(x, x, kind="table"), x)
    check_same(lambda x: np.compress(x, x), x)
    check_same(lambda x: np.polyder(x[0, 0]), x)
    check_same(lambda x: np.take_along_axis(x, 0, 0), x)
    check_same(lambda x: np.put_along_axis(x, np.array([[0]]), x[0], 0), x)
    check_same(lambda x, v: np.place(x, x > 1, v), np.ones(3, np.float32), np.ones(2))
    check_same(lambda x: np.choose(x, [1, 2]), np.array([5]))
    check_same(lambda x: np.partition(x, 9), np.zeros((0, 3)))


def test_points_of_rows_as_generated_NumPy():
    """np.take of more axes than the array has: the plain spelling of a gather is not np.take_along_axis."""
    with quick():
        check_same(lambda x, i: (x.take(i), np.interp(i * 0.5, [0.0, 1.0], [1.0, 3.0])), np.arange(4.0), np.array([[0, 3], [1, 2]]))
