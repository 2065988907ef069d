"""Indices out of range, found when the program runs: NumPy's own words, our line, and nothing written."""

import numpy as np
import pytest

from wengert import grad, jit

X, I = np.arange(120.0).reshape(4, 5, 6), np.array([0, 9, -30, 2])
FAR = np.tile(I * 30, 100)  # more indices than are searched at every call


def same_words(function, *args):
    """Both raise IndexError; the words are NumPy's, the note tells the place; the arguments stay."""
    with pytest.raises(IndexError) as plain:
        function(*[x.copy() for x in args])
    ours = [x.copy() for x in args]
    with pytest.raises(IndexError) as caught:
        jit(function)(*ours)
    assert str(caught.value) == str(plain.value) and "test_bounds.py:" in "".join(caught.value.__notes__)
    assert all(np.array_equal(x, y) for x, y in zip(ours, args))


@pytest.mark.parametrize("function, index", [
    (lambda x, i: x[i], np.int64(-9)), (lambda x, i: x[1, i], np.int64(9)), (lambda x, i: x[:, None, i], I), (lambda x, i: x[..., i], I),
    (lambda x, i: x[i, :, i], I), (lambda x, i: x[None, :, i], I), (lambda x, i: x[i[:, None], i], I), (lambda x, i: np.take(x, i, axis=1), I),
    (lambda x, i: x.take(i), I * 100), (lambda x, i: x.ravel()[i], FAR), (lambda x, i: x[1:][:, i], I), (lambda x, i: x.T[i], I),
    (lambda x, i: np.take_along_axis(x, i, 2), np.full((4, 5, 1), 7)), (lambda x, i: x[i], np.array([1, 200], np.uint8)),
])  # fmt: skip
def test_reads(function, index):
    same_words(function, X, index)


def store(x, i):
    x[0] = 7.0
    x[i] = 3.0
    return x


def add(x, i):
    x[2, i] += 1.0


def test_stores_write_nothing():
    for index in (np.int64(4), I, np.array([1, -5])):
        same_words(store, X, index)
    same_words(add, X, np.int64(-6))
    same_words(store, X.reshape(-1), FAR)


def gathered(x, ii):
    s = 0.0
    for i in ii:
        s += x[i]
    return s


def walk(x, n):
    k = n
    while x[k] < 99:
        k += 1
    return k


def sides(x, i, j):
    return x[i] if x[0] > 0 else x[j]


def nested(x, i):
    for a in range(3):
        for b in range(2):
            if x[a] > 0:
                x[i + a + b] += 1
    return x


def test_the_first_in_program_order_speaks():
    x = np.arange(5.0)
    same_words(gathered, x, np.array([1, 4, 7, 9]))
    same_words(walk, x, np.array(1))
    same_words(sides, x, np.array(8), np.array(9))
    same_words(sides, x + 1, np.array(8), np.array(9))
    same_words(lambda x, i, j: (x[i], x[j]), x, np.array(8), np.array(9))
    same_words(nested, x, np.array(2))


def test_lines_of_an_array():
    same_words(lambda x, i: np.apply_along_axis(lambda r: r[i + r.argmax()], 1, x), np.array([[3.0, 1, 2], [1, 2, 3], [1, 3, 2]]), np.array(1))


def test_under_grad_and_in_single_precision():
    for x in (np.arange(5.0), np.arange(5.0, dtype=np.float32)):
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
            grad(lambda x, i: x[i].sum())(x, np.array([1, 9] * 50))


def test_numbers_beyond_what_a_status_holds():
    with pytest.raises(IndexError, match="or beyond is out of bounds"):
        jit(lambda x, i: x[i])(X, np.array(2**60))


def test_braces_in_the_users_line_stay():
    with pytest.raises(IndexError) as caught:
        jit(lambda x, i: {}.get("{}", x[i]))(X, np.array(9))
    assert 'get("{}"' in "".join(caught.value.__notes__)


@pytest.mark.parametrize("function", [
    lambda x: x[np.argsort(x)], lambda x: x[np.argsort(x)[::-1][:2]], lambda x: x[np.argsort(x)[np.argsort(-x)]],
    lambda x: x[np.concatenate([np.argsort(x), np.argsort(-x)])], lambda x: x[np.lexsort((x, -x))],
])  # fmt: skip
def test_places_that_a_sort_gave_are_not_checked(function):
    compiled = jit(function)
    np.testing.assert_array_equal(compiled(I), function(I))
    assert "IndexError" not in compiled.explain()


def between(x, t):
    """Straight lines between the elements of x."""
    at = np.clip(t, 0, len(x) - 1.001)
    k = np.floor(at).astype(np.int64)
    return x[k] + (at - k) * (x[k + 1] - x[k])


