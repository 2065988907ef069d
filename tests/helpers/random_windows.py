"""Random loops that read and write windows of arrays at affine places: overlapping, repeated, clamped, nested.

All numbers are integers, so whoever runs such a program gives the same bits.
"""

import numpy as np

from wengert.ir.core import Builder, Constant, Lit
from wengert.ir.ops.control import COUNTER, cond, loop, region
from wengert.ir.ops.elementwise import add, lt, maximum, minimum, mul, neg, select, sub
from wengert.ir.ops.indexing import take_along
from wengert.ir.ops.reduction import reduce_max, reduce_sum
from wengert.ir.ops.shape import broadcast, constant, dynamic_slice, dynamic_update_slice, reshape, reverse, slice_, transpose
from wengert.ir.types import parse_type

TYPES = [parse_type(t) for t in ("i64[5,6]", "i64[5,6]", "i64[8]")]
BINARY = (add, sub, maximum, lambda x, y: sub(mul(x, 3), y))


def program(seed, inside=False):
    """A random function of arrays of TYPES, to as many of these types.

    inside: no window has to be clamped. XLA's own simplifier forgets the clamping of a part of a part
    (jax 0.10), which no captured program meets: an index out of range raises.
    """
    return Windows(np.random.default_rng(seed), inside).program()


def arguments(seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(-9, 9, t.shape) for t in TYPES]


