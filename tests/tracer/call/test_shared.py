"""Functions made alike share what is traced: found by code, variables, defaults and options, and never an answer for another."""

import builtins
import threading
import types
import weakref

import numpy as np
import pytest
from collected import collect
from compare import agree

from wengert import custom_vjp, grad, hessian, jit, jvp, value_and_grad, vjp, vmap
from wengert.tracer.api.compiled import MOST
from wengert.tracer.call import shared
from wengert.tracer.call.entry import SignatureEntry

X = np.arange(4.0)
SCALE = 2.0


def traces(f):
    return f.explain().count("\n  trace ")


def loss(w):
    return (w * w * SCALE).sum()


def times(k):
    return lambda x: (x * k).sum()


TRANSFORMS = {
    "jit": lambda f: jit(f)(X),
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "jit of grad": lambda f: jit(grad(f))(X),
    "vmap of grad": lambda f: vmap(grad(f))(np.ones((2, 4))),
    "vmap by axes": lambda f: vmap(f, in_axes=(1,))(np.ones((4, 2))),
    "grad of grad": lambda f: grad(lambda x: grad(f)(x).sum())(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X)[1](1.0),
}


@pytest.fixture
def traced(monkeypatch):
    """A list that grows by one a trace."""
    made, trace = [], SignatureEntry.trace
    monkeypatch.setattr(SignatureEntry, "trace", lambda *args, **kwargs: made.append(None) or trace(*args, **kwargs))
    return made



@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_same_function_is_the_same_program(name, traced):
    first, known = TRANSFORMS[name](loss), None
    for _ in range(3):
        again = TRANSFORMS[name](loss)
        known = known or len(traced)
    assert len(traced) == known and str(again) == str(first)


def test_a_pullback_leads_to_little(traced, monkeypatch):
    monkeypatch.setattr("wengert.tracer.guards.by_class.MANY", 450)  # where there are more, no other function shares it
    for _ in range(3):
        vjp(times(3.0), X)[1](1.0)
    assert len(traced) == 2


class Prompt:
    """What a prompt has: all that was shown."""

    def __init__(self):
        self.shown = [loss, *(object() for _ in range(20000))]

    def get(self):
        return self


@pytest.mark.parametrize("name, held", [("_", Prompt().shown), ("_", [loss]), ("get_prompt", Prompt().get)], ids=["much", "the function", "a prompt"])
def test_what_a_prompt_keeps_among_builtins_is_no_part_of_a_pullback(name, held, traced, monkeypatch):
    monkeypatch.setattr(builtins, name, held, raising=False)
    for _ in range(3):
        vjp(loss, X)[1](1.0)
    assert len(traced) == 2


class Shown:
    """What can be told to be gone."""


def test_what_a_prompt_has_shown_last_is_not_kept_alive(monkeypatch):
    shown = Shown()
    monkeypatch.setattr(builtins, "_", shown, raising=False)
    f = jit(loss)
    f(X)
    monkeypatch.undo()
    gone = weakref.ref(shown)
    del shown
    collect()
    assert gone() is None and f(X) == 28.0


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_function_made_anew_is_the_same_program(name, traced):
    TRANSFORMS[name](times(3.0))
    known = len(traced)
    for _ in range(3):
        TRANSFORMS[name](times(3.0))
    assert len(traced) == known


def test_variables_are_those_of_the_function_that_is_called():
    for _ in range(2):
        for k in (2.0, 5.0, 3, True, 2.0, np.float32(2), 7.0, 8.0, np.arange(4.0), np.arange(4), np.ones(4)):
            f = times(k)
            agree(jit(f)(X), f(X))
    f, g = jit(times(2.0)), jit(times(5.0))
    for _ in range(5):
        assert (f(X), g(X)) == (12.0, 30.0)


def test_two_functions_that_take_turns_are_traced_once_each(traced):
    fs = [jit(times(k)) for k in ("ab", "c", b"d", None, (1,), 5, 6, 7)]
    del fs[:5]
    for _ in range(4):
        for k, f in zip((5, 6, 7), fs):
            assert f(X) == 6.0 * k
    assert len(traced) <= 3
    for f in fs:
        assert f(X) == f.__wrapped__(X)


def test_many_that_take_turns_are_answered_inline(monkeypatch):
    def labelled(name):
        return lambda x: x + len(name)

    fs = [jit(labelled("x" * n)) for n in range(12)]
    for _ in range(4):
        for n, f in enumerate(fs):
            agree(f(X), X + n)
    monkeypatch.setattr(fs[0].compiled, "route", None)
    for n, f in enumerate(fs):
        agree(f(X), X + n)


