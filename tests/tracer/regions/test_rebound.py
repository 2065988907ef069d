"""Variables that helpers rebind (nonlocal, global) and attributes stored through __dict__, in branches and loops on data: as often as in Python."""

import inspect

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.common.errors import WengertError

TOTAL = 0.0


def counter():
    n = 0.0

    def add(v=1.0):
        nonlocal n
        n += v
        return n

    return add, lambda: n


ADD, LOOK = counter()


def add_globally():
    global TOTAL
    TOTAL += 1.0


class Box:
    def __init__(self):
        self.a, self.n = 1.0, 2.0

    def take(self, **values):
        self.__dict__.update(values)


BOX = Box()


def outer_counter(x):
    if x[0] > 0:
        ADD()
    return x * LOOK()


def own_counter(x):
    add, look = counter()
    if x[0] > 0:
        add()
    return x * look()


def counted_in_a_loop(x):
    add, look = counter()
    for i in range(3):
        if x[i] > 0:
            add(x[i])
    return x * look()


def counted_in_a_while(x):
    add, look = counter()
    k = x[0]
    while k > 0:
        add()
        k = k - 1
    return x * look()


def one_of_two(x):
    pairs = [counter() for _ in range(2)]
    if x[0] > 0:
        pairs[0][0]()
    return x * (pairs[0][1]() + 1) + pairs[1][1]()


def global_in_a_branch(x):
    if x[0] > 0:
        add_globally()
    return x * TOTAL


def global_in_a_loop(x):
    for _ in range(int(x[0] > 0) + 1):
        add_globally()
    return x * TOTAL


def two_deep(x):
    n = 1.0

    def a():
        def b():
            nonlocal n
            n = n * 2 + x[0]

        if x[1] > 0:
            b()

    if x[0] > 0:
        a()
        if x[2] > 2:
            a()
    return n * x


def roots_with_calls_counted(x):
    calls = 0

    def f(v):
        nonlocal calls
        calls += 1
        return v * v - 2

    r = abs(x[0]) + 3.0
    while abs(f(r)) > 1e-6:
        r = r - f(r) / (2 * r)
    return r, calls


def last_kept(x):
    last = x * 0

    def keep(v):
        nonlocal last
        last = v

    for i in range(3):
        if x[i] > 0:
            keep(x * i)
    return last


def made_inside(x):
    def make():
        q, n = [0], 0

        def add():
            nonlocal n
            n += 1
            q.append(n)

        add()
        add()
        return n + len(q)

    t = 0
    if x[0] > 0:
        t = make()
    for _ in range(int(x[1] > 0) + 2):
        t = t + make()
    return t * x


def stops_early(x):
    n = 0.0

    def add(v):
        nonlocal n
        n += v
        return n

    for i in range(3):
        if add(x[i]) > 4:
            break
    return n


def best(x):
    low, arg = np.inf, -1

    def see(i, v):
        nonlocal low, arg
        if v < low:
            low = v
            arg = i

    for i in range(3):
        see(i, x[i])
    return low, arg


def recursive(x):
    depth = 0

    def go(k):
        nonlocal depth
        depth += 1
        if k > 0:
            go(k - 1)

    if x[0] > 0:
        go(3)
    return depth * x


def by_vars(x):
    y = x * BOX.a
    vars(BOX)["a"] = 5.0
    return y + BOX.a


def by_update(x):
    y = x * BOX.a
    BOX.take(a=7.0, n=x[0])
    return y + BOX.a * BOX.n


def read_by_vars(x):
    d = vars(BOX)
    y, BOX.a = d["a"], x[0]
    if x[1] > 0:
        BOX.a = x[1]
        d["n"] = x[2]
    return d["a"] * BOX.n + len(d) + y


def by_vars_in_a_branch(x):
    y = x * BOX.a
    if x[0] > 0:
        vars(BOX)["a"] = x[1]
    return y + BOX.a


def by_vars_in_a_loop(x):
    y = BOX.a
    for i in range(3):
        vars(BOX)["a"] += x[i]
    return BOX.a + y


def new_by_vars(x):
    vars(BOX)["new"] = x[0]
    y, BOX.other = BOX.new, 3.0
    return y + vars(BOX)["other"] + len(vars(BOX))


def deleted_by_vars(x):
    y = BOX.a
    del vars(BOX)["a"]
    return hasattr(BOX, "a"), y


HELPERS = {"counter", "add_globally", "ADD", "LOOK"}
PROGRAMS = [f for name, f in list(globals().items()) if inspect.isfunction(f) and f.__module__ == __name__ and name not in HELPERS]


def plain(x):
    """A tree of lists and Python's numbers, which compare as a whole."""
    if isinstance(x, tuple | list):
        return [plain(v) for v in x]
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x.tolist() if isinstance(x, np.ndarray | np.generic) else x


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_often_as_in_python(f):
    global TOTAL, ADD, LOOK, BOX
    compiled, left = jit(f), []
    for g in (f, compiled):
        TOTAL, BOX, (ADD, LOOK), done = 0.0, Box(), counter(), []
        for v in (1, 1, -1, 1, -1, 1.5):
            try:
                done.append(plain((g(np.arange(1.0, 4) * v), TOTAL, LOOK(), vars(BOX))))
            except WengertError:
                assert g is compiled and f is deleted_by_vars, "deletions are refused"
                return
            except AttributeError as error:
                done.append(str(error))
        left.append(done)
    assert left[0] == left[1]


class Steps:
    def __init__(self):
        self.k = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        if self.k > 3:
            raise StopIteration
        return self.k


def test_an_iterator_from_outside_that_counts_its_steps():
    """What it counts is taken in by a second trace, which would not end: whether the iterator does is then data."""
    steps = Steps()

    def stepped(x):
        if x[0] > 0:
            for v in steps:
                x = x + v
        return x

    compiled, left = jit(stepped), []
    for f in (stepped, compiled):
        steps.k = 0
        left.append([(f(np.ones(2) * v).tolist(), steps.k) for v in (1, 1, -1, 1)])
    assert left[0] == left[1]
