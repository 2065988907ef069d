"""Objects among the arguments: one trace serves the instances of a class that look alike, and each call its own."""

import collections
import dataclasses
import functools
import random
import threading
import types
import warnings
import weakref

import numpy as np
import pytest
from collected import collect

from wengert import grad, jit


class Body:
    def __init__(self, x, mass=1.0, after=None):
        self.x, self.mass, self.after = np.array([x, x + 1.0]), mass, after
        self.log, self.name = [x, 2.0], "body"

    def push(self, by):
        self.x = self.x + by / self.mass
        return self

    @property
    def doubled(self):
        return self.x * 2


class Slotted:
    __slots__ = ("x", "mass", "after", "log", "name")
    __init__, push, doubled = Body.__init__, Body.push, Body.doubled


class Equal(Body):
    def __eq__(self, other):
        raise RuntimeError("not ours to call")

    def __hash__(self):
        raise RuntimeError("not ours to call")

    def __repr__(self):
        raise RuntimeError("not ours to call")


@dataclasses.dataclass
class Record:
    x: np.ndarray
    mass: float = 1.0


def traces(f):
    return f.explain().count("  trace ")


@pytest.mark.parametrize("kind", [Body, Slotted, Equal])
def test_one_trace_serves_all(kind):
    push = jit(kind.push, whole=True)
    made = [kind(float(i)) for i in range(30)]
    for n, o in enumerate(made):
        assert push(o, 2.0) is o
        assert o.x.tolist() == [n + 2.0, n + 3.0]
    assert traces(push) == 1


def test_records_and_namespaces():
    f = jit(lambda o: o.x.sum() * o.mass, whole=True)
    for make in (Record, types.SimpleNamespace):
        for i in range(5):
            assert f(make(x=np.arange(3.0) + i, mass=2.0)) == (3.0 + 3 * i) * 2
    assert traces(f) == 2


def test_a_number_that_differs_becomes_an_input():
    f = jit(lambda o: o.x * o.mass, whole=True)
    for i in range(20):
        assert f(Body(1.0, i + 0.5)).tolist() == [i + 0.5, 2 * i + 1.0]
    assert traces(f) == 3


def test_nothing_is_kept_alive():
    push = jit(Body.push)
    o = Body(1.0, after=Body(2.0))
    push(o, 1.0)
    jit(lambda o: o.after.x)(o)
    seen = weakref.ref(o), weakref.ref(o.after)
    del o
    collect()
    assert [r() for r in seen] == [None, None]


def test_what_is_behind_an_argument():
    f = jit(lambda o: o.after.push(1.0).x + o.after.doubled, whole=True)
    for i in range(10):
        inner = Body(float(i))
        assert f(Body(0.0, after=inner)).tolist() == [3 * i + 3.0, 3 * i + 6.0]
        assert inner.x.tolist() == [i + 1.0, i + 2.0]
    assert traces(f) == 1


def test_one_object_or_two():
    def f(a, b):
        a.mass = a.mass + 1.0
        return b.mass

    g = jit(f, whole=True)
    a, b = Body(1.0), Body(2.0)
    assert [g(a, b), g(a, a), g(b, b), g(b, a), g(a, b)] == [1.0, 3.0, 2.0, 3.0, 3.0]


def test_one_object_or_two_behind_arguments():
    def f(a, b):
        a.after.mass = a.after.mass + 1.0
        return b.mass, b.after is a.after, a.after is b

    g = jit(f, whole=True)
    answers = []
    for wrap in (f, g):
        a, b, c = Body(1.0), Body(2.0), Body(3.0)
        a.after, b.after = c, Body(4.0)
        found = [wrap(a, b)]
        a.after = b
        found += [wrap(a, b)]
        a.after = b.after
        found += [wrap(a, b), wrap(b, a)]
        answers.append(found)
    assert answers[0] == answers[1]


KEPT = Body(5.0)


def test_an_object_that_is_outside_too():
    def f(o):
        o.mass = o.mass + 1.0
        return KEPT.mass

    g = jit(f, whole=True)
    KEPT.mass = 1.0
    assert [g(Body(1.0)), g(Body(1.0)), g(KEPT), g(KEPT), g(Body(1.0))] == [1.0, 1.0, 2.0, 3.0, 3.0]


WHICH = {
    "id": lambda o: id(o) % 1024,
    "hash": lambda o: hash(o),
    "text": lambda o: f"{o}",
    "repr": lambda o: repr([o]),
    "equal": lambda o: o == LATEST[0],
    "member": lambda o: o in LATEST,
    "key": lambda o: NAMED.get(o, "none"),
    "cached": lambda o: cached(o),
}
LATEST, NAMED = [None], {}
cached = functools.cache(lambda o: o.mass)


@pytest.mark.parametrize("which", WHICH)
def test_what_tells_which_object_it_is(which):
    ask = WHICH[which]
    f, made = jit(lambda o: (ask(o), o.x * 2)), [Body(1.0, 3.0 + i) for i in range(3)]
    NAMED.clear()
    NAMED[made[1]] = "second"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for o in (*made, *made[::-1], Body(9.0)):
            LATEST[0] = made[0]
            assert f(o)[0] == ask(o)


def test_given_out_in_something():
    for give in (lambda o: lambda: o.mass, lambda o: o.push, lambda o: functools.partial(getattr, o, "mass"), lambda o: {1, o}):
        f = jit(give, whole=False)
        for o in [Body(1.0, 3.0 + i) for i in range(3)]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = f(o)
            held = made if isinstance(made, set) else {made() if made != o.push else made.__self__}
            assert o in held or held == {o.mass}


