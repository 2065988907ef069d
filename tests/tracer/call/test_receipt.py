"""The receipt line of explain(): which lines, how many iterations and loops, and how long it took."""

import re
import sys

import numpy as np
import pytest

from wengert import grad, jit


def straight(x):
    y = x * 2.0
    return np.tanh(y) + y


def counted(x):
    for _ in range(3000):
        x = x * 0.5 + 1.0
        x[0] = 0.0
    return x


def nested(x):
    for i in range(10):
        for j in range(20):
            x = x + np.sin(x) * (i - j)
    return x


def on_data(x):
    while x.sum() > 1.0:
        x = x * 0.5
    return x


def up_to(x):
    for i in range(40):
        if x[0] > 100.0:
            break
        x = x + i
    return x


def long(x, n):
    for _ in range(n):
        x = np.tanh(x)
    return x


def receipts(f):
    return [line.split(None, 1)[1] for line in f.explain().splitlines() if line.split()[:1] == ["receipt"]]


@pytest.mark.parametrize("function, first, last, size", [
    (straight, 1, 2, "3 equations"),
    (counted, 1, 3, "3000 iterations, 1 loop"),
    (nested, 1, 3, "210 iterations, 2 loops"),
    (on_data, 1, 3, "iterations as the data ask, 1 loop"),
    (up_to, 1, 5 if sys.version_info < (3, 13) else 4, "at most 40 iterations, 1 loop"),  # where the return's instructions lie
])  # fmt: skip
def test_of_a_function(function, first, last, size):
    f = jit(function)
    f(np.ones(4))
    (line,), start = receipts(f), function.__code__.co_firstlineno
    assert re.fullmatch(rf"lines {start + first}-{start + last}: {size}, compiled in \d+(\.\d+)? s", line), line


def test_of_a_derivative():
    slope = grad(lambda x: counted(x).sum())
    slope(np.ones(4))
    start = counted.__code__.co_firstlineno
    assert re.fullmatch(rf"lines {start + 1}-{start + 3}: 3000 iterations, 1 loop, compiled in [\d.]+ s", *receipts(slope))


def test_it_leaves_out_the_first_run():
    f = jit(long)
    f(np.ones((300, 300)), np.int64(400))
    (version,) = next(iter(f.compiled.entries.values())).current.versions
    assert 0 < version.compile_seconds < version.first_seconds


def test_of_a_program_from_disk(tmp_path):
    first, second = (jit(counted, cache=tmp_path) for _ in range(2))
    first(np.ones(4)), second(np.ones(4))
    line = counted.__code__.co_firstlineno + 1
    assert re.fullmatch(rf"lines? {line}.*: 3000 iterations, 1 loop, read from disk in [\d.]+ s", *receipts(second))
