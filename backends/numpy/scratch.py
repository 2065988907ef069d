"""Scratch memory of nests that is kept between calls: large memory that is new each time costs a page fault for each of
its pages, which takes longer than to fill it.

The residuals of a loop, for the way back, are most of it.
"""

import collections
import math

import numpy as np

LEAST = 1 << 20  # bound: bytes from which memory is kept; less the C library keeps itself
KEPT = 1 << 28  # bound: bytes that are kept, of all programs together
ALIGNED = 64  # fact: bytes of a line of the cache


class Reserve:
    """Memory that nobody uses: size in bytes -> arrays of so many. No lock: memory may be given back wherever Python
    collects garbage."""

    def __init__(self):
        self.free = {}

    def take(self, size):
        try:
            return self.free[size].pop()
        except (KeyError, IndexError):
            return np.empty(size + ALIGNED, np.uint8)

    def give(self, memory):
        """Keep memory; where it is too much with what is kept, that goes."""
        size = memory.nbytes - ALIGNED
        if size + sum(n * len(kept) for n, kept in list(self.free.items())) > KEPT:
            self.free.clear()
        if size <= KEPT:
            self.free.setdefault(size, collections.deque()).append(memory)


RESERVE = Reserve()


class Lease:
    """What an array of scratch memory rests on: the memory goes back when the array goes."""

    __slots__ = ("__array_interface__", "memory", "reserve")

    def __init__(self, reserve, shape, dtype):
        self.reserve, self.memory = reserve, reserve.take(math.prod(shape) * dtype.itemsize)
        at = self.memory.ctypes.data
        self.__array_interface__ = {
            "shape": shape, "typestr": dtype.str, "data": (at + -at % ALIGNED, False), "version": 3,
        }  # fmt: skip

    def __del__(self):
        self.reserve.give(self.memory)


def scratch(shape, dtype):
    """An array of memory that may have been used before, for as long as it is there."""
    return np.asarray(Lease(RESERVE, shape, np.dtype(dtype)))
