"""Programs that begin with a nest: it asks its operands itself, and what it refuses is answered as well."""

import numpy as np
import pytest
from compare import agree
from subclasses import Plain

from wengert import jit
from wengert.ir import syntax
from wengert.tracer.program.numpy_function import unless_missed


def damped(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i]
    return s


def looked_up(x, at):
    """Refuses by a check, too."""
    y = np.empty(len(at))
    for i in range(len(at)):
        y[i] = x[at[i]] * 2
    return y, len(at)


def overwritten(x, s):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * s + x[i]
    return x[0]


GIVEN = {
    damped: [
        lambda: (np.arange(5.0),), lambda: (np.arange(10.0)[::2],), lambda: (np.arange(5.0)[::-1],), lambda: (np.arange(7.0),),
        lambda: (np.arange(5, dtype=np.float32),), lambda: (np.arange(5),), lambda: (np.arange(5.0).astype(">f8"),),
        lambda: (np.arange(5.0).view(Plain),), lambda: ([1.0, 2.0, 3.0],), lambda: (np.arange(6.0).reshape(2, 3)[1],), lambda: (np.ones(0),),
        lambda: (np.frombuffer(bytes(range(1, 42)), np.uint8)[1:].view(np.float64),),
    ],
    looked_up: [
        lambda: (np.arange(5.0), np.array([1, 4, 0])), lambda: (np.arange(5.0), np.array([1, 5, 0])), lambda: (np.arange(5.0), np.array([-1, -5, 0])),
        lambda: (np.arange(10.0)[::2], np.array([1, 4, 0])), lambda: (np.arange(5.0), np.array([1, 9, 4, 9, 0])[::2]),
        lambda: (np.arange(4.0), np.array([1, 3, 0])), lambda: (np.arange(5.0), np.array([1, 4], np.int8)),
        lambda: (np.arange(5.0), np.array([-6, 1])),
    ],
    overwritten: [
        lambda: (np.arange(5.0), 0.5), lambda: (np.arange(10.0)[::2], 0.5), lambda: (np.arange(5.0), np.float64(2)), lambda: (np.arange(5.0), 2),
        lambda: (np.arange(5.0), True), lambda: (np.arange(5.0), np.float32(0.5)), lambda: (np.arange(4.0), 0.5), lambda: (np.arange(5), 2),
    ],
}  # fmt: skip


def outcome(f, args):
    try:
        return f(*args)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("engine", ["numpy", None])
@pytest.mark.parametrize("f", GIVEN, ids=lambda f: f.__name__)
def test_what_a_nest_refuses_is_answered_as_well(f, engine, recwarn):
    g, rng = jit(f, engine=engine, whole=False), np.random.default_rng(0)
    for k in [0, 0, 0, *rng.integers(0, len(GIVEN[f]), 120)]:
        mine, plain = GIVEN[f][k](), GIVEN[f][k]()
        got, want = outcome(g, mine), outcome(f, plain)
        agree((got, mine) if type(got) is not type else mine, (want, plain) if type(want) is not type else plain)
        assert type(got) is type(want) and (type(want) is not type or got is want)


def test_lines_go_on_where_nothing_was_missed():
    text = "a = f(x)\nif a is None:\n    return MISS\nif a[1]:\n    return MISS\nif not (p and q):\n    return MISS\nreturn a"
    body = syntax.parse("def call():\n    " + text.replace("\n", "\n    ")).body[0].body
    lines = unless_missed(body, ["b = 1"])
    assert lines == ["a = f(x)", "if a is not None:", "    if not a[1]:", "        if p and q:", "            return a", "            b = 1"]
    assert unless_missed(syntax.parse("def call():\n    for i in x:\n        if i: return MISS\n    return x").body[0].body, []) is None
