"""Every rule tests itself: both sides on random numbers and on zeros of both signs, infinities and NaN.

Exact rules must give the same bits on all of them, inexact ones agree on ordinary numbers. The left
side is built from the pattern, the right side by the driver, so matching is tested too. And every rule
is shown programs on which it must not fire: those of `misses.py`, and those that stand beside it as `never`.
"""

import copy
import inspect
import itertools
import re

import numpy as np
import pytest
from misses import near_patterns, near_programs

from wengert.backends.numpy import callable_of
from wengert.ir.core import Builder, Lit
from wengert.ir.ops.elementwise import add, maximum, mul, neg
from wengert.ir.ops.shape import transpose
from wengert.ir.ops.transcendental import exp, log, log1p, logistic, softplus
from wengert.ir.pattern import Hole, Pat, holes, match_call, pattern_of
from wengert.ir.rewrite import RewriteError, RuleSet, rewrite, rule
from wengert.ir.rules import RULES
from wengert.ir.source import Source
from wengert.ir.text import parse, show
from wengert.ir.types import IRTypeError, Tensor, parse_type
from wengert.ir.verify import verify

DTYPES = [np.dtype(n) for n in ("f8", "f4", "c16", "i8", "u1", "?")]
LITERALS = {"f": (2.0, -0.5, 3.0, 0.1), "c": (2.0, 0.5 - 1j), "i": (2, -3), "u": (2, 5), "b": (True, False)}
x, y, z, p = holes("x y z p")
f = holes("f", "f")
SPECIAL = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.25, np.inf, -np.inf, np.nan, 1e-3, -1e10]


# -- the left side, as a program -------------------------------------------------------------------


def operand_holes(pattern):
    """The holes of a pattern that stand for one operand, each once."""
    if isinstance(pattern, Pat):
        return tuple(dict.fromkeys(h for x in pattern.operands for h in operand_holes(x)))
    return (pattern,) if isinstance(pattern, Hole) and not pattern.rest else ()


def allowed(hole, dtype):
    """`dtype`, or one of the kinds the hole accepts."""
    if hole.kinds is None or dtype.kind in hole.kinds:
        return dtype
    return next(d for d in DTYPES if d.kind in hole.kinds)


def instances(tested):
    """The programs on which a rule is tested: its cases, in every dtype and with every literal left open."""
    yield from programs(tested.pattern, tested.cases or ({},))


def programs(pattern, cases, refused=lambda dtype: True):
    """Those that a pattern spells in such cases, in the dtypes that are asked for."""
    for case in cases:
        if isinstance(case, str):
            yield parse(case)
            continue
        found = operand_holes(pattern)
        for dtype in filter(refused, DTYPES if any(not isinstance(case.get(h.name), str) for h in found) else DTYPES[:1]):
            choices = [LITERALS[allowed(h, dtype).kind] if h.literal and h.name not in case else (case.get(h.name),) for h in found]
            for choice in itertools.product(*choices):
                try:
                    yield instance(pattern, {**case, **dict(zip((h.name for h in found), choice))}, dtype)
                except IRTypeError:  # no such program, in this dtype
                    continue


def instance(pattern, case, dtype):
    """The function that a pattern spells, when its holes are what `case` says: a type, a number, an attribute."""
    build, made = Builder("left"), {}
    shape = next((parse_type(s).shape for s in case.values() if isinstance(s, str)), (3, 5))

    def leaf(name, spec, type):
        if name not in made:
            made[name] = build.param(parse_type(spec) if isinstance(spec, str) else type, name) if isinstance(spec, str | None) else Lit(spec, type)
        return made[name]

    def make(p):
        if isinstance(p, Hole):
            return leaf(p.name, case[p.name], Tensor(() if p.name == "v" else shape, allowed(p, dtype)))
        xs = []
        for x in p.operands:
            if isinstance(x, Hole) and x.rest:
                xs += [leaf(f"{x.name}{i}", spec, Tensor((), np.dtype("i8"))) for i, spec in enumerate(case[x.name])]
            else:
                xs.append(make(x) if isinstance(x, Hole | Pat) else x)
        xs = [Lit(x, Tensor(shape, np.dtype("?"))) if isinstance(x, bool) else x for x in xs]
        return p.op(*xs, **{k: case[v.name] if isinstance(v, Hole) else v for k, v in p.attrs.items()})

    with build:
        return verify(build.finish((make(pattern),)))


