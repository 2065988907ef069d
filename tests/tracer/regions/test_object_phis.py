"""Objects that the function makes where data choose between them: the phi of their attributes, as long as nobody could tell."""

import copy
import dataclasses
import random
from dataclasses import dataclass

import numpy as np
import pytest
import random_choices

from wengert import UnsupportedError, grad, jit, vmap


@dataclass
class Point:
    x: float
    y: float

    def size(self):
        return np.sqrt(self.x**2 + self.y**2)

    @property
    def total(self):
        return self.x + self.y

    def scaled(self, k):
        return Point(self.x * k, self.y * k)


class Node:
    kinds = "node"

    def __init__(self, x, place=None):
        self.x, self.place, self.parent, self.name, self.items = x, place, None, "n", [x]


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Holder:
    best = None


def made_in_branches(v):
    total = 0.0
    for a in v:
        p = Point(a, 1.0) if a > 0 else Point(-a, 2.0)
        total += p.x * p.y + p.size() + p.total + p.scaled(2.0).x
    return total


def the_best_of(v):
    best = Node(v[0])
    for a in v:
        if a > best.x:
            best = Node(a)
    return best.x, best.name == "n", best.kinds == "node", best.parent is None


def none_at_first(v):
    best, at = None, -1
    for i, a in enumerate(v):
        n = Point(a, a * a)
        if best is None or n.y > best.y:
            best, at = n, i
    return best.x, at, best.size()


def of_a_list(v):
    nodes = [Point(a, 2 * a) for a in v]
    best = nodes[0]
    for n in nodes:
        if n.x > best.x:
            best = n
    return best.y


def within_objects(v):
    best = Node(0.0, Point(0.0, 0.0))
    for a in v:
        n = Node(a, Point(a * 2, a * 3))
        if n.place.x > best.place.x:
            best = n
    return best.place.y, best.x


def with_arrays(v):
    best = Node(-9.0, np.zeros(2))
    for a in v:
        n = Node(a, np.array([a, 2 * a]))
        if a > best.x:
            best = n
    return best.place.copy(), best.x


def swapped(v):
    a, b = Point(v[0], 1.0), Point(v[1], 2.0)
    for x in v:
        if x > 0:
            a, b = b, a
    return a.x - b.x, a.y * b.y


def carried(v):
    now = Slotted(v[0], 1.0)
    for a in v:
        now = Slotted(now.a * 0.5 + a, now.b + 1) if a > 0 else now
    return now.a, now.b


def while_loop(v):
    p, i = Point(v[0] + 5, v[1]), 0
    while p.size() > 0.1:
        p, i = p.scaled(0.5), i + 1
    return p.x, i


def the_last_one(v):
    for a in v:
        n = Point(a, 2 * a)
    return n.x + n.y


def kinds_of_numbers(v):
    p = Point(v[0], 1)
    for a in v:
        if a > 0:
            p = Point(a, 0.5)
    return p.x, p.y


def of_a_helper(v):
    def chosen(a):
        if a > 0:
            return Point(a, 1.0)
        return Point(-a, 2.0)

    return sum([chosen(a).x * chosen(a).y for a in v])


def asked_what_it_is(v):
    total = 0.0
    for a in v:
        p = Point(a, 1.0) if a > 0 else Point(2.0, a)
        if isinstance(p, Point) and type(p) is Point and p and p is not None and not isinstance(p, Node):
            total += dataclasses.replace(p, x=1.0).y + p.x
    return total


def returned(v):
    best = Point(0.0, 0.0)
    for a in v:
        if a > best.x:
            best = Point(a, 2 * a)
    return best


def changed_afterwards(v):
    nodes, best = [], Point(-9.0, 0.0)
    for a in v:
        n = Point(a, 2 * a)
        nodes.append(n)
        if a > best.x:
            best = n
    for n in nodes:
        n.x = n.x + 1
    return best.x


def changed_itself(v):
    p = Point(1.0, 2.0) if v[0] > 0 else Point(3.0, 4.0)
    p.x += v[1]
    return p.x, p.y


def changed_in_a_branch(v):
    p, q = Point(v[0], 1.0), Point(v[1], 2.0)
    if v[2] > 0:
        q.x = 5.0
        p = q
    else:
        p = Point(v[1], 1.0)
    return p.x, q.x


