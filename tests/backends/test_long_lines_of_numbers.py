"""Thousands of equations on numbers: nests of machine code, or generated NumPy, where XLA would compile for minutes."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native.stages import LONGEST
from wengert.backends.xla import dispatch, numbers
from wengert.tracer.program import backend_choice


def summed(x):
    return sum(map(sum, x.tolist()))


def many_results(x):
    return {f"k{i}": x[i] * x[i - 1] + np.sin(x[i]) + i for i in range(len(x))}


def joined(x):
    return np.array(list(many_results(x).values()))


def counted(x):
    """A chain that asks of each step whether it has failed."""
    total, steps = 0, []
    for k, v in enumerate(x.tolist()):
        total = total * 3 % 1009 + v
        if k % 50 == 0:
            steps.append(total)
    return total, steps


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    """The engine is chosen as users have it."""
    monkeypatch.setattr(backend_choice, "CHOICE", None)


PROGRAMS = {
    "summed": (summed, (np.arange(480) % 7).reshape(240, 2)),
    "many_results": (many_results, np.linspace(0.0, 2.0, 300)),
    "joined": (joined, np.linspace(0.0, 2.0, 300)),
    "counted": (counted, np.arange(150) % 11),
}


def same(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], v) for k, v in expected.items())
    if isinstance(expected, list | tuple):
        return type(found) is type(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("engine", ["auto", "xla", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_long_lines_are_as_pythons(name, engine):
    f, x = PROGRAMS[name]
    g = jit(f) if engine == "auto" else jit(f, engine=engine)
    for y in (x, x[::-1].copy(), x):
        assert same(g(y), f(y))


def test_a_long_line_overflows_as_a_short_one_does():
    x = np.full((240, 2), 2**62)
    g = jit(summed)
    g(np.ones((240, 2), int))
    with pytest.raises(OverflowError):
        g(x)


@pytest.mark.skipif(native.direct.refusal() is not None, reason="no machine code here")
def test_xla_is_given_nests_for_them():
    f, x = PROGRAMS["summed"]
    func = jit(f).ir(x)
    assert len(func.eqns) > 2 * LONGEST
    made = numbers.numbers_in_nests(func)
    assert len(made.eqns) < LONGEST and sum(e.op.name == "loop" for e in made.eqns) >= 2
    short = jit(summed).ir(x[:3])
    assert numbers.numbers_in_nests(short) is short


@pytest.mark.skipif(native.direct.refusal() is not None, reason="no machine code here")
def test_what_nests_leave_is_in_few_arrays():
    made = numbers.numbers_in_nests(jit(many_results).ir(np.ones(300)))
    loops = [e for e in made.eqns if e.op.name == "loop"]
    assert loops and all(len(e.results) <= 8 for e in loops)


def test_xla_is_not_asked_to_compile_them(monkeypatch):
    asked = []
    monkeypatch.setattr(dispatch, "lower", lambda *args: asked.append(args))
    f, x = PROGRAMS["summed"]
    assert jit(f)(x) == f(x) and not asked


def test_without_machine_code_they_are_numpys(monkeypatch):
    f, x = PROGRAMS["summed"]
    g = jit(f, native=False)
    assert same(g(x), f(x)) and "as NumPy" in g.explain()


def test_acts_keep_their_order(capsys):
    def f(x):
        print("begun")
        total = sum(map(sum, x.tolist()))
        print("early", total)
        more = sum(map(max, x.tolist()))
        print("late", more)
        return total + more

    x = (np.arange(300) % 7).reshape(150, 2)
    expected, text = f(x), capsys.readouterr().out
    assert jit(f)(x) == expected
    assert capsys.readouterr().out == text


def test_derivatives_of_long_lines():
    def f(x):
        d = many_results(x)
        return sum(d.values())

    x = np.linspace(0.0, 2.0, 260)
    expected = np.roll(x, 1) + np.roll(x, -1) + np.cos(x)
    assert np.allclose(grad(f)(x), expected)