def test_of_rounded_floats_it_is_asked_once_whether_they_were_nan():
    x, t = np.arange(5.0) ** 2, np.array([-3.0, 0.5, 3.99, 4.0, 7.0, 2.0])
    compiled = jit(between)
    np.testing.assert_array_equal(compiled(x, t), between(x, t))
    done = compiled.ir(x, t)
    assert [e.op.name for e in done.eqns].count("argmax") == 1
    assert not any(e.op.name in ("lt", "ge") and e.results[0].type.shape for e in done.eqns)
    for place in range(len(t)):
        t[place], before = np.nan, t[place]
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
            compiled(x, t)
        t[place] = before


def test_of_rounded_floats_in_a_matrix_too():
    x, t = np.arange(5.0) ** 2, np.array([[-3.0, 0.5, 3.99], [4.0, 7.0, 2.0]])
    compiled = jit(between)
    np.testing.assert_array_equal(compiled(x, t), between(x, t))
    done = compiled.ir(x, t)
    assert [e.op.name for e in done.eqns].count("argmax") == 1
    assert not any(e.op.name in ("lt", "ge") for e in done.eqns)
    for place in np.ndindex(t.shape):
        wrong = t.copy()
        wrong[place] = np.nan
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
            compiled(x, wrong)


def test_what_is_added_and_finite_is_no_nan():
    moved = lambda x, t: x[np.clip(np.arange(6)[::-1] * 0.5 + (t - 1.0), 0, 4).astype(int)]
    x, t = np.arange(5.0), np.linspace(-2, 3, 6)
    compiled = jit(moved)
    np.testing.assert_array_equal(compiled(x, t), moved(x, t))
    func = compiled.ir(x, t)
    assert {e.operands for e in func.eqns if e.op.name in ("eq", "ne") and e.operands[0].type.kind == "f"} == {(func.params[1],) * 2}
    for bad, fails in ((np.nan, True), (np.inf, False), (-np.inf, False)):
        t[2] = bad
        if fails:
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
                compiled(x, t)
        else:
            np.testing.assert_array_equal(compiled(x, t), moved(x, t))


def one_by_one(x, at):
    found = np.zeros(len(at))
    for k in range(len(at)):
        found[k] = np.take(x, at[k]) + np.take_along_axis(x, at[k : k + 1], 0)[0]
    return found


def rounds(x, at):
    for _ in range(3):
        x = np.tanh(x[at])
    return x


def test_what_is_asked_before_a_loop_is_asked_in_one_pass():
    x, at = np.linspace(0, 1, 100), np.arange(100)[::-1].copy()
    compiled = jit(rounds)
    np.testing.assert_allclose(compiled(x, at), rounds(x, at), rtol=1e-12)
    names = [e.op.name for e in compiled.ir(x, at).eqns]
    assert "argmax" in names and "cond" not in names
    at[7] = -101
    same_words(rounds, x, at)


def heard(x, at, to):
    for _ in range(3):
        y = np.zeros_like(x)
        np.add.at(y, to, np.tanh(x[at]))
        x = np.tanh(0.5 * x + y)
    return x


def test_a_loop_does_not_carry_what_its_first_trip_decides():
    x, at, to = np.linspace(0, 1, 100), np.arange(100)[::-1].copy(), np.arange(100)
    compiled = jit(heard)
    np.testing.assert_allclose(compiled(x, at, to), heard(x, at, to), rtol=1e-12)
    (eqn,) = [e for e in compiled.ir(x, at, to).eqns if e.op.name == "loop"]
    assert [r.type.shape for r in eqn.results] == [(100,)]
    wrong, far = at.copy(), to.copy()
    wrong[3], far[5] = 400, -300
    for args in ((wrong, to), (at, far), (wrong, far)):
        same_words(heard, x, *args)


def put_one_by_one(x, at):
    found = np.zeros_like(x)
    for k in range(len(at)):
        np.put_along_axis(found, at[k : k + 1], x[k % 7], 0)
    return found


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("function", [one_by_one, put_one_by_one])
def test_in_loops_no_memory_but_the_arrays_is_touched(function, engine):
    x, at = np.arange(100.0), np.arange(3000) % 100
    compiled = jit(function, engine=engine)
    np.testing.assert_array_equal(compiled(x, at), function(x, at))
    for far in (10**12, -(10**12)):
        at[17] = far
        with pytest.raises(IndexError, match=f"index {far} is out of bounds for axis 0 with size 100"):
            compiled(x, at)


@pytest.mark.parametrize("low, high", [(-5.0, 4.9), (0.0, 5.0), (-6.0, 3.0), (1.0, 2.0**40)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounded_floats_reach_as_far_as_they_may(low, high, dtype, kind):
    def function(x, t):
        return x[np.clip(t, low, high).astype(dtype)]

    x = np.arange(5.0)
    for t in ([0.0, 1.5, 2.9], [-10.0, 1.0, 1.0], [1.0, 1.0, 4.95], [1.0, 2.0**41, 0.0]):
        t = np.array(t, kind)
        try:
            with np.errstate(invalid="ignore"):
                want = function(x, t)
        except IndexError:
            with pytest.raises(IndexError):
                jit(function)(x, t)
        else:
            np.testing.assert_array_equal(jit(function)(x, t), want)
