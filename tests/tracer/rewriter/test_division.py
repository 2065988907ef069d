"""A divided function does what the function does, wherever it is divided."""

import ast
import random

import numpy as np
import pytest
from random_flow import Program, arguments, call, function

from wengert import jit
from wengert.tracer.rewriter import division
from wengert.tracer.rewriter.division import Division, divide
from wengert.tracer.rewriter.find import find


def parts(f, line):
    """What each piece takes, gives back and is made of, as text."""
    node = find(f.__code__, f.__globals__)[0]
    found = Division(node, f.__code__.co_firstlineno + line, f.__code__)
    found.block(node.body, set(found.parameters), inside=False)
    return [(" ".join(ins), " ".join(outs), "; ".join(ast.unparse(s).partition("\n")[0] for s in run)) for _, ins, outs, run in found.runs]


@pytest.mark.parametrize("wide", [False, True])
def test_random_programs_divided_anywhere(monkeypatch, wide):
    monkeypatch.setattr(division, "OPERATIONS", 1)
    count = 0
    for seed in range(60):
        f = function(Program(seed, wide).text, seed)
        lines = sorted({line for *_, line in f.__code__.co_lines() if line})[1:]
        for line in random.Random(seed).sample(lines, min(4, len(lines))):
            found = divide(f, line, lambda piece: piece.function)
            if found is not None:
                count += len(found[1])
                said = call(f, found[0], arguments(seed, wide))
                assert said == "agree" or said.startswith("half-written"), (seed, line, said)  # plain Python stores before it raises
    assert count > 150


def test_pieces_are_captured_as_functions_are():
    f = function(Program(3).text, 3)
    lines = sorted({line for *_, line in f.__code__.co_lines() if line})
    whole, pieces = divide(f, lines[len(lines) // 2], lambda piece: jit(piece.function))
    assert pieces and call(f, whole, arguments(3)) == "agree"


def before_and_behind(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    print(s)
    for i in range(n):
        x[i] = s
    return x


def inside(x, n):
    t = 0.0
    for k in range(n):
        for i in range(3):
            t += x[i] * k
        print(t)
        for i in range(3):
            x[i] += t
    return t


def unsure(x, n):
    if n:
        y = x * 2
    print(x)
    for i in range(3):
        y[i] = 0.0
    return y


def left(x, n):
    for i in range(n):
        if x[i] > 0:
            break
    print(x)
    while n:
        n -= 1
        if x[n] < 0:
            return n
    return i


def closed_over(x, n):
    k = 0.0
    for i in range(n):
        k += x[i]
    show = lambda: print(k, x)
    show()
    for i in range(n):
        k += x[i]
    return k + show()


def caught(x, n):
    try:
        for i in range(n):
            x[i] = 1 / x[i]
    except ZeroDivisionError:
        pass
    print(x)
    with np.errstate(all="ignore"):
        for i in range(n):
            x[i] = 0.5
    return x


@pytest.mark.parametrize(
    ("f", "line", "expected"),
    [
        (before_and_behind, 4, [("n x", "s", "s = 0.0; for i in range(n):"), ("n s x", "", "for i in range(n):")]),
        (inside, 5, [("k t x", "t", "for i in range(3):"), ("t x", "", "for i in range(3):")]),
        (unsure, 3, []),  # y may have no value
        (left, 4, []),  # i may have no value; the other returns
        (closed_over, 5, [("n x", "k", "k = 0.0; for i in range(n):"), ("k n x", "k", "for i in range(n):")]),
        (caught, 6, []),
    ],
)
def test_what_is_moved(f, line, expected):
    assert parts(f, line) == expected


def test_free_variables_defaults_and_documentation():
    scale, seen = 2.0, []

    def f(x, n=3, *, more=1.0):
        """What it is."""
        for i in range(n):
            x[i] = x[i] * scale + more
        seen.append(len(x))
        return x

    whole, pieces = divide(f, f.__code__.co_firstlineno + 4, lambda piece: piece.function)
    assert len(pieces) == 1 and pieces[0].lines == (f.__code__.co_firstlineno + 1, f.__code__.co_firstlineno + 3)
    np.testing.assert_array_equal(whole(np.ones(4), more=0.5), [2.5, 2.5, 2.5, 1.0])
    scale = 3.0
    np.testing.assert_array_equal(whole(np.ones(4)), [4.0, 4.0, 4.0, 1.0])
    assert seen == [4, 4] and whole.__doc__ == "What it is."


@pytest.mark.parametrize("text", ["lambda x: x", "def f(x):\n    yield x", "def f(x):\n    y = x * 2\n    return locals()"])
def test_what_is_not_divided(text):
    f = function(text if text.startswith("def") else f"f = {text}", text)
    assert divide(f, 1, lambda piece: piece.function) is None
