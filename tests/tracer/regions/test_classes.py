"""Classes of the user's whose methods Python looks up by itself: operators, `super()`, descriptors, and their replacement between calls."""

import collections
import collections.abc
import contextlib

import numpy as np
import pytest

from wengert import UnsupportedError, jit


def entered(q, x):
    with q as k:
        return k * x


def added(q, x):
    q += x
    return q


def stored(q, x):
    q[0] = 1
    return x


SPECIAL = {  # name -> a use of it, and two methods that answer differently
    "__add__": (lambda q, x: q + x, lambda s, o: o * 2, lambda s, o: o * 3),
    "__radd__": (lambda q, x: x + q, lambda s, o: o * 2, lambda s, o: o * 3),
    "__rdivmod__": (lambda q, x: divmod(2, q) * x, lambda s, o: 2, lambda s, o: 3),
    "__pow__": (lambda q, x: pow(q, 2) * x, lambda s, o: 2, lambda s, o: 3),
    "__matmul__": (lambda q, x: q @ x, lambda s, o: o * 2, lambda s, o: o * 3),
    "__iadd__": (added, lambda s, o: o * 2, lambda s, o: o * 3),
    "__neg__": (lambda q, x: (-q) * x, lambda s: 2, lambda s: 3),
    "__call__": (lambda q, x: q(x), lambda s, o: o * 2, lambda s, o: o * 3),
    "__init__": (lambda q, x: type(q)().v * x, lambda s: s.__dict__.update(v=2), lambda s: s.__dict__.update(v=3)),
    "__getitem__": (lambda q, x: q[0] * x, lambda s, k: 2, lambda s, k: 3),
    "__setitem__": (stored, lambda s, k, v: None, lambda s, k, v: 1 / 0),
    "__contains__": (lambda q, x: x * 2 if 5 in q else x * 3, lambda s, o: True, lambda s, o: False),
    "__eq__": (lambda q, x: x * 2 if q == 1 else x * 3, lambda s, o: True, lambda s, o: False),
    "__lt__": (lambda q, x: x * 2 if q < 1 else x * 3, lambda s, o: True, lambda s, o: False),
    "__index__": (lambda q, x: [2, 3][q] * x, lambda s: 0, lambda s: 1),
    "__hash__": (lambda q, x: hash(q) * x, lambda s: 2, lambda s: 3),
    "__array__": (lambda q, x: np.asarray(q) * x, lambda s, *a, **k: np.array(2.0), lambda s, *a, **k: np.array(3.0)),
    "__str__": (lambda q, x: x * len(str(q)), lambda s: "ab", lambda s: "abc"),
    "__repr__": (lambda q, x: x * len(f"{q!r}"), lambda s: "ab", lambda s: "abc"),
    "__format__": (lambda q, x: x * len(f"{q}"), lambda s, f: "ab", lambda s, f: "abc"),
    "__enter__": (entered, lambda s: 2, lambda s: 3),
    "__exit__": (entered, lambda s, *e: None, lambda s, *e: 1 / 0),
}


def answer(f, *args):
    try:
        return f(*args)
    except (ZeroDivisionError, TypeError) as error:
        return type(error).__name__


def alike(f, g, *args):
    """Whether two give the same, and in which type of number."""
    found, expected = answer(f, *args), answer(g, *args)
    assert found == expected


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods_may_be_replaced(name):
    use, first, second = SPECIAL[name]
    kind = type("Q", (), {"__enter__": lambda s: 2, "__exit__": lambda s, *e: None, name: first})
    q = kind()
    f = jit(lambda x: use(q, x))
    for method in (first, second, first):
        setattr(kind, name, method)
        alike(f, lambda x: use(q, x), 2.0)


def test_special_methods_may_come_and_go():
    class Q:
        def __eq__(self, other):
            return True

    class P(Q):
        pass

    p = P()
    f = jit(lambda x: x * 2 if p == 1 else x * 3)
    assert f(1.0) == 2.0
    P.__eq__ = lambda self, other: False
    assert f(1.0) == 3.0
    del P.__eq__
    assert f(1.0) == 2.0


class Base:
    k = 2.0

    def method(self, x):
        return x * 2

    @property
    def p(self):
        return 2.0

    @classmethod
    def c(cls):
        return 2.0

    @staticmethod
    def s():
        return 2.0


