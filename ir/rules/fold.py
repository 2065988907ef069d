"""Equations on known numbers become numbers, computed by the op's own NumPy body."""

import numpy as np

from ..core import Constant, Lit, Value
from ..ops.reduction import argmax, argmin, reduce_and, reduce_max, reduce_min, reduce_or
from ..ops.shape import constant, iota
from ..pattern import Pat, holes
from ..rewrite import RuleSet
from ..setting import OF_ALL_SIZES
from ..types import type_of

SMALL = 64  # bound: elements of an array that may be computed while compiling

SAME_OF_SPLAT = (reduce_and, reduce_or, reduce_max, reduce_min, argmax, argmin)

FOLD = RuleSet("fold")
rule = FOLD.rule
v = holes("v")


@rule(Pat(constant, (), {"value": v}), cases=[{"v": Constant(np.full((2, 3), 1.5))},
    {"v": Constant(np.array([0.0, -0.0]))}],
      never=[{"v": Constant(np.array([0.0, -0.0]))}])  # fmt: skip
def splat(v):
    """A constant that repeats one number is a literal."""
    return Lit(v.array.flat[0], type_of(v.array)) if uniform(v.array) else None


def uniform_value(x):
    """The number an elementwise op sees at every position of x, or None."""
    return x.value if isinstance(x, Lit) else None


def is_constant(x):
    return isinstance(x, Value) and x.eqn is not None and x.eqn.op is constant


def array(x):
    """The small array x is known to be, or None."""
    if x.type.size > SMALL or OF_ALL_SIZES.get() and x.type.size > 1 and not is_constant(x):
        return None
    if isinstance(x, Lit):
        return np.full(x.type.shape, x.value)
    if is_constant(x):
        return x.eqn.attrs["value"].array
    if isinstance(x, Value) and x.eqn is not None and x.eqn.op is iota:
        return iota.body(**x.eqn.attrs)
    return None


def is_foldable(op, heads):
    """Every operand, and not Python to be run or a loop."""
    return bool(heads) and "region" not in op.traits and all(h in (Lit, constant, iota) for h in heads)


@rule(None, fits=is_foldable, never=["""
    func large() -> i64[65] {
      %0 = iota shape=[65] axis=0 dtype=i64 : i64[65]
      %1 = add %0, %0 : i64[65]
      return %1
    }"""])  # fmt: skip
def evaluate(op, operands, attrs):
    """Elementwise ops of splats are splats of any size; other results must be small."""
    types = op.result_types(operands, attrs)
    splat = "elementwise" in op.traits and all(isinstance(x, Lit) for x in operands)
    arguments = [uniform_value(x) if splat else array(x) for x in operands]
    most = min(SMALL, max(x.type.size for x in operands)) if OF_ALL_SIZES.get() else SMALL  # by a size it may grow
    if any(x is None for x in arguments) or any(t.size > most for t in types if not splat):
        return None
    with np.errstate(all="ignore"):
        out = op.body(*arguments, **attrs)
    results = [np.asarray(x) for x in (out if op.multiple else (out,))]
    if any(x.dtype != t.dtype for x, t in zip(results, types, strict=True)):
        return None
    made = tuple(as_known(x, t) for x, t in zip(results, types, strict=True))
    return made if op.multiple else made[0]


@rule(None, fits=lambda op, heads: op in SAME_OF_SPLAT and heads[0] is Lit,
      where=lambda operands: operands[0].type.size > 0, never=["""
    func empty() -> bool[] {
      %0 = reduce_and False:bool[0] axes=[0] : bool[]
      return %0
    }"""])  # fmt: skip
def of_alike(op, operands, attrs):
    """The least or the greatest of numbers that are all the same, and the like; the first place of them."""
    (t,) = op.result_types(operands, attrs)
    return Lit(0 if op in (argmax, argmin) else operands[0].value, t)


def as_known(x, type):
    return Lit(x.flat[0], type) if uniform(x) else constant(value=Constant(x))


def uniform(x):
    """Whether all elements hold the same bits; the first and the last are asked first, for most arrays need no more."""
    if not x.size or x.flat[0].tobytes() != x.flat[-1].tobytes():
        return False
    bits = np.frombuffer(x.tobytes(), np.uint8).reshape(-1, x.itemsize)
    return bool((bits == bits[0]).all())