# -- numbers ---------------------------------------------------------------------------------------


def ordinary(types, rng):
    return [draw(t, rng, lambda n: rng.uniform(0.2, 2.0, n) * rng.choice([1.0, 1.0, -1.0], n)) for t in types]


def special(types, rng):
    return [draw(t, rng, lambda n: rng.choice(SPECIAL, n)) for t in types]


def draw(t, rng, real):
    if t.kind == "b":
        return np.asarray(rng.random(t.shape) < 0.5)
    if t.kind in "iu":
        low, high = (np.iinfo(t.dtype).min, np.iinfo(t.dtype).max) if rng.random() < 0.3 else (0 if t.kind == "u" else -5, 8)
        return np.asarray(rng.integers(low, high, t.shape, endpoint=True, dtype=t.dtype))
    with np.errstate(all="ignore"):
        x = real(t.shape)
        if t.kind == "c":
            z = np.empty(t.shape, "c16")
            z.real, z.imag = x, real(t.shape)
            x = z
        return np.asarray(x).astype(t.dtype)


def run(func, operands):
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in callable_of(func)(*operands)]


def same_bits(a, b):
    """The same bits, any NaN being like any other."""
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    number = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[number]), np.signbit(b[number]))


def close(a, b):
    eps = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0.0
    ok = np.isfinite(a)
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a[ok], b[ok], rtol=256 * eps, atol=256 * eps)


def same_zeros(a, b):
    """Whether what is 0 on both sides has the same sign."""
    if a.dtype.kind == "c":
        return same_zeros(a.real, b.real) and same_zeros(a.imag, b.imag)
    zero = (a == 0) & (b == 0)
    return a.dtype.kind != "f" or np.array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


def same_ends(a, b):
    """Whether both sides are NaN in the same places, and infinite."""
    return a.dtype.kind not in "fc" or np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(np.isinf(a), np.isinf(b))


def anywhere(tested):
    """A rule as derivatives have it, whatever signs it keeps."""
    free = copy.copy(tested)
    free.keeps = None
    return free


# of the solution of a system, and of powers that NumPy itself makes roots of arrays, nobody says which zero they are
SOLVED = ("solve_with_the_inverse", "solve_with_the_inverse_on_the_right", "by_substitution")


def keeps(tested, kind):
    if tested.computed and tested.replacement.__name__ in SOLVED:
        return False
    return tested.keeps is None or kind in tested.keeps


def check(tested, rounds=20):
    """AssertionError unless both sides of a rule agree wherever it fires, and it fires on one of its cases."""
    rng, fired, lost = np.random.default_rng(0), 0, tested.keeps is None
    for left in instances(tested):
        firings = []
        right = verify(rewrite(left, RuleSet("tested", [anywhere(tested)]), firings))
        if not firings:
            continue
        fired += 1
        for k in range(rounds):
            operands = (special if k % 2 else ordinary)(left.param_types, rng)
            a, b = run(left, operands)[0], run(right, operands)[0]
            held, signs = keeps(tested, left.results[0].type.kind), same_zeros(a, b)
            agree = same_bits(a, b) if tested.exact else (k % 2 or close(a, b)) and (signs or not held)
            lost |= not held and not (signs and same_ends(a, b))
            assert agree, f"{tested}\n{show(left)}\n{show(right)}\non {operands}\n{a}\n{b}"
    assert fired, f"{tested} never fired on its own cases"
    assert lost, f"{tested} keeps more than it says"


@pytest.mark.parametrize("tested", [pytest.param(r, id=str(r)) for r in RULES if r.pattern is not None])
def test_rule(tested):
    check(tested)


