"""Results that are soon there are asked for; those of programs that take longer are asked for seldom."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends.xla import dispatch, spinning


class Result:
    """Is there after some questions."""

    def __init__(self, questions):
        self.questions, self.asked = questions, 0

    def is_ready(self):
        self.asked += 1
        return self.asked > self.questions


@pytest.fixture
def spin(monkeypatch):
    monkeypatch.setattr(spinning, "CORES", 2)
    return spinning.Spin()


def test_what_is_there_is_asked_once(spin):
    result = Result(0)
    spin(result)
    assert result.asked == 1 and spin.vain == 0


def test_what_comes_soon_is_asked_for_until_it_is_there(spin, monkeypatch):
    monkeypatch.setattr(spinning, "LONGEST", 60.0)
    result = Result(50)
    spin(result)
    assert result.asked == 51 and (spin.vain, spin.skip) == (0, 0)


def test_what_takes_longer_is_asked_for_ever_more_seldom(spin, monkeypatch):
    monkeypatch.setattr(spinning, "LONGEST", 0.0)
    never, waits = float("inf"), []
    for _ in range(12):
        spin(Result(never))
        waits.append(spin.skip)
        spin.skip = 0
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 256, 256, 256, 256]
    spin.skip = 3
    late = Result(never)
    spin(late)
    assert late.asked == 1 and spin.skip == 2  # looked at, and not asked for
    monkeypatch.setattr(spinning, "LONGEST", 60.0)
    spin.skip = 0
    spin(Result(1))
    assert spin.vain == 0


def test_on_one_core_nothing_is_asked_for(monkeypatch):
    monkeypatch.setattr(spinning, "CORES", 1)
    spin, result = spinning.Spin(), Result(float("inf"))
    spin(result)
    assert result.asked == 1


def chain(x):
    return np.sin(x) * np.exp(-x) + np.tanh(x)


def total(x):
    return np.sum(np.sin(x) * x)


def split(x):
    if np.sum(x) < -1e9:
        raise ValueError("too little")
    return np.sin(x) * 2.0


def until_small(x):
    while np.sum(x * x) > 1.0:
        x = x * 0.5
    return x


@pytest.mark.parametrize("f", [chain, total, split, until_small, grad(total)])
@pytest.mark.parametrize("n", [3, 700, 30_000])
def test_calls_wait_so_and_give_the_same(f, n):
    """Of programs that run in the call, beside it, and for longer than is asked for."""
    loops = f is until_small
    x = np.random.default_rng(n).standard_normal(n)
    plain = f if f in (chain, total, split, until_small) else (lambda x: np.cos(x) * x + np.sin(x))
    f = jit(f, engine="xla")
    for _ in range(5):
        np.testing.assert_allclose(f(x), plain(x), rtol=1e-12, atol=1e-12)
    if dispatch.on_host() and not loops:  # which hear signals meanwhile
        assert "is_ready" in f.__code__.co_names

