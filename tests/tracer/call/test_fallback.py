"""What cannot be captured is answered by plain Python, from its start, once, and aloud."""

import asyncio
import collections
import contextlib
import decimal
import io
import json
import re
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import Fallback, grad, jit, value_and_grad, vmap
from wengert.tracer.common.errors import REFUSALS, UnsupportedError

X = np.array([3.0, 1.0, 2.0])


class World:
    """What is outside of a function, and changes when it runs."""

    def __init__(self):
        self.counts, self.log, self.numbers = collections.Counter(), [], iter(range(100))
        self.rng, self.array, self.total = np.random.default_rng(0), np.zeros(3), 0.0

    def state(self):
        return dict(self.counts), self.log, next(self.numbers), self.rng.random(), self.array.tolist(), self.total


def order(x):
    """Refused: which numbers are keys of a dict is data."""
    places = {float(v): n for n, v in enumerate(x)}
    return [places[k] for k in sorted(places)]


def stores(w, x):
    w.array[0] += x[0]
    w.total = w.total + x[1]
    w.log.append(float(x[2]))
    x[0] = 7.0
    return order(x)


def counts(w, x):
    for v in x:
        w.counts[int(v)] += 1
    return x * 2


def draws(w, x):
    noise = w.rng.normal(size=len(x))
    return x[order(x + noise)] + w.rng.random()


def prints(w, x):
    print("before", x[0])
    result = order(x)
    print("after")
    return result


def steps(w, x):
    return next(w.numbers) + x[order(x)]


def text(w, x):
    w.log.append(f"{x.sum():.2f}")
    return f"{x[0]:.1f}"


def letters(w, x):
    """Refused: how long the text of an array is."""
    return len(f"{x}")


def raises(w, x):
    w.total += 1
    w.log.append(len(order(x)))
    raise KeyError(order(x)[0])


def gathers(w, x):
    """Captured, with a list as long as data decide."""
    kept = []
    for v in x:
        if v > 1.5:
            kept.append(v)
    return np.array(kept), len(kept)


