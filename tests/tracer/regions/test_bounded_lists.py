"""Lists of which data decide how long they get, and arrays that grow in loops: captured with their length as a number of the program."""

import warnings

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.tracer.common.errors import Fallback, UnsupportedError


def same(f, *sizes, whole=True, calls=3):
    """Compare with Python on data of which each decides another length, without a trace for each."""
    compiled = jit(f, whole=whole)
    for n in sizes:
        for k in range(calls):
            a = np.random.default_rng([n, k]).normal(size=n)
            got, want = compiled(a.copy()), f(a.copy())
            assert alike(got, want), (got, want)
    return compiled


def alike(got, want):
    if isinstance(want, list | tuple):
        return type(got) is type(want) and len(got) == len(want) and all(map(alike, got, want))
    if isinstance(want, dict):
        return list(got) == list(want) and all(alike(got[k], want[k]) for k in want)
    if isinstance(want, np.ndarray):
        return type(got) is np.ndarray and got.dtype == want.dtype and got.shape == want.shape and np.allclose(got, want, 1e-11, 1e-13)
    return type(got) is type(want) and bool(np.isclose(got, want, 1e-11, 1e-13))


def traces(compiled):
    return sum(len(entry.current.versions) for entry in compiled.compiled.entries.values())


def under_a_test(a):
    xs = []
    for v in a:
        if v > 0:
            xs.append(v * v)
    return np.array(xs), len(xs), xs


def left_early(a):
    xs = []
    for v in a:
        xs.append(v)
        if v > 1:
            break
    return xs, len(xs), bool(xs)


def returned_early(a):
    xs = []
    for v in a:
        xs.append(v)
        if v > 1.2:
            return xs
    return xs


def two_lists(a):
    xs, ys = [], []
    for v in a:
        if v > 0:
            xs.append(v)
        else:
            ys.append((v, v * 2))
    return xs, ys, np.array(ys), len(xs) + len(ys)


def its_last(a):
    xs = [1.0]
    for v in a:
        if v > xs[-1] * 0.5:
            xs.append(xs[-1] * 0.5 + v)
    return np.array(xs), xs[-1], xs[0], xs


def pythons_numbers(a):
    xs, where = [0.0], []
    for i, v in enumerate(a):
        if abs(v - xs[-1]) > 0.5:
            xs.append(float(v))
            where.append(i)
    return xs, where


def in_loops(a):
    out = []
    for u in a:
        for v in a[:5]:
            if u * v > 0.3:
                out.append(u * v)
    return np.array(out), len(out)


def read_while_it_grows(a):
    best, sums, back = [], [1.0], [1.0, 2.0]
    for i, v in enumerate(a):
        if len(best) < 3 or v > min(best):
            best.append(v)
        sums.append(sum(sums) * 0.1 + float(v))
        back.append(back[i] * 0.5 + back[-2] + float(v))
    return best, sums, back


def stack_of_numbers(a):
    held, total = [], 0.0
    for v in a:
        if v > 0:
            held.append(v)
        elif held:
            total += held.pop()
    return total, held


def gone_through(a):
    xs = [v for v in a if v > 0]
    total = 0.0
    for i, v in enumerate(xs):
        total = total * 0.5 + v * i
    return total, [v * 2 for v in xs], [v * 2 for v in xs if v < 1], sorted(xs), xs == [], xs != []


def folded(a):
    xs = [v for v in a if v > 0]
    return sum(xs), max(xs, default=0.0), min(xs, default=1.0), any(v > 1 for v in xs), sum(v * v for v in xs), np.mean(xs), list(xs)


def generated(a):
    return list(v for v in a if v > 0), np.fromiter((v for v in a if v > 0), float), sorted(v for v in a if v > 0)  # noqa: C400


def of_arrays(a):
    u, frames = np.zeros(3), []
    for v in a:
        u = u * 0.9 + v
        if v > 0:
            frames.append(u.copy())
    return frames, np.array(frames).sum(), u


def bound_to_a_name(a):
    u, frames = np.zeros(3), []
    for v in a:
        u = u * 0.9 + v
        if v > 0:
            frames.append(u)
    return np.array(frames), u


def bound_where_the_trip_decides(a):
    u, frames = a.copy(), []
    for i in range(len(a)):
        if i % 5 == 0:
            frames.append(u)
        u = u * 0.5 + a[i]
    return np.array(frames).sum(axis=0), u


def in_a_dict(a):
    d = {"x": []}
    for v in a:
        if v > 0:
            d["x"].append(v)
    return d


def in_an_attribute(a):
    class Log:
        def __init__(self):
            self.kept = []

    log = Log()
    for v in a:
        if v > 0:
            log.kept.append(v * 3)
    return len(log.kept), log.kept


