"""Long lists of Python floats among the arguments are one array of the program, and lists of Python floats to the function."""

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import Fallback, grad, jit

N = 100


def numbers(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=n).tolist()


def rows(m=12, n=9, seed=0):
    return np.random.default_rng(seed).normal(size=(m, n)).tolist()


def total(x):
    return sum(v * v for v in x)


def horner(c, xs):
    out = []
    for x in xs:
        r = 0.0
        for k in reversed(c):
            r = r * x + k
        out.append(r)
    return out


def product(a, b):
    return [[sum(x * y for x, y in zip(r, c)) for c in zip(*b)] for r in a]


def stores(x):
    x[3] = x[4] * 2
    x[-1] += 1.0
    return x[3]


def sorts(x):
    x.sort()
    return x[0], x


def appends(x):
    x.append(x[0] + 1)
    return len(x)


def swaps(a):
    a[0], a[1] = a[1], a[0]
    a[2][0] = 7.0
    return a[2], a


def types(x):
    return type(x), type(x[0]), len(x), x[5], x[2:5], x[0] > x[1]


def mixed(p):
    return sum(p["w"]) + p["b"], p["w"], [v[1] for v in p["points"]]


def pairs(x):
    return max((b - a for a, b in x)), [a for a, b in x]


def arrays(x):
    return np.array(x) @ np.arange(len(x)), np.mean(x), np.sort(x)


def ragged(x):
    return [sum(row) for row in x]


PROGRAMS = [
    (total, lambda: (numbers(),)), (horner, lambda: (numbers(70), numbers(66, 1))), (product, lambda: (rows(9, 9), rows(9, 9, 1))),
    (stores, lambda: (numbers(),)), (sorts, lambda: (numbers(),)), (appends, lambda: (numbers(),)), (swaps, lambda: (rows(),)),
    (types, lambda: (numbers(),)), (mixed, lambda: ({"w": numbers(), "b": 1.5, "points": [tuple(r) for r in rows(40, 2)]},)),
    (pairs, lambda: (list(map(tuple, rows(40, 2))),)), (arrays, lambda: (numbers(),)), (arrays, lambda: (tuple(numbers()),)),
    (ragged, lambda: ([numbers(k, k) for k in range(1, 20)],)),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(PROGRAMS)), ids=[f"{f.__name__}{k}" for k, (f, _) in enumerate(PROGRAMS)])
def test_same_answer_and_same_lists_afterwards(k):
    f, made = PROGRAMS[k]
    g = jit(f)
    for _ in range(3):
        ours, theirs = made(), made()
        got, wanted = g(*ours), f(*theirs)
        np.testing.assert_equal(repr_of(got), repr_of(wanted))
        np.testing.assert_equal(repr_of(ours), repr_of(theirs))


def repr_of(x):
    """Numbers with their classes, to 12 digits; containers as they are."""
    if isinstance(x, list | tuple):
        return type(x)(map(repr_of, x))
    if isinstance(x, dict):
        return {k: repr_of(v) for k, v in x.items()}
    return (type(x), np.round(x, 12)) if isinstance(x, float | np.ndarray) else x


def test_one_argument_of_the_program():
    g = jit(total)
    assert g(numbers()) == pytest.approx(total(numbers()))
    assert g(numbers(seed=1)) == pytest.approx(total(numbers(seed=1)))
    assert g.explain().count("because") == 1 and f"(x: f64[{N}])" in g.explain()
    assert str(g.ir(numbers())).startswith(f"func total(%x: f64[{N}])")


def test_another_length_and_another_class_are_other_programs():
    g = jit(lambda x: (sum(x), len(x), type(x)))
    for x in (numbers(100), numbers(101), tuple(numbers(100))):
        assert g(x) == (pytest.approx(sum(x)), len(x), type(x))


def test_rows_that_are_one_list_stay_one():
    def write(a):
        a[0][0] = 5.0
        return a[1][0], a[0] is a[1]

    row = numbers(40)
    ours, theirs = [row[:]] * 3, [row[:]] * 3
    assert jit(write)(ours) == write(theirs) == (5.0, True)
    assert ours == theirs and ours[0] is ours[2]


def test_one_list_given_twice_is_one():
    def write(a, b):
        a[0] = 5.0
        return b[0], a is b

    x = numbers()
    g = jit(write)
    assert g(x, x) == (5.0, True)
    assert g(numbers(), numbers()) == (numbers()[0], False)


def test_the_list_itself_is_given_back():
    x = numbers()
    assert jit(lambda x: (x, x[0] * 2))(x)[0] is x


def test_other_numbers_among_them_are_known_one_by_one():
    g = jit(lambda x: [type(v) for v in x])
    x = numbers()
    x[3] = 2
    assert g(x)[3] is int and g(x)[4] is float


def test_gradient_with_respect_to_the_items():
    x = numbers()
    found = grad(total)(x)
    assert type(found) is list and found == pytest.approx([2 * v for v in x])
    assert grad(lambda w, x: w * sum(x))(2.0, x) == pytest.approx(sum(x))


def test_beside_jax_arrays():
    x = numbers()
    found = jit(lambda x, a: sum(v * v for v in x) + a)(x, jnp.ones(2))
    np.testing.assert_allclose(np.asarray(found), total(x) + 1.0)


def test_checked_beside_plain_python_and_in_the_background():
    x = numbers()
    assert jit(total, check=True)(x) == pytest.approx(total(x))
    g = jit(total, tier="background")
    assert [g(x) for _ in range(3)] == pytest.approx([total(x)] * 3)


def test_a_list_that_contains_itself_is_not_searched_forever():
    x = [1.0]
    x[0] = x
    with pytest.warns(Fallback, match="contain themselves"):
        assert jit(lambda x: 1.0)(x) == 1.0