def emptied(case):
    """A case with no elements along one axis, for each size that its types have."""
    types = [name for name, spec in case.items() if isinstance(spec, str) and "[" in spec]
    sizes = sorted({n for name in types for n in parse_type(case[name]).shape if n})
    for n in sizes:
        yield case | {name: re.sub(rf"(?<=[\[,]){n}(?=[\],])", "0", case[name]) for name in types}


@pytest.mark.parametrize("tested", [pytest.param(r, id=str(r)) for r in RULES if r.pattern is not None])
def test_rule_of_nothing(tested):
    """Where there are no elements a rule may fire or not, and raises nothing."""
    rng = np.random.default_rng(0)
    cases = [small for case in tested.cases or () if not isinstance(case, str) for small in emptied(case)]
    for left in programs(tested.pattern, cases):
        right = verify(rewrite(left, RuleSet("tested", [anywhere(tested)])))
        operands = ordinary(left.param_types, rng)
        assert close(run(left, operands)[0], run(right, operands)[0])


def fires(tested, func):
    firings = []
    rewrite(func, RuleSet("tested", [anywhere(tested)]), firings)
    return bool(firings)


def misses(tested):
    """Programs on which a rule must not fire."""
    if tested.pattern is None:
        yield from map(parse, tested.never)
        return
    yield from programs(tested.pattern, tested.never)
    for near in near_patterns(tested):
        yield from programs(near.pattern, near.cases or ({},), near.refused)
    for func in instances(tested):
        if fires(tested, func):
            yield from near_programs(tested, func)


ALWAYS = {"stop_gradient(x) -> x": "it asks nothing but the op"}  # rules that no such program can be drawn for, and why


@pytest.mark.parametrize("tested", [pytest.param(r, id=str(r)) for r in RULES if r.text not in ALWAYS])
def test_rule_misses(tested):
    count = 0
    for func in misses(tested):
        count += 1
        assert not fires(tested, func), f"{tested} fires on\n{show(func)}"
    assert count, f"{tested} is shown no program on which it must not fire"


UNCONDITIONAL = """
merge_transposes merge_broadcasts merge_reverses merge_slices merge_reductions sum_of_splat sum_of_multiples
""".split()  # computed, and for whatever fits the pattern


@pytest.mark.parametrize("tested", [pytest.param(r, id=str(r)) for r in RULES if r.where is not None or r.computed])
def test_conditions_decline_what_fits_the_pattern(tested):
    """So it is the condition that `never` shows, not the pattern."""
    if tested.computed and tested.replacement.__name__ in UNCONDITIONAL:
        assert not tested.never and "return None" not in inspect.getsource(tested.replacement)
        return
    shown = map(parse, tested.never) if tested.pattern is None else programs(tested.pattern, tested.never)
    fitting = [func for func in shown if any(fits(tested, eqn) for eqn in func.eqns)]
    assert fitting, f"{tested} has a condition, and no program that fits but for that"


def fits(tested, eqn):
    """Whether an equation fits the pattern, whatever the condition says."""
    if tested.pattern is None:
        return True  # `test_rule_misses` shows that it does not fire; `fits` is part of its condition
    return eqn.op is tested.pattern.op and any(True for _ in match_call(tested.pattern, eqn.operands, eqn.attrs, {}))


def test_a_wrong_rule_is_caught():
    with pytest.raises(AssertionError, match="log"):
        check(rule(log(x * y), log(x) - log(y), exact=False))


def test_a_rule_wrongly_called_exact_is_caught():
    check(rule(x + 0.0, x, exact=False, keeps=""))
    with pytest.raises(AssertionError, match="0.0"):
        check(rule(x + 0.0, x))


def test_a_rule_that_wrongly_keeps_signs_is_caught():
    with pytest.raises(AssertionError, match="0.0"):
        check(rule(x + 0.0, x, exact=False))
    with pytest.raises(AssertionError, match="keeps more than it says"):
        check(rule(f * 1.0, f, exact=False, keeps=""))


