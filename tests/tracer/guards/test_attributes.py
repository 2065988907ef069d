"""Attributes that calls store into, delete, and look at by `__dict__`: what was there before is told from what is stored."""

import sys

import numpy as np
import pytest

from wengert import jit


class Record:
    kind = "class"

    def __init__(self, **held):
        vars(self).update(held)


def stored_then_updated(r, k):
    r.a = 1.5
    r.__dict__.update({"b": 2})


def stored_and_deleted(r, k):
    r.a = k * 2
    del r.__dict__["a"]
    return hasattr(r, "a")


def deleted(r, k):
    del r.a
    return list(vars(r))


def deleted_and_stored(r, k):
    del r.a
    r.b = k
    r.a = k * 2
    return list(vars(r))


def replaced(r, k):
    r.a = k
    r.__dict__ = {"c": k}
    return hasattr(r, "a")


def of_the_class(r, k):
    r.kind = k
    del r.kind
    return r.kind, "kind" in vars(r)


def looked_at(r, k):
    r.made = [k, 1.0]
    return list(vars(r)), len(r.__dict__), dict(vars(r))


def missing(r, k):
    r.a = k
    del vars(r)["never"]


def called(f, r, k):
    try:
        return f(r, k), vars(r), list(vars(r))
    except Exception as error:
        return type(error)


HELD = ({}, {"a": 7}, {"z": 1.0, "a": None}, {"a": np.ones(2), "b": "text", "z": 2.0}, {})


@pytest.mark.parametrize("f", [
    stored_then_updated, stored_and_deleted, deleted, deleted_and_stored, replaced, of_the_class, looked_at, missing,
])  # fmt: skip
def test_attributes_are_as_python_leaves_them(f):
    compiled = jit(f, whole=True)
    for k, held in enumerate(HELD):
        mine, theirs = Record(**held), Record(**held)
        assert str(called(compiled, mine, k + 0.5)) == str(called(f, theirs, k + 0.5)), held


def test_the_order_of_attributes_outlives_a_trace_that_fails(falling_back):
    def f(r, k):
        del r.a
        exec("k")  # which no trace captures
        r.b = k

    r = Record(a=1.0, c=2.0)
    jit(f)(r, 0.5)
    assert list(vars(r)) == ["c", "b"]


def by_its_frame(r, k):
    r.a = r.a + k
    return sys._getframe().f_code.co_name


def by_exec(r, k):
    r.a = r.a + k
    exec("k")


@pytest.mark.parametrize("f", [by_its_frame, by_exec])
@pytest.mark.parametrize("a", [1.0, 1])
def test_what_no_trace_captures_has_stored_once(f, a, falling_back):
    compiled, mine, theirs = jit(f), Record(a=a), Record(a=a)
    for _ in range(3):
        assert compiled(mine, 0.5) == f(theirs, 0.5) and vars(mine) == vars(theirs)


def test_without_a_source_deletions_are_pythons(falling_back):
    space = {}
    exec("def f(r, k):\n    del r.a\n    return list(vars(r))", space)
    compiled = jit(space["f"])
    for a in (1.0, np.ones(2), None):
        r = Record(a=a, c=2.0)
        assert compiled(r, 0.5) == list(vars(r)) == ["c"]


def popped(r, k):
    return vars(r).pop("a", None), sorted(locals())


def put_into_an_array(r, k):
    r.a[0] += 1.0
    return sys._getframe().f_code.co_name


def test_a_change_that_a_second_run_does_not_make_again_is_none_that_is_filled_in(falling_back):
    compiled = jit(popped)
    for a in (1.0, np.ones(2), None, "text"):
        assert str(compiled(Record(a=a), 0.5)) == str(popped(Record(a=a), 0.5))


def test_elements_that_no_trace_stores_are_stored_once(falling_back):
    compiled, r = jit(put_into_an_array), Record(a=np.zeros(2))
    for k in range(3):
        compiled(r, 0.5)
        assert r.a.tolist() == [k + 1.0, 0.0]


def read_again(r, v):
    before = r.__dict__["a"]
    r.a = v[0]
    return before, r.__dict__["a"]


def counted(r, v):
    for w in v:
        r.a = r.__dict__.get("a", 0) + w
    return r.a


def copied_by_items(r, v):
    for w in v:
        r.q = w
        for _, held in list(r.__dict__.items()):
            r.last = held


@pytest.mark.parametrize("f", [read_again, counted, copied_by_items])
def test_the_dict_of_attributes_is_looked_at_again(f, falling_back):
    compiled = jit(f)
    for a in (3, 2.5, 3):
        mine, theirs = Record(a=a), Record(a=a)
        assert str(compiled(mine, np.array([1.0, 2.0]))) == str(f(theirs, np.array([1.0, 2.0])))
        assert str(vars(mine)) == str(vars(theirs))


KEPT = None


def test_variables_outside_are_deleted_by_python(falling_back):
    global KEPT
    kept = 1.0

    def of_the_module(v):
        global KEPT
        del KEPT

    def around(v):
        nonlocal kept
        del kept

    for f in (jit(of_the_module), jit(around)):
        f(np.ones(2))
        with pytest.raises(NameError):
            f(np.ones(2))
    KEPT = kept = 1.0
