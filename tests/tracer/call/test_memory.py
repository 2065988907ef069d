"""What a function keeps of its traces: a limited number of them, those used lately; all else is let go, and what is computed is right whatever
was kept."""

import gc
import importlib.util
import pathlib
import random
import re
import subprocess
import sys
import threading
import weakref

import jax
import numpy as np
import pytest
from collected import collect
from compare import agree

from wengert import grad, jit
from wengert.backends.native import build
from wengert.ir.bounded import Interned, Limited
from wengert.ir.core import Lit
from wengert.ir.types import Tensor
from wengert.tracer.program.numpy_function import NumPyCall
from wengert.tracer.program.specialisation import Specialisation
from wengert.tracer.program.specialisation_set import SpecialisationSet

NESTS = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


@pytest.fixture
def keeping(monkeypatch):
    """keeping(n): n traces of a function are kept from here on."""
    return lambda n: monkeypatch.setenv("WENGERT_KEEP", str(n))


def smooth(x, w):
    y = np.tanh(x * w) + x
    return (y - y.max()).sum()


def recursion(x, w):
    level = 0.0
    for value in x:
        level = w * level + (1.0 - w) * value
    return level


def array(n):
    return np.linspace(0.1, 1.0, n)


def versions(f):
    return [v for e in f.compiled.entries.values() for w in (*e.worlds, *e.old) for v in w.versions]


def alive(kind):
    collect()
    return sum(type(x) is kind for x in gc.get_objects())


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_what_was_made_for_shapes_of_long_ago_is_let_go(keeping, engine):
    keeping(4)
    f = jit(smooth, engine=engine)
    f(array(2), 0.5)
    (version,) = versions(f)
    here = f.compiled.entries[next(iter(f.compiled.entries))].worlds[0]
    gone = [weakref.ref(version), weakref.ref(here)]
    gone += [weakref.ref(p) for p in here.base.known.values()] if engine == "xla" else [weakref.ref(version.straight)]
    del version, here
    for n in range(3, 24):
        assert f(array(n), 0.5) == pytest.approx(smooth(array(n), 0.5))
    collect()
    assert [ref() for ref in gone] == [None] * len(gone) and len(versions(f)) <= 4


def test_how_much_is_kept_does_not_depend_on_how_many_shapes_came(keeping):
    keeping(8)
    f = jit(smooth, engine="numpy")
    found = []
    for first in (2, 60):
        for n in range(first, first + 40):
            f(array(n), 0.5)
        found.append((alive(Specialisation), alive(SpecialisationSet), alive(NumPyCall), len(f.compiled.front.space)))
    (*before, names), (*after, more) = found
    assert after == before and more <= names + 8


@pytest.mark.parametrize("options", [{"engine": "numpy"}, {"engine": "xla"}, {}, {"engine": "numpy", "whole": False}], ids=str)
def test_shapes_in_any_order_are_answered_right(keeping, options):
    keeping(4)
    f, rng = jit(smooth, **options), random.Random(0)
    for n in [rng.choice(range(2, 10 if options.get("engine") == "xla" else 32)) for _ in range(40)]:
        assert f(array(n), 0.5) == pytest.approx(smooth(array(n), 0.5), rel=1e-12)


def test_gradients_in_any_order_are_right(keeping):
    keeping(4)
    f, rng = grad(lambda x: (x**3).sum()), random.Random(0)
    for n in [rng.choice(range(2, 12)) for _ in range(40)]:
        np.testing.assert_allclose(f(array(n)), 3 * array(n) ** 2, rtol=1e-12)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_what_is_used_stays(keeping, engine):
    keeping(4)
    f = jit(smooth, engine=engine)
    f(array(2), 0.5)
    (used,) = versions(f)
    programs = lambda: [w.base.known.get((((2,), np.dtype(float)), float)) for e in f.compiled.entries.values() for w in (*e.worlds, *e.old)]
    (compiled,) = programs()
    for n in range(3, 14):
        f(array(n), 0.5)
        assert f(array(2), 0.5) == pytest.approx(smooth(array(2), 0.5))
    assert used in versions(f) and compiled in programs()
    assert (compiled is None) is (engine == "numpy")


