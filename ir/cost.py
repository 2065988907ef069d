"""What one execution of an equation costs: floating point operations, and bytes read and written.

A count of the program, not of a machine. Unlike the profile of an executable it knows nothing of fusion: an equation
reads its operands from memory and writes its results there.

flops: arithmetic, comparisons, conversions and transcendental functions count one each, as XLA counts them (which lists
the last apart, as `transcendentals`); a complex operation counts one too. Ops that are lowered as several operations
count what XLA counts of these (`WEIGHT`, which tests/ir/test_cost.py compares). Products, convolutions,
transforms and factorisations count by their textbook formulas: real operations of a real matrix (G. H. Golub, C. F. Van
Loan, Matrix Computations, 4th ed.; J. W. Cooley, J. W. Tukey, 1965).
bytes: splats take none, views (`reshape`) neither; what reads or stores a part of an array counts that part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .core import Eqn, Func, Lit
from .op import Op
from .ops import OPS
from .table import RuleTable
from .types import Tensor


class EqnCost(NamedTuple):
    """flops: operations; read, written: bytes; known: False where the rest is a lower bound, because data decide how
    often a loop runs, or because Python or another system computes."""

    flops: float = 0.0
    read: int = 0
    written: int = 0
    known: bool = True

    def __add__(self, other: tuple[object, ...]) -> EqnCost:
        if not isinstance(other, EqnCost):
            return NotImplemented
        return EqnCost(
            self.flops + other.flops, self.read + other.read, self.written + other.written, self.known and other.known
        )

    def times(self, n: int) -> EqnCost:
        """n executions."""
        return EqnCost(self.flops * n, self.read * n, self.written * n, self.known)

    def unsure(self) -> EqnCost:
        return self._replace(known=False)

    @property
    def bytes(self) -> int:
        return self.read + self.written


ZERO = EqnCost()
Rule = Callable[[Eqn], EqnCost]
COST: RuleTable[Rule] = RuleTable("cost")  # of ops that no trait tells about


def cost(eqn: Eqn) -> EqnCost:
    """The cost of ONE execution of an equation; one with regions costs these, as often as they run.

    A choice costs its dearest side. A loop whose trip count is data, or that may end early, counts one trip and is not
    `known`. KeyError for an op with neither a rule nor a trait that tells.
    """
    rule = COST.get(eqn.op) or by_traits(eqn.op)
    return rule(eqn) if rule is not None else COST[eqn.op](eqn)


def func_cost(func: Func) -> EqnCost:
    """The sum over the equations of a function."""
    total = ZERO
    for eqn in func.eqns:
        total += cost(eqn)
    return total


def has_cost(op: Op) -> bool:
    """Whether `cost` knows what an op takes."""
    return COST.get(op) is not None or by_traits(op) is not None


def by_traits(op: Op) -> Rule | None:
    """The rule of an op that its traits tell, or None."""
    if "elementwise" in op.traits:
        return elementwise_cost
    if "reduction" in op.traits:
        return lambda eqn: touched(eqn, eqn.operands[0].type.size - eqn.results[0].type.size)
    if "cumulative" in op.traits:
        return lambda eqn: touched(eqn, operations(eqn) * eqn.results[0].type.size)
    return part_cost if op.traits & {"moves", "joins"} else None


# -- bytes -----------------------------------------------------------------------------------------


def bytes_in(t: Tensor) -> int:
    """What an array of a type takes in memory."""
    return t.size * t.dtype.itemsize


def read_by(eqn: Eqn) -> int:
    """Bytes of the operands, each counted once."""
    return sum(bytes_in(x.type) for x in dict.fromkeys(eqn.operands) if not isinstance(x, Lit))


def written_by(eqn: Eqn) -> int:
    return sum(bytes_in(r.type) for r in eqn.results)


def touched(eqn: Eqn, flops: float = 0.0) -> EqnCost:
    """All operands read, all results written, and that many operations."""
    return EqnCost(float(max(flops, 0)), read_by(eqn), written_by(eqn))


def part_cost(eqn: Eqn) -> EqnCost:
    """Of ops that move elements: they read no more than they write, nor than there is."""
    return EqnCost(0.0, min(read_by(eqn), written_by(eqn)), written_by(eqn))


def store_cost(eqn: Eqn, flops: float = 0.0) -> EqnCost:
    """Of stores into an array, done in place: what is stored is read (and where), and the array there, if it is
    combined with it."""
    u = eqn.operands[1 if eqn.op is OPS["dynamic_update_slice"] else 2]
    there = bytes_in(u.type)
    others = sum(bytes_in(x.type) for x in eqn.operands[1:] if not isinstance(x, Lit))
    return EqnCost(flops, others + (there if flops else 0), there)


# -- elementwise -----------------------------------------------------------------------------------

# operations an element where it is not one, of a real operand of double precision, as XLA counts its lowering
WEIGHT = {
    "sign": 3, "strong_mul": 3, "quotient": 3, "clamp": 8, "nextafter": 23, "copysign": 7, "trunc": 4, "rounded": 5,
    "population_count": 3, "cbrt": 10, "exp2": 21, "log2": 21, "log10": 22, "log1p": 6, "asin": 7, "acos": 5,
    "sinh": 29, "cosh": 8, "asinh": 14, "acosh": 11, "atanh": 17, "logistic": 4, "softplus": 8, "logaddexp": 10,
    "hypot": 16, "erfc": 89, "erf_inv": 205, "gamma": 92, "lgamma": 194, "digamma": 92, "polygamma": 92, "zeta": 92,
    "igamma": 288, "igammac": 284, "igamma_slope": 266, "betainc": 716, "betainc_slope": 564, "bessel_i0e": 174,
    "bessel_i1e": 174, "stop_gradient": 0, "cumlogsumexp": 10, "recurrence": 2,
}  # fmt: skip
WHOLE = {"rem": 4, "clamp": 2}  # of integers, where it is another number


def operations(eqn: Eqn) -> int:
    """Operations an element of the result."""
    if eqn.op is OPS["integer_pow"]:
        return multiplications(eqn.attrs["n"])
    if eqn.op is OPS["cast"]:
        return int(eqn.operands[0].type is not eqn.results[0].type)
    name = eqn.op.name
    if not eqn.operands[0].type.inexact and name in WHOLE:
        return WHOLE[name]
    return WEIGHT.get(name, 1)


def multiplications(n: int) -> int:
    """Of the n-th power by repeated squaring, and the division where n is negative."""
    k = abs(n)
    return max(k.bit_length() - 1 + k.bit_count() - 1, 0) + (n < 0) if k else 0


def elementwise_cost(eqn: Eqn) -> EqnCost:
    return touched(eqn, operations(eqn) * eqn.results[0].type.size)


# -- regions ---------------------------------------------------------------------------------------


def region_cost(eqn: Eqn) -> EqnCost:
    total = ZERO
    for func in eqn.regions():
        total += func_cost(func)
    return total


def choice_cost(eqn: Eqn) -> EqnCost:
    """The dearest side, by operations and bytes."""
    return max(map(func_cost, eqn.attrs["branches"]), key=lambda c: c.flops + c.bytes)


def loop_cost(eqn: Eqn) -> EqnCost:
    once, trips = region_cost(eqn), eqn.attrs["trips"]
    return once.times(trips) if trips is not None and eqn.attrs["test"] is None else once.unsure()


def unseen_cost(eqn: Eqn) -> EqnCost:
    """Of what Python or another system computes: what goes there and comes back."""
    return touched(eqn).unsure()


COST.add({
    OPS["cond"]: choice_cost,
    OPS["loop"]: loop_cost,
    OPS["map"]: lambda eqn: region_cost(eqn).times(eqn.attrs["size"]),
    OPS["call"]: region_cost,
    OPS["apart"]: region_cost,
    OPS["host"]: unseen_cost,
    OPS["external"]: unseen_cost,
    OPS["pointwise"]: unseen_cost,
})  # fmt: skip


# -- shapes and indices ----------------------------------------------------------------------------


def gather_cost(eqn: Eqn) -> EqnCost:
    """The elements that are picked, and the places of them."""
    places = eqn.operands[1].type
    return EqnCost(0.0, written_by(eqn) + bytes_in(places), written_by(eqn))


def combined_cost(eqn: Eqn) -> EqnCost:
    return store_cost(eqn, float(eqn.operands[2].type.size))


COST.add({
    OPS["constant"]: lambda eqn: ZERO,
    OPS["iota"]: touched,
    OPS["reshape"]: lambda eqn: ZERO,
    OPS["dynamic_update_slice"]: store_cost,
    OPS["gather"]: gather_cost,
    OPS["scatter"]: store_cost,
    **{OPS[f"scatter_{kind}"]: combined_cost for kind in ("add", "mul", "min", "max")},
})  # fmt: skip


# -- reductions, sorting, windows ------------------------------------------------------------------


def sort_cost(eqn: Eqn) -> EqnCost:
    """A comparison for each element and level of a merge sort."""
    t = eqn.operands[0].type
    n = t.shape[eqn.attrs["axis"]] if t.shape else 1
    return touched(eqn, t.size * math.ceil(math.log2(n)) if n > 1 else 0)


def top_k_cost(eqn: Eqn) -> EqnCost:
    t = eqn.operands[0].type
    return touched(eqn, t.size * math.ceil(math.log2(t.shape[-1])) if t.shape and t.shape[-1] > 1 else 0)


def window_cost(eqn: Eqn) -> EqnCost:
    """One operation less than there are elements in each window."""
    return touched(eqn, eqn.results[0].type.size * (math.prod(eqn.attrs["window"]) - 1))


COST.add({
    **{OPS[name]: (lambda eqn: touched(eqn, eqn.operands[0].type.size)) for name in ("argmax", "argmin")},
    **{OPS[f"reduce_window_{kind}"]: window_cost for kind in ("sum", "max", "min", "argmax", "argmin")},
    OPS["sort"]: sort_cost,
    OPS["top_k"]: top_k_cost,
    OPS["draw"]: lambda eqn: touched(eqn, eqn.results[-1].type.size).unsure(),
})  # fmt: skip


# -- products, transforms, convolutions ------------------------------------------------------------


def product_cost(eqn: Eqn) -> EqnCost:
    """2 m n k: a multiplication and an addition for each element of the result and each that is contracted."""
    x = eqn.operands[0].type
    contracted = math.prod([x.shape[a] for a in eqn.attrs["contract"][0]])
    return touched(eqn, eqn.results[0].type.size * (2 * contracted if eqn.attrs["contract"][0] else 1))


def fft_cost(eqn: Eqn) -> EqnCost:
    """5 N log2 N real operations for each transform of N numbers, half of it where one side is real."""
    lengths = eqn.attrs["lengths"]
    n, rank = math.prod(lengths), len(lengths)
    runs = math.prod(eqn.results[0].type.shape[: eqn.results[0].type.ndim - rank])
    real = 0.5 if eqn.attrs["kind"] in ("rfft", "irfft") else 1.0
    return touched(eqn, 5 * real * runs * n * math.log2(n) if n > 1 else 0)


def taps(n: int, k: int, out: int, stride: int, low: int, lhs_dilation: int, rhs_dilation: int) -> int:
    """Pairs of a position and a tap along one axis that meet an element and neither padding nor a gap."""
    at = stride * np.arange(out)[:, None] + rhs_dilation * np.arange(k) - low
    return int(((at >= 0) & (at <= (n - 1) * lhs_dilation) & (at % lhs_dilation == 0)).sum())


def convolution_cost(eqn: Eqn) -> EqnCost:
    """A multiplication and an addition for each element of x that meets a tap."""
    attrs = eqn.attrs
    xs, ws, zs = attrs["dimension_numbers"]
    x, w, z = (
        [t.shape[d] for d in order]
        for t, order in zip((*(y.type for y in eqn.operands), eqn.results[0].type), (xs, ws, zs), strict=True)
    )
    met = [
        taps(n, k, out, stride, pad[0], a, b)
        for n, k, out, stride, pad, a, b in zip(
            x[2:], w[2:], z[2:], attrs["strides"], attrs["padding"], attrs["lhs_dilation"], attrs["rhs_dilation"],
            strict=True,
        )
    ]  # fmt: skip
    return touched(eqn, 2 * z[0] * z[1] * w[1] * math.prod(met))


COST.add({
    OPS["dot_general"]: product_cost,
    OPS["fft"]: fft_cost,
    OPS["conv_general"]: convolution_cost,
})  # fmt: skip


# -- linear algebra: leading terms of the textbook counts, per matrix ------------------------------


def matrices_of(t: Tensor) -> int:
    return math.prod(t.shape[:-2])


def dense_cost(flops: Callable[..., float]) -> Rule:
    """A rule of `flops(m, n)` of each m x n matrix of the first operand, and with columns of the second one after
    them."""

    def rule(eqn: Eqn) -> EqnCost:
        t = eqn.operands[0].type
        return touched(eqn, matrices_of(t) * flops(*t.shape[-2:], *(x.type.shape[-1] for x in eqn.operands[1:])))

    return rule


def triangular_cost(eqn: Eqn) -> EqnCost:
    """n^2 for each right side."""
    return touched(eqn, eqn.operands[1].type.size * eqn.operands[0].type.shape[-1])


def tridiagonal_cost(eqn: Eqn) -> EqnCost:
    """Elimination: 3 operations a row; forward and back substitution: 5 for each element of the right side."""
    return touched(eqn, 3 * eqn.operands[1].type.size + 5 * eqn.operands[3].type.size)


def qr_flops(m: int, n: int) -> float:
    """Householder's factorisation, and its orthogonal factor formed."""
    k = min(m, n)
    return 2 * (2 * k * m * n - k * k * (m + n) + 2 * k**3 / 3)


