"""A call of a new shape is answered at once, by what is there; shapes that come again are compiled when it has paid."""

import collections
import warnings

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit, value_and_grad
from wengert.benchmarks import timing
from wengert.tracer.call import contest, deferred, dynamic, families
from wengert.tracer.call.entry import SignatureEntry
from wengert.tracer.program import autotune, backend_choice

ORDER = [7, 3, 0, 1, 2, 5, 3, 7, 64, 1, 0, 2, 33, 5, 5, 3]


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    monkeypatch.setattr(families, "TRIES", 0)  # there are no programs of symbolic sizes here


@pytest.fixture
def dear(monkeypatch):
    """Programs that never pay: what compiles takes too long."""
    monkeypatch.setattr(dynamic, "cost_of", lambda version: 1e9)


@pytest.fixture
def cheap(monkeypatch):
    """Programs that have paid when a shape comes again."""
    monkeypatch.setattr(dynamic, "cost_of", lambda version: 0.0)


def traces(f):
    return sum(len(w.versions) for e in f.compiled.entries.values() for w in e.worlds)


def answered(f):
    """Who has answered calls without a program, how often."""
    counts = collections.Counter()
    for entry in f.compiled.entries.values():
        for here in entry.worlds:
            for shape in (*here.shapes.values(), *here.served.values()):
                counts.update(shape.by)
    return counts


def softly(x):
    return np.log1p(np.exp(x)).sum() + x.size


def of_length(n):
    return np.linspace(-1.0, 1.0, n)


def test_nothing_is_compiled_for_a_shape_that_has_come_once(happened):
    f = jit(softly)
    f(of_length(3))
    before = happened["traced"], happened["first run"]
    for n in range(4, 40):
        agree(f(of_length(n)), softly(of_length(n)))
    assert (happened["traced"], happened["first run"]) == before == (1, before[1])
    assert answered(f) == {"plain Python": 36}


def test_plain_python_has_new_shapes_without_a_look_for_traces(monkeypatch):
    f = jit(softly)
    f(of_length(3)), f(of_length(4))
    monkeypatch.setattr(SignatureEntry, "first", lambda *_, **__: pytest.fail("a trace was looked for"))
    for n in (5, 6, 0, 1, 2, 40, 5):
        agree(f(of_length(n)), softly(of_length(n)))
    assert answered(f) == {"plain Python": 8}


def test_a_shape_that_comes_often_is_compiled_where_that_is_short(monkeypatch):
    monkeypatch.setattr(dynamic, "cost_of", lambda version: families.SHORT / 2)
    monkeypatch.setattr(dynamic, "SHARE", 0.0)  # however little plain Python takes
    f = jit(softly)
    for n in [3] + [5] * (dynamic.OFTEN + 3):
        agree(f(of_length(n)), softly(of_length(n)))
    assert traces(f) == 2 and answered(f) == {"plain Python": dynamic.OFTEN}


def test_a_shape_is_not_compiled_where_its_calls_have_not_paid(dear):
    f = jit(softly)
    for n in [3] + [5] * 3 * dynamic.OFTEN:
        agree(f(of_length(n)), softly(of_length(n)))
    assert traces(f) == 1


def test_a_shape_is_compiled_when_it_comes_again_and_has_paid(cheap):
    f = jit(softly)
    for n in [3, 5, 4, 5, 4, 3, 5]:
        agree(f(of_length(n)), softly(of_length(n)))
    assert traces(f) == 3 and answered(f) == {"plain Python": 2}


@pytest.mark.parametrize("paid", ["dear", "cheap"])
@pytest.mark.parametrize("options", [{}, {"whole": True}, {"engine": "numpy"}, {"dynamic": False}, {"exact": True}])
def test_values_at_sizes_in_any_order(request, paid, options):
    request.getfixturevalue(paid)

    def centred(x, y):
        x = x - x.mean() if x.size else x
        return np.concatenate([x, y[::-1]]) * len(y), {"rows": x[:, None] @ y[None, :], "n": len(x)}

    f = jit(centred, **options)
    for n in ORDER:
        for m in (n, 4):
            agree(f(of_length(n), of_length(m)), centred(of_length(n), of_length(m)))


@pytest.mark.parametrize("paid", ["dear", "cheap"])
def test_derivatives_run_as_generated_numpy(request, paid, happened):
    request.getfixturevalue(paid)
    f, g = value_and_grad(softly), jit(grad(softly))
    for n in ORDER:
        x = of_length(n)
        agree(f(x), (softly(x), 1 / (1 + np.exp(-x))))
        agree(g(x), 1 / (1 + np.exp(-x)))
    sizes = len(set(ORDER))
    assert traces(f) == traces(g) == (1 if paid == "dear" else len({n for n in ORDER if ORDER.count(n) > 1} | {7}))
    assert happened["traced"] == 2 * sizes
    assert answered(f) == answered(g) and set(answered(g)) == {"generated NumPy"}


