"""Programs that are deep, and whose values are each read several times; and a count of how often a walk looks at them."""

import collections
import contextlib

import numpy as np

from wengert.ir.core import Builder, Eqn, Lit, Value
from wengert.ir.ops import OPS
from wengert.ir.types import Tensor

op = type("op", (), {"__getattr__": lambda self, name: OPS[name.rstrip("_")]})()
F, I, B, N = np.dtype("f8"), np.dtype("i8"), np.dtype("?"), 6
VECTOR, NUMBER, WHOLE, TRUTH, MATRIX = Tensor((N,), F), Tensor((), F), Tensor((), I), Tensor((), B), Tensor((4, 4), F)
STATUS = 1 << 32


def lit(x, like):
    return Lit(x, like.type)


def at(x, i):
    return op.reshape(op.dynamic_slice(x, i, sizes=(1,)), shape=())


def spread(x):
    return op.broadcast(x, shape=(N,), dims=())


def wholes(x, p):
    less = op.lt(x, p)
    return op.select(less, x * x + p, op.sub(x, p * x)) + op.maximum(op.minimum(x, p), op.clamp(lit(0, x), x, lit(9, x)))


def tests(x, p):
    return op.and_(op.or_(x, p), op.and_(x, op.not_(op.and_(x, p))))


def store(x, p):
    return op.dynamic_update_slice(x, op.dynamic_slice(x, lit(1, I0), sizes=(2,)) + op.dynamic_slice(x, lit(3, I0), sizes=(2,)), lit(0, I0)) + x * p


def branch(x, p):
    def side(f):
        build = Builder("side")
        params = [build.param(x.type), build.param(p.type)]
        with build:
            out = f(*params)
        return build.finish((out,))

    return op.cond(op.cast(at(x, lit(0, I0)), dtype=I), x, p, branches=(side(lambda x, p: x * p), side(lambda x, p: x + p * x)))[0] + x


def casts(x, p):
    return op.cast(op.cast(op.floor(x), dtype=I) + op.cast(op.trunc(op.clamp(lit(0, x), x, lit(9, x))), dtype=I), dtype=F) + p


def rows(x, p):
    index = op.reshape(op.iota(shape=(N,), axis=0, dtype=I), shape=(N, 1))
    return op.gather(x, index, sizes=(1,), offset_dims=(), collapsed=(0,), start_index_map=(0,), mode="clip") + x * p


def moves(x, p):
    turned = op.transpose(op.reshape(x, shape=(2, 3)), perm=(1, 0))
    return op.reverse(op.reshape(turned, shape=(N,)), axes=(0,)) + x * p


def parts(x, p):
    cut = lambda start, stop: op.slice(x, start=(start,), stop=(stop,), stride=(1,))
    return op.concatenate(cut(2, 6), cut(0, 2), axis=0) * x + p


def choices(x, p):
    return op.select(op.lt(x, p), x * p, op.select(op.and_(op.gt(x, p), op.ne(p, x)), x + p, op.neg(x)))


def extremes(x, p):
    return op.maximum(op.minimum(x, p), op.maximum(x, p * x)) + op.clamp(lit(0, x), x, lit(9, x))


def reductions(x, p):
    return spread(op.reduce_sum(x * x, axes=(0,))) + x * spread(op.reduce_max(x, axes=(0,))) + p


def elements(x, p):
    return x + spread(at(x, op.cast(at(p, I0), dtype=I)) * at(x, op.argmax(x, axis=0)))


def products(x, p):
    return op.dot_general(x, x, contract=((1,), (0,)), batch=((), ())) + op.transpose(x, perm=(1, 0)) + p


I0 = Lit(0, WHOLE)
STEPS = {  # name -> (type, the next value by the last and a parameter)
    "sums": (VECTOR, lambda x, p: x * x + x * p),
    "numbers": (NUMBER, lambda x, p: x * x + x * p),
    "wholes": (WHOLE, wholes),
    "truths": (TRUTH, tests),
    "choices": (VECTOR, choices),
    "extremes": (VECTOR, extremes),
    "casts": (NUMBER, casts),
    "reductions": (VECTOR, reductions),
    "rows": (VECTOR, rows),
    "elements": (VECTOR, elements),
    "moves": (VECTOR, moves),
    "parts": (VECTOR, parts),
    "stores": (VECTOR, store),
    "products": (MATRIX, products),
    "running": (VECTOR, lambda x, p: op.cumsum(x * p, axis=0, reverse=False) + x),
    "functions": (VECTOR, lambda x, p: op.exp(x) * op.tanh(x) + op.log1p(op.exp(x)) * op.sqrt(p) + x),
    "branches": (VECTOR, branch),
}


def one_of(steps):
    """The steps in turn."""
    return lambda x, p, k: steps[k % len(steps)](x, p)


PROGRAMS = {  # name -> (type, the next value by the last, a parameter and the number of the step)
    "vectors": (VECTOR, one_of([step for t, step in STEPS.values() if t is VECTOR])),
    "numbers": (NUMBER, one_of([step for t, step in STEPS.values() if t is NUMBER])),
    **{name: (STEPS[name][0], one_of([STEPS[name][1]])) for name in ("sums", "wholes", "truths", "products", "running")},
}


def deep(name, n, checks=True):
    """A function of `n` steps. checks: its last result is a status of a check a step."""
    t, step = PROGRAMS[name]
    build = Builder("deep")
    x, p = build.param(t, "x"), build.param(t, "p")
    with build:
        status = Lit(0, WHOLE)
        for k in range(n):
            x = step(x, p, k)
            if checks:
                one = x if not t.shape else op.reshape(op.slice(x, start=(0,) * t.ndim, stop=(1,) * t.ndim, stride=(1,) * t.ndim), shape=())
                good = one if t is TRUTH else op.lt(one, lit(5, one))
                status = op.select(op.and_(op.eq(status, I0), op.not_(good)), Lit(k + 1, WHOLE), status)
    return build.finish((x, status) if checks else (x,))


class TooMany(Exception):
    """A walk looks at more than any walk should."""


@contextlib.contextmanager
def visits(most=None):
    """A Counter, in which `None` is how often a value is asked what made it, and an equation for its operands, within."""
    found = collections.Counter()
    slots = {(owner, name): owner.__dict__[name] for owner, name in ((Value, "eqn"), (Eqn, "operands"))}

    def counted(slot):
        def get(self):
            found[None] += 1
            if most is not None and found[None] > most:
                raise TooMany(f"more than {most} visits")
            return slot.__get__(self)

        return property(get, slot.__set__)

    for (owner, name), slot in slots.items():
        setattr(owner, name, counted(slot))
    try:
        yield found
    finally:
        for (owner, name), slot in slots.items():
            setattr(owner, name, slot)
