"""Plain Python answers the calls of a program that waits for XLA, where it takes less time; each call runs once."""

import ast
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.benchmarks.timing import is_settling
from wengert.tracer.call import deferred, interim
from wengert.tracer.program import backend_choice, clock


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)  # a win for XLA may be little
    monkeypatch.setattr(deferred, "EQUATION", 1e9)


class Counter:
    def __init__(self):
        self.n, self.x = 0, np.ones(30)

    def step(self, y):
        self.n += 1
        for i in range(1, len(self.x)):
            self.x[i] = self.x[i - 1] * 0.5 + y
        return self.n + np.tanh(self.x).sum()


def made(f):
    return [v.deferred for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]


@pytest.mark.parametrize("plain_is_faster", [True, False])
def test_the_faster_answers_and_each_call_is_run_once(monkeypatch, plain_is_faster):
    f, a, b = jit(Counter.step), Counter(), Counter()
    for n in range(12):
        agree(f(b, 0.5), Counter.step(a, 0.5))
        agree((b.n, b.x), (a.n, a.x))
        if n == interim.TRIES:
            (waiting,) = made(f)
            waiting.least = 10.0 if plain_is_faster else 0.0
            monkeypatch.setattr(interim, "WAY", 0.0)
    assert waiting.interim.calls == (9 if plain_is_faster else 1)
    assert waiting.calls + waiting.interim.calls == 12
    assert (", and as plain Python for 9; waits for XLA until it pays" in f.explain()) == plain_is_faster


def test_plain_calls_pay_for_xla(monkeypatch):
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: [job.run()] and True)
    f, a, b = jit(Counter.step), Counter(), Counter()
    for n in range(10 + 2 * deferred.TURNS):
        agree(f(b, 0.5), Counter.step(a, 0.5))
        if n == interim.TRIES:
            (waiting,) = made(f)
            waiting.least = 10.0
        if n == 8:
            assert waiting.interim.calls == 6 and is_settling(f)
            waiting.interim.deferred.seconds = waiting.estimate
    assert waiting.interim.calls == 6 and waiting.calls == 4 and not is_settling(f)
    agree((b.n, b.x), (a.n, a.x))


def disturbed(run):
    """As `clock.woken`, where other threads have Python meanwhile."""
    run()
    return 1e9


@pytest.mark.parametrize("spent, numpy", [((1.0, 4.0), True), ((3.0, 1.0), False), ((1.0, 0.95), True)])
def test_calls_tell_which_form_is_faster(monkeypatch, spent, numpy):
    """Some calls by one, then some by the other; the least of each counts, but for what is alike."""
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: [job.run()] and True)
    monkeypatch.setattr(deferred.clock, "woken", disturbed)
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: spent)
    f, a, b = jit(Counter.step), Counter(), Counter()
    for n in range(12 + 2 * deferred.TURNS):
        agree(f(b, 0.5), Counter.step(a, 0.5))
        agree((b.n, b.x), (a.n, a.x))
        if n == 3:
            (waiting,) = made(f)
            waiting.seconds = waiting.estimate
    (version,) = [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]
    assert not is_settling(f) and version.engine == ("NumPy" if numpy else None) and version.times == spent
    assert [len(x) for x in waiting.trial.spent] == [deferred.TURNS, deferred.FEW if spent == (1.0, 4.0) else 0]


@pytest.mark.parametrize(
    "xla, woken, numpy, calls, ahead",
    [
        (50e-6, 8e-6, 30e-6, 0, "XLA"),  # whose threads are awake where calls come in a row
        (50e-6, 5e-3, 30e-6, deferred.TURNS, "NumPy"),  # it was timed while other threads had Python
        (20e-6, 40e-6, 30e-6, deferred.TURNS, "XLA"),
        (50e-6, 40e-6, 30e-6, deferred.TURNS, "NumPy"),
        (90e-6, 40e-6, 2e-6, deferred.FEW, "NumPy"),  # it could not be ahead
    ],
)
def test_the_least_that_xla_took_counts(monkeypatch, xla, woken, numpy, calls, ahead):
    now = [0.0]
    monkeypatch.setattr(deferred.time, "perf_counter", lambda: now[0])

    def spends(seconds):
        now[0] += seconds

    trial = deferred.EngineTrial(lambda *_: spends(numpy), lambda *_: spends(xla), (float("inf"), woken))
    while not trial.ended():
        trial([])
    ours, theirs = trial.times()
    assert [len(x) for x in trial.spent] == [deferred.TURNS, calls] and (ours < theirs) == (ahead == "NumPy")