def until_it_is_there(a):
    ts, t = [0.0], 0.0
    while t < len(a):
        t = t + 0.5 + float(a[0]) ** 2
        ts.append(t)
    return np.array(ts), ts


def asked_by_the_test(a):
    xs = [1.0]
    while xs[-1] < 50 + 10 * abs(a[0]) and len(xs) < 40:
        xs.append(xs[-1] * 1.2 + float(abs(a[1])))
    return xs


def worked_off(a):
    todo, total, n = [float(a[0])], 0.0, 0
    while todo:
        x = todo.pop()
        total, n = total + x, n + 1
        if abs(x) < len(a):
            todo.append(x * 2 + 1)
            if n < 5:
                todo.append(x * 3 + 0.5)
    return total, n


def loop_in_a_loop(a):
    out = []
    for v in a:
        x = abs(v)
        while x < 3:
            x = x * 1.5 + 0.1
            out.append(x)
    return out


BOUNDED = [
    under_a_test, left_early, returned_early, two_lists, its_last, pythons_numbers,
    in_loops, read_while_it_grows, stack_of_numbers, gone_through, folded, generated,
    of_arrays, bound_to_a_name, in_a_dict, in_an_attribute, until_it_is_there, asked_by_the_test,
    worked_off, loop_in_a_loop, bound_where_the_trip_decides,
]  # fmt: skip


@pytest.mark.parametrize("f", BOUNDED, ids=lambda f: f.__name__)
def test_lists_of_which_data_decide_the_length(f):
    assert traces(same(f, 12, 40)) == 2


def every_tenth(a):
    u, frames = np.zeros(4), []
    for i in range(len(a)):
        u = u * 0.9 + a[i]
        if i % 10 == 0:
            frames.append(u.copy())
        if i == 3 or i > 5 and i % 7 == 1:
            frames.append(u * 2)
    return frames, np.array(frames), len(frames), frames[-1]


def test_the_number_of_the_trip_decides():
    assert traces(same(every_tenth, 12, 90)) == 2


def test_a_program_does_not_grow_with_the_trips():
    def size(f, n):
        compiled = jit(f)
        compiled(np.linspace(-1.0, 1.0, n))
        (entry,) = compiled.compiled.entries.values()
        return entry.current.versions[0].func.count()

    for f in (under_a_test, left_early, its_last, until_it_is_there):
        assert abs(size(f, 90) - size(f, 300)) <= 2


def used_as_a_whole(a):
    xs = [v for v in a if v > 0]
    xs.append(a[0])
    for v in a:
        xs.append(v * 2)
    return xs, xs[1:3], tuple(xs), [*xs, 1.0], xs + [a[0]], a[0] in xs


def test_what_asks_for_all_of_a_list_takes_its_length_by_value():
    same(used_as_a_whole, 4, 20)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: [v for v in a if v > 9][-1],
        lambda a: [v for v in a if v > 9].pop(),
        lambda a: max(v for v in a if v > 9),
        lambda a: [v for v in a if v > 0][len(a)],
    ],
)
def test_what_is_not_there_is_pythons_error(f):
    a = np.random.default_rng(0).normal(size=30)
    with pytest.raises((IndexError, ValueError)) as want:
        f(a)
    with pytest.raises(want.type):
        jit(f, whole=True)(a)


def of_none(a):
    return [v for v in a if v > 9], np.array([v for v in a if v > 9]), sum(v for v in a if v > 9)


def test_an_empty_list_is_one():
    same(of_none, 30)


def written_in_place(a):
    u, frames = np.zeros(3), []
    for v in a:
        u += v
        if v > 0:
            frames.append(u)
    return np.array(frames), u


def written_later(a):
    u, frames = np.zeros(3), []
    for v in a:
        u = u * 0.9 + v
        if v > 0:
            frames.append(u)
    u[0] = 7.0
    return np.array(frames), u


def written_on_one_way(a):
    u, frames = np.zeros(3), []
    for v in a:
        if v > 0:
            u = u + 1
            frames.append(u)
        u *= 2
    return np.array(frames), u


def one_and_the_same(a):
    u, frames = np.zeros(3), []
    for v in a:
        u = u * 0.9 + v
        if v > 0:
            frames.append(u)
    return frames, u


@pytest.mark.parametrize("f", [written_in_place, written_later, written_on_one_way, one_and_the_same], ids=lambda f: f.__name__)
def test_an_array_that_a_list_may_hold_is_not_told_from_it(f, falling_back):
    for n in (8, 40):
        a = np.random.default_rng(n).normal(size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Fallback)
            got, want = jit(f)(a.copy()), f(a.copy())
        assert alike(got, want)
        assert (got[0] and got[0][-1] is got[1]) == (want[0] and want[0][-1] is want[1]) if isinstance(want[0], list) else True


