"""A sample of every family of drawn programs, what their comparisons see, and what their draws have found."""

import importlib.util

import numpy as np
import pytest
import random_growing
import random_histories
import random_lists
import random_strangers
import random_types
from compare import agree, check_same
from draws import ENGINES, Left, apart, on, reason
from families import FAMILIES
from places import ROOT

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError

SEEDS = {  # family -> the first seed, how many
    "calls": (0, 40), "batches": (1, 1), "types": (108, 20), "strangers": (0, 20), "histories": (30, 12), "gradients": (2, 3), "extents": (900, 8),
    "lists": (0, 30), "growing": (0, 6), "draws": (0, 10), "subclasses": (0, 40), "zeros": (0, 60),
    "holders": (0, 25), "made": (0, 60), "rotations": (20, 12), "variants": (0, 40), "attributes": (0, 120), "tools": (0, 40),
}  # fmt: skip


@pytest.mark.parametrize("family", SEEDS)
def test_a_sample(family):
    first, count = SEEDS[family]
    with on("numpy"):
        found = {seed: FAMILIES[family](seed, "numpy") for seed in range(first, first + count)}
    assert not [f"{seed}: {f.why}\n{f.text}" for seed, f in found.items() if f.verdict == "different"]
    assert sum(f.verdict == "agree" for f in found.values()) >= count // 3
    assert all(f.calls >= 1 for f in found.values())


def wrong(by):
    """`jit` whose functions answer otherwise."""

    def made(f):
        compiled = jit(f)
        return lambda *args: by(compiled(*args))

    return made


def moved(result):
    return tuple(x + 1 if isinstance(x, np.ndarray | np.generic | float) else x for x in result)


def copied(result):
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in result)


SEEN = [(random_types, range(100, 108)), (random_strangers, range(8)), (random_histories, range(30, 36)), (random_lists, range(8))]
SEEN += [(random_growing, range(3))]


@pytest.mark.parametrize("by", [moved, copied])
@pytest.mark.parametrize("module, seeds", SEEN)
def test_a_wrong_program_is_seen(module, seeds, by, monkeypatch):
    monkeypatch.setattr(module, "jit", wrong(by))
    with on("numpy"):
        assert "different" in {module.run(seed).verdict for seed in seeds}


def test_what_a_call_leaves():
    a, b = np.ones(3), np.zeros(3)
    left = lambda result, *args, error=None: Left(result, args, error)
    assert apart(left((a,), a), left((a,), a), (a,)) == ""
    assert apart(left((a.copy(),), a), left((a,), a), (a,)).startswith("memory")
    assert apart(left((a[1:],), a), left((a[1:].copy(),), a), (a,)).startswith("memory")
    assert apart(left((a,), a), left((a.astype("f4"),), a), (a,)).startswith("differs")
    assert apart(left((2.0,), a), left((2,), a), (a,)).startswith("differs")
    assert apart(left((np.float64(2),), a), left((np.int8(2),), a), (a,)).startswith("differs")
    assert apart(left(None, b, error=ValueError()), left(None, a, error=ValueError()), (a,)).startswith("half-written")
    assert apart(left(None, a, error=ValueError()), left((a,), a), (a,)).startswith("raises ValueError")
    assert apart(left((a,), a), left(None, a, error=ValueError()), (a,)).startswith("gives")
    assert apart(left(None, a, error=UnsupportedError("no\n  at x:1")), left((a,), a), (a,)) == "refused: no"
    assert reason(UnsupportedError("x is f64[3] at <types 12>:7 and 'b' 12\nmore")) == "x is _ at _ and '_' N"


def test_the_table_of_trust():
    """The script that runs all families: whose turn it is, one program, and what is printed."""
    spec = importlib.util.spec_from_file_location("trust", ROOT / "benchmarks" / "trust.py")
    trust = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trust)
    assert sum(trust.SHARES.values()) == 100 and {*trust.SHARES} == {*ENGINES} and {*trust.TIME} <= {*FAMILIES}
    tally = trust.Tally(["calls", "types"], 7)
    jobs = [tally.job() for _ in range(300)]
    assert {engine for _, _, engine, _ in jobs} == {*ENGINES} and {exact for *_, exact in jobs} == {True, False}
    assert [seed for _, seed, _, _ in jobs] == list(range(7, 307)) and {family for family, *_ in jobs} == {"calls", "types"}
    tally.take(("calls", 7, "numpy", False), *trust.answer(("calls", 7, "numpy", False), 0))
    tally.take(("types", 8, "xla", True), "refused", "why it is", "", 3, 0, 0.5)
    tally.take(("types", 9, "xla", True), "different", "what differs", "def f():", 2, 0, 0.5)
    text = "\n".join(tally.report())
    assert "types       2      5      0      0        1          0     0          1" in text and "  1  types: why it is" in text
    assert "different: --family 'types' --seed 9 --engine xla --exact\nwhat differs\ndef f():" in text


