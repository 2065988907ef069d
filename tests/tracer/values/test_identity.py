"""Arrays as objects: which result is which argument, whose view, who shares memory, what may be written; as plain Python has it."""

import random
import warnings

import numpy as np
import pytest
from random_identity import differences, draw, pattern

from wengert import Fallback, UnsupportedError, grad, jit
from wengert.tracer.capture import handover
from wengert.tracer.common.errors import CheckError, WengertError

V, N, M, ROWS = np.arange(6.0) - 1, np.arange(6.0) + 1, np.arange(9.0).reshape(3, 3) - 2, np.arange(12.0).reshape(4, 3) % 7
UP, DOWN = (np.ones(4), np.zeros(4)), (np.zeros(4), np.ones(4))
G, H = np.arange(4.0), np.arange(4.0) * 2


class Box:
    pass


BOX = Box()


def clipped(a):
    if a.min() < 0:
        a = np.maximum(a, 0)
    return a


def swapped(a, b):
    if a.sum() > b.sum():
        a, b = b, a
    return a, b


def no_trip(a):
    x = a
    while x.sum() > 10:
        x = x * 0.5
    return x


def in_a_dict(a, b):
    d = {"x": a}
    if a[0] > b[0]:
        d["x"] = b
    return d["x"], d


def in_an_attribute(a, b):
    o = Box()
    o.x = a
    if a[0] > b[0]:
        o.x = b
    return o.x


def stored_outside(a, b):
    BOX.x = a if a[0] > b[0] else b
    return BOX.x


def outside_or_argument(a, b):
    return (G if a[0] > 0 else H), (G if a[0] > 0 else a), b


def left_early(a, b):
    if a[0] > b[0]:
        return a
    return b[::-1]


def last_larger(a, b):
    x = a
    for i in range(3):
        if a[i] > b[i]:
            x = b
    return x


def swapped_in_a_loop(a, b):
    for _ in range(3):
        if a[0] < 3:
            a, b = b, a
    return a, b


def best_kept(a, b):
    best, f = a, (a**2).sum()
    for _ in range(4):
        a = a * b[0]
        if (a**2).sum() < f:
            best, f = a, (a**2).sum()
    return a, best


def best_row(x):
    best = x[0]
    for r in x:
        if r.sum() > best.sum():
            best = r
    return best


def of_very_many(a, b):
    y, every = a, [a, b, a[1:], b[1:], a[:-1], b[:-1], a[::-1], b[::-1], a[:], b[:]]
    for k in (2, 3, 4, 5):
        if a[k % 4] + k > 3:
            y = every[k]
    return y


def of_many(a, b):
    every = [a, b, a[:], b[:], a[::-1], b[::-1], a * 2, b * 2, a[:]]
    y = every[0]
    for k in range(9):
        if a[k % 4] + k > 3 and k != 5:
            y = every[k]
    return y


def added_to(a, b):
    c = a
    if b[0] > 0:
        c = c + 1
    c += 1
    return c


def fresh_and_seen(a, b):
    c = a * 2
    return c, (c[1:] if a[0] > b[0] else a[1:]), c[::2], c.T


def asked(a, b):
    c = a if a[0] > b[0] else b
    v = c[1:]
    return c is a, c is not b, v.base is c, v.base is a, c.base is None, np.shares_memory(c, a), np.may_share_memory(c[::2], b[1::2]), v is v[:]


def asked_in_a_loop(a, b):
    n = 0
    for i in range(3):
        x = a if a[i] > b[i] else b
        if x is a:
            n += 1
    return n


def base_in_a_branch(a, b):
    v = a[1:]
    if a[0] > b[0]:
        v = a[1:] if a[1] > 0 else b[1:]
    if b[1] > -1:
        if v.base is a:
            b[0] = 5.0
    return b


def carried_and_asked(a, b):
    n, q = 0, b
    for _ in range(3):
        n += (q is a) + np.shares_memory(q, a[1:])
        q = a if a[0] > b[0] else b
    return n


def bases(x):
    return x.T.base is x, x.reshape(-1).base is x, x[1:][:1].base is x, x[1:].T.base, x[0].base is x


def flags(a):
    v = a[::2]
    return a.flags.writeable, a.flags.owndata, v.flags.owndata, v.flags.c_contiguous, a.flags["C_CONTIGUOUS"], v.flags.f_contiguous, a.T.flags.forc


def frozen(a):
    v = a[1:]
    a.flags.writeable = False
    return v, a[2:], v.flags.writeable, a.flags.writeable


