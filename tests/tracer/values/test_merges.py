"""Where data choose the kind of a number, each kind keeps its own arithmetic; what raises on one side of a choice raises only there."""

import functools
import math
import random

import numpy as np
import pytest
from compare import agree
from random_flow import numbers
from random_merges import differences, draw

from wengert import grad, jit
from wengert.tracer.numpy_api.registry import HANDLERS

UP, DOWN = np.array([2.0, 0.5]), np.array([-2.0, 0.5])


def same(f, *calls, **options):
    """One compiled function and plain Python on each of `calls` -> the compiled one."""
    compiled = jit(f, **options)
    for args in calls:
        plain, ours = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
        with np.errstate(all="ignore"):
            try:
                want = f(*plain)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(*ours)
                agree(ours, list(args))
                continue
        agree(numbers(compiled(*ours), want), want)
        agree(ours, plain)
    return compiled


# -- kinds that data choose ------------------------------------------------------------------------

U2, I1 = np.array([8, 3], "u2"), np.array([100, 2], "i1")
F4, F8, I8 = np.array([0.1, 2], "f4"), np.array([0.1, 2.0]), np.array([7, -2])


def carried(v, n):
    s = 0
    for i in range(n):
        s = s * 2 - v[i]
    return s - np.uint8(1)


def until(v, top):
    s, k = 1, 0
    while s < top:
        s = s * 1.5
        k = k + 1
    return v * s, k


def best(v, w):
    top = 0
    for x in v:
        if x > top:
            top = x
    return w * top


def nested(v, w):
    s = 1 if v[0] > 0 else 0.5 if v[0] > -1 else w[0]
    return s * F4, s + 1


def unpacked(v, w):
    a, b = (1, w[0]) if v[0] > 0 else (w[1], 2.5)
    return a / 3, b - F4


def held(v, w):
    d = {"s": 0.0}
    if v[0] > 0:
        d["s"] = w[0]
    return [d["s"] * F4, d["s"] * 2]


KINDS = {
    "an int or a float, less a u2": (lambda v, w, n: (n if v[0] > 3 else w[0]) - v[0], [(U2, F8, 4), (U2 - 3, F8, 4), (U2, F8, 2)]),
    "an int or an i8, with a u1": (lambda v, w: np.uint8(250) + (w[0] if v > 0 else 7), [(-1.0, I8), (1.0, I8), (1.0, I8 + 1)]),
    "a float or an f8, by f4": (lambda v, w: (0.5 if v[0] > 0 else w[0]) * F4, [(UP, F8), (DOWN, F8)]),
    "a literal or an f4, by f4": (lambda v, w: (w[0] if w[0] > 0 else 0.0) * w, [(UP, F4), (UP, -F4)]),
    "a bool or an int": (lambda v, n: (v[0] > 1) + (True if v[1] > 1 else n) + (True if v[0] > 0 else n), [(UP, 5), (DOWN, 5)]),
    "a bool or a NumPy bool": (lambda v, b: (b if v[0] > 0 else v[1] > 0) + True, [(UP, True), (DOWN, True), (DOWN, False)]),
    "division raises for Python's alone": (lambda v, w: 1.0 / (0.0 if v[0] > 0 else w[0]) * w, [(UP, F8), (DOWN, F8), (DOWN, F8 * 0)]),
    "remainder, and comparison": (lambda v, n: (7 if v[0] > 0 else n) % U2 > (n if v[1] > 0 else 2.5), [(UP, 3), (DOWN, 3)]),
    "an int beyond 2**53": (lambda v, n: (n * n if v[0] > 0 else 0.5) == n * n, [(UP, 94906267), (DOWN, 94906267)]),
    "isinstance": (lambda v, w: 1 if isinstance(7 if v[0] > 0 else w[0], int) else 2, [(UP, F8), (DOWN, F8)]),
    "a method that one kind has": (lambda v, w: (7 if v[0] > 0 else w[0]).item(), [(DOWN, F8), (UP, F8)]),
    "an index": (lambda v, w: w[1 if v[0] > 0 else v[1] * 0], [(UP, F8), (DOWN, F8)]),
    "stores": (lambda v, w: w.__setitem__(0, 3 if v[0] > 0 else v[1]), [(UP, F4.copy()), (DOWN, I8), (UP, I1)]),
    "in place": (lambda v, w: w.__iadd__(1 if v[0] > 0 else v[1]), [(UP, F4), (DOWN, F4), (UP, I8), (DOWN, I8)]),
    "a list": (lambda v, w: np.array([1 if v[0] > 0 else w[0], 2]) * F4, [(UP, F8), (DOWN, F8)]),
    "lists of many": (lambda v, w: np.array([max(x, 0.0) for x in w] * 8), [(UP, F8), (DOWN, -F8)]),
    "np.where": (lambda v, w: np.where(w > 1, 1.0 if v[0] > 0 else w[0], F4), [(UP, F8), (DOWN, F8)]),
    "max": (lambda v, w: max(v[0], 0) * F4, [(UP, F8), (DOWN, F8)]),
    "a loop, of an int first": (carried, [(I1, np.int64(2)), (U2, np.int64(1))]),
    "nested": (nested, [(UP, F8), (DOWN + 1.5, F8), (DOWN, F8)]),
    "tuples": (unpacked, [(UP, F8), (DOWN, F8)]),
    "an item": (held, [(UP, F8), (DOWN, F8)]),
    "the best so far": (best, [(UP, F4), (-UP, F4)]),
    "math": (lambda v, w: math.sqrt(4 if v[0] > 0 else w[0]) * F4, [(UP, F8), (DOWN, F8)]),
    "power": (lambda v, n: (2 if v[0] > 0 else 2.0) ** n * F4, [(UP, 3), (DOWN, 3)]),
}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", KINDS)
def test_kinds_stay_apart(name, engine):
    f, calls = KINDS[name]
    same(f, *calls, engine=engine)