def test_whole_runs_no_plain_python(dear):
    g = jit(lambda x: np.tanh(x) * 2, whole=True)
    for n in range(1, 9):
        agree(g(of_length(n)), np.tanh(of_length(n)) * 2)
    assert answered(g) == {"generated NumPy": 7}


SCALE = 2.0


@pytest.mark.parametrize("paid", ["dear", "cheap"])
def test_what_lies_outside_changes_in_between(request, paid, monkeypatch):
    request.getfixturevalue(paid)
    shift = 1.0

    def f(x):
        return x * SCALE + shift

    g = jit(f)
    for k, n in enumerate(ORDER):
        monkeypatch.setitem(globals(), "SCALE", k // 3)
        shift = k // 5
        agree(g(of_length(n)), of_length(n) * (k // 3) + k // 5)


@pytest.mark.parametrize("paid", ["dear", "cheap"])
def test_arguments_that_are_changed_and_overlap(request, paid):
    request.getfixturevalue(paid)

    def push(x, y):
        x[1:] = x[:-1] + y[1:]
        return x[::2]

    f = jit(push)
    for n in ORDER:
        for shared in (False, True):
            mine, own = of_length(n + 1), of_length(n + 1)
            agree(f(mine, mine if shared else mine + 1), push(own, own if shared else own + 1))
            agree(mine, own)


@pytest.mark.parametrize("paid", ["dear", "cheap"])
def test_exceptions_at_some_sizes(request, paid):
    request.getfixturevalue(paid)

    def f(x):
        if x.shape[0] % 2:
            raise ValueError(f"{x.shape[0]} is odd")
        return x.reshape(2, -1).sum(axis=0)

    g = jit(f)
    for n in [4, 5, 6, 5, 6, 7, 0, 1, 4, 5, 7]:
        if n % 2:
            with pytest.raises(ValueError, match=f"^{n} is odd$"):
                g(of_length(n))
        else:
            agree(g(of_length(n)), f(of_length(n)))


def test_random_numbers_are_those_of_plain_python(dear):
    def f(x, rng):
        return x + rng.standard_normal(x.shape[0])

    g, mine, own = jit(f), np.random.default_rng(1), np.random.default_rng(1)
    for n in ORDER:
        agree(g(of_length(n), mine), f(of_length(n), own))


def test_an_array_outside_that_grows(cheap):
    held = np.ones(2)

    def f(x):
        return x.sum() + held.cumsum()

    g = jit(f)
    for n in ORDER:
        held = np.ones(n)
        agree(g(of_length(3)), f(of_length(3)))
    assert traces(g) < len(ORDER)


def test_another_dtype_or_rank_is_traced_at_first_sight(dear):
    f = jit(softly)
    for x in (of_length(3), of_length(3).astype(np.float32), np.ones((2, 2)), of_length(4)):
        f(x)
    assert traces(f) == 3 and answered(f) == {"plain Python": 1}


def test_loops_of_which_data_decide_do_not_wait(dear):
    def halved(x):
        while np.abs(x).max() > 1e-3:
            x = x / 2
        return x

    f = jit(halved)
    for n in (3, 4, 5):
        agree(f(of_length(n)), halved(of_length(n)))
    assert traces(f) == 3 and not answered(f)


def sifted(x):
    """Its loop, whose trips data decide, runs through XLA: a sort has no native form."""
    k = 0
    while x.max() > 1e-3:
        x, k = np.sort(x / 2)[::-1], k + 1
    return x, k


def test_loops_of_which_data_decide_wait_where_the_first_took_little(monkeypatch, dear):
    """A program through XLA tells by the time of its first run what plain Python may take."""
    f = jit(sifted)
    for n in (3, 4, 5, 5, 40):
        agree(f(of_length(n)), sifted(of_length(n)))
    assert traces(f) == 1 and answered(f) == {"plain Python": 4}


def test_loops_of_which_data_decide_wait_no_more_when_a_call_took_long(monkeypatch):
    f, cost = jit(sifted), 1e9
    monkeypatch.setattr(dynamic, "cost_of", lambda version: cost)
    monkeypatch.setattr(families, "SHORT", 0.0)
    f(of_length(3))
    f(of_length(4))
    assert answered(f) == {"plain Python": 1}
    cost = 0.0
    for n in (5, 6):
        agree(f(of_length(n)), sifted(of_length(n)))
    assert traces(f) == 3 and answered(f) == {"plain Python": 1}


def test_false_traces_each_shape_when_it_comes():
    f = jit(softly, dynamic=False)
    for n in (3, 4, 5):
        f(of_length(n))
    assert traces(f) == 3


def layer(x, k):
    return np.tanh(x - x.mean()) * k + np.sort(x)[::-1] / k


def layered(x):
    x = layer(layer(layer(layer(x, 1.0), 1.5), 2.0), 2.5)
    x = layer(layer(layer(layer(x, 3.0), 3.5), 4.0), 4.5)
    return layer(layer(layer(layer(x, 5.0), 5.5), 6.0), 6.5)


@pytest.fixture
def at_once(monkeypatch):
    """The thread that compiles is this one, when it is asked."""
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: [job.run()] and True)


def relaxed(x):
    x = np.tanh(x) * 2
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return np.exp(-x).sum(), x[::-1]


HOT = ", in machine code that is not optimised yet"


@pytest.mark.parametrize(("function", "hot"), [(layered, ""), (relaxed, HOT)])
def test_a_program_runs_as_numpy_until_xla_has_paid(monkeypatch, happened, at_once, function, hot):
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)  # a win for XLA may be little
    monkeypatch.setattr(deferred, "EQUATION", 1e9)
    f, x = jit(function), of_length(50)
    for _ in range(3):
        agree(f(x), function(x))
    assert happened["deferred"] == 1 and happened["asked"] == happened["xla compile"] == 0
    assert f"as generated NumPy, 3 calls so far{hot}; waits for XLA until it pays" in f.explain()
    assert timing.is_settling(f)
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    timing.settle(f, lambda: agree(f(x), function(x)))
    assert not timing.is_settling(f)
    for _ in range(4):
        agree(f(x), function(x))
    assert happened["asked"] == happened["ready"] == 1
    assert "until XLA was compiled beside the program" in f.explain()


@pytest.mark.parametrize("function", [layered, relaxed])
def test_sizes_that_come_once_xla_has_taken_over(monkeypatch, happened, at_once, function):
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)
    monkeypatch.setattr(deferred, "EQUATION", 1e9)
    monkeypatch.setattr(backend_choice, "faster_as_numpy", lambda *_: None)  # XLA's is
    f = jit(function)
    agree(f(of_length(50)), function(of_length(50)))
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    for n in (50, 50, 50, 61, 61, 50, 7):
        agree(f(of_length(n)), function(of_length(n)))
    assert happened["ready"] >= 1


