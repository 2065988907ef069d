"""Functions of the user's that Python calls by itself, where no hook is: what they read is guarded, and what else they do is refused."""

# ruff: noqa: B024, UP031

import abc
import collections
import enum
import fractions
import functools
import gc
import inspect
import itertools
import operator
import pathlib
import sys

import numpy as np
import pytest

import wengert as wg

X = np.arange(3.0) + 1
NUMBER, LOG, FILE = [2.0], [], []


def number():
    return NUMBER[0]


def told():
    return float(pathlib.Path(FILE[0]).read_text())


def logged():
    LOG.append(1)
    return 2.0


def spoken():
    print("spoken")
    return 2.0


def slots(tell):
    """Classes and functions whose every way of being run by Python tells what `tell` does."""

    class Says:
        def __init__(self, n=0):
            vars(self)["n"] = n

        __format__ = __str__ = __repr__ = lambda self, spec="": str(tell())
        __eq__ = __bool__ = __contains__ = lambda self, *o: tell() > 2.5
        __lt__ = lambda self, o: (self.n - o.n) * (tell() - 2.5) < 0
        __hash__ = lambda self: 1
        __len__ = __index__ = lambda self: int(tell())
        __abs__ = __float__ = lambda self: float(tell())
        __add__ = __radd__ = lambda self, o: tell()

        def __getattr__(self, key):
            return tell()

        def __delattr__(self, key):
            vars(self)["left"] = tell()

        def __class_getitem__(cls, key):
            return tell()

        @functools.cached_property
        def kept(self):
            return tell()

    class Real:
        __float__ = lambda self: float(tell())
        __add__ = lambda self, o: tell()

    class Held:
        def __get__(self, owner, kind):
            return tell()

        def __delete__(self, owner):
            owner.left = tell()

    class Named:
        def __set_name__(self, owner, name):
            self.q = tell()

    class Has:
        held = Held()
        read = property(lambda self: tell())

    class Meta(type):
        def __instancecheck__(cls, x):
            return tell() > 2.5

        def __getattr__(cls, key):
            return tell()

    class Kind(metaclass=Meta):
        pass

    class Below:
        def __init_subclass__(cls):
            cls.q = tell()

    class Hook(abc.ABC):
        @classmethod
        def __subclasshook__(cls, kind):
            return tell() > 2.5

    class Table(dict):
        def __missing__(self, key):
            return tell()

    class Choice(enum.Enum):
        A, B = 1, 2

        @classmethod
        def _missing_(cls, value):
            return cls.B if tell() > 2.5 else cls.A

    class Steps:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration
            return tell()

    class Raised(Exception):
        def __init__(self):
            self.q = tell()

    class Test:
        def __call__(self, v):
            return v * tell() < 5

    def given(x):
        yield tell()
        yield tell() * x

    held = {k: staticmethod(v) if inspect.isfunction(v) else v for k, v in locals().items() if k != "tell"}
    return type("Slots", (), held | {"tell": staticmethod(tell)})


def subclassed(c):
    class Made(c.Below):
        pass

    return Made.q


def named(c):
    class Made:
        d = c.Named()

    return Made.d.q


def bodied(c):
    class Made:
        d = c.tell()

    return Made.d


def decorated(c):
    def decorator(f):
        q = c.tell()
        return lambda v: v * q

    @decorator
    def made(v):
        pass

    return made(1.0)


def matched(c):
    match c.Has():
        case c.Has(read=v):
            return v


def raised(c):
    try:
        raise c.Raised
    except c.Raised as error:
        return error.q


def deleted(made, key):
    delattr(made, key)
    return made.left


def sort(c):
    made = [c.Says(1), c.Says(2)]
    made.sort()
    return made[0].n


def stored(c):
    made = {}
    made[c.Says()] = 1
    made[c.Says()] = 2
    return len(made)


