"""A list gets its items while a loop, or an iterator, goes through it."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("falling_back")
RING = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 0])


def breadth_first(ptr, dst):
    dist = np.full(len(ptr) - 1, -1)
    dist[0], queue = 0, [0]
    for u in queue:
        for e in range(ptr[u], ptr[u + 1]):
            v = dst[e]
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def enumerated(x):
    q, n = [0], 0
    for k, u in enumerate(q):
        n += k
        for i in range(len(x)):
            if x[i] > n + u:
                q.append(i)
    return n, len(q)


def many(x):
    q, n = list(range(20)), 0
    for _ in zip(q, range(40)):
        n += 1
        for i in range(len(x)):
            if x[i] > n:
                q.append(i)
    return n, len(q)


def summed(x):
    q, seen = [0], []

    def step(u):
        for i in range(len(x)):
            if x[i] > len(seen):
                q.append(i)
        seen.append(u)
        return x[u]

    return sum(step(u) for u in q)


def shortened(x):
    q, n = [5, 4, 3, 2], 0
    for _ in q:
        n += 1
        for i in range(len(x)):
            if x[i] > 2:
                q.pop()
    return n, len(q)


def behind_the_last(x):
    q, n = list(range(20)), 0
    for u in q:
        n += 1
        if u == 19:
            q.append(5)
    return n, len(q), x.sum()


def behind_the_last_by_data(x):
    q, n = list(range(20)), 0
    for k, _ in enumerate(q):
        n += 1
        if k == 19:
            for v in x:
                if v > 0.7:
                    q.append(3)
    return n, len(q)


@pytest.mark.parametrize("function", [enumerated, many, summed, shortened, behind_the_last, behind_the_last_by_data])
def test_what_comes_meanwhile_is_gone_through(function):
    compiled = jit(function)
    for x in (np.array([1.5, 0.5, 2.5]), np.array([0.0, 0.5, 0.5]), np.array([3.5, 4.5, 1.0]), np.array([5.0, 2.5, 1.0])):
        for _ in range(2):
            assert np.array_equal(compiled(x), function(x))


def test_a_queue():
    compiled = jit(breadth_first)
    for dst in (RING[1], np.array([1, 2, 0, 3]), np.array([0, 0, 0, 0]), np.array([3, 0, 1, 2])):
        for _ in range(2):
            assert np.array_equal(compiled(RING[0], dst), breadth_first(RING[0], dst))


def test_a_derivative_says_so():
    def total(x):
        q, s = [0], 0.0
        for u in q:
            s += x[u]
            for i in range(len(x)):
                if x[i] > s:
                    q.append(i)
        return s

    with pytest.raises(UnsupportedError, match=r"q, a list of which data decide how long it is, gets its items while they are gone through"):
        grad(total)(np.array([1.0, 3.0, 2.5]))
