"""Stores and loads in loops: random windows against NumPy, what the bounds of counters decide, and what is kept in place."""

import jax
import numpy as np
import pytest
from compare import check_same
from random_windows import arguments, program

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.xla import write_after_read
from wengert.backends.xla.lower import lower
from wengert.ir.affine import Affine
from wengert.ir.core import Builder, Lit
from wengert.ir.ops.control import COUNTER, evaluate, loop
from wengert.ir.ops.elementwise import add, ge, lt, maximum, minimum, mul, select, sub
from wengert.ir.ops.shape import pad
from wengert.ir.passes import dce, loops, memory
from wengert.ir.pipeline import run
from wengert.ir.text import parse
from wengert.ir.verify import verify


def compiled(func, xs, **options):
    with jax.enable_x64(True), native.asked(None):  # what is looked at is the form through jax.lax
        return jax.jit(lambda *xs: tuple(lower(func, xs)), **options).lower(*xs).compile()


@pytest.mark.parametrize("block", range(8))
def test_passes_keep_what_random_windows_mean(block):
    for seed in range(12 * block, 12 * block + 12):
        func, xs = program(seed), arguments(seed)
        want = evaluate(func, xs)
        for change in (memory, loops, run):
            found = evaluate(verify(change(func)), xs)
            assert all(map(np.array_equal, found, want)), f"{change.__name__} of seed {seed}"


@pytest.mark.parametrize("seed", range(500, 516))
def test_fences_keep_what_random_windows_mean(seed, monkeypatch):
    for name, value in {"LEAST": 1, "SHARE": 0.1, "MANY": 1}.items():  # a fence wherever one is possible
        monkeypatch.setattr(write_after_read, name, value)
    func, xs = program(seed, inside=True), arguments(seed)
    with jax.enable_x64(True):
        found = compiled(run(func), xs)(*xs)
    assert all(map(np.array_equal, map(np.asarray, found), evaluate(func, xs)))


# -- affine ----------------------------------------------------------------------------------------


def triangle():
    """(what is known, i, j) for i below 8 and j below i."""
    known, build = Affine(), Builder()
    i, j = build.param(COUNTER), build.param(COUNTER)
    known.counter(i, Lit(8, COUNTER))
    known.counter(j, i)
    return known, build, i, j


def test_bounds_of_sums_of_counters():
    known, build, i, j = triangle()
    with build:
        n = build.param(COUNTER)
        assert known.interval(j) == (0, 6)
        assert known.interval(sub(i, j)) == (1, 7)
        assert known.interval(sub(mul(i, 2), add(j, 3))) == (-2, 11)
        assert known.interval(maximum(sub(j, i), -2)) == (-2, -1)
        assert known.interval(minimum(n, 5)) == (None, None)
        assert known.interval(sub(add(n, 5), n)) == (5, 5)
        assert known.decided(lt(j, i)) is True
        assert known.decided(ge(add(i, 1), 9)) is False
        assert known.decided(lt(i, 4)) is None
        assert known.decided(lt(add(n, 1), add(n, 2))) is None  # it wraps at the end of the integers
        assert known.interval(select(lt(i, j), n, j)) == (0, 6)


def test_chains_of_thousands_of_choices_have_bounds():
    """Without as deep a recursion: the place of the least of 5,000 numbers, written out."""
    known, build = Affine(), Builder()
    with build:
        x, y = build.param(COUNTER), build.param(COUNTER)
        known.counter(x, Lit(10, COUNTER))
        for k in range(5000):
            y = select(lt(x, Lit(k % 7, COUNTER)), Lit(k, COUNTER), y) if k else Lit(3, COUNTER)
    assert known.interval(y) == (1, 4999)



def test_a_limit_cut_off_at_zero_bounds_its_counter():
    known, build = Affine(), Builder()
    k, j = build.param(COUNTER), build.param(COUNTER)
    known.counter(k, Lit(8, COUNTER))
    with build:
        known.counter(j, maximum(sub(7, k), 0))
        assert known.interval(add(add(k, j), 1)) == (1, 7)


# -- in place --------------------------------------------------------------------------------------