WAYS = {
    "getattr": lambda c: c.Says().some,
    "format": lambda c: float(f"{c.Says()}"),
    "percent": lambda c: float("%s" % (c.Says(),)),
    "repr in a list": lambda c: float(repr([c.Says()])[1:-1]),
    "index of a list": lambda c: [c.Says(), 7].index(7),
    "in": lambda c: 1 in [c.Says()],
    "count": lambda c: [c.Says(), c.Says()].count(1),
    "equal lists": lambda c: [c.Says()] == [1],
    "sorted": lambda c: sorted([c.Says(1), c.Says(2)])[0].n,
    "min": lambda c: min([c.Says(1), c.Says(2)]).n,
    "sort": sort,
    "lists less": lambda c: [c.Says(1)] < [c.Says(2)],
    "set": lambda c: len({c.Says(), c.Says()}),
    "dict": lambda c: len({c.Says(): 1, c.Says(): 2}),
    "store": stored,
    "comprehension": lambda c: len({c.Says(): i for i in range(2)}),
    "fromkeys": lambda c: len(dict.fromkeys([c.Says(), c.Says()])),
    "Counter": lambda c: len(collections.Counter([c.Says(), c.Says()])),
    "deque": lambda c: collections.deque([c.Says(), 3]).count(3),
    "any": lambda c: any([c.Says()]),
    "filter": lambda c: len([*filter(None, [c.Says()])]),
    "map len": lambda c: sum(map(len, [c.Says()])),
    "map abs": lambda c: sum(map(abs, [c.Says()])),
    "map float": lambda c: sum(map(float, [c.Says()])),
    "map add": lambda c: sum(map(operator.add, [c.Says()], [1])),
    "sum": lambda c: sum([c.Says()]),
    "subscript": lambda c: [3, 5, 7, 9][c.Says()],
    "slice": lambda c: sum([3, 5, 7, 9][c.Says():]),
    "accumulate": lambda c: [*itertools.accumulate([c.Says(), 2])][1],
    "reduce": lambda c: functools.reduce(operator.add, [c.Says(), 2]),
    "attrgetter": lambda c: operator.attrgetter("a.real")(c.Says()),
    "map attrgetter": lambda c: sum(map(operator.attrgetter("a"), [c.Says()])),
    "map hasattr": lambda c: sum(map(getattr, [c.Says()], ["q"])),
    "array": lambda c: np.array([c.Real()], float)[0],
    "object array": lambda c: float((np.array([c.Real()], object) + 2)[0]),
    "delattr": lambda c: deleted(c.Says(), "q"),
    "class_getitem": lambda c: c.Says[0],
    "cached_property": lambda c: c.Says().kept,
    "descriptor": lambda c: c.Has().held,
    "delete": lambda c: deleted(c.Has(), "held"),
    "members": lambda c: dict(inspect.getmembers(c.Has()))["read"],
    "instancecheck": lambda c: isinstance(5, c.Kind),
    "metaclass": lambda c: c.Kind.some,
    "subclasshook": lambda c: issubclass(int, c.Hook),
    "missing": lambda c: c.Table()["q"],
    "missing by C": lambda c: operator.getitem(c.Table(), "q"),
    "default": lambda c: collections.defaultdict(c.tell)["q"],
    "enum": lambda c: c.Choice(7).value,
    "chain": lambda c: sum(itertools.chain(c.Steps(), c.Steps())),
    "extend": lambda c: sum([*c.Steps(), *c.Steps()]),
    "fromiter": lambda c: np.fromiter(c.Steps(), float).sum(),
    "takewhile": lambda c: len([*itertools.takewhile(c.Test(), [1.0, 2.0])]),
    "generator": lambda c: sum(c.given(2.0)),
    "init_subclass": subclassed,
    "set_name": named,
    "class body": bodied,
    "decorator": decorated,
    "match": matched,
    "raise": raised,
}  # fmt: skip


