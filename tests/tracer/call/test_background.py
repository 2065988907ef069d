"""`jit(tier="background")`: no call waits for the compiler, and each is right, whatever happens while it works.

The compiler is held by events, and every compilation must be on its own thread.
"""

import ctypes
import subprocess
import sys
import threading
import warnings

import jax
import numpy as np
import pytest

from wengert import Fallback, WengertError, grad, hessian, jit, rule, value_and_grad, vjp, vmap
from wengert.tracer.call import background
from wengert.tracer.call.background import WORKER
from wengert.tracer.values.storage import current_trace

X = np.linspace(-1.0, 2.0, 7)
scale, calls = 2.0, 0


class Compiler:
    """The compiler of the thread, to be held and let go, and the threads that have compiled."""

    def __init__(self):
        self.free, self.reached, self.threads = threading.Event(), threading.Event(), []
        self.free.set()

    def hold(self):
        self.reached.clear()
        self.free.clear()

    def wait(self):
        """Let it go, until nothing is left to do."""
        self.free.set()
        with WORKER.more:
            assert WORKER.more.wait_for(lambda: not WORKER.jobs and WORKER.working is None, 60)


@pytest.fixture
def compiler(monkeypatch):
    made, ahead = Compiler(), background.dispatch.ahead

    def held(*args):
        made.reached.set()
        assert made.free.wait(60)
        ahead(*args)

    def compiled(event, seconds, **_):
        if event.endswith("backend_compile_duration"):
            made.threads.append(threading.current_thread().name)

    monkeypatch.setattr(background.dispatch, "ahead", held)
    jax.monitoring.register_event_duration_secs_listener(compiled)
    yield made
    made.wait()
    getattr(jax.monitoring, "unregister_event_duration_listener", id)(compiled)  # jax 0.8.0 has none
    assert set(made.threads) <= {"wengert compiler"}


def traces(f):
    return [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]


def agree(f, plain, *arguments):
    """f and plain Python, on copies of their own: results, and what is left of the arguments."""
    ours, theirs = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)]
    got, want = f(*ours), plain(*theirs)
    for x, y in zip([got, *ours], [want, *theirs], strict=True):
        assert type(x) is type(y)
        np.testing.assert_allclose(x, y, rtol=1e-12)
    return got


def once(f, plain, compiler, *arguments):
    """A call answered by plain Python, and one by the program made of it."""
    before = len(traces(f))
    agree(f, plain, *arguments)
    compiler.wait()
    agree(f, plain, *arguments)
    assert len(traces(f)) == before + 1, f.explain()


def total(x):
    s = 0.0
    for v in x:
        s += np.tanh(v) if v > 0 else v
    return s


def traced():
    """Whether the function that asks is being traced."""
    return current_trace() is not None


# -- calls -----------------------------------------------------------------------------------------


def test_no_call_waits(compiler):
    compiler.hold()
    f = jit(total, tier="background")
    agree(f, total, X)
    assert compiler.reached.wait(60)
    agree(f, total, X)  # the second
    agree(f, total, X[:3])  # another shape
    got = []
    other = threading.Thread(target=lambda: got.append(f(X)))
    other.start()
    other.join(60)
    assert got == [total(X)] and not traces(f)
    assert "asked for" in f.explain() and "plain Python has answered 3 call(s)" in f.explain()
    compiler.wait()
    agree(f, total, X)
    agree(f, total, X[:3])
    agree(f, total, X)
    assert len(traces(f)) == 2 and compiler.threads.count("wengert compiler") == 2
    assert "plain Python answered 3 call(s), until it took over" in f.explain() and "to compile\n" in f.explain()


def test_calls_let_the_compiler_in():
    leave, ends = ctypes.CDLL(None).usleep, threading.Event()

    class Job:
        """Like LLVM's work: Python is had again and again, for a moment."""

        def run(self):
            with WORKER.hurried():
                for _ in range(500):
                    leave(1)
            ends.set()

    assert WORKER.ask(Job())
    calls = 0
    while not ends.is_set():  # without letting it in, each time of the job's takes some hundred of these
        WORKER.let_in()
        calls += sum(range(1000)) > 0
    assert calls < 15_000, calls


def test_shapes_beside_each_other(compiler):
    f = jit(total, tier="background")
    for n in (7, 5, 3):
        once(f, total, compiler, X[:n])
    compiler.hold()
    agree(f, total, X[:2])
    for n in (3, 7, 2, 5):
        agree(f, total, X[:n])
    assert len(traces(f)) == 3


