"""Passes on random straight-line programs: they keep the meaning, verify, never lengthen, and have nothing left to do.

The programs are made of Lipschitz steps on bounded numbers, and compare only what no pass touches, so rounding stays rounding.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.backends.numpy import callable_of
from wengert.ir.core import Builder, Constant, Lit
from wengert.ir.ops.control import call, cond, host, region
from wengert.ir.ops.elementwise import abs, add, and_, cast, eq, maximum, minimum, mul, neg, not_, or_, select, sub
from wengert.ir.ops.linalg import dot_general
from wengert.ir.ops.reduction import reduce_max, reduce_sum
from wengert.ir.ops.shape import broadcast, concatenate, constant, pad, reshape, reverse, slice_, transpose
from wengert.ir.ops.transcendental import exp, log, log1p, sin, tanh
from wengert.ir.passes import bounds, cse, dce, fold, inline, simplify
from wengert.ir.pipeline import PIPELINE, run
from wengert.ir.rules import EXACT
from wengert.ir.text import parse, show
from wengert.ir.types import parse_type
from wengert.ir.verify import verify

# -- random programs -------------------------------------------------------------------------------

PARAMS = [parse_type(t) for t in ("f64[3,4]", "f64[3,4]", "f64[4]", "f64[3,1]", "i64[3,4]", "bool[3,4]")]
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 0.25, -3.0, 0.1)

UNARY = (
    neg, tanh, sin, abs, lambda x: exp(tanh(x)), lambda x: log1p(exp(tanh(x))), lambda x: log(1.0 + exp(tanh(x))), lambda x: 1.0 / (1.0 + exp(-x)),
    lambda x: exp(tanh(x)) / (1.0 + exp(tanh(x))), lambda x: x + 0.0, lambda x: x * 1.0, lambda x: x - 0.0, lambda x: exp(neg(neg(tanh(x)))),
)  # fmt: skip
BINARY = (
    lambda x, y: tanh(x + y), lambda x, y: tanh(x - y), lambda x, y: tanh(x) * tanh(y), maximum, minimum, lambda x, y: tanh(x + neg(y)),
    lambda x, y: tanh(neg(x) * tanh(neg(y))), lambda x, y: tanh(x / (1.0 + exp(tanh(y)))), lambda x, y: tanh(0.5 * x + 0.5 * y),
    lambda x, y: tanh(2.0 * x - 2.0 * y),
)  # fmt: skip
SCALED = (lambda x, c: x * c, lambda x, c: c - x, lambda x, c: tanh(x) / (2.0 + c * c), lambda x, c: x + c, lambda x, c: maximum(x, c))
WHOLE = (
    add, sub, mul, maximum, lambda i, j: i + neg(j), lambda i, j: 3 * (2 * i) - 5, lambda i, j: (i + 3) - 7, lambda i, j: i * 0 + j,
    lambda i, j: i - i,
)  # fmt: skip
TRUTH = (and_, or_, lambda a, b: not_(not_(a)), lambda a, b: and_(a, True), lambda a, b: or_(a, not_(b)), lambda a, b: select(a, b, not_(b)))


def moves(x, k):
    """Shape ops and reductions that fit the type of x."""
    t, n = x.type, x.type.ndim
    found = [
        lambda: reshape(x, shape=(t.size,)),
        lambda: reshape(x, shape=(1, *t.shape)),
        lambda: broadcast(x, shape=(2, *t.shape), dims=tuple(range(1, n + 1))),
    ]
    if n:
        found += [
            lambda: transpose(x, perm=tuple(reversed(range(n)))),
            lambda: transpose(x, perm=(*range(1, n), 0)),
            lambda: reverse(x, axes=(n - 1,)),
            lambda: slice_(x, start=(0,) * n, stop=t.shape, stride=(1,) * n),
            lambda: slice_(x, start=(t.shape[0] - 1,) + (0,) * (n - 1), stop=t.shape, stride=(1,) * n),
            lambda: concatenate(x, x, axis=0),
            lambda: pad(x, Lit(1, t.like(())), low=(1,) * n, high=(0,) * n, interior=(0,) * n),
            lambda: reduce_max(x, axes=(0,)),
            lambda: tanh(reduce_sum(x, axes=(n - 1,)) * 0.1) if t.kind == "f" else reduce_max(x, axes=(n - 1,)),
        ]
    return found[k % len(found)]()


def products(x, y, k):
    """x^T y, said in two ways; x and y have one type."""
    if k % 2:
        return dot_general(x, y, contract=((0,), (0,)))
    return transpose(dot_general(transpose(y, perm=(1, 0)), x, contract=((1,), (0,))), perm=(1, 0))


def grow(values, kind, a, b, c):
    """One more value, of one of the latest and perhaps another like it."""
    x = values[-1 - a % min(len(values), 7)]
    y = next((v for v in values[b % len(values) :] + values if v.type is x.type), x)
    table = {"f": (*UNARY, *BINARY, *SCALED), "i": WHOLE, "b": TRUTH}[x.type.kind]
    choice = kind % (len(table) + 16)
    if choice >= len(table) + 8:
        return moves(x, c)
    if choice >= len(table) + 6 and x.type.kind == "f" and x.type.ndim == 2:
        return tanh(products(x, y, c) * (1 / max(x.type.shape[0], 1)))
    if choice >= len(table) + 3:
        mask = next((v for v in values if v.type.kind == "b" and v.type.shape == x.type.shape), None)
        return x if mask is None else select(mask, x, y)
    if choice >= len(table):
        return cast(x, dtype=np.dtype("f8" if x.type.kind == "f" else "i8" if x.type.kind == "i" else "?"))
    if x.type.kind == "f" and choice >= len(UNARY) + len(BINARY):
        return table[choice](x, NUMBERS[c % len(NUMBERS)])
    return table[choice](x) if x.type.kind == "f" and choice < len(UNARY) else table[choice](x, y)


@st.composite
def programs(draw):
    number = st.integers(0, 10_000)
    steps = draw(st.lists(st.tuples(number, number, number, number), min_size=1, max_size=24))
    build = Builder("program")
    with build:
        values = [build.param(t) for t in PARAMS]
        for step in steps:
            made = grow(values, *step)
            if not isinstance(made, Lit) and made.type.size <= 200 and made.type.ndim <= 4:
                values.append(made)
    read = {x for eqn in build.eqns for x in eqn.operands}
    return verify(build.finish([r for eqn in build.eqns for r in eqn.results if r not in read] or values[:1]))


def results(func, special=False):
    rng = np.random.default_rng(7)
    real = (lambda n: rng.choice([0.0, -0.0, 1.0, -0.5, np.inf, -np.inf, np.nan], n)) if special else (lambda n: rng.uniform(-1, 1, n))
    draw = {"f": real, "i": lambda n: rng.integers(-5, 6, n), "b": lambda n: rng.random(n) < 0.5}
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in callable_of(func)(*[draw[t.kind](t.shape) for t in PARAMS])]


def exact_simplify(func):
    return simplify(func, EXACT)


@pytest.mark.parametrize("step", [*PIPELINE, exact_simplify, run], ids=lambda f: f.__name__)
@settings(max_examples=60, deadline=None)
@given(func=programs())
def test_a_pass_keeps_the_meaning_and_finishes(step, func):
    after = verify(step(func))
    assert after.param_types == func.param_types and after.result_types == func.result_types
    sums = sum(eqn.op is reduce_sum for eqn in func.eqns)  # of one element, or of equal ones: `+ 0.0` keeps zeros' signs
    assert after.count() <= func.count() + sums, f"{show(func)}\n{show(after)}"
    assert show(step(after)) == show(after)
    for a, b in zip(results(func), results(after)):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(func=programs())
def test_exact_passes_change_no_bit(func):
    after = run(func, exact=True, verify=True)
    for special in (False, True):
        for a, b in zip(results(func, special), results(after, special)):
            np.testing.assert_array_equal(b, a, f"{show(func)}\n{show(after)}")
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(b[~np.isnan(b)]), np.signbit(a[~np.isnan(a)]), f"{show(func)}\n{show(after)}")


@settings(max_examples=100, deadline=None)
@given(func=programs())
def test_simplified_text_parses_back(func):
    text = show(run(func))
    assert show(parse(text)) == text


# -- effects, regions, what may not be computed early ----------------------------------------------

V = parse_type("f64[3]")


def program(function, *types):
    build = Builder("f")
    with build:
        out = function(*[build.param(parse_type(t), f"x{i}") for i, t in enumerate(types)])
    return verify(build.finish(out if isinstance(out, tuple) else (out,)))


def ops(func):
    return [eqn.op.name for eqn in func.eqns]


@pytest.mark.parametrize("step", [*PIPELINE, run], ids=lambda f: f.__name__)
def test_effects_are_neither_merged_nor_dropped_nor_moved(step):
    first, second = [], []
    loud = region(lambda x: host(x, function=lambda a: first.append(a), results=()) or x, [V])

    def noisy(x):
        host(x, function=lambda a: second.append(a), results=())
        for _ in range(2):
            call(x, body=loud, name="loud")
        y = neg(neg(x))
        host(y, function=first.append, results=())
        host(y, function=first.append, results=())
        return y

    after = verify(step(program(noisy, "f64[3]")))
    assert [name for name in ops(after) if name != "neg"] == ["host", "call", "call", "host", "host"]


def test_an_unordered_host_call_runs_only_where_it_is_read_and_never_early():
    runs = []
    func = program(lambda x: (host(Lit(1.0, V), function=lambda a: runs.append(a) or a, results=(V,), ordered=False), x)[1], "f64[3]")
    assert ops(fold(func)) == [] == ops(dce(func)) and runs == []
    kept = program(lambda x: host(Lit(1.0, V), function=lambda a: runs.append(a) or a, results=(V,), ordered=False)[0] + x, "f64[3]")
    assert ops(run(kept)) == ["host", "add"] and runs == []


def test_calls_are_written_out_in_regions_too_their_rules_with_them():
    double = region(lambda x: x + x, [V], "double")
    quadruple = region(lambda x: call(*call(x, body=double, name="double", inline=True), body=double, name="double", inline=True), [V], "quadruple")
    calls = program(lambda x: call(x, body=quadruple, name="quadruple"), "f64[3]")
    assert ops(inline(calls)) == ["call"] and ops(inline(calls).eqns[0].attrs["body"]) == ["add", "add"]
    assert ops(inline(program(lambda x: call(x, body=double, name="double", inline=True, rule="own"), "f64[3]"))) == ["add"]


def test_regions_that_say_the_same_are_one():
    def both(c, x):
        made = [cond(c, x, branches=(region(lambda x: neg(x), [V], a), region(lambda x: tanh(x), [V], b)))[0] for a, b in ("pq", "rs")]
        return made[0] * made[1]

    func = program(both, "bool[]", "f64[3]")
    assert ops(func) == ["cond", "cond", "mul"] and ops(cse(func)) == ["cond", "mul"]


SWEEPS = """
func f(%x: f64[N,9], %k: f64[3]) -> f64[M,9] {
  %0 = loop %x, %k, 0.0:f64[M,9] carried=1 trips=3 : f64[M,9]
    body: func(%i: i64[], %x: f64[N,9], %k: f64[3], %z: f64[M,9]) -> f64[M,9] {
      %0 = dynamic_slice %x, %i, 0 sizes=[M,9]   : f64[M,9]
      %1 = dynamic_slice %k, %i sizes=[1]        : f64[1]
      %2 = reshape %1 shape=[]                   : f64[]
      %3 = broadcast %2 shape=[M,9] dims=[]      : f64[M,9]
      %4 = mul %3, %0                            : f64[M,9]
      %5 = add %z, %4                            : f64[M,9]
      return %5
    }
  return %0
}
"""


@pytest.mark.parametrize(
    "rows, text, written",
    [
        (10_000, SWEEPS, True),
        (100, SWEEPS, False),  # it stays near the processor
        (10_000, SWEEPS.replace("trips=3", "trips=30"), False),
        (10_000, SWEEPS.replace("%5 = add %z, %4 ", "%6 = reverse %z axes=[0] : f64[M,9]\n      %5 = add %6, %4 "), False),  # trips read other rows
    ],
)
def test_a_few_sweeps_over_a_large_array_are_one(rows, text, written):
    func = parse(text.replace("N", str(rows + 2)).replace("M", str(rows)))
    done = run(func)
    assert ("loop" not in ops(done)) == written
    if written:
        rng = np.random.default_rng(0)
        x, k = rng.normal(size=(rows + 2, 9)), rng.normal(size=3)
        np.testing.assert_array_equal(callable_of(done)(x, k)[0], callable_of(func)(x, k)[0])


def test_a_shared_region_is_rewritten_once():
    twice = region(lambda x: neg(neg(tanh(x))), [V])
    func = simplify(program(lambda x: (call(x, body=twice, name="a")[0], call(-x, body=twice, name="a")[0]), "f64[3]"))
    first, second = [eqn.attrs["body"] for eqn in func.eqns if eqn.op is call]
    assert first is second and ops(first) == ["tanh"]


def test_only_small_arrays_are_computed_early():
    large = program(lambda x: constant(value=Constant(np.arange(100.0))) * 2.0 + x, "f64[100]")
    small = program(lambda x: constant(value=Constant(np.arange(10.0))) * 2.0 + x, "f64[10]")
    assert ops(fold(large)) == ["constant", "mul", "add"] and ops(fold(small)) == ["constant", "add"]


def test_folding_is_quiet_and_says_what_numpy_says():
    func = program(lambda x: x + Lit(1.0, V) / Lit(0.0, V) - log(Lit(-1.0, V)), "f64[3]")
    assert [str(x.value) for eqn in fold(func).eqns for x in eqn.operands if isinstance(x, Lit)] == ["inf", "nan"]


# -- the pipeline ----------------------------------------------------------------------------------


def test_every_pass_says_what_holds_afterwards():
    assert all(step.__doc__ and step.__module__.endswith(f"passes.{step.__name__}") for step in PIPELINE)


def test_the_pipeline_can_be_watched_and_logged(capsys):
    func, seen, firings = program(lambda x: exp(log(1.0 + exp(x))) - 0.0, "f64[3]"), [], []
    out = run(func, watch=lambda name, f: seen.append((name, f)), log=firings, verify=True)
    names = [name for name, _ in seen]
    assert names == "inline user_rules widen fold bounds masks products memory simplify fission loops rotations cse dce".split()
    assert seen[-1][1] is out
    assert [rule.text for rule, _ in firings] == ["log(1.0 + exp(f)) -> softplus(f)", "f - 0.0 -> f"]
    run(func, watch=print)
    assert "--- simplify: 2 equations ---\nfunc f(" in capsys.readouterr().out


def test_exact_leaves_out_what_changes_a_bit():
    func = program(lambda x: neg(neg(log(1.0 + exp(x)))), "f64[3]")
    assert ops(run(func, exact=True)) == ["exp", "add", "log"] and ops(run(func)) == ["softplus"]


# -- intervals of integers -------------------------------------------------------------------------


def ops_of(func):
    """The names of the ops of a function and its regions."""
    return [name for eqn in func.eqns for name in (eqn.op.name, *(n for f in eqn.regions() for n in ops_of(f)))]


def test_indices_that_are_known_to_be_in_range_are_not_asked_about():
    text = """
    func f(%x: i64[9], %n: i64[], %c: bool[9]) -> bool[9], bool[9], bool[9], bool[9], bool[9] {
      %0 = iota shape=[9] axis=0 dtype=i64 : i64[9]
      %1 = select %c, %0, 0                : i64[9]
      %2 = ge %1, 0                        : bool[9]
      %3 = lt %1, 8                        : bool[9]
      %4 = broadcast %n shape=[9] dims=[]  : i64[9]
      %5 = add %0, %4                      : i64[9]
      %6 = ge %5, 0                        : bool[9]
      %7 = clamp 0, %x, 5                  : i64[9]
      %8 = gt %7, 5                        : bool[9]
      %9 = mul %0, 4611686018427387904     : i64[9]
      %10 = ge %9, 0                       : bool[9]
      return %2, %3, %6, %8, %10
    }
    """
    func = parse(text)
    after = verify(bounds(func))
    known = [x.value if isinstance(x, Lit) else None for x in after.results]
    assert known == [True, None, None, False, None]  # below 8 of 0 to 8, a sum with anything, and a product that wraps are not known
    assert [x.value for x in verify(bounds(parse("""
    func g(%x: i64[9]) -> bool[9] {
      %0 = lt %x, 8 : bool[9]
      return %0
    }
    """), {0: (0, 7)})).results] == [True]  # fmt: skip


def test_what_a_loop_leaves_as_it_is_keeps_its_interval_in_it():
    text = """
    func f(%x: f64[4]) -> f64[4], i64[4], i64[4] {
      %0 = iota shape=[4] axis=0 dtype=i64 : i64[4]
      %1, %2, %3 = loop %x, %0, %0 carried=3 trips=7 : f64[4], i64[4], i64[4]
        body: func(%i: i64[], %x: f64[4], %same: i64[4], %more: i64[4]) -> f64[4], i64[4], i64[4] {
          %0 = lt %i, 7           : bool[]
          %1 = lt %same, 4        : bool[4]
          %2 = lt %more, 4        : bool[4]
          %3 = and %1, %2         : bool[4]
          %4 = select %3, %x, 0.0 : f64[4]
          %5 = add %more, 1       : i64[4]
          %6 = select %0, %5, 0:i64[] : i64[4]
          return %4, %same, %5
        }
      return %1, %2, %3
    }
    """
    func = parse(text.replace("          %6 = select %0, %5, 0:i64[] : i64[4]\n", ""))
    body = next(f for eqn in verify(bounds(func)).eqns for f in eqn.regions())
    assert [eqn.op.name for eqn in body.eqns if eqn.op.name == "lt"] == ["lt"]  # of what changes
    for a, b in zip(callable_of(func)(np.arange(4.0)), callable_of(run(func))(np.arange(4.0))):
        np.testing.assert_array_equal(a, b)


def test_what_all_branches_give_is_no_result_of_the_choice():
    text = """
    func f(%c: bool[], %x: f64[3], %y: f64[3]) -> f64[3], f64[3], f64[3], f64[3] {
      %0, %1, %2, %3 = cond %c, %x, %y : f64[3], f64[3], f64[3], f64[3]
        branches[0]: func(%x: f64[3], %y: f64[3]) -> f64[3], f64[3], f64[3], f64[3] {
          %0 = add %x, %y : f64[3]
          return %x, %0, 1.0:f64[3], %0
        }
        branches[1]: func(%x: f64[3], %y: f64[3]) -> f64[3], f64[3], f64[3], f64[3] {
          return %x, %y, 1.0:f64[3], %y
        }
      return %0, %1, %2, %3
    }
    """
    func = parse(text)
    after = verify(fold(func))
    assert len(after.eqns[0].results) == 1
    assert after.results[0] is after.params[1] and after.results[1] is after.results[3] and after.results[2].value == 1.0
    for c in (False, True):
        for a, b in zip(callable_of(func)(c, np.ones(3), np.arange(3.0)), callable_of(after)(c, np.ones(3), np.arange(3.0))):
            np.testing.assert_array_equal(a, b)


def test_a_choice_within_a_choice_under_the_same_condition_has_been_made():
    text = """
    func f(%c: bool[3], %x: f64[3], %y: f64[3]) -> f64[3], bool[3] {
      %0 = select %c, %x, 0.5 : f64[3]
      %1 = mul %0, %0         : f64[3]
      %2 = select %c, %1, %y  : f64[3]
      %3 = gt %x, %y          : bool[3]
      %4 = select %c, %3, False : bool[3]
      %5 = and %c, %4         : bool[3]
      return %2, %5
    }
    """
    func = parse(text)
    after = run(func)
    assert [eqn.op.name for eqn in after.eqns] == ["mul", "select", "gt", "and"]
    args = np.array([True, False, True]), np.array([np.nan, 2.0, 3.0]), np.array([1.0, np.nan, 0.0])
    for a, b in zip(callable_of(func)(*args), callable_of(after)(*args)):
        np.testing.assert_array_equal(a, b)


def test_a_pass_that_finds_nothing_to_do_gives_back_the_function():
    build = Builder("f")
    x, y = (build.param(parse_type("f64[3]")) for _ in range(2))
    with build:
        z = sin(x) * y
        (w,) = cond(eq(reduce_max(z, axes=(0,)), 0.0), z, branches=(region(lambda x: exp(x), [z.type]), region(lambda x: neg(x), [z.type])))
    func = run(build.finish((z, w)))
    for step in PIPELINE:
        if step.__name__ != "memory":  # which tells its facts by values of its own
            assert step(func) is func, step.__name__


def test_what_does_not_change_is_the_same_equation_in_both_functions():
    func = parse("func f(%x: f64[3]) -> f64[3], f64[3] {\n %0 = sin %x : f64[3]\n %1 = neg %0 : f64[3]\n %2 = neg %1 : f64[3]\n return %1, %2\n}")
    text = show(func)
    made = simplify(func)
    assert made.params == func.params and made.eqns == func.eqns[:2] and made.results == (func.eqns[1].results[0], func.eqns[0].results[0])
    assert show(func) == text
    verify(made)
