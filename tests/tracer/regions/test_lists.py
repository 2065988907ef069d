"""Lists of many items: every spelling of a loop over numbers is one loop, as long as its text however many trips it makes."""

import functools
import itertools
import warnings

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit


def appended(a):
    xs = []
    for v in a:
        xs.append(v * v + 1.0)
    return np.array(xs)


def appended_last(a):
    xs = [1.0]
    for v in a:
        xs.append(xs[-1] * 0.5 + v)
    return np.array(xs), xs[-1], len(xs)


def appended_pairs(a):
    kept, state = [], (0.0, 1.0)
    for v in a:
        state = (state[0] + v, state[1] * 0.9)
        kept.append(state)
    return np.array(kept)


def appended_rows(a):
    rows, x = [], np.zeros(3)
    for v in a:
        x = x * 0.9 + v
        rows.append(x.copy())
    return np.array(rows)


def appended_in_loops(a):
    out = []
    for u in a:
        row = []
        for v in a[:20]:
            row.append(u * v)
        out.append(row)
    return np.array(out)


def by_keys(a):
    order = sorted(range(len(a)), key=lambda i: a[i])
    return order[0], min(range(len(a)), key=lambda i: a[i]), max(a, key=abs)


def picked(a):
    weights, total = [v * 2 for v in a], 0.0
    for i in range(len(a)):
        total += weights[np.argmax(a[: i + 1])] if i else weights[0]
    return total


SPELLINGS = {
    "comprehension": lambda a: np.array([v * v + 1.0 for v in a]),
    "static test": lambda a: np.array([v * v for i, v in enumerate(a) if i % 2 == 0]),
    "nested": lambda a: np.array([[u * v for u in a[:20]] for v in a]),
    "two loops": lambda a: np.array([u * v for u in a for v in a[:3]]),
    "returned": lambda a: [v * v for v in a],
    "pairs": lambda a: [(i, v * 2) for i, v in enumerate(a)],
    "sum": lambda a: sum(v * v for v in a),
    "sum where": lambda a: sum(v * v for v in a if v > 0.5),
    "max": lambda a: max(v * v for v in a),
    "any": lambda a: any(v > 2 for v in a),
    "list": lambda a: np.array(list(v * v for v in a)),  # noqa: C400
    "fromiter": lambda a: np.fromiter((v * v for v in a), float),
    "stack": lambda a: np.stack([np.array([v, v * 2]) for v in a]),
    "map": lambda a: np.array(list(map(lambda v: v * v + 1, a))),  # noqa: C417
    "reduce": lambda a: functools.reduce(lambda s, v: s * 0.9 + v, a),
    "accumulate": lambda a: np.array(list(itertools.accumulate(a))),
    "chain": lambda a: sum(v * v for v in itertools.chain(a, a)),
    "pairwise": lambda a: sum(abs(v - u) for u, v in itertools.pairwise(a)),
    "islice": lambda a: sum(itertools.islice(a, 3, None, 2)),
    "product": lambda a: sum(u * v for u, v in itertools.product(a, a[:3])),
    "flat": lambda a: sum(v for v in a.flat),
    "nditer": lambda a: sum(v * v for v in np.nditer(a)),
    "list of numbers": lambda a: sum(v * 2 for v in a.tolist()),
    **{f.__name__: f for f in (appended, appended_last, appended_pairs, appended_rows, appended_in_loops, by_keys, picked)},
}


def size(f, n):
    compiled = jit(f)
    compiled(np.linspace(0.1, 1.0, n))
    (entry,) = compiled.compiled.entries.values()
    return entry.current.versions[0].func.count()


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_program_is_as_long_as_its_text(name):
    f = SPELLINGS[name]
    for n in (5, 40):
        check_same(f, np.random.default_rng(n).normal(size=n), rtol=1e-12)
    assert abs(size(f, 90) - size(f, 40)) <= 1  # a constant may be a range, or an array


def shared_after(a):
    x, rows = np.ones(3), []
    for v in a:
        x = x * 0.5 + v
        rows.append(x)
    x[0] = 99.0
    return np.array(rows), rows[-1] is x, x


def shared_before(a):
    x = y = np.ones(3)
    rows = []
    for v in a:
        rows.append(x)
        x = x * 0.5 + v
    y[0] = 5.0
    return np.array(rows), rows[0] is y


def written_in_place(a):
    x, rows = np.ones(3), []
    for v in a:
        x += v
        rows.append(x)
    return np.array(rows), rows[0] is rows[-1]


def one_table(a):
    table = np.arange(3.0)
    rows = [(v * 2, table) for v in a]
    table[0] = a[1]
    return [x + t[0] for x, t in rows], rows[0][1] is rows[-1][1]