def copies(func, xs, whole):
    """How often the compiled text copies an array of a shape inside its loops."""
    text = compiled(func, xs).as_text()
    entry = text[text.index("\nENTRY") :]
    return sum(" copy(" in line and whole in line for line in text.splitlines()) - sum(
        " copy(" in line and whole in line for line in entry.splitlines()
    )


OUTLIVES = """
func f(%a: f64[60,60], %b: f64[60,60]) -> f64[60,60], f64[60,60] {
  %0, %1 = loop %a, %b carried=2 trips=50 : f64[60,60], f64[60,60]
    body: func(%i: i64[], %a: f64[60,60], %b: f64[60,60]) -> f64[60,60], f64[60,60] {
      %0 = dynamic_slice %a, %i, 3 sizes=[1,1]   : f64[1,1]
      %1 = mul %0, 2.0                           : f64[1,1]
      %2 = add %0, 1.0                           : f64[1,1]
      %3 = dynamic_update_slice %a, %1, %i, 3    : f64[60,60]
      %4 = dynamic_update_slice %b, %2, %i, 3    : f64[60,60]
      return %3, %4
    }
  return %0, %1
}
"""
READ_BACK = """
func f(%a: f64[60,60]) -> f64[60,60] {
  %0 = loop %a carried=1 trips=50 : f64[60,60]
    body: func(%i: i64[], %a: f64[60,60]) -> f64[60,60] {
      %0 = add %i, 1                             : i64[]
      %1 = add %i, 2                             : i64[]
      %2 = dynamic_slice %a, %1, 0 sizes=[1,1]   : f64[1,1]
      %3 = add %2, 1.0                           : f64[1,1]
      %4 = dynamic_update_slice %a, %3, %i, 0    : f64[60,60]
      %5 = dynamic_slice %4, %i, 0 sizes=[1,1]   : f64[1,1]
      %6 = mul %5, 0.5                           : f64[1,1]
      %7 = dynamic_update_slice %4, %6, %0, 0    : f64[60,60]
      return %7
    }
  return %0
}
"""


@pytest.mark.parametrize("text", [OUTLIVES, READ_BACK])
def test_a_fence_keeps_the_store_in_place(text, monkeypatch):
    func = parse(text)
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=p.type.shape) for p in func.params]
    assert copies(func, xs, "[60,60]") == 0
    with jax.enable_x64(True):
        for found, want in zip(compiled(func, xs)(*xs), evaluate(func, xs)):
            np.testing.assert_array_equal(found, want)
    monkeypatch.setattr(write_after_read, "LEAST", 10**9)
    assert copies(func, xs, "[60,60]") > 0, "XLA needs no fence any more"


def test_the_gradient_of_a_triangular_nest_is_accumulated_in_place():
    def factored(a):
        for i in range(1, 60):
            for j in range(i):
                a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
            a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
        return (a * a).sum()

    a = 8 * np.eye(60) + 1
    func = jit(grad(factored)).ir(a)
    assert copies(func, [a], "f64[60,60]") == 0
    text = compiled(func, [a]).as_text()
    assert "pred[60,60]" not in text, "a part is stored by a choice of the whole"


