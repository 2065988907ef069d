"""Lists of lists of numbers that loops index by data: an array stands for them while the loop runs, whatever name or way
leads to them; and what Python says of an index that is out of range."""

import copy
import linecache
import warnings

import numpy as np
import pytest
from compare import agree

from wengert import jit

TABLE = [[5 * i + j for j in range(4)] for i in range(3)]


class Grid:
    def __init__(self):
        self.rows, self.numbers = copy.deepcopy(TABLE), [3, 1, 2, 0]

    def free(self, place):
        return not (place[0] < 0 or place[0] >= 3) and self.rows[place[0]][place[1]] % 5 < 3

    def sight(self, a, b):
        """A walk from one cell to another, as far as it is free (integers only, both ways)."""
        x, y = a
        step, steps = (1 if a[0] < b[0] else -1), 0
        while True:
            if not self.free((x, y)) or (x == b[0] and y == b[1]):
                return steps, x, y
            x, y = (x + step, y) if 2 * x != y else (x, y + 1)
            steps += 1


def read_by_both(grid, n, k):
    total, i = 0, k
    while i < n:
        total += grid.rows[i % 3][i % 4] + grid.rows[1][2] + len(grid.rows) + len(grid.rows[0])
        i += 1
    return total


def stored_by_data(grid, n, k):
    total = 0
    for i in range(n):
        grid.rows[i % 3][k] += i
        total += grid.rows[1][2] + grid.rows[-1][-1]
    return total


def row_before(grid, n, k):
    row, total = grid.rows[1], 0
    for i in range(n):
        row[k] += i
        total += grid.rows[1][k] + grid.rows[i % 3][k]
    return total


def one_object(grid, n, k):
    rows, row, total = grid.rows, grid.rows[1], 0
    for i in range(n):
        rows[i % 3][k] = i
        total += 1 * (grid.rows is rows) + 10 * (grid.rows[0] is rows[0]) + 100 * (grid.rows[i % 3] is row)
        total += 1000 * (grid.rows[1] is not rows[0]) + 10_000 * (grid.numbers is rows)
    return total


def numbers_by_numbers(grid, n, k):
    total = 0
    for i in range(n):
        grid.numbers[grid.numbers[i % 4]] = (i + k) % 4
        total += grid.numbers[0] + len(grid.numbers)
    return total


@pytest.mark.parametrize("f", [read_by_both, stored_by_data, row_before, one_object, numbers_by_numbers])
def test_a_list_outside_is_one_by_whatever_name(f):
    compiled, plain, mine = jit(f), Grid(), Grid()
    for n, k in ((5, 0), (4, 1), (6, 2), (5, 3), (3, 1)):
        assert compiled(mine, n, k) == f(plain, n, k)
        assert (mine.rows, mine.numbers) == (plain.rows, plain.numbers)


def test_a_walk_over_a_grid_of_lists():
    compiled, grid = jit(Grid.sight), Grid()
    for a, b in (((0, 0), (2, 2)), ((0, 0), (2, 1)), ((0, 1), (2, 2)), ((2, 2), (0, 0)), ((1, 1), (1, 3)), ((2, 0), (0, 3))):
        assert compiled(grid, a, b) == grid.sight(a, b)


OUT_OF_RANGE = """
    v = [1.0, 2.0]; v[5] = x
    v = [1.0, 2.0]; v[k] = x
    v = [1.0, 2.0]; return v[k] * x
    v = [1.0, 2.0]; del v[5]
    v = [1.0, 2.0]; v[1.5] = x
    v = (1.0, 2.0); return v[k] * x
    v = [[1.0, 2.0], [3.0, 4.0]]; v[1][k] = x
    OUTER[8] = x
    OUTER[k] = x
    return OUTER[k] * x
    return OUTER[-k] * x
    for i in range(9): OUTER[i] = x
    for i in range(9): OUTER[i + k] = x
    return range(3)[k] * x
"""


@pytest.mark.parametrize("body", OUT_OF_RANGE.strip().splitlines())
def test_an_index_out_of_range_is_said_in_pythons_words(body):
    space, text, name = {"OUTER": [1.0, 2.0]}, f"def f(x, k):\n    {body.strip()}\n", f"<{body}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), space)
    compiled = jit(space["f"])
    for k in (7, 8, 9):
        with pytest.raises((IndexError, TypeError)) as want:
            space["f"](2.5, k)
        space["OUTER"][:] = [1.0, 2.0]
        with pytest.raises(want.type) as got:
            compiled(2.5, k)
        assert str(got.value).splitlines()[0] == str(want.value)
        assert space["OUTER"] == [1.0, 2.0]