def test_writes_views_and_kinds(compiler):
    def smooth(u, steps):
        for _ in range(steps):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
        return u[::2]

    f = jit(smooth, tier="background")
    once(f, smooth, compiler, X, 3)
    u = X.copy()
    assert np.shares_memory(f(u, 3), u)
    once(f, smooth, compiler, X.astype(np.float32), 3)
    once(f, smooth, compiler, X, 4)


def test_exceptions_are_those_of_plain_python(compiler):
    def pick(x, i):
        x[0] += 1
        return x[i]

    f = jit(pick, tier="background")
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 7$"):
        f(X.copy(), np.int64(9))
    assert WORKER.thread is None or not WORKER.jobs
    once(f, pick, compiler, X, np.int64(2))
    with pytest.raises(IndexError, match="out of bounds"):
        f(X.copy(), np.int64(9))


def test_keywords_containers_and_methods(compiler):
    class Model:
        def __init__(self):
            self.weights = X * 2

        @jit(tier="background")
        def apply(self, inputs, *, gain=1.0):
            inputs["log"].append(1)
            return {"y": np.sin(inputs["x"]) * self.weights * gain}

    model = Model()
    for _ in range(3):
        log = []
        np.testing.assert_allclose(model.apply({"x": X, "log": log}, gain=3.0)["y"], np.sin(X) * X * 6, rtol=1e-12)
        assert log == [1]
        compiler.wait()
    assert len(traces(Model.apply)) == 1


def test_jax_arrays_wait(compiler):
    f = jit(total, tier="background")
    got = f(jax.numpy.ones(3))
    assert isinstance(got, jax.Array) and got == f(jax.numpy.ones(3)) == total(np.ones(3))
    assert "1 call(s) waited for the compiler: arguments are jax arrays" in f.explain()
    compiler.threads.clear()


def test_device(compiler):
    once(jit(total, tier="background", device="cpu"), total, compiler, X)


def test_numbers_that_change(compiler):
    def power(x, n):
        return x * n + n

    f = jit(power, tier="background")
    for n in range(6):
        agree(f, power, X, n)
        compiler.wait()
    assert "(x: f64[7], n: i64[])" in f.explain() and len(traces(f)) == 1
    compiler.hold()
    agree(f, power, X, 17)

    def rows(x, n):
        return np.zeros(n) + x[0]

    g = jit(rows, tier="background")
    for n in (1, 2, 3, 3, 3, 4):
        agree(g, rows, X, n)
        compiler.wait()
    agree(g, rows, X, 4)
    assert "n: i64[]" in g.explain() and len(traces(g)) == 1


def test_generated_numpy(compiler, monkeypatch):
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)
    monkeypatch.setattr("wengert.tracer.program.backend_choice.turns", lambda forms, n, ready=0: (0.0, 1.0)[-len(forms) :])
    f = jit(lambda x, s: x * s + 1, tier="background")
    once(f, lambda x, s: x * s + 1, compiler, X, 2.0)
    once(f, lambda x, s: x * s + 1, compiler, X[:2], 2.0)
    assert [v.engine for v in traces(f)] == ["NumPy"] * 2


def test_draws(compiler):
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)

    @jit(tier="background")
    def noisy(x):
        return x + rng.normal() + rng.uniform(size=7)

    for _ in range(4):
        np.testing.assert_allclose(noisy(X), X + twin.normal() + twin.uniform(size=7), rtol=1e-12)
        compiler.wait()
    assert len(traces(noisy)) == 1


# -- the world meanwhile ---------------------------------------------------------------------------


def scaled(x):
    if traced():
        pause()
    return np.tanh(x) * scale


def pause():
    pass


def test_globals_change_while_it_is_traced(compiler, monkeypatch):
    global scale
    reached, go = threading.Event(), threading.Event()

    class Held(background.Strict):
        def profile(self, frame, event, argument):
            if event == "call" and frame.f_code.co_name == "pause":
                reached.set()
                assert go.wait(60)
            super().profile(frame, event, argument)

    monkeypatch.setattr(background, "Strict", Held)
    scale = 2.0
    f = jit(scaled, tier="background")
    agree(f, scaled, X)
    assert reached.wait(60)
    scale = 3.0
    go.set()
    compiler.wait()
    agree(f, scaled, X)
    compiler.wait()
    scale = 2.0
    agree(f, scaled, X)  # what was traced relied on 2.0, and has 2.0 in it
    scale = 3.0
    agree(f, scaled, X)
    assert [r.value for v in traces(f) for r in v.captured.outside.reads.values() if r.name == "scale"] == [2.0, 3.0]
    scale = 2.0


