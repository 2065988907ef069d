"""XLA lowering of reductions and their cumulative forms."""

import functools

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.core import Lit, Value
from ...ir.exactness import ONLY_EXACT
from ...ir.op import Cost
from ...ir.ops.reduction import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    recurrence,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from ...ir.ops.shape import broadcast, reshape, transpose
from ...ir.ops.transcendental import exp, log
from ...ir.ops.window import highest_of, lowest_of
from .by_nest import by_nest
from .neutral import without_signs
from .platforms import by_platform
from .table import XLA

# an axis shorter than this is not worth a form of its own on the CPU; measured by benchmarks/kernels/reductions.py
LONG = 32
SHORT = 8  # elements of an axis up to which slices are combined; measured by benchmarks/kernels/reductions.py
ROWS = 32  # the same, of rows of a matrix; measured by benchmarks/tune.py
# columns of a matrix of more rows, from which their sums are a product; re-measured by benchmarks/tune.py
COLUMNS = 4096
DEEP = 30  # bound: equations looked through
# elements of an array from which sums before exponentials are products; measured by benchmarks/tune.py
LITTLE = 3 << 12
SMALL = 32768  # elements of an array up to which sums before exponentials are products; measured by benchmarks/tune.py
LEAST = 4  # elements of a slice beyond which they are; measured by benchmarks/tune.py
MANY = 512  # sums, from which computing them before what reads them pays for a branch; measured by benchmarks/tune.py
MOVED = (broadcast, reshape, transpose)  # with what is computed before them these are one step
# elements beside each other from which a scan's step fills the vector units by itself; measured by
# benchmarks/tune.py
ROW = 8


def reduce_in_single(reduce):
    """float16 is added up in float32, as NumPy does."""
    def run(x, *, axes):
        return reduce(x.astype(np.float32), axes).astype(x.dtype) if x.dtype == np.float16 else reduce(x, axes)

    return run


def with_nan(reduce, better, end):
    """The greatest or the least of floats, and NaN where one is NaN: XLA's CPU compiler (jax 0.10) loses it where
    arrays are large."""
    def run(x, *, axes):
        if x.dtype.kind != "f" or not axes or not x.size:
            return reduce(x, axes)

        nothing = np.asarray(end(x.dtype), x.dtype)[()]

        def flagged(x):
            best = lambda a, b: (best_of(a[0], b[0]), lax.bitwise_or(a[1], b[1]))
            z, missing = lax.reduce((x, lax.ne(x, x)), (nothing, np.False_), best, axes)
            return lax.select(missing, lax.full_like(z, np.nan), z)

        def chosen(x):
            """Along other axes than the last, two results at once are not computed in vectors."""
            stays = lambda a, b: lax.bitwise_or(better(a, b), lax.ne(a, a))
            return lax.reduce(x, nothing, lambda a, b: lax.select(stays(a, b), a, b), axes)

        @jax.custom_jvp
        def kept(x):
            return by_platform(x, cpu=flagged if x.ndim - 1 in axes else chosen, default=lambda x: reduce(x, axes))

        kept.defjvp(lambda primals, tangents: jax.jvp(lambda x: reduce(x, axes), primals, tangents))
        return kept(x)

    best_of = lax.max if reduce is lax.reduce_max else lax.min
    return run


def by_slices(reduce, combine, short=SHORT):
    """XLA's CPU compiler is slow at reductions along an axis of few elements: it is quicker to combine slices
    (benchmarks/kernels/reductions.py).

    short: the longest last axis of which that is true; slices of it lie apart.
    """
    def run(x, *, axes):
        plain = lambda x: reduce(x, axes=axes)
        if len(axes) != 1 or x.dtype == np.float16 or not 1 < x.shape[axes[0]] <= longest(x, axes[0], short):
            return total(x, axes, plain)

        return by_platform(x, cpu=lambda x: combined(x, axes[0], combine), default=plain)

    def total(x, axes, plain):
        """The sums of long columns of a matrix that has many, which XLA goes down one by one, as a product."""
        if (
            combine is not lax.add
            or axes != (0,)
            or x.ndim != 2
            or x.shape[0] <= ROWS
            or x.shape[1] < COLUMNS
            or x.dtype.kind != "f"
        ):
            return plain(x)
        return by_platform(x, cpu=lambda x: lax.full((x.shape[0],), 1, x.dtype) @ x, default=plain)

    return run


