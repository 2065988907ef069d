"""Objects that change at each call cost a trace or two, not one a call: counters, histories, schedules, derivatives of
methods."""

import copy

import numpy as np
import pytest

from wengert import Fallback, grad, jit, jvp, value_and_grad, vmap
from wengert.tracer.call import patience
from wengert.tracer.call.patience import MOST
from wengert.tracer.program import backend_choice
from wengert.tracer.values.speculate import Speculation

X = np.arange(12.0).reshape(4, 3) / 10
CALLS = 12


def traces(f):
    return sum(len(w.versions) for e in f.compiled.entries.values() for w in e.worlds)


def same(a, b):
    """Whether two results or states are alike in types, dtypes and values."""
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)
    elif isinstance(a, float):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    elif hasattr(a, "__dict__"):
        same(vars(a), vars(b))
    else:
        assert a == b


def agree(made, most, calls=CALLS, change=lambda x, i: None, **options):
    """The method `step` of one object plain, of another compiled, call after call; at most so many traces."""
    other = copy.deepcopy(made)
    plain = type(made).step
    step = jit(plain, **options)
    for i in range(calls):
        change(made, i), change(other, i)
        same(step(other), plain(made))
        same(other, made)
    assert traces(step) <= most, step.explain()


class Linear:
    def __init__(self):
        self.w, self.y, self.rate, self.scale, self.held = np.ones(3), np.ones(4), 0.01, 2.0, [3.0]

    def loss(self, w):
        return self.scale * ((X @ w - self.y) ** 2).mean() + self.held[0] * w[0]

    def flat(self, w):
        return self.scale * w * w + self.held[0] * w


class Descent(Linear):
    def step(self):
        self.w = self.w - self.rate * grad(self.loss)(self.w)
        return self.w.sum()


class Decaying(Linear):
    def step(self):
        self.rate *= 0.9
        value, slope = value_and_grad(self.loss)(self.w)
        self.w = self.w - self.rate * slope
        return value


class Mapped(Linear):
    def step(self):
        self.scale += 1
        value, slope = jvp(self.loss, (self.w,), (np.ones(3),))
        return vmap(self.flat)(self.w).sum() + value + slope


class OfNumbers(Linear):
    def step(self):
        return grad(self.flat)(1.0)


@pytest.mark.parametrize("kind", [Descent, Decaying, Mapped, OfNumbers])
def test_derivatives_of_methods_are_traced_once(kind):
    """They are called with hooks: their object is not relied on as a whole, and what they read is read at each call."""

    def change(x, i):
        x.held[0] = 3.0 + i

    agree(kind(), 3, change=change)


held, scale = [3.0], 0.5


def parabola(w):
    return scale * w * w + held[0] * w


def test_a_derivative_at_a_known_number_reads_at_each_call(monkeypatch):
    f = jit(lambda: grad(parabola)(1.0))
    for k in range(5):
        held[0] = k * 1.0
        monkeypatch.setitem(globals(), "scale", k * 3.0)
        assert f() == k * 7.0
    assert traces(f) <= 3


# -- numbers that count ----------------------------------------------------------------------------


class Counting:
    """A counter beside what data decide, and others beside it."""

    def __init__(self):
        self.t, self.n, self.rate, self.log, self.mode, self.known = 0, 1, 0.5, [], "a", {}


class WithWhile(Counting):
    def step(self, x=20.0):
        self.t += 1
        k = 0
        while k < x:
            k += 1
        return k + self.t


class WithLengths(Counting):
    def step(self, x=40.0):
        self.t += 1
        found = []
        while x > 1:
            found.append(x)
            x = x // 2
        self.log = found
        return self.t


class Congruential(Counting):
    """A generator of random numbers: its state leaves 32 bits."""

    def step(self):
        self.n = (self.n * 1103515245 + 12345) % 2**32
        return self.n / 2**32


class Clock(Counting):
    def __init__(self):
        super().__init__()
        self.n = 1_700_000_000_000_000_000

    def step(self):
        self.n += 1_000_000
        return self.n / 1e9


class Sizes(Counting):
    def step(self):
        self.t += 1
        self.rate *= 0.9
        return np.ones(self.t).sum() * self.rate


@pytest.mark.parametrize("kind", [WithWhile, WithLengths, Congruential, Clock, Sizes])
def test_an_int_that_counts_costs_one_trace_more(kind):
    """Beside loops of which data decide the trips, and beyond 32 bits."""
    agree(kind(), 2)


