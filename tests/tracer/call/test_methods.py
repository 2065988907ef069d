"""Methods whose calls store into their objects: what they store stands in the generated function in front, behind all that may fail."""

import threading

import numpy as np
import pytest
from compare import agree

from wengert import jit


class Body:
    """Attributes of every kind."""

    level = 3.0

    def __init__(self, v=1.0):
        self.x, self.v, self.t, self.n, self.log = np.arange(3.0), np.full(3, v), 0.5, 2, [1.0, 2.0]
        self.d, self.next, self.other = {"a": 1.0, "b": np.ones(2)}, None, None

    def step(self, dt):
        self.x = self.x + dt * self.v
        self.t += dt

    def count(self):
        self.n += 1
        return self.n

    def keep(self, y):
        self.other = y

    def twice(self, y):
        self.v = self.other = self.x * y
        return self.v

    def swap(self):
        self.x, self.v = self.v, self.x

    def push(self, dt):
        self.x += dt * self.v
        return self

    def link(self):
        self.next = self.log
        return self.log

    def item(self, y):
        self.d["a"] = y * self.d["a"]
        self.log[1] = y
        self.d["b"] *= y

    def many(self, y):
        self.a, self.b, self.c, self.e = y, y + 1, y * 2.0, y - self.t
        self.f = self.g = self.h = self.x * y

    def shadowed(self):
        self.level = self.level + 1.0
        return self.level

    def grow(self, y):
        self.log.append(y)
        return len(self.log)

    def root(self, y):
        self.t = y
        self.n = [1, 2, 3][int(y)]


class Slotted:
    __slots__ = ("__dict__", "t", "x")

    def __init__(self):
        self.x, self.t, self.k = np.ones(2), 1.0, 2.0

    def move(self, y):
        self.t = self.t * y
        self.x = self.x * self.t
        self.k = self.t


class Guarded:
    def __init__(self):
        object.__setattr__(self, "y", 1.0)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2.0)

    @property
    def half(self):
        return self.y / 2

    @half.setter
    def half(self, value):
        self.y = value

    def move(self, z):
        self.y = z
        self.half = self.y * z


def asked(self, name):
    """A `__getattribute__`."""
    found = object.__getattribute__(self, name)
    return found * 1.0 if name == "t" else found


STEPS = {
    "step": 0.5, "count": None, "keep": 2.0, "twice": 3.0, "swap": None, "push": 0.25, "link": None, "item": 2.0, "many": 1.5, "shadowed": None,
    "grow": 4.0,
}  # fmt: skip


def graph(x, seen):
    """What hangs together in an object: values, and which of them are one."""
    if isinstance(x, float | int | str | None):
        return type(x), x
    if id(x) in seen:
        return "seen", seen[id(x)]
    seen[id(x)] = len(seen)
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tolist()
    if isinstance(x, list | tuple):
        return type(x), [graph(y, seen) for y in x]
    if isinstance(x, dict):
        return dict, [(k, graph(y, seen)) for k, y in x.items()]
    held = {n: getattr(x, n) for n in getattr(type(x), "__slots__", ()) if n != "__dict__"}
    return type(x), graph(held, seen), graph(x.__dict__, seen)


def closed(f):
    """f, which from now on has only its inline way."""
    f.compiled.front.space["slow"] = lambda *_: pytest.fail("the slow way was taken")
    for entry in f.compiled.entries.values():
        entry.run = entry.first = entry.finish = lambda *_: pytest.fail("the slow way was taken")
    return f


def called(f, x, y):
    return f(x) if y is None else f(x, y)


def compare(plain, compiled, make, y, times=4):
    """Calls on an object of each, one after the other."""
    a, b = make(), make()
    for n in range(times):
        want, got = called(plain, a, y), called(compiled, b, y)
        assert graph((got, b), {}) == graph((want, a), {}), n


@pytest.mark.parametrize("name", [n for n in STEPS if n not in ("grow", "shadowed")])
def test_stores_stand_in_front(name):
    """After two calls none of them leaves the generated function."""
    plain = getattr(Body, name)
    f = jit(plain, engine="numpy")
    compare(plain, f, Body, STEPS[name])
    compare(plain, closed(f), Body, STEPS[name])


@pytest.mark.parametrize("engine", ["numpy", "xla", None])
@pytest.mark.parametrize("name", STEPS)
def test_objects_end_as_in_plain_python(name, engine):
    plain = getattr(Body, name)
    f = jit(plain, engine=engine)
    compare(plain, f, Body, STEPS[name])
    compare(plain, f, lambda: Body(2.0), STEPS[name])


@pytest.mark.parametrize("kind, y", [(Slotted, 2.0), (Guarded, 3.0)])
def test_slots_and_setters(kind, y):
    f = jit(kind.move, engine="numpy")
    compare(kind.move, f, kind, y)
    compare(kind.move, closed(f), kind, y)