def length_of_a_path(path, most):
    total, at = 0, 0
    for i in range(len(path) - 1):
        dx, dy = path[i + 1][0] - path[i][0], path[i + 1][1] - path[i][1]
        total += (dx * dx + dy * dy) ** 0.5
        if total >= most:
            at = i
            break
    return total, [path[at][0], path[at + 1][1], at]


def test_lists_of_ints_and_floats_are_read_by_place():
    compiled = jit(length_of_a_path)
    for path in ([[6, 1.0], [2.0, 3], [5.5, 5], [9, 2.0]], [[0.5 * i, i] for i in range(30)], [[i, 0.5 * i] for i in range(4)]):
        for most in (3.0, 8.0, 1e9):
            found, expected = compiled(path, most), length_of_a_path(path, most)
            assert found[0] == pytest.approx(expected[0]) and type(found[0]) is type(expected[0])
            assert found[1] == expected[1] and list(map(type, found[1])) == list(map(type, expected[1]))
            assert {type(x) for row in path for x in row} == {int, float}


def test_lists_of_ints_and_floats_keep_their_kinds_where_one_is_stored():
    def doubled(rows, n):
        for i in range(n):
            rows[i][0] = rows[i][1] * 2.0
        return rows

    compiled = jit(doubled, whole=False)
    for n in (1, 3):
        rows = [[1, 2.0], [3.0, 4], [5, 6.5]]
        expected = doubled(copy.deepcopy(rows), n)
        found = compiled(rows, n)
        assert found is rows and repr(rows) == repr(expected)


MAKERS = """
[0] * n
n * [0]
[0] + [0] * (n - 1)
[0] * 2 + [0]
[0, 0, 0][:n]
[0, 0, 0].copy()
sorted([0, 0, 0])
np.zeros(3, int).tolist()
np.zeros((1, 3), int).tolist()[0]
[[0] * 3 for _ in range(2)][0]
(lambda: [0] * 3)()
"""


@pytest.mark.parametrize("made", MAKERS.strip().splitlines())
def test_a_list_that_a_trip_makes_is_its_own(made):
    source = f"""
import numpy as np
def f(points, n):
    t = 0
    for p in points:
        c = {made}
        for i in range(len(c)):
            c[i] = int(p[i] * 9)
        for i in range(len(c) - 1, -1, -1):
            t = t * 3 % 1001 + c[i]
    return t, c
"""
    name, space = f"<made {made}>.py", {}
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), space)
    points = np.random.default_rng(0).random((40, 3))
    compiled = jit(space["f"])
    for scale in (1, 2):
        agree(compiled(points * scale, 3), space["f"](points * scale, 3))


def nearest(angles, ranges, n):
    held = [float("inf") for _ in range(n)]
    for i in range(len(angles)):
        k = int(angles[i])
        if held[k] > ranges[i]:
            held[k] = ranges[i]
    return held


def seen_of_them(angles, ranges, n):
    held = nearest(angles, ranges, n)
    found = []
    for i in range(len(held)):
        if held[i] != float("inf"):
            found.append(held[i] * np.cos(i))
    return found, min(held), [type(v) is float for v in held[:5]]


@pytest.mark.parametrize("n", [20, 63])
@pytest.mark.parametrize("f", [nearest, seen_of_them])
def test_items_of_which_data_decide_the_kind(f, n):
    rng, compiled = np.random.default_rng(n), jit(f)
    angles, ranges = rng.random(30) * 20, rng.random(30)
    for scale in (1.0, 0.5):
        assert repr(compiled(angles * scale, ranges, n)) == repr(f(angles * scale, ranges, n))


def halves(a, m):
    xs = [int(v * m) for v in a]
    for i in range(2):
        xs[i] = xs[i] * 0.5
    return xs


def halves_of_large(a, m):
    xs = [3, 2**60 + 1, 2**53 + 1, int(m)]
    for i in range(2):
        xs[i] = xs[i] * 0.5 + a[i]
    return xs


def ints_among_floats(a, m):
    xs = [0.5] * 4
    for i in range(3):
        xs[i] = int(a[i] * m) * 3
    return xs


def halves_in_rows(a, m):
    xs = [[1, 2], [int(a[0] * m), 4]]
    for i in range(2):
        xs[i][1] = xs[i][0] * 0.5
    return xs