def test_what_changes_is_seen():
    global SCALE

    def counter(start):
        def f(x, step=1.0, *, more=0.0):
            return x * start + step + more

        def move(n):
            nonlocal start
            start = n

        return f, move

    f, move = counter(1.0)
    g, other = jit(f), jit(counter(1.0)[0])
    for n in (1.0, 2.0, 3.0, 4.0, 1.0):
        move(n)
        agree((g(X), jit(f)(X), other(X)), (f(X), f(X), X + 1.0))
    f.__defaults__ = (5.0,)
    agree((g(X), jit(f)(X), other(X)), (f(X), f(X), X + 1.0))
    f.__kwdefaults__ = {"more": 7.0}
    agree((g(X), jit(f)(X), other(X)), (f(X), f(X), X + 1.0))
    f.__kwdefaults__["more"] = 8.0
    agree((g(X), jit(f)(X), other(X)), (f(X), f(X), X + 1.0))
    f.__code__ = (lambda start: lambda x, step=0.0, *, more=0.0: x - start * step)(0).__code__
    agree((g(X), jit(f)(X), other(X)), (f(X), f(X), X + 1.0))
    try:
        before = jit(loss)(X)
        SCALE = 3.0
        assert jit(loss)(X) == loss(X) != before
    finally:
        SCALE = 2.0


def test_defaults_made_anew():
    def power(n, table=X):
        return lambda x, n=n, table=table: x * n + table

    for n, table in ((1, X), (2, X), (1, X + 1), (3, X * 2), ((4, 5)[0], X), (2.0, X), (1, X)):
        f = power(n, table)
        agree(jit(f)(X), f(X))


def test_functions_within_functions():
    def train(data, target, w):
        def predict(v):
            return data @ v

        def loss(v):
            return ((predict(v) - target) ** 2).sum()

        return grad(loss)(w), 2 * data.T @ (data @ w - target)

    rng = np.random.default_rng(0)
    for _ in range(4):
        agree(*train(rng.standard_normal((3, 4)), rng.standard_normal(3), X), rtol=1e-12)

    def either(first, second):
        def f(x):
            return first(x) - second(x)

        return f

    double, triple = (lambda x: 2 * x), (lambda x: 3 * x)
    for pair in ((double, triple), (triple, double), (double, double), (triple, triple)):
        agree(jit(either(*pair))(X), either(*pair)(X))


def test_one_variable_of_two_functions():
    """`count` of two makers is one variable where they are of one call, and two where they are not."""

    def maker(n):
        count = n

        def add(x):
            nonlocal count
            count = count + 1.0
            return x + count

        def look(x):
            return x * count

        return add, look

    def both(add, look):
        return lambda x: (add(x), look(x), add(x), look(x))

    a, b, c, d = (maker(n) for n in (1.0, 1.0, 1.0, 1.0))
    for ours, plain in ((both(*a), both(*b)), (both(c[0], d[1]), both(*[maker(1.0)[0], maker(1.0)[1]]))):
        for _ in range(3):
            agree(jit(ours)(X), plain(X))


def test_identity_of_what_is_called():
    def which(other):
        def f(x):
            return x * (2.0 if f is other else 3.0)

        return f

    f = which(None)
    agree(jit(f)(X), 3 * X)
    g = which(f)
    agree(jit(g)(X), 3 * X)

    def holder():
        box = []

        def f(x):
            return x * (2.0 if box[0] is f else 3.0)

        return f, box

    f, box = holder()
    box.append(f)
    agree(jit(f)(X), 2 * X)
    g, box = holder()
    box.append(f)
    agree(jit(g)(X), 3 * X)
    agree(jit(lambda x, other: (x, other is f))(X, f)[1], True)


def test_a_function_that_is_also_an_argument():
    def maker(k):
        def f(x, g=None):
            return x * k if g is None else g(x) + x * k

        return f

    f, g = maker(2.0), maker(3.0)
    for ours, given in ((f, f), (g, f), (f, g), (g, g)):
        agree(jit(ours)(X, given), ours(X, given))


class Model:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return (x * self.k).sum()

    def loss(self, x, other=None):
        return (x * self.k).sum() + (0.0 if other is None else other.k + (other is self))

    def count(self, x):
        self.k = self.k + 1.0
        return x * self.k


