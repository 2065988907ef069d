"""Objects that a function makes: constructed, copied, replaced; returned and stored with real values, anew at every call."""

import collections
import copy
import dataclasses
import functools
import types

import numpy as np
import pytest

from wengert import UnsupportedError, jit

pytestmark = pytest.mark.as_numpy


class Point:
    def __init__(self, x):
        self.x = x


class Slotted:
    __slots__ = ("__x", "y")

    def __init__(self, x):
        self.__x, self.y = x, [x]

    def x(self):
        return self.__x


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    k: float = 2.0


class Stepped:
    """Copies count on their own."""

    def __init__(self, x, copies=0):
        self.x, self.copies = x, copies

    def __copy__(self):
        return Stepped(self.x, self.copies + 1)

    def __deepcopy__(self, memo):
        return Stepped(copy.deepcopy(self.x, memo), self.copies + 10)


class Node:
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []

    def add(self, value):
        child = Node(value, self)
        self.children.append(child)
        return child


HOLDER = Point(1.0)
PROGRAMS = {
    "deep": lambda p, x: scaled(copy.deepcopy(p), x).x,
    "shallow": lambda p, x: scaled(copy.copy(p), x).x,
    "containers": lambda p, x: copy.deepcopy([p.x, {"a": p.x}, (x,)])[1]["a"] * x,
    "made and copied": lambda p, x: scaled(copy.deepcopy(Point(p.x)), x).x,
    "replaced": lambda p, x: dataclasses.replace(Frozen(p.x, x), x=p.x * x).x,
    "own copy": lambda p, x: copy.copy(Stepped(p.x)).copies + copy.deepcopy(Stepped(x)).copies,
    "new": lambda p, x: scaled(filled(object.__new__(Point), p.x), x).x,
}


def scaled(p, k):
    p.x = p.x * k
    return p


def filled(p, x):
    p.x = x
    return p


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_keep_no_state_from_call_to_call(name):
    """Each call sees what the original holds then, and leaves it alone."""
    f = PROGRAMS[name]
    compiled, p = jit(f), Point(np.ones(2))
    for x, change in ((2.0, None), (2.0, 5.0), (3.0, None), (3.0, 7.0)):
        if change:
            p.x = np.full(2, change)
        before = p.x.copy()
        np.testing.assert_array_equal(compiled(p, x), f(Point(p.x.copy()), x))
        np.testing.assert_array_equal(p.x, before)


def test_a_copy_has_the_attributes_of_the_time():
    @jit
    def names(p):
        return sorted(vars(copy.copy(p)))

    p = Point(1.0)
    assert names(p) == ["x"]
    p.later = 2.0
    assert names(p) == ["later", "x"]


def test_instances_are_returned_with_real_values_anew_at_every_call():
    make = jit(lambda x: (Point([x, x * 2]), Slotted(x), Frozen(x), types.SimpleNamespace(a=x), {"in": Point(3)}))
    for x in (1.0, 2.0):
        p, s, f, n, d = make(x)
        assert (type(p), p.x, s.x(), s.y, f, n.a, d["in"].x) == (Point, [x, x * 2], x, [x], Frozen(x), x, 3)
    assert make(1.0)[0] is not make(1.0)[0] and make(1.0)[4]["in"] is not make(1.0)[4]["in"]


def test_what_is_one_object_stays_one():
    @jit
    def tree(x, y):
        root = Node(x)
        first = root.add(y)
        return root, first, [first, root], first.add(x * 2)

    y = np.ones(2)
    root, first, (again, top), last = tree(1.0, y)
    assert root.children == [first] and again is first and top is root and first.parent is root and last.parent is first
    assert first.value is y and last.value == 2.0

    row, same = jit(lambda x: (lambda row: (row, row))([x]))(1.0)
    assert row is same and row == [1.0]


def test_sets_and_deques_are_made_anew():
    f = jit(lambda x: (x, {1, 2}, collections.deque([1])))
    f(1.0)[1].add(3), f(1.0)[2].append(3)
    assert f(1.0) == (1.0, {1, 2}, collections.deque([1]))


def test_instances_are_stored_with_real_values():
    @jit
    def store(x, log):
        HOLDER.made, HOLDER.row = Point(x), [Point(x + 1)]
        log.append(Point(x + 2))

    log = []
    for x in (1.0, 2.0):
        store(x, log)
        assert (HOLDER.made.x, HOLDER.row[0].x, log[-1].x) == (x, x + 1, x + 2)
    assert len(log) == 2


@pytest.mark.parametrize("leak", [lambda x: (lambda: x).__call__, lambda x: {"a": x}.items(), lambda x: iter([x])])
def test_no_traced_value_reaches_the_user(leak):
    with pytest.raises(UnsupportedError, match="with traced values in it"):
        jit(leak)(1.0)


class Items(list):
    """Is more than its attributes."""


ITEMS = Items([1.0])


def test_what_copies_cannot_be_relied_on_is_refused():
    with pytest.raises(UnsupportedError, match="__deepcopy__ method"):
        jit(lambda x: copy.deepcopy(ITEMS)[0] * x)(1.0)


@functools.singledispatch
def kind(x):
    return "object"


@kind.register
def _(x: np.ndarray):
    return "array"


@kind.register
def _(x: float):
    return "float"


class Shape:
    @functools.singledispatchmethod
    def kind(self, x):
        return "object"

    @kind.register
    def _(self, x: np.ndarray):
        return "array"


def test_single_dispatch_sees_the_classes_of_python():
    f, method = jit(lambda x: (kind(x), kind(x + 1), x)), jit(lambda x: Shape().kind(x))
    assert f(np.ones(2))[:2] == ("array",) * 2 and f(1.0)[:2] == ("float",) * 2 and f(np.float32(1))[:2] == ("object",) * 2
    assert method(np.ones(2)) == "array" and method(1.0) == "object"
    kind.register(np.float32, lambda x: "single")
    assert f(np.float32(1))[:2] == ("single",) * 2


class Unsaid:
    """No method of it may be called but its own work."""

    def __init__(self, x):
        self.x = x

    def __repr__(self):
        raise AssertionError("__repr__ was called")

    def step(self, u):
        self.y = self.x @ u
        return self.y


def test_no_message_calls_a_method_of_the_users():
    step = jit(Unsaid.step)
    for x in (1.0, 2.0, 3.0):
        assert step(Unsaid(np.full(3, x)), np.ones(3)) == 3 * x
    assert "Unsaid" in step.explain()
    with pytest.raises(UnsupportedError, match="a Unsaid cannot take part"):
        jit(lambda x: x + Unsaid(1))(np.ones(2))
