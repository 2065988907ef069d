"""Who shares memory with whom, where data decides it: NumPy's answer whichever way the data goes, from one compiled function."""

import copy

import numpy as np
import pytest
from collected import collect
from compare import agree, check_same

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError

V = np.arange(6.0) - 1


def source_written_then_dropped(v, t):
    y = v.copy()
    z = y if t > 0 else v * 2
    y[0] = 5
    y = None
    return z


def chosen_written(v, t):
    y, w = v * 2, v * 3
    z = y if t > 0 else w
    z[1:3] = t
    z *= 2
    return y, w, z


def chosen_twice(v, t):
    y, w, u = v * 2, v * 3, v * 5
    z = y if t > 0 else w
    z = u if t > 1 else z
    w[2] = 7
    z[0] += 1
    u[1] = 4
    return y, w, u, z


def two_names_of_what_was_made(v, t):
    if t > 0:
        x = v * 2
        y = x
    else:
        x, y = v, v * 3
    x[0] = 9
    return x, y


def views_of_what_was_made(v, t):
    if t > 0:
        x = v * 2
        y = x[::-1]
    else:
        x = v * 3
        y = x[:]
    y[0] = 9
    return x, y


def swapped_perhaps(v, t):
    w = v * 2
    z = w
    if t > 0:
        v, w = w, v
    v[0] = 9
    return v, w, z


def swapped_in_a_loop_perhaps(v, t):
    w = v * 2
    z = w
    for i in range(3):
        if t * i < 1:
            v, w = w, v
        v[0] += 1
    z[1] = 9
    return v, w, z


def rebound_in_a_loop_perhaps(v, t):
    x = v
    for i in range(8):
        if v[i % 6] > t:
            x = v * i
    x[0] = 7
    return x


def row_kept(v, t):
    a = np.outer(v, v)
    x = a[0]
    for i in range(6):
        if v[i] > t:
            x = a[2]
    x[0] = 7
    return a


def first_trip_sees_the_store(v, t):
    x, s = v, 0.0
    for _ in range(3):
        v[0] += 1
        s += x[0]
        x = x * 2
    return s


def no_trip(v, t):
    x = v
    while t > 0:
        x, t = x * 0.5, t - 1
    x[0] = 3
    return x


def plain_array_chosen(v, t):
    table = np.arange(6.0)
    x = table if t > 0 else v * 2
    x[0] = 5
    return table + v


def list_under_two_names(v, t):
    if t > 0:
        kept = [v]
        also = kept
    else:
        kept = [v * 2]
        also = kept
    kept.append(v * 3)
    return len(also), also[-1]


def list_under_two_names_till_then(v, t):
    kept = [v]
    also = kept
    if t > 0:
        kept = [v * 2]
    kept.append(v * 3)
    return len(also), also[-1]


class Holder:
    def take(self, v, t):
        if t > 0:
            self.h = v * 2
        else:
            self.h = v
        return self.h


def returned_and_kept(v, t):
    o = Holder()
    r = o.take(v, t)
    r[0] = 9
    return o.h


def left_early(v, t):
    s = v[0] * 0
    names = [v, v * 2, v * 3]
    for x in names:
        if x[2] > t:
            break
        s += x.sum()
    else:
        s = -s
    return s


CASES = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and not isinstance(f, type)]


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_sharing(case):
    compiled = jit(case)
    for t in (1.5, 0.5, -0.5):
        plain, mine = (V.copy(), t), (V.copy(), t)
        agree(compiled(*mine), case(*plain))
        agree(mine, plain)


def test_an_exception_on_data_comes_to_its_handler():
    def f(v, t):
        q = 0.0
        try:
            v[0] = 9
            assert t > 0
            q = 1.0
        except AssertionError:
            q += 2.0
        return q

    compiled = jit(f)
    for t in (0.5, -0.5, 0.5):
        mine, plain = V.copy(), V.copy()
        assert compiled(mine, t) == f(plain, t)
        agree(mine, plain)


def test_an_exception_on_data_in_a_loop_does_not_reach_its_handler():
    def f(v, t):
        q = 0.0
        for i in range(6):
            try:
                assert v[i] > t
                q += 1.0
            except AssertionError:
                q += 2.0
        return q

    compiled = jit(f)
    assert compiled(V.copy(), -2.0) == f(V, -2.0)
    with pytest.raises(UnsupportedError, match="Python would go on in the `except` around it"):
        compiled(V.copy(), 0.5)


def test_a_handler_of_the_user_catches_no_refusal_of_ours():
    def f(v, t):
        try:
            return len(np.nonzero(v > t)[0]) + len("ab"[t > 0])
        except Exception:
            return 0

    with pytest.raises(Exception, match="number|captured|traced"):
        jit(f)(V.copy(), 0.5)


def test_aliases_of_arguments_survive():
    def f(v, w, t):
        x = v if t > 0 else w
        x += 1
        return x.sum()

    compiled = jit(f)
    for t in (1.0, -1.0):
        mine, plain = (V.copy(), V * 2, t), (V.copy(), V * 2, t)
        assert compiled(*mine) == f(*plain)
        agree(mine, plain)
    check_same(f, *copy.deepcopy(mine))


def test_a_choice_before_a_loop_that_may_end_on_it():
    def f(v, w, t):
        x = w if t > 0 else v
        for i in range(6):
            if v[i] > t:
                x = x * 1.5
        x[0] = 7
        return x

    compiled = jit(f)
    for t in (9.0, 1.5, 0.5, -0.5, -2.0):
        plain, mine = (V.copy(), V * 2, t), (V.copy(), V * 2, t)
        agree(compiled(*mine), f(*plain))
        agree(mine, plain)


def test_data_inside_a_known_choice_leaves_a_try_only_where_it_says_so():
    def f(v, t):
        p = 1.0
        try:
            if len(v) > 3:
                if t > 0:
                    return p
            p = 2.0
        finally:
            v[0] = 9
        return p * 2

    compiled = jit(f)
    for t in (0.5, -0.5):
        try:
            got = compiled(V.copy(), t)
        except UnsupportedError:
            continue
        assert got == f(V.copy(), t)


def test_what_may_be_one_of_very_many_is_never_taken_for_its_own():
    def chosen(arrays, t):
        y = arrays[0]
        for k in range(1, 7):
            if t[k] > 0:
                y = arrays[k]
        if t[0] > 0:
            y = y * 2.0
        collect()  # references are counted
        y[0] = 5.0
        return y.sum()

    arrays = [np.arange(3.0) + k for k in range(7)]
    t = np.array([-1.0, 1, -1, -1, -1, -1, 1])
    compiled = jit(lambda a, b, c, d, e, f, g, t: chosen((a, b, c, d, e, f, g), t))
    with pytest.raises(UnsupportedError, match="is written in place"):
        compiled(*arrays, t)
    assert arrays[6][0] == 6.0


def test_memory_that_a_loop_shared_stays_shared_where_a_branch_ends():
    def f(a, v, w, t):
        x, y = v * 1.0, w
        if t > 0:
            for i in range(3):
                y = a[i].sum() + v
                if y[i] < 0.2:
                    x = y[...]
        y -= 0.5
        return x

    a = np.array([[1.0, 2.0], [3.0, 4.0], [-9.0, -9.0]])
    compiled = jit(f)
    for rows in (a, a[::-1].copy(), a + 20):
        for t in (1.0, -1.0):
            want = f(rows, V[:3].copy(), V[3:].copy(), t)
            try:
                agree(compiled(rows, V[:3].copy(), V[3:].copy(), t), want, 1e-12)
            except UnsupportedError:
                pass
