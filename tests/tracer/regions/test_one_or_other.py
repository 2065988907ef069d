"""Variables that are one thing or another, as data decided: whatever asks them gets Python's answer, or an error."""

import operator

import numpy as np
import pytest
from compare import agree, check_same

from wengert import grad, jit
from wengert.tracer.common.errors import WengertError

ASKED = [
    repr, ascii, str, callable, dir, vars, len, bool, hash, list, tuple, sum, max, min, sorted, operator.length_hint, operator.truth,
    np.isscalar, np.iterable, np.ndim, np.shape, np.size, np.asarray, np.atleast_1d, np.copy, np.result_type, np.can_cast, np.iscomplexobj,
    lambda w: f"{w!r}", lambda w: f"{w}", lambda w: f"{w!r}", lambda w: isinstance(w, np.ndarray), lambda w: type(w) is np.ndarray,
    lambda w: w is None, lambda w: hasattr(w, "shape"), lambda w: getattr(w, "ndim", 7), lambda w: {"k": w}["k"] is None,
]  # fmt: skip
OTHERS = {"window": lambda c, i: c[i : i + 3], "text": lambda c, i: "text", "number": lambda c, i: 3, "none": lambda c, i: None}


def asking(f, other):
    def program(c, t, i):
        w = c[:-1]
        if t > 1.5:
            w = other(c, i)
        return f(w)

    return program


def outcome(f, *args):
    try:
        return repr(f(*args))
    except WengertError:
        return None
    except Exception as error:
        return type(error)


@pytest.mark.as_numpy
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("f", ASKED, ids=lambda f: getattr(f, "__name__", "expression"))
def test_the_answer_is_pythons_or_none(f, other):
    if f is vars and other == "window":
        pytest.skip("vars of an array raises, whichever it is")
    program = asking(f, OTHERS[other])
    compiled = jit(program)
    for t in (1.0, 2.0, 1.0):
        want = outcome(program, np.arange(4.0) + 1, t, np.int64(0))
        got = outcome(compiled, np.arange(4.0) + 1, t, np.int64(0))
        assert got is None or got == want


@pytest.mark.parametrize("ask", [np.shares_memory, np.may_share_memory])
def test_sharing(ask):
    def f(c, t, i):
        w = c[:-1]
        if t > 1.5:
            w = c[i : i + 3]
        return 1 if ask(c, w) else 2

    compiled = jit(f)
    assert compiled(np.arange(4.0), 1.0, np.int64(0)) == 1
    with pytest.raises(WengertError, match="length is known only"):
        compiled(np.arange(4.0), 2.0, np.int64(0))


def test_extremes_of_what_is_no_traced_value():
    """Text is gone through letter by letter, and an array of the function's own number by number."""
    table = np.array([3, 1, 2])
    f = jit(lambda x: (max("text"), min("text"), max(["b", "a"]), max(table.tolist()), max(np.array([3, 1])), x))
    assert f(1.0)[:5] == ("x", "e", "b", 3, 3)


class Asked:
    """Objects whose `==` is not to be asked by anyone but the program."""

    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        raise AssertionError("asked for ==")


def other_object(x):
    before = Asked(x - 1)
    if x.sum() > 4:
        return Asked(x * 2), before
    return Asked(x), before


def same_kind(x):
    if x.sum() > 0:
        found = Asked(x * 2)
    else:
        found = Asked(x)
    return found.held + 1


@pytest.mark.parametrize("f", [same_kind, lambda x: [other.held for other in other_object(x)]])
def test_objects_that_a_choice_gives_are_not_asked_whether_they_are_equal(f):
    for x in np.ones(3), -np.ones(3), np.full(3, 7.0):
        check_same(f, x)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_what_a_container_is_does_not_depend_on_the_kinds_of_numbers_in_it(engine):
    def clipped(a, b):
        return a * 2, min(max(a + b, -1.0), 1.0)  # a float of Python's or of NumPy's

    def loss(a, b):
        result, total = clipped(a, b), 0.0
        for x in result if isinstance(result, tuple) else (result,):
            if isinstance(x, float):
                total = total + x * 3
        return total if bool(result) else 0.0

    for a in (0.3, 0.9, -3.0):
        args = np.float64(a), 0.4
        agree(jit(loss, engine=engine)(*args), loss(*args))
        want = 6.0 + 3.0 * (-1 < a + 0.4 < 1)
        assert float(jit(grad(loss), engine=engine)(*args)) == pytest.approx(want)


def counted(x, a):
    q, t = a, [2.0, x[3]]
    for _ in range(int(x[4])):
        q = [q[1], q[0] * 0.5]
    return t == q, q


def test_a_number_that_was_chosen_before_is_no_truth():
    """A trace that has to choose how often a loop runs numbers its choices otherwise than the one before it."""
    compiled = jit(counted, whole=True)
    for trips in (0.0, 1.0, 2.0, 0.0, 3.0):
        x = np.array([0.4, -0.7, 0.8, -0.1, trips])
        assert compiled(x, [0.25, 0.0]) == counted(x, [0.25, 0.0])