def test_arguments_are_the_callers_own(compiler):
    """Data decides by value: the trace needs arguments, and gets copies of those of a call."""

    def sign(x):
        if x.sum() > 0:
            return "positive"
        return "not positive"

    f = jit(sign, tier="background")
    x = X.copy()
    assert f(x) == "positive"
    compiler.wait()
    assert "traced with the arguments of the next call" in f.explain()
    compiler.hold()
    assert f(x) == "positive"
    x[:] = -1.0
    compiler.wait()
    assert f(X) == "positive" and len(traces(f)) == 1
    assert "assumes" in f.explain()
    compiler.hold()
    assert f(-X) == "not positive"  # another branch of the tree
    compiler.wait()
    assert f(-X) == "not positive"
    compiler.wait()
    assert [f(-X), f(X), f(-X)] == ["not positive", "positive", "not positive"] and len(traces(f)) == 2


def test_branches_that_take_different_arrays_in(compiler):
    left, right = X * 2, X * 3

    def pick(x):
        if x.sum() > 0:
            return "right", x * right
        return x.sum(), x + left

    f = jit(pick, tier="background")
    for sign in (1, 1, 1, -1, -1, -1, 1, -1, -1, 1):
        (what, got), (_, want) = f(sign * X), pick(sign * X)
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert (what == "right") == (sign > 0)
        compiler.wait()
    assert len(traces(f)) == 2
    right[:], left[:] = 5.0, 7.0
    compiler.hold()
    for sign in (1, -1):
        np.testing.assert_allclose(f(sign * X)[1], pick(sign * X)[1], rtol=1e-12)


def test_stores_outside_are_traced_by_a_call(compiler):
    class Counter:
        n = 0

    counter = Counter()

    @jit(tier="background")
    def count(x):
        global calls
        counter.n += 1
        calls += 1
        return x * counter.n

    for k in range(1, 7):
        np.testing.assert_allclose(count(X), X * k)
        compiler.wait()
        assert counter.n == calls == k
    assert "traced on the thread of a call: it assigns calls, a variable outside" in count.explain()
    assert any(r.how == "input" for v in traces(count) for r in v.captured.outside.reads.values())


def test_handlers_do_not_see_why_a_trace_ends(compiler):
    class Counter:
        n = 0

    counter = Counter()

    @jit(tier="background")
    def count(x):
        try:
            counter.n += 1
        except:  # noqa: E722
            raise ValueError("caught") from None
        return x * 2

    for k in range(1, 5):
        np.testing.assert_allclose(count(X), X * 2)
        compiler.wait()
        assert counter.n == k
    assert "traced on the thread of a call: it stores to Counter.n" in count.explain() and len(traces(count)) == 1


def test_what_is_not_captured_is_not_run_beside_the_program(compiler, tmp_path):
    path = tmp_path / "log"

    def note(text):
        with open(path, "a") as file:
            file.write(text)

    @jit(tier="background")
    def f(x):
        note("called ")
        return np.sin(x)

    f(X)
    compiler.wait()
    assert path.read_text() == "called "
    assert "to come" in f.explain() and "traced at the next call" in f.explain()


def test_containers_outside(compiler):
    layers, seen = [X, X * 2], []

    @jit(tier="background")
    def f(x):
        for w in layers:
            x = np.tanh(x + w)
        seen.append(len(layers))
        return x

    want = np.tanh(np.tanh(X + X) + 2 * X)
    for k in (1, 2):
        np.testing.assert_allclose(f(X), want, rtol=1e-12)
        compiler.wait()
        assert seen == [2] * k
    layers.append(X)
    for _ in range(2):
        np.testing.assert_allclose(f(X), np.tanh(want + X), rtol=1e-12)
        compiler.wait()
    assert len(traces(f)) == 2


def test_rules_are_waited_for_since_plain_python_has_none(compiler, inexact_rules):
    f = jit(lambda x: np.sqrt(x * x), tier="background")
    f(X)
    compiler.wait()
    f(X)
    with rule(lambda x: np.sqrt(x * x), lambda x: np.abs(x), name="sqrt of square"):
        for _ in range(2):
            np.testing.assert_allclose(f(X), np.abs(X))
        assert "sqrt of square" in f.explain()
        while "MainThread" in compiler.threads:
            compiler.threads.remove("MainThread")
    np.testing.assert_allclose(f(X), np.abs(X))


# -- derivatives -----------------------------------------------------------------------------------


def loss(w):
    s = 0.0
    for v in w:
        s += v**3 if v > 0 else v
    return s