def test_nothing_is_stored_where_a_check_fails():
    f = jit(Body.root, engine="numpy")
    compare(Body.root, f, Body, 1.0)
    a, b = Body(), Body()
    for call, x in ((Body.root, a), (f, b)):
        x.t = 7.0
        with pytest.raises(IndexError):
            call(x, 5.0)
    assert b.t in (7.0, a.t) and b.n == 2  # plain Python has stored the first by then


@pytest.mark.parametrize("change", [
    lambda kind: setattr(kind, "__setattr__", lambda self, n, v: object.__setattr__(self, n, v * 10.0)),
    lambda kind: setattr(kind, "t", property(lambda self: 5.0, lambda self, v: self.__dict__.update(u=v))),
    lambda kind: setattr(kind, "step", lambda self, dt: None),
    lambda kind: setattr(kind, "__getattribute__", asked),
], ids=["setattr", "property", "method", "getattribute"])  # fmt: skip
def test_classes_that_change_later(change):
    """What a class is given after the calls is asked, as plain Python does."""
    made = [type("Own", (Body,), {}) for _ in range(2)]
    plain, f = made[0].step, jit(made[1].step, engine="numpy")
    a, b = made[0](), made[1]()
    for n in range(6):
        if n == 3:
            for kind in made:
                change(kind)
        plain(a, 0.5), f(b, 0.5)
        assert graph(b.__dict__, {}) == graph(a.__dict__, {}), n


@pytest.mark.parametrize("change", [
    lambda x: setattr(x, "__dict__", {**x.__dict__, "t": 9.0}),
    lambda x: delattr(x, "t"),
    lambda x: setattr(x, "v", x.x),
    lambda x: setattr(x, "x", x.x[:2]) or setattr(x, "v", x.v[:2]),
    lambda x: setattr(x, "t", 1),
    lambda x: x.x.setflags(write=False),
    lambda x: setattr(x, "x", np.ones(6)[::2]),
    lambda x: setattr(x, "v", np.lib.stride_tricks.sliding_window_view(x.x, 3)[0]),
    lambda x: setattr(x, "__class__", type("Other", (Body,), {"step": None})),
], ids=["dict", "deleted", "shared", "sizes", "int", "read-only", "strided", "view", "class"])  # fmt: skip
@pytest.mark.parametrize("name", ["step", "push", "twice"])
def test_objects_that_change_between_calls(name, change):
    plain = getattr(Body, name)
    f, a, b = jit(plain, engine="numpy", whole=False), Body(), Body()
    for n in range(6):
        if n == 3:
            change(a), change(b)
        said, before = [], graph(vars(b), {})
        for call, x in ((plain, a), (f, b)):
            try:
                call(x, 0.5)
                said.append(None)
            except Exception as error:
                said.append(type(error))
        # plain Python has stored what comes before the exception; so has a call that it answers
        now, wanted = graph(vars(b), {}), [graph(vars(a), {})]
        assert said[0] is said[1] and now[1:] in [w[1:] for w in wanted + [before] * (said[0] is not None)], n
        if said[0] is not None:
            break


def test_instances_of_several_classes_and_one_object_twice():
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

        def exchange(self):
            self.left.t, self.right.t = self.right.t + 1.0, self.left.t
            return self.left

    f, a, b = jit(Pair.exchange, engine="numpy"), Body(), Slotted()
    for pair in (Pair(a, b), Pair(b, a), Pair(a, a), Pair(a, b)):
        times = a.t, b.t
        plain = Pair.exchange(pair), a.t, b.t
        a.t, b.t = times
        got = f(pair), a.t, b.t
        assert got[0] is plain[0] and got[1:] == plain[1:]


def test_threads_store_into_their_own_objects():
    f = jit(Body.step, engine="numpy")
    f(Body(), 0.5), f(Body(), 0.5)
    bodies = [Body(float(n)) for n in range(6)]

    def run(x):
        for _ in range(300):
            f(x, 0.5)

    threads = [threading.Thread(target=run, args=(x,)) for x in bodies]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, x in enumerate(bodies):
        agree((x.x, x.t), (np.arange(3.0) + 150.0 * n, 150.5))


def test_attributes_with_names_of_syntax():
    class Odd:
        def move(self, y):
            value = getattr(self, "class")
            setattr(self, "class", value + y)

    f, a, b = jit(Odd.move, engine="numpy"), Odd(), Odd()
    for n in range(4):
        for x in (a, b):
            if n == 0:
                setattr(x, "class", 1.0)
        Odd.move(a, 2.0), f(b, 2.0)
        assert vars(a) == vars(b)