def frozen_new(a):
    b, c, d = a * 2, a * 3, a * 4
    b.setflags(write=False)
    c.flags.writeable = False
    c.flags.writeable = True
    c[0] = 7
    if a[0] > 0:
        d.flags["WRITEABLE"] = False
    return b, b[1:], c, d


def frozen_store(a):
    a.flags.writeable = False
    try:
        a[0] = 5
    except ValueError:
        return 1.0
    return 2.0


def twice(a, b):
    v, c = a[1:], a * 2
    return a, a, v, v, c, c, [c, {"x": v}]


def conversions(x):
    y = np.array(x, copy=False), np.require(x), x.astype(float, copy=False), np.real(x), np.nan_to_num(x, copy=False), np.asanyarray(x)
    z = np.asarray(x), np.ascontiguousarray(x), np.atleast_1d(x), np.ravel(x), x.reshape(x.shape), np.squeeze(x), np.copy(x), x.view(), x[...]
    w = np.broadcast_arrays(x, x)[0], np.diagonal(x.reshape(2, 3)), np.split(x, 2)[1], np.flip(x)
    return *y, *z, *w, np.lib.stride_tricks.sliding_window_view(x, 3)


def repeated(a):
    return np.broadcast_to(a, (2, *a.shape)), np.broadcast_to(a * 2, (2, *a.shape))


def view_of_transposed(x):
    y, w, q, z = x.T + 1, np.where(x.T > 2, x.T, 0), np.zeros_like(x.T), x.T.astype(int)
    for k, s in enumerate((y, w, q, z, (x.T * 2 - 1) / 2)):
        s.reshape(-1)[1] = k + 7
        s.ravel()[2] = k + 17
    return y.tolist() if x is None else y + 0, w + 0, q + 0, z + 0


def view_of_a_sum(x):
    y = x + 1
    z = y.reshape(-1)
    z[1] = 5
    return y, z


def view_in_a_loop(x):
    y = x.reshape(-1)
    for i in range(3):
        x = x.T
        y = x.reshape(-1)
        y[0] = i + 7
    return x, y


def stores_that_overlap(x):
    x[0, 0] = 1
    x[0] += 1
    return x


def turned(a, n):
    for _ in range(n):
        a = a[::-1]
    return a


def transposed(a, n):
    b = a * 2
    while n > 0:
        a, b, n = a.T, b.T, n - 1
    return a, b


def turned_by_data(a, n):
    p = a
    for k in range(6):
        if a[0, 0] > k - n:
            p = p[::-1]
    p[0] = 9.0
    return p, a


def shortened_by_data(a, n):
    for k in range(2):
        if a.sum() < k + n:
            a = a[:]
    return a[1:]


def turned_and_swapped(a, n):
    p, q = a, a[::-1]
    for k in range(7):
        p, q = q[::-1], p[::-1]
        if n > k:
            p = p[:]
    return p, q


GROWN = (turned, transposed, turned_by_data, shortened_by_data)  # each trip takes a view of what the one before it left
TRIPS = [(M, np.int64(n)) for n in (0, 1, 2, 3, 8)]
STRIDES = np.lib.stride_tricks.as_strided
CASES = [
    *((f, TRIPS) for f in (*GROWN, turned_and_swapped)),
    (clipped, [(V,), (N,)]), (swapped, [UP, DOWN]), (no_trip, [(V,), (N,), (V[:3],)]), (in_a_dict, [UP, DOWN]), (in_an_attribute, [UP, DOWN]),
    (stored_outside, [UP, DOWN]), (outside_or_argument, [UP, DOWN]), (left_early, [UP, DOWN]), (last_larger, [UP, DOWN]),
    (swapped_in_a_loop, [UP, DOWN]), (best_kept, [UP, DOWN, (np.ones(4) * 3, np.ones(4) * 0.5)]), (best_row, [(ROWS,), (-ROWS,)]),
    (of_very_many, [UP, DOWN]), (of_many, [UP, DOWN, (np.arange(4.0), np.ones(4))]), (added_to, [UP, DOWN]), (fresh_and_seen, [UP, DOWN]),
    (asked, [UP, DOWN]), (asked_in_a_loop, [UP, DOWN]),
    (base_in_a_branch, [UP, DOWN, (-N, V)]), (carried_and_asked, [UP, DOWN]), (bases, [(M,)]), (flags, [(V,), (V[1:],)]), (frozen, [(V,)]),
    (frozen_new, [(V,), (N,)]), (frozen_store, [(V,)]), (twice, [UP]), (conversions, [(V,)]), (repeated, [(V,)]), (view_of_transposed, [(M,)]),
    (view_of_a_sum, [(M,), (np.asfortranarray(M),)]), (view_in_a_loop, [(M,), (np.asfortranarray(M),)]),
    (stores_that_overlap, [(M,), (STRIDES(V, (3, 3), (8, 8)),), (STRIDES(V, (3, 3), (0, 8)),), (M.T,), (M[::-1],)]),
    (lambda a: a[1:] if a[0] > 0 else a[:-1], [(V,), (N,)]), (lambda a, i: a[i : i + 2], [(V, np.int64(2)), (V, np.int64(0))]),
    (lambda a, i: (a[i], a), [(M, np.int64(2)), (M, np.int64(-2))]), (lambda a, i: (lambda x: (x[i], x))(a * 2), [(M, np.int64(2))]),
    (lambda a, i: a[:i], [(V, np.int64(2))]), (lambda a, t: a if t > 0 else None, [(V, 1.0), (V, -1.0)]),
    (lambda a: a[np.argmax(a.sum(1))], [(ROWS,)]), (lambda a, b: np.shares_memory(a, b), [UP, (V[1:], V[:-1])]),
]  # fmt: skip


