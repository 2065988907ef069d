"""What a program does to the world is done once, and not before it is known that its arrays are as it takes them."""

import itertools
import logging
import sys

import numpy as np
import pytest

from wengert import jit

pytestmark = pytest.mark.filterwarnings("ignore::wengert.Fallback")


def overwrites(x, y, say):
    x[0] = 5.0
    say("y", y[0])
    return y.sum()


def fills(x, y, say):
    say("before")
    y.fill(3.0)
    say("behind")
    return x + y


def catches(x, y, say):
    say("before")
    try:
        y.fill(3.0)
    except ValueError:
        return x[0] - 1
    return x[0]


def asks(x, y, say):
    say("asked", x.flags.writeable, np.shares_memory(x, y))
    return x + y


def views(x, y, say):
    say("view")
    return x[1:], y.reshape(-1)


def draws(x, y, say):
    say("drawn", np.random.rand() < 2)
    x[1] = np.random.rand()
    return y.sum()


def twice(x, y, say):
    for k in range(3):
        x[k] += 1
        say(k, y[k])
    return x


def fresh(n=5):
    return np.arange(1.0, n + 1)


def read_only(x):
    x.flags.writeable = False
    return x


ARRAYS = {
    "apart": lambda: (fresh(), fresh()),
    "same": lambda: (fresh(),) * 2,
    "overlapping": lambda: (lambda z: (z[:5], z[3:]))(fresh(8)),
    "first read-only": lambda: (read_only(fresh()), fresh()),
    "second read-only": lambda: (fresh(), read_only(fresh())),
    "reversed": lambda: (fresh()[::-1], fresh()[::-1]),
    "strided": lambda: (fresh(10)[::2], fresh(10)[::2]),
}
SAID = {
    "print": print,
    "logging": lambda *words: logging.getLogger("acts").warning("%s", words),
    "stdout": lambda *words: sys.stdout.write(f"{words}\n"),
}


def outcome(run, arrays, say, capsys, caplog):
    caplog.clear()
    np.random.seed(1)
    x, y = ARRAYS[arrays]()
    try:
        out = run(x, y, say)
    except Exception as error:
        out = f"{type(error).__name__}: {error}, while {error.__context__!r} was handled"
    said = [r.getMessage() for r in caplog.records if r.name == "acts"]
    return repr((out, x, y, np.random.rand())), capsys.readouterr().out, said


@pytest.mark.parametrize("how", SAID)
@pytest.mark.parametrize("function", [overwrites, fills, catches, asks, views, draws, twice], ids=lambda f: f.__name__)
def test_as_in_plain_python(function, how, capsys, caplog):
    """First calls and later ones, in every order of two."""
    for order in itertools.permutations(ARRAYS, 2) if how == "print" else [("apart", other) for other in ARRAYS]:
        run = jit(function)
        for arrays in (*order, order[0]):
            want = outcome(function, arrays, SAID[how], capsys, caplog)
            assert outcome(run, arrays, SAID[how], capsys, caplog) == want, (order, arrays)


def test_which_of_several_arrays_a_result_is_may_not_be_found_behind_an_act(capsys, falling_back):
    def turned(a, b):
        for k in range(len(a)):
            if a[k] > 0:
                a, b = b[::-1], a
        print("said")
        return a, b

    a, b = np.array([1.0, -2.0, 3.0]), np.array([-1.0, 2.0, 3.0])
    compiled = jit(turned)
    for x, y in ((a, b), (b, a), (a, a[::-1].copy())):
        got = compiled(x, y)
        assert capsys.readouterr().out == "said\n"
        want = turned(x, y)
        capsys.readouterr()
        assert [u.tolist() for u in got] == [u.tolist() for u in want]
        assert [np.shares_memory(u, x) for u in got] == [np.shares_memory(u, x) for u in want]