def test_given_out_in_a_new_object():
    f = jit(lambda o: (Record(o, o.mass), [o, {"o": o.after}]), whole=True)
    for i in range(4):
        o = Body(1.0, 1.0 + i, Body(2.0))
        made, (same, held) = f(o)
        assert made.x is o and made.mass == o.mass and same is o and held["o"] is o.after


def test_a_defaultdict_is_looked_at_and_not_filled():
    f, sizes = jit(lambda o: [(k, o.table[k][0] * 2) for k in o.table], whole=True), (2, 3, 3, 4, 2, 1, 5, 2)
    for n in sizes:
        o = Body(1.0)
        o.table = collections.defaultdict(list, {k: [float(k)] for k in range(n)})
        assert f(o) == [(k, 2.0 * k) for k in range(n)] and list(o.table) == list(range(n))


def test_stored_where_it_stays():
    def f(o, box):
        box.append(o)
        o.after = box[0]
        return o.after.x + 1

    f, box, made = jit(f), [], [Body(float(i)) for i in range(4)]
    for o in made:
        assert f(o, box).tolist() == [1.0, 2.0]
    assert all(a is b for a, b in zip(box, made)) and all(o.after is made[0] for o in made)


def test_states_of_many_kinds_end_in_a_trace_each():
    f = jit(lambda o: o.x * len(o.name))
    made = [Body(1.0) for _ in range(12)]
    for n, o in enumerate(made):
        o.name = "x" * n
    for _ in range(2):
        for n, o in enumerate(made):
            assert f(o).tolist() == [n, 2.0 * n]


def test_threads():
    f, wrong = jit(Body.push), []

    def run(k):
        for i in range(200):
            o = Body(float(k * 1000 + i))
            if f(o, 1.0) is not o or o.x[0] != k * 1000 + i + 1:
                wrong.append((k, i))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_call_within_a_call():
    """Plain Python between the compiled parts calls the same function of another object."""

    def total(o):
        o.mass = o.mass + 1.0
        rest = 0.0 if o.after is None else compiled(o.after)
        o.mass = o.mass + 1.0
        return o.mass + rest

    jit(Body.push)(Body(0.0), 1.0)
    chain = Body(0.0, 1.0, Body(0.0, 10.0, Body(0.0, 100.0)))
    compiled = jit(total, whole=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(chain) == 117.0
        assert [chain.mass, chain.after.mass, chain.after.after.mass] == [3.0, 12.0, 102.0]


def test_gradients():
    f = grad(lambda w, o: (w * o.x).sum() * o.mass)
    for i in range(4):
        assert f(np.ones(2), Body(float(i), 2.0)).tolist() == [2.0 * i, 2.0 * i + 2]


# -- random programs -------------------------------------------------------------------------------


def add(a, b):
    a.mass = a.mass + b.mass
    return b.mass


def link(a, b):
    was = a.after
    a.after = b
    if was is not None:
        was.mass = was.mass + 5.0
    return a.after.mass


def swap(a, b):
    a.after, b.after = b.after, a.after
    a.log, b.log = b.log, a.log
    a.log[0] = 7.0
    return b.log[0]


def walk(a, b):
    x = a
    for _ in range(4):
        if x is None:
            break
        x.mass = x.mass + 1.0
        x = x.after
    return b.mass


def share(a, b):
    a.x = b.x
    a.log.append(b.mass)
    return a.x is b.x, a.log


def write(a, b):
    a.x[0] = a.x[0] + 1
    a.log[0] = a.log[0] + 1
    return b.x.sum(), b.log[0]


def least(a, b):
    if a.mass > b.mass:
        a.mass = b.mass
    return (a, b) if a is not b else [b, a.push(1.0)]


def fresh(a, b):
    a.after = Body(b.mass, a.mass)
    return a.after.x


def shown(x, seen):
    if isinstance(x, Body | Slotted | list | np.ndarray):
        if id(x) in seen:
            return seen[id(x)]
        seen[id(x)] = len(seen)
    if isinstance(x, Body | Slotted):
        return type(x).__name__, [shown(getattr(x, n), seen) for n in Slotted.__slots__]
    if isinstance(x, list | tuple):
        return type(x).__name__, [shown(v, seen) for v in x]
    return type(x).__name__, repr(x)


def story(seed, wrap):
    draw = random.Random(seed)
    made = [draw.choice([Body, Body, Slotted])(float(draw.randint(1, 3))) for _ in range(4)]
    functions = [wrap(f) for f in draw.sample([add, link, swap, walk, share, write, least, fresh], 2)]
    told = []
    for _ in range(8):
        for name, part in (("after", 0.3), ("log", 0.15), ("x", 0.15)):
            if draw.random() < part:
                other = draw.choice(made)
                setattr(draw.choice(made), name, other if name == "after" else getattr(other, name))
        if draw.random() < 0.2:
            made[draw.randrange(4)] = Body(float(draw.randint(1, 3)), after=draw.choice([None, *made]))
        told.append(shown([draw.choice(functions)(draw.choice(made), draw.choice(made)), made], {}))
    return told


@pytest.mark.parametrize("seed", range(24))
def test_random_stories(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert story(seed, jit) == story(seed, lambda f: f)