def svd_cost(eqn: Eqn) -> EqnCost:
    """Golub and Reinsch: 4 m n^2 - 4 n^3 / 3 for values alone, 14 m n^2 + 8 n^3 with vectors."""
    t = eqn.operands[0].type
    m, n = max(t.shape[-2:]), min(t.shape[-2:])
    each = 14 * m * n**2 + 8 * n**3 if eqn.attrs["compute_uv"] else 4 * m * n**2 - 4 * n**3 / 3
    return touched(eqn, matrices_of(t) * each)


COST.add({
    OPS["triangular_solve"]: triangular_cost,
    OPS["solve"]: dense_cost(lambda n, _, columns: 2 * n**3 / 3 + 2 * n * n * columns),
    OPS["tridiagonal_solve"]: tridiagonal_cost,
    OPS["cholesky"]: dense_cost(lambda n, _: n**3 / 3),
    OPS["lu"]: dense_cost(lambda m, n: m * n * min(m, n) - (m + n) * min(m, n) ** 2 / 2 + min(m, n) ** 3 / 3),
    OPS["qr"]: dense_cost(qr_flops),
    OPS["eigh"]: dense_cost(lambda n, _: 9 * n**3),
    OPS["eigvalsh"]: dense_cost(lambda n, _: 4 * n**3 / 3),
    OPS["eig"]: dense_cost(lambda n, _: 25 * n**3),
    OPS["eigvals"]: dense_cost(lambda n, _: 10 * n**3),
    OPS["svd"]: svd_cost,
})  # fmt: skip
