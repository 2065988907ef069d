"""Lists that grow under a test of data outside of loops, where the choice cannot be made by value: under `grad` and `vmap`."""

import numpy as np
import pytest
from random_appending import run

from wengert import hessian, jit, value_and_grad, vmap


def of_one(x):
    xs = []
    if x[0] > 0:
        xs.append(x[0] * x[0])
    return sum(xs) + x[0]


def of_one_trip(x):
    xs = []
    for k in range(1):
        if x[k] > 0:
            xs.append(x[k] * x[k])
    return sum(xs) + x[0]


def of_unrolled(x):
    xs, k = [], 0
    while k < len(x):
        if x[k] > 0:
            xs.append(x[k] * x[k])
        k += 1
    return sum(xs) + x[0]


def of_either(x):
    xs = [x[0]]
    if x[0] > 0:
        xs.append(x[0] * x[1])
    else:
        xs += [x[1] * 3.0, x[0]]
    return sum(xs) * len(xs)


def of_loops_within(x):
    xs = [1.0]
    if x.sum() > 0:
        for v in x:
            if v > 0:
                xs.append(v * v)
    return np.array(xs).sum()


def of_a_list_of_each_trip(x):
    total = 0.0
    for v in x:
        xs = [v]
        if v > 0:
            xs.append(v * v * 2)
        total += sum(xs) * xs[-1]
    return total


def of_another_name(x):
    xs = []
    ys = xs
    if x[0] > 0:
        ys.append(x[0])
    return len(xs) * x.sum()


def of_many(x):
    xs = []
    if x[0] > 0:
        for k in range(40):
            xs.append(x[1] * k)
    return sum(xs)


def of_what_is_left(x):
    xs = [x[0], x[1]]
    if x[0] > 0:
        xs.pop()
    return sum(xs)


PROGRAMS = (
    of_one,
    of_one_trip,
    of_unrolled,
    of_either,
    of_loops_within,
    of_a_list_of_each_trip,
    of_another_name,
    of_many,
    of_what_is_left,
)
ROWS = np.array([[2.0, 1.5, -1.0], [-0.5, 1.2, 3.0], [-0.5, -1.2, -3.0], [0.5, -2.5, 1.0]])


def differences(f, x, h=1e-6):
    return [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]


@pytest.mark.parametrize("f", PROGRAMS)
def test_batches_are_rows(f):
    np.testing.assert_allclose(vmap(f)(ROWS), [f(x) for x in ROWS])


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    compiled = jit(value_and_grad(f))
    for x in ROWS:
        value, slopes = compiled(x)
        assert value == pytest.approx(f(x))
        np.testing.assert_allclose(slopes, differences(f, x), rtol=1e-6, atol=1e-6)


def test_derivatives_of_derivatives():
    np.testing.assert_allclose(hessian(of_one)(ROWS[0]), [[2.0, 0, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("seed", (*range(12), 345))
def test_random_programs(seed):
    found = run(seed)
    assert not isinstance(found, str), found