# -- what the draws have found ----------------------------------------------------------------------


def test_sorted_numbers_of_NumPy_have_no_kind_of_Pythons():
    """np.dtype("f8") == float, so they were taken for Python's floats."""

    def f(x, top):
        for i in range(len(x)):
            x[i] = min(x[i], sorted(x)[0]) if x[i] > top else 0.5
        return x, isinstance(sorted(x)[1], float), sorted(x)[1] * np.float32(2)

    check_same(f, np.array([3.0, 1.0, 2.0]), 1.5)
    check_same(f, np.array([3.0, 1.0, 2.0], np.float32), 1.5)
    check_same(lambda x: isinstance(sorted(x)[0], int), np.array([3, 1]))


@pytest.mark.parametrize("number", [float, int, complex])
def test_numbers_of_traced_text(number):
    f = lambda t: number(f"{t:.0f}") + t
    for t in (3.0, 2.6, -1.0, 3.0):
        agree(jit(f)(t), f(t))
    with pytest.raises(UnsupportedError, match="the text of a traced value"):
        jit(lambda a: number(f"{a}"))(np.ones(1))


def test_powers_that_Python_makes_complex_are_refused():
    """Python raises nothing there, so what is raised is ours."""
    f = jit(lambda t: t**0.5)
    assert f(4.0) == 2.0
    with pytest.raises(UnsupportedError, match="complex in Python"):
        f(-4.0)


def test_booleans_of_NumPy_are_not_rounded():
    check_same(lambda x: round(x[0]), np.array([True, False]))
    check_same(lambda x: round(x[0], 1), np.array([True, False]))
    check_same(lambda x: round(x[0] > 1), np.arange(3.0))
    check_same(lambda x: round(bool(x[0])), np.arange(3.0))
    check_same(lambda x: round(x[0] * 1j), np.arange(3.0))
    check_same(lambda x: round(x), 2j)


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_complex_scalars_of_NumPy_are_their_real_part_to_int_and_float():
    for x in (np.complex64(3.5 - 2j), np.complex128(-2.5), 1j, np.array(2j)):
        for number in (int, float):
            check_same(lambda x, number=number: (number(x), number(x) * np.float32(2)), x)
            check_same(lambda x, number=number: number(x[0]), np.array([x], complex))


@pytest.mark.as_numpy
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
def test_an_element_takes_no_array_with_axes(dtype):
    """NumPy 2.4 raises where there is one number in it, too, but among booleans."""

    def store(index):
        def f(x, y):
            x[index(x)] = y
            return x

        return f

    def flat(x, y):
        x.flat[1] = y
        return x

    x, y = np.zeros(3, dtype), np.ones(1, dtype)
    for index in (lambda x: 1, lambda x: x.argmin(), lambda x: np.array(1), lambda x: (1, ...), lambda x: slice(1, 2), lambda x: [1]):
        for value in (y, y.reshape(1, 1), y[0], y.reshape(())):
            check_same(store(index), x, value)
    for f in (flat, store(lambda x: (0, 0)), lambda x, y: x.__setitem__(1, [5.0]), lambda x, y: x.__setitem__(1, [y[0]])):
        check_same(f, x.reshape(3, 1) if f is not flat else x, y)


@pytest.mark.filterwarnings("ignore:.*was not taken to be")
def test_arguments_that_are_one_array():
    table, x, y = np.ones(2), np.ones(2), np.arange(2.0)
    f, g = jit(lambda a, b: a * (2 if a is b else 3)), jit(lambda a: a is table)
    for a, b in ((x, y), (x, x), (y, x), (y, y)):
        assert np.array_equal(f(a, b), a * (2 if a is b else 3))
    assert [g(a) for a in (x, table, x, table)] == [False, True, False, True]
    h = jit(lambda p: p[0] is not p[1])
    assert [h([x, x]), h([x, y]), h([x, x])] == [False, True, False]
