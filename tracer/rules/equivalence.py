"""Whether the two sides of a rule agree, on random numbers."""

import numpy as np

from ...backends.numpy import callable_of
from ...ir.types import Tensor

# elements of the arguments, beyond which smaller shapes are taken where both sides can be traced at them
MOST = 1 << 16
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 1e300)
SIZES = (2, 3, 5, 7, 11, 13, 17, 19)
ROUNDS = 4
MORE = 16  # rounds of special numbers, for rules that are to be exact


def disagreement(types, left, right, params, exact, smaller):
    """The first input on which two functions differ, in words; None where there is none, and other words where nothing
    could be compared.

    smaller: gives the two functions at other types, or None.
    """
    if sum(t.size for t in types) > MOST:
        shrunk = shrink(types)
        left, right = smaller(shrunk) or (left, right)
        types = left.param_types
    rng, compared = np.random.default_rng(0), False
    f, g = callable_of(left), callable_of(right)
    for k in range(ROUNDS + MORE * exact):
        operands = [draw(t, rng, k) for t in types]
        with np.errstate(all="ignore"):
            (a,), (b,) = ([np.asarray(r) for r in run(*operands)] for run in (f, g))
        compared = compared or bool(np.isfinite(a).any()) or not a.size
        place = first(a, b, exact)
        if place is not None:
            at = f" at {list(map(int, place))}" if place else ""
            with np.printoptions(threshold=12, precision=17):
                given = ", ".join(f"{n} = {x!r}" for n, x in zip(params, operands))
            return f"for {given}: the pattern gives {a[place]!r}{at}, the replacement {b[place]!r}"
    return (
        None
        if compared
        else "or not, which random numbers do not show: the pattern is finite on none of them; check=False takes your "
             "word for it"
    )


def shrink(types):
    """The types with every long axis short: those of one length stay of one length."""
    kept = {n for t in types for n in t.shape if n <= SIZES[-1]}
    free = iter([n for n in SIZES if n not in kept])
    short = {n: next(free, n) for n in sorted({n for t in types for n in t.shape} - kept)}
    return tuple(Tensor(tuple(short.get(n, n) for n in t.shape), t.dtype) for t in types)


def draw(t, rng, k):
    """Numbers of a type: positive ones first, then of both signs, then special ones."""
    if t.kind == "b":
        return np.asarray(rng.random(t.shape) < 0.5)
    if t.kind in "iu":
        return np.asarray(rng.integers(1 if k == 0 or t.kind == "u" else -8, 9, t.shape)).astype(t.dtype)

    def real():
        if k >= ROUNDS:
            return rng.choice(SPECIAL, t.shape)
        return rng.uniform(0.2, 2.0, t.shape) * rng.choice([1.0, -1.0 if k % 2 else 1.0], t.shape)

    with np.errstate(all="ignore"):
        return np.asarray(real() + 1j * real() if t.kind == "c" else real()).astype(t.dtype)


def first(a, b, exact):
    """The index of the first element that differs: in a bit, any NaN being like any other; else beyond rounding, where
    a is finite."""
    if exact:
        parts = lambda x: (x.real, x.imag) if x.dtype.kind == "c" else (x,)
        wrong = np.zeros(a.shape, bool)
        for x, y in zip(parts(a), parts(b)):
            wrong |= (
                ~((x == y) & (np.signbit(x) == np.signbit(y)) | (x != x) & (y != y)) if x.dtype.kind == "f" else x != y
            )
    elif a.dtype.kind in "fc":
        ok = np.isfinite(a)
        largest = np.abs(a[ok]).max(initial=0.0)
        with np.errstate(all="ignore"):
            wrong = ok & ~(np.abs(a - b) <= min(float(np.finfo(a.dtype).eps) * 2**13, 2**-5) * largest)
    else:
        wrong = a != b
    return tuple(np.argwhere(wrong)[0]) if wrong.any() else None
