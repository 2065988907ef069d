"""np.linalg's products of many matrices: powers, and chains in the order that costs least."""

import numpy as np

from ..common.emit import filled
from ..values.array import fresh
from .arguments import index_of
from .handles import handle
from .linalg import LinAlgError, identity_like, inv, matrices
from .products import dot, matmul
from .registry import implements


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    x = handle(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        matrices(fresh(filled(0, x.shape, float)))  # raises
    n = index_of(n, "exponent must be an integer")
    if n == 0:
        return fresh(identity_like(x.value))
    if n < 0:
        x, n = inv(x), -n
    if n <= 3:
        return x if n == 1 else matmul(x, x) if n == 2 else matmul(matmul(x, x), x)
    power, result = x, None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else matmul(result, power)
        power = matmul(power, power) if n else power
    return result


@implements(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    arrays = [handle(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return dot(*arrays, out=out)
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    if first:
        arrays[0] = arrays[0][None, :]
    if last:
        arrays[-1] = arrays[-1][:, None]
    for x in arrays:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    result = chained(arrays, chain_order([x.shape[0] for x in arrays] + [arrays[-1].shape[1]]), 0, len(arrays) - 1, out)
    if first and last:
        return result[0, 0]
    return result.ravel() if first or last else result


def chain_order(sizes):
    """Where to split each chain of matrices so that the products cost least.  [Cormen et al., Introduction to
    Algorithms]"""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split


def chained(arrays, split, i, j, out=None):
    if i == j:
        return arrays[i]
    k = split[i, j]
    return dot(chained(arrays, split, i, k), chained(arrays, split, k + 1, j), out=out)
