"""Programs of symbolic sizes answer calls of shapes that have none of their own."""

import re
import threading

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit, value_and_grad
from wengert.backends.native import build
from wengert.tracer.call import dynamic, families, in_front, symbolic
from wengert.tracer.call.laddered import Laddered
from wengert.tracer.call.search import FamilySearch

ORDER = [7, 9, 12, 3, 0, 1, 2, 5, 3, 7, 64, 1, 0, 2, 33, 5, 40, 41, 13, 11, 6, 8, 127]


@pytest.fixture(autouse=True)
def as_users_have_it(learning, monkeypatch):
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)  # none has a program of its own


@pytest.fixture(params=["soon", "whole"])
def options(request, monkeypatch):
    """Ways in which a family is found at the third shape: the time that plain Python has taken, or that there is none."""
    monkeypatch.setattr(families, "TIMES", 0.0)
    return {"whole": request.param == "whole"}


def of_length(n):
    return np.linspace(-1.0, 1.0, n)


def sizing(f):
    return next(here.sizing for e in f.compiled.entries.values() for here in e.worlds if here.sizing is not None)


def softly(x):
    return np.log1p(np.exp(x)).sum() / np.sqrt(x.size) + len(x)


def pairs(x):
    k = np.exp(-((x[:, None] - x[None, :]) ** 2)) + np.eye(len(x))
    return k @ x, np.concatenate([x, x[::-1]]), x.shape


def smooth(x):
    return (np.convolve(x, [0.25, 0.5, 0.25], mode="same") ** 2).sum() if x.size else 0.0


