"""Arrays that data make longer, shorter, or replace by others of another length: in loops and branches, and what is done with them then."""

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.tracer.common.errors import CannotRoll


def rows(x):
    z = np.zeros((0, 3))
    for i in range(len(x)):
        if x[i] > 0.2:
            z = np.vstack((z, np.array([x[i], i, 1.0])))
    total = 0.0
    for k in range(len(z)):
        total += z[k, 0] * 2 + z[k, :].sum()
    return total, len(z[:, 0]), z.shape[0], z


def columns(x):
    z = np.zeros((3, 0))
    for i in range(len(x)):
        if x[i] > 0.2:
            z = np.hstack((z, np.array([[x[i]], [i], [1.0]])))
    return z, z.shape[1], len(z[0, :]), z @ z.T


def appended(x):
    z = np.array([])
    for v in x:
        if v > 0.2:
            z = np.append(z, v)
    return z, z.sum(), len(z), z.reshape(-1, 1), np.append(z, [1.0, 2.0]), np.array_split(z, 2)


def in_front(x):
    z = np.zeros(1)
    for v in x:
        if v > 0.2:
            z = np.concatenate(([v], z))
        if v < -1.0:
            z = np.insert(z, 1, v)
    return z


def replaced(x):
    best, most = np.array([x]), 0.0
    for i in range(5):
        path = np.outer(np.arange(4.0), x) + i
        if path.sum() > most:
            most, best = path.sum(), path
    return best, most


def started_again(x):
    z, n = np.zeros((0, 2)), 0
    for i in range(len(x)):
        if x[i] > 0.5:
            z = np.vstack((z, [x[i], i]))
        elif x[i] < -0.8:
            z, n = np.zeros((0, 2)), n + 1
    return z, n


def longer_than_grown(x):
    z = np.zeros(1)
    for v in x:
        if v > 0.5:
            z = np.append(z, z[-1] + 1)
        elif v < -0.8:
            z = np.arange(6.0)
    return z


def sliding(x):
    z = np.zeros(0)
    for v in x:
        if v > 0:
            z = np.append(z, v)
        if len(z) > 3:
            z = z[1:]
    return z


def selected(x):
    z = x
    for i in range(4):
        if x[i] > 0:
            z = z[z < x[i] + 0.5]
    return z, z.sum()


def nested(x):
    z = np.zeros((0, 2))
    for i in range(3):
        for j in range(i + 2):
            if x[i] * x[j] > 0.1:
                z = np.vstack([z, [i, x[j]]])
        if x[i] > 0.2:
            z = np.vstack([z, np.ones((2, 2))])
    return z


def left_early(x):
    z = np.zeros(0)
    for v in x:
        if v > 1.0:
            break
        if v < 0:
            continue
        z = np.append(z, v)
    return z


def doubled(x):
    z = np.ones(1)
    for i in range(3):
        if x[i] > 0:
            z = np.concatenate((z, z))
    return z


def both_axes(x):
    P, s = np.ones((1, 1)), np.zeros((1, 1))
    for i in range(5):
        if x[i] > 0:
            s = np.vstack((s, [[x[i]]]))
            P = np.vstack((np.hstack((P, np.zeros((len(P), 1)))), np.hstack((np.zeros((1, len(P))), np.ones((1, 1)) * x[i]))))
        P = (np.eye(len(s)) * 0.5) @ P
    return P, s, P @ s, int((len(s) - 1) / 2)


def without_bounds(x):
    t, h, k = 0.0, np.zeros((2, 1)), 0
    while t <= x[1] ** 2 * 10 + 3:
        t, k = t + 0.05, k + 1
        if np.sin(t * 3) > x[0]:
            h = np.hstack((h, np.array([[t], [x[0]]])))
    return h, k


def written_in_trips_without_bounds(x):
    t, i, h, s = 0.0, 0, np.stack((x[:2], x[1:3])), x[0]
    while t < 2.0 + x[0]:
        t, i = t + 0.4, i + 1
        if len(h) < 4:
            h = np.append(h, [[x[i], 1.0]], axis=0)
        h[0, 1] = s
        s = s * 0.5 + h[-1, 0] * 0.1
    return h, s


def every_trip_without_bounds(x):
    t, h = 0.0, np.zeros((2, 1))
    while t <= x[1] ** 2 * 10 + 3:
        t += 0.5
        h = np.hstack((h, np.array([[t], [x[0]]])))
    return h


def of_an_object(x):
    o = Kept()
    for i in range(9):
        if x[i] > 0:
            o.z = np.vstack((o.z, [[x[i], 1.0]]))
    return o.z


class Kept:
    def __init__(self):
        self.z = np.zeros((0, 2))


def returned_early(x):
    for i in range(9):
        if x[i] > 0.5:
            return np.zeros(i)
    return x


def parted(x):
    z = np.zeros((0, 2))
    for i in range(8):
        if x[i] > -0.5:
            z = np.vstack((z, [x[i], i]))
    n = len(z)
    flat = z.ravel()
    gone = np.delete(z, 0, axis=0) if n else z
    return flat, gone, np.delete(flat, slice(0, 1)), np.split(z, [1, 2]), z.T.ravel(), np.column_stack((z, z[:, 0])), np.stack((z[:, 0], z[:, 1]))


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and getattr(f, "__code__", None)]
ARRAYS = [np.random.default_rng(k).normal(size=9) for k in range(4)] + [np.full(9, -1.0), np.full(9, 1.0)]