class Windows:
    def __init__(self, rng, inside):
        self.rng, self.inside = rng, inside

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def program(self):
        build = Builder("f")
        with build:
            arrays = [build.param(t) for t in TYPES]
            arrays = self.statements(arrays, [], depth=0)
        return build.finish(tuple(arrays))

    def statements(self, arrays, counters, depth):
        values = list(arrays)
        for _ in range(self.rng.integers(2, 5 if depth else 4)):
            kind = self.rng.random()
            if depth < 3 and kind < (0.25 if depth else 0.8):
                arrays, values = self.loop(arrays, counters, depth), values[:]
            elif depth and kind < 0.33:
                arrays = self.choice(arrays, counters, depth)
            elif kind < 0.6:
                values.append(self.load(self.pick(*arrays, *values[-2:]), counters))
            else:
                k = self.rng.integers(len(arrays))
                arrays = [self.store(x, values, counters) if n == k else x for n, x in enumerate(arrays)]
        return arrays

    # -- places ------------------------------------------------------------------------------------
    def place(self, n, size, counters):
        start = self.start(n, size, counters)
        return minimum(maximum(start, 0), n - size) if self.inside and not isinstance(start, Lit) else start

    def start(self, n, size, counters):
        """A start along an axis of n: mostly inside it, sometimes to be clamped."""
        if not counters or self.rng.random() < 0.2:
            return Lit(int(self.rng.integers(0, n - size + 1)), COUNTER)
        at = self.pick(*counters)
        if self.rng.random() < 0.25:
            at = add(at, self.pick(*counters))
        if self.rng.random() < 0.2:
            at = mul(at, int(self.pick(2, -1)))
        shift = int(self.rng.integers(-1, 3))
        return self.pick(lambda: add(at, shift), lambda: sub(shift + 2, at), lambda: at)() if self.rng.random() < 0.7 else at

    def window(self, shape, counters):
        sizes = tuple(min(n, int(self.pick(1, 1, 2, max(n - 1, 1), n))) for n in shape)
        return [self.place(n, k, counters) for n, k in zip(shape, sizes)], sizes

    def load(self, x, counters):
        shape = x.type.shape
        if not shape:
            return x
        if self.rng.random() < 0.2:
            start = [int(self.rng.integers(0, n)) for n in shape]
            stop = [int(self.rng.integers(a + 1, n + 1)) for a, n in zip(start, shape)]
            return slice_(x, start=tuple(start), stop=tuple(stop), stride=tuple(int(self.pick(1, 1, 1, 2)) for _ in shape))
        starts, sizes = self.window(shape, counters)
        y = dynamic_slice(x, *starts, sizes=sizes)
        turn = self.rng.random()
        if turn < 0.1:
            return reverse(y, axes=(len(shape) - 1,))
        if turn < 0.2:
            return transpose(y, perm=tuple(range(len(shape)))[::-1])
        if turn < 0.3:
            return self.pick(reduce_sum, reduce_max)(y, axes=tuple(range(len(shape))))
        if turn < 0.35:
            return take_along(x, constant(value=Constant(np.arange(shape[0])[::-1])), 0)
        return y

    def store(self, x, values, counters):
        starts, sizes = self.window(x.type.shape, counters)
        held = dynamic_slice(x, *starts, sizes=sizes)
        u = fitted(self.value(values, counters), sizes)
        kind = self.rng.random()
        if kind < 0.35:  # x[...] += u, and the store of what is there already that it makes
            y = dynamic_update_slice(x, self.pick(*BINARY)(held, u), *starts)
            return dynamic_update_slice(y, dynamic_slice(y, *starts, sizes=sizes), *starts) if kind < 0.2 else y
        if kind < 0.5:  # a part of a part
            inner, cut = self.window(sizes, counters)
            return dynamic_update_slice(x, dynamic_update_slice(held, fitted(u, cut), *inner), *starts)
        y = dynamic_update_slice(x, u, *starts)
        if kind < 0.7:
            values.append(self.load(y, counters))
        if kind < 0.6:
            values.append(dynamic_slice(y, *starts, sizes=sizes))
        return y

    def value(self, values, counters):
        x = self.pick(*values[-4:])
        for _ in range(self.rng.integers(0, 3)):
            y = fitted(self.pick(*values[-4:]), x.type.shape)
            x = self.pick(*BINARY)(x, y) if self.rng.random() < 0.8 else neg(x)
        if counters and self.rng.random() < 0.3:
            x = add(x, fitted(self.pick(*counters), x.type.shape))
        values.append(x)
        return x

    # -- regions -----------------------------------------------------------------------------------
    def loop(self, arrays, counters, depth):
        """Over the arrays, some of them only read; up to a number, a counter, or what is left of one."""
        written = [bool(self.rng.random() < 0.7) for _ in arrays]
        written[self.rng.integers(len(arrays))] = True
        fixed = [x for x, w in zip(arrays, written) if not w]
        state = [x for x, w in zip(arrays, written) if w]

        def body(i, *rest):
            outer, rest = rest[: len(counters)], rest[len(counters) :]
            still, now = iter(rest[: len(fixed)]), iter(rest[len(fixed) :])
            whole = [next(now) if w else next(still) for w in written]
            after = self.statements(whole, [i, *outer], depth + 1)
            return tuple(x for x, w in zip(after, written) if w)

        types = [COUNTER, *(c.type for c in counters), *(x.type for x in fixed), *(x.type for x in state)]
        body = region(body, types)
        kind = self.rng.random()
        n = int(self.rng.integers(0, 5))
        limit, trips = [], n
        if kind < 0.35 and counters:
            limit, trips = [self.pick(lambda: add(counters[0], 1), lambda: maximum(sub(n, counters[0]), 0), lambda: counters[0])()], None
        out = loop(*limit, *counters, *fixed, *state, body=body, carried=len(state), trips=trips)
        out = iter(out)
        return [next(out) if w else x for x, w in zip(arrays, written)]

    def choice(self, arrays, counters, depth):
        k, n = self.rng.integers(len(arrays)), len(counters)

        def branch(*xs):
            return (self.store(xs[n + k], list(xs[n:]), list(xs[:n])),)

        types = [*(c.type for c in counters), *(x.type for x in arrays)]
        branches = region(lambda *xs: (xs[n + k],), types), region(branch, types)
        (new,) = cond(lt(counters[0], int(self.rng.integers(0, 4))), *counters, *arrays, branches=branches)
        if self.rng.random() < 0.3:
            new = select(broadcast(lt(counters[0], 2), shape=new.type.shape, dims=()), new, arrays[k])
        return [new if j == k else x for j, x in enumerate(arrays)]


def fitted(x, shape):
    """x, or what there is of it, in another shape."""
    shape = tuple(shape)
    if x.type.shape == shape:
        return x
    if x.type.size == int(np.prod(shape)):
        return reshape(x, shape=shape)
    if x.type.ndim == len(shape) and all(n >= k for n, k in zip(x.type.shape, shape)):
        return slice_(x, start=(0,) * len(shape), stop=shape, stride=(1,) * len(shape))
    first = slice_(x, start=(0,) * x.type.ndim, stop=(1,) * x.type.ndim, stride=(1,) * x.type.ndim) if x.type.ndim else x
    return broadcast(reshape(first, shape=()), shape=shape, dims=())
