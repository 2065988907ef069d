"""Small calls that the function in front does not know are left to plain Python where that takes less; each runs once."""

import collections
import random

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from compare import agree

from wengert import jit, rule
from wengert.ir.bounded import ENTRIES
from wengert.tracer.call import callee, patience, slow_calls
from wengert.tracer.program import backend_choice

LENGTHS = 9  # more than are tested inline


@pytest.fixture
def soon(monkeypatch):
    """soon(wins): calls are timed early, and plain Python wins, or never does."""
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)

    def begin(wins):
        monkeypatch.setattr(slow_calls, "QUIET", 4)
        monkeypatch.setattr(slow_calls, "TIMED", 3)
        monkeypatch.setattr(slow_calls, "BRIEF", 1e9)
        for name in ("FASTER", "STILL"):
            monkeypatch.setattr(slow_calls, name, 1e9 if wins else 0.0)

    return begin


class Seen:
    def __init__(self):
        self.count, self.last = 0, np.zeros(2)

    def step(self, values, scale):
        self.count += 1
        self.last = self.last + scale
        values.append(scale)
        return [v * scale for v in values if v > 0.5]


def lists(number, seed=0):
    random.seed(seed)
    return [[random.random() for _ in range(k % LENGTHS + 1)] for k in range(number)]


@pytest.mark.parametrize("wins", [True, False])
def test_each_call_runs_once_whoever_answers(soon, wins):
    soon(wins)
    f, plain, ours = jit(Seen.step), Seen(), Seen()
    for k, values in enumerate(lists(60 * LENGTHS)):
        one, other = list(values), list(values)
        assert f(ours, one, 0.75 + k % 2) == plain.step(other, 0.75 + k % 2)
        assert one == other and ours.count == plain.count
        agree(ours.last, plain.last)
    known = f.compiled.slow_calls
    assert known.plain is wins
    assert known.answered > (20 * LENGTHS if wins else 0)
    assert "it takes less time than to find the program of a call" in f.explain()


def test_what_is_asked_for_is_compiled(soon):
    soon(True)
    for options in ({"whole": True}, {"engine": "numpy"}, {"promote": "weak"}):
        f = jit(lambda values: [v * 2.0 for v in values], **options)
        for values in lists(20 * LENGTHS):
            assert [float(x) for x in f(values)] == [v * 2.0 for v in values]
        assert not f.compiled.slow_calls.answered


def test_jax_arrays_stay_jax_arrays(soon):
    soon(True)

    def doubled(values):
        return [v * 2.0 for v in values]

    f = jit(doubled)
    for values in lists(40 * LENGTHS):
        assert f(values) == doubled(values)
        assert isinstance(f([jnp.ones(2)])[0], type(jnp.ones(2)))
    assert f.compiled.slow_calls.answered


Pair = collections.namedtuple("Pair", "array number")


@pytest.mark.parametrize("held", [lambda x: {"a": x}, lambda x: collections.OrderedDict(a=x), lambda x: Pair(x, 2.0), lambda x: [x], lambda x: x])
def test_arrays_within_containers_keep_their_kind(soon, held):
    soon(True)

    def both(values, box):
        x = box["a"] if isinstance(box, dict) else box[0] if isinstance(box, list | tuple) else box
        return x * 2.0, len(values)

    f = jit(both)
    for k, values in enumerate(lists(40 * LENGTHS)):
        x = jnp.ones(2) if k % 3 == 0 else np.ones(2)
        assert isinstance(f(values, held(x))[0], type(x))
    assert f.compiled.slow_calls.plain


def added(values):
    total = 0.0
    for v in values:
        total = total + v
    return total


@pytest.mark.parametrize("patient", [True, False])
def test_small_floats_are_never_left_to_plain_python(soon, monkeypatch, patient):
    soon(True)
    if not patient:
        monkeypatch.setattr(patience, "MOST", 1 << 30)
    f = jit(lambda values: added([v.sum() for v in values]))
    for values in lists(40 * LENGTHS):
        f([np.full(3, v) for v in values])
    ones = np.ones(1000, ml_dtypes.bfloat16)  # which NumPy adds up to 256
    for k in range(3 * LENGTHS):
        assert float(f([ones] * (k % 3 + 1))) == 1000.0 * (k % 3 + 1)


@pytest.mark.parametrize("patient", [True, False])
def test_rules_that_change_numbers_are_in_force_whoever_answered_before(soon, monkeypatch, patient):
    soon(True)
    if not patient:
        monkeypatch.setattr(patience, "MOST", 1 << 30)

    def stable(x):
        m = x.max()
        return m + np.log(np.exp(x - m).sum())

    f = jit(lambda values: np.log(np.exp(added(values)).sum()))
    for values in lists(40 * LENGTHS):
        f([np.full(2, v) for v in values])
    with rule(lambda x: np.log(np.exp(x).sum()), stable):
        for k in range(3 * LENGTHS):
            n = k % LENGTHS + 1
            assert np.isfinite(f([np.full(2, 1000.0 / n)] * n))


def test_long_loops_are_not_tried(soon):
    soon(True)

    def settled(values):
        x = values[0]
        for _ in range(100_000):
            x = 0.5 * (x + 1.0)
        return x + len(values)

    f = jit(settled)
    for values in lists(3 * LENGTHS):
        for _ in range(4):
            f(values)
    assert not f.compiled.slow_calls.answered


def test_plain_python_that_comes_to_take_longer_answers_no_more():
    f = jit(lambda x: x)
    one = f.compiled.slow_calls
    one.calls, one.plain = 1, True
    for _ in range(slow_calls.TIMED):
        one.took(f.compiled, False, 1e-5)
        one.took(f.compiled, True, 2e-5)
    assert not one.plain and one.calls == -slow_calls.AGAIN
    one.calls, one.plain = 1, True
    for _ in range(slow_calls.FEW + 1):
        assert one.plain
        one.took(f.compiled, True, 2 * slow_calls.BRIEF)
    assert not one.plain


def test_sets_in_turn_are_tested_inline_ever_more_rarely(monkeypatch):
    monkeypatch.setattr(slow_calls, "QUIET", 1 << 40)
    f, made = jit(lambda values: sum(values)), []
    code = type(f.compiled.front).code
    monkeypatch.setattr(type(f.compiled.front), "code", lambda front, hot: made.append(hot) or code(front, hot))
    for values in lists(100 * LENGTHS):
        agree(f(values), sum(values))
    most = callee.RARELY.bit_length()
    assert len(made) <= LENGTHS * (most + 2)


def test_the_programs_of_many_shapes_are_found_in_a_table(monkeypatch):
    """Each answers its own, whichever come in between, and however the set has grown meanwhile."""
    monkeypatch.setattr(backend_choice, "CHOICE", "numpy")
    f, plain, rng = jit(lambda x, y: np.sort(x)[::2] + y), (lambda x, y: np.sort(x)[::2] + y), np.random.default_rng(0)
    for n in [*range(2, 40), *rng.integers(2, 60, 200)]:
        for kind in (float, np.float32):
            x = rng.random(n).astype(kind)
            agree(f(x, 0.5), plain(x, 0.5))
    (here,) = (w for e in f.compiled.entries.values() for w in e.worlds)
    assert len(here.versions) > 16 and all(v in here.fitting(v.types) for v in here.versions)
    assert here.known[-1].most == ENTRIES
