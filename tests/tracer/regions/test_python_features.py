"""Python's own features on traced values: classes, operators, closures, exceptions, contexts; compiled against plain."""

import contextlib
import dataclasses
import functools
import itertools
import linecache

import numpy as np
import pytest
from compare import check_same

from wengert import ConcretizationError, grad, jit, vmap
from wengert.tracer.common.errors import UnsupportedError
from wengert.tracer.regions.convert import convert


class V:

    def __init__(self, x):
        self.x = x

    def __add__(self, o):
        if self.x > o.x:
            return V(self.x - o.x)
        return V(self.x + o.x)

    def __radd__(self, o):
        if self.x > 0:
            return V(self.x + o)
        return V(self.x - o)

    def __mul__(self, k):
        return NotImplemented

    def __rmul__(self, k):
        return V(self.x * k)

    def __lt__(self, o):
        if self.x < 0:
            return o.x > 0
        return self.x < o.x

    def __neg__(self):
        return V(-self.x if self.x > 0 else self.x)

    def __iadd__(self, o):
        if self.x > 0:
            self.x = self.x + o
        else:
            self.x = self.x - o
        return self

    def __contains__(self, y):
        return y > self.x

    def __getitem__(self, k):
        if self.x > 0:
            return self.x * k
        return self.x

    def __call__(self, k):
        if self.x > 0:
            return self.x * k
        return self.x

    @property
    def p(self):
        if self.x > 0:
            return self.x
        return -self.x

    @staticmethod
    def st(x):
        return x if x > 0 else -x

    @classmethod
    def cl(cls, x):
        return cls(x if x > 0 else -x)


def rmul(x):
    return (2 * V(x)).x


def rmul2(x):
    return (x * V(2.0)).x


def lt(x):
    return 1.0 if V(x) < V(2.0) else 2.0


def chain(x):
    return 1.0 if V(0.5) < V(x) < V(2.0) else 2.0


def neg(x):
    return (-V(x)).x


def iadd(x):
    v = V(x)
    v += 3.0
    return v.x


def contains(x):
    return 1.0 if 3.0 in V(x) else 2.0


def ncontains(x):
    return 1.0 if 3.0 not in V(x) else 2.0


def getitem(x):
    return V(x)[3]


def callit(x):
    return V(x)(3)


def st(x):
    return V.st(x) + V.cl(x).x


@functools.lru_cache(None)
def cached(x):
    return x * 2.0 if x > 0 else x


def lru(x):
    return cached(x) + cached(2.0)


@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fibs(x):
    return x * fib(20)


def gen(xs):
    return sum(x * 2 if x > 0 else x for x in xs)


def comp(xs):
    return np.array([x * 2 if x > 0 else x for x in xs])


@dataclasses.dataclass
class D:
    a: float
    b: float = 1.0

    def __post_init__(self):
        if self.a > 0:
            self.b = self.a * self.b


def dc(x):
    d = D(x, 3.0)
    return d.b


def part(x):
    return functools.partial(lambda a, b: a if b > 0 else b, 2.0)(x)


def match_(x, k):
    match k:
        case {'a': v}:
            for _ in range(3):
                x = x * v
        case _:
            x = x + 1
    return x


def lams(x):
    fs = [lambda y, i=i: y * i if y > 0 else y for i in range(3)]
    gs = []
    for i in range(3):
        gs.append(lambda y: y + i)  # noqa: B023
    return sum(f(x) for f in fs) + sum(g(x) for g in gs)


def localcls(x):

    class A:
        k = 3

        def m(self, y):
            if y > 0:
                return y * self.k
            return y
    return A().m(x)


class Mang:

    def __init__(self):
        self.__h = 0.0

    def run(self, x):
        for i in range(5):
            if x > i:
                self.__h += x
            self.__h = self.__h * 2 + i
        return self.__h


def mang(x):
    return Mang().run(x)


def walrus(x):
    n = 0
    while (y := (x * n)) < 10.0:
        n += 1
        if n > 50:
            break
    return y + n


def rec(x, n):
    if n == 0:
        return x
    return rec(x * 2 if x > 0 else x - 1, n - 1)


def even(x, n):
    return x if n == 0 else odd(x + 1, n - 1)


def odd(x, n):
    return x if n == 0 else even(x * 2 if x > 0 else x, n - 1)


def kwonly(x, /, *a, k=2.0, **kw):
    return x * k if x > 0 else sum(a) + kw.get('z', 0)


def kws(x):
    return kwonly(x, 1.0, 2.0, k=3.0, z=x)


@contextlib.contextmanager
def cm(l):
    l.append(1)
    yield 3.0
    l.append(2)


def withcm(x):
    l = []
    with cm(l) as k:
        if x > 0:
            x = x * k
    return x + len(l)


def tryfin(x):
    y = 0.0
    try:
        for i in range(4):
            if x > i:
                y += x
    finally:
        y += 1
    return y


