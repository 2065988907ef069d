"""`and`, `or` and `not` in a test: only whether they hold is asked, so their operands may be of any kinds."""

import numpy as np
import pytest

from wengert import jit


def counted(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
        if n and v < 0.5:
            n -= 1
    return n


def traded(x):
    cash, shares, trades = 100.0, 0.0, []
    for k in range(1, len(x)):
        if x[k] > x[k - 1] and not shares:
            shares, cash = cash / 10.0, 0.0
            trades.append(k)
        elif x[k] < x[k - 1] and shares or cash < 0:
            cash, shares = shares * 11.0, 0.0
            trades.append(-k)
    return cash + shares, trades


def while_both(x, n):
    m = 0.0
    while n and m < 5 or not (m or n):
        m += 2.0 if n and x[n] > 0 else 1.0
        n -= 1
    assert n or m, "none"
    return m, n


def selected(x):
    return [v for v in x if v and v > 0], [1 if v and v < 1 else 2 for v in x]


def as_values(x):
    """Where the operand itself is wanted, it is what Python gives."""
    return [(v > 0 or 2.5) for v in x][0], (x[0] and x[1]), (x[0] or x[1])


class Asked:
    def __init__(self):
        self.times = 0

    def __bool__(self):
        self.times += 1
        return self.times % 2 == 1


def asks(x, q):
    n = 0
    for k in range(4):
        if q and x[k] > 0:
            n += 1
    return n, q.times


X = np.random.default_rng(0).normal(size=40)


@pytest.mark.as_numpy
@pytest.mark.parametrize("function, args", [
    (counted, (X,)), (traded, (X,)), (while_both, (X, np.int64(0))), (while_both, (X, np.int64(30))), (while_both, (X, 5)), (selected, (X,)),
    (selected, (np.zeros(20),)), (as_values, (X,)), (as_values, (np.zeros(3),)),
], ids=lambda x: getattr(x, "__name__", None))  # fmt: skip
def test_tests_of_several_kinds(function, args):
    got, want = jit(function)(*args), function(*args)
    assert repr(got) == repr(want)


def test_an_object_is_asked_as_often():
    assert jit(asks)(X, Asked()) == asks(X, Asked())


def test_an_array_in_a_test_is_refused_as_by_numpy():
    with pytest.raises(ValueError, match="ambiguous"):
        jit(lambda x, n: 1 if n and x > 0 else 2)(np.ones(3), np.int64(1))