def changed_under_another_name(v):
    p = Point(v[0], v[1])
    q = p
    for a in v:
        if a > 1:
            p = Point(a, a)
    q.x = 100.0
    return p.x


def compared(v):
    best, n, count = Point(0.0, 0.0), None, 0
    for a in v:
        n = Point(a, a)
        if a > best.x:
            best = n
        count += best is n
    return count


def taken_apart(v):
    p = Point(v[0], 1.0) if v[1] > 0 else Point(v[1], 2.0)
    match p:
        case Node():
            return 0.0
        case Point(x=a):
            return a


def copied(v):
    p = Point(v[0], 1.0) if v[1] > 0 else Point(v[1], 2.0)
    q = copy.copy(p)
    q.x = 9.0
    return p.x, q.x


def deleted(v):
    p = Point(v[0], 1.0) if v[1] > 0 else Point(v[1], 2.0)
    del p.x
    return hasattr(p, "x"), p.y


class Tree:
    def __init__(self, x, y):
        self.x, self.y, self.path, self.seen, self.parent = x, y, [], {}, None


def with_lists(v):
    n = Tree(v[0], v[1]) if v[0] > 0 else Tree(v[1], 2.0)
    n.path.append(v[0])
    n.seen["x"] = n.x
    other = n
    return n.x + other.path[0] * len(other.path) + other.seen["x"], len(n.seen)


def with_lists_of_its_own(v):
    if v[0] > 0:
        n = Tree(v[0], 1.0)
        n.path.append(v[1])
    else:
        n = Tree(v[1], 2.0)
        n.path.append(v[0])
    return n.path[0] + sum(n.path), len(n.path), n.y


def with_a_list_that_another_holds(v):
    a, b = Tree(v[0], 1.0), Tree(v[1], 2.0)
    n = a if v[0] > 0 else b
    n.path.append(v[2])
    return len(a.path), len(b.path), len(n.path)


def with_one_list_for_two(v):
    if v[0] > 0:
        n = m = Tree(v[0], 1.0)
    else:
        n, m = Tree(v[0], 2.0), Tree(v[1], 3.0)
    n.path.append(v[2])
    return len(m.path), len(n.path)


def with_an_object_in_it(v):
    if v[0] > 0:
        n = Tree(v[0], 1.0)
        n.parent = Tree(v[1], 1.0)
        n.parent.path.append(v[2])
    else:
        n = Tree(v[0], 2.0)
        n.parent = Tree(v[2], 1.0)
        n.parent.path.append(v[1])
    n.parent.path.append(3.0)
    return n.parent.path[0], len(n.parent.path), n.path == []


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and hasattr(f, "__code__")]


def numbers(x):
    return [y for part in x for y in numbers(part)] if isinstance(x, list | tuple | np.ndarray) else [x]


@pytest.mark.parametrize("size", [4, 20])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*as plain Python")
def test_as_python(function, size, falling_back):
    compiled, v = jit(function), np.linspace(-2, 3, size)
    for given in (v, -v, v[::-1].copy(), v + 3, v - 4):
        found, expected = compiled(given.copy()), function(given.copy())
        assert type(found) is type(expected)
        if function is returned:
            found, expected = dataclasses.astuple(found), dataclasses.astuple(expected)
        assert numbers(found) == pytest.approx(numbers(expected), rel=1e-12)


REFUSED = {compared, changed_under_another_name}


@pytest.mark.parametrize("function", [f for f in PROGRAMS if f not in REFUSED], ids=lambda f: f.__name__)
def test_whole(function):
    v = np.linspace(-2, 3, 20)
    jit(function)(v)
    jit(function)(-v)


def test_stored_outside():
    def search(holder, v):
        holder.best = Point(0.0, 0.0)
        for a in v:
            if a > holder.best.x:
                holder.best = Point(a, a)
        return holder.best

    f, holder, v = jit(search), Holder(), np.linspace(-2, 3, 20)
    for given in (v, -v, v):
        assert f(holder, given) is holder.best and holder.best == search(Holder(), given)
        assert type(holder.best) is Point and list(vars(holder.best)) == ["x", "y"]


def test_results_that_may_be_one():
    def best_and_last(v):
        best = last = Point(0.0, 0.0)
        for a in v:
            last = Point(a, a)
            if a > best.x:
                best = last
        return best, last

    with pytest.raises(UnsupportedError, match="one of several objects of Point"):
        jit(best_and_last)(np.arange(20.0))