def test_loops_stay_one():
    compiled = same(until, (UP, 100.0), (UP, 2.0), (UP, 0.5))
    sums = same(total, (F8, np.int64(2)), (F8, np.int64(0)))
    assert "written out" not in compiled.explain() + sums.explain()


def total(v, n):
    s = 0
    for i in range(n):
        s = s + v[i]
    return s


def test_what_a_loop_leaves():
    f = lambda v, n: total(v, n) * F4
    same(f, (F8, np.int64(2)), (F8, np.int64(0)))  # an int where no trip came: of f4


def test_derivatives_go_through():
    f = lambda x: (x * 2 if x > 1 else 1) * x
    assert [grad(f)(x) for x in (3.0, 0.5)] == [12.0, 1.0]


def test_in_a_loop_each_side_is_asked():
    def f(v, w):
        out = np.zeros(len(v))
        for i in range(len(v)):
            y = F4 * (1.0 if v[i] > 0 else w[0])
            out[i] = y[0]
        return out

    same(f, (np.tile([1.0, -1.0], 50), F8), (-np.ones(100), F8))


# -- sides that raise ------------------------------------------------------------------------------


class Box:
    x = 1.0


def late(v, w):
    total = 0.0
    for i in range(10):
        if v[0] + i > 9:
            w += 0.5
        total = total + v[1]
    return total


def handled(v, w):
    try:
        if v[0] > 0:
            w += 1
        else:
            w += 0.5
    except TypeError:
        return -1.0
    return w


def trips(v, w):
    for _ in range(int(v[0]) if v[0] > 0 else 0):
        w += 0.5
    return v


def divided(v, w):
    try:
        return v[0].item() / w[0].item()
    except ZeroDivisionError:
        return 0.0


def spread(v, w):
    if v[0] < 0:
        for _q in None:
            pass
    a, b = v
    return a


