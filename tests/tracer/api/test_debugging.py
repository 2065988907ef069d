"""What a debugger sees of functions with hooks: the user's frames, names and lines, and no others."""

import linecache
import sys
import traceback

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.regions.convert import convert


def inner(x, k):
    y = x + k
    return y[k]  # out of range for k = 3


def outer(x):
    total = 0.0
    for k in range(3):
        if k < 9 and x.shape[0] > 1:
            total = total + inner(x, 3)
    return total


def shown(error):
    """(function, line of text) of each frame of the user's code."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.line) for f in frames if "test_debugging" in f.filename or f.filename == "<shown>"], frames


def test_the_traceback_of_an_error_in_a_captured_loop_shows_each_function_once():
    with pytest.raises(IndexError) as caught:
        jit(outer)(np.ones(3))
    mine, frames = shown(caught.value)
    assert mine[-2:] == [("outer", "total = total + inner(x, 3)"), ("inner", "return y[k]  # out of range for k = 3")]
    assert [name for name, _ in mine].count("outer") == 1 and not any("@" in f.name or "<lambda>" in f.name for f in frames)
    below = frames[[f.name for f in frames].index("outer") :]  # above it is the call of the compiled function
    assert [f.name for f in below] == ["outer", "inner"]


def test_carets_are_where_python_puts_them():
    text = "def f(x):\n    for k in range(3):\n        x = x + 1 / (k - k) + 2\n    return x\n"
    linecache.cache["<shown>"] = (len(text), None, text.splitlines(True), "<shown>")
    space = {}
    exec(compile(text, "<shown>", "exec"), space)
    marked = []
    for run in (space["f"], convert(space["f"])):
        with pytest.raises(ZeroDivisionError) as caught:
            run(1.0)
        tb = caught.value.__traceback__
        last = [f for f in traceback.extract_tb(tb) if f.filename == "<shown>"][-1]
        marked.append((last.lineno, last.colno, last.end_colno))
    assert marked[0] == marked[1]


def traced(n):
    seen = []
    for i in range(n):
        if i % 2:
            seen.append(i)
            continue
        try:
            seen.append(1 / (i - 4))
        except ZeroDivisionError:
            seen.append("zero")
            break
        finally:
            seen.append(
                i,
            )
    else:
        seen.append("else")
    k = 0
    while k < 3:
        k += 1
    with open(__file__) as file:
        first = file.readline()
    return seen, (
        first if n > 2
        else k
    ), [s for s in seen
        if s]


@pytest.mark.parametrize("n", [0, 3, 6])
def test_line_events_land_on_the_lines_python_runs(n):
    def lines(function):
        events = set()

        def local(frame, event, arg):
            if event == "line" and frame.f_code.co_filename == __file__:
                events.add((frame.f_code.co_name, frame.f_lineno))
            return local

        before = sys.gettrace()
        sys.settrace(lambda frame, event, arg: local)
        try:
            got = function(n)
        finally:
            sys.settrace(before)
        return got, {(name, line) for name, line in events if name in ("traced", "<listcomp>")}

    want, plain = lines(traced)
    got, hooked = lines(convert(traced))
    assert got == want
    assert {line for _, line in hooked} == {line for _, line in plain}
    assert {name for name, _ in hooked} <= {"traced", "<listcomp>"}


def test_an_error_of_the_users_keeps_its_own_chain():
    def chained(x):
        try:
            for k in range(2):
                raise KeyError(k)
        except KeyError as error:
            raise RuntimeError("said") from error

    with pytest.raises(RuntimeError, match="said") as caught:
        jit(chained)(1.0)
    assert isinstance(caught.value.__cause__, KeyError)
    mine, _ = shown(caught.value.__cause__)
    assert mine[-1] == ("chained", "raise KeyError(k)")


@jit
def decorated(x):
    y = x * 2
    return y[9]


def test_lines_of_a_decorated_function_are_its_own():
    with pytest.raises(IndexError) as caught:
        decorated(np.ones(3))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return y[9]"
