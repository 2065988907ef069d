"""What a call reads of an object's class, through hooks and without: every way of changing the class is seen by the next call."""

import functools
import linecache
import operator

import numpy as np
import pytest

import wengert as wg

SOURCE = '''
class Root:
    c = 0.5
    def q(self): return 10.0
class Base(Root):
    c = 1.5
    def __init__(self, v): self.v, self.n = v, 2
    @property
    def p(self): return self.v + self.c
    @functools.cached_property
    def cp(self): return 1
    @classmethod
    def cm(cls, x): return x * cls.c
    @staticmethod
    def sm(x): return x * 2
    def q(self): return 20.0
    def m(self, x): return x * type(self).c
    def plain(self, x): return x * self.c
class A(Base):
    def __float__(self): return float(self.p) + self.sm(1) + self.cm(2.0)
    def __index__(self): return int(getattr(self, "sm")(2))
    def above(self, x): return x * super().q()
    def dunder(self, x): return x * self.__class__.c
    def classwise(self, x): return self.cm(x)
    def static(self, x): return self.sm(x)
    def through(self, x): return x * self.p
class B(A):
    c = 3.0
    def q(self): return 5.0
    @staticmethod
    def sm(x): return x * 3
    @property
    def p(self): return 77.0
a = A(3.0)
def f(x):
    y = x
    for _ in range(2):
        y = y + {}
    return y
'''
READS = """
a.cm(x); a.m(x); a.above(x); a.plain(x); a.dunder(x); a.classwise(x); a.static(x); a.through(x); np.float64(a); float(a); [1.0, 2.0, 3.0, 4.0, 5.0][a]
x * operator.attrgetter("p")(a); x * getattr(a, "c"); x * len(type(a).__name__); x * isinstance(a, B); a.sm(x); x * a.p
operator.methodcaller("cm", 2.0)(a); sum(map(a.cm, [1.0, 2.0]))
"""
CHANGES = """
a.__class__ = B; Base.p = property(lambda self: self.v * 4.0); Base.sm = staticmethod(lambda x: x * 1.5); Base.cm = classmethod(lambda c, x: x * 9)
Base.c = 9.0; Root.q = lambda s: 1.0; Base.q = lambda s: 2.0; A.p = property(lambda s: 8.0); A.c = 4.0; a.sm = lambda x: x * 0.5; a.v = 8.0
"""
listed = lambda text: [part.strip() for line in text.strip().split("\n") for part in line.split(";")]


def world(read):
    text, file = SOURCE.replace("{}", read), f"<class guards {read}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "__main__", "functools": functools, "np": np, "operator": operator}
    exec(compile(text, file, "exec"), space)
    return space


def answer(f):
    try:
        return f(np.float64(1.0))
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("read", listed(READS))
def test_every_change_of_a_class_is_seen(read):
    for change in listed(CHANGES):
        space = world(read)
        compiled = wg.jit(space["f"], engine="numpy")
        assert answer(compiled) == answer(space["f"]), "first call"
        exec(change, space)
        assert answer(compiled) == answer(space["f"]), change
