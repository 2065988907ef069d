"""Loops over rows and planes as machine code: the numbers, the memory they take, and nothing written beside the arrays."""

import ctypes
import importlib.util

import numpy as np
import pytest

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build
from wengert.backends.native.nest import Nest
from wengert.ir.ops.control import loop

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")

GUARD = 256  # bytes before and after every buffer


def shortest_paths(d):
    d = d.copy()
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, np.add.outer(d[:, k], d[k]))
    return d


def rank_one_updates(a):
    """The row and the column that are read are written too, and by the trip itself."""
    a = a.copy()
    for k in range(a.shape[0]):
        a[:, 1:] = a[:, 1:] * 0.5 + np.outer(a[:, k], a[k, 1:] - a[k, :-1])
    return a


def nests(function, *args):
    """The outermost loops of a program, as (Nest, equation)."""
    for eqn in jit(function).ir(*args).eqns:
        if eqn.op is loop:
            yield Nest(loop, [x.type for x in eqn.operands], eqn.attrs), eqn


def guarded(nest, eqn, arrays):
    """The carried results of a nest that is run between guards, on operands given as arrays."""
    first = len(arrays) - eqn.attrs["carried"]
    sizes = [*(r.type for r in nest.results), *nest.extra]
    buffers = {}
    for kind, k in nest.buffers:
        given = arrays[k] if kind == "argument" else arrays[first + k] if k in nest.aliases.values() else np.zeros(sizes[k].shape, sizes[k].dtype)
        memory = np.full(given.nbytes + 2 * GUARD, 0xA5, np.uint8)
        memory[GUARD:-GUARD] = np.frombuffer(given.tobytes(), np.uint8)
        buffers[kind, k] = memory, given
    call, _ = build.compiled(nest.text(), "nest")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(buffers))(ctypes.cast(call, ctypes.c_void_p).value)
    entry(*(memory.ctypes.data + GUARD for memory, _ in buffers.values()))
    for (kind, _), (memory, given) in buffers.items():
        assert (memory[:GUARD] == 0xA5).all() and (memory[-GUARD:] == 0xA5).all()
        assert kind == "result" or memory[GUARD:-GUARD].tobytes() == given.tobytes()
    return [buffers["result", k][0][GUARD:-GUARD].view(r.type.dtype).reshape(r.type.shape) for k, r in enumerate(nest.results)]


RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [1, 3, 20, 70])
@pytest.mark.parametrize("function", [shortest_paths, rank_one_updates])
def test_updates_from_a_row_and_a_column(function, n):
    """They are computed beforehand, and the array is updated where it lies."""
    a = RNG.random((n, n))
    with native.asked(0):
        np.testing.assert_array_equal(jit(function)(a), function(a))
    if n == 70:
        for nest, eqn in nests(function, a):
            assert not nest.extra
            np.testing.assert_array_equal(guarded(nest, eqn, [a])[0], function(a))
