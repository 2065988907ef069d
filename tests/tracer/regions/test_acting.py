"""What a program does to the world stands where Python does it: nothing acts behind a check that has failed."""

import array
import collections
import functools

import numpy as np
import pytest
from numpy.polynomial import polynomial

from wengert import UnsupportedError, jit

X = np.ones(3)


def printed(x, i):
    print("before", x[0])
    y = x[i]
    print("behind", y)
    return y


def in_loops(x, i):
    for k in range(3):
        print("trip", k)
        if k == 1:
            x[i] = 2.0
        for j in range(2):
            print("inner", j)
    return x


def asserted(x, i):
    for v in x:
        assert v * i < 5, "too much"
        print(v)
    return x


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("function", [printed, in_loops, asserted])
def test_nothing_is_printed_behind_an_error(function, engine, capsys):
    compiled = jit(function, engine=engine)
    for i in (1, 7, 2):
        outcomes = []
        for f in (function, compiled):
            try:
                outcomes.append(f(X.copy(), np.int64(i)).tolist())
            except (IndexError, AssertionError) as error:
                outcomes.append(type(error))
            outcomes.append(capsys.readouterr().out)
        assert outcomes[:2] == outcomes[2:]


def drawing(x, i):
    y = x[i]
    for _ in range(3):
        y = y + np.random.normal()
    return y


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_nothing_is_drawn_behind_an_error(engine):
    compiled = jit(drawing, engine=engine)
    for i in (1, 7, 0):
        states = []
        for f in (drawing, compiled):
            np.random.seed(0)
            try:
                states.append(f(X, np.int64(i)))
            except IndexError:
                states.append("IndexError")
            states.append(np.random.random())
        assert states[:2] == pytest.approx(states[2:])


def chosen(x):
    kind = "large" if x.sum() > 5 else "small"  # by value: no program has both
    print(kind, x[0])
    return x * len(kind)


def test_what_acts_behind_a_choice_by_value_acts_once(capsys):
    compiled = jit(chosen)
    for x in (X, 2 * X, X, 3 * X):
        want, said = chosen(x), capsys.readouterr().out
        np.testing.assert_array_equal(compiled(x), want)
        assert capsys.readouterr().out == said


def test_what_acts_waits_for_choices_by_value(capsys):
    def f(x):
        print("begin", x[0])
        if x[0] > 3:
            raise ValueError("large")
        y = x * len("large!" if x.sum() > 5 else "small")
        print("end", y[0])
        return y

    g = jit(f)
    for x in (X, -X, 0 * X + 5, X + 1, -X - 1):
        said = []
        for h in (f, g, g):
            try:
                result = h(x)
            except ValueError as error:
                result = str(error)
            said.append((np.asarray(result).tolist(), capsys.readouterr().out))
        assert said[0] == said[1] == said[2]


def test_a_choice_by_value_behind_what_acts_in_a_loop_is_refused():
    def f(x):
        for v in x:
            print(v)
        return x * len("large!" if x.sum() > 5 else "small")

    with pytest.raises(UnsupportedError, match="has acted on the world before it"):
        jit(f)(X)


def test_a_library_that_may_warn_is_captured():
    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(jit(lambda x, y: polynomial.polyfit(x, y, 2))(x, x * x + 1), [1, 0, 1], atol=1e-12)


def seldom(x, n):
    for i in range(n):
        x = 0.5 * x
        if i % 50 == 0:
            print(i, x)
        if x < 1e-30:
            np.random.random()
    while x < 1.0:
        x = x * 4.0
        if x > 1e-20:
            print("up")
    return x


@pytest.mark.parametrize("options", [{}, {"engine": "numpy"}, {"engine": "xla"}], ids=str)
def test_what_acts_now_and_then_in_a_loop(options, capsys):
    compiled = jit(seldom, **options)
    for n in (150, 120):
        np.random.seed(0)
        want, said, state = seldom(1.0, n), capsys.readouterr().out, np.random.random()
        np.random.seed(0)
        assert (compiled(1.0, n), capsys.readouterr().out, np.random.random()) == (want, said, state)


@pytest.mark.parametrize("made", [lambda: array.array("d", [0.0]), lambda: bytearray(b"a"), lambda: [0]], ids=["array", "bytearray", "list"])
@pytest.mark.parametrize("body", [
    lambda o: list(map(o.append, [1])), lambda o: any(map(o.append, [1, 2])), lambda o: list(filter(o.append, [1])),
    lambda o: sorted([1], key=o.append), lambda o: sorted([1], key=lambda k: o.append(k) or k),
    lambda o: max([1], key=o.append), lambda o: functools.reduce(lambda a, v: o.append(v), [1], 0),
])  # fmt: skip
def test_methods_handed_to_builtins_are_no_functions_of_nobody(made, body):
    """What they change is changed at every call, or the call is refused: some changed it while tracing alone."""
    mine, pythons = made(), made()
    f = jit(lambda x: x + (body(mine), 1)[1])
    for _ in range(3):
        try:
            f(np.ones(2))
        except UnsupportedError:
            assert mine == pythons  # and nothing is half done
            return
        body(pythons)
        assert mine == pythons


