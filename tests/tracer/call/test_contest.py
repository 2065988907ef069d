"""Plain Python answers calls that take it less time: each of the first calls is run by one of the two, once."""

import random
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
import random_objects
from compare import agree

from wengert import grad, jit
from wengert.tracer.call import contest
from wengert.tracer.call.entry import SignatureEntry
from wengert.tracer.program import backend_choice


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)


class Clock:
    """Seconds as a test would have them: what a compiled call takes, and a plain one."""

    def __init__(self, monkeypatch, ours, plain):
        self.now, self.seconds, self.step = 0.0, {False: ours, True: plain}, 0.0
        monkeypatch.setattr(contest.time, "perf_counter", self.read)
        form = contest.Contest.form
        monkeypatch.setattr(contest.Contest, "form", lambda one, callee, turn: self.after(form(one, callee, turn), turn))

    def read(self):
        self.now += self.step
        return self.now

    def after(self, form, plain):
        def call(*args, **kwargs):
            out = form(*args, **kwargs)
            self.now += self.seconds[bool(plain)]
            return out

        return call


CALLS = contest.WARM + 2 * contest.TURNS + 2


class Counter:
    def __init__(self):
        self.n, self.x, self.log = 0, np.ones(3), []

    def step(self, y):
        self.n += 1
        self.x = self.x * y
        return self.n

    def halved(self, size):
        self.n += 1
        return self.x[:size].sum() / 2


def answered(f):
    """Of each contest: None while it is open, then whether plain Python answers."""
    return [c.plain for e in f.compiled.entries.values() for w in e.worlds for c in w.contests.values() if c is not None]


@pytest.mark.parametrize("ours, plain, wins", [(2e-6, 1e-6, True), (1e-6, 2e-6, False), (1e-6, 0.97e-6, False), (1e-3, 0.1, False)])
def test_the_faster_answers_and_each_call_is_run_once(monkeypatch, ours, plain, wins):
    Clock(monkeypatch, ours, plain)
    f, a, b = jit(Counter.step), Counter(), Counter()
    for n in range(3 * CALLS):
        assert f(b, 1.5) == Counter.step(a, 1.5) == n + 1
        agree(b.x, a.x)
    assert answered(f) == [wins]
    assert ("as plain Python: 1 us against 2 us" in f.explain()) == (wins and ours == 2e-6)


def test_what_plain_python_answers_is_the_function_itself(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)
    compiled, names = jit(lambda x: x + 1.0), []
    for _ in range(CALLS):
        compiled(np.ones(3))
    assert answered(compiled) == [True]
    sys.setprofile(lambda frame, event, arg: names.append(frame.f_code))
    compiled(np.ones(3))
    sys.setprofile(None)
    assert compiled.__wrapped__.__code__ in names