@pytest.mark.parametrize(
    ("times", "size", "asks"), [((1.0, 3.0), 61, 0), ((1.0, 1.5), 61, 1), ((1.0, 3.0), 500, 1), ((1e-9, 1.0), 61, 1), (None, 61, 1)]
)
def test_a_size_at_which_xla_was_far_behind_speaks_for_others(monkeypatch, happened, at_once, cheap, times, size, asks):
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    f = jit(relaxed)
    for _ in range(4):
        f(of_length(50))
    assert happened["xla compile"] == 1
    ((version,),) = [here.versions for entry in f.compiled.entries.values() for here in entry.worlds]
    version.times = times
    for _ in range(2 * dynamic.OFTEN):
        agree(f(of_length(size)), relaxed(of_length(size)))
    assert happened["xla compile"] == 1 + asks and traces(f) == 2


def running_sum(x):
    x = x.copy()
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x


def test_machine_code_is_optimised_once_calls_have_paid(monkeypatch, happened, at_once):
    monkeypatch.setattr(deferred, "LINE", 1e9)
    monkeypatch.setattr(backend_choice, "LAUNCH", 1.0)  # there is nothing for XLA to win
    f, x = jit(running_sum), of_length(70)
    for _ in range(3):
        agree(f(x), running_sum(x))
    assert happened["deferred"] == 1 and HOT in f.explain()
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    for _ in range(4):
        agree(f(x), running_sum(x))
    assert happened["asked"] == happened["ready"] == 1 and happened["xla compile"] == 0
    assert "until machine code was optimised beside the program" in f.explain()


def test_where_no_thread_can_optimise_machine_code_the_call_does(monkeypatch, happened):
    monkeypatch.setattr(deferred.WORKER, "ask", lambda job: False)
    f, x = jit(running_sum), of_length(71)
    agree(f(x), running_sum(x))
    assert HOT in f.explain()
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    agree(f(x), running_sum(x))
    assert HOT not in f.explain()


def walked(x):
    while x[0] < 1.0:
        x = x + 0.125
    return x


def test_machine_code_of_much_or_unknown_work_is_optimised_at_once(monkeypatch, happened):
    f = jit(walked)
    agree(f(np.zeros(9)), walked(np.zeros(9)))
    assert HOT not in f.explain()
    monkeypatch.setattr(autotune, "LITTLE_WORK", 100.0)
    f, x = jit(running_sum), of_length(72)
    agree(f(x), running_sum(x))
    assert HOT not in f.explain()