def test_a_list_that_no_loop_fills_is_asked_at_each_turn_of_a_while():
    def f(a):
        xs, n = [float(v) for v in a], 0
        while xs:
            n += 1
            if xs.pop() > 1.0:
                break
        return n, len(xs)

    same(f, 5, 30)


def test_gradients_go_through_lists_that_data_cut():
    def f(a):
        xs = []
        for v in a:
            if v > 0:
                xs.append(np.sin(v) * v)
        ys = [v * v for v in a if v < 1]
        return np.sum(np.array(xs)) + sum(ys) + xs[-1]

    for k in range(2):
        a, h = np.random.default_rng(k).normal(size=24), 1e-6
        numeric = [(f(a + h * e) - f(a - h * e)) / (2 * h) for e in np.eye(len(a))]
        np.testing.assert_allclose(grad(f)(a), numeric, rtol=1e-6, atol=1e-8)


# -- arrays that grow --------------------------------------------------------------------------------


def stacked(a):
    rows = np.zeros((1, 3))
    for v in a:
        rows = np.vstack((rows, rows[-1] * 0.5 + v))
    return rows


def appended(a):
    out = np.array([])
    for v in a:
        out = np.append(out, v * 2)
    return out, out[-1], len(out)


def joined(a):
    out = np.zeros(2)
    for i in range(len(a)):
        out = np.concatenate([out, [a[i], a[i] * out[-1]]])
    return out.sum(), out


def beside(a):
    out = np.zeros((3, 1))
    for v in a:
        out = np.hstack((out, out[:, -1:] * 0.5 + v))
    return out


def cut_short(a):
    out, total = np.zeros(1), 0.0
    for v in a:
        out = np.append(out, v)
        total = total + out.sum() + out.shape[0]
        if v > 1:
            break
    return total, out


def before_and_written(a):
    out = first = np.zeros(2)
    for v in a:
        out = np.append(out, v)
        out[0] += 1.0
    return out, first


@pytest.mark.parametrize("f", [stacked, appended, joined, beside, cut_short, before_and_written], ids=lambda f: f.__name__)
def test_arrays_grow_in_loops(f):
    same(f, 6, 90)


# -- lists of one kind that get another ----------------------------------------------------------------


def stored_anew(a):
    xs, table = [0.0] * len(a), [[0] * len(a) for _ in range(len(a))]
    for i in range(len(a)):
        xs[i] = a[i] * 2
    for i in range(len(a)):
        for j in range(len(a)):
            table[i][j] = a[i] * a[j]
    return xs, np.array(xs), table


def read_while_stored(a):
    xs = [0] * len(a)
    for i in range(len(a)):
        xs[i] = xs[i - 1] + a[i] if i > 0 else a[i]
    return xs


def test_a_list_of_one_kind_of_number_is_stored_anew():
    for f in (stored_anew, read_while_stored):
        same(f, 8, 70)


def test_some_items_of_another_kind_are_pythons():
    def f(a):
        xs, ys = [0] * len(a), [0] * len(a)
        for i in range(len(a)):
            if a[i] > 0:
                xs[i] = a[i]
        for i in range(1, len(a)):
            ys[i] = a[i]
        return xs, ys

    a = np.random.default_rng(0).normal(size=20)
    check_same(f, a)


@pytest.mark.parametrize("item", [None, (), "a", True, (None, None), (None, 1), ((), ())])
def test_items_without_leaves_are_counted_as_others_are(item):
    def kept(a):
        xs = []
        for v in a:
            if v > 0:
                xs.append(item)
        return xs

    compiled = jit(kept, whole=True)
    for a in (np.array([1.0, -1.0, 2.0]), -np.ones(3), np.ones(3)):
        assert compiled(a) == kept(a)


@pytest.mark.parametrize("f", [
    lambda a: sum([x * x for x in a if x > 0]), lambda a: max([x for x in a if x > -9]), lambda a: np.array([v * v for v in a if v > 0]),
    lambda a: np.mean([v for v in a if v > -9]), lambda a: sorted([v for v in a if v > 0]),
    lambda a: [2 * v for v in [u for u in a if u > 0]],
])  # fmt: skip
def test_a_list_without_a_name_is_counted_too(f):
    compiled = same(f, 24, calls=8)
    assert traces(compiled) <= 2


def test_items_of_two_kinds_are_told():
    def steps(y, end):
        t, ts = 0.0, []
        while t < end:
            t += min(0.1, y[0])
            ts.append(t)
        return ts

    with pytest.raises(UnsupportedError, match="gets items that are now a Python float, now f64") as told:
        jit(steps, whole=True)(np.array([0.3]), 1.0)
    assert "ts.append(float(t))" in str(told.value)
