"""Sorting digit by digit, as a function with loops of the IR, which have machine code.  [Knuth, TAOCP 3, 5.2.5]

XLA's CPU compiler sorts by comparing, through a function that it calls for each pair, 20 to 40 times as slowly as NumPy
does. Keys are made whole numbers in the same order; a pass counts how often each digit occurs, and puts every key
behind those of lesser digits, and of the same one that came before. So ties stay as they came. Two passes a trip, from
one array to the other and back.
"""

import functools

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.elementwise import (
    add,
    and_,
    bitcast,
    cast,
    clz,
    eq,
    gt,
    not_,
    or_,
    quotient,
    select,
    shift_right,
    sub,
    xor,
)
from ...ir.ops.reduction import reduce_or
from ...ir.ops.shape import broadcast, dynamic_slice, dynamic_update_slice, element_at, iota, reshape, with_element
from ...ir.types import Tensor

LEAST = 512  # elements of a row from which this pays; re-measured by benchmarks/tune.py
MANY = 1 << 13  # elements from which wider digits do; measured by benchmarks/tune.py
NARROW = 8  # bits of a digit; measured by benchmarks/tune.py
WIDE = 11  # bits of one of a longer row; measured by benchmarks/tune.py
PLACE = np.dtype("i4")


def fits(shape, axis, dtype):
    """Whether rows of keys can be sorted so, and it pays."""
    return dtype.kind in "iuf" and LEAST <= shape[axis] < 2**31


def keys_of(x):
    """Whole numbers without a sign in the order of x: NaN is last, and the two zeros are one."""
    t = x.type
    if t.kind == "f" and t.dtype.itemsize < 4:
        t = t.like(dtype=np.dtype("f4"))
        x = cast(x, dtype=t.dtype)
    whole = np.dtype(f"u{max(t.dtype.itemsize, 4)}")
    if t.kind == "u":
        return cast(x, dtype=whole)
    if t.kind == "i":
        x = cast(x, dtype=np.dtype(f"i{whole.itemsize}"))
    bits = bitcast(x, dtype=whole)
    same = lambda n: Lit(n, bits.type)
    sign = same(1 << (8 * whole.itemsize - 1))
    if t.kind == "i":
        return xor(bits, sign)
    # asked as whole numbers: the processor may take tiny floats for 0
    size = and_(bits, same((1 << (8 * whole.itemsize - 1)) - 1))
    bits = select(eq(size, same(0)), same(0), bits)
    found = select(eq(and_(bits, sign), same(0)), or_(bits, sign), not_(bits))
    infinite = int(np.array(np.inf, t.dtype).view(whole))
    return select(gt(size, same(infinite)), same(np.iinfo(whole).max), found)


def one_pass(shift, keys, order, width):
    """(keys, order) sorted by the digit that begins at a bit."""
    n, counts = keys.type.shape[0], Tensor((1 << width,), PLACE)

    def digit(keys, shift, i):
        part = shift_right(element_at(keys, i), shift)
        return cast(and_(part, Lit((1 << width) - 1, part.type)), dtype=COUNTER.dtype)

    def count(i, keys, shift, counts):
        d = digit(keys, shift, i)
        return with_element(counts, add(element_at(counts, d), Lit(1, Tensor((), PLACE))), d)

    def begin(d, counts, total):
        found = element_at(counts, d)
        return with_element(counts, total, d), add(total, found)

    def put(i, keys, order, shift, starts, sorted_keys, sorted_order):
        d = digit(keys, shift, i)
        place = element_at(starts, d)
        starts = with_element(starts, add(place, Lit(1, place.type)), d)
        return (
            starts,
            with_element(sorted_keys, element_at(keys, i), place),
            with_element(sorted_order, element_at(order, i), place),
        )

    types = keys.type, shift.type
    (found,) = loop(keys, shift, Lit(0, counts), body=region(count, [COUNTER, *types, counts]), carried=1, trips=n)
    starts, _ = loop(
        found,
        Lit(0, Tensor((), PLACE)),
        body=region(begin, [COUNTER, counts, Tensor((), PLACE)]),
        carried=2,
        trips=1 << width,
    )
    body = region(put, [COUNTER, keys.type, order.type, shift.type, counts, keys.type, order.type])
    _, keys, order = loop(
        keys, order, shift, starts, Lit(0, keys.type), Lit(0, order.type), body=body, carried=3, trips=n
    )
    return keys, order


def order_of(keys):
    """The order of keys along their one axis."""
    n, t = keys.type.shape[0], keys.type.like(())
    width = WIDE if n >= MANY else NARROW

    def step(k, keys, order):
        shift = cast(k * (2 * width), dtype=t.dtype)
        keys, order = one_pass(shift, keys, order, width)
        return one_pass(add(shift, Lit(width, t)), keys, order, width)

    first = broadcast(element_at(keys, Lit(0, COUNTER)), shape=(n,), dims=())
    spread = reduce_or(xor(keys, first), axes=(0,))  # the bits in which keys differ
    bits = sub(Lit(8 * t.dtype.itemsize, COUNTER), cast(clz(spread), dtype=COUNTER.dtype))
    trips = quotient(add(bits, Lit(2 * width - 1, COUNTER)), Lit(2 * width, COUNTER))
    order = iota(shape=(n,), axis=0, dtype=PLACE)
    most = -(-8 * t.dtype.itemsize // (2 * width))
    return loop(trips, keys, order, body=region(step, [COUNTER, keys.type, order.type]), carried=2, bound=most)[1]


def orders(x):
    """The order of each row of a matrix."""
    rows, n = x.type.shape
    result = Tensor((rows, n), PLACE)

    def step(r, x, orders):
        row = reshape(dynamic_slice(x, r, Lit(0, COUNTER), sizes=(1, n)), shape=(n,))
        return dynamic_update_slice(orders, reshape(order_of(keys_of(row)), shape=(1, n)), r, Lit(0, COUNTER))

    return loop(x, Lit(0, result), body=region(step, [COUNTER, x.type, result]), carried=1, trips=rows)


@functools.lru_cache(256)
def program(shape, dtype):
    """`orders` of a matrix of that type, as a function of the IR."""
    return region(orders, [Tensor(shape, dtype)], "orders")