def test_methods_and_callable_objects(traced):
    m, n = Model(2.0), Model(2.0)
    for _ in range(3):
        for o in (m, n, Model(2.0)):
            assert jit(o)(X) == o(X) and jit(o.loss)(X) == o.loss(X)
            agree(grad(o.loss)(X), np.full(4, o.k))
    assert len(traced) == 3
    for a, b in ((m, m), (m, n), (n, m), (n, n)):
        assert jit(a.loss)(X, b) == a.loss(X, b)
    a, b = Model(1.0), Model(1.0)
    for _ in range(3):
        agree(jit(a.count)(X), b.count(X))
        assert a.k == b.k
    Model.loss, kept = (lambda self, x: x.sum() * 0 + 9.0), Model.loss
    try:
        assert jit(m.loss)(X) == 9.0
    finally:
        Model.loss = kept


def test_functions_of_one_line():
    fs = [jit(f) for f in ((lambda x: x + 1), (lambda x: x + 2), (lambda x: x + 1))]
    agree([f(X) for f in fs], [X + 1, X + 2, X + 1])


def test_options_tell_functions_apart(traced):
    for _ in range(2):
        for options in ({}, {"exact": True}, {"engine": "numpy"}, {"whole": False}):
            agree(jit(loss, **options)(X), loss(X))
    assert len(traced) == 4
    agree(grad(lambda x, y: (x * y * y).sum(), argnums=1)(X, X), 2 * X * X)
    agree(grad(lambda x, y: (x * y * y).sum(), argnums=[0, 1])(X, X), (X * X, 2 * X * X))
    agree(vmap(lambda d: d["a"] * 2, in_axes=({"a": 0},))({"a": X}), X * 2)


def test_each_is_a_function_of_its_own():
    f, g = jit(loss), jit(loss)
    f.note = 1
    assert f is not g and not hasattr(g, "note") and f.__wrapped__ is g.__wrapped__ is loss
    assert f(X) == g(X) and traces(f) == traces(g) == 1 and "first call" in g.explain()
    h = jit(times(1.0))
    assert h(X) == 6.0 and jit(times(4.0))(X) == 24.0
    assert "k (test_shared.py:" in h.explain() and "was 1.0, is 4.0" in h.explain()


def test_nothing_is_kept_alive():
    held = []

    def once():
        big = np.ones(1000)
        model = Model(np.ones(1000))

        def helper(x):
            return x * big

        f = lambda x, scale=None: (helper(x) * scale).sum() + model(x)
        f.__defaults__ = (np.ones(1000),)
        held[:] = [weakref.ref(o) for o in (big, f, helper, model, model.k, f.__defaults__[0])]
        return jit(f)(np.ones(1000)), grad(f)(np.ones(1000)), jit(model.loss)(np.ones(1000)), jit(model)(np.ones(1000))

    for _ in range(3):
        once()
        collect()
        assert [r() is None for r in held] == [True] * 6


def test_many_traces_are_no_program_for_all():
    for n in range(2 * MOST):
        assert jit(times(n))(X) == 6.0 * n
    kept = [jit((lambda name: lambda x: x * len(name))("x" * n)) for n in range(2 * MOST)]
    for n, f in enumerate(kept):
        agree(f(X), X * n)
    for n, f in enumerate(kept):
        agree(f(X), X * n)
    assert len({f.compiled for f in kept}) >= 1 and len(shared._latest) <= shared.KEPT


def test_threads():
    failed = []

    def work(k):
        try:
            for n in range(40):
                c = float(k * 100 + n)
                assert jit(times(c))(X) == 6.0 * c
                agree(grad(lambda x, c=c: (x * c).sum())(X), np.full(4, c))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed


def test_code_in_a_namespace_of_its_own():
    for scale in (2.0, 3.0):
        space = {"scale": scale, "__name__": "elsewhere"}
        exec("def f(x):\n    return x * scale\n", space)
        agree(jit(space["f"], whole=False)(X), X * scale)
    f = types.FunctionType(loss.__code__, {"SCALE": 10.0, "__name__": __name__})
    assert jit(f)(X) == 5 * jit(loss)(X)


def test_an_int_that_counts_is_traced_twice():
    @jit
    def adam(w, t):
        return w / (1 - 0.9**t), w + t

    for t in range(1, 8):
        agree(adam(X, t), (X / (1 - 0.9**t), X + t))
    assert traces(adam) == 2 and "t keeps changing" in adam.explain()


@pytest.mark.parametrize(
    "f", [lambda x, n: np.ones(n) * x[0], lambda x, n: x * 2 if n else x, lambda x, n: x**n, lambda x, n: sum([x] * n)]
)
def test_two_values_of_an_int_that_decides_are_known(f):
    g = jit(f)
    for n in (1, 0, 1, 0, 1):
        agree(g(X, n), f(X, n))
    assert traces(g) == 2 and "keeps changing" not in g.explain()


