"""Numbers of the program as keys of dicts and members of sets: taken by value where that can be, membership of ints asked of the data."""

import collections
import math
import random

import numpy as np
import pytest
import random_keys
from random_keys import outcome

from wengert import ConcretizationError, Fallback, UnsupportedError, grad, jit
from wengert.tracer.common.errors import Overrun
from wengert.tracer.program import trace_tree


def traces(f):
    return int(f.explain().split("\n")[0].split()[-2])


def stored(x, y):
    d = {}
    d[round(x) * 10 + round(y)] = x
    d[x], d[(int(y), x)] = y, "pair"
    d.setdefault(round(y), []).append(x)
    return d, 13 in d, d.get(12), [*d]


def members(x, y):
    s = {x, round(y), (x, (y, 1))}
    s.add(y)
    s.discard(round(x))
    s.update([x * 2, y])
    return s, {x} & s, x in s, frozenset([y, x]), {v * 2 for v in (x, y)}, dict.fromkeys((x, y), 1)


def of_elements(a):
    count, s = {}, 0
    for v in a[:3]:
        count[v] = count.get(v, 0) + 1
    for v in set(a[:3]):
        s = s + v
    return s, count, set(a.tolist()), {a[0], a[1]}


def voxels(points, size):
    cells = collections.defaultdict(list)
    for p in points:
        cells[tuple((p // size).astype(int))].append(p)
    return [np.mean(ps, axis=0) for ps in cells.values()], [*cells]


def asked(d, k, x):
    d[k], d[x] = x, k
    return k in d, x in d, d.get(k + 1), d.pop(k), k in {1, 2}


CALLS = [
    (stored, [(1.2, 3.0), (1.4, 3.0), (2.7, 5.5), (1.2, 3.0), (-0.0, 0.0), (0.0, 0.0)]),
    (members, [(1.5, 2.0), (2.5, 2.0), (1.5, 2.5), (0.0, -0.0), (1.5, 2.0)]),
    (of_elements, [(np.array(a),) for a in ([1, 2, 2, 3], [4, 2, 0, 3], [1, 2, 2, 3], [0.5, 0.5, 2.0, -0.0])]),
    (voxels, [(np.array(p), 1.0) for p in ([[1.2, 0.4], [1.3, 0.2], [2.5, 2.0]], [[5.2, 0.4], [1.3, 0.2], [2.5, 2.0]])]),
    (asked, [({1: 2.0, 3: 4.0}, np.int64(k), x) for k, x in ((3, 0.5), (1, 2.0), (2, 0.5), (3, 1.5))]),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("f", "calls"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.filterwarnings("ignore:.*plain Python")
def test_as_python(f, calls, whole):
    compiled = jit(f, whole=whole)
    for given in calls:
        assert outcome(compiled, given) == outcome(f, given)


def test_keys_of_numbers_are_compiled_by_default(falling_back, recwarn):
    for f, calls in CALLS[:2]:
        compiled = jit(f)
        for given in calls[:4]:
            assert outcome(compiled, given) == outcome(f, given)
        assert traces(compiled) == 3 + (f is members)
    assert not recwarn


def test_a_guard_is_the_key_and_nothing_else(recwarn):
    def tabulated(x, y):
        return {round(x): y * 2}

    compiled = jit(tabulated)
    for x, y in ((1.1, 2.0), (1.2, 3.0), (0.9, 4.0), (5.1, 1.0), (1.3, 7.0), (4.9, 0.5)):
        assert compiled(x, y) == tabulated(x, y)
    assert traces(compiled) == 2


def test_nan_and_numbers_without_end(falling_back):
    def keyed(x):
        return [repr(k) for k in {x: 1, (x, 2): 3}]

    compiled = jit(keyed)
    for x in (1.5, float("inf"), float("-inf"), 1e300, 5e-324):
        assert compiled(x) == keyed(x)
    with pytest.warns(Fallback, match="NaN"):
        assert compiled(float("nan")) == keyed(float("nan"))


def test_data_that_keep_changing_settle(monkeypatch):
    def keyed(x):
        return {x: 1}

    compiled = jit(keyed)
    with pytest.raises(UnsupportedError, match="16 different ways"):
        for k in range(40):
            assert compiled(k + 0.5) == keyed(k + 0.5)
    assert traces(compiled) <= 16

    monkeypatch.setattr("wengert.tracer.call.patience.PAYS", 0.0)  # however little plain Python takes
    compiled = jit(keyed, whole=False)
    with pytest.warns(Fallback, match="16 different ways"):
        for k in range(80):  # in the first round eight are traced, later those that are met again
            assert compiled(k % 20 + 0.5) == keyed(k % 20 + 0.5)
    assert traces(compiled) == 16


def test_membership_of_ints_is_asked_of_the_data(falling_back, recwarn):
    held = {2, 3, 5, 7}

    def counted(a, b):
        named, n = {1: 10.0, 4: 20.0}, 0.0
        for v in a:
            if v in {2, 3, 5, 7}:
                n = n + v
            if v not in named:
                n = n - 1
        return n, b in {0, 4}, b in held

    compiled = jit(counted)
    for seed in range(6):
        a, b = np.random.default_rng(seed).integers(0, 9, 500), seed * 0.5 + 1
        assert outcome(compiled, (a, b)) == outcome(counted, (a, b))
    assert not recwarn


# -- in loops ----------------------------------------------------------------------------------------


class Place:
    def __init__(self, x, y, cost, before):
        self.x, self.y, self.cost, self.before = x, y, cost, before


class Grid:
    """A search on a grid whose places are numbered by floats, as people write it."""

    def __init__(self, size):
        self.size, self.least, self.step = size, -2.0, 0.5
        self.closed = [[(3 * i + 7 * j) % 5 == 0 for j in range(size)] for i in range(size)]

    def index(self, position):
        return round((position - self.least) / self.step)

    def number(self, place):
        return place.y * self.size + place.x

    def free(self, place):
        if not (0 <= place.x < self.size and 0 <= place.y < self.size):
            return False
        return not self.closed[place.x][place.y]

    def search(self, x, y, to_x, to_y):
        start, goal = Place(self.index(x), self.index(y), 0.0, -1), Place(self.index(to_x), self.index(to_y), 0.0, -1)
        opened, done = {self.number(start): start}, {}
        while True:
            if not opened:
                print("no way")
                return None
            n = min(opened, key=lambda o: opened[o].cost + math.hypot(goal.x - opened[o].x, goal.y - opened[o].y))
            now = opened.pop(n)
            done[n] = now
            if now.x == goal.x and now.y == goal.y:
                break
            for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                other = Place(now.x + dx, now.y + dy, now.cost + 1, n)
                number = self.number(other)
                if number in done or not self.free(other):
                    continue
                if number not in opened or opened[number].cost > other.cost:
                    opened[number] = other
        way = []
        while n != -1:
            way.append((done[n].x * self.step + self.least, done[n].y))
            n = done[n].before
        return now.cost, way


PLACES = [(-1.0, -1.0, 1.0, 1.5), (-1.0, -1.0, 1.0, 1.5), (-0.5, 0.0, 1.0, 0.5), (-1.5, -1.0, 1.0, 1.5), (-1.0, -1.0, 50.0, 1.5)]


def test_a_search_is_run_for_the_numbers_among_its_arguments():
    grid = Grid(9)
    compiled = jit(Grid.search)
    for given in PLACES:
        assert outcome(compiled, (grid, *given)) == outcome(Grid.search, (grid, *given))
    assert "argument x, on which keys of a dict or members of a set hang: -1.0" in compiled.explain()
    assert traces(compiled) == 4


def test_a_search_is_plain_python_by_default(falling_back):
    grid = Grid(9)
    compiled = jit(Grid.search)
    with pytest.warns(Fallback):
        for given in PLACES:
            assert outcome(compiled, (grid, *given)) == outcome(Grid.search, (grid, *given))


def test_a_long_search_is_refused():
    with pytest.raises((Overrun, UnsupportedError)):
        jit(Grid.search)(Grid(40), -2.0, -2.0, 500.0, 500.0)


def test_data_of_arrays_are_known_to_few_keys():
    def tallied(a):
        found = {}
        for v in a:
            found[v] = found.get(v, 0) + 1
        return found

    compiled = jit(tallied)
    for a in ([3, 1, 3], [3, 1, 3], [1, 1, 1]):
        assert outcome(compiled, (np.array(a),)) == outcome(tallied, (np.array(a),))
    with pytest.raises((ConcretizationError, UnsupportedError)):
        compiled(np.arange(1000))
    assert jit(tallied, whole=False)(np.arange(3)) == {0: 1, 1: 1, 2: 1}


def test_in_the_background():
    def keyed(x, y):
        return {x: y, round(y): x}

    compiled = jit(keyed, tier="background")
    for k in range(30):
        given = (0.5 + k % 3, float(k % 2))
        assert outcome(compiled, given) == outcome(keyed, given)


def test_dicts_whose_keys_have_no_order_in_branches():
    def chosen(v, n):
        d = {"a": 1.0, 2: v[0], (1, np.int64(2)): 3.0}
        if v[0] > 0:
            d = {**d, n: v[1]}
        return d

    compiled = jit(chosen)
    for v in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        assert outcome(compiled, (v, 3)) == outcome(chosen, (v, 3))


@pytest.mark.as_numpy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    case = random_keys.draw(random.Random(seed))
    found = random_keys.differences(case)
    assert not found or found.startswith("refused"), f"{found}\n{case}"


def along_a_path(a, n):
    return ((a * np.linspace(0.0, 1.0, n)) ** 2).sum()


def test_a_derivative_that_has_taken_many_ways_begins_anew(monkeypatch):
    monkeypatch.setattr(trace_tree, "MOST", 3)
    g = grad(along_a_path)
    for n in (2, 3, 4, 5, 6, 7, 2, 6, 8):
        np.testing.assert_allclose(g(0.7, n), (1.4 * np.linspace(0.0, 1.0, n) ** 2).sum())
