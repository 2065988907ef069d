"""Loops that try again: handlers that data come to, heaps that are emptied, and exceptions with data in their text."""

import heapq

import numpy as np
import pytest

from wengert import jit


def again(x):
    while True:
        try:
            if x > 4:
                raise ValueError
            return x
        except ValueError:
            x *= 0.5


def again_counted(x):
    n = 0
    while n < 10:
        n += 1
        try:
            if x > 4:
                raise ValueError
            break
        except ValueError:
            x *= 0.5
    return x, n


def again_flagged(x):
    n = 0
    while x > 0:
        ok = True
        try:
            if x > 4:
                raise ArithmeticError
        except ArithmeticError:
            x, ok = x * 0.5, False
        finally:
            n += 1
        if ok:
            return x, n
    return -x, n


def again_nested(x):
    n = 0
    while n < 30:
        n += 1
        try:
            try:
                if x > 16:
                    raise KeyError
                if x > 4:
                    raise ValueError
            except KeyError:
                x -= 10
            else:
                return x, n
        except ValueError:
            x *= 0.5
    return -1.0, n


class Stepper:
    def __init__(self):
        self.dt, self.n = 8.0, 0

    def solve(self, x):
        if x * self.dt > 6:
            raise ArithmeticError
        return x * self.dt

    def run(self, x):
        while True:
            self.n += 1
            try:
                return self.solve(x)
            except ArithmeticError:
                self.dt /= 2


def growing_jitter(a):
    k = 1e-3
    while True:
        try:
            return np.linalg.cholesky(a + k * np.eye(2)), k
        except np.linalg.LinAlgError:
            k *= 10


@pytest.mark.parametrize("f", [again, again_counted, again_flagged, again_nested])
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_what_is_tried_again(f):
    for first in (70.0, 3.0):
        compiled = jit(f, whole=False)
        for x in (first, 3.0, 7.0, 70.0, 900.0):
            assert compiled(x) == f(x)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_a_method_that_tries_again():
    compiled = jit(Stepper.run, whole=False)
    for x in (3.0, 0.5, 40.0):
        mine, plain = Stepper(), Stepper()
        assert compiled(mine, x) == plain.run(x) and vars(mine) == vars(plain)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_what_raises_in_a_library_is_tried_again():
    compiled = jit(growing_jitter, whole=False)
    for a in (np.diag([1.0, -0.5]), np.eye(2), np.diag([1.0, -20.0])):
        np.testing.assert_array_equal(compiled(a)[0], growing_jitter(a)[0])
        assert compiled(a)[1] == growing_jitter(a)[1]


def drained(t):
    heap, out = list(t), []
    heapq.heapify(heap)
    while heap:
        out.append(heapq.heappop(heap))
    return out


def drained_by_number(t):
    heap, out = sorted(t), []
    for _ in range(len(t)):
        out.append(heapq.heappop(heap))
    return out


def pushed(t):
    heap = []
    for k, x in enumerate(t):
        heapq.heappush(heap, (x, k))
    return [heapq.heappop(heap) for _ in range(len(t))], heap


def huffman(t):
    heap, total = list(t), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        total += both
        heapq.heappush(heap, both)
    return total, heap


def limited(t, heap):
    for x in t:
        if len(heap) < 2:
            heapq.heappush(heap, x)
        elif x > heap[0]:
            heapq.heapreplace(heap, x)
    return heap


@pytest.mark.parametrize("f", [drained, drained_by_number, pushed, huffman, lambda t: limited(t, []), lambda t: limited(t, [0.5])])
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_heaps_hold_what_python_leaves_in_them(f):
    for whole in (False, True):
        compiled = jit(f, whole=whole)
        for t in ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [4.0, 3.0, 2.5, 1.0], [0.0]):
            assert compiled(np.array(t)) == f(np.array(t))


def found_in(t):
    i = 0
    while True:
        if t[i] > 3:
            raise ValueError(f"item {t[i]}")
        i += 1


def caught_before(t):
    i = 0
    while True:
        try:
            if t[i] > 3:
                raise ValueError
        except ValueError:
            return t[i]
        i += 1


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_the_first_exception_is_the_one_raised():
    compiled, other = jit(found_in, whole=False), jit(caught_before, whole=False)
    for t in ([0.0, 0, 0, 0, 5, 0], [0.0, 4, 0, 0, 5, 0], [9.0] * 6):
        with pytest.raises(ValueError) as got:
            compiled(np.array(t))
        assert str(got.value).splitlines()[0] == f"item {float(next(x for x in t if x > 3))}"
        assert other(np.array(t)) == next(x for x in t if x > 3)
    with pytest.raises(IndexError):
        compiled(np.zeros(6))
