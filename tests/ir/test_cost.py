"""What an equation costs: every op has a rule, the rules give what is known of small cases, and operations are those that XLA counts."""

import jax
import numpy as np
import pytest
from op_cases import EVERY_OP, draw, func_of

from wengert import jit
from wengert.backends.xla import lower
from wengert.ir.cost import WEIGHT, EqnCost, cost, func_cost, has_cost, multiplications
from wengert.ir.ops import OPS
from wengert.ir.text import parse

NEAR = 0.1
CALLS = "LAPACK is called, which XLA does not count"
REGIONS = "XLA counts a body once, however often it runs, and all sides of a choice"
ELSEWHERE = "what Python or another system computes is not counted"
TEXTBOOK = "5 N log N of real operations, where XLA counts whole logarithms and takes no half for real sides"
ORDER = "XLA counts a sort by the logarithm of all elements, and what compares them"
INDEX = "values are carried with their places, whose comparisons XLA counts"
SCAN = "XLA counts a window for each element, n^2 in all; n operations are enough"
UNCOMPARED = {
    **dict.fromkeys(("solve", "tridiagonal_solve", "cholesky", "lu", "qr", "eigh", "eigvalsh", "eig", "eigvals", "svd"), CALLS),
    **dict.fromkeys(("cond", "loop", "map", "apart"), REGIONS),
    **dict.fromkeys(("host", "external", "pointwise"), ELSEWHERE),
    "recurrence": "machine code is called, or a loop, whose body XLA counts once",
}
OTHERWISE = {  # op -> why its operations are others than those that XLA counts
    **dict.fromkeys(("argmax", "argmin", "reduce_window_argmax", "reduce_window_argmin"), INDEX),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), SCAN),
    **dict.fromkeys(("sort", "top_k"), ORDER),
    "fft": TEXTBOOK,
    "reduce_sum": "a short sum is padded to whole vectors",
    "reduce_max": "the same",
    "reduce_min": "the same",
    "polygamma": "an order above 0 takes a longer series; orders share a number",
    "gather": "places outside are found by comparing them, in some modes",
    "scatter": "the same",
    **dict.fromkeys(("scatter_add", "scatter_mul", "scatter_min", "scatter_max"), "the same"),
}


def counted(op, c):
    """(operations by XLA, the cost) of a case of real numbers of eight bytes; None where XLA does not tell."""
    operands, attrs, _ = draw(op, c)
    func = func_of(op, operands, attrs)
    if any(x.dtype.kind in "cu" or x.dtype.itemsize < 8 and x.dtype.kind not in "b" for x in operands):
        return None
    with jax.enable_x64(True):
        found = jax.jit(lambda *a: lower(func, a)).lower(*operands).cost_analysis() or {}
    flops = found.get("flops", 0) + found.get("transcendentals", 0)
    return (flops, func_cost(func)) if flops > 0 else None


def near(flops, mine, most=1 + NEAR):
    return flops <= most * mine.flops and mine.flops <= most * flops


@EVERY_OP
def test_operations_are_those_that_xla_counts(op):
    assert has_cost(op)
    if op.name in UNCOMPARED:
        return
    found = [pair for c in op.cases[: None if op.name in OTHERWISE else 4] if (pair := counted(op, c))]
    if op.name in OTHERWISE:
        assert not all(near(*pair) for pair in found), "it agrees: strike it from the list"
    elif op is OPS["dot_general"] or op is OPS["integer_pow"]:  # an outer product is a broadcast; high powers are logarithms
        assert near(*found[0])
    else:
        most = 2 if op.name in WEIGHT else 1 + NEAR  # versions of jax lower some otherwise
        assert all(near(*pair, most) for pair in found), f"{found}: its number belongs in WEIGHT of ir/cost.py"


def of(text):
    return cost(parse(text).eqns[-1])


def test_bytes_are_those_that_are_touched():
    assert of("func f(%x: f64[10], %y: f64[10]) -> f64[10] {\n  %0 = add %x, %y : f64[10]\n  return %0\n}") == EqnCost(10, 160, 80)
    assert of("func f(%x: f64[10]) -> f64[10] {\n  %0 = mul %x, %x : f64[10]\n  return %0\n}") == EqnCost(10, 80, 80)
    assert of("func f(%x: f64[10]) -> f64[10] {\n  %0 = mul %x, 2.0 : f64[10]\n  return %0\n}").read == 80
    part = of("func f(%x: f32[100]) -> f32[3] {\n  %0 = slice %x start=[1] stop=[4] stride=[1] : f32[3]\n  return %0\n}")
    assert part == EqnCost(0, 12, 12)
    stored = of("func f(%x: f64[100], %u: f64[3], %i: i64[]) -> f64[100] {\n  %0 = dynamic_update_slice %x, %u, %i : f64[100]\n  return %0\n}")
    assert stored == EqnCost(0, 32, 24)


def test_a_loop_costs_its_trips_where_they_are_known():
    def steps(x, n):
        for _ in range(n):
            x = np.exp(x)
        return x

    def settle(x):
        while x.sum() > 1.0:
            x = np.exp(-x)
        return x

    (eqn,) = jit(steps).ir(np.ones(8), 50).eqns
    assert cost(eqn) == EqnCost(400, 50 * 64, 50 * 64)
    total = func_cost(jit(settle).ir(np.ones(8)))
    assert not total.known and 8 <= total.flops < 50


def test_a_choice_costs_its_dearest_side():
    def choose(x):
        return np.exp(np.tanh(x)) * x if x.sum() > 0 else -x

    choice = [eqn for eqn in jit(choose).ir(np.ones(8)).eqns if eqn.op is OPS["cond"]]
    assert cost(choice[0]).flops == 24


def test_formulas():
    body = "  %0 = dot_general %x, %y contract=[[1], [0]] batch=[[], []] : f64[3,5]\n  return %0\n}"
    assert of(f"func f(%x: f64[3,4], %y: f64[4,5]) -> f64[3,5] {{\n{body}") == EqnCost(120, 256, 120)
    assert [multiplications(n) for n in (0, 1, 2, 3, 4, 7, -1, -2)] == [0, 0, 1, 2, 2, 4, 1, 2]
    assert of("func f(%x: f64[30,30]) -> f64[30,30] {\n  %0 = cholesky %x : f64[30,30]\n  return %0\n}").flops == 9000
    assert of("func f(%x: c128[1024]) -> c128[1024] {\n  %0 = fft %x kind='fft' lengths=[1024] : c128[1024]\n  return %0\n}").flops == 51200


def test_additions_keep_what_is_not_known():
    assert EqnCost(1, 2, 3, False) + EqnCost(4, 5, 6) == EqnCost(5, 7, 9, False)
    with pytest.raises(TypeError):
        EqnCost() + (1.0,)