def test_lists_of_its_objects_are_handed_out():
    class Sampler:
        def __init__(self, rate):
            self.rate, self.goal = rate, Tree(3.0, 4.0)

        def sample(self):
            if random.randint(0, 100) > self.rate:
                n = Tree(random.uniform(-2, 15), random.uniform(-2, 15))
            else:
                n = Tree(self.goal.x, self.goal.y)
            return n

    f, sampler = jit(Sampler.sample), Sampler(50)
    random.seed(2)
    found = [f(sampler) for _ in range(8)]
    after = random.getstate()
    random.seed(2)
    expected = [sampler.sample() for _ in range(8)]
    assert random.getstate() == after
    assert [vars(n) for n in found] == [vars(n) for n in expected] and all(type(n) is Tree for n in found)
    assert len({id(n.path) for n in found}) == len({id(n.seen) for n in found}) == 8
    assert f.explain().startswith("sample: 1 trace(s)")


def test_random_decisions():
    def drawn(v):
        if random.randint(0, 100) > 50:
            n = Node(random.uniform(0, 1), v[0])
        else:
            n = Node(v[0], v[1])
        return n.x + n.place

    f, v = jit(drawn), np.array([1.0, 2.0])
    random.seed(0)
    found = [f(v) for _ in range(10)]
    random.seed(0)
    assert found == [drawn(v) for _ in range(10)]


def test_derivatives_and_lanes():
    def loss(v):
        best = Point(v[0], v[0] ** 2)
        for a in v:
            if a * a > best.y:
                best = Point(a, a * a)
        return best.y

    assert grad(loss)(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 6.0, 0.0]
    assert grad(of_a_helper)(np.array([1.0, -3.0])).tolist() == [1.0, -2.0]
    assert vmap(lambda a: (Point(a, 1.0) if a > 0 else Point(-a, 2.0)).x * 3)(np.array([-1.0, 2.0])).tolist() == [3.0, 6.0]


@pytest.mark.as_numpy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    found = random_choices.run(seed)
    assert found.verdict != "different", f"{found.why}\n{found.text}"


class Turn:
    """One that Python's syntax asks."""

    def __init__(self, x):
        self.x = x

    def __mul__(self, other):
        return Turn(self.x * other.x + 0.1)

    def __imul__(self, other):
        return Turn(self.x * other.x + 0.2)

    def __rmul__(self, other):
        return Turn(self.x * other)

    def __neg__(self):
        return Turn(-self.x)

    def __lt__(self, other):
        return self.x < other.x

    def __eq__(self, other):
        return self.x == other.x

    def __getitem__(self, k):
        return self.x + k

    def __contains__(self, x):
        return x < self.x

    def __iter__(self):
        return iter([self.x, self.x + 1])

    def __len__(self):
        return 3 if self is not None else 2

    def __abs__(self):
        return abs(self.x)

    def __float__(self):
        return float(self.x)


def multiplied(r, p, w):
    r *= p
    return r


ASKS = {
    "mul": lambda r, p, w: r * p, "right": lambda r, p, w: p * r, "rmul": lambda r, p, w: 0.5 * r, "imul": multiplied, "neg": lambda r, p, w: -r,
    "lt": lambda r, p, w: p if r < p else r * p, "gt": lambda r, p, w: p if p < r else r * p, "eq": lambda r, p, w: r if r == p else p,
    "item": lambda r, p, w: Turn(w + r[1] * 0.1), "in": lambda r, p, w: p if 0.2 in r else r * p, "sum": lambda r, p, w: Turn(sum(r) * 0.1 + w),
    "max": lambda r, p, w: Turn(max(*r) * 0.1 + w), "abs": lambda r, p, w: Turn(abs(r) + w), "float": lambda r, p, w: Turn(float(r) + w),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKS)
def test_syntax_asks_an_object_that_a_loop_carries(name):
    def carried(w):
        r = Turn(0.0)
        for x in w:
            r = ASKS[name](r, Turn(x), x)
        return r.x

    def chosen(w):
        r = Turn(w[0]) if w[1] > 0.5 else Turn(w[2])
        return ASKS[name](r, Turn(w[3]), w[4]).x

    for f in (carried, chosen):
        compiled = jit(f)
        for seed in range(3):
            w = np.random.default_rng(seed).random(40)
            np.testing.assert_allclose(compiled(w), f(w), rtol=1e-12)