def test_a_call_that_takes_long_waits_for_xla(monkeypatch, happened):
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)
    monkeypatch.setattr(deferred, "EQUATION", 0.0)
    monkeypatch.setattr(deferred, "LINE", 0.0)
    f, x = jit(relaxed), of_length(50)
    agree(f(x), relaxed(x))
    assert happened["deferred"] == 0 and happened["xla compile"] == 1


def test_a_program_of_hundreds_of_equations_waits_for_no_compiler(happened):
    def f(x):
        return layered(layered(layered(layered(layered(x)))))

    g, x = jit(f), of_length(50)
    agree(g(x), f(x))
    assert happened["deferred"] == 1 and happened["xla compile"] == 0
    (version,) = next(iter(g.compiled.entries.values())).worlds[0].versions
    assert version.func.count() > backend_choice.LONGEST


def test_a_long_program_stays_where_xla_fails(monkeypatch, at_once):
    monkeypatch.setattr(deferred, "SHARE", 0.0)
    monkeypatch.setattr(deferred.Deferred, "make", lambda self: 1 / 0)
    f, x = jit(layered), of_length(50)
    for _ in range(5):
        agree(f(x), layered(x))


class Attending:
    """Keeps what it has seen, in a list and an attribute that grow."""

    def __init__(self):
        self.tables = [np.linspace(0.0, 1.0, 2000).reshape(200, 10)]
        self.kept, self.seen = [np.zeros((0, 10))], np.zeros(0)

    def step(self, token):
        x = self.tables[0][token]
        self.kept[0] = np.concatenate([self.kept[0], x[None]])
        self.seen = np.append(self.seen, x.sum())
        return np.exp(self.kept[0] @ x).sum() + self.seen.mean()


def test_arrays_outside_that_grow_wait_for_no_trace_either(happened, monkeypatch):
    monkeypatch.setattr(families, "SHORT", 1.0)
    monkeypatch.setattr(contest, "expected", lambda func: 1e-3)
    plain, step = Attending(), jit(Attending.step)
    ours = Attending()
    for k in range(30):
        agree(step(ours, 3 * k), plain.step(3 * k))
    agree(ours.kept, plain.kept)
    assert happened["traced"] == 2 and answered(step) == {"plain Python": 28}
    told = step.explain()
    assert "self.kept[0]: f64[2 to 29,10], self.seen: f64[2 to 29]" in told
    assert "not symbolic arrays outside have changed, and sizes of arguments alone can be so: self.kept[0]" in told


def test_a_new_trace_names_the_array_outside_that_has_another_shape():
    held = {"x": np.ones(3)}
    f = jit(lambda y: held["x"].sum() * y, dynamic=False)
    f(1.0)
    held["x"] = np.ones(5)
    assert f(1.0) == 5.0
    assert "new held['x']: f64[5] (was f64[3])" in f.explain()


def test_a_new_trace_names_the_argument_of_another_type():
    f = jit(lambda x, carry: x.sum() * carry)
    f(np.ones(3), 0.0)
    f(np.ones(3), np.float64(1.0))
    assert "new types: carry: numpy.float64 (was float)" in f.explain()


def test_functions_that_draw_wait_too(happened):
    def noisy(rng, x):
        return x + rng.standard_normal(len(x))

    f, ours, theirs = jit(noisy), np.random.default_rng(0), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(3, 30):
            agree(f(ours, of_length(n)), noisy(theirs, of_length(n)))
    assert happened["traced"] == 1 and answered(f) == {"plain Python": 26}
    assert "26 shapes by plain Python: x: f64[4 to 29]" in f.explain()


def test_a_new_trace_of_a_function_that_draws_says_why():
    f = jit(lambda rng, x: x + rng.standard_normal(len(x)), dynamic=False)
    for n in (3, 5):
        f(np.random.default_rng(0), of_length(n))
    assert "new x: f64[5] (was f64[3])" in f.explain()


def fitted(w, x, y):
    for _ in range(20):
        w = w - 0.05 * (x.T @ (x @ w - y) / max(len(y), 1) + 0.1 * w)
    return w


@pytest.mark.parametrize("engine", [None, "xla"])
def test_new_shapes_in_a_row_are_not_tried_on_the_programs_of_others(engine, rng):
    """Where jax is asked, it says no by an exception, which takes a millisecond or two."""
    run, hot = jit(fitted, engine=engine), []
    for n in (0, 0, 3, 4, 5, 0, 0, 6, 7, 0, 0):
        given = np.zeros(5), rng.standard_normal((n, 5)), rng.standard_normal(n)
        agree(run(*given), fitted(*given), rtol=1e-12)
        hot.append(len(run.__dict__["callee"].hot))
    if engine is None:
        assert hot == [1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1]