class Growing(Counting):
    """Leaves 64 bits after six calls."""

    def step(self):
        self.n *= 1000
        self.rate *= 0.9
        return self.n, self.rate


class Keys(Counting):
    """Counts what must be known, and numbers that need not be."""

    def step(self, x=1.5):
        self.t += 1
        self.rate *= 0.9
        self.known[self.t] = x * self.rate
        return self.rate


class History(Counting):
    def step(self, x=1.5):
        self.log.append(x)
        return sum(self.log) / len(self.log)


class Seeds(Counting):
    def step(self, x=1.5):
        self.t += 1
        return np.random.default_rng(self.t).normal() * x


@pytest.mark.parametrize("kind", [Growing, Keys, History])
def test_what_must_be_known_and_changes_is_left_to_python(kind, falling_back):
    """After a few traces, and with one warning that names it."""
    with pytest.warns(Fallback, match="unlike all that its traces were made for") as told:
        agree(kind(), MOST, 40)
    assert len(told) == 1 and "Calls that have a trace run compiled, and what comes again is traced" in str(told[0].message)


@pytest.mark.parametrize("kind", [Growing, Keys, History, Seeds])
def test_under_whole_each_is_traced(kind):
    agree(kind(), CALLS)


def test_a_seed_that_counts_is_taken_in(falling_back):
    """The generator is made at every call."""
    agree(Seeds(), MOST, 40)


def test_what_is_met_again_is_traced(falling_back, monkeypatch):
    """More states than are traced at first sight, met in turn: in the end all are compiled."""
    monkeypatch.setattr(patience, "PAYS", 0.0)
    f, modes = jit(lambda x, mode: x * len(mode)), ["m" * n for n in range(1, 2 * MOST + 1)]
    with pytest.warns(Fallback):
        for _ in range(6):
            assert [f(X, m)[0, 1] for m in modes] == [X[0, 1] * len(m) for m in modes]
    assert traces(f) == len(modes)


def letters(text):
    return np.array([len(text) + float(c == "a") for c in text])


def kinds(x):
    for k, v in enumerate(x):
        if v < 0:
            return k, v
    return -1, None


@pytest.mark.parametrize("function, calls, words", [
    (letters, ["a" * n for n in range(1, 30)], "np.array(list(map(ord, text)))"),
    (kinds, [np.arange(n) - n + 1.5 for n in range(2, 30)], "f.explain() shows"),
])  # fmt: skip
def test_the_warning_says_what_to_do_about_what_changes(function, calls, words, falling_back):
    f = jit(function)
    with pytest.warns(Fallback, match="unlike all that its traces were made for") as told:
        for x in calls:
            same(f(x), function(x))
    assert words in str(told[0].message)


def test_seconds_of_tracing_are_bounded_too(falling_back, monkeypatch):
    """A function that takes long to trace is not traced at every new sight of it."""
    monkeypatch.setattr(patience, "PAYS", 0.0)
    f = jit(letters)
    f("a")
    f.compiled.patience.spent = patience.LONG + 1
    with pytest.warns(Fallback, match="it was traced 1 time, and"):
        same(f("ab"), letters("ab"))
    same(f("ab"), letters("ab"))
    assert traces(f) == 2


def test_a_trace_that_takes_long_waits_until_python_has_taken_a_share_of_it(falling_back, monkeypatch):
    monkeypatch.setattr(patience, "SEEN", 10)
    f = jit(letters)
    f("a")
    f.compiled.patience.spent = f.compiled.patience.seconds = 1e6
    with pytest.warns(Fallback):
        for _ in range(400):
            same(f("ab"), letters("ab"))
    assert traces(f) == 1
    f.compiled.patience.seconds = 1e-9 + 2 * f.compiled.patience.plain
    for _ in range(patience.SPARE**2):
        same(f("ab"), letters("ab"))
    assert traces(f) == 2


def test_compiling_is_part_of_what_a_trace_takes():
    f = jit(lambda x: np.sin(x) @ x)
    f(np.ones((40, 40)))
    found = f.compiled.patience
    (version,) = [v for entry in f.compiled.entries.values() for w in entry.worlds for v in w.versions]
    assert found.seconds >= version.trace_seconds + version.pass_seconds + version.compile_seconds > 0
    assert found.compiling >= version.compile_seconds
    found.compiling = patience.COMPILED + 1.0
    assert not found.is_tired()  # plain Python is not known to take less
    found.answered(1e-9), found.answered(1e-9)
    assert found.is_tired()