def thinned(x):
    return x[::2] * 3.0, x[1::3].sum(), x[:-1:2] + 1.0, x[len(x) // 2 :]


def asked(x):
    if len(x) % 2:
        return x[::2] * len(x)
    return x.reshape(2, -1).sum(axis=0)


def raising(x):
    if len(x) > 50:
        raise ValueError(f"{len(x)} is too long")
    return np.cumsum(x)


def looping(x):
    total = 0.0
    for value in x:
        total = 0.9 * total + np.tanh(value)
    return total


def result(f, *args):
    try:
        return f(*args)
    except ValueError as error:
        return str(error)


def of_numpys_kind(x):
    count = np.prod(x.shape)
    whole = count // 2, count - 3, -count, round(count), int(count), abs(count), count > 8, count == len(x), type(count)
    single = x.astype(np.float32)
    return whole, single * count, np.where(x > 0, single, count), x[: count // 2], x.sum() / (count + 5), count**2, np.ones(count), not count


@pytest.mark.parametrize("function", [softly, pairs, smooth, asked, raising, looping, of_numpys_kind, thinned])
def test_values_at_sizes_in_any_order(function, options, happened):
    f = jit(function, **options)
    for n in ORDER:
        agree(result(f, of_length(n)), result(function, of_length(n)))
    assert happened["symbolic"] >= 1, sizing(f).why


@pytest.mark.parametrize("make", [lambda f, **options: jit(grad(f), **options), value_and_grad])
@pytest.mark.parametrize("function", [softly, looping])
def test_derivatives(make, function, happened):
    f, exact = make(function), jit(grad(function) if make is not value_and_grad else value_and_grad(function), dynamic=False)
    for n in ORDER[:12]:
        agree(f(of_length(n)), exact(of_length(n)))
    assert happened["symbolic"] == 1


def by_frequencies(x):
    return (np.abs(np.fft.rfft(x)) ** 2).sum() * np.median(x)


def by_places(x):
    return np.interp(0.3, np.arange(len(x)), x) + np.quantile(x, 0.9) + x[np.searchsorted(np.cumsum(np.abs(x)), 0.5)] ** 2


def every_other_one(x):
    y = x * 2.0
    y[::2] = 0.0
    return (y * y).sum() + y[len(x) % 3] + sum(x[i] * x[i % 5] for i in range(len(x)))


@pytest.mark.parametrize("function, programs", [(by_frequencies, 2), (by_places, 1), (every_other_one, 1)])
def test_derivatives_of_what_hangs_on_sizes(function, programs, happened):
    """Of even and of odd sizes they may be two programs."""
    f, exact = grad(function), jit(grad(function), dynamic=False)
    x = np.random.default_rng(0).standard_normal(64)
    for n in (*range(12, 20), 63, 64, *range(62, 22, -1)):
        agree(f(x[:n]), exact(x[:n]))
        if n > 20 and happened["symbolic"] == programs:
            break
    assert happened["symbolic"] == programs
    before = happened["begun"]
    found = {n: f(x[:n]) for n in range(20, 63)}
    assert happened["begun"] == before
    for n in (20, 21, 43, 62):
        agree(found[n], exact(x[:n]))


def test_nothing_is_traced_for_a_size_within_the_range(options, happened):
    f = jit(softly, **options)
    for n in (10, 11, 60):
        f(of_length(n))
    assert happened["symbolic"] == 1
    before = happened["begun"], happened["xla compile"]
    for n in (*range(10, 61), *range(60, 9, -1)):
        agree(f(of_length(n)), softly(of_length(n)))
    assert (happened["begun"], happened["xla compile"]) == before


def test_the_range_grows_by_a_few_traces(options, happened):
    f = jit(softly, **options)
    for n in (10, 11, *range(12, 400)):
        agree(f(of_length(n)), softly(of_length(n)))
    assert happened["symbolic"] == 1 and 1 <= happened["wider"] <= 5


def test_two_sizes_that_alternate(options, happened):
    f = jit(lambda x, y: np.outer(x, y).sum(axis=0) + y, **options)
    for k, (n, m) in enumerate([(4, 9), (5, 9), (4, 10), (7, 12), (5, 9), (4, 9), (6, 20), (20, 6), (9, 9), (3, 40)] * 2):
        x, y = of_length(n), of_length(m) * k
        agree(f(x, y), np.outer(x, y).sum(axis=0) + y)
    assert happened["symbolic"] >= 1


def test_names_that_were_one_are_told_apart(options):
    def f(x, y):
        return x[: min(len(x), len(y))] + y[: min(len(x), len(y))]

    g = jit(f, **options)
    for n, m in [(4, 4), (5, 5), (9, 9), (6, 6), (6, 4), (4, 6), (12, 7), (7, 7), (30, 31), (2, 8)]:
        agree(g(of_length(n), of_length(m)), f(of_length(n), of_length(m)))


SCALE = 2.0


def test_what_lies_outside_changes_in_between(options, monkeypatch):
    shift = np.ones(1)

    def f(x):
        return x * SCALE + shift

    g = jit(f, **options)
    for k, n in enumerate(ORDER * 2):
        monkeypatch.setitem(globals(), "SCALE", float(k // 6))
        if k % 4 == 0:
            shift = np.full(1, float(k))
        agree(g(of_length(n)), of_length(n) * float(k // 6) + shift)


def test_arguments_that_are_changed_and_overlap(options, happened):
    def push(x, y):
        x[1:] = x[:-1] + y[1:]
        return x[::2]

    f = jit(push, **options)
    for n in ORDER:
        for shared in (False, True):
            mine, own = of_length(n + 1), of_length(n + 1)
            agree(result(f, mine, mine if shared else mine + 1), push(own, own if shared else own + 1))
            agree(mine, own)
    assert happened["symbolic"] >= 1


def test_a_size_that_recurs_gets_a_program_of_its_own(monkeypatch, options, happened):
    f = jit(softly, **options)
    for n in (10, 11, 60):
        f(of_length(n))
    monkeypatch.setattr(Laddered, "hopes", lambda *args: False)
    monkeypatch.setattr(symbolic, "LEAST_COST", 0.0)
    monkeypatch.setattr(symbolic, "own_cost", lambda here: 0.0)
    made = sizing(f).families[0]
    for n in (20, 20, 20, 30):
        agree(f(of_length(n)), softly(of_length(n)))
    assert (20,) in made.exact
    assert [v.types[0].shape for e in f.compiled.entries.values() for w in e.worlds for v in w.versions].count((20,)) == 1


def test_states_of_the_outside_that_alternate_keep_their_programs(options, monkeypatch, happened):
    f = jit(lambda x: x * SCALE + len(x), **options)
    for n in (10, 11, 40):
        for scale in (2.0, 3.0):
            monkeypatch.setitem(globals(), "SCALE", scale)
            agree(f(of_length(n)), of_length(n) * scale + n)
    before = happened["begun"], happened["fallback"], happened["new shape"]
    for n in range(12, 40):
        monkeypatch.setitem(globals(), "SCALE", 2.0 + n % 2)
        agree(f(of_length(n)), of_length(n) * (2.0 + n % 2) + n)
    assert (happened["begun"], happened["fallback"], happened["new shape"]) == before


def test_a_program_that_is_not_used_for_long_is_found_again(options, monkeypatch, happened):
    monkeypatch.setenv("WENGERT_KEEP", "8")
    f = jit(lambda x, k: x * 2.0 + k.shape[0], **options)
    for n in (10, 11, 40):
        f(of_length(n), np.ones(2))
    assert happened["symbolic"] == 1
    entry = next(iter(f.compiled.entries.values()))
    with f.compiled.lock:
        f.compiled.kept.grow_old(False)
    assert entry.old and not entry.worlds
    for n in (12, 13, 14):
        agree(f(of_length(n), np.ones(2)), of_length(n) * 2.0 + 2)
    assert happened["symbolic"] == 1 and entry.worlds and not entry.old


def test_where_there_is_no_program_of_all_sizes_calls_are_answered_as_ever(options, happened):
    def f(x):
        return x * {10: 1.0, 11: 2.0}.get(len(x), 3.0)

    g = jit(f, **options)
    for n in ORDER:
        agree(g(of_length(n)), f(of_length(n)))
    assert happened["symbolic"] == 0 and happened["not symbolic"] <= 2 * families.TRIES
    assert sizing(g).why


@pytest.mark.parametrize("how", [True, {"x": 0}])
def test_asked_for_at_the_first_call(how, happened):
    f = jit(lambda x, w: np.tanh(x) @ w, dynamic=how)
    w = np.ones(4)
    agree(f(np.ones((10, 4)), w), np.tanh(np.ones((10, 4))) @ w)
    assert happened["symbolic"] == 1
    before = happened["begun"]
    for n in (11, 15, 20, 12):
        agree(f(np.ones((n, 4)), w), np.tanh(np.ones((n, 4))) @ w)
    assert happened["begun"] == before
    assert happened["fallback"] == 0


@pytest.mark.parametrize(
    "how, kind, text",
    [
        ("x", TypeError, "axes by names of arguments, not 'x'"),
        ({0: 0}, TypeError, "axes of arguments by their names"),
        ({"x": 1.5}, TypeError, "Write an int or a tuple of them"),
        ({"y": 0}, ValueError, "names y, which is no argument\n  The arguments are x."),
    ],
)
def test_what_is_asked_for_is_checked(how, kind, text):
    with pytest.raises(kind, match=text):
        jit(softly, dynamic=how)


def test_axes_are_checked_at_the_call():
    with pytest.raises(ValueError, match=r"dynamic= asks for axis 1 of x, which is f64\[3\]"):
        jit(softly, dynamic={"x": 1})(np.ones(3))


@pytest.mark.parametrize("native", [True, False])
def test_machine_code_is_left_out_where_it_is_not_asked_for(native, options, happened, monkeypatch):
    monkeypatch.setattr(build, "ENGINES", type(build.ENGINES)())  # none is there from another test
    f = jit(looping, native=native, **options)
    for n in (30, 31, 60, 45):
        agree(f(of_length(n)), looping(of_length(n)))
    assert (happened["nest"] > 0) == native
    assert (sizing(f).families[0].free is not None) == native  # a loop in Python is no call of NumPy's


@pytest.mark.parametrize("exact", [True, False])
def test_rounding_is_as_asked(exact, options, happened):
    def f(x):
        return (x * 0.1 + x * 0.2) / 3.0 - np.sqrt(np.abs(x)) * 0.7

    g = jit(f, exact=exact, **options)
    for n in (30, 31, 60, 45, 33, 41):
        agree(g(of_length(n)), f(of_length(n)), 0 if exact else 1e-12)
    assert happened["symbolic"] == 1


def test_it_is_told(options):
    f = jit(softly, **options)
    with pytest.raises(ValueError, match="softly has no program of symbolic sizes: sizes have not changed enough"):
        f(of_length(10)), f.text("symbolic")
    for n in (11, 60, 20, 1, 0, 1):
        f(of_length(n))
    lines, plan = f.explain().splitlines(), f.plan(of_length(33)).json()
    assert "  trace 2: (x: f64[n])" in lines
    who = "generated NumPy" if options["whole"] else "plain Python"
    start = lines.index("  sizes that change")
    answered = [line for line in lines[start:] if who in line]
    assert answered[0].startswith("    answered     ") and "x: f64[0 to " in answered[0]
    assert any(line.startswith("    symbolic     n: x.shape[0]") for line in lines[start:])
    assert any("by one program, n = " in line for line in lines[start:])
    assert "func softly(%x: f64[n]) -> f64[]" in f.text("symbolic")
    (program,) = plan["traces"]
    assert program["arguments"] == "x: f64[n] at n = 33" and program["engine"] == "numpy"
    assert program["why"].startswith("one program for all sizes: n: x.shape[0]")
    assert [b["type"] for b in program["buffers"] if b["name"] == "x"] == ["f64[33]"]


@pytest.fixture
def counted(monkeypatch):
    """Clocks by which each call of plain Python takes a second, and so does each trace of a search."""
    monkeypatch.setattr(families, "SHARE", 0.25)
    monkeypatch.setattr(families, "BEGUN", 0)
    monkeypatch.setattr(families, "WIDER", 0)
    monkeypatch.setattr(families, "CALM", 1.0)
    monkeypatch.setattr(FamilySearch, "taken", lambda search: float(len(search.made)))
    took = dynamic.ShapeTally.answered
    monkeypatch.setattr(dynamic.ShapeTally, "answered", lambda shape, who, _, sizing: took(shape, who, 1.0, sizing))
    monkeypatch.setattr(dynamic, "cost_of", lambda version: 1e9)


def test_calls_share_the_search(counted, happened):
    f, made = jit(softly), []
    for n in range(10, 40):
        agree(f(of_length(n)), softly(of_length(n)))
        search = n > 10 and sizing(f).search
        made.append(len(search.made) if search else 0)
    assert max(b - a for a, b in zip(made, made[1:])) <= 2 and max(made) >= 5
    assert happened["symbolic"] == 1 and happened["fallback"] >= 10


def test_a_search_after_one_in_vain_is_shared_whatever_answers(counted, happened):
    """Of a gradient, too, for which there is no plain Python."""
    pairs = lambda x: np.array([a * b for i, a in enumerate(x) for b in x[i + 1 :]]).sum()
    f, made = grad(pairs), []
    for n in range(3, 24):
        x = of_length(n)
        agree(f(x), x.sum() - x)
        search = n > 3 and sizing(f).search
        made.append((sizing(f).failed if n > 3 else 0, len(search.made) if search else 0))
    assert made[-1][0] >= 1 and happened["not symbolic"] >= 1
    later = [m for failed, m in made if failed == 1]
    calls = next(k for k, m in enumerate(later) if m)  # that have gone by before it begins
    assert max(b - a for a, b in zip(later, later[1:])) <= calls + 1 and max(later) > calls + 1


def test_a_search_that_goes_on_is_told(counted, happened):
    """What has made a call longer than others, before there is a program."""
    f = jit(softly)
    for n in range(10, 60):
        f(of_length(n))
        if n > 12 and sizing(f).search is not None and sizing(f).search.made:
            break
    made = len(sizing(f).search.made)
    assert happened["symbolic"] == 0 and happened["searching"] >= 1
    assert f"not symbolic as yet: {made} trace" in f.explain() and "is looked for further when" in f.explain()


def chosen(x):
    if len(x) > 8 and x.sum() > 2:
        return [x]
    return "little"


@pytest.mark.parametrize("first", [5, 9])
def test_decisions_by_value_are_told_where_there_is_no_program(first, monkeypatch):
    """Met by the first trace, or by those at other sizes alone."""
    monkeypatch.setattr(families, "TIMES", 0.0)
    f = jit(chosen)
    for n in (first, *range(10, 20)):
        agree(f(np.ones(n)), chosen(np.ones(n)))
    text = " at .*test_symbolic_calls.py:" if first == 5 else " for each way that data go"
    assert re.search(f"not symbolic .*{text}", f.explain())


def test_a_search_begins_anew_where_the_outside_has_changed(counted, happened, monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 1.0)
    f, searches = jit(lambda x: x * SCALE + np.ones(len(x)) * SCALE), []
    for n in range(10, 16):
        agree(f(of_length(n)), of_length(n) + 1.0)
        searches += [sizing(f).search] if n > 12 else []
    assert searches[-1].made and f.callee(searches[-1].holds)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert not f.callee(searches[-1].holds)
    for n in range(16, 60):
        agree(f(of_length(n)), (of_length(n) + 1.0) * 2.0)
    assert happened["symbolic"] == 1


def test_costs_are_told_by_the_first_trace(monkeypatch):
    def sizing_of(function):
        f = jit(function, dynamic=False)
        f(of_length(5))
        return families.Sizing(next(v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions).func)

    now, later = sizing_of(looping), sizing_of(softly)
    assert later.times == families.CALM * now.times == families.CALM * families.TIMES
    now.spent = families.TIMES * families.TRACES * 0.1
    assert now.is_time(0.099, families.TRACES, 3, False) and not now.is_time(0.101, families.TRACES, 3, False)
    assert now.is_time(1.0, families.TRACES, 3, True) and not now.is_time(1.0, families.TRACES, 2, True)
    assert in_front.UNSERVED


def test_steps_through_an_array_are_one_function_of_numpy_calls(options):
    f = jit(thinned, **options)
    for n in ORDER:
        agree(f(of_length(n)), thinned(of_length(n)))
    for found in sizing(f).families:  # one for each remainder by two and three
        assert found.free is not None, found.why
        assert found.spent


class Layers:
    """What methods read: attributes, in containers too, of other objects, and one that changes."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.layers = [{"w": rng.standard_normal((3, 3)), "b": rng.standard_normal(3)} for _ in range(2)]
        self.scale, self.mean, self.seen = 2.0, None, []

    def forward(self, x):
        for layer in self.layers:
            x = np.tanh(x @ layer["w"] + layer["b"])
        return x.sum(axis=0) * self.scale / len(x), np.cumsum(x[:, 0])

    def compared(self, other, x):
        return (x @ self.layers[0]["w"] - x @ other.layers[0]["w"]).max(axis=0) * x.shape[0], self is other

    def centred(self, x):
        self.mean = x.mean(axis=0)
        return x - self.mean


@pytest.mark.parametrize("name", ["forward", "compared", "centred"])
def test_methods(name, options, happened):
    method = getattr(Layers, name)
    f, objects = jit(method, **options), [Layers(0), Layers(1)]
    for k, n in enumerate(ORDER):
        ours = objects[k % 2]
        others = [objects[k % 3 == 0]] if name == "compared" else []
        x = np.linspace(-1.0, 1.0, 3 * (n + 2)).reshape(-1, 3)
        found, held = f(ours, *others, x), ours.mean
        agree(found, method(ours, *others, x))
        agree(held, ours.mean)
        if k == 12:
            objects[0].layers[0]["w"] = np.ones((3, 3))
        if k == 16:
            objects[1].scale = 3.0
    assert (happened["symbolic"] >= 1) == (name != "centred"), sizing(f).why
    assert name != "centred" or "stores to" in sizing(f).why


def test_methods_on_several_threads():
    f, objects, failures = jit(Layers.forward, dynamic=True), [Layers(k) for k in range(3)], []

    def calls(k):
        try:
            for n in ORDER[:5] * 4:
                x = np.linspace(-1.0, 1.0, 3 * (n + 2)).reshape(-1, 3) + k
                agree(f(objects[k], x), Layers.forward(objects[k], x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and f.explain().count("    symbolic ") >= 1


def test_programs_of_their_own_tell_no_numbers_of_other_sizes(monkeypatch):
    f = value_and_grad(looping)
    for n in (10, 13, 17):
        f(of_length(n))
    (found,) = sizing(f).families
    assert any("trips" in note for note in found.family.samples[0].version.captured.notes)
    assert not any("trips" in note for note in found.family.version({"n": 11}).captured.notes)


def test_sizes_at_which_the_function_is_another_are_left_out():
    """NumPy convolves in another order where there are fewer elements than the kernel has."""
    kernel, energy = np.array([0.1, 0.2, 0.4, 0.3, 0.1]), lambda x, k: (np.convolve(x, k, mode="same") ** 2).sum()
    f, exact = grad(energy), jit(grad(energy), dynamic=False)
    for n in (*range(1, 30), 400, 3, 5, 7, 90):
        agree(f(of_length(n), kernel), exact(of_length(n), kernel), 1e-12)
    (made,) = [s for s in sizing(f).families if s.free is not None]
    assert sum(calls for calls, _ in made.spent.values()) > 15 and min(made.spent)[0] > 4


def test_a_range_that_would_be_another_function_stays_as_it_was(monkeypatch):
    f = grad(lambda x: np.log1p(np.exp(x)).sum() / np.sqrt(x.size))
    for n in (7, 9, 12, 13, 11):
        f(of_length(n))
    (made,) = sizing(f).families
    before, free = made.family.ranges, made.free
    monkeypatch.setattr(type(free), "agrees", lambda *_: False)
    agree(f(of_length(2000)), 1 / (1 + np.exp(-of_length(2000))) / np.sqrt(2000), 1e-12)
    assert made.free is free and made.family.ranges is before and not made.family.ranges.has({"n": 2000})
    agree(f(of_length(10)), 1 / (1 + np.exp(-of_length(10))) / np.sqrt(10), 1e-12)
    assert (10,) in made.spent


def test_a_size_has_paid_when_its_calls_have_taken_what_the_dearest_program_did(monkeypatch, happened):
    """The first was made in no time; one of another size took an hour."""
    monkeypatch.setattr(symbolic, "LEAST_COST", 0.0)
    monkeypatch.setattr(Laddered, "of", lambda *_: None)
    f = jit(softly, dynamic=True)
    f(of_length(7))
    (here,) = [w for e in f.compiled.entries.values() for w in e.worlds]
    first = next(v for v in here.versions if v.symbolic is None)
    first.first_seconds, first.compile_seconds = 3600.0, None
    for _ in range(20):
        agree(f(of_length(9)), softly(of_length(9)))
    assert len(here.versions) == 2
    first.first_seconds = 0.0
    for _ in range(3):
        agree(f(of_length(9)), softly(of_length(9)))
    assert len(here.versions) == 3


def test_a_larger_range_is_found_without_arrays_of_its_sizes(said):
    """The range is made to twice the size called, at which these have four times the elements. In a process of its own:
    what is counted are the arrays of all threads."""
    plain, ours, agrees, text = said("""
        import tracemalloc

        def stiffness(x):
            n = len(x)
            return (2 * np.eye(n) - np.eye(n, k=1) + np.full((n, n), 0.5) * np.arange(n)) @ x

        def peak(run):
            "Bytes that a call has in use at most."
            tracemalloc.start()
            try:
                run()
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

        f = jit(stiffness, dynamic=True)
        lengths = 5, 6, 7, 9, 1500
        agrees = [np.allclose(f(x), stiffness(x), 1e-9) for x in map(np.linspace, [-1] * 4, [1] * 4, lengths)]
        x = np.linspace(-1, 1, 1500)
        plain = peak(lambda: stiffness(x))
        ours = peak(lambda: agrees.append(bool(np.allclose(f(x), stiffness(x), 1e-9))))
        print(json.dumps([plain, ours, agrees, f.text("numpy", x)]))
    """)
    assert agrees == [True] * 5
    assert ours < 1.5 * plain
    assert "broadcast_to" not in text


def stepped(w, h):
    for _ in range(40):
        h = np.tanh(w.T @ (w @ h) * 0.01)
    return (h * h).sum()


@pytest.mark.parametrize("make", [lambda f: jit(f, dynamic=True), lambda f: jit(grad(f), dynamic=True)])
def test_products_with_vectors_are_in_machine_code_at_all_sizes(make, happened):
    """Where a program has one size, large ones are left to a library."""
    f, rng = make(stepped), np.random.default_rng(0)
    exact = jit(f, dynamic=False)
    for n in (6, 9, 20, 70, 40, 130):
        w, h = rng.random((n, 300)), rng.random(300)
        agree(f(w, h), exact(w, h), rtol=1e-9)
    assert all(made.free is not None for made in sizing(f).families), [made.why for made in sizing(f).families]
    assert happened["symbolic"] == 1
