"""What ops say of themselves, tested on each that says so, and on those that do not: traits and cost. Names no op but where it says why."""

import numpy as np
import pytest

from wengert.ir.core import Builder
from wengert.ir.op import Cost
from wengert.ir.ops import OPS
from wengert.ir.ops.shape import broadcast
from wengert.ir.pipeline import run
from wengert.ir.types import parse_type

KINDS = {"elementwise", "moves", "joins", "reduction", "cumulative", "region"}
SAME = {"reduce_max", "reduce_min", "cummax", "cummin", "sort"}  # elements of the operand too, chosen by their values
SLOW = [op for op in OPS.values() if "elementwise" in op.traits and op.cost >= Cost.DIVISION and not op.attrs]


def runs(op):
    """(operands, attributes, results) of every case of an op."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for c in op.cases:
            operands, attrs = c.draw(op, rng)
            found = op(*operands, **attrs)
            yield operands, attrs, [np.asarray(r) for r in (found if op.multiple else (found,))]


def within(result, operands):
    """Whether all elements are elements of operands, bit by bit."""
    bits = lambda x: {x.dtype.str + e.tobytes().hex() for e in np.asarray(x).ravel()}
    return bits(result) <= set().union(*map(bits, operands))


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_words_are_known(op):
    assert op.traits <= KINDS | {"commutative", "exact", "stepwise", "masks_nan"}
    assert len(op.traits & KINDS) <= 1


@pytest.mark.parametrize("op", [op for op in OPS.values() if "region" not in op.traits], ids=lambda op: op.name)
def test_what_moves_computes_nothing(op):
    found = list(runs(op))
    if "moves" in op.traits:
        assert found and all(within(r, xs[:1]) for xs, _, results in found for r in results) and op.cost is Cost.MOVE
    elif "joins" in op.traits:
        assert found and all(within(r, xs) for xs, _, results in found for r in results) and op.cost is Cost.MOVE
    elif op.operands and op.cost > Cost.STEP:
        assert op.name in SAME or not all(within(r, xs[:1]) for xs, _, results in found for r in results)


@pytest.mark.parametrize("op", [op for op in OPS.values() if "elementwise" not in op.traits], ids=lambda op: op.name)
def test_only_elementwise_ops_cost_by_the_element(op):
    assert op.cost in (Cost.MOVE, Cost.WHOLE)


@pytest.mark.parametrize("op", [op for op in OPS.values() if "commutative" in op.traits], ids=lambda op: op.name)
def test_commutative(op):
    for (x, y), attrs, (result,) in runs(op):
        with np.errstate(all="ignore"):
            assert np.allclose(op(y, x, **attrs), result, rtol=1e-14, atol=0, equal_nan=True)  # complex products round in either order


@pytest.mark.parametrize("op", SLOW, ids=lambda op: op.name)
def test_what_costs_more_than_reading_is_computed_before_it_is_repeated(op):
    """Even where the repeated operands are read otherwise too."""
    dtype = next((d for d in ("f64", "i64") if takes(op, d)), None)
    if dtype is None or op.variadic:
        pytest.skip("takes other operands than floats or ints of one dtype")
    build = Builder("f")
    with build:
        small = [build.param(parse_type(f"{dtype}[5]"), f"x{k}") for k, _ in enumerate(op.operands)]
        wide = [broadcast(x, shape=(7, 5), dims=(1,)) for x in small]
        func = build.finish([op(*wide), *wide])
    kept = [e for e in run(func).eqns if "elementwise" in e.op.traits]
    assert kept and all(e.results[0].type.shape == (5,) for e in kept)


def takes(op, dtype):
    return any(len(c.specs) and all(isinstance(s, str) and s.startswith(dtype) for s in c.specs) for c in op.cases)


# -- floats ----------------------------------------------------------------------------------------

NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, -7.25, 1e6)
FLOATS = [op for op in OPS.values() if "elementwise" in op.traits and not op.variadic and takes(op, "f64")]
BIG = np.array([0.0, -0.0, 1.5, -2.5, 1e308, -1e308, np.inf, -np.inf, np.nan, 2.0**-1070])


def of_floats(op):
    """The operands and attributes of the cases of an op of float64 alone."""
    rng = np.random.default_rng(0)
    for c in op.cases:
        if c.specs and all(isinstance(s, str) and s.startswith("f64") for s in c.specs):
            yield c.draw(op, rng)


@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
def test_nan_of_any_operand_is_kept(op):
    """Or the op says that it masks NaN, and does so for some operand beside some number."""
    masked = False
    for operands, attrs in of_floats(op):
        for k, other in [(k, other) for k in range(len(operands)) for other in (None, np.inf, -np.inf, *NUMBERS)]:
            xs = [np.array(x) if other is None else np.full_like(x, other) for x in operands]
            xs[k][...] = np.nan
            with np.errstate(all="ignore"):
                result = np.asarray(op(*xs, **attrs))
            masked |= result.dtype.kind not in "fc" or not np.isnan(result).all()
    assert masked == ("masks_nan" in op.traits)


@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
def test_a_step_has_no_slope(op):
    """Near numbers at which nothing is decided; other ops have one somewhere."""
    moved = False
    for operands, attrs in of_floats(op):
        near = [np.asarray(x) * (1 + 1e-7) for x in operands[:1]] + operands[1:]
        with np.errstate(all="ignore"):
            before, after = np.asarray(op(*operands, **attrs)), np.asarray(op(*near, **attrs))
        moved |= bool((before != after).any())
    assert moved == ("stepwise" not in op.traits) or op.name in ("is_finite", "bitcast", "copysign", "cast")


@pytest.mark.parametrize("op", [op for op in FLOATS if "exact" in op.traits and not op.attrs], ids=lambda op: op.name)
def test_what_is_exact_raises_no_flag_and_needs_no_rounding(op):
    grids = np.meshgrid(*[BIG] * len(op.operands))
    xs = [g.ravel() for g in grids]
    if op.name == "clamp":
        xs = [np.minimum(xs[0], xs[2]), xs[1], np.maximum(xs[0], xs[2])]
    with np.errstate(all="raise"):
        op(*xs)
    narrow = [x.astype("f4") for x in np.meshgrid(*[np.float32([0, 1.5, -2.5, 3e38, np.inf, np.nan, 1e-40])] * len(op.operands))]
    if op.name == "clamp":
        narrow = [np.minimum(narrow[0], narrow[2]), narrow[1], np.maximum(narrow[0], narrow[2])]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(op(*narrow), op(*(x.astype("f8") for x in narrow)))


@pytest.mark.parametrize("op", [op for op in FLOATS if "exact" not in op.traits], ids=lambda op: op.name)
def test_what_is_not_exact_rounds_somewhere(op):
    rounds = op.name in ("rounded", "cast")  # says so to the compilers; another dtype
    for operands, attrs in of_floats(op):
        narrow = [np.asarray(x, "f4") for x in operands]
        with np.errstate(all="ignore"):
            rounds |= bool((op(*narrow, **attrs) != op(*(x.astype("f8") for x in narrow), **attrs)).any())
    assert rounds