def anchored(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[0] * np.sin(x[-1]) + (x[3:6] * x[i]).sum()
    return total


def test_a_fixed_part_that_each_trip_reads_is_added_in_its_place():
    """A trip then takes as long whatever the length of the array is."""
    x = np.linspace(0.1, 1.0, 200)
    *_, body = [e.attrs["body"] for e in grad(anchored).ir(x).eqns if e.op is loop]
    assert not [e for e in body.eqns if e.op is pad or "elementwise" in e.op.traits and e.results[0].type.size >= 200]
    step = 1e-6 * np.cos(np.arange(200.0))
    slope = (anchored(x + step) - anchored(x - step)) / 2
    np.testing.assert_allclose(grad(anchored)(x) @ step, slope, rtol=1e-6)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(jit(grad(anchored), engine=engine)(x), grad(anchored)(x), rtol=1e-12)


def windows(x):
    return sum((x[20 * k : 20 * k + 20] ** 2).sum() * (k + 1) for k in range(5)) + x[7] * x.sum()


def test_parts_of_straight_lines_are_added_in_their_places():
    x, slope = np.linspace(0.1, 1.0, 200), jit(grad(windows), engine="numpy")
    want = 2 * x * np.repeat([1, 2, 3, 4, 5, 0, 0, 0, 0, 0], 20) + x[7]
    want[7] += x.sum()
    np.testing.assert_allclose(slope(x), want, rtol=1e-12)
    assert "np.array(" not in slope.text("numpy", x), "an array that nobody else reads is copied"


def test_a_body_that_needs_no_fence_has_none():
    func = dce(parse(READ_BACK.replace("return %7", "return %4")))
    (eqn,) = func.eqns
    assert write_after_read.schedule(eqn.attrs["body"], 1) is eqn.attrs["body"].eqns


# -- through the front end -------------------------------------------------------------------------


def test_loops_with_stores_and_their_gradients():
    def sweep(a):
        for i in range(1, 7):
            a[i, 1:-1] += a[i - 1, :-2] * 0.5
            for j in range(i):
                a[i, j] += a[i, j + 1] - a[j, i] * 0.25
        return a.sum()

    a = np.random.default_rng(0).normal(size=(8, 8))
    check_same(sweep, a.copy())

    def loss(a):
        return sweep(a * 1.0)

    d, eps = grad(loss)(a), 1e-6
    direction = np.random.default_rng(1).normal(size=a.shape)
    slope = (loss(a + eps * direction) - loss(a - eps * direction)) / (2 * eps)
    np.testing.assert_allclose(np.sum(d * direction), slope, rtol=1e-6)


def test_a_store_apart_clamps_a_start_below_zero():
    func = parse("""
    func f(%v: i64[6], %i: i64[]) -> i64[6] {
      %0 = cumsum %v axis=0 reverse=False    : i64[6]
      %1 = slice %0 start=[1] stop=[4] stride=[1] : i64[3]
      %2 = dynamic_update_slice %0, %1, %i   : i64[6]
      return %2
    }""")
    xs = [np.arange(6), np.int64(-1)]
    with jax.enable_x64(True):
        (found,) = compiled(func, xs)(*xs)
    np.testing.assert_array_equal(found, evaluate(func, xs)[0])


def test_an_unread_store_makes_none_before_it_dead():
    func = parse("""
    func f(%x: f64[6]) -> f64[1] {
      %0 = slice %x start=[0] stop=[5] stride=[1]    : f64[5]
      %1 = mul %0, 0.9                               : f64[5]
      %2 = dynamic_update_slice %x, %1, 1:i64[]      : f64[6]
      %3 = slice %2 start=[0] stop=[5] stride=[1]    : f64[5]
      %4 = mul %3, 0.9                               : f64[5]
      %5 = dynamic_update_slice %2, %4, 1:i64[]      : f64[6]
      %6 = slice %5 start=[3] stop=[4] stride=[1]    : f64[1]
      return %6
    }""")
    x = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(evaluate(memory(func), [x])[0], evaluate(func, [x])[0])


CROSS = """
func f(%a: f64[60,60], %v: f64[60]) -> f64[60,60] {
  %0 = loop %v, %a carried=1 trips=60 : f64[60,60]
    body: func(%i: i64[], %v: f64[60], %a: f64[60,60]) -> f64[60,60] {
      %0 = dynamic_slice %a, 0, %i sizes=[60,1]    : f64[60,1]
      %1 = reshape %v shape=[60,1]                 : f64[60,1]
      %2 = maximum %0, %1                          : f64[60,1]
      %3 = dynamic_update_slice %a, %2, 0, %i      : f64[60,60]
      %4 = dynamic_slice %3, %i, 0 sizes=[1,60]    : f64[1,60]
      %5 = reshape %v shape=[1,60]                 : f64[1,60]
      %6 = minimum %4, %5                          : f64[1,60]
      %7 = dynamic_update_slice %3, %6, %i, 0      : f64[60,60]
      return %7
    }
  return %0
}
"""


def test_a_column_and_a_row_are_written_in_place():
    func = parse(CROSS)
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(60, 60)), rng.normal(size=60)
    changed = run(func)
    assert "sizes=[1,1]" in str(changed), "the row is not read before the column is written"
    assert all(map(np.array_equal, evaluate(func, xs), evaluate(changed, xs)))
    assert copies(changed, xs, "[60,60]") == 0