def groups(w, x):
    """Refused: data decide in which list an item is."""
    kept = {}
    for v in x:
        kept.setdefault(float(v) // 2, []).append(v)
    return kept


def leaves(w, x):
    for v in x:
        try:
            if v < 2:
                return v
        finally:
            w.counts["tried"] += 1
    return x


def outcome(f, w, x):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        try:
            result = f(w, x)
        except Exception as error:
            result = error
    return result, x, said.getvalue()


@pytest.mark.parametrize("f", [stores, counts, draws, prints, steps, text, raises, gathers, groups, leaves])
def test_all_happens_once_as_in_python(falling_back, f):
    plain, compiled, again = World(), World(), jit(f)
    for x in (X, X + 1, np.array([1.0, 4.0, 2.0, 8.0]), -X):
        want, got = outcome(f, plain, x.copy()), outcome(again, compiled, x.copy())
        if isinstance(want[0], Exception):
            assert isinstance(got[0], type(want[0])) and str(got[0]).startswith(str(want[0]))
            got, want = got[1:], want[1:]
        np.testing.assert_equal(got, want)
        assert type(got[0]) is type(want[0])
    np.testing.assert_equal(compiled.state(), plain.state())


@pytest.mark.parametrize("f", [counts, leaves, letters])
def test_whole_raises_instead(f):
    with pytest.raises(REFUSALS):
        jit(f, whole=True)(World(), X.copy())


@pytest.mark.parametrize("f", [stores, text, groups])
def test_whole_takes_keys_by_value(f):
    plain, compiled, again = World(), World(), jit(f, whole=True)
    for x in (X, X, X[::-1].copy()):
        np.testing.assert_equal(outcome(again, compiled, x.copy()), outcome(f, plain, x.copy()))
    np.testing.assert_equal(compiled.state(), plain.state())


def test_it_is_said_once_with_the_line_and_the_way_out(falling_back):
    f = jit(groups)
    with pytest.warns(Fallback) as told:
        f(None, X)
        f(None, X)
    (one,) = told
    assert one.filename == __file__
    assert str(one.message).startswith("groups ran as plain Python, uncompiled: ")
    assert "test_fallback.py" in str(one.message) and "kept.setdefault(" in str(one.message)
    assert str(one.message).endswith("jit(groups, whole=True) raises this as an error instead.")
    assert "not compiled: (x: f64[3])" in f.explain() and "answered     2 call(s), by plain Python" in f.explain()


def test_it_is_said_once_of_arrays_of_all_sizes(falling_back):
    def spread(x):
        kept = x[x > 0]
        return np.histogram(kept, bins=3, range=(0, 4))[0]

    f = jit(spread)
    with pytest.warns(Fallback) as told:
        for n in range(4, 12):
            np.testing.assert_array_equal(f(np.arange(n) - 2.0), spread(np.arange(n) - 2.0))
    assert len(told) == 1
    assert f.explain().count("not compiled: (x: f64[") == 3 and f.explain().count("np.histogram is not captured") == 1


def test_other_shapes_are_tried_a_few_times(falling_back):
    traced = []

    def f(x):
        traced.append(type(x).__name__)
        return order(x)

    with pytest.warns(Fallback) as told:
        compiled = jit(f)
        for n in range(2, 12):
            assert compiled(np.arange(n)[::-1].astype(float)) == list(range(n))[::-1]
    assert len(told) == 1 and traced.count("ndarray") == 10


def test_functions_inside_are_compiled_where_they_are(falling_back):
    @jit
    def inner(x):
        return np.tanh(x) * 2

    @jit
    def outer(x):
        return inner(x)[order(x)]

    with pytest.warns(Fallback):
        np.testing.assert_allclose(outer(X), (np.tanh(X) * 2)[np.argsort(X)])
    assert inner.explain().startswith("inner: 1 trace(s)")
    assert outer.explain().startswith("outer: 0 trace(s)")


def test_derivatives_have_no_plain_python(falling_back):
    def f(x):
        return (x * len(f"{x}")).sum()

    for transformed in (grad(f), value_and_grad(f), jit(grad(f)), grad(jit(f)), lambda x: vmap(f)(x[None])):
        with warnings.catch_warnings(), pytest.raises(REFUSALS, match="text of a traced value"):
            warnings.simplefilter("error", Fallback)
            transformed(X)


def test_derivatives_take_keys_by_value(falling_back):
    def f(x):
        return (x[order(x)] * np.arange(3.0)).sum()

    for x in (X, X[::-1].copy(), X):
        expected = np.argsort(order(x)).astype(float)
        for transformed in (grad(f), jit(grad(f)), grad(jit(f))):
            assert transformed(x).tolist() == expected.tolist()
    with pytest.raises(REFUSALS, match="no hash"):
        vmap(f)(X[None])


def test_what_only_the_data_refuse(falling_back):
    @jit
    def cubes(x):
        k = 1
        for _ in range(int(x[0])):
            k = k * 1000
        return k

    assert cubes(X) == 10**9
    with pytest.warns(Fallback, match="64 bits"):
        assert cubes(X * 10) == 10**90
    assert cubes(X) == 10**9

    @jit
    def caught(x):
        try:
            return 1 / float(x[0])
        except ZeroDivisionError:
            return -1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        assert [caught(x) for x in (X, X * 0, X)] == [1 / 3, -1.0, 1 / 3]


def test_arrays_of_jax_come_back_as_such(falling_back):
    x = jnp.asarray(X)
    with pytest.warns(Fallback):
        ordered, total, places = jit(lambda x: (x[order(x)], x.sum(), order(x)))(x)
    assert type(ordered) is type(total) is type(x) and places == [1, 2, 0]
    assert jit(lambda xs: order(xs[0]))([x]) == [1, 2, 0]
    with pytest.raises(REFUSALS, match="text of a traced value"):
        jit(lambda xs: len(f"{xs[0]}"))([x])


def test_arguments_of_which_nothing_is_known(falling_back):
    mixed = np.array([1, 2.5, X], dtype=object)
    with pytest.warns(Fallback, match="dtype object"):
        got = jit(lambda o: o * 2)(mixed)
    np.testing.assert_array_equal(got[2], X * 2)


def test_in_the_background_too(falling_back):
    f = jit(lambda o: o * 2, tier="background")
    with pytest.warns(Fallback, match="dtype object"):
        assert f(np.array([1, "a"], dtype=object)).tolist() == [2, "aa"]
    g = jit(order, tier="background")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert [g(X) for _ in range(3)] == [[1, 2, 0]] * 3


def test_an_array_of_objects_after_one_of_numbers(falling_back):
    f = jit(lambda o: o * 2)
    assert f(X).tolist() == (X * 2).tolist()
    with pytest.warns(Fallback, match="dtype object"):
        assert f(np.array([1, "a"], dtype=object)).tolist() == [2, "aa"]
    assert f(X).tolist() == (X * 2).tolist()


def test_a_function_that_is_exchanged_is_divided_again(falling_back):
    def f(x):
        s = 0.0
        for v in x:
            s += v
        return s, order(x)

    def other(x):
        s = 1.0
        for v in x:
            s *= v
        return s, order(x)

    compiled = jit(f)
    with pytest.warns(Fallback):
        assert compiled(X) == (6.0, [1, 2, 0])
    f.__code__ = other.__code__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        assert compiled(X) == (6.0, [1, 2, 0])
        assert compiled(X + 1) == (24.0, [1, 2, 0])


def test_its_own_errors_are_raised_once(falling_back):
    seen = []

    def f(o):
        seen.append(1)
        return o + [1]

    compiled = jit(f)
    with pytest.raises(TypeError), pytest.warns(Fallback):
        compiled(np.array([1, None], dtype=object))
    assert len(seen) == 1
    assert compiled(X).tolist() == (X + 1).tolist() and len(seen) == 2
    with pytest.raises(TypeError):
        compiled(np.array([1, None], dtype=object))
    assert len(seen) == 3


def test_what_asks_for_classes_is_given_the_numbers(falling_back):
    f = lambda x: [float(decimal.Decimal(x[0]) + 1), x * 2]
    with pytest.warns(Fallback, match="does not take a traced value: TypeError"):
        got = jit(f)(X)
    assert got[0] == 4.0 and got[1].tolist() == [6.0, 2.0, 4.0]
    with pytest.raises(UnsupportedError, match="test_fallback.py"):
        jit(f, whole=True)(X)
    with pytest.raises(AttributeError, match="nothing"):
        jit(lambda x: x.nothing)(X)


def test_generators_and_async_functions_run_as_they_are(falling_back):
    @jit
    def steps(x, log):
        for k in range(3):
            log.append(k)
            yield x * k

    @jit
    async def later(x):
        await asyncio.sleep(0)
        return x.sum()

    log = []
    with pytest.warns(Fallback, match="steps is a generator") as told:
        for n, v in enumerate(steps(X, log)):
            assert log == list(range(n + 1)) and np.array_equal(v, X * n)
        assert len(list(steps(X, log))) == 3 and log == [0, 1, 2] * 2
    assert len(told) == 1 and "is a generator" in str(steps.explain())
    with pytest.warns(Fallback, match="later is an async function"):
        assert asyncio.run(later(X)) == 6.0
    assert jit(lambda x: sum(v.sum() for v in steps(x, [])), whole=True)(X) == 18.0
    with pytest.raises(UnsupportedError, match="generator"):
        grad(steps)(1.0, [])


def dumped(x):
    for _ in range(30):
        x = np.tanh(x) + np.sin(x) * np.cos(x) - np.exp(-x * x) + np.sqrt(x * x + 1) - np.log(x * x + 2)
    return json.dumps({"m": float(x.mean())})


def test_a_refusal_within_a_library_names_the_users_line_too():
    with pytest.raises(UnsupportedError) as refused:
        jit(dumped, whole=True)(X)
    lines = str(refused.value).splitlines()
    assert "encoder.py:" in lines[1] and "test_fallback.py:" in lines[3] and "json.dumps" in lines[4]


def test_explain_says_what_part_of_the_time_was_not_compiled():
    f = jit(dumped, whole=False)
    with pytest.warns(Fallback):
        f(X)
    assert "1 call(s), by plain Python\n" in f.explain() + "\n"  # it has compiled pieces
    f(X)
    said = re.search(r"2 call\(s\), by plain Python: [\d.e+]+ [mu]s each, (\d+)% of it uncompiled", f.explain())
    assert 0 < int(said[1]) < 100
