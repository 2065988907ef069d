"""A list that loops within loops append to, one by one or several at once."""

import numpy as np
import pytest

from wengert import grad, jit

OTHERS = [1.0, 2.0]


def pairs(v):
    out = []
    for a in v:
        for b in v:
            out.append(a * b)
    return out


def pairs_by_index(v):
    out = []
    for i in range(len(v)):
        for j in range(len(v)):
            out.append(v[i] * v[j])
    return np.array(out)


def triples(v):
    out = []
    for a in v[:4]:
        for b in v[:5]:
            for c in v:
                out.append((a * b, c))
    return out


def before_and_after(v):
    out = [v[0]]
    for a in v:
        out.append(a)
        for b in v * a:
            out.append(b)
        out.append(-a)
    return out


def two_lists(v):
    left, right = [], []
    for a in v:
        for b in v:
            left.append(a)
            right.append(b)
        right.append(a)
    return left, right


def inner_condition(v):
    out = []
    for a in v:
        for b in v:
            if b > a:
                out.append(b - a)
    return out


def outer_condition(v):
    out = []
    for a in v:
        if a > 2:
            for b in v:
                out.append(b - a)
    return out


def other_trips(v):
    out = []
    for i in range(len(v)):
        for j in range(i):
            out.append(v[i] * v[j])
    return out


def append_to(out, items):
    for x in items:
        out.append(np.sin(x))


def by_a_helper(v):
    out = []
    for a in v:
        append_to(out, v * a)
    return out


def rows(v):
    out = []
    for a in v:
        row = []
        for b in v:
            row.append(a * b)
        out.append(row)
    return out


def inner_while(v):
    out = []
    for a in v:
        while a > 1:
            a = a / 2
            out.append(a)
    return out


def extended_by_two(v):
    out = []
    for a in v:
        out.extend([a, 2 * a])
    return out


def extended_by_an_array(v):
    out = []
    for a in v:
        out.extend(v * a)
    return out


def extended_by_a_length_of_data(v):
    out = []
    for a in v:
        out.extend(np.arange(0, a, 0.5))
    return out


def extended_by_a_list_of_data(v):
    out = []
    for a in v:
        row = []
        for b in v:
            if b > a:
                row.append(b)
        out.extend(row)
    return out


def extended_under_a_condition(v):
    out = []
    for a in v:
        if a > 2:
            out.extend((a, a))
    out.extend(v)
    return out


def extended_by_a_generator(v):
    out = []
    for a in v:
        out.extend(x * a for x in v)
    return out


def extended_by_an_outside_list(v):
    out = []
    for a in v:
        out.extend(OTHERS)
        out += [a]
    return out


def extended_by_addition(v):
    out = []
    for a in v:
        out += list(v * a)
    return out


def extended_by_itself(v):
    out = [v[0]]
    for _ in range(4):
        out.extend(out)
    return out


def extended_at_the_top(v):
    out = [v[0]]
    out.extend(v[v > 2])
    out += [1.0]
    return out


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and f is not append_to]


@pytest.mark.parametrize("size", [3, 30])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(function, size):
    compiled = jit(function)
    v = np.linspace(0.5, 6, size)
    for given in (v, v[::-1].copy(), v * 0.1 + 1, v - 3):
        found, expected = compiled(given), function(given)
        assert flat(found) == pytest.approx(flat(expected), rel=1e-12)
        assert shape_of(found) == shape_of(expected)
        OTHERS.append(float(len(OTHERS)))
    del OTHERS[2:]


def flat(x):
    return [y for part in x for y in flat(part)] if isinstance(x, list | tuple | np.ndarray) else [x]


def shape_of(x):
    return type(x), [shape_of(y) for y in x] if isinstance(x, list | tuple) else None


def test_trips_of_all_loops_are_captured():
    assert jit(pairs_by_index).ir(np.ones(300)).count() < 100


def test_gradient():
    loss = lambda v: np.sum(np.array(pairs(v)) ** 2)
    v = np.linspace(1, 2, 5)
    np.testing.assert_allclose(grad(loss)(v), 4 * v * np.sum(v**2))
