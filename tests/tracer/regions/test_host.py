"""What a traced function prints and draws happens when the program runs: in order, as often, and with the numbers of plain Python."""

import copy
import io
import random
import sys
import time

import numpy as np
import pytest
from compare import agree

from wengert import UnsupportedError, grad, jacfwd, jit, value_and_grad

X = np.arange(1.0, 5.0)


def traces(f):
    return int(f.explain().split("\n")[0].split()[-2])


# -- print -----------------------------------------------------------------------------------------


def straight(x):
    print("start", 3, [1, "a"])
    y = x * 2
    print(y, y.sum(), y.shape, sep="|", end="!\n")
    print(f"{y[0]:8.3f} {x!r} {'text':>8} {y[1]:{8}.{2}f} {{}}")
    form, other = "%d items, %s, %5.2f", "{} {:.1f} {k}"
    print("%d items, %s" % (len(x), x[0]), form % (len(x), x, y[0]), other.format(x, y[1], k=y.sum()))  # noqa: UP031
    print({"y": y, "n": [y[0], (x[1],)]}, str(y[0]) + " joined", repr(x[1]), file=sys.stdout, flush=True)
    print(float(y[0]), int(y[1]), y[0] > 1, bool(x[0]), None)
    return y


def in_loops(x):
    total = 0.0
    for i in range(3):
        print(f"trip {i}")
        for j in range(2):
            total += x[i] * j
            print(i, j, total)
    while total > 1:
        total = total / 2
        print("halved", total)
    print("plain")
    return total


def in_branches(x):
    if x.sum() > 5:
        print("big", x[0])
    else:
        print("small")
    for v in x:
        if v > 2:
            print("above", v)
            continue
        print("below")
    y = x[0] if x[1] > 1 else x[1]
    return y


def quiet_choice(x):
    if x.sum() > 0:
        print("positive")
    return x


def breaks(x):
    for i in range(len(x)):
        if x[i] > 2.5:
            print("found", i)
            break
        print("not", i)
    else:
        print("never")
    return x


def helper(x):
    print("helper", x)
    return x


def nested(x):
    return sum(helper(v) for v in x) + helper(1)


@pytest.mark.parametrize("function", [straight, in_loops, in_branches, quiet_choice, breaks, nested], ids=lambda f: f.__name__)
def test_print_is_pythons(function, capsys):
    f = jit(function)
    for x in (X, X * 0.25, -X, X):
        want = function(x.copy())
        expected = capsys.readouterr().out
        agree(f(x.copy()), want)
        assert capsys.readouterr().out == expected
    assert traces(f) == 1


def test_print_under_grad_happens_once(capsys):
    def loss(x):
        print("loss", x.sum())
        for i in range(3):
            print(i)
            x = x * x
        return x.sum()

    for _ in range(2):
        grad(loss)(X)
        assert capsys.readouterr().out == "loss 10.0\n0\n1\n2\n"


def test_print_to_files(capsys, monkeypatch):
    out = io.StringIO()

    def f(x):
        print("err", x[0], file=sys.stderr)
        print("own", x[0], file=out)
        print("now")
        return x

    g = jit(f)
    g(X)
    g(X)
    other = io.StringIO()
    monkeypatch.setattr(sys, "stdout", other)
    g(X)
    monkeypatch.undo()
    assert out.getvalue() == "own 1.0\n" * 3 and other.getvalue() == "now\n"
    assert capsys.readouterr().err == "err 1.0\n" * 3


def test_text_of_traced_values_is_not_made_up():
    for f in (lambda x: {f"{x}": 1}, lambda x: len(str(x)), lambda x: f"{x[:2]}" == "1.0"):
        with pytest.raises(UnsupportedError, match="text"):
            jit(f)(X)
    for f in (lambda x: {f"{x[0]}": 1}, lambda x: f"{x[0]}", lambda x: len(str(x[0])), lambda x: f"{x[0]}" == "1.0"):
        assert jit(f)(X) == f(X)

    def fails(x):
        if x.sum() > 0:
            raise ValueError(f"sum is {x.sum()}")
        return x

    with pytest.raises(ValueError, match="sum is"):
        jit(fails)(X)


# -- random numbers --------------------------------------------------------------------------------


def legacy(x):
    y = x + np.random.rand(4) + np.random.randn() + np.random.normal(1.0, 2.0, size=4)
    n = np.random.randint(0, 10)
    z = np.random.uniform(size=(2, 4)).sum(0) * n + np.random.random()
    return y, z, n, np.random.choice(5, 3), np.random.permutation(4), np.random.permutation(x), np.random.choice(x, 2), np.random.randint(3, size=2)