RAISING = {
    "a cast": lambda v, w: w.__iadd__(1) if v[0] > 0 else w.__iadd__(0.5), "int of complex": lambda v, w: 1.0 if v[0] > 0 else int(v[0].item() * 1j),
    "bools": lambda v, w: v > 0 if v[0] > 0 else (v > 0) - (v > 1), "shifts": lambda v, w: v * 2 if v[0] > 0 else v << 1,
    "no loop of a ufunc's": lambda v, w: v if v[0] > 0 else np.gcd(v[0], 2), "nor for an operator": lambda v, w: v if v[0] > 0 else ~v,
    "an attribute": lambda v, w: v if v[0] > 0 else v * Box.y, "a method": lambda v, w: v + 1 if v[0] > 0 else v.nothing(),
    "a key": lambda v, w: v if v[0] > 0 else v * {"p": 1}["q"], "an index": lambda v, w: v if v[0] > 0 else v * [1, 2][2],
    "shapes": lambda v, w: v + 1 if v[0] > 0 else v + np.ones(3), "an axis": lambda v, w: v if v[0] > 0 else v.sum(axis=3),
    "a name": lambda v, w: v if v[0] > 0 else v * undefined, "arguments": lambda v, w: v if v[0] > 0 else np.tanh(v, 1, 2, 3),  # noqa: F821
    "None": lambda v, w: v if v[0] > 0 else None + v[0], "Python's own": lambda v, w: v if v[0] > 0 else 1 + "x",
    "text": lambda v, w: v if v[0] > 0 else "%d" % ("x",),  # noqa: UP031
    "a scalar's length": lambda v, w: v if v[0] > 0 else len(v[0]),
    "a number called": lambda v, w: v if v[0] > 0 else v[0](3), "and": lambda v, w: v[0] > 0 or bool(v << 1), "in a later trip": late,
    "handled": handled, "a loop": spread, "trips that never come": trips, "in a comprehension": lambda v, w: [x if x > 0 else x << 1 for x in v],
}  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_a_side_that_raises(name):
    same(RAISING[name], (UP, np.arange(2)), (DOWN, np.arange(2)), (UP, np.arange(2)))


def test_a_zero_division_that_is_handled():
    same(divided, (UP, np.arange(2)), (UP, np.arange(1, 3)))
    assert jit(lambda a, b: quotient(a, b))(1.0, 0.0) == 0.0


def quotient(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0


def test_faults_of_ours_are_not_the_users(monkeypatch):
    monkeypatch.setitem(HANDLERS, np.flip, functools.partial(setattr, None, "x"))
    with pytest.raises(AttributeError):
        jit(lambda v: v if v[0] > 0 else np.flip(v))(UP)


# -- arrays that are numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("f", [float, int, complex, math.sin, math.floor, math.isnan, math.isfinite, bool], ids=lambda f: f.__name__)
def test_arrays_of_one_element(f):
    same(lambda x: f(x), (np.ones((1, 1)),), (np.ones(1),), (np.array(1.0),), (np.ones((1, 1), int),))
    same(lambda x: math.isclose(x, 1.0), (np.ones(1),), (np.array(1.0),))


# -- arrays that may be written on one side --------------------------------------------------------


def step(y, last):
    t = 0.0
    while t < last:
        if np.abs(y).max() <= 3.0:
            y = y + 0.1 * y
        t = t + 0.5
    return y


def test_a_read_only_argument_or_a_new_array():
    fixed = np.ones(3)
    fixed.flags.writeable = False
    same(step, (fixed, 2.0), (np.ones(3), 2.0))

    def chosen(y, x):
        z = y if x > 0 else y * 2
        z[0] = 5.0
        return z

    same(chosen, (fixed, -1.0), (fixed, 1.0), (np.ones(3), 1.0))


def test_text_says_the_kind(capsys):
    def f(v, w):
        for i in range(2):
            s = 1 if v[i] > 0 else 2
            t = w[0] if v[i] > 0 else 0.5
            print(s, f"{t:.2f} {t}", t)
        print(1 if v[0] > 0 else w[1])

    for args in ((UP, F8), (DOWN, F8)):
        f(*args)
        want = capsys.readouterr().out
        jit(f)(*args)
        assert capsys.readouterr().out == want


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    for k in range(3):
        found = differences(draw(random.Random(1000 * seed + k)), engine="numpy")
        assert not found or found.startswith("refused")


@pytest.mark.parametrize("dtype", ["i8", "u8", "i2", "f4"])
@pytest.mark.parametrize("t", [np.uint64(2**63 + 5), np.uint64(2**63), np.uint64(3), np.int64(-4)], ids=repr)
def test_ints_beyond_64_bits_are_chosen_by_value(dtype, t):
    """No dtype holds one beside numbers of the program: as uint64 it wrapped where it was read as an int."""

    def found(f):
        try:
            value = f(np.array([1, 2], dtype), t)
            return type(value), np.asarray(value).dtype, np.asarray(value).tolist()
        except OverflowError:
            return OverflowError

    for f in (
        lambda a, t: a.dtype.type(min(2**63, t)),
        lambda a, t: min(2**63, t),
        lambda a, t: a + min(2**63, t),
        lambda a, t: a.dtype.type(max(t, 2**63)),
        lambda a, t: a.dtype.type(2**63 if t > 5 else 3),
    ):
        assert found(jit(f)) == found(f)
