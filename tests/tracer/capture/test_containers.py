"""Lists and dicts that are met at two places, and what must not leave a trace."""

import collections
import copy
import io
import operator
import threading
import types
import warnings

import numpy as np
import pytest

from wengert import UnsupportedError, jit
from wengert.tracer.common.errors import Fallback

pytestmark = pytest.mark.as_numpy


class Holder:
    pass


def stored(m):
    m[0][0] = m[0][0] + 1.0
    return m[1][0]


def appended(a, b, x):
    a.append(x)
    return len(b)


def keyed(d, *, e):
    d["k"] = d["k"] * 2.0
    return e["k"]


def same(a, b):
    return a is b


def pair(a, b, c):
    a[0][0] = 5.0
    return [b[0], c, a], a[0] is c["in"]


def shared_rows():
    row = [1.0]
    return pair, ([row], [row, row], {"in": row}), {}


def one(f, make, *more, **named):
    def program():
        x = make()
        return f, (x, x, *more), {}

    return program


def by_name():
    d = {"k": 3.0}
    return keyed, (d,), {"e": d}


PROGRAMS = {
    "rows": lambda: (stored, ([[0.0] * 2] * 2,), {}),
    "rows apart": lambda: (stored, ([[0.0] * 2, [0.0] * 2],), {}),
    "appended": one(appended, lambda: [1.0], 2.0),
    "by name": by_name,
    "by name apart": lambda: (keyed, ({"k": 3.0},), {"e": {"k": 4.0}}),
    "is": one(same, list),
    "is of dicts": one(same, lambda: {"a": 1.0}),
    "is not": lambda: (same, ([], []), {}),
    "shared rows": shared_rows,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_container_at_two_places_is_one(name):
    compiled = jit(PROGRAMS[name]()[0])
    for _ in range(3):
        (f, args, kwargs), (_, plain, named) = PROGRAMS[name](), PROGRAMS[name]()
        with warnings.catch_warnings():
            warnings.simplefilter("error", Fallback)
            assert compiled(*args, **kwargs) == f(*plain, **named)
        assert (args, kwargs) == (plain, named)


def test_calls_that_share_otherwise_do_not_use_the_program():
    f, a = jit(same), [1.0]
    assert [f(a, a), f(a, [1.0]), f(a, a), f([1.0], [1.0]), f(a, a)] == [True, False, True, False, True]
    g = jit(stored)
    for _ in range(3):
        row = [1.0]
        assert (g([row, row]), g([[1.0], [1.0]])) == (2.0, 1.0)


LOG = [1.0]


def logged(a, x):
    LOG.append(x)
    return len(a)


def held(o, row, x):
    o.row.append(x)
    return len(row)


def test_a_container_outside_that_is_an_argument_too_runs_as_plain_python():
    f, g, o = jit(logged), jit(held), Holder()
    o.row = [1.0]
    for k in range(3):
        with pytest.warns(Fallback, match="LOG, a list from outside, is also among the arguments"):
            assert f(LOG, 2.0) == len(LOG)
        assert f([1.0] * len(LOG), 2.0) == len(LOG) - 1
        with pytest.warns(Fallback, match="also among the arguments"):
            assert g(o, o.row, 2.0) == len(o.row) == 2 + 2 * k
        n = len(o.row)
        assert g(o, [1.0] * n, 2.0) == n
    del LOG[1:]


def test_shared_containers_that_are_only_read_cost_no_fallback():
    f = jit(lambda layers, x: layers[0]["w"] * x + layers[1]["w"])
    layer = {"w": np.ones(2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        for _ in range(3):
            np.testing.assert_array_equal(f([layer, layer], 2.0), [3.0, 3.0])


# -- what leaves a trace ---------------------------------------------------------------------------


def stored_queue(o, x):
    o.queue = collections.deque([x, [x]], 5)


def test_deques_with_traced_items_are_made_anew():
    f = jit(lambda x: (lambda q: (q, {"in": q}))(collections.deque([x, np.ones(2) * x, {"a": x}], maxlen=3)))
    for x in (1.0, 2.0):
        q, d = f(x)
        assert type(q) is collections.deque and q.maxlen == 3 and d["in"] is q and q[0] == x and q[2] == {"a": x}
        np.testing.assert_array_equal(q[1], np.ones(2) * x)
    o, store = Holder(), jit(stored_queue)
    for x in (1.0, 2.0):
        store(o, x)
        assert o.queue == collections.deque([x, [x]])


@pytest.mark.parametrize("make", [set, collections.deque, collections.Counter, bytearray, lambda: collections.Counter("ab"), lambda: {1}])
def test_containers_without_traced_items_are_made_anew(make):
    f = jit(make)
    first, second = f(), f()
    assert first == second == make() and type(first) is type(make()) and first is not second


MADE = [lambda: iter([1, 2]), lambda: map(abs, [1]), lambda: zip([1], [2]), lambda: [enumerate([1])], io.StringIO, lambda: threading.Lock()]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.filterwarnings("ignore:Python iterable type")
def test_what_has_state_that_no_call_could_make_anew_is_refused(make):
    with pytest.raises(UnsupportedError, match="one and the same for all calls|is not known to give the same|acts on the world"):
        jit(lambda: make())()


ITERATOR = iter([1, 2])


@pytest.mark.filterwarnings("ignore:Python iterable type")
def test_an_iterator_from_outside_may_be_given_back():
    assert jit(lambda: ITERATOR)() is ITERATOR


class Rows(list):
    def add(self, x):
        self.append(x)


class Setting:
    def put(self, x):
        super().__setattr__("a", x)


ROWS, USERS, NAMED, CHAINED = Rows(), collections.UserList(), collections.UserDict(), collections.ChainMap({})
COUNTED, PLAIN = collections.Counter(), Setting()
CHANGES = [
    lambda x: ROWS.append(x),
    lambda x: ROWS.add(x),
    lambda x: list.append(ROWS, x),
    lambda x: ROWS.extend([x]),
    lambda x: NAMED.update(a=x),
    lambda x: CHAINED.update(a=x),
    lambda x: operator.setitem(CHAINED, "a", x),
    lambda x: COUNTED.update(a=x),
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_traced_stays_in_the_users_objects(change):
    f = jit(lambda x: change(x))
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="once, and not at every call"):
            f(1.0)
        assert not ROWS and not USERS and not NAMED and not CHAINED and not COUNTED


def test_lists_and_dicts_written_in_python_are_changed_at_every_call():
    def change(x):
        USERS.append(x)
        USERS.extend([x, x])
        NAMED["a"] = x
        return USERS.pop(0), NAMED["a"]

    f = jit(change)
    for k in (1.0, 2.0):
        users, named = copy.deepcopy((USERS, NAMED))
        expected = types.FunctionType(change.__code__, {"USERS": users, "NAMED": named})(k)
        assert f(k) == expected and users == USERS and named == NAMED
        assert all(type(x) is float for x in USERS)
    USERS.clear()
    NAMED.clear()


@pytest.mark.parametrize("change", [lambda x: object.__setattr__(PLAIN, "a", x), lambda x: PLAIN.put(x)])
def test_what_goes_past_a_setter_is_stored_at_every_call(change):
    f = jit(lambda x: change(x))
    for x in (1.0, 2.0):
        f(x)
        assert vars(PLAIN) == {"a": x}


def test_nothing_traced_stays_in_an_argument():
    rows = Rows()
    with pytest.raises(UnsupportedError, match="not at every call"):
        jit(lambda rows, x: rows.append(x))(rows, 1.0)
    assert not rows


def test_copies_of_one_array_are_one():
    def copied(x):
        b = copy.deepcopy([x[0], x[1]])
        b[0][0] = 5.0
        return b[1][0]

    f, a = jit(copied), np.ones(2)
    for _ in range(2):
        assert f([np.ones(2), np.ones(2)]) == 1.0
        with pytest.warns(Fallback):
            assert f([a, a]) == 5.0


def test_dicts_with_keys_of_several_kinds():
    f = jit(lambda d: d["a"] + d[5])
    with pytest.warns(Fallback, match="several kinds, which have no order: 'a', 5"):
        assert f({"a": 1.0, 5: 2.0}) == 3.0
    g = jit(lambda x: {"a": x, None: [x * 2], 5: {1: x}})
    assert [(d := g(x), list(d))[0] for x in (1.0, 2.0)] == [{"a": x, None: [x * 2], 5: {1: x}} for x in (1.0, 2.0)]