def alike(xs):
    """Equal arrays that lie in memory, and share it, as these."""
    owners = {}

    def of(x):
        if not isinstance(x, np.ndarray):
            return x
        owner = x if x.base is None else x.base if isinstance(x.base, np.ndarray) else None
        if owner is None or not isinstance(owner, np.ndarray) or owner.base is not None:
            whole = owners.setdefault(V.__array_interface__["data"][0], V.copy())
            return STRIDES(whole, x.shape, x.strides)
        held = owners.setdefault(id(owner), owner.copy(order="K"))
        if x is owner:
            return held
        start = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return np.ndarray(x.shape, x.dtype, held, start, x.strides)

    return [of(x) for x in xs]


def outcome(f, given):
    try:
        result = f(*given)
    except Exception as error:
        return type(error), []
    told = [result] if not isinstance(result, np.ndarray | tuple | list | dict) else [x for x in result if isinstance(x, bool)]
    return told, list(pattern([*given, G, H], result))


@pytest.mark.parametrize("f, sets", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_results_are_the_objects_of_plain_python(f, sets):
    compiled = jit(f, engine="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        for given in (*sets, *sets):
            assert outcome(compiled, alike(given)) == outcome(f, alike(given))


@pytest.mark.parametrize("f, sets", [(clipped, [(V,), (N,)]), (swapped, [UP, DOWN]), (last_larger, [UP, DOWN]), (twice, [UP]), (flags, [(V,)])])
@pytest.mark.parametrize("options", [{"engine": "xla"}, {"exact": True}, {"check": True, "engine": "numpy"}], ids=str)
def test_under_every_engine(f, sets, options):
    compiled = jit(f, **options)
    for given in (*sets, *sets):
        assert outcome(compiled, alike(given)) == outcome(f, alike(given))


@pytest.mark.parametrize("f", GROWN)
def test_views_of_views_in_loops_are_told_apart(f):
    compiled = jit(f, engine="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        for given in TRIPS:
            assert outcome(compiled, alike(given)) == outcome(f, alike(given))


@pytest.mark.parametrize("whole", [V, np.array([np.nan, 1.0, 2.0]), np.array([1 + 2j, 3j])])
def test_a_view_is_within_and_new_values_are_not(whole):
    assert all(handover.within(x, whole) for x in (whole[::-1], whole[1:], whole[:0], whole.real, whole[:1, None]))
    assert not handover.within(whole + 0.25, whole) and not handover.within(np.append(whole, np.inf), whole)


def test_a_store_into_the_result_reaches_the_argument():
    f = jit(swapped)
    for a, b in (UP, DOWN):
        a, b = a.copy(), b.copy()
        small, large = f(a, b)
        large[0] = 9
        assert max(a[0], b[0]) == 9 and small is not large


def test_a_read_only_argument_is_one_at_every_call():
    def f(a):
        if a[1] > 0:
            a[0] = 7
        return a.sum()

    def read_only(a):
        a.flags.writeable = False
        return a

    for first in (True, False):
        g = jit(f, engine="numpy")
        for closed in (first, not first, first):
            for x in (N, -N):
                given = [read_only(x.copy()) if closed else x.copy() for _ in range(2)]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", Fallback)
                    assert outcome(g, given[:1])[0] == outcome(f, given[1:])[0]


def test_a_read_only_array_that_a_loop_carries():
    def f(a):
        x = np.broadcast_to(a, (3, 6))
        for i in range(3):
            x[0] = i
            x = x * 2
        return x

    with pytest.raises(ValueError, match="read-only"):
        jit(f)(V)


def test_differentiated_functions_are_as_they_were():
    assert (grad(lambda a: swapped(a, a * 2)[1].sum())(np.ones(3)) == 2).all()


@pytest.mark.parametrize("f", [lambda a: a, lambda a: (a * 2,) * 2, lambda a: a[::2], lambda a: np.broadcast_to(a, (2, 6))])
def test_check_compares_identity_memory_and_flags(f, monkeypatch):
    monkeypatch.setattr(handover.Handover, "out", lambda self, x: handover.Out("value", handover.ARRAY, self.add(x.value)))
    with pytest.raises(CheckError, match="itself|shares memory with|be written"):
        jit(f, check=True, engine="numpy")(V.copy())


def test_random_programs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        found = [differences(draw(random.Random(seed)), engine="numpy") for seed in [*range(40), 666, 1192]]
    assert not [x for x in found if x and not x.startswith("refused")]
    assert WengertError and len([x for x in found if x]) < 6


def test_the_base_of_what_a_loop_leaves_is_no_guess():
    def swapped(a, c, i):
        v, w, k = a[1:], c[:-1], 0
        while k < i:
            k += 1
            v = v[::-1]
            v, w = w, v
        return v.base is a

    def owned(a, c, i):
        v, w, k = a[1:], c[:-1], 0
        while k < i:
            k += 1
            v = v[::-1]
            v, w = w, v
        return v.flags.owndata

    for f in (swapped, owned):
        with pytest.raises(UnsupportedError, match="one of several"):
            jit(f)(np.arange(4.0), np.arange(4.0), np.int64(2))


# -- how memory lies -------------------------------------------------------------------------------

SAME = {
    "contiguous": lambda x: np.ascontiguousarray(x) is x,
    "asarray": lambda x: np.asarray(x, order="C") is x,
    "fortran": lambda x: np.asfortranarray(x) is x,
    "base": lambda x: (np.ascontiguousarray(x).base is None, x.reshape(-1).base is x),
    "ravel": lambda x: np.shares_memory(x.T.ravel(), x),
    "order K": lambda x: np.shares_memory(x.ravel("K"), x),
    "new": lambda x: np.shares_memory((y := x * 2.0).T.reshape(-1), y),
    "shared": lambda x: np.may_share_memory(np.ascontiguousarray(x), x),
}


@pytest.mark.parametrize("way", SAME)
def test_what_is_a_view_hangs_on_how_an_argument_lies(way, falling_back, recwarn):
    f = SAME[way]
    compiled = jit(f)
    rows = np.ones((2, 3))
    for x in (np.asfortranarray(rows), rows, np.asfortranarray(rows), np.ones((4, 3))[::2], rows, np.ones((2, 6))[:, ::2]):
        assert compiled(x) == f(x)


MADE = {
    "sort": lambda x: np.sort(x, axis=0),
    "partition": lambda x: np.partition(x, 1, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "accumulate": lambda x: np.multiply.accumulate(x, 0),
    "concatenate": lambda x: np.concatenate([x, x]),
    "hstack": lambda x: np.hstack([x, x + 1.0]),
    "stack": lambda x: np.stack([x, x]).transpose(1, 0, 2),
    "rows": lambda x: x[[1, 0]],
    "columns": lambda x: x[:, [2, 0]],
    "columns of rows": lambda x: x.T[:, [2, 0]],
    "two indices": lambda x: np.stack([x, x], 2)[:, [0, 1], [1, 0]],
    "the last axis": lambda x: np.stack([x, x])[..., [1, 0]],
    "clip": lambda x: np.clip(x, 0.0, 5.0),
    "round": lambda x: np.round(x, 1),
    "sum": lambda x: np.stack([x, x], 2).sum(2),
    "mean": lambda x: np.stack([x, x]).mean(0),
    "max": lambda x: np.stack([x, x], 1).max(1, keepdims=True),
}


@pytest.mark.parametrize("make", MADE)
def test_what_is_made_of_a_transpose_lies_as_numpys(make):
    def f(x):
        y = MADE[make](x.T)
        flags = y.flags.c_contiguous, y.flags.f_contiguous
        y.reshape(-1)[1] = 7.0  # of a copy, or of y
        return y.ravel("K"), y + 0.0, flags

    x = np.arange(9.0).reshape(3, 3)[::-1].copy()
    for got, want in zip(jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