def test_a_shape_that_comes_again_after_it_was_let_go_is_traced_again(keeping):
    keeping(2)
    f = jit(smooth, engine="numpy")
    for n in (2, 3, 4, 5, 6, 2):
        assert f(array(n), 0.5) == pytest.approx(smooth(array(n), 0.5))
    told = f.explain()
    assert "because      there was one, which was let go when no call had used it for long" in told
    assert "let go       4 trace(s) that no call has used lately; 2 of a function are kept" in told


def test_nothing_is_let_go_below_the_limit(keeping):
    keeping(64)
    f = jit(smooth, engine="numpy")
    for n in range(2, 22):
        f(array(n), 0.5)
    assert len(versions(f)) == 20 and "let go" not in f.explain()


def test_bytes_are_a_limit_too(keeping):
    keeping("1000 1MB")
    f = jit(smooth, engine="numpy")
    for n in range(2, 40):
        f(array(n), 0.5)
    assert 2 < len(versions(f)) < 20


@pytest.mark.parametrize("text", ["0", "many", "2TB", "-1"])
def test_limits_that_are_none(keeping, text):
    keeping(text)
    with pytest.raises(ValueError, match="is no limit"):
        jit(smooth, engine="numpy")(array(2), 0.5)


def test_static_values_are_let_go_with_their_entries(keeping):
    keeping(4)
    f = jit(lambda x, name: x * len(name), engine="numpy")
    for k in range(30):
        np.testing.assert_array_equal(f(array(3), "x" * k), array(3) * k)
    assert len(f.compiled.entries) <= 4 and sum(len(r.entries) for r in f.compiled.routes.values()) <= 4
    np.testing.assert_array_equal(f(array(3), "xx"), array(3) * 2)


class Held:
    """An object that a trace has to know by identity."""

    def __init__(self, k):
        self.k = k

    def __del__(self):
        pass


def test_static_objects_are_let_go(keeping):
    keeping(4)
    f, gone = jit(lambda x, held: x * held.k, engine="numpy"), []
    for k in range(20):
        held = Held(float(k))
        gone.append(weakref.ref(held))
        np.testing.assert_array_equal(f(array(3), held), array(3) * k)
    del held
    collect()
    assert sum(ref() is not None for ref in gone) <= 6


def chosen(x):
    return x * 2.0 if float(x[0]) > 0 else np.concatenate([x, x])[: len(x) + 1]


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_choices_by_value(keeping, engine):
    keeping(6)
    f, rng = jit(chosen, engine=engine), random.Random(1)
    for _ in range(40 if engine == "numpy" else 16):
        x = array(rng.choice(range(2, 7))) * rng.choice([-1.0, 1.0])
        np.testing.assert_array_equal(f(x), chosen(x))


def test_states_of_the_outside(keeping):
    keeping(4)
    held = {"k": 1.0, "name": "a"}
    f, rng = jit(lambda x: x * (held["k"] + len(held["name"])), engine="numpy"), random.Random(2)
    for _ in range(40):
        held["name"], x = "a" * rng.randrange(6), array(rng.choice([2, 3, 4]))
        np.testing.assert_array_equal(f(x), x * (1.0 + len(held["name"])))
    assert len(versions(f)) <= 6


def test_random_numbers(keeping):
    keeping(4)
    f = jit(lambda x, rng: x + rng.random(len(x)))
    ours, theirs, order = np.random.default_rng(0), np.random.default_rng(0), random.Random(3)
    for n in [order.choice(range(2, 10)) for _ in range(30)]:
        np.testing.assert_array_equal(f(array(n), ours), array(n) + theirs.random(n))


def test_programs_in_the_background(keeping):
    keeping(4)
    f, rng = jit(smooth, tier="background", engine="numpy", whole=False), random.Random(4)
    for n in [rng.choice(range(2, 12)) for _ in range(200)]:
        assert f(array(n), 0.5) == pytest.approx(smooth(array(n), 0.5), rel=1e-12)


def test_within_jax(keeping):
    keeping(4)
    f, rng = jit(smooth), random.Random(5)
    for n in [rng.choice(range(2, 9)) for _ in range(12)]:
        assert float(jax.jit(lambda x: f(x, 0.5))(array(n))) == pytest.approx(smooth(array(n), 0.5), rel=1e-5)
    assert len(versions(f)) <= 4


def test_threads(keeping):
    keeping(4)
    f, wrong = jit(smooth, engine="numpy"), []

    def run(seed):
        rng = random.Random(seed)
        try:
            for n in [rng.choice(range(2, 16)) for _ in range(60)]:
                if f(array(n), 0.5) != pytest.approx(smooth(array(n), 0.5), rel=1e-12):
                    wrong.append(n)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@NESTS