class Middle(Base):
    pass


class Above(Middle):
    def method(self, x):
        return super().method(x)

    def attribute(self, x):
        return super().k * x

    def by_property(self, x):
        return super().p * x

    def by_class(self, x):
        return super().c() * x

    def by_static(self, x):
        return super().s() * x


OTHERS = {"method": lambda s, x: x * 3, "k": 3.0, "p": property(lambda s: 3.0), "c": classmethod(lambda c: 3.0), "s": staticmethod(lambda: 3.0)}


@pytest.mark.parametrize("name", ["method", "attribute", "by_property", "by_class", "by_static"])
@pytest.mark.parametrize("kind", [Base, Middle])
def test_what_super_gives_may_be_replaced(monkeypatch, kind, name):
    b = Above()
    f = jit(lambda x: getattr(b, name)(x))
    assert f(1.0) == 2.0
    with monkeypatch.context() as m:
        for key, value in OTHERS.items():
            m.setattr(kind, key, value, raising=False)
        assert f(1.0) == 3.0
    assert f(1.0) == 2.0


@pytest.mark.parametrize("x", [2.0, 2, np.float32(2), np.ones(2), 1j])
def test_a_traced_value_tells_its_class(x):
    def f(x):
        return x * 2 if x.__class__ is float else x * (x.__class__ in (np.ndarray, int)) - 1

    found, expected = jit(f)(x), f(x)
    assert np.all(found == expected) and type(found) is type(expected)
    assert jit(lambda x: x * x.__class__(3.5))(2.0) == 7.0


def test_a_property_without_an_answer_leaves_it_to_getattr():
    class Asked:
        @property
        def a(self):
            return self.nothing

        def __getattr__(self, name):
            return float(len(name))

    a = Asked()
    f = jit(lambda x: a.a * x)
    assert f(2.0) == a.a * 2.0 == 14.0
    Asked.__getattr__ = lambda self, name: 1.0
    assert f(2.0) == a.a * 2.0 == 2.0


def test_the_users_eq_and_hash_are_not_asked():
    def never(*args):
        raise AssertionError("asked")

    def init(self, v):
        self.v = v

    silent = {"__eq__": never, "__hash__": never}
    kind = type("Kind", (), {"__init__": init, "__call__": lambda self, x: x * self.v, **silent})
    v = kind(2.0)
    assert jit(lambda x: kind(2.0)(x) + v(x))(1.0) == 4.0
    assert jit(lambda x: list(map(v, [x, x]))[1])(1.0) == 2.0


class BySuper:
    def __setattr__(self, key, value):
        super().__setattr__(key, value * 2)


class ByObject:
    def __setattr__(self, key, value):
        object.__setattr__(self, key, value * 2)


class ByDict:
    stores = 0

    def __setattr__(self, key, value):
        type(self).stores += 1
        self.__dict__[key] = value * 2


class Doubling:
    def __get__(self, owner, kind=None):
        return owner._v

    def __set__(self, owner, value):
        owner._v = value * 2


class InDict:
    def __get__(self, owner, kind=None):
        return owner.__dict__["v"]

    def __set__(self, owner, value):
        owner.__dict__["v"] = value * 2


Descriptor, OfDict = type("Descriptor", (), {"v": Doubling()}), type("OfDict", (), {"v": InDict()})


@pytest.mark.parametrize("kind", [BySuper, ByObject, ByDict, Descriptor, OfDict])
def test_what_a_setter_of_the_users_stores_is_stored_once(kind):
    b = kind()
    b.v = 1.0

    def store(x):
        b.v = x
        return x + b.v

    def loop(x):
        for i in range(3):
            if x > i:
                b.v = x + i
        return b.v

    def made(x):
        c = kind()
        c.v = x
        return c.v

    f, g, h = jit(store), jit(made), jit(loop)
    for x in (3.0, 4.0):
        assert (f(x), b.v, g(x)) == (3 * x, 2 * x, 2 * x)
    if kind not in (ByDict, OfDict):  # in a loop, a dict outside is not stored to
        assert (h(1.5), b.v) == (5.0, 5.0)
        assert (h(0.5), b.v) == (1.0, 1.0)