# traced and lowered once for all that are alike, and written out by XLA
@functools.partial(jax.jit, static_argnums=(1, 2))
def combined(x, axis, combine):
    z = functools.reduce(combine, [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis])])
    return without_signs(z) if combine is lax.add and z.dtype.kind in "fc" else z  # sums begin with 0.0


def longest(x, axis, short):
    """The length of an axis up to which slices are quicker, of an array or its type."""
    if axis == 0 and x.size // max(x.shape[0], 1) >= ROWS:
        return ROWS
    return SHORT if axis < x.ndim - 1 else short


def dear_sums(func):
    """The reductions along the last axis of what takes long to compute: XLA computes no slice of that in vectors."""
    along = lambda eqn: eqn.attrs["axes"] == (eqn.operands[0].type.ndim - 1,) and eqn.operands[0].type.shape[-1] > 1
    return [eqn for eqn in func.eqns if eqn.op in PLAIN and along(eqn) and dear(eqn.operands[0])]


def before_exponentials(func, users):
    """The sums along short axes, by slices, whose elements go through `exp` or `log`: of slices that lie apart XLA
    computes those one by one.

    users: {value: the equations that read it}
    """
    return [
        eqn
        for eqn in func.eqns
        if eqn.op is reduce_sum and many_slices(eqn) and goes_through(eqn.results[0], users, (exp, log))
    ]


def quicker_as_products(sums):
    """Those of such sums that are products with ones: of a few numbers, made of fewer ones, that are in memory in no
    time, and enough of them for a call of the product's."""
    small = lambda x: LITTLE <= x.type.size <= SMALL and x.type.shape[-1] > LEAST and spread_out(x)
    return [] if ONLY_EXACT.get() else [eqn for eqn in sums if small(eqn.operands[0])]


def spread_out(x):
    """Whether an array is computed element by element from smaller ones alone."""
    todo, seen = [x], set()
    while todo:
        y = todo.pop()
        if isinstance(y, Lit) or y in seen or y.type.size < x.type.size:
            continue
        seen.add(y)
        if y.eqn is None or len(seen) > DEEP or not (y.eqn.op in MOVED or "elementwise" in y.eqn.op.traits):
            return False
        todo += y.eqn.operands
    return True


def as_product(x, *, axes):
    """The sums along the last axis, on CPUs a product with ones."""
    plain = lambda x: lax.reduce_sum(x, axes)
    return by_platform(x, cpu=lambda x: x @ lax.full(x.shape[-1:], 1, x.dtype), default=plain)


def many_slices(eqn):
    """Whether a sum is one of three slices and more, along the last axis."""
    (x,), (*_, axis), result = eqn.operands, eqn.attrs["axes"] or (None,), eqn.results[0]
    by_slices = (
        len(eqn.attrs["axes"]) == 1 and axis == x.type.ndim - 1 and x.type.kind == "f" and x.type.dtype != np.float16
    )
    return (
        by_slices
        and 3 <= x.type.shape[axis] <= longest(x.type, axis, SHORT)
        and result.type.size >= MANY
        and not dear(x)
    )


def goes_through(x, users, ops):
    """Whether a value is an operand of one of some ops, as it is or after elementwise ops and moves."""
    level, seen = {x}, set()
    for _ in range(DEEP):
        read = [eqn for y in level for eqn in users.get(y, ()) if eqn is not None]
        if any(eqn.op in ops for eqn in read):
            return True
        seen |= level
        level = {r for eqn in read if eqn.op in MOVED or "elementwise" in eqn.op.traits for r in eqn.results} - seen
    return False


