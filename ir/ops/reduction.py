"""Reductions over axes, and their cumulative forms."""

import numpy as np

from ..op import BOOL, FLOAT, INEXACT, INTEGER, NUMBER, REAL, case, distinct, nonzero, op, require

# fmt: off
# -- over axes -------------------------------------------------------------------------------------


class reduction:
    """Result without `axes`; `kinds` are the dtype kinds allowed. Without an identity something must be left to choose
    from."""

    traits = ("reduction",)

    def __init__(self, kinds, identity=True):
        self.kinds, self.identity = kinds, identity

    def rule(self, op, x, *, axes):
        require(x.kind in self.kinds, op, f"{x} is not among the dtype kinds it takes ({self.kinds})")
        require(len(set(axes)) == len(axes) and all(0 <= a < x.ndim for a in axes), op, f"{x} has no axes {list(axes)}")
        out = x.like(n for a, n in enumerate(x.shape) if a not in axes)
        require(self.identity or x.size or not out.size, op, f"no element of {x} along axes {list(axes)}")
        return out

    @property
    def cases(self):
        specs = {"i": ("i32[3,2]", (0, 1)), "u": ("u8[3,4]", (1,)), "c": ("c128[3,4]", (1,)), "b": ("bool[4,3]", (0,))}
        found = [case(spec, axes=axes) for k, (spec, axes) in specs.items() if k in self.kinds]
        if FLOAT in self.kinds:
            found += [
                case("f64[3,4]", axes=(0,)), case("f64[2,3,4]", axes=(0, 2)), case("f32[5]", axes=(0,)),
                case("f64[3,4]", axes=()),
                case("f64[1,3]", axes=(0,)), case("f64[]", axes=()),
                case(np.array([[1, np.nan, 3], [2, 1, -np.inf]], "f4"), axes=(1,)),
            ]
        return (*found, case(f"{'f64' if FLOAT in self.kinds else 'i64'}[{'0,3' if self.identity else '3,0'}]",
            axes=(0,)))


@op(reduction(NUMBER))
def reduce_sum(x, *, axes):
    """Sum over `axes`; integers wrap; 0 when empty."""
    return np.sum(x, axis=axes, dtype=x.dtype)


@op(reduction(NUMBER), sample=nonzero, cases=[
    *reduction(NUMBER).cases, case(np.array([[
        0.0, 2.0, 0.0, 3.0, 1.0,
    ], [-1.0, 2.0, 0.0, 3.0, 2.0]]), axes=(1,)), case("f64[3,2,3]", axes=(2, 0)),
])
def reduce_prod(x, *, axes):
    """Product over `axes`; integers wrap; 1 when empty."""
    return np.prod(x, axis=axes, dtype=x.dtype)


@op(reduction(REAL + BOOL, identity=False), sample=distinct)
def reduce_max(x, *, axes):
    """The greatest element over `axes`; NaN if one is NaN."""
    return np.max(x, axis=axes)


@op(reduction(REAL + BOOL, identity=False), sample=distinct)
def reduce_min(x, *, axes):
    """The least element over `axes`; NaN if one is NaN."""
    return np.min(x, axis=axes)


@op(reduction(INTEGER + BOOL))
def reduce_and(x, *, axes):
    """Bitwise and over `axes`, "all" for booleans; every bit set when empty."""
    return np.bitwise_and.reduce(x, axis=axes)


@op(reduction(INTEGER + BOOL))
def reduce_or(x, *, axes):
    """Bitwise or over `axes`, "any" for booleans; 0 when empty."""
    return np.bitwise_or.reduce(x, axis=axes)


@op(reduction(INTEGER + BOOL))
def reduce_xor(x, *, axes):
    """Bitwise exclusive or over `axes`, the parity for booleans; 0 when empty."""
    return np.bitwise_xor.reduce(x, axis=axes)


# -- where along an axis ---------------------------------------------------------------------------


def _arg_rule(op, x, *, axis, dtype):
    require(x.kind in REAL + BOOL, op, f"{x} is not ordered")
    require(0 <= axis < x.ndim and x.shape[axis] > 0, op, f"{x} has nothing to choose from along axis {axis}")
    require(dtype.kind in INTEGER, op, f"an index is no {dtype}")
    return x.like((n for a, n in enumerate(x.shape) if a != axis), dtype)


WHERE = [
    case("f64[2,50]", axis=1), case("f32[40,3]", axis=0),
    case(np.where(np.arange(70) % 30 == 7, np.nan, np.arange(70.0) % 9).astype("f4"), axis=0),
    case(np.arange(60.0) % 7, axis=0), case("bool[40]", axis=0),
    case("f64[3,4]", axis=1), case("i8[5]", axis=0, dtype=np.dtype("i4")), case("f32[2,3,2]", axis=1),
    case("u8[4,3]", axis=0),
    case("bool[3,4]", axis=1), case(np.array([[1, np.nan, 3, np.nan], [2, -np.inf, 2, np.inf]], "f4"), axis=1),
    case("f64[1]", axis=0),
    case("f64[3,0]", axis=0), case(np.array([0.0, -0.0, 0.0, 1.0, 1.0]), axis=0),
    case(np.array([1.0, 0.0, -0.0, 0.0]), axis=0),
]