def test_a_refused_trace_leaves_what_a_setter_has_stored():
    b = BySuper()
    b.v = 1.0

    def f(x):
        b.v = x
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            jit(f, engine="numpy")(2.0)
        assert b.v in (2.0, 4.0)


class Counted:
    count = 0

    def __new__(cls, *args):
        Counted.count += 1
        made = super().__new__(cls)
        made.k = Counted.count
        return made


class Single:
    one = None

    def __new__(cls, *args):
        if cls.one is None:
            cls.one = super().__new__(cls)
        return cls.one

    def __init__(self, v):
        self.v = v


class Counting(type):
    n = 0

    def __call__(cls, *args):
        Counting.n += 1
        made = super().__call__(*args)
        made.k = Counting.n
        return made


class Made(metaclass=Counting):
    def __init__(self, v):
        self.v = v


class Bare(metaclass=Counting):
    pass


class Flagged:
    flag = 2.0

    def __new__(cls):
        made = object.__new__(cls)
        made.k = cls.flag
        return made


def test_new_and_the_call_of_a_metaclass_run_at_every_call():
    f = jit(lambda x: Counted().k * x)
    assert [f(1.0) for _ in range(3)] == [1, 2, 3] and Counted.count == 3
    g = jit(lambda x: Made(x).k * x)
    assert [g(1.0) for _ in range(3)] == [1, 2, 3] and Counting.n == 3
    h = jit(lambda x: Bare().k * x)
    assert [h(1.0) for _ in range(3)] == [4, 5, 6] and Counting.n == 6


def test_one_instance_for_all_is_one():
    f = jit(lambda x: Single(x).v * 2)
    assert [f(1.0), f(2.0)] == [2.0, 4.0] and Single.one.v == 2.0
    one = Single.one
    assert f(3.0) == 6.0 and Single.one is one and one.v == 3.0


def test_new_reads_what_is_there_now():
    f = jit(lambda x: Flagged().k * x)
    assert f(1.0) == 2.0
    Flagged.flag = 3.0
    assert f(1.0) == 3.0


@contextlib.contextmanager
def noting(box, x):
    box.v = x
    yield x
    box.v = 0.0


@contextlib.contextmanager
def giving(x):
    yield x


def test_a_context_manager_of_a_generator_is_refused_where_it_does_something():
    box = ByObject.__new__(ByObject)
    box.__dict__["v"] = 1.0

    def f(x):
        with noting(box, x) as y:
            return x * y

    def g(x):
        with giving(x) as y:
            return x * y

    with pytest.raises(UnsupportedError, match="body of noting, a @contextmanager"):
        jit(f)(3.0)
    assert box.v == 1.0
    assert jit(g)(3.0) == 9.0


class Arrays(collections.UserList):
    def __init__(self, found):
        self.data = [*found]
        if not all(isinstance(x, np.ndarray) for x in self.data):
            raise ValueError("no arrays")

    def __getitem__(self, k):
        return Arrays([self.data[k]])


class Doubled(collections.abc.Sequence):
    def __init__(self, found):
        self.found = found

    def __len__(self):
        return len(self.found)

    def __getitem__(self, k):
        if k >= len(self.found):
            raise IndexError
        x = self.found[k]
        return x * 2 if isinstance(x, np.ndarray) else x


def test_classes_that_python_steps_through_by_their_items():
    def f(x):
        p, q, total = Arrays([x, x + 1]), Doubled([x, x * 3]), 0.0
        for a, b in zip(p, q):
            total = total + a.data[0] * b
        sums = [b.sum() for b in q]
        asked = 3 in Doubled([1, 3]), 4 in Doubled([1, 3]), max(Doubled([1, 5, 2]))
        return total, sums, [len(a) for a in p], asked, np.array([*q]), list(q)[1], sum(q)

    x = np.arange(3.0)
    assert repr(jit(f)(x)) == repr(f(x))


class Measured:
    def __init__(self, x):
        self.x = x

    def __float__(self):
        return self.x * 1.0


@pytest.mark.filterwarnings("ignore:.*__float__ returned non-float:DeprecationWarning")
def test_float_of_an_object_is_pythons():
    f = lambda v: float(Measured(v[0]))
    assert type(jit(f)(np.ones(2))) is type(f(np.ones(2))) is float
    assert type(jit(f)([1.0, 2.0])) is float