def star(x):
    (a, *b), c = ((x, x * 2, x * 3), x)
    if a > 0:
        a, *b = b
    return a + c


def delt(x):
    t = x
    for _ in range(3):
        u = t * 2
        t = u
        del u
    return t


def asrt(x):
    assert x > 0, f'neg {x}'
    return x


def mapf(xs):
    return sum(map(lambda v: v if v > 0 else -v, xs))  # noqa: C417


def srt(x):
    return sorted([3, 1, 2], key=lambda k: -k)[0] * x


def redu(xs):
    return functools.reduce(lambda a, b: a + b if a > 0 else b, xs)


def acc(xs):
    return list(itertools.accumulate(xs, lambda a, b: a + b if a > 0 else b))[-1]


NUMBERS = [
    rmul, rmul2, lt, chain, neg, iadd, contains, ncontains, getitem, callit, st, lru, fibs, dc, part, lams, localcls, mang, kws, withcm, tryfin,
    star, delt, asrt, srt,
]  # fmt: skip
ARRAYS = [gen, comp, mapf, redu, acc]


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_numbers(function):
    for x in (1.5, -0.5):
        check_same(function, x)


@pytest.mark.parametrize("function", ARRAYS, ids=lambda f: f.__name__)
def test_arrays(function):
    check_same(function, np.array([1.0, -2.0, 3.0]))


@pytest.mark.parametrize("case", [(walrus, 1.5), (match_, 2.0, {"a": 2.0}), (match_, 2.0, 3), (rec, 1.5, 4), (rec, -1.5, 4), (even, 1.5, 5)])
def test_more(case):
    check_same(*case)


def handles(x):
    try:
        y = {"a": 1.0, "b": 2.0}["ab"[int(x)]]
    except TypeError:  # Python sees none: what the tracer raises here must not come to it
        y = 5.0
    return y


def divides(x, y):
    try:
        z = x / y
    except ZeroDivisionError:
        z = 7.0
    return z


def wraps(x, y):
    try:
        return x / y
    except ZeroDivisionError as error:
        raise ValueError("y") from error


def throws(x):
    try:
        if x > 0:
            raise ValueError("positive")
        y = 1.0
    except (KeyError, ValueError):
        y = 2.0
    return y


def looks(x):
    a = 1.0
    if x > 0:
        a = 2.0
    return locals()["a"]


def test_handlers_do_not_catch_what_the_tracer_says():
    assert jit(handles)(1.5) == handles(1.5)
    assert grad(handles)(1.5) == 0.0
    with pytest.raises(ConcretizationError):
        vmap(handles)(np.array([0.5, 1.5]))


def test_an_exception_that_data_decides_comes_to_its_handler():
    compiled, other = jit(divides), jit(throws)
    for _ in range(2):
        assert [compiled(1.0, y) for y in (2.0, 0.0)] == [divides(1.0, y) for y in (2.0, 0.0)]
        assert [other(x) for x in (-1.0, 1.0)] == [throws(x) for x in (-1.0, 1.0)]
    with pytest.raises(UnsupportedError, match="Python would go on in the `except`"):
        grad(divides)(1.0, 0.0)
    with pytest.raises(ValueError, match="y"):
        jit(wraps)(1.0, 0.0)


def test_functions_that_look_at_their_variables_say_so():
    assert [jit(looks)(x) for x in (1.0, -1.0)] == [2.0, 1.0]  # by value
    with pytest.raises(ConcretizationError, match=r"looks looks at its own variables by locals\(\)"):
        grad(looks)(1.0)
    assert jit(lambda x: vars(V(x))["x"] if x > 0 else x)(2.0) == 2.0


def test_caches_keep_nothing_traced():
    cached.cache_clear()
    jit(lru)(3.0)
    assert cached(4.0) == 8.0 and cached.cache_info().currsize == 2  # 2.0, which is no argument, and 4.0


def test_names_of_what_a_function_makes():
    def maker(n):
        for _ in range(n):
            class Made:
                def method(self):
                    return 1
            made = n and (lambda: 2)
        return Made.__qualname__, Made.method.__qualname__, made.__qualname__, made.__name__

    assert convert(maker) is not maker and convert(maker)(1) == maker(1)


def test_classes_made_where_nothing_has_a_name():
    text = "class Box:\n    def __add__(self, x):\n        if x.sum() > 0:\n            return x\n        return -x\n"
    text += "def f(x):\n    o = Box()\n    o.h = x * 2\n    return o + o.h\n"
    space = {}
    linecache.cache["<nameless>"] = len(text), None, text.splitlines(True), "<nameless>"
    exec(compile(text, "<nameless>", "exec"), space)
    f = jit(space["f"])
    for x in (np.ones(2), -np.ones(2)):
        assert np.array_equal(f(x), [2.0, 2.0])
    assert "stores" not in f.explain() and "by value" not in f.explain()