@op(_arg_rule, cases=WHERE)
def argmax(x, *, axis, dtype=np.dtype("i8")):
    """Index of the first greatest element along `axis`; NaN counts as the greatest."""
    return np.argmax(x, axis).astype(dtype)


@op(_arg_rule, cases=WHERE)
def argmin(x, *, axis, dtype=np.dtype("i8")):
    """Index of the first least element along `axis`; NaN counts as the least."""
    return np.argmin(x, axis).astype(dtype)


# -- cumulative ------------------------------------------------------------------------------------


class cumulative:
    """Result like x; `kinds` are the dtype kinds allowed."""

    traits = ("cumulative",)

    def __init__(self, kinds):
        self.kinds = kinds

    def rule(self, op, x, *, axis, reverse):
        require(x.kind in self.kinds, op, f"{x} is not among the dtype kinds it takes ({self.kinds})")
        require(0 <= axis < x.ndim, op, f"{x} has no axis {axis}")
        return x

    @property
    def cases(self):
        found = [
            case("f64[3,4]", axis=1), case("f64[3,5]", axis=1, reverse=True), case("f64[7,2]", axis=0),
            case("f64[1]", axis=0),
            case("f64[2,0]", axis=1), case("f32[6]", axis=0), case("f64[2]", axis=0),
            case(np.array([1, np.nan, 3, np.nan], "f4"), axis=0),
        ]
        specs = {"i": ("i32[2,6]", 1), "u": ("u8[5]", 0), "c": ("c128[3,4]", 0), "b": ("bool[5]", 0)}
        return (*found, *(case(spec, axis=axis, reverse=axis == 1) for k,
            (spec, axis) in specs.items() if k in self.kinds))


@op(cumulative(NUMBER))
def cumsum(x, *, axis, reverse=False):
    """Sum of everything up to each element along `axis`, from the far end when `reverse`; integers wrap."""
    return np.flip(np.cumsum(np.flip(x, axis), axis, x.dtype), axis) if reverse else np.cumsum(x, axis, x.dtype)


@op(cumulative(NUMBER), sample=nonzero, cases=[
    *cumulative(NUMBER).cases, case(np.array([2.0, 0.0, -1.0, 3.0, 0.0, 2.0, 1.5]), axis=0),
    case(np.array([[2.0, 0.0, 3.0]]), axis=1, reverse=True),
])
def cumprod(x, *, axis, reverse=False):
    """Product of everything up to each element along `axis`, from the far end when `reverse`; integers wrap."""
    return np.flip(np.cumprod(np.flip(x, axis), axis, x.dtype), axis) if reverse else np.cumprod(x, axis, x.dtype)


@op(cumulative(REAL + BOOL), sample=distinct)
def cummax(x, *, axis, reverse=False):
    """The greatest of everything up to each element along `axis`, from the far end when `reverse`; NaN from the first
    NaN on."""
    return np.flip(np.maximum.accumulate(np.flip(x, axis), axis), axis) if reverse else np.maximum.accumulate(x, axis)


@op(cumulative(REAL + BOOL), sample=distinct)
def cummin(x, *, axis, reverse=False):
    """The least of everything up to each element along `axis`, from the far end when `reverse`; NaN from the first NaN
    on."""
    return np.flip(np.minimum.accumulate(np.flip(x, axis), axis), axis) if reverse else np.minimum.accumulate(x, axis)


@op(cumulative(FLOAT))
def cumlogsumexp(x, *, axis, reverse=False):
    """log of the sum of exp of everything up to each element along `axis`, without overflow, from the far end when
    `reverse`."""
    return np.flip(np.logaddexp.accumulate(np.flip(x, axis), axis), axis) if reverse else np.logaddexp.accumulate(x,
        axis)


def _recurrence_rule(op, a, b, *, axis, reverse):
    require(a == b and a.kind in INEXACT, op, f"{a} and {b} are not of one floating or complex type")
    require(0 <= axis < a.ndim, op, f"{a} has no axis {axis}")
    return a


@op(_recurrence_rule, traits=("cumulative",), cases=[
    case("f64[3,4]", "f64[3,4]", axis=1), case("f64[3,5]", "f64[3,5]", axis=1, reverse=True),
    case("f64[7,2]", "f64[7,2]", axis=0),
    case("f64[1]", "f64[1]", axis=0), case("f64[2,0]", "f64[2,0]", axis=1), case("f32[6]", "f32[6]", axis=0),
    case("c128[3,4]", "c128[3,4]", axis=1), case("f64[40]", "f64[40]", axis=0, reverse=True),
    case(np.array([np.inf, 2.0, 0.0, 3.0]), np.array([1.0, 2.0, 3.0, -0.0]), axis=0),
])
def recurrence(a, b, *, axis, reverse=False):
    """y_0 = b_0, y_i = a_i y_(i-1) + b_i along `axis`, from the far end when `reverse`; what a_0 is does not matter."""
    rows, factors = (np.moveaxis(x, axis, 0)[:: -1 if reverse else 1] for x in (b, a))
    found = list(rows[:1])
    for factor, row in zip(factors[1:], rows[1:]):
        found.append(factor * found[-1] + row)
    y = np.reshape(np.array(found, b.dtype), rows.shape)
    return np.moveaxis(y[:: -1 if reverse else 1], 0, axis)