@pytest.mark.parametrize("f", [halves, halves_of_large, ints_among_floats, halves_in_rows])
def test_floats_among_ints_that_data_give(f, falling_back):
    """What the list held is as exact as it was, be it that Python answers."""
    compiled, a = jit(f), np.array([0.4, -0.5, 1.3])
    for m in (3.0, 9.1, 2.0**60, 5.0):
        assert repr(compiled(a, m)) == repr(f(a, m))


def inserted(xs):
    for i in range(1, len(xs)):
        save, j = xs[i], i
        while j > 0 and xs[j - 1] > save:
            xs[j] = xs[j - 1]
            j -= 1
        xs[j] = save
    return xs


def moved_while_large(xs):
    j = len(xs) - 1
    while j > 0 and xs[j - 1] > 0:
        xs[j] = xs[j - 1] + xs[j]
        j -= 1
    return xs, j


def sifted(xs):
    """A heap: the greatest first."""
    for start in range(len(xs) // 2 - 1, -1, -1):
        root = start
        while 2 * root + 1 < len(xs):
            child = 2 * root + 1
            if child + 1 < len(xs) and xs[child] < xs[child + 1]:
                child += 1
            if xs[root] >= xs[child]:
                break
            xs[root], xs[child] = xs[child], xs[root]
            root = child
    return xs


@pytest.mark.parametrize("function", [inserted, moved_while_large, sifted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [float, int])
def test_a_list_that_the_test_of_a_loop_reads(function, kind):
    """What a turn that is given up had in the places of its items is not taken for them."""
    rng, f = np.random.default_rng(0), jit(function)
    for n in (5, 5, 7, 3, 5):
        given = [kind(x) for x in rng.integers(-9, 30, n)]
        mine, own = list(given), list(given)
        assert f(mine) == function(own)
        assert mine == own and [*map(type, mine)] == [*map(type, own)]


def test_lists_of_lists_that_are_only_read_keep_their_items():
    def distances(points):
        n = len(points)
        out = [[0 for _ in range(n)] for _ in range(n)]
        for i in range(n):
            for j in range(n):
                total = 0.0
                for k in range(len(points[i])):
                    step = points[i][k] - points[j][k]
                    total += step * step
                out[i][j] = total
        return out

    points = [[0.5 * i + k for k in range(5)] for i in range(4)]
    before = [[*row] for row in points]
    f = jit(distances, whole=True)
    for _ in range(3):
        assert f(points) == distances(before)
        assert all(x is y for row, same in zip(points, before, strict=True) for x, y in zip(row, same, strict=True))
    assert f.explain().count("loop  ") == 1  # captured as it is written, its lengths asked of rows


def test_items_that_a_loop_may_have_stored_are_stored():
    def cleared(m, keep):
        for i in range(len(m)):
            for j in range(len(m[i])):
                if m[i][j] > keep:
                    m[i][j] = keep
        return m[0][0]

    f = jit(cleared, whole=True)
    for keep in (1.5, 100.0, -1.0):
        ours, theirs = ([[float(i * j) for j in range(4)] for i in range(3)] for _ in range(2))
        assert f(ours, keep) == cleared(theirs, keep)
        assert ours == theirs


def placed(m, q, k):
    m[0] = m[k]


def swapped(m, q, k):
    m[0], m[k] = m[k], m[0]


def appended(m, q, k):
    q.append(m[k])


def keyed(m, q, k):
    q.append({"row": m[k]})


def placed_in_turn(m, q, k):
    for i in k + np.array([0, 2, 1]):
        m[0], m[i % 3] = m[i % 3], m[0]


@pytest.mark.parametrize("f", [placed, swapped, appended, keyed, placed_in_turn])
def test_rows_that_data_pick_are_the_rows_themselves(falling_back, f):
    """Where they are stored into lists among the arguments: each row is one list in all places."""
    compiled = jit(f)
    for k in (2, 1, 2, 0, 1):
        found = []
        for run in (f, compiled):
            m, q = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], []
            rows = list(m)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(m, q, np.int64(k))
            stored = [x["row"] if type(x) is dict else x for x in q]
            found.append([[n for n, row in enumerate(rows) if x is row] for x in m + stored])
        assert found[0] == found[1]


def test_a_list_that_is_stored_where_data_say_and_returned_is_one():
    def chosen(q, k):
        one, other = [1.0, 2.0], [3.0, 4.0]
        q.append(one if k > 0 else other)
        return one

    compiled = jit(chosen)
    for k in (1.0, -1.0, 2.0):
        ours, theirs = [], []
        got, want = compiled(ours, np.float64(k)), chosen(theirs, np.float64(k))
        assert ours == theirs and got == want
        assert (ours[0] is got) == (theirs[0] is want)