def dear(x):
    """Whether an array is computed, element by element, by an op that costs more than reading it."""
    level, seen = {x}, set()
    for _ in range(DEEP):
        made = [
            y.eqn
            for y in level
            if isinstance(y, Value) and y.eqn is not None and (y.eqn.op in MOVED or "elementwise" in y.eqn.op.traits)
        ]
        if any(eqn.op.cost >= Cost.DIVISION for eqn in made):
            return True
        seen |= level
        level = {y for eqn in made for y in eqn.operands} - seen
    return False


def arg_extreme(op, search, extreme):
    """XLA's argmax is slow on the CPU: machine code is quicker, and over long axes it is to find the extreme, then its
    first place (benchmarks/kernels/reductions.py)."""
    def run(x, *, axis, dtype):
        if x.dtype == bool:
            other = lambda x: run(x.astype(np.uint8), axis=axis, dtype=dtype)
            return by_platform(x, cpu=lambda x: first(x, axis, dtype, search is lax.argmax), default=other)
        direct = lambda x: search(x, axis, dtype)
        if x.size < LONG:
            return direct(x)

        def two_passes(x):
            hit = (x == lax.expand_dims(PLAIN[extreme](x, axes=(axis,)), (axis,))) | (x != x)
            index = lax.broadcasted_iota(np.int32, x.shape, axis)
            return lax.reduce_min(jnp.where(hit, index, np.int32(x.shape[axis])), (axis,)).astype(dtype)

        other = two_passes if x.dtype.kind == "f" and LONG <= x.shape[axis] < 2**31 else direct
        nest = lambda x: by_nest(op, [x], {"axis": axis, "dtype": dtype}, other)
        return by_platform(x, cpu=nest, default=direct)

    return run


def first(x, axis, dtype, wanted):
    """The index of the first bool along an axis that is as wanted, 0 if none is: one pass, into which XLA fuses what
    computes them.

    Of the least index alone XLA would make a tree, with the bools in memory.
    """
    def earlier(a, b):
        return lax.min(a[0], b[0]), lax.bitwise_or(a[1], b[1])

    found, narrow = x if wanted else lax.bitwise_not(x), np.int32 if x.shape[axis] < 2**31 else np.int64
    end = narrow(np.iinfo(narrow).max)
    index = lax.select(found, lax.broadcasted_iota(narrow, x.shape, axis), lax.full(x.shape, end))
    place, some = lax.reduce((index, found), (end, np.False_), earlier, (axis,))
    return lax.select(some, place, lax.full_like(place, 0)).astype(dtype)


def running(op, combine, tree, start):
    """XLA's prefix sums are trees; on the CPU machine code, or else the plain loop, is quicker and rounds as NumPy does
    (benchmarks/kernels/reductions.py)."""
    def run(x, *, axis, reverse):
        if x.dtype == bool:
            return run(x.astype(np.uint8), axis=axis, reverse=reverse).astype(bool)
        whole = lambda x: tree(x, axis, reverse)
        if x.size < LONG:
            return whole(x)

        def loop(x):
            rows = jnp.moveaxis(x, axis, 0)

            def step(sofar, row):
                sofar = combine(sofar, row)
                return sofar, sofar

            first = jnp.full(rows.shape[1:], start(x.dtype), x.dtype)
            return jnp.moveaxis(
                lax.scan(step, first, rows, reverse=reverse, unroll=1 if first.size >= ROW else 8)[1], 0, axis
            )

        other = loop if x.shape[axis] >= LONG else whole
        nest = lambda x: by_nest(op, [x], {"axis": axis, "reverse": reverse}, other)
        return by_platform(x, cpu=nest, default=whole)

    return run


def nothing_added(dtype):
    """What sums begin with that keep the sign of -0.0, which 0.0 + -0.0 would lose."""
    return 0 if dtype.kind in "iu" else complex(-0.0, -0.0) if dtype.kind == "c" else -0.0


