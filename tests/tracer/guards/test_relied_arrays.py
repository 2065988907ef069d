"""Outside arrays that the trace knows by their elements: what is stored into them, and what leaves by them, at every call."""

import copy

import numpy as np
import pytest
from draws import attempt

from wengert import UnsupportedError, jit

MADE = {
    "text": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array([1, "x"], object),
    "masked": lambda: np.ma.array([1.0, 2], mask=[0, 1]),
    "dates": lambda: np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "records": lambda: np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")]),
    "long": lambda: np.array([1, 2], np.longdouble),
    "swapped": lambda: np.array([1, 2], ">i4"),
    "matrix": lambda: np.asmatrix([[1.0, 2]]),
    "sizes": lambda: np.array([2, 3]),
}
HELD = None


def size(x):
    return np.zeros(int(HELD[0])) if HELD.dtype == int else x + 1


def one_item(x):
    HELD[0] = HELD[-1]
    return size(x)


def a_part(x):
    HELD[1:] = HELD[:1]
    return size(x)


def in_order(x):
    HELD.sort()
    return size(x)


def copied(x):
    np.copyto(HELD[:1], HELD[-1:])
    return size(x)


def filled(x):
    HELD.fill(HELD.flat[0])
    return size(x)


def put(x):
    HELD.put(0, HELD.flat[-1])
    return size(x)


def then_fails(x):
    HELD[1:] = HELD[:1]
    x[0] = np.ones(3)
    return size(x)


def itself(x):
    HELD[0] = HELD[-1]
    return HELD, [HELD], size(x)


def left(f, x):
    done = attempt(f, (x,))
    return repr(done.result), repr(HELD), type(done.error), done.result is not None and done.result[0] is HELD


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("f", [one_item, a_part, in_order, copied, filled, put, then_fails, itself], ids=lambda f: f.__name__)
def test_stores_happen_at_every_call(f, kind, monkeypatch):
    compiled, spaces = jit(f), globals()
    for again in range(4):
        done = []
        for g in (f, compiled):
            monkeypatch.setitem(spaces, "HELD", MADE[kind]())
            if again == 2:
                HELD[-1:] = HELD[:1]
            done.append(left(g, np.ones(2)))
        if f is then_fails:
            assert issubclass(done[1][2], done[0][2]) and done[0][2] is ValueError
            expected = MADE[kind]()
            if again == 2:
                expected[-1:] = expected[:1]
            assert done[1][1] == repr(expected), "nothing is half-written"
        else:
            assert done[0] == done[1]


@pytest.mark.parametrize("kind", ["text", "long", "swapped"])
def test_large_ones_are_refused(kind, monkeypatch):
    large = np.repeat(MADE[kind](), 10_000)
    monkeypatch.setitem(globals(), "HELD", large)
    with pytest.raises(UnsupportedError, match="20000 elements, too many to be compared"):
        jit(lambda x: x + len(str(HELD[0])))(np.ones(2))


def test_views_of_them_do_not_leave(monkeypatch):
    monkeypatch.setitem(globals(), "HELD", np.array(["a", "b"]))
    with pytest.raises(UnsupportedError, match=r"a view of HELD is returned or stored"):
        jit(lambda x: HELD[1:])(np.ones(2))
    assert jit(lambda x: HELD[1:].copy())(np.ones(2)).tolist() == ["b"]


def test_other_arrays_are_taken_in_where_sizes_are_known(monkeypatch):
    monkeypatch.setitem(globals(), "HELD", np.array([2, 3]))
    table = np.zeros(3)
    f = jit(lambda x: np.zeros(HELD).sum() + table[1] + x)
    for k in range(4):
        table[1] = k
        assert f(1.0) == k + 1
    assert "1 trace(s)" in f.explain()
    HELD[0] = 5
    assert f(1.0) == 4 and "2 trace(s)" in f.explain()


class Scaled:
    def __init__(self):
        self.scale, self.n = 1.5, 2


exec("Scaled.times = lambda self, x: x * self.scale + getattr(self, 'more', 0)")  # without source, and so without hooks
SCALED = Scaled()


def counted(x):
    SCALED.n += 1
    return SCALED.times(x)


def test_what_code_without_hooks_reads_of_an_object_in_which_the_trace_stores():
    compiled, x = jit(counted), np.ones(2)
    for change in ("", "", "o.scale = np.float64(0.5)", "o.scale = 2.5", "o.scale = 3", "o.more = 1.0", "o.scale = np.ones(2)", "o.scale[0] = 4", ""):
        exec(change, {"o": SCALED, "np": np})
        before = copy.deepcopy(vars(SCALED))
        want = counted(x)
        vars(SCALED).update(before)
        got = compiled(x)
        assert got.tolist() == want.tolist() and SCALED.n == before["n"] + 1, change
