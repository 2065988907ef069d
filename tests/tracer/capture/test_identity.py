"""Lists and dicts of objects: what is returned or stored is the caller's own where it is in Python, and one thing where it
is one thing."""

import numpy as np
import pytest

from wengert import jit


class Item:
    def __init__(self, w):
        self.w = w


class Box:
    pass


def itself(p, _):
    return p


def twice(p, _):
    return p, {"p": p}


def stored_into(p, _):
    for i in range(3):
        p[i].w /= 2.0
    return p


def swapped(p, _):
    p[0], p[1] = p[1], p[0]
    return p


def grown(p, _):
    p.append(p[0])
    return p[1], p


def turned(p, _):
    p.insert(0, p.pop())
    return [p, p[0]]


def made(p, _):
    p.append(Item(p[0].w + 1.0))
    return p


def nested(p, _):
    q = {"x": p}
    p.append(q["x"][0])
    return q


def decided(p, _):
    if p[0].w > 0:
        return p
    p[0].w = 1.0
    return p


def new_list(p, _):
    found = [p[0], p[1]]
    return found, {"x": found, "y": [found, {"z": found}]}


def new_dict(p, _):
    found = {"a": p[0]}
    p[0].w = p[1].w + 1.0
    return found, [found]


def into_an_object(p, s):
    found = [p[1]]
    s.a = found
    s.b = found
    s.c = {"x": found, "p": p}
    return found


def shown(x, names):
    """A structure in which each object met is a number, the first time it is met and again."""
    if isinstance(x, list | dict | Item | Box):
        if id(x) in names:
            return names[id(x)]
        names[id(x)] = f"#{len(names)}"
    if isinstance(x, list | tuple):
        return [names.get(id(x)), *(shown(v, names) for v in x)]
    if isinstance(x, dict):
        return names[id(x)], {k: shown(v, names) for k, v in x.items()}
    return (names[id(x)], shown(vars(x), names)) if isinstance(x, Item | Box) else x


@pytest.mark.parametrize(
    "f",
    [itself, twice, stored_into, swapped, grown, turned, made, nested, decided, new_list, new_dict, into_an_object],
)
def test_objects_in_lists_are_one_thing_where_python_has_one(f):
    compiled = jit(f)
    for t in (1.0, 2.0, -3.0, 4.0):
        out = []
        for g in (compiled, f):
            p, s = [Item(t + i) for i in range(3)], Box()
            names = {id(x): str(n) for n, x in enumerate((p, s, *p))}
            result = g(p, s)
            out.append([shown(result, names), [(names[id(x)], x.w) for x in p if id(x) in names], len(p), shown(vars(s), names)])
        assert out[0] == out[1]


def test_an_except_that_cannot_be_looked_up_raises_where_python_asks_for_it():
    def inverse(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.nothing.LinAlgError:
            return a

    compiled = jit(inverse)
    for a in (np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)):
        if a.any():
            np.testing.assert_array_equal(compiled(a), inverse(a))
        else:
            with pytest.raises(AttributeError, match="nothing"):
                compiled(a)


def simplex(x, steps):
    """Nelder and Mead without expansion: which array of a list is which, data decide again at each step."""
    f = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    found = [x] + [x + 0.1 * e for e in np.eye(len(x))]
    for _ in range(steps):
        found.sort(key=f)
        middle = np.mean(found[:-1], axis=0)
        r = 2 * middle - found[-1]
        if f(r) < f(found[-1]):
            found[-1] = r
        else:
            found[-1] = 0.5 * (middle + found[-1])
    return min(found, key=f)


def test_choices_of_choices_are_handed_over_once_each():
    """Each of thirty steps chooses among what the one before has chosen among: two to the thirtieth ways lead to it."""
    x = np.array([-1.0, 1.0])
    np.testing.assert_allclose(jit(simplex)(x, 30), simplex(x, 30), rtol=1e-12)