def shuffled(x):
    y = x.copy()
    np.random.shuffle(y)
    np.random.shuffle(x)
    return y, x


def seeded(x):
    np.random.seed(3)
    rng = np.random.default_rng(7)
    old = np.random.RandomState(5)
    return x + rng.normal(size=4) + np.random.rand(4), rng.integers(10), rng.permutation(x), old.rand(2), rng.choice(x, 3, replace=False)


def drawn_in_a_loop(x):
    total = 0.0
    rng = np.random.default_rng(1)
    for i in range(5):
        total += np.random.rand() * x[i % 4] + rng.normal()
    if total > 2:
        total = total + np.random.normal()
    return total + np.random.rand(), rng.normal()


def traced_arguments(x):
    a = np.random.normal(x, 0.5)
    b = np.random.normal(loc=x[0], scale=2.0, size=3)
    return a, b, np.random.rand()


def pythons(x):
    random.seed(4)
    return x * random.random() + random.uniform(0, 2), random.randint(1, 6), random.gauss(0, 1), random.randrange(10)


DRAWS = [legacy, shuffled, seeded, drawn_in_a_loop, traced_arguments, pythons]


@pytest.mark.parametrize("function", DRAWS, ids=lambda f: f.__name__)
def test_numbers_are_the_same_as_plain_pythons(function):
    f = jit(function)
    np.random.seed(11), random.seed(12)
    want = [function(x) for x in (X.copy(), X * 2, X * 3)]
    state = np.random.get_state()[1].copy(), random.getstate()
    np.random.seed(11), random.seed(12)
    got = [f(x) for x in (X.copy(), X * 2, X * 3)]
    for g, w in zip(got, want):
        agree(g, w)
    assert (np.random.get_state()[1] == state[0]).all() and random.getstate() == state[1]
    assert traces(f) == 1


def test_generators_given_held_or_global():
    class Sampler:
        def __init__(self, seed):
            self.rng = np.random.default_rng(seed)

        def draw(self, x):
            return x + self.rng.normal(size=4)

    a, b = Sampler(1), Sampler(1)
    f = jit(b.draw)
    for _ in range(3):
        agree(f(X), a.draw(X))
    given = jit(lambda x, rng: x * rng.standard_normal(4) + rng.random())
    a, b = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(3):
        agree(given(X, b), given.__wrapped__(X, a))
    assert a.bit_generator.state == b.bit_generator.state


def test_unseeded_generators_are_fresh():
    f = jit(lambda x: x + np.random.default_rng().normal(size=4))
    assert not np.array_equal(f(X), f(X))


@pytest.mark.parametrize("name", ["sample", "ranf", "random_sample", "random"])
def test_every_name_of_a_draw_draws(name):
    f = jit(lambda x: x + getattr(np.random, name)(3))
    np.random.seed(3)
    got = [f(np.zeros(3)) for _ in range(2)]
    np.random.seed(3)
    agree(got, [np.random.sample(3) for _ in range(2)])


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64])
def test_generators_made_of_bit_generators_begin_anew(bits):
    def f(x):
        a, b = np.random.Generator(bits(3)), np.random.RandomState(bits(4))
        c = np.random.default_rng(np.random.default_rng(np.random.SeedSequence(5)))
        return x + a.normal(size=2), b.rand(2), c.normal()

    compiled = jit(f)
    for _ in range(3):
        agree(compiled(np.zeros(2)), f(np.zeros(2)))


def test_a_generator_given_to_default_rng_is_itself():
    f = lambda x, rng: x + np.random.default_rng(rng).normal(size=3)
    a, b, compiled = np.random.default_rng(2), np.random.default_rng(2), jit(f)
    for _ in range(2):
        agree(compiled(np.zeros(3), a), f(np.zeros(3), b))
    assert a.bit_generator.state == b.bit_generator.state


BITS = np.random.PCG64(3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, rng: x + rng.bit_generator.random_raw(),
        lambda x, rng: x + len(rng.bit_generator.state),
        lambda x, rng: x + BITS.random_raw(),
        lambda x, rng: x + np.random.Generator(BITS).normal(),
        lambda x, rng: x + len(np.random.get_bit_generator().state),
        lambda x, rng: x + np.random.default_rng(np.random.RandomState(3)).normal(),
    ],
)
def test_the_state_of_a_generator_is_refused(f):
    with pytest.raises(UnsupportedError, match="random generator"):
        jit(f)(np.zeros(3), np.random.default_rng(1))


