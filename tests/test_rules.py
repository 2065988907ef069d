"""Every rule tests itself: both sides on random numbers and on zeros of both signs, infinities and NaN.

Exact rules must give the same bits; inexact ones agree on ordinary numbers, and say nothing finite
where the left side is NaN for a reason of its own. The left side is built from the pattern, the right side by the
driver, so matching is tested too.
"""

import itertools

import numpy as np
import pytest

from wengert.backends.numpy import callable_of
from wengert.ir.core import Builder, Lit, verify
from wengert.ir.op import FLOAT
from wengert.ir.ops.elementwise import cast, maximum
from wengert.ir.ops.shape import transpose
from wengert.ir.ops.transcendental import exp, log, log1p, softplus
from wengert.ir.rewrite import Hole, Pat, RewriteError, Rule, RuleSet, holes, literals, rewrite, rule
from wengert.ir.rules import EXACT, FOLD, RULES
from wengert.ir.text import parse, show
from wengert.ir.types import IRTypeError, Tensor, parse_type

DTYPES = [np.dtype(n) for n in ("f8", "f4", "c16", "i8", "u1", "?")]
LITERALS = {"f": (2.0, -0.5, 3.0, 0.1), "c": (2.0, 0.5 - 1j), "i": (2, -3), "u": (2, 5), "b": (True, False)}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.25, np.inf, -np.inf, np.nan, 1e-3, -1e10]


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


def instances(rule):
    """The programs on which a rule is tested: its cases, in every dtype and with every literal left open."""
    for case in rule.cases or ({},):
        if isinstance(case, str):
            yield parse(case)
            continue
        found = operand_holes(rule.pattern)
        for dtype in DTYPES if any(not isinstance(case.get(h.name), str) for h in found) else DTYPES[:1]:
            choices = [LITERALS[allowed(h, dtype).kind] if h.literal and h.name not in case else (case.get(h.name),) for h in found]
            for choice in itertools.product(*choices):
                try:
                    yield instance(rule.pattern, {**case, **dict(zip((h.name for h in found), choice))}, dtype)
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


def check(rule, rounds=20):
    """Raise AssertionError unless both sides of `rule` agree; returns on how many programs it fired."""
    rng, fired, rules = np.random.default_rng(0), 0, RuleSet("one", [rule])
    for left in instances(rule):
        log = []
        right = verify(rewrite(left, rules, log))
        if not log:
            continue
        fired += 1
        assert right.result_types == left.result_types
        for k in range(rounds):
            operands = (special if k % 2 else ordinary)(left.param_types, rng)
            a, b = run(left, operands)[0], run(right, operands)[0]
            if rule.exact:
                assert same_bits(a, b), f"{rule}\n{show(left)}\n{show(right)}\non {operands}\n{a}\n{b}"
            elif k % 2 == 0:
                assert close(a, b), f"{rule}\n{show(left)}\n{show(right)}\non {operands}\n{a}\n{b}"
    assert fired, f"{rule} never fired on its own cases"
    return fired


PATTERNS = [pytest.param(r, id=str(r)) for r in RULES if r.pattern is not None]


@pytest.mark.parametrize("rule", PATTERNS)
def test_rule(rule):
    check(rule)