def slope(w):
    return np.where(w > 0, 3 * w**2, 1.0)


def test_derivatives_are_answered_by_generated_numpy(compiler):
    compiler.hold()
    f = jit(grad(loss), tier="background")
    for _ in range(2):
        np.testing.assert_allclose(f(X), slope(X), rtol=1e-12)
    assert not traces(f) and "generated NumPy has answered 2 call(s)" in f.explain()
    compiler.wait()
    np.testing.assert_allclose(f(X), slope(X), rtol=1e-12)
    assert len(traces(f)) == 1


def test_derivatives_and_compiled_functions_inside(compiler):
    inner = jit(total)

    @jit(tier="background")
    def step(w):
        value, g = value_and_grad(loss)(w)
        return w - 0.1 * g * inner(w), value

    def want(w):
        return w - 0.1 * slope(w) * total(w), loss(w)

    compiler.hold()
    for _ in range(3):
        for got, expected in zip(step(X), want(X), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
        compiler.wait()
    assert len(traces(step)) == 1


@pytest.mark.parametrize("transformed", [hessian, lambda f: vmap(grad(f)), lambda f: lambda x: vjp(f, x)[1](1.0), lambda f: jit(f)])
def test_transforms(compiler, transformed):
    def cubes(x):
        return (x**3).sum()

    f, want = jit(transformed(cubes), tier="background"), transformed(cubes)
    x = np.ones((2, 3)) * 0.5 if transformed is not hessian else X
    compiler.hold()
    got = [f(x), f(x)]
    compiler.wait()
    for found in [*got, f(x)]:
        np.testing.assert_allclose(found, want(x), rtol=1e-12)
    assert len(traces(f)) == 1
    compiler.threads.clear()


def test_a_derivative_that_prints_waits(compiler, capsys):
    def told(x):
        for v in x:
            print("at", v)
        return (x * x).sum()

    f = jit(grad(told), tier="background")
    np.testing.assert_allclose(f(np.ones(2)), [2.0, 2.0])
    assert capsys.readouterr().out == "at 1.0\nat 1.0\n"
    assert "1 call(s) waited for the compiler: a derivative in it prints" in f.explain()
    compiler.wait()
    compiler.threads.clear()


# -- failures --------------------------------------------------------------------------------------


def test_a_program_that_cannot_be_compiled(compiler):
    def texts(x):
        return [0 for _ in range(len(f"{x}"))]

    f = jit(texts, tier="background")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(6):
            assert f(X) == texts(X)
            compiler.wait()
    assert [w.category for w in caught] == [Fallback] and "its calls run as plain Python" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert "no trace: (x: f64[7])" in f.explain() and "failed" in f.explain()


def test_a_compiler_that_fails(compiler, monkeypatch):
    def fails(*args):
        raise MemoryError("the compiler has no room")

    monkeypatch.setattr(background.dispatch, "ahead", fails)
    f = jit(total, tier="background")
    with pytest.warns(Fallback, match="the compiler has no room"):
        for _ in range(4):
            assert f(X) == total(X)
            compiler.wait()
    assert "failed       the compiler has no room" in f.explain()


def test_options():
    with pytest.raises(ValueError, match="tier='background', not 'x'"):
        jit(total, tier="x")
    with pytest.raises(ValueError, match="check=True"):
        jit(total, tier="background", check=True)
    assert issubclass(WengertError, Exception)


# -- processes -------------------------------------------------------------------------------------


def test_programs_on_disk(compiler, tmp_path):
    for said in ("kept in", "read from"):
        f = jit(total, tier="background", cache=tmp_path)
        once(f, total, compiler, X)
        assert f"cache        {said}" in f.explain()


PROGRAM = """
import os, threading, warnings
import numpy as np
from wengert import jit
from wengert.tracer.call import background

def f(x):
    for _ in range(40):
        x = np.tanh(x @ x) + np.sin(x)
    return x

begun, ahead = threading.Event(), background.dispatch.ahead

def held(*args):
    begun.set()
    ahead(*args)

background.dispatch.ahead = held
warnings.simplefilter("ignore")
g, x = jit(f, tier="background"), np.eye(8)
g(x)
begun.wait()
child = os.fork()
if not child:
    for y in (x, x, x[:4, :4]):  # no thread is left here that could make a program
        assert np.array_equal(g(y), f(y)) and background.WORKER.thread is None
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
begun.clear()
g(x[:5, :5])
begun.wait()
print("ends")
"""


def test_processes_that_end_and_fork_while_it_compiles(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "7\nends\n"), done.stderr