OF_SEVERAL = (selected, parted)  # what they return may be a view of an argument or of another result: Python answers


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(function):
    compiled = jit(function, whole=function not in OF_SEVERAL)
    for x in ARRAYS:
        agree(compiled(x.copy()), function(x.copy()), 1e-12)


# -- who else holds the array --------------------------------------------------------------------------


def written_after(x):
    a = np.zeros(3)
    z = a
    for v in x:
        if v > 0.8:
            z = np.append(z, v)
    z[0] = 7.0
    return z, a


def written_in_trips(x):
    a = np.zeros(3)
    z = a
    for v in x:
        z[0] += 1.0
        if v > 0.8:
            z = np.append(z, v)
    a[1] = 4.0
    return z, a


def an_argument(x):
    z = x
    for v in x:
        if v > 1.0:
            z = np.append(z, 2.0)
    z[0] = 7.0
    return z, x


def one_before(x):
    z = x[:2]
    w = z
    for i in range(9):
        if x[i] > 0.5:
            w, z = z, np.append(z, 1.0)
    w[0] = 77.0
    return z, w, x


def grown_in_each_trip(x):
    y = x
    for _ in range(4):
        x[0] = 5.0
        x = np.append(x, 1.0)
    return x, y


@pytest.mark.parametrize("function", [written_after, written_in_trips, an_argument, one_before, grown_in_each_trip], ids=lambda f: f.__name__)
def test_sharing(function):
    compiled = jit(function)
    for x in ARRAYS:
        mine, plain = x.copy(), x.copy()
        got, want = compiled(mine), function(plain)
        agree((got, mine), (want, plain), 1e-12)
        assert np.shares_memory(got[0], got[1]) == np.shares_memory(want[0], want[1])


def test_the_argument_itself_is_returned_where_nothing_joined_it():
    @jit
    def longer(x):
        for i in range(3):
            if x[i] > 1.0:
                x = np.append(x, 0.0)
        return x

    x = np.zeros(5)
    assert longer(x) is x
    assert longer(x + 2).shape == (8,)


# -- derivatives ---------------------------------------------------------------------------------------


def of_rows(x):
    z = np.zeros((0, 2))
    for i in range(len(x)):
        if x[i] > 0.2:
            z = np.vstack((z, np.array([x[i] ** 2, x[i] * i])))
    total = 0.0
    for k in range(len(z)):
        total += z[k, 0] * z[k, 1] + np.sin(z[k, :]).sum()
    return total + (z * z).sum()


def of_what_it_held(x):
    z = x[:1] * 2
    for v in x:
        if v > 0.2:
            z = np.append(z, np.exp(z[-1] * 0.1) + v)
    return (z**2).sum()


def of_a_matrix(x):
    P = np.ones((1, 1))
    for i in range(5):
        if x[i] > 0.1:
            P = np.vstack((np.hstack((P, x[i] * np.ones((len(P), 1)))), np.hstack((np.zeros((1, len(P))), np.ones((1, 1)) * x[i]))))
    return (P @ P.T).sum()


def of_the_best(x):
    best, most = np.array([x]), -9.0
    for i in range(4):
        path = np.outer(np.arange(3.0) + 1, x) * (i + 1)
        if path.sum() > most:
            most, best = path.sum(), path
    return (best**2).sum()


@pytest.mark.parametrize("function", [of_rows, of_what_it_held, of_a_matrix, of_the_best], ids=lambda f: f.__name__)
def test_derivatives(function):
    slope = grad(function)
    for x in ARRAYS[:4]:
        steps = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(9)]
        np.testing.assert_allclose(slope(x), steps, rtol=1e-5, atol=1e-6)


# -- what is refused -----------------------------------------------------------------------------------


def test_an_array_that_doubles_in_a_long_loop_is_refused():
    @jit
    def f(x):
        z = np.ones(1)
        for v in x:
            if v > 0:
                z = np.concatenate((z, z))
        return z

    with pytest.raises(CannotRoll, match="z grows in each trip of a captured loop"):
        f(np.ones(100))


def test_rows_of_another_width_raise_as_in_numpy():
    @jit
    def f(x):
        z = np.zeros((0, 2))
        for v in x:
            if v > 0:
                z = np.vstack((z, [v, 1.0]))
        return np.hstack((z, np.ones((2, 1))))

    assert f(np.array([1.0, -1.0, 2.0])).shape == (2, 3)
    with pytest.raises(ValueError, match="must match exactly"):
        f(np.array([1.0, 1.0, 2.0]))


def test_what_is_selected_in_loops_is_captured_as_one_loop():
    @jit
    def f(a):
        x = a[1:3] * 2.0
        for i in range(len(a)):
            for _ in range(3):
                if a[i] > 0.3:
                    x = np.append(x, a[:2])
                elif a[i] < 0:
                    x = x[x > a[i]]
        return x

    a = np.random.default_rng(0).normal(size=8)
    agree(f(a), np.asarray(f.__wrapped__(a)), 1e-12)
    assert "written out" not in f.explain()


def test_programs_are_as_long_for_more_trips():
    @jit
    def f(x):
        z = np.zeros((0, 3))
        for i in range(len(x)):
            if x[i] > 0.2:
                z = np.vstack((z, np.array([x[i], i, 1.0])))
        return z

    sizes = []
    for n in (20, 2000):
        x = np.random.default_rng(n).normal(size=n)
        agree(f(x), f.__wrapped__(x), 1e-12)
        sizes.append(str(f.ir(x)).count("\n"))
    assert sizes[0] == sizes[1]