def tables_of_their_own(a):
    rows = [(v * 2, np.zeros(2)) for v in a]
    rows[0][1][0] = a[1]
    return [x + t[0] for x, t in rows]


def late(a):
    fs = [lambda: v * 2 for v in a]  # noqa: B023
    return fs[0]() - a[-1] * 2


def two_names(a):
    xs = ys = []
    for v in a:
        xs.append(v)
    return len(ys), ys[3], xs is ys


def rows_written_later(a):
    rows = [[v, v * 2] for v in a]
    rows[0][0] = a[5]
    rows[1] = [0.0, 1.0]
    return rows


def iterated_twice(a):
    z = zip(a, a[1:])
    first = sum(u * v for u, v in z)
    return first, sum(u for u, v in z)


def attributes(a):
    class Log:
        def __init__(self):
            self.kept = []

    log = Log()
    for v in a:
        log.kept.append(v * 3)
    return log.kept


@pytest.mark.parametrize(
    "f",
    [shared_after, shared_before, written_in_place, one_table, tables_of_their_own, late, two_names, rows_written_later, iterated_twice, attributes],
    ids=lambda f: f.__name__,
)
def test_items_are_the_objects_that_python_has(f):
    for n in (6, 40):
        check_same(f, np.random.default_rng(n).normal(size=n))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.complex128, bool, float, int])
def test_items_are_of_pythons_types(kind):
    def f(a):
        xs = [v + v for v in a]
        ys = []
        for v in a:
            ys.append(v * 1)
        return xs, ys, sum(xs), xs[int(abs(a[0])) % 2]

    numbers = np.arange(40) % 5
    check_same(f, numbers.astype(kind) if kind not in (float, int) else [kind(v) for v in numbers])


def test_gradients_go_through():
    def f(a):
        xs = [np.sin(v) * v for v in a]
        ys = [1.0]
        for x in xs:
            ys.append(ys[-1] * 0.5 + x)
        return np.sum(np.array(ys)) + max(xs) + xs[3] + sum(v * v for v in a)

    a, h = np.random.default_rng(0).normal(size=24), 1e-6
    numeric = [(f(a + h * e) - f(a - h * e)) / (2 * h) for e in np.eye(len(a))]
    np.testing.assert_allclose(grad(f)(a), numeric, rtol=1e-6, atol=1e-8)


def test_an_index_beyond_the_list_is_pythons_error():
    compiled = jit(lambda a: [1.0, 2.0][int(a[0])])
    assert compiled(np.array([1.0])) == 2.0 and compiled(np.array([-2.0])) == 1.0
    for bad in (2.0, -3.0):
        with pytest.raises(IndexError):
            compiled(np.array([bad]))


def test_what_is_picked_is_the_thing_itself():
    def f(a):
        tables = [a * 1.0, np.zeros(3), np.ones(3)]
        chosen = tables[int(a[0])]
        chosen[1] += 5.0
        return tables, {2: 1.5, 7: 2.5}[2 if a[1] > 0 else 7], range(3, 30, 4)[int(a[0])]

    for first in (0.0, 1.0, 2.0, -1.0):
        check_same(f, np.array([first, 1.0, -2.0]))


def test_an_array_of_two_lists_is_one():
    def crossing(a):
        x, y, xs, ys = a[:3] * 1, a[:3] * 2, [], []
        for v in a:
            x, y = y, x + v
            xs.append(x)
            ys.append(y)
        return xs, ys

    def twice(a):
        x, xs = a[:3] * 1, []
        for v in a:
            xs.append(x)
            x = x + v
            xs.append(x)
        return xs

    for f in (crossing, twice):
        for n in (6, 40):
            check_same(f, np.random.default_rng(n).normal(size=n))


class Smoother:
    def __init__(self):
        self.kept, self.count, self.x = [], 0, np.zeros(2)

    def smooth(self, z):
        k = self.count
        self.x = self.x * 0.5 + z
        self.kept.append(self.x * 2)
        if k >= 3:
            for i in range(3):
                self.kept[k - i] = self.kept[k - i] + z
        else:
            self.kept[k] = self.x.copy()
        self.count += 1


def test_what_was_appended_before_a_branch_is_there_in_it():
    plain, mine = Smoother(), Smoother()
    compiled = jit(Smoother.smooth)
    for t in range(7):
        plain.smooth(float(t))
        compiled(mine, float(t))
        np.testing.assert_allclose(np.array(mine.kept), np.array(plain.kept))
    assert mine.count == plain.count


def there_after_the_first_trip(a):
    counts, total = {}, 0.0
    for v in a:
        counts["n"] = counts.get("n", 0.0) + v
        total += len(counts)
    return counts, total


