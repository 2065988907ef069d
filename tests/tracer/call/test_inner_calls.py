"""Compiled functions called in compiled ones: what they do is done at every call, traced arguments or none."""

import numpy as np
import pytest

from wengert import jit

made = {"count": 0}


@jit
def tick():
    made["count"] += 1


@jit
def say(k):
    print("say", k)


class Account:
    def __init__(self):
        self.balance = 0.0

    @jit
    def withdraw(self, x):
        self.balance -= x

    @jit
    def transfer(self, other, x):
        self.withdraw(x)
        other.balance += x


def test_stores_are_made_at_every_call():
    @jit
    def run(n):
        for _ in range(n):
            tick()
        return made["count"]

    tick()
    made["count"] = 0
    assert [run(3), run(3), run(2), run(3)] == [3, 6, 8, 11]


def test_prints_are_made_at_every_call(capsys):
    @jit
    def twice():
        say(1)
        say(2)

    for _ in range(3):
        twice()
        assert capsys.readouterr().out == "say 1\nsay 2\n"


def test_draws_are_made_at_every_call():
    rng, other = np.random.default_rng(0), np.random.default_rng(0)

    @jit
    def draw():
        return rng.normal()

    @jit
    def drawn(n):
        total = 0.0
        for _ in range(n):
            total += draw()
        return total

    draw(), other.normal()
    for _ in range(3):
        assert drawn(3) == sum(other.normal() for _ in range(3))


def test_methods_that_store():
    a, b = Account(), Account()
    for k in range(1, 4):
        a.transfer(b, 2.0)
        assert (a.balance, b.balance) == (-2.0 * k, 2.0 * k)


def test_recursion_prints_in_order(capsys):
    def dump(f, node, depth):
        print(" " * depth + node[0])
        for child in node[1]:
            f(f, child, depth + 1)

    tree = ("a", [("b", []), ("c", [("d", [])])])
    dump(dump, tree, 0)
    expected = capsys.readouterr().out
    compiled = jit(dump)
    for _ in range(2):
        compiled(compiled, tree, 0)
        assert capsys.readouterr().out == expected


def test_probabilities_may_be_data():
    def chosen(p):
        rng = np.random.default_rng(3)
        return rng.choice(3, p=p), rng.choice(3, 2, True, p), rng.multinomial(5, p)

    for p in (np.array([0.1, 0.2, 0.7]), np.array([0.5, 0.25, 0.25])):
        assert all(map(np.array_equal, jit(chosen)(p), chosen(p)))
    with pytest.raises(ValueError, match="do not sum to 1"):
        jit(chosen)(np.array([0.5, 0.5, 0.5]))


@pytest.mark.parametrize("first", [True, False])
def test_results_without_traced_arguments(first):
    @jit
    def grid(n):
        return np.arange(n)

    @jit
    def shifted(x):
        return x + grid(4)

    if first:
        grid(4)
    assert np.array_equal(shifted(np.ones(4)), np.arange(4) + 1.0)
