"""What the sides of a branch leave in lists and dicts: one binds the name anew, the other stores into what it held."""

import pytest

from wengert import UnsupportedError, jit


class Holder:
    pass


def bound_or_stored(x):
    r = [0]
    if x > 0:
        r = [5]
    else:
        r[0] = 7
    return r


def stored_or_bound(x):
    r = [x, 1.0]
    if x > 0:
        r[0] = x * 3
    else:
        r = [x * 2, 2.0]
    return r


def returned_or_stored(x):
    r = [0]
    if x > 0:
        return [5]
    else:
        r[0] = 7
    return r


def of_dicts(x):
    d = {"a": 0, "b": [1]}
    if x > 0:
        d = {"a": 1, "b": [x]}
    else:
        d["a"] += 2
        d["b"][0] = 9
    return d


def inner_ones(x):
    g = [[0], [1]]
    if x > 0:
        g[0] = [5]
    else:
        g[0][0] = 7
    return g


def of_objects(x):
    o = Holder()
    o.l = [0.0]
    if x > 0:
        o.l = [5.0]
    else:
        o.l[0] = x
    return o.l


def seen_elsewhere(x):
    r = [0]
    q = r
    if x > 0:
        r = [5]
    else:
        r[0] = 7
    return r, q


def swapped(x):
    r, n = [1.0, 2.0], 0
    if x > 0:
        r = r[::-1]
    else:
        r[0], r[1] = r[1] * x, r[0]
        n = len(r)
    return r, n


def in_a_loop(x):
    r, total = [0.0], 0.0
    for k in range(30):
        if k * x > 10:
            r = [k * 1.0]
        else:
            r[0] = r[0] + 1
        total += r[0]
    return total, r


@pytest.mark.parametrize(
    "f",
    [bound_or_stored, stored_or_bound, returned_or_stored, of_dicts, inner_ones, of_objects, seen_elsewhere, swapped, in_a_loop],
)
def test_as_plain_python(f):
    for given in ((-1.0, 1.0, -2.0), (1.0, -1.0, 3.0)):
        compiled = jit(f, whole=f is not in_a_loop)
        for x in given:
            assert repr(compiled(x)) == repr(f(x))


def of_a_class_body(x):
    class A:
        y = [x * 2]

    return A.y


def test_lists_in_class_bodies_do_not_leave_with_traced_values():
    with pytest.raises(UnsupportedError, match="in the body of a class"):
        jit(of_a_class_body)(1.5)


def around_itself(x):
    d = {}
    for k, v in enumerate(x):
        r = [v, 0]
        r[1] = d.get(0, r)
        d[k] = r
    return list(d)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_lists_that_hold_themselves():
    assert jit(around_itself, whole=False)([1.0, 2.0, 3.0]) == [0, 1, 2]