def held_by_a_variable(a):
    rows, lists, best = [], [], np.zeros(3)
    for v in a:
        row = np.full(3, v)
        if row[0] > best[0]:
            best = row
        rows.append(row)
        pair = [v, v]
        lists.append(pair)
    best[1] = 77.0
    pair[0] = 5.0
    return rows, best, lists


def looked_at_while_it_grows(a):
    kept, n = [], 0
    for v in a:
        n += (kept == []) + len(kept + [1]) + kept.__len__()
        kept.append(v)
    return kept, n


@pytest.mark.parametrize("f", [there_after_the_first_trip, held_by_a_variable, looked_at_while_it_grows], ids=lambda f: f.__name__)
def test_what_no_rows_can_hold_is_right(f, falling_back):
    for n in (6, 40):
        a = np.random.default_rng(n).normal(size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = jit(f)(a.copy()), f(a.copy())
        assert repr(got) == repr(want)


def stored_while_gone_through(a):
    xs = a.tolist()
    for i, v in enumerate(xs):
        if i + 1 < len(xs):
            xs[i + 1] = xs[i + 1] + v
    ys = [v for v in a]  # noqa: C416

    def put(i, v):
        ys[4] = v * 2
        return v

    return xs, [put(i, v) for i, v in enumerate(ys)], sum(put(i, v) for i, v in enumerate(ys))


def shrinking(a):
    xs = [v for v in a]  # noqa: C416
    for v in xs:  # noqa: B007
        xs.pop()
    return xs, v


def one_of_two_names(a):
    rows = []
    for v in a:
        row = np.ones(2) * v
        other = row
        rows.append(row)
    other[0] = 3.0
    rows[-1][1] = 4.0
    return rows, row


@pytest.mark.parametrize("f", [stored_while_gone_through, shrinking, one_of_two_names], ids=lambda f: f.__name__)
def test_lists_that_change_while_they_are_used(f, falling_back):
    for n in (6, 40):
        a = np.random.default_rng(n).normal(size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = jit(f)(a.copy()), f(a.copy())
        assert repr(got) == repr(want)


# -- rows that a trip makes in several ways ----------------------------------------------------------


def one_of_two(v):
    if np.linalg.norm(v) == 0:
        return np.array([1.0, 0.0, 0.0])
    q = v * 3
    if v[0] > 0:
        return q
    return q * 2 + v


class Direction:
    def __init__(self, values):
        values = np.array(values, dtype=float)
        values /= np.linalg.norm(values)
        self.values = values


@pytest.mark.parametrize("f", [lambda a: np.array([one_of_two(v) for v in a]), lambda a: np.array([Direction(v).values for v in a])])
def test_rows_made_on_several_ways_are_a_loop(f):
    a = np.random.default_rng(0).normal(size=(40, 3))
    a[7] = 1.0
    check_same(f, a)
    assert jit(f).ir(a).count() < 60


def written_after(a):
    out = []
    for v in a:
        q = v * 3
        r = q if v[0] > 0 else v * 2
        out.append(r)
        q[0] = 100.0
    return out


def appended_beside(a):
    out = []
    for v in a:
        q = v * 3
        out.append(q if v[0] > 0 else v * 2)
        out.append(q)
    return out


def kept_beside(a):
    out, keep = [], None
    for v in a:
        q = v * 3
        out.append(q if v[0] > 0 else v * 2)
        keep = q
    keep[0] = 7.0
    return out, keep


def from_before_the_loop(a):
    out, p = [], np.zeros(3)
    for v in a:
        out.append(p if v[0] > 0 else v * 2)
    p[0] = 7.0
    return out


def of_the_trip_before(a):
    out, q = [], a[0] * 1
    for v in a:
        out.append(q if v[0] > 0 else v * 2)
        q = v * 3
    q[1] = 55.0
    return out, q


@pytest.mark.parametrize("f", [written_after, appended_beside, kept_beside, from_before_the_loop, of_the_trip_before])
def test_arrays_that_others_see_stay_theirs(f):
    a = np.random.default_rng(0).normal(size=(20, 3))
    check_same(f, a)
    want, got = [[x for part in f(a) for x in (part if isinstance(part, list) else [part])] for f in (f, jit(f))]
    pairs = [(i, j) for i in range(len(want)) for j in range(i)]
    assert [np.shares_memory(want[i], want[j]) for i, j in pairs] == [np.shares_memory(got[i], got[j]) for i, j in pairs]


@pytest.mark.parametrize("start", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
def test_a_list_meets_an_array_in_place(start):
    """NumPy's array answers `xs += x` before the list extends itself."""

    def plus(x):
        xs = [v + x[0] for v in start]
        xs += x
        return xs

    def times(x):
        xs = [v + 0.0 for v in start]
        xs *= x
        return xs

    check_same(plus, np.arange(3.0))
    check_same(times, np.arange(3.0))