def test_a_rule_that_loses_signs_is_for_derivatives():
    loses = RuleSet("loses", [rule(x + 0.0, x, exact=False, keeps="i")])
    for mark, left in ("", 1), ("vjp", 0):
        build = Builder("f")
        build.source = Source(check.__code__, 0, mark)
        with build:
            out = build.param(parse_type("f64[2]"), "a") + 0.0
        assert len(rewrite(build.finish((out,)), loses).eqns) == left


def test_a_rule_that_never_fires_is_caught():
    with pytest.raises(AssertionError, match="never fired"):
        check(rule(add(x, y), mul(x, y), where=lambda: False))


# -- matching --------------------------------------------------------------------------------------


def first(rules, function, *types):
    """What the equations of `function` on parameters of `types` become; with the log."""
    build, log = Builder("f"), []
    with build:
        out = function(*[build.param(parse_type(t), f"x{i}") for i, t in enumerate(types)])
    return show(verify(rewrite(build.finish((out,)), RuleSet("test", rules), log))).splitlines()[1:-2], log


def body(*args):
    return [line.split(":")[0].strip() for line in first(*args)[0]]


def test_commutative_calls_match_in_both_orders_at_every_depth():
    fused = rule((x * y + z) * x, softplus(x))
    found = [body([fused], f, *["f64[2]"] * 3) for f in (
        lambda x, y, z: (x * y + z) * x, lambda x, y, z: (y * x + z) * x, lambda x, y, z: x * (z + x * y), lambda x, y, z: x * (z + y * x),
    )]  # fmt: skip
    assert found == [["%0 = softplus %x0"]] * 4


def test_the_matcher_backtracks():
    """Both products fit (x * y), only one reading gives x twice."""
    both = rule(x * y + x * z, softplus(x))
    assert body([both], lambda a, b, c: b * a + c * b, *["f64[2]"] * 3) == ["%0 = softplus %x1"]
    twice = rule((x + y) * (y + z), softplus(y))
    assert body([twice], lambda a, b, c: (a + b) * (c + a), *["f64[2]"] * 3) == ["%0 = softplus %x0"]


def test_the_same_hole_is_the_same_value():
    assert body([rule(maximum(x, x), x)], lambda a, b: maximum(a, b), "f64[2]", "f64[2]") == ["%0 = maximum %x0, %x1"]


def test_numbers_match_exactly():
    pairs = (0.0, 0.0, True), (0.0, -0.0, False), (-0.0, -0.0, True), (2.0, 2.0, True), (np.nan, np.nan, True), (1.0, np.nan, False)
    for number, literal, fits in pairs:
        lines = body([rule(x * number, x)], lambda a, literal=literal: a * literal, "f64[2]")
        assert (lines == []) == fits, (number, literal)
    assert body([rule(maximum(x, True), x)], lambda a: maximum(a, 1), "i64[2]") != []
    assert body([rule(maximum(x, 0.5), x)], lambda a: maximum(a, 0), "i64[2]") != []


def test_attributes_are_held_or_compared():
    seen = []

    @RuleSet("seen").rule(transpose(transpose(x, perm=p), perm=p))
    def note(x, p):
        seen.append(p)
        return x

    twice = lambda p, q: lambda a: transpose(transpose(a, perm=p), perm=q)
    assert body([note], twice((1, 0), (1, 0)), "f64[2,2]") == [] and seen == [(1, 0)]
    assert len(body([note], twice((1, 0, 2), (0, 2, 1)), "f64[2,2,2]")) == 2


def test_two_functions_state_a_rule():
    left, right = (pattern_of(parse(text)) for text in ("""func f(%a: f64[], %b: f64[]) -> f64[] {
      %0 = exp %a     : f64[]
      %1 = mul %0, 2.0 : f64[]
      %2 = add %1, %b : f64[]
      return %2
    }""", """func f(%a: f64[], %b: f64[]) -> f64[] {
      %0 = maximum %b, %a : f64[]
      return %0
    }"""))  # fmt: skip
    stated = rule(left, right)
    assert stated.text == "exp(a) * 2.0 + b -> maximum(b, a)"
    assert body([stated], lambda u, v: v + 2.0 * exp(u), "f32[3]", "f32[3]") == ["%0 = maximum %x1, %x0"]


