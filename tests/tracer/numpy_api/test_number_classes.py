"""Numbers of subclasses of int, float and complex (enum.IntEnum and its like) are weak to Python, and not to NumPy."""

import enum
import math

import numpy as np
import pytest
from compare import check_same

from wengert import UnsupportedError, jit


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 3


class Metres(float):
    pass


class Whole(int):
    pass


class Impedance(complex):
    pass


class Loud(float):
    """With an operator of its own, which Python asks first."""

    def __radd__(self, other):
        return other * 2.0 + 1.0


CONSTANTS = [Level.HIGH, Metres(2.5), Whole(3), Whole(2**40), Impedance(1 + 2j)]
GIVEN = [1.5, 2, True, np.float64(1.5), np.float32(1.5), np.int8(100), np.uint8(200), np.full(2, 100, "i1"), np.full(2, 0.5, "f4")]
FUNCTIONS = [
    lambda x, c: x * c, lambda x, c: c * x, lambda x, c: x + c, lambda x, c: c - x, lambda x, c: x == c,
    lambda x, c: np.add(x, c), lambda x, c: np.where(x > 1, x, c), lambda x, c: np.power(x, c), lambda x, c: np.stack([x * c, x]),
    lambda x, c: x / c, lambda x, c: c / x,
]  # fmt: skip
REAL = [
    lambda x, c: x // c, lambda x, c: c % x, lambda x, c: divmod(x, c), lambda x, c: x < c, lambda x, c: x >= c,
    lambda x, c: np.maximum(x, c), lambda x, c: np.clip(x, 0, c), lambda x, c: abs(c - x), lambda x, c: x**c if c < 100 else x - c,
]  # fmt: skip


@pytest.mark.parametrize("c", CONSTANTS, ids=repr)
def test_they_count_as_numpy_and_python_have_it(c):
    for f in [*FUNCTIONS, *(REAL if not isinstance(c, complex) else [])]:
        g = jit(lambda x, f=f: f(x, c))
        for x in GIVEN:
            with np.errstate(all="ignore"):
                try:
                    want = f(x, c)
                except OverflowError:
                    continue
                want, got = (list(out) if isinstance(out, tuple) else [out] for out in (want, g(x)))
            for p, q in zip(want, got, strict=True):
                assert type(p) is type(q) and np.asarray(p).dtype == np.asarray(q).dtype, (c, x, p, q)
                assert np.allclose(p, q, rtol=1e-6, equal_nan=True), (c, x, p, q)


def test_an_operator_of_its_own_is_asked():
    f = lambda x: float(np.sum(x)) + Loud(4.0)
    x = np.array([1.0, 2.0])
    check_same(f, x)


@pytest.mark.parametrize("f", [lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b])
def test_ints_are_divided_in_words_of_ints(f):
    """As which int and int are computed is no matter."""
    def said(a, b):
        try:
            return f(int(a), int(b))
        except ZeroDivisionError as error:
            return str(error)

    g = jit(said)
    for k in range(6):
        assert g(k + 1, k % 3) == said(k + 1, k % 3)
    with pytest.raises(ZeroDivisionError) as want:
        f(1, 0)
    with pytest.raises(ZeroDivisionError) as got:
        jit(lambda x, y: f(int(x), int(y)))(np.float64(1.0), np.float64(0.0))
    assert str(got.value).splitlines()[0] == str(want.value)


def test_sums_that_are_rounded_once(falling_back):
    two = jit(lambda a, b: math.fsum([a, b]))
    assert two(1e16, 2.5) == math.fsum([1e16, 2.5]) and two(0.1, 0.2) == math.fsum([0.1, 0.2])
    many = lambda a, b: math.fsum([a, b, -a])
    with pytest.raises(UnsupportedError, match="rounds once what the sum of 3 numbers is exactly"):
        jit(many, whole=True)(1e16, 2.5)
    f = jit(many)
    with pytest.warns(match="math.fsum rounds once"):
        assert f(1e16, 2.5) == 2.5
    assert f(-939149162.7785106, -0.0009690406502940995) == -0.0009690406502940995