def prefix_sums(x, axis, reverse):
    """XLA's, which begin with 0.0; NumPy's begin with the first number, so as long as all are -0.0, they are."""
    if x.dtype.kind == "c":
        return lax.complex(prefix_sums(lax.real(x), axis, reverse), prefix_sums(lax.imag(x), axis, reverse))
    plain = lambda x: lax.cumsum(x, axis, reverse)
    if x.dtype.kind != "f":
        return plain(x)

    @jax.custom_jvp
    def signed(x):
        zeros = lax.bitwise_and(jnp.signbit(x), lax.eq(x, lax.full_like(x, 0)))
        so_far = lax.cummin(zeros.astype(np.uint8), axis, reverse)
        return lax.select(lax.eq(so_far, lax.full_like(so_far, 1)), x, plain(x))

    signed.defjvp(lambda primals, tangents: (signed(*primals), plain(*tangents)))
    return signed(x)


def recurrent(a, b, *, axis, reverse):
    """On CPUs row by row; elsewhere a tree of pairs.  [Blelloch 1990, Prefix Sums and Their Applications, 1.4]"""
    if not b.size:
        return b

    def loop(a, b):
        factors, rows = (jnp.moveaxis(x, axis, 0) for x in (a, b))

        def step(sofar, pair):
            sofar = pair[0] * sofar + pair[1]
            return sofar, sofar

        (first, end), rest = ((rows[-1], rows[-1:]), slice(-1)) if reverse else ((rows[0], rows[:1]), slice(1, None))
        _, ys = lax.scan(
            step, first, (factors[rest], rows[rest]), reverse=reverse, unroll=1 if first.size >= ROW else 8
        )
        return jnp.moveaxis(jnp.concatenate([ys, end] if reverse else [end, ys]), 0, axis)

    pairs = lambda one, other: (one[0] * other[0], one[1] * other[0] + other[1])
    nest = lambda a, b: by_nest(recurrence, [a, b], {"axis": axis, "reverse": reverse}, loop)
    return by_platform(a, b, cpu=nest, default=lambda a, b: lax.associative_scan(pairs, (a, b), reverse, axis)[1])


# fmt: off
PLAIN = {
    reduce_sum:    reduce_in_single(lax.reduce_sum),
    reduce_prod:   reduce_in_single(lax.reduce_prod),
    reduce_max:    with_nan(lax.reduce_max, lax.ge, lowest_of),
    reduce_min:    with_nan(lax.reduce_min, lax.le, highest_of),
    reduce_and:    lambda x, *, axes: lax.reduce_and(x, axes),
    reduce_or:     lambda x, *, axes: lax.reduce_or(x, axes),
    reduce_xor:    lambda x, *, axes: lax.reduce_xor(x, axes),
}
SLICED = {  # how two slices are combined, and a last axis of how many is taken apart
    reduce_sum:    (lax.add,),
    reduce_prod:   (lax.mul,),
    reduce_max:    (lax.max, 4),
    reduce_min:    (lax.min, 4),
    reduce_and:    (lax.bitwise_and, 4),
    reduce_or:     (lax.bitwise_or, 4),
    reduce_xor:    (lax.bitwise_xor, 4),
}
WITHOUT_NAN = {  # where it comes back without them
    reduce_max:    by_slices(lambda x, *, axes: lax.reduce_max(x, axes), *SLICED[reduce_max]),
    reduce_min:    by_slices(lambda x, *, axes: lax.reduce_min(x, axes), *SLICED[reduce_min]),
}
SCANS = {  # how two are combined, and what a scan begins with
    cumsum:        (lax.add, nothing_added),
    cumprod:       (lax.mul, lambda dtype: 1),
    cummax:        (lax.max, lowest_of),
    cummin:        (lax.min, highest_of),
    cumlogsumexp:  (jnp.logaddexp, lowest_of),
}
TREES = {
    cumsum:        prefix_sums,
    cumprod:       lax.cumprod,
    cummax:        lax.cummax,
    cummin:        lax.cummin,
    cumlogsumexp:  lax.cumlogsumexp,
}
XLA.add({
    **{op: by_slices(rule, *SLICED[op]) for op, rule in PLAIN.items()},
    argmax:        arg_extreme(argmax, lax.argmax, reduce_max),
    argmin:        arg_extreme(argmin, lax.argmin, reduce_min),
    **{op: running(op, combine, TREES[op], start) for op, (combine, start) in SCANS.items()},
    recurrence:    recurrent,
})