def test_what_becomes_ready_within_a_call_is_compared_too(monkeypatch):
    """The worker may be done while a call of the program runs: nearly always, where that takes most of the time."""
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: jobs.append(job) or True)
    monkeypatch.setattr(deferred.clock, "woken", disturbed)
    monkeypatch.setattr(deferred.EngineTrial, "times", lambda trial: (1.0, 4.0))
    monkeypatch.setattr(interim, "WAY", 0.0)
    jobs, f, a, b = [], jit(Counter.step), Counter(), Counter()

    def meanwhile(*leaves, run):
        while jobs:
            jobs.pop().run()
        return run(*leaves)

    for n in range(12 + 2 * deferred.TURNS):
        agree(f(b, 0.5), Counter.step(a, 0.5))
        if n == 3:
            (waiting,) = made(f)
            waiting.least, waiting.seconds = 0.0, waiting.estimate
            waiting.run_as_numpy = partial(meanwhile, run=waiting.run_as_numpy)
    (version,) = [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]
    assert not jobs and waiting.trial.spent[1] and version.engine == "NumPy"


def test_nothing_settles_where_there_is_no_program():
    f = jit(lambda x: [open(__file__).close(), x][1])
    with warnings.catch_warnings(action="ignore"):
        f(np.ones(3))
    assert not is_settling(f)


def test_nothing_is_left_to_plain_python_where_it_may_not_answer():
    f, x = jit(lambda x: np.tanh(x) * 2 + np.sum(x), whole=True), np.arange(20.0)
    for _ in range(8):
        f(x)
    assert all(d.interim is None for d in made(f))


def test_calls_of_other_shapes_are_asked_apart():
    f = jit(lambda x: np.tanh(x) * 2 + np.sum(x))
    for _ in range(4):
        for n in (20, 30):
            x = np.linspace(0, 1, n)
            for _ in range(5):
                agree(f(x), np.tanh(x) * 2 + np.sum(x))


def waved(x):
    return np.sin(x) * np.cos(x)


def test_the_form_that_is_put_in_use_is_the_one_that_was_timed(monkeypatch):
    """Machine code has the straight line at the first call, and again when it is optimised."""
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: [job.run()] and True)
    nests, written, clocked = {}, backend_choice.written, backend_choice.clocked

    def noted(entry, version, *args, **options):
        run = written(entry, version, *args, **options)
        nests[run] = version.fused is not None
        return run

    def timed(run, everything):
        return 1e-5 if nests[run] else 3e-5, *clocked(run, everything)[1:]

    monkeypatch.setattr(backend_choice, "written", noted)
    monkeypatch.setattr(backend_choice, "clocked", timed)
    monkeypatch.setattr(backend_choice, "ENOUGH", -1.0)
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    f, x = jit(waved), np.linspace(0, 1, 1000)
    for _ in range(3 + 2 * deferred.TURNS):
        agree(f(x), waved(x))
    (version,) = [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]
    assert not is_settling(f) and list(nests.values())[:4] == [False, True, False, True]
    assert "nest" in {x.id for x in ast.walk(version.straight.function) if isinstance(x, ast.Name)}


def test_calls_wait_for_what_is_timed_on_another_thread(monkeypatch):
    monkeypatch.setattr(clock, "PAUSE", 60.0)
    begun, order = threading.Event(), []

    def form():
        begun.set()
        time.sleep(0.05)
        order.append("timed")

    thread = threading.Thread(target=clock.turns, args=([form], 1))
    thread.start()
    begun.wait()
    clock.TIMING.pause()
    order.append("called")
    thread.join()
    assert order == ["timed", "called"]


def test_a_call_pauses_while_other_forms_are_made(monkeypatch):
    paused = []
    monkeypatch.setattr(clock.TIMING, "pause", lambda: paused.append(waiting.state))
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: True)  # and is never run
    f, x = jit(waved), np.linspace(0, 1, 500)
    f(x)
    (waiting,) = made(f)
    for _ in range(8):
        agree(f(x), waved(x))
    assert not paused
    waiting.seconds = waiting.estimate
    for _ in range(8):
        agree(f(x), waved(x))
    assert set(paused) == {deferred.ASKED} and len(paused) == 7


def test_a_form_can_be_run_before_it_is_timed():
    order = []
    clock.turns([lambda: order.append("a"), lambda: order.append("b")], 2, ready=1)
    assert "".join(order) == "aabb" * 2
