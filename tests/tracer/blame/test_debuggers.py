"""Debuggers, logging and tracebacks: what a user sees of a compiled function while it runs, and when it fails."""

import contextlib
import io
import logging
import pdb
import sys
import traceback

import numpy as np
import pytest

import wengert
from wengert import Fallback, NumericalError, UnsupportedError, grad, jit, vmap

TYPED, SHOWN = io.StringIO(), io.StringIO()


def stopped(x):
    y = x * 1.0
    for _ in range(10):
        y = np.tanh(y) + y
    y = x * 2.0
    unused = y + 1.0  # noqa: F841, for the debugger
    breakpoint()
    z = y
    for k in range(10):
        z = z + 0.0 * np.sin(z) * k
    return z.sum()


def traced(x):
    y = x * 2.0
    pdb.Pdb(stdin=TYPED, stdout=SHOWN, nosigint=True).set_trace()
    return y.sum()


@pytest.fixture
def hits(monkeypatch):
    """What `breakpoint()` sees of the frame that it stops in."""
    found = []

    def hook(*args, **kwargs):
        frame = sys._getframe(1)
        found.append((frame.f_code, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


def test_breakpoint_stops_in_the_users_frame_at_every_call(hits, falling_back):
    g = jit(stopped, whole=False)
    with pytest.warns(Fallback, match="stops in the frame of the function") as told:
        for k in range(3):
            assert g(np.full(2, float(k))) == 4.0 * k
    assert len(told) == 1 and len(hits) == 3
    code, seen = hits[2]
    assert code is stopped.__code__
    assert seen["y"].tolist() == [4.0, 4.0] and seen["unused"].tolist() == [5.0, 5.0]


def test_pdb_shows_values(falling_back):
    g = jit(traced, whole=False)
    for _ in range(2):
        TYPED.seek(0), TYPED.truncate(), TYPED.write("p y\nc\n"), TYPED.seek(0)
        with pytest.warns(Fallback, match=r"pdb.Pdb\(\) stops") if not SHOWN.getvalue() else contextlib.nullcontext():
            assert g(np.ones(2)) == 4.0
    assert SHOWN.getvalue().count("array([2., 2.])") == 2


def test_breakpoint_is_left_out_where_python_leaves_it_out(monkeypatch, falling_back):
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    g = jit(stopped, whole=False)
    assert g(np.ones(2)) == 4.0 and g(np.ones(2)) == 4.0 and "1 trace(s)" in g.explain()
    assert grad(stopped)(np.ones(2)).tolist() == [2.0, 2.0]
    hits = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: hits.append(1))
    with pytest.warns(Fallback):
        assert g(np.ones(2)) == 4.0
    assert hits == [1]


def test_a_derivative_says_that_it_cannot_stop(hits):
    with pytest.raises(UnsupportedError, match="call the function itself"):
        grad(stopped)(np.ones(2))


def test_logging_costs_nothing_while_nobody_hears_it():
    log = logging.getLogger("blame.test")
    log.setLevel(logging.INFO)
    log.propagate = False
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(lineno)d %(message)s"))
    log.addHandler(handler)

    def f(x):
        y = x * 2.0
        log.debug("y %s", y)
        for i in range(3):
            log.debug("%d %s", i, y[i])
        return y.sum()

    g = jit(f)
    try:
        assert g(np.ones(3)) == 6.0 and g.ir(np.ones(3)).count() == 2 and heard.getvalue() == ""
        log.setLevel(logging.DEBUG)
        assert g(np.ones(3)) == 6.0 and g(np.ones(3)) == 6.0
        assert [t.partition(" ")[0] for t in heard.getvalue().splitlines()] == ["DEBUG"] * 8
        assert heard.getvalue().splitlines()[0].endswith("y [2. 2. 2.]")
        heard.truncate(0)
        log.setLevel(logging.WARNING)
        assert g(np.ones(3)) == 6.0 and heard.getvalue().strip("\0") == ""
    finally:
        log.removeHandler(handler)


def out_of_range(x, i):
    return x[i.astype(int)]


def refused(x):
    open("/nonexistent")
    return x


def raises(x):
    if x[0] > 1:
        raise ValueError("no")
    return x


def shapes(x):
    return x + np.ones(7)


def frames(function, *args):
    """(the exception's class, the names of the functions in its traceback below this one)."""
    try:
        function(*args)
    except Exception as error:
        return type(error), [f.name for f in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("no exception")


def test_tracebacks_have_no_frames_of_ours(falling_back):
    g, three = jit(out_of_range), np.ones(3)
    g(three, np.float64(1))
    for _ in range(3):
        assert frames(g, three, np.float64(7)) == (IndexError, [])
    g = jit(raises)
    g(three)
    assert frames(g, 2.0 * three) == frames(g, 2.0 * three) == (ValueError, [])
    kind, names = frames(jit(shapes), three)
    assert issubclass(kind, ValueError) and names == ["shapes"]
    assert frames(jit(refused, whole=True), three)[1] == ["refused"]
    with pytest.warns(Fallback):
        assert frames(jit(refused, whole=False), three) == (FileNotFoundError, ["refused"])
    assert frames(jit(lambda x: np.log(x), debug="nan"), -1.0) == (NumericalError, [])
    assert frames(grad(lambda x: x), three)[1] == [] and frames(vmap(lambda x: x), 3.0)[1] == []
    assert frames(jit(lambda x: 1 / x), 0.0) == (ZeroDivisionError, [])
    assert frames(jit(shapes)) == (TypeError, [])


def deep(n, x):
    if n == 0:
        return x.missing
    return deep(n - 1, x)


def folded(x):
    return sum(deep(0, y) for y in [x])


def test_tracebacks_have_all_frames_of_the_users():
    """Where an exception leaves code is said as often as it is passed on, and parts of functions are functions."""
    for f in (lambda x: deep(3, x), folded, lambda x: jit(deep)(2, x)):
        kind, names = frames(f, 1.5)
        inner = [] if sys.version_info >= (3, 12) else ["<listcomp>"]  # which has no frame of its own from there on
        names = [x for name in names for x in (inner if name == "<genexpr>" else [name])]
        for _ in range(2):
            with wengert.profile():
                assert frames(jit(f), 1.5) == (kind, names)
            assert frames(jit(f), 1.5) == (kind, names)


def test_an_error_of_our_own_making_keeps_its_frames(monkeypatch):
    g = jit(lambda x: x + 1.0)

    def broken(*args):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr("wengert.tracer.api.compiled.Compiled.route", broken)
    broken.__code__ = broken.__code__.replace(co_filename=jit.__code__.co_filename)
    kind, names = frames(g, 1.0)
    assert kind is KeyError and names[-1] == "broken" and "slow" in names
