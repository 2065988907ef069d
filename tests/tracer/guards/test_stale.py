"""Answers that would be stale: what a trace relied on has changed since, in a place that is no variable of the user's."""

import abc
import builtins
import decimal
import functools
import math
import sys
import types
import typing

import numpy as np
import pytest

import wengert as wg

X = np.arange(3.0) + 1


def follows(f, *changes, args=(X,)):
    """That a compiled function answers as Python does, before and after each change, and again."""
    g = wg.jit(f)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(g(*args), f(*args))


# -- the module builtins ---------------------------------------------------------------------------


def test_a_builtin_is_exchanged(monkeypatch):
    put = lambda name, value: lambda: monkeypatch.setattr(builtins, name, value, raising=False)
    follows(lambda x: x * abs(-3.0), put("abs", lambda v: 10.0), put("abs", abs))
    follows(lambda x: abs(x), put("abs", lambda v: v * 10.0), put("abs", abs))


def test_a_constant_among_the_builtins_changes(monkeypatch):
    put = lambda value: lambda: monkeypatch.setattr(builtins, "KONST", value, raising=False)
    put(2.0)()
    follows(lambda x: x * KONST, put(3.0), put(np.array([1.0, 2.0, 3.0])), put(4))  # noqa: F821


# -- modules ---------------------------------------------------------------------------------------


def module(name, **held):
    made = types.ModuleType(name)
    vars(made).update(held)
    return made


def test_a_module_imported_inside_is_exchanged(monkeypatch):
    put = lambda **held: lambda: monkeypatch.setitem(sys.modules, "stale_module", module("stale_module", **held))
    store = lambda **held: lambda: vars(sys.modules["stale_module"]).update(held)

    def whole(x):
        import stale_module

        return x * stale_module.K

    def part(x):
        from stale_module import K as k

        return x * k

    def parts(x):
        if x.shape[0] > 1:
            from stale_module import K, f
        return f(x) * K

    for f in (whole, part, parts):
        put(K=2.0, f=lambda x: x + 1)()
        follows(f, put(K=3.0, f=lambda x: x + 2), store(K=4.0), store(K=X + 1), lambda: sys.modules["stale_module"].K.fill(7.0))


def test_a_module_appears_and_goes(monkeypatch, tmp_path):
    def whole(x):
        try:
            import stale_absent  # noqa: F401
        except ImportError:
            return x * 3
        return x * 2

    def part(x):
        try:
            from stale_absent import K
        except ImportError:
            K = 5.0
        return x * K

    come = lambda **held: lambda: monkeypatch.setitem(sys.modules, "stale_absent", module("stale_absent", **held))
    go = lambda: monkeypatch.delitem(sys.modules, "stale_absent")
    for f in (whole, part):
        follows(f, come(), come(K=2.0), go)
    monkeypatch.syspath_prepend(tmp_path)
    follows(whole, lambda: (tmp_path / "stale_absent.py").write_text("K = 8.0\n"))
    monkeypatch.delitem(sys.modules, "stale_absent")


# -- what is an instance of what -------------------------------------------------------------------


def test_isinstance_of_classes_that_change():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    class Says(type):
        on = False

        def __instancecheck__(cls, x):
            return Says.on

        def __subclasscheck__(cls, x):
            return Says.on

    class Asked(metaclass=Says):
        pass

    @typing.runtime_checkable
    class Goes(typing.Protocol):
        def go(self): ...

    @typing.runtime_checkable
    class Has(typing.Protocol):
        held: int

    class Old:
        pass

    class New:
        pass

    def made():
        class Thing(Old):
            pass

        return Thing

    def both(kinds, change):
        outside, inside, whole = made(), made(), made()
        x = outside()
        follows(lambda a: a * 2 if isinstance(x, kinds) else a * 3, lambda: change(outside))
        follows(lambda a: a * 2 if isinstance(inside(), kinds) else a * 3, lambda: change(inside))
        if kinds is not Has:
            follows(lambda a: a * 2 if issubclass(whole, kinds) else a * 3, lambda: change(whole))

    base = lambda thing: setattr(thing, "__bases__", (New,))
    on = lambda thing: setattr(Says, "on", not Says.on)
    for kinds, change in [
        (Abstract, Abstract.register), (Asked, on), ((int, Asked), on), (Goes, lambda thing: setattr(thing, "go", abs)), (New, base),
        (Has, lambda thing: setattr(thing, "held", 1)), (int | New, base), ((Abstract, New), base), ((Abstract, (New, int)), Abstract.register),
    ]:  # fmt: skip
        both(kinds, change)
    x = made()()
    follows(lambda a: a * 2 if isinstance(x, New) else a * 3, lambda: setattr(x, "__class__", New))
    follows(lambda a: a * 2 if isinstance(a[0], Abstract) else a * 3, lambda: Abstract.register(np.float64))


# -- functions behind a cache ----------------------------------------------------------------------


def test_a_cached_function_is_asked_again():
    held = {"k": 3.0}

    @functools.lru_cache
    def table(i):
        return i * held["k"]

    @functools.cache
    def row(n):
        return np.arange(n) * held["k"]

    @functools.cache
    def pair(n):
        return [n, held["k"]]

    for f, ask in [(lambda x: x * table(3), table), (lambda x: x * row(3), row), (lambda x: x * pair(3)[1], pair)]:
        held["k"] = 3.0
        ask.cache_clear()
        ask(3)
        follows(f, lambda: held.update(k=7.0), ask.cache_clear, lambda: held.update(k=8.0))


def test_a_cached_function_of_data_does_nothing_else():
    n, log = [0], []

    @functools.cache
    def counts(v):
        n[0] += 1
        return v * 2

    @functools.cache
    def logs(v):
        log.append(1)
        return v * 2

    @functools.cache
    def twice(v):
        made = [v]
        made.append(v)
        return sum(made)

    for f in (counts, logs):
        with pytest.raises(wg.UnsupportedError, match=f"{f.__name__}\\(\\) is behind a cache and stores"):
            wg.jit(lambda x: x * f(float(x[1])))(X)  # noqa: B023
    follows(lambda x: x * twice(float(x[1])))


# -- the context of decimal ------------------------------------------------------------------------


def test_the_precision_of_decimals_changes():
    one = decimal.Decimal(1)
    third = lambda x: x * float(decimal.Decimal(1) / decimal.Decimal(3))
    outer = lambda x: x * float(one / 3)

    def inner(x):
        from decimal import Decimal

        return x * float(Decimal(1) / 3)

    for f in (third, outer, inner):
        with decimal.localcontext() as c:
            follows(f, lambda: setattr(c, "prec", 3), lambda: setattr(c, "rounding", decimal.ROUND_UP))


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("z", [np.complex64(1 + 2j), 1 + 2j, np.complex128(1 + 2j), 2.0, 3, True, np.float32(2)])
def test_complex_of_two(z):
    f = lambda z: (complex(2.0, z), complex(z, 2.0), complex(z, z))
    assert wg.jit(f)(z) == f(z)
    assert wg.jit(lambda: f(z))() == f(z)


@pytest.mark.parametrize("x", [np.float32(2.5), np.float64(2.5), 2.5, np.array(2.5), np.int32(3), 4])
def test_trunc(x):
    try:
        want = math.trunc(x)
    except TypeError as error:
        with pytest.raises(TypeError, match=str(error)):
            wg.jit(lambda x: math.trunc(x))(x)
    else:
        assert wg.jit(lambda x: math.trunc(x))(x) == want
