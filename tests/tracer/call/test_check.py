"""jit(check=True): agrees where all is well; where something is made to go wrong, the line named is the right one."""

import numpy as np
import pytest
from jax import lax

from wengert import CheckError, UnsupportedError, jit
from wengert.backends.xla.table import XLA
from wengert.ir import pipeline
from wengert.ir.core import Builder, Lit
from wengert.ir.ops import OPS
from wengert.tracer.call import check as module
from wengert.tracer.numpy_api import ufunc_calls
from wengert.tracer.numpy_api.registry import HANDLERS
from wengert.tracer.values.promote import UFUNCS

X = np.array([0.5, 1.0, 2.0])


def wave(x):
    y = x * 2
    z = np.sin(y)
    return z + y


def looped(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.7:
            s = s + np.sin(x[i])
        else:
            s = s + x[i]
    return s


def stores(x, k):
    x[0] = 7.0
    x[k] = np.sin(x[1])
    return x


def line(function, n):
    return f"test_check.py:{function.__code__.co_firstlineno + n}\n"


def fails(function, *args):
    with pytest.raises(CheckError) as caught:
        jit(function, check=True)(*args)
    return str(caught.value)


def captured_as(monkeypatch, op):
    monkeypatch.setitem(UFUNCS, np.sin, op)
    monkeypatch.setattr(ufunc_calls, "_plans", {})


def test_nothing_differs():
    assert jit(looped, check=True)(X) == pytest.approx(looped(X))
    x, y = X.copy(), X.copy()
    got = jit(stores, check=True)(x, 1)
    assert got is x and np.array_equal(x, stores(y, 1))


def test_same_errors_are_the_callers():
    x = X.copy()
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 3"):
        jit(stores, check=True)(x, np.int64(9))
    assert np.array_equal(x, X)


def test_refusals_stay_refusals():
    with pytest.raises(UnsupportedError):
        jit(lambda x: x.tobytes(), check=True)(X)


def test_outside_state_and_generators_run_once():
    class Counter:
        pass

    c = Counter()
    c.log = []

    def f(x):
        return x * len(c.log)

    c.log.append(1)
    before = np.random.get_state(legacy=False)["state"]["pos"]
    assert np.array_equal(jit(f, check=True)(X), X)
    assert c.log == [1] and np.random.get_state(legacy=False)["state"]["pos"] == before


def test_what_lies_in_slots_is_put_back():
    class Noisy:
        __slots__ = ("rng", "total", "late")

        def __init__(self):
            self.rng, self.total = np.random.default_rng(3), 0.0

    def f(held, x):
        held.total += x[0]
        held.late = x.sum() + held.rng.standard_normal()
        return x + held.total

    held, other = Noisy(), Noisy()
    for _ in range(2):
        assert np.array_equal(jit(f, check=True)(held, X), f(other, X))
    assert (held.total, held.late) == (other.total, other.late)


def test_a_wrong_lowering(monkeypatch):
    monkeypatch.setitem(XLA.rules, OPS["sin"], lax.cos)
    text = fails(wave, X)
    assert line(wave, 2) in text and "result gives" in text and "`sin` gives" in text
    assert f"{np.cos(1.0)!r}"[11:20] in text and f"{np.sin(1.0)!r}"[11:20] in text
    text = fails(looped, X)
    assert line(looped, 4) in text and "`sin`" in text


def test_a_wrong_lowering_behind_a_store(monkeypatch):
    monkeypatch.setitem(XLA.rules, OPS["sin"], lax.cos)
    x = X.copy()
    text = fails(stores, x, 2)
    assert line(stores, 2) in text and np.array_equal(x, X)


def test_a_wrong_capture(monkeypatch):
    captured_as(monkeypatch, OPS["cos"])
    text = fails(wave, X)
    assert line(wave, 2) in text and "There z, as captured" in text
    text = fails(looped, X)
    assert line(looped, 2) in text and "After this loop s, as captured" in text


def test_a_wrong_pass(monkeypatch):
    def wrong(func, **options):
        build, env = Builder(func.name), {}
        with build:
            for p in func.params:
                env[p] = build.param(p.type, p.hint)
            for eqn in func.eqns:
                build.replay(eqn, env, OPS["cos"] if eqn.op is OPS["sin"] else None)
        return build.finish([r if isinstance(r, Lit) else env[r] for r in func.results])

    passes = (*pipeline.PIPELINE[:2], wrong)
    monkeypatch.setattr(module, "PIPELINE", passes)
    monkeypatch.setattr(pipeline.run, "__defaults__", (passes, *pipeline.run.__defaults__[1:]))
    assert "The pass wrong changes it" in fails(wave, X)


def test_an_error_on_one_side(monkeypatch):
    text = fails_with_status(monkeypatch)
    assert "it returns, where plain Python raises IndexError: index 9" in text


def fails_with_status(monkeypatch):
    monkeypatch.setitem(XLA.rules, OPS["ge"], lambda x, y: lax.full_like(lax.ge(x, y), True))
    monkeypatch.setitem(XLA.rules, OPS["lt"], lambda x, y: lax.full_like(lax.lt(x, y), True))
    return fails(stores, X.copy(), np.array(9))


def test_it_names_dtypes(monkeypatch):
    monkeypatch.setitem(HANDLERS, np.flip, lambda x: x.astype(np.float32))
    assert "result is float32[3], where plain Python gives float64[3]" in fails(lambda x: np.flip(x), X)