@pytest.mark.parametrize("made, act", [
    (lambda: array.array("d", [0.0]), lambda o: o.extend([1.0])), (lambda: bytearray(b"a"), lambda o: o.extend(b"b")),
    (lambda: bytearray(b"a"), lambda o: o.append(1)), (lambda: collections.Counter("a"), lambda o: o.update("ab")),
    (lambda: collections.Counter("ab"), lambda o: o.subtract("a")), (lambda: collections.UserList([1]), lambda o: o.append(2)),
    (lambda: collections.UserDict(a=1), lambda o: o.update(b=2)), (lambda: collections.OrderedDict(a=1, b=2), lambda o: o.move_to_end("a")),
    (lambda: collections.deque([1, 2]), lambda o: o.rotate(1)), (lambda: {2, 1}, lambda o: o.symmetric_difference_update([2, 3])),
])  # fmt: skip
def test_an_act_that_is_refused_is_undone(made, act):
    """At every call it is done as Python does it, or it is refused and nothing has changed."""
    mine, pythons = made(), made()
    f = jit(lambda x: x + (act(mine), 1)[1])
    for _ in range(3):
        try:
            f(np.ones(2))
        except UnsupportedError:
            assert mine == pythons and list(mine) == list(pythons)
            return
        act(pythons)
        assert mine == pythons and list(mine) == list(pythons)


def told_before_lengths(x, n):
    print("begin", x[0])
    out = []
    while x[0] < n:
        if x[0] > 1:
            out.append(x[0])
        x = x * 1.5
    print("end")
    if not out:
        raise ValueError("none")
    return np.zeros(int(x[0])), out


def test_acts_wait_for_what_loops_behind_them_assume(capsys):
    """Such as how much room a list has there."""
    f = jit(told_before_lengths)
    for x, n in ((1.0, 10.0), (1.0, 100.0), (2.0, 1000.0), (7.0, 5.0), (1.0, 50.0)):
        results, told = [], []
        for function in (told_before_lengths, f):
            try:
                zeros, out = function(np.array([x]), n)
                results.append((zeros.shape, out))
            except ValueError as error:
                results.append(str(error))
            told.append(capsys.readouterr().out)
        assert results[0] == results[1] and told[0] == told[1]


def printed_on_one_side(x):
    if x[0] > 100:
        print("large", x[0])
    for v in (x[0], x[1]):
        if v > 1000:
            print("larger")
            return []
    if x[1] > 0:
        return [x[1]]
    return None


def test_a_choice_by_value_behind_an_act_on_one_side(capsys):
    compiled = jit(printed_on_one_side, whole=True)
    for x in ([1.0, 1.0], [1.0, -1.0], [200.0, 1.0], [200.0, -1.0], [2000.0, 1.0], [3.0, 3.0]):
        found = []
        for f in (compiled, printed_on_one_side):
            found.append((f(np.array(x)), capsys.readouterr().out))
        assert found[0] == found[1]


class Stopped(Exception):
    """One of the user's."""


EXCEPTIONS = {
    "user's": lambda: Stopped("x"),
    "two arguments": lambda: ValueError("x", 3),
    "of a file": lambda: OSError(2, "no", "f"),
    "of NumPy": lambda: np.linalg.LinAlgError("a"),
    "a tuple": lambda: KeyError((1, 2)),
    "plain": lambda: ValueError("x"),
}


def at_the_end(x, make, rng):
    for v in x:
        print(v)
    raise make()


def in_the_first_trip(x, make, rng):
    for v in x:
        print(v)
        raise make()


def on_both_sides(x, make, rng):
    print("a")
    if x[0] > 0:
        raise make()
    raise Stopped("other")


def on_one_side(x, make, rng):
    print("p")
    if x[0] > 0:
        raise make()


def behind_a_draw(x, make, rng):
    rng.normal(), np.random.rand()
    raise make()


def where_data_choose_by_value(x, make, rng):
    found = []
    for i in range(2):
        x[int(x[i])]
        print("p", i)
        if x[i] > 4:
            found.append(i)
        if x[i] > 0.5:
            raise make()


FUNCTIONS = [at_the_end, in_the_first_trip, on_both_sides, on_one_side, behind_a_draw, where_data_choose_by_value]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_what_comes_before_an_exception_is_done(kind, f, falling_back, recwarn, capfd):
    def outcome(f):
        rng = np.random.default_rng(0)
        np.random.seed(0)
        with pytest.raises(Exception) as raised:
            f(np.ones(2), EXCEPTIONS[kind], rng)
        error = raised.value
        return type(error), str(error), error.args, capfd.readouterr().out, rng.random(), np.random.rand()

    compiled, want = jit(f), outcome(f)
    assert outcome(compiled) == outcome(compiled) == want
