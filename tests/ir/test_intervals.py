"""Intervals of integers: what is said of a result holds for every element of it, of every op, dtype and sample, at the ends of the dtype too."""

import itertools

import numpy as np
import pytest

from wengert.ir import intervals
from wengert.ir.core import Builder, Lit
from wengert.ir.ops import OPS
from wengert.ir.types import IRTypeError, Tensor

WIDTHS = ("i1", "u1", "i2", "u4", "i8", "u8")
UNBOUNDED = {"bitcast", "cond", "host"}  # ops of which nothing is to be said: bits of floats, other programs
OPEN = {  # ops of integers of which nothing is said yet
    "reduce_prod", "reduce_and", "reduce_or", "reduce_xor", "cumprod", "scatter_add", "scatter_mul", "dot_general", "conv_general", "top_k",
    "reduce_window_sum", "reduce_window_max", "reduce_window_min", "reduce_window_argmax", "reduce_window_argmin", "lu",
}  # fmt: skip


def integer(op):
    """(operands, attributes) of the cases that give integers, each also with other numbers of the dtype."""
    rng = np.random.default_rng(0)
    for c, width in itertools.product(op.cases, WIDTHS):
        operands, attrs = c.draw(op, rng)
        if not operands or any(not isinstance(x, np.ndarray | np.generic | int | float | complex | bool) for x in operands):
            continue
        operands = [np.asarray(x) for x in operands]
        yield operands, attrs
        if operands[0].dtype.kind == "f":
            whole = lambda x, width=width: (3 * np.nan_to_num(x, posinf=9, neginf=-9).clip(-9, 9)).astype(width) if x.dtype.kind == "f" else x
            with np.errstate(invalid="ignore"):
                yield [whole(x) for x in operands], attrs
        if operands[0].dtype == np.int64 and {x.dtype for x in operands} == {np.dtype("i8")}:
            info = np.iinfo(width)
            for low, high in ((info.min, info.max), (-5, 5), (0, 7), (-1, 1), (1, 40)):
                low = max(low, info.min)
                yield [rng.integers(low, high, x.shape, width, endpoint=True) for x in operands], attrs


def said(op, operands, attrs):
    """The intervals of the results by those of the operands' numbers."""
    build = Builder("f")
    with build:
        params = [build.param(Tensor(x.shape, x.dtype), f"x{k}") for k, x in enumerate(operands)]
        op(*params, **attrs)
    known = dict(zip(params, map(intervals.of_array, operands)))
    get = lambda x: (int(x.value),) * 2 if isinstance(x, Lit) else known.get(x)
    results = build.eqns[-1].results
    return [intervals.of_result(r, get) if r.type.kind in "iu" else None for r in results]


@pytest.mark.parametrize("op", [op for op in OPS.values() if "region" not in op.traits and op.name not in UNBOUNDED], ids=lambda op: op.name)
def test_results_lie_within(op):
    told, drawn = 0, 0
    for operands, attrs in integer(op):
        try:
            found = said(op, operands, attrs)
        except IRTypeError:
            continue
        with np.errstate(all="ignore"):
            made = op(*operands, **attrs)
        for result, interval in zip(made if op.multiple else [made], found, strict=True):
            result = np.asarray(result)
            drawn += result.dtype.kind in "iu" and result.size > 0
            if interval is not None and result.size:
                told += 1
                assert interval[0] <= result.min() and result.max() <= interval[1], (operands, attrs, interval)
    assert told > 0 or drawn == 0 or op.name in OPEN, f"{op.name} gives integers and ir/intervals.py says nothing of them"
    assert not (told and op.name in OPEN)


PAIRS = [(a, b) for a in range(-4, 5) for b in range(a, 5)]


@pytest.mark.parametrize("name", sorted(set(intervals.ARITHMETIC) - {"integer_pow", "select"}))
def test_arithmetic_is_exact_or_wider(name):
    """Every pair of small intervals, all the numbers within."""
    op = OPS[name]
    count = len(op.operands)
    parts = PAIRS if count < 3 else PAIRS[::5]
    tight = 0
    for found in itertools.product(parts, repeat=count):
        numbers = list(itertools.product(*(range(a, b + 1) for a, b in found)))
        interval = intervals.ARITHMETIC[name](*found)
        if interval is None:
            continue
        with np.errstate(all="ignore"):
            made = op(*(np.array(x, "i8") for x in zip(*numbers)))
        assert interval[0] <= made.min() and made.max() <= interval[1], (found, interval)
        tight += interval == (made.min(), made.max())
    assert tight


@pytest.mark.parametrize("n", range(6))
def test_powers(n):
    for a, b in PAIRS:
        made = [k**n for k in range(a, b + 1)]
        assert intervals.ARITHMETIC["integer_pow"]((a, b), n=n) == (min(made), max(made))