def pair(name, tell):
    """A function plain and compiled, each with classes of its own: an ABC remembers what it has answered."""
    way, plain, other = WAYS[name], slots(tell), slots(tell)
    return lambda x: x * way(plain), wg.jit(lambda x: x * way(other))


@pytest.mark.parametrize("name", WAYS)
def test_what_it_reads_is_guarded(name):
    f, g = pair(name, number)
    for NUMBER[0] in (2.0, 2.0, 3.0, 3.0, 2.0):
        np.testing.assert_array_equal(g(X), f(X))


@pytest.mark.parametrize("name", WAYS)
def test_what_it_asks_of_the_world_is_asked_again_or_refused(name, tmp_path):
    f, g = pair(name, told)
    FILE[:] = [str(tmp_path / "number")]
    for held in (2.0, 2.0, 3.0, 3.0, 2.0):
        (tmp_path / "number").write_text(str(held))
        try:
            got = g(X)
        except wg.UnsupportedError as error:
            assert "read_text" in str(error)
            return
        np.testing.assert_array_equal(got, f(X))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("tell", [logged, spoken])
def test_what_it_does_happens_at_every_call_or_is_refused(name, tell, capsys):
    f, g = pair(name, tell)
    for _ in range(2):
        done = []
        for h in (f, g):
            LOG.clear()
            capsys.readouterr()
            try:
                h(X)
            except wg.UnsupportedError:
                return
            done.append((list(LOG), capsys.readouterr().out))
        assert done[0] == done[1]


def test_a_refusal_passes_every_except():
    class Says:
        def __abs__(self):
            try:
                return spoken()
            except Exception:
                return 1.0

    with pytest.raises(wg.UnsupportedError, match=r"spoken is run by Python itself while tracing, where it is not captured, and calls print\(\)"):
        wg.jit(lambda x: x * sum(itertools.starmap(abs, [(Says(),)])))(X)
    assert sys.getprofile() is None


def test_a_profiler_of_the_users_goes_on():
    seen = []

    def profile(frame, event, argument):
        seen.append(event)

    class Says:
        __abs__ = lambda self: 2.0

    sys.setprofile(profile)
    try:
        wg.jit(lambda x: x * sum(itertools.starmap(abs, [(Says(),)])))(X)
        assert sys.getprofile() is profile and seen
    finally:
        sys.setprofile(None)


def test_callbacks_of_the_garbage_collector_are_no_part_of_the_program():
    """The collector may run while Python calls the user's functions: what it calls in turn is nobody's line."""
    seen = []

    def heard(phase, info):
        seen.append(phase)
        LOG.append(number())

    class Says:
        def __format__(self, spec):
            return "2" * len([[] for _ in range(200)])

    says, before, threshold = Says(), len(LOG), gc.get_threshold()
    f = wg.jit(lambda x: x * len(f"{says}"))
    gc.callbacks.append(heard)
    gc.set_threshold(1)
    try:
        np.testing.assert_array_equal(f(X), X * 200)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(heard)
    assert seen
    del LOG[before:]


def test_destructors_that_the_garbage_collector_calls_are_no_part_of_the_program():
    """They may be a library's, run in the midst of the user's functions, and change what those may not."""
    gone = []

    class Held:
        def __init__(self):
            self.itself = self

        def __del__(self):
            gone.append(fractions.Fraction(len(gone) + 1).limit_denominator(2))
            LOG.append(number())

    class Says:
        def __format__(self, spec):
            return "2" * len([[] for _ in range(50_000)])  # which the collector does not wait for

    says, before, threshold = Says(), len(LOG), gc.get_threshold()
    f = wg.jit(lambda x: x * len(f"{says}"))
    gc.disable()
    gc.set_threshold(20_000)
    for _ in range(30):
        Held()
    gc.enable()
    try:
        np.testing.assert_array_equal(f(X), X * 50_000)
    finally:
        gc.set_threshold(*threshold)
    assert len(gone) == 30
    del LOG[before:]
