"""Loops that may make no trip, or hand arrays and lists from one name to another: whose memory a name has afterwards."""

import random

import numpy as np
import pytest
import random_trips

from wengert import jit


def halved(x, T):
    for _ in range(T):
        x = x / 2
    x[0] = 7
    return x


def mask(x, T):
    for _ in range(T):
        x = x > 0
    x[0] = 0
    return x


def other(x, T):
    y = x
    for _ in range(T):
        x = np.zeros(2, np.float32)
    x[1] = 3
    return y


def chosen(x, T):
    for v in x[x > T]:
        x = x * v * 0.5
    x[-1] = 9
    return x


@pytest.mark.parametrize("function", [halved, mask, other, chosen])
@pytest.mark.parametrize("kind", [int, np.int64])
def test_arrays_of_another_dtype_after_a_trip(function, kind):
    compiled = jit(function, whole=True)
    for trips in (3, 0, 1, 0, 9):
        mine, plain = np.array([1, 5, 2]), np.array([1, 5, 2])
        got, want = compiled(mine, kind(trips)), function(plain, kind(trips))
        assert got.tolist() == want.tolist() and got.dtype == want.dtype and mine.tolist() == plain.tolist()
        assert (got is mine) == (want is plain)


def test_drawn():
    for seed in range(40):
        found = random_trips.differences(random_trips.draw(random.Random(seed)), engine="numpy")
        assert found is None or found.startswith("refused"), seed


def shortened(x):
    for _ in range(2):
        if x[0] > 0:
            x = x[1:]
    return x, [x], {"again": x}


def test_views_of_a_length_that_data_decide_leave_in_several_places(falling_back):
    mine, plain = np.array([1.9, -1.0, -2.0]), np.array([1.9, -1.0, -2.0])
    with pytest.warns(match="a view of cannot be told"):
        got = jit(shortened)(mine)
    want = shortened(plain)
    got[0][0] = want[0][0] = 7
    assert mine.tolist() == plain.tolist() and got[1][0] is got[0] is got[2]["again"]


def handed_on(x, a, rounds):
    p, t, m = [x, 0.5], [x * 2, x * 2], 0
    while x > 0.5 and m < rounds:
        t = p
        p = a
        m += 1
    return a, (t, [p])


def test_lists_that_go_from_name_to_name(falling_back):
    compiled = jit(handed_on)
    for x, rounds in ((0.1, 3), (0.6, 0), (0.6, 1), (0.6, 2), (3.0, 5)):
        mine, plain = [1.0, 2.0], [1.0, 2.0]
        (a, (t, (p,))), (b, (u, (q,))) = compiled(x, mine, rounds), handed_on(x, plain, rounds)
        assert (a is mine, t is mine, p is mine, p is t) == (b is plain, u is plain, q is plain, q is u)
        assert (t, p) == (u, q)


@pytest.mark.parametrize("store", ["x[:] = x[:]", "x[::-1] = x[::-1]", "x[0] = x[0]", "x[...] = x"])
@pytest.mark.parametrize("n", [1, 3, 300])
def test_what_is_stored_into_itself_may_be_written(falling_back, store, n, tmp_path):
    file = tmp_path / "stores.py"
    file.write_text(f"def f(x):\n    {store}\n    return x + 1\n")
    space = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    compiled, x = jit(space["f"]), np.ones(n)
    assert compiled(x).tolist() == [2.0] * n
    x.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            compiled(x)
    assert compiled(np.ones(n)).tolist() == [2.0] * n


def test_what_np_dot_is_given_to_write_to_is_in_c_order(falling_back):
    product = jit(lambda a, out: np.dot(a, a, out=out))
    a = np.eye(3)
    for out in (np.zeros((3, 3), order="F"), np.zeros((6, 6))[::2, ::2], np.zeros((3, 3), "f4")):
        with pytest.raises(ValueError, match="must have the right datatype"):
            product(a, out)
    out = np.zeros((3, 3))
    assert product(a, out) is out and out.tolist() == a.tolist()