def test_shapes_draw_apart():
    f = jit(lambda x: x + np.random.rand(*x.shape))
    for n in (3, 4, 3, 4, 4):
        np.random.seed(n)
        got = f(np.zeros(n))
        np.random.seed(n)
        agree(got, np.random.rand(n))
    assert traces(f) == 2


def test_exceptions_leave_generators_where_python_does():
    def f(x):
        a = np.random.rand(4)
        assert (x > 0).all()
        return a + np.random.rand(4)

    g = jit(f)
    for x in (X, -X, X):
        state = np.random.get_state()
        try:
            want = f(x)
        except AssertionError:
            want = None
        after = np.random.get_state()[1].copy(), np.random.get_state()[2]
        np.random.set_state(state)
        if want is None:
            with pytest.raises(AssertionError):
                g(x)
        else:
            agree(g(x), want)
        assert (np.random.get_state()[1] == after[0]).all() and np.random.get_state()[2] == after[1]


def test_tracing_draws_nothing():
    before = copy.deepcopy(np.random.get_state())
    jit(legacy).ir(X)
    assert (np.random.get_state()[1] == before[1]).all() and np.random.get_state()[2] == before[2]
    for f in (lambda x: np.random.rand() + 1 // 0, jit(lambda x: np.random.rand() + 1 // 0)):
        np.random.set_state(before)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                f(X)
        assert np.random.get_state()[2] == before[2] + 4  # what stands before the exception is drawn, as often as it comes


def test_draws_under_grad():
    def loss(x):
        return (x * np.random.rand(4)).sum()

    np.random.seed(0)
    got = grad(loss)(X)
    np.random.seed(0)
    agree(got, np.random.rand(4))


def test_clocks_are_read_at_every_call():
    f = jit(lambda x: x * 0 + time.perf_counter())
    a, b = f(X)[0], f(X)[0]
    assert b > a


def test_what_cannot_be_honoured_is_refused():
    items = iter([1, 2, 3])
    for f in (lambda x: x + next(items), lambda x: open("nothing"), lambda x: x if input() else x, lambda x: random.choice([x, x])):
        with pytest.raises(UnsupportedError):
            jit(f)(X)
    assert next(items) == 1

    def lines(x):
        with open("nothing") as file:
            return x + len(file.read())

    with pytest.raises(UnsupportedError, match="open"):
        jit(lines)(X)


class Named:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return f"<{self.v}>"


def shows(x):
    print(Named(x[0]), f"{Named(x[1])}!", ", ".join(f"{v:.1f}" for v in x))
    return x


def test_objects_print_as_their_own_methods_say(capsys):
    x = np.arange(3.0)
    shows(x)
    want = capsys.readouterr().out
    f = jit(shows)
    for _ in range(2):
        f(x)
        assert capsys.readouterr().out == want


def test_text_is_never_made_of_what_stands_for_traced_values():
    for f in (lambda x: print([Named(x[0])]), lambda x: str([Named(x[0])]), lambda x: f"{[Named(x[0])]}", lambda x: {str(x)}):
        with pytest.raises(UnsupportedError, match="text of"):
            jit(f)(np.ones(2))


def sampled(x):
    rng = np.random.RandomState(0)
    return np.sum(np.sin(x * rng.randn(len(x)))) * np.random.rand()


def test_draws_in_a_function_that_is_differentiated():
    x = np.arange(3.0)
    z = np.random.RandomState(0).randn(3)
    for f in (grad(sampled), jit(grad(sampled)), lambda x: value_and_grad(sampled)(x)[1], lambda x: jacfwd(sampled)(x)):
        np.random.seed(4)
        found = [f(x) for _ in range(3)]
        np.random.seed(4)
        for slope in found:
            agree(slope, np.cos(x * z) * z * np.random.rand())
    assert "= host" not in str(grad(sampled).ir(x))


@pytest.mark.parametrize("i", [np.array([0, 1]), np.int64(1)])
def test_output_before_an_index_is_checked(i, capsys):
    def f(x, i):
        print("looking")
        return x[i] + 1.0

    agree(jit(f)(X, i), X[i] + 1.0)
    assert capsys.readouterr().out == "looking\n"


TABLE = "1 2 3\n4 5 6\n"


def read_from_text(k):
    file = io.StringIO(TABLE)
    table = np.genfromtxt(file)
    return table * k, file.read()


def test_a_file_that_the_function_makes_of_text_is_read():
    f = jit(read_from_text)
    for k in (2.0, 3.0):
        agree(f(k), read_from_text(k))