def test_plain_python_of_functions_made_alike_is_each_ones_own(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def times(k, start):
        def f(x, more=start):
            f.calls += 1
            return x * k + more

        f.calls = 0
        return f

    ours, plain = ([times(k, s) for k in (2.0, 3.0) for s in (0.0, 1.0)] for _ in range(2))
    compiled = [jit(f) for f in ours]
    for _ in range(3 * CALLS):
        for f, g in zip(compiled, plain):
            agree(f(np.ones(3)), g(np.ones(3)))
    assert True in answered(compiled[0]) and [f.calls for f in ours] == [f.calls for f in plain]


def test_other_dtypes_are_not_answered_for_their_shape(monkeypatch):
    """Of small floats plain Python gives other numbers."""
    Clock(monkeypatch, 2e-6, 1e-6)
    f, ones = jit(lambda x: x.sum()), np.ones(1000)
    for _ in range(CALLS):
        f(ones)
    assert answered(f) == [True]
    for _ in range(3):
        assert float(f(ones.astype(ml_dtypes.bfloat16))) == 1000.0


def test_other_sizes_are_measured_again(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)
    f, a = jit(Counter.step), Counter()
    for _ in range(CALLS):
        f(a, 1.5)
    assert answered(f) == [True]
    a.x = np.ones(5)
    f(a, 1.5)
    assert answered(f) == [True, None]
    assert len(a.x) == 5 and a.n == CALLS + 1


@pytest.mark.parametrize("options", [{"engine": "numpy"}, {"engine": "xla"}, {"whole": True}])
def test_what_is_asked_for_is_not_measured(monkeypatch, options):
    Clock(monkeypatch, 2e-6, 1e-6)
    f, a = jit(Counter.step, **options), Counter()
    for _ in range(CALLS):
        f(a, 1.5)
    assert answered(f) == [] and "plain Python" not in f.explain()


def test_derivatives_are_compiled(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def slope(x):
        return grad(lambda y: (y * y).sum())(x)

    for f in (jit(slope), grad(lambda y: (y * y).sum())):
        for _ in range(CALLS):
            agree(f(np.ones(3)), np.full(3, 2.0))
        assert answered(f) == []


def grown(x):
    while x.sum() < 100.0:
        x = x * 1.5
    return x


def told(x):
    n = 0
    while x.sum() < 100.0:
        x = x * 1.5
        n += 1
        print(n)
    return x


def of_any_trips(function, made):
    """`function` compiled, of which a trace with its compilation took so many seconds."""
    f = jit(function)
    agree(f(np.ones(3)), function(np.ones(3)))
    for version in (v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions):
        version.trace_seconds = made
    return f


@pytest.mark.parametrize("function", [grown, told])
@pytest.mark.parametrize("ours, plain, made, wins", [(1e-4, 1e-5, 1.0, True), (1e-5, 1e-4, 1.0, False), (1e-4, 1e-5, 1e-3, False)])
def test_loops_that_go_on_as_data_ask_are_tried_where_a_call_is_short(monkeypatch, capsys, function, ours, plain, made, wins):
    Clock(monkeypatch, ours, plain)
    compiled = of_any_trips(function, made)
    for _ in range(CALLS):
        for f in (compiled, function):
            agree(f(np.ones(3)), function(np.ones(3)))
            lines = capsys.readouterr().out.splitlines()
            assert lines[: len(lines) // 2] == lines[len(lines) // 2 :] and (function is grown or lines)
    assert answered(compiled) == [wins]


def test_calls_that_data_make_long_begin_the_contest_again(monkeypatch):
    clock = Clock(monkeypatch, 1e-4, 1e-5)
    f = of_any_trips(grown, 1.0)
    for times in range(3):
        for _ in range(CALLS):
            f(np.ones(3))
        assert answered(f) == [True]
        clock.step = 1e-3
        for _ in range(2**times):  # each time more of them are borne
            assert answered(f) == [True]
            agree(f(np.ones(3) / 2), grown(np.ones(3) / 2))
        clock.step = 0.0
        assert answered(f) == [None]
    clock.seconds[True] = 1e-2
    for _ in range(CALLS):
        f(np.ones(3))
    assert answered(f) == [False]


def test_what_plain_python_would_take_long_for_is_not_tried(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def f(x):
        for i in range(100_000):
            x = x + i
        return x

    compiled = jit(f)
    for _ in range(CALLS):
        agree(compiled(np.ones(3)), f(np.ones(3)))
    assert answered(compiled) == [False]


def test_one_call_of_a_library_is_what_plain_python_is_expected_to_take(monkeypatch):
    """Of many equations: not each of them takes as long."""
    sparse = pytest.importorskip("scipy.sparse")
    Clock(monkeypatch, 2e-3, 1e-3)
    f, A, x = jit(lambda A, x: A @ x), sparse.random_array((3000, 3000), density=0.05, format="csr", rng=0), np.ones(3000)
    for _ in range(CALLS):
        np.testing.assert_allclose(f(A, x), A @ x)
    assert answered(f) == [True]
    for B in (A.copy(), A * 2, A[:2000], A.tocsc(), A.astype(np.float32), A.tocoo()):
        np.testing.assert_allclose(f(B, x), B @ x, rtol=1e-6)


def test_exceptions_end_a_call_and_not_the_contest(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def f(table, n):
        table.log.append(n)
        return [1.0, 2.0][int(n)] * table.x

    compiled, a, b = jit(f), Counter(), Counter()
    for n in range(2 * CALLS):
        said = []
        for call, x in ((f, a), (compiled, b)):
            try:
                said.append(call(x, float(n % 3)).tolist())
            except IndexError as error:
                said.append(type(error))
            x.log.clear()
        assert said[0] == said[1]


def test_a_call_within_a_call():
    class Tree:
        def __init__(self, depth):
            self.below, self.x = Tree(depth - 1) if depth else None, np.full(2, float(depth))

        def total(self):
            return self.x.sum() + (0.0 if self.below is None else self.below.total())

    Tree.total, want = jit(Tree.total), 10.0
    for _ in range(2 * CALLS):
        assert Tree(4).total() == 2 * want


def test_threads_share_a_contest():
    f = jit(Counter.step)
    bodies = [Counter() for _ in range(4)]

    def run(x):
        for _ in range(200):
            f(x, 1.0)
            time.sleep(0)

    threads = [threading.Thread(target=run, args=(x,)) for x in bodies]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [x.n for x in bodies] == [200] * 4


def test_draws_go_on_where_the_other_has_ended(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def f(x):
        return x + np.random.standard_normal(3)

    compiled = jit(f)
    np.random.seed(1)
    want = [f(np.ones(3)) for _ in range(CALLS)]
    np.random.seed(1)
    agree([compiled(np.ones(3)) for _ in range(CALLS)], want)
    assert answered(compiled) == [True]


def test_instances_that_are_refused_are_not_tried_one_by_one(monkeypatch):
    tried, trace = [], SignatureEntry.trace
    monkeypatch.setattr(SignatureEntry, "trace", lambda entry, *args: tried.append(1) or trace(entry, *args))

    class Table:
        def __init__(self):
            self.rows = {n: float(n) for n in range(3000)}

        def total(self, x):
            return sum(self.rows.values()) * x

    f = jit(Table.total)
    with pytest.warns(match="a dict of 3000 items"):
        for _ in range(10):
            assert f(Table(), 2.0) == 2.0 * sum(range(3000))
    assert len(tried) == 3


def test_keywords_and_defaults_are_handed_on(monkeypatch):
    Clock(monkeypatch, 2e-6, 1e-6)

    def f(x, /, y=2.0, *rest, z=3.0, **more):
        return x * y + sum(rest) + z + sum(more.values())

    calls = [lambda g: g(1.0), lambda g: g(1.0, 5.0), lambda g: g(1.0, 2.0, 7.0), lambda g: g(1.0, z=4.0), lambda g: g(1.0, y=6.0, w=1.0)]
    compiled = jit(f)
    for _ in range(CALLS):
        for call in calls:
            assert call(compiled) == call(f)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_worlds_where_compiled_calls_and_plain_ones_take_turns(seed):
    case = random_objects.draw(random.Random(seed))
    assert random_objects.taking_turns(case) in ("agree", "refused"), case.text


class Held:
    def __init__(self, x):
        self.x = x


def test_a_trace_more_has_calls_that_know_of_it(monkeypatch):
    """Data that take another way make one more trace of the set, which takes in an array that the first did not."""
    asked, real = [], contest.Contest.made
    monkeypatch.setattr(contest.Contest, "made", lambda one: (asked.append(len(one.here.inputs)), real(one))[1])
    here, there = np.arange(3.0), np.arange(3.0) * 2

    def scaled(v):
        found = Held(v * here) if v[0] > 0 else [v * there]
        return found.x if isinstance(found, Held) else found[0]

    compiled, v = jit(scaled), np.ones(3)
    for sign in (1, 1, -1, 1, -1, 1):
        agree(compiled(v * sign), scaled(v * sign))
    assert asked == [1, 2]


def test_forms_that_another_thread_drops_while_they_are_made(monkeypatch):
    """As where the contest ends between two steps of `made`."""
    drop = lambda one, lines: one.__dict__.update(forms=None)
    monkeypatch.setattr(contest.Contest, "lines", property(lambda one: (), drop), raising=False)
    f = jit(lambda x: x * 2.0 + 1.0)
    for k in range(CALLS):
        agree(f(np.full(3, float(k))), np.full(3, 2.0 * k + 1.0))
