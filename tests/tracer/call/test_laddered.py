"""Programs of symbolic sizes through XLA answer calls of the sizes of a step, and give what plain Python gives."""

import time

import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.backends.xla.ladder import FINEST, step_for
from wengert.tracer.call import families, laddered, symbolic

SIZES = [40, 41, 44, 47, 43, 48]  # of one step


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    """Families are found at once, and XLA is asked at the first call of a step and counts as faster."""
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)
    monkeypatch.setattr(families, "TIMES", 0.0)
    monkeypatch.setattr(laddered, "SHARE", 0.0)
    monkeypatch.setattr(laddered, "timed", lambda run: 0.0 * len([run()]))


def ladders(f):
    found = [here.sizing for e in f.compiled.entries.values() for here in e.worlds if here.sizing is not None]
    return [s.laddered for sizing in found for s in sizing.families if s.laddered is not None]


def climbed(f, calls):
    """f after enough calls that a step answers; `calls` gives arguments for sizes."""
    for n in (*SIZES, *SIZES):
        f(*calls(n))
    end = time.monotonic() + 120
    while any(s.state == laddered.ASKED for one in ladders(f) for s in one.steps.values()) and time.monotonic() < end:
        time.sleep(0.02)
    return f


def answers(f):
    return sum(s.answered for one in ladders(f) for s in one.steps.values())


def softly(x):
    return np.log1p(np.exp(x)).sum() / np.sqrt(x.size), np.sort(x)[::-1], np.cumsum(x[::-1])


def of_length(n):
    return (np.linspace(-1.0, 1.0, n) * n,)


def test_a_size_in_a_row_waits_for_no_step(monkeypatch):
    """It has a program of its own as soon as its calls have paid for that; sizes that take turns have the step's."""
    monkeypatch.setattr(symbolic, "LEAST_COST", 0.0)
    monkeypatch.setattr(symbolic, "own_cost", lambda here: 0.0)
    asked = []
    monkeypatch.setattr(laddered.WORKER, "ask", lambda job: asked.append(job) or True)
    f = jit(softly)
    for n in SIZES[:4]:
        f(*of_length(n))
    (one,) = {s for e in f.compiled.entries.values() for here in e.worlds if here.sizing is not None for s in here.sizing.families}
    one.exact.clear(), one.laddered.steps.clear(), asked.clear()
    for _ in range(3):
        agree(f(*of_length(43)), softly(*of_length(43)))
    assert not [job for job in asked if isinstance(job, laddered.StepJob)] and (43,) in one.exact
    assert all(step.state == laddered.WAITS for step in one.laddered.steps.values())
    monkeypatch.setattr(symbolic, "own_cost", lambda here: 1e9)
    for n in (42, 46, 42):
        f(*of_length(n))
    assert [job for job in asked if isinstance(job, laddered.StepJob)] and not {(42,), (46,)} & one.exact


def test_values_are_those_of_plain_python_at_all_sizes_of_a_step():
    f = climbed(jit(softly), of_length)
    before = answers(f)
    for n in SIZES:
        agree(f(*of_length(n)), softly(*of_length(n)))
    assert answers(f) == before + len(SIZES) - 1  # the first size has a program of its own
    (one,) = ladders(f)
    assert [s.state for s in one.steps.values()] == [laddered.FASTER]
    assert "ladder       n <= 48: faster" in str(f.explain())


def test_a_failing_check_raises_what_python_raises():
    def picked(x, i):
        return x[i] * x.sum()

    calls = lambda n: (np.linspace(0.0, 1.0, n), np.array([0, n - 1]))
    f = climbed(jit(picked), calls)
    for n in SIZES:
        agree(f(*calls(n)), picked(*calls(n)))
        with pytest.raises(IndexError, match=f"size {n}"):
            f(calls(n)[0], np.array([0, n]))  # within the room, beyond the array
    assert answers(f) == len(SIZES) - 1


def test_arguments_are_written():
    def halved(x):
        x[1:] = x[:-1] * 0.5
        return x.sum()

    f = climbed(jit(halved), of_length)
    before = answers(f)
    for n in SIZES:
        (mine,), (theirs,) = of_length(n), of_length(n)
        agree(f(mine), halved(theirs))
        agree(mine, theirs)
    assert answers(f) > before


def test_results_are_of_their_own_memory():
    f = climbed(jit(lambda x: (x, x * 2.0)), of_length)
    (x,) = of_length(45)
    a, b = f(x)
    assert a is x
    again = f(of_length(45)[0] + 1.0)[1]
    agree(b, x * 2.0)
    b[:] = 7.0
    agree(again, (x + 1.0) * 2.0)


def test_a_slower_step_answers_nothing(monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr(laddered, "timed", lambda run: -next(seconds) * (1.0 + 0 * len([run()])))
    f = climbed(jit(softly), of_length)
    for n in SIZES:
        agree(f(*of_length(n)), softly(*of_length(n)))
    assert answers(f) == 0
    assert {s.state for one in ladders(f) for s in one.steps.values()} == {laddered.SLOWER}


def test_what_has_no_room_is_told():
    f = climbed(jit(lambda x: np.abs(np.fft.rfft(x))), of_length)
    ((step,),) = [one.steps.values() for one in ladders(f)]
    assert step.state == laddered.NONE and "another one" in step.why
    for n in SIZES:
        agree(f(*of_length(n)), np.abs(np.fft.rfft(*of_length(n))))


def test_steps_are_few_and_near():
    sizes = range(2, 5000)
    steps = [step_for(n) for n in sizes]
    assert all(s >= n and s <= max(1.25 * n, n + FINEST) for n, s in zip(sizes, steps))
    assert steps == sorted(steps) and len(set(steps)) <= 4 * 13
    assert {step_for(n, 6, 1) % 6 for n in range(7, 700, 6)} == {1}


def test_without_xla_there_is_no_ladder():
    assert ladders(climbed(jit(softly, engine="numpy"), of_length)) == []


def test_arrays_that_other_traces_take_in_from_outside_are_none_of_its_operands():
    """The first trace holds np.eye(n) as an array; the program of all sizes makes it."""

    def laplacian(x):
        return (2 * np.eye(len(x)) - np.eye(len(x), k=1)) @ x

    f = climbed(jit(laplacian), of_length)
    for n in SIZES:
        agree(f(*of_length(n)), laplacian(*of_length(n)))
    assert answers(f) == len(SIZES) - 1