def test_machine_code_goes_with_the_programs(keeping):
    keeping(4)
    f = jit(recursion, engine="numpy")
    collect()
    before = len(build.ENGINES)
    for n in range(5, 20):
        assert f(array(n), 0.25) == pytest.approx(recursion(array(n), 0.25), rel=1e-12)
    collect()
    assert 0 < len(build.ENGINES) - before <= 6
    assert f(array(5), 0.25) == pytest.approx(recursion(array(5), 0.25), rel=1e-12)


@NESTS
def test_machine_code_stays_while_a_function_of_it_is_held(keeping):
    keeping(2)
    f = jit(recursion, engine="numpy")
    f(array(6), 0.25)
    straight = versions(f)[0].straight
    for n in range(7, 14):
        f(array(n), 0.25)
    collect()
    assert float(straight(array(6), 0.25)) == pytest.approx(recursion(array(6), 0.25), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["shapes, NumPy", "static texts", "lambdas", "instances", "arrays from outside"])
def test_resident_memory_is_flat(case):
    script = pathlib.Path(__file__).parents[3] / "benchmarks" / "sizes" / "memory.py"
    told = subprocess.run([sys.executable, script, case, "--most", "1200", "--every", "300"], capture_output=True, text=True, check=True)
    sizes = [float(x) for x in re.findall(r"([\d.]+) MB", told.stdout)]
    assert len(sizes) == 4 and sizes[3] - sizes[1] < 25, told.stdout


def test_objects_that_nobody_has_are_forgotten():
    table = Interned(16)
    kept = [table.kept(k, Held(k)) for k in range(8)]
    for k in range(8, 200):
        assert table.kept(k, Held(k)).k == k and len(table) <= 2 * (8 + 1) + 1
    table.sweep()
    assert [*table] == [*range(8)] and all(table[k] is x for k, x in enumerate(kept))
    assert table.kept(3, Held(-1)) is kept[3]


def test_types_are_the_same_object_whatever_was_forgotten():
    held = Tensor((123, 456), "float64")
    for _ in range(3):
        Tensor._interned.sweep()
        assert Tensor((123, 456), "float64") is held is Tensor((123, 456), np.dtype("float64"))
    assert Lit(2.5, held) is Lit(2.5, held)


def test_what_can_be_made_again_is_kept_up_to_a_number():
    table = Limited(8)
    for k in range(100):
        table[k] = -k
        assert len(table) <= 8 and table[k] == -k


FIRST, SECOND, THIRD = np.full(400, 2.0), np.full(400, 3.0), np.full(400, 5.0)


def by_size(x):
    """Which arrays outside are read, and in which order, the size decides."""
    n, s = len(x), x * 1.0
    ways = (
        lambda: s * FIRST[:n] + SECOND[:n],
        lambda: s * SECOND[:n],
        lambda: s * THIRD[:n] - FIRST[:n],
        lambda: s - THIRD[:n],
        lambda: s * SECOND[:n] + THIRD[:n] / FIRST[:n],
    )
    return ways[n * 7 % 5]()


def by_value_and_size(x):
    """The same, and data choose as well."""
    n = len(x)
    if x[0] > 0.0:
        return by_size(x), "positive"
    return (x * (SECOND[:n] if n % 2 else FIRST[:n])).sum()


@pytest.mark.parametrize("function", [by_size, by_value_and_size])
@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize("kept, sizes", [(4, 10), (8, 10), (20, 24)])
def test_traces_that_are_recalled_take_their_own_inputs(keeping, monkeypatch, function, engine, kept, sizes):
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", engine or "numpy")
    keeping(kept)
    f, order = jit(function, engine=engine), list(range(1, sizes + 1)) * 2
    random.seed(0)
    for _ in range(2 if engine == "xla" else 4):
        random.shuffle(order)
        for n in order:
            x = np.ones(n) * random.choice([1.0, -1.0])
            agree(f(x), function(x))


@pytest.mark.parametrize("transform", [jit, grad])
def test_a_first_call_in_which_others_are_let_go(keeping, transform):
    keeping(8)

    def squares(xs):
        s = 0.0
        for x in xs:
            s = s + x * x
        return s

    f = transform(squares)
    for k in range(1, 30):
        agree(f([1.0] * k), squares([1.0] * k) if transform is jit else [2.0] * k)