def test_functions_with_derivatives_by_hand(traced):
    def made(k):
        @custom_vjp
        def f(x):
            return (x * k).sum()

        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x * 0 + 10 * k,))
        return f

    f, g = made(1.0), made(2.0)
    for _ in range(3):
        agree((grad(f)(X), grad(g)(X), jit(g)(X)), (np.full(4, 10.0), np.full(4, 20.0), np.float64(12.0)))
    assert len(traced) == 3
    held = weakref.ref(f)
    del f
    collect()
    assert held() is None


def test_functions_of_c_are_not_kept_alive(traced):
    held = np.ones(4)
    ref = weakref.ref(held)
    for _ in range(2):
        jit(np.sin)(X), jit(held.dot, whole=False)(X)
    del held
    traced.clear()
    collect()
    assert ref() is None


def test_functions_in_variables_are_told_apart():
    def same(h, other):
        return lambda x: x if h is other else 2 * x

    def looked_up(h, table):
        return lambda x: x * table[h]

    def named(h):
        return lambda x: x * len(h.__doc__ or "") + len(h.__name__)

    p, q, p.__doc__, q.__doc__ = (lambda x: x + 1), (lambda x: x + 2), "a", "bcd"
    for a in (p, q):
        for b in (p, q):
            agree(jit(same(a, b))(X), same(a, b)(X))
        agree((jit(looked_up(a, {p: 2.0, q: 3.0}))(X), jit(named(a))(X)), (looked_up(a, {p: 2.0, q: 3.0})(X), named(a)(X)))
    p.__doc__, p.__name__ = "abcdef", "longer"
    agree(jit(named(p))(X), X * 6 + 6)


def test_what_variables_hold_is_stored_to():
    def maker(seen, o, table):
        def f(x):
            seen.append(x.sum())
            o.v = o.v + 1.0
            table["n"] = table["n"] + o.v
            return x * len(seen) * o.v + table["n"]

        return f

    def state():
        return [], types.SimpleNamespace(v=1.0), {"n": 0.0}

    ours, plain = [state() for _ in range(3)], [state() for _ in range(3)]
    for _ in range(4):
        for a, b in zip(ours, plain):
            agree(jit(maker(*a))(X), maker(*b)(X))
            assert (a[0], vars(a[1]), a[2]) == (b[0], vars(b[1]), b[2])

    def noisy(generator):
        return lambda x: x + generator.standard_normal()

    first, second = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(4):
        agree(jit(noisy(first))(X), noisy(second)(X))


def test_compiled_functions_in_variables(traced):
    def maker(k):
        inner = jit(lambda v: v * k)
        return lambda x: inner(x) + 1

    for k in (1.0, 2.0, 3.0, 4.0, 1.0, np.ones(4), 2 * np.ones(4)):
        agree(jit(maker(k))(X), maker(k)(X))
    assert len(traced) <= 8


def test_an_object_that_becomes_one_of_another_class():
    class Other(Model):
        def __call__(self, x):
            return x.sum() * 100.0

    m = Model(2.0)
    f = jit(m)
    assert f(X) == 12.0
    m.__class__ = Other
    assert f(X) == 600.0 and jit(m)(X) == 600.0


KNOWN = {
    "power": lambda x, n: np.linalg.matrix_power(x[:9].reshape(3, 3), n),
    "histogram": lambda x, n: np.histogram(x, bins=n)[0],
    "histogram2d": lambda x, n: np.histogram2d(x, x, bins=n)[0],
    "roll": lambda x, n: np.roll(x, n),
    "repeat": lambda x, n: np.repeat(x, n),
    "eye": lambda x, n: np.eye(n) * x[0],
    "diff": lambda x, n: np.diff(x, n),
    "fft": lambda x, n: np.fft.fft(x, n),
    "step": lambda x, n: x[::n],
    "axis": lambda x, n: x.reshape(1, 2, 1, 3, 2).sum(axis=n - 1),
    "list": lambda x, n: [x[0]] * n,
}


@pytest.mark.parametrize("name", KNOWN)
def test_an_int_that_numpy_has_to_know_is_known_however_often_it_changes(name):
    f, x = KNOWN[name], np.linspace(-1.0, 1.0, 12)
    compiled = jit(f)
    for n in (1, 2, 3, 4):
        agree(compiled(x, n), f(x, n), 1e-9)