def of_records(r):
    r["n"] += 1
    return r["a"].sum()


def test_calls_of_what_is_never_captured_are_not_looked_at(falling_back):
    """In the end; and where it is called with what is captured, that is."""
    f, r, x = jit(lambda r: of_records(r) if r.dtype.names else r * 2.0), np.ones(3, [("a", "f8"), ("n", "i4")]), np.ones(3)
    with pytest.warns(Fallback):
        for n in range(2, 3 * patience.SEEN):
            assert f(r) == 3.0 and r["n"].tolist() == [n] * 3
    unseen = f.compiled.patience.unseen
    assert patience.SEEN < unseen < 2 * patience.SEEN and "without a look at the arguments" in f.explain()
    for _ in range(patience.SPARE):
        assert f(x).tolist() == [2.0] * 3
    assert traces(f) == 1 and f.compiled.patience.left == 0
    f.compiled.patience.left = 5
    assert f.callee(f.compiled.slow, (x,), {}).tolist() == [2.0] * 3  # a program answers, beside the code in front
    assert f.compiled.patience.left == 0


def test_explain_says_what_python_answers(falling_back):
    x = History()
    step = jit(History.step)
    with pytest.warns(Fallback):
        for _ in range(CALLS):
            step(x)
    assert "plain Python answers other calls" in step.explain() and "self.log" in step.explain()


def test_two_numbers_of_which_one_must_be_known():
    """The other is taken in all the same."""

    class Two(Counting):
        def step(self):
            self.t += 1
            self.rate *= 0.5
            return "x" * (self.t % 2), self.rate

    agree(Two(), 3)


# -- choices by value ------------------------------------------------------------------------------


@pytest.fixture
def attempts(monkeypatch):
    """How often a function is run on traced values."""
    made, begin = [], Speculation.begin
    monkeypatch.setattr(Speculation, "begin", lambda self: made.append(self) or begin(self))
    return made


PLACES = tuple(range(12))  # so few trips are written out


def of_other_kinds(x):
    out = []
    for k in PLACES:
        if x[k] > 0.5:
            y = "above"
        else:
            y = None
        out.append(y)
    return out


def of_other_shapes(x):
    out = 0.0
    for k in PLACES:
        y = np.ones(2) * x[k] if x[k] > 0.5 else np.ones(3)
        out += y.sum()
    return out


def with_sides_refused(x):
    out = []
    for k in PLACES:
        if x[k] > 0.5:
            out.sort()
        else:
            out.append(1.0)
    return len(out)


def words(x):
    out, known = [], {0: "a", 1: "b", 2: "c"}
    for k in PLACES:
        out.append(known[int(x[k] * 3)])
    return "\n".join(out)


@pytest.mark.parametrize("f", [of_other_kinds, of_other_shapes, with_sides_refused, words])
def test_many_choices_by_value_cost_a_few_traces(f, attempts, rng):
    g, ways = jit(f), [rng.random(12) for _ in range(3)]
    same(g(ways[0]), f(ways[0]))
    assert len(attempts) <= 4 + 1  # and one when it is made
    for x in ways * 2:
        same(g(x), f(x))
    assert len(attempts) <= 5 + 2 * 3 and traces(g) == 3


def test_data_that_take_another_way_each_time_are_left_to_python(falling_back, rng):
    g = jit(of_other_kinds)
    with pytest.warns(Fallback, match="data took another way") as told:
        for _ in range(2 * MOST):
            x = rng.random(12)
            assert g(x) == of_other_kinds(x)
    assert len(told) == 1 and traces(g) <= MOST + 2  # ways that begin alike count as one


class More:
    n = 3

    def step(self, x):
        y = "above" if x[0] > 0.5 else None
        return y, x[1] * 2.0 if y is not None else x[1] * 2.0 + self.n


def test_a_way_that_takes_in_more_while_plain_python_is_timed(falling_back, monkeypatch):
    """The generated functions that are timed are made for what all traces take in, so they are made again."""
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    f, made, above, below = jit(More.step), More(), np.full(3, 0.75), np.full(3, 0.25)
    for n, x in enumerate([above, below] * 6):
        made.n = n
        before = {w: len(w.inputs) for e in f.compiled.entries.values() for w in e.worlds}
        same(f(made, x), More.step(made, x))
        for w in (w for w, inputs in before.items() if inputs < len(w.inputs)):
            assert not any(c is not None and c.forms for c in w.contests.values())