# -- the driver ------------------------------------------------------------------------------------


def test_rules_print_as_equations_with_their_line():
    assert str(rule(log1p(exp(x)), softplus(x))).startswith("log1p(exp(x)) -> softplus(x)  test_rules.py:")
    assert rule(-(x - y) / (2.0 * x), (y - x) / 2.0).text == "-(x - y) / (2.0 * x) -> (y - x) / 2.0"
    assert rule(transpose(x, perm=p), x).text == "transpose(x, perm=p) -> x"


def test_firings_are_logged_in_order():
    _, log = first(RULES, lambda a: log1p(exp(neg(neg(a)))), "f64[2]")
    assert [r.text for r, _ in log] == ["--x -> x", "log1p(exp(f)) -> softplus(f)"]


def test_rules_that_undo_each_other_are_named():
    one, two = rule(x * y, x / y), rule(x / y, x * y)
    with pytest.raises(RewriteError, match="undo each other") as error:
        first([one, two], lambda a, b: a * b, "f64[2]", "f64[2]")
    assert str(one) in str(error.value) and str(two) in str(error.value)


def test_a_rule_that_changes_the_type_is_named():
    with pytest.raises(RewriteError, match=r"transpose\(x, perm=p\) -> x .* turned transpose of type \[f64\[3,2\]\] into \[f64\[2,3\]\]"):
        first([rule(transpose(x, perm=p), x)], lambda a: transpose(a, perm=(1, 0)), "f64[2,3]")


def test_no_rule_makes_a_program_longer():
    common = [rule(x * y + x * z, x * (y + z))]
    assert len(body(common, lambda a, b, c: a * b + a * c, *["f64[2]"] * 3)) == 2
    assert len(body(common, lambda a, b, c: (a * b + a * c) / (a * b), *["f64[2]"] * 3)) == 4
    kept = body(common, lambda a, b, c: (a * b + a * c) / (a * b - a * c), *["f64[2]"] * 3)
    assert kept == ["%0 = mul %x0, %x1", "%1 = mul %x0, %x2", "%2 = add %0, %1", "%3 = sub %0, %1", "%4 = div %2, %3"]


def test_a_rule_that_pays_once_needs_the_only_reader():
    back = [rule(exp(log(x)), x, once=True)]
    assert body(back, lambda a: exp(log(a)), "f64[2]") == []
    assert len(body(back, lambda a: exp(log(a)) * log(a), "f64[2]")) == 3


def test_replacements_are_rewritten_again():
    assert body(RULES, lambda a: neg(mul(neg(a), 2.0)), "f64[2]") == ["%0 = mul %x0, 2.0"]


def test_names_of_the_user_survive():
    text = """func f(%x: f64[3]) -> f64[3] {
      %0 = exp %x    : f64[3]
      %z = log1p %0  : f64[3]
      %y = mul -1.0, %z : f64[3]
      return %y
    }"""
    assert "%z = softplus %x" in show(rewrite(parse(text), RULES)) and "%y = neg %z" in show(rewrite(parse(text), RULES))


def test_sources_are_those_of_what_was_replaced():
    source = Source(test_sources_are_those_of_what_was_replaced.__code__, 0)
    build = Builder("f")
    with build:
        a = build.param(parse_type("f64[2]"))
        build.source = source
        out = log(logistic(a))
    func = rewrite(build.finish((out,)), RULES)
    assert len(func.eqns) == 3 and all(eqn.source is source for eqn in func.eqns)


def test_ten_thousand_equations_do_not_recurse():
    """Chains of readers and of matches are walked, not descended."""
    build = Builder("f")
    with build:
        v = build.param(parse_type("f64[2]"))
        for _ in range(3000):
            v = exp(neg(neg(v)) * 1.0)
    assert len(rewrite(build.finish((v,)), RULES).eqns) == 3000
