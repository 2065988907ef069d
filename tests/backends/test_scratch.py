"""Scratch memory of nests that is kept between calls."""

import threading

import numpy as np
from collected import collect

from wengert import grad, jit
from wengert.backends.numpy import scratch
from wengert.tracer.program import backend_choice


def test_memory_comes_back(monkeypatch):
    reserve = scratch.Reserve()
    monkeypatch.setattr(scratch, "RESERVE", reserve)
    a = scratch.scratch((300, 1000), np.float64)
    a[...] = 7.0
    assert a.shape == (300, 1000) and a.dtype == np.float64 and a.flags.carray and a.ctypes.data % scratch.ALIGNED == 0
    at, view = a.ctypes.data, a[3]
    del a
    other = scratch.scratch((300, 1000), np.float64)  # the view holds the first
    assert other.ctypes.data != at and view[0] == 7.0
    del view
    assert scratch.scratch((1000, 300), "f8").ctypes.data == at
    assert scratch.scratch((1000, 301), "f8").ctypes.data != at


def test_what_is_kept_has_an_end(monkeypatch):
    reserve = scratch.Reserve()
    monkeypatch.setattr(scratch, "KEPT", 1000)
    for size in (400, 400, 500, 2000, 100):
        reserve.give(np.empty(size + scratch.ALIGNED, np.uint8))
        assert sum(n * len(kept) for n, kept in reserve.free.items()) <= 1000
    assert {n: len(kept) for n, kept in reserve.free.items() if kept} == {100: 1}


def smoothed(x):
    for i in range(1, len(x)):
        x = x * 0.99
        x[i] += np.tanh(x[i - 1])
    return (x * x).sum()


def test_gradients_from_several_threads(monkeypatch):
    monkeypatch.setattr(scratch, "LEAST", 1)
    monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    g = jit(grad(smoothed))
    x = np.linspace(0, 1, 2000)
    want, found = g(x), []
    threads = [threading.Thread(target=lambda: found.extend(g(x) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    for got in found:
        np.testing.assert_array_equal(got, want)
        assert got.base is None  # nobody else has its memory
    assert any(scratch.RESERVE.free.values())
    collect()
