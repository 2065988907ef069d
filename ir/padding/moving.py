"""Ops that move elements, in room: axes made one or several, starts that hang on sizes, parts one behind another."""

import itertools

import numpy as np

from ..core import Lit
from ..dims import Dim
from ..ops.control import COUNTER
from ..ops.elementwise import add, cast, maximum, minimum, mul, quotient, sub
from ..ops.elementwise import rem as remainder
from ..ops.indexing import take_along
from ..ops.shape import (
    broadcast,
    concatenate,
    constant,
    dynamic_slice,
    dynamic_update_slice,
    iota,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from ..types import Tensor
from .building import ROOM, refuse_in_room
from .tails import Roomy, packed_factors, plain_axes, same_tail, whole_of

# -- how elements lie ------------------------------------------------------------------------------


def lying_as(scope, eqn, x, layout):
    """x with its elements as `layout` says."""
    for a, (have, wanted) in enumerate(zip(x.axes, layout, strict=True)):
        if have != wanted and a not in x.free:
            if len(have) > 1:
                x = packed_axis(scope, x, a)
            if len(wanted) > 1:
                x = spread_apart(scope, x, a, wanted)
    return Roomy(x.value, layout, x.ends, x.free)


def packed_axis(scope, x, axis):
    """x with the elements along an axis that was made of several one after another."""
    return moved_along(scope, x, axis, x.axes[axis], False)


def spread_apart(scope, x, axis, factors):
    """x with the elements along an axis where they lie in an array of those sizes, row by row."""
    return moved_along(scope, x, axis, factors, True)


def moved_along(scope, x, axis, factors, apart):
    """x with the elements along an axis read from where they lie: apart, or one after another."""
    whole = whole_of(factors)
    i, scale = iota(shape=(scope.sizes.at(whole),), axis=0, dtype=np.dtype("i8")), 1
    rest, place = i, None
    near = i.type
    for f in reversed(factors):
        n, room = broadcast(scope.sizes.scalar(f), shape=near.shape, dims=()), Lit(scope.sizes.at(f), near)
        within = remainder(rest, room if apart else n)
        rest = quotient(rest, room if apart else n)
        part = mul(within, scale if isinstance(scale, int) else broadcast(scale, shape=near.shape, dims=()))
        place = part if place is None else add(place, part)
        scale = mul(scope.sizes.scalar(f), scale) if apart else scale * scope.sizes.at(f)
    value = take_along(x.value, place, axis)
    axes = list(x.axes)
    axes[axis] = tuple(factors) if apart else (whole,)
    return Roomy(value, axes, {a: c for a, c in x.ends.items() if a != axis}, x.free)


def from_later_on(scope, x, axis, by, most, number):
    """x from the element `by` on, along an axis, and a number behind it. by: i64[], 0 to most."""
    high = [most if a == axis else 0 for a in range(x.type.ndim)]
    zero = [0] * x.type.ndim
    wide = pad(x, Lit(number, Tensor((), x.type.dtype)) if not hasattr(number, "type") else number,
        low=tuple(zero), high=tuple(high), interior=tuple(zero))  # fmt: skip
    starts = [by if a == axis else Lit(0, COUNTER) for a in range(x.type.ndim)]
    return dynamic_slice(wide, *starts, sizes=x.type.shape)


# -- made from nothing, one operand -----------------------------------------------------------------


@ROOM.rule(constant)
def known_array(scope, eqn):
    refuse_in_room(eqn, "an array that is known has one size")


@ROOM.rule(iota)
def counted(scope, eqn):
    return scope.made(eqn, iota(**scope.attrs(eqn)))


@ROOM.rule(broadcast)
def repeated(scope, eqn, x):
    shape, dims = scope.dims(eqn.results[0]), eqn.attrs["dims"]
    axes, ends = list(plain_axes(shape)), {}
    free = set(range(len(shape)))
    for i, d in enumerate(dims):
        if x.value.type.shape[i] != 1 or shape[d] == 1:
            axes[d] = x.axes[i]
            if i not in x.free:
                free.discard(d)
            if i in x.ends:
                ends[d] = x.ends[i]
    value = broadcast(x.value, **scope.attrs(eqn))
    return [Roomy(value, axes, ends, free)]


@ROOM.rule(transpose)
def turned(scope, eqn, x):
    perm = eqn.attrs["perm"]
    ends = {i: x.ends[p] for i, p in enumerate(perm) if p in x.ends}
    free = [i for i, p in enumerate(perm) if p in x.free]
    return [Roomy(transpose(x.value, perm=perm), [x.axes[p] for p in perm], ends, free)]


@ROOM.rule(reverse)
def backwards(scope, eqn, x):
    """The elements come last, and are moved to the front."""
    axes = eqn.attrs["axes"]
    scope.plain(eqn, x, axes)
    value, ends = reverse(x.value, axes=axes), {a: c for a, c in x.ends.items() if a not in axes}
    for a in axes:
        if x.axes[a] is not None:
            room = x.value.type.shape[a]
            by = sub(Lit(room, COUNTER), scope.sizes.scalar(x.axes[a][0]))
            value = from_later_on(scope, value, a, by, room, 0)
    return [Roomy(value, x.axes, ends)]


# -- reshape ---------------------------------------------------------------------------------------


@ROOM.rule(reshape)
def reshaped(scope, eqn, x):
    shape = scope.attr(eqn, "shape")
    axes, ends = [None] * len(shape), {}
    for ins, outs in reshape_groups(scope, eqn, x, shape):
        factors = [f for a in ins for f in (x.axes[a] or (x.value.type.shape[a],))]
        if not any(isinstance(f, Dim) for f in factors):
            continue
        parts = regrouped(factors, [shape[o] for o in outs])
        if parts is None:
            refuse_in_room(eqn, f"{' x '.join(map(str, factors))} elements do not lie as in {shape}")
        for o, part in zip(outs, parts, strict=True):
            axes[o] = packed_factors(part)
        before, after = ([a for a in at if t[a]] for at, t in ((ins, x.axes), (outs, axes)))
        if [len(x.axes[a]) for a in before] == [len(axes[o]) for o in after] == [1] and before[0] in x.ends:
            ends[after[0]] = x.ends[before[0]]
    value = reshape(x.value, shape=scope.roomy(shape))
    if isinstance(x.value, Lit):
        return [Roomy(value, axes, dict.fromkeys(range(len(shape)), x.value.value), range(len(shape)))]
    return [Roomy(value, axes, ends)]


def reshape_groups(scope, eqn, x, shape):
    """Runs of axes of x and of the result that have the same elements."""
    before = before_dims(x)
    groups, i, j = [], 0, 0
    while i < len(before) or j < len(shape):
        ins, outs, have, want = [], [], 1, 1
        while not ins and not outs or have != want:
            if j == len(shape) or (i < len(before) and scope.sizes.at(have) <= scope.sizes.at(want)):
                if i == len(before):
                    refuse_in_room(eqn, f"{before} elements are not those of {shape}")
                ins, have, i = [*ins, i], whole_of((have, before[i])), i + 1
            else:
                outs, want, j = [*outs, j], whole_of((want, shape[j])), j + 1
        while i < len(before) and before[i] == 1:
            ins, i = [*ins, i], i + 1
        while j < len(shape) and shape[j] == 1:
            outs, j = [*outs, j], j + 1
        groups.append((ins, outs))
    return groups


def regrouped(factors, wanted):
    """The sizes that each of the wanted ones is made of, in order; None where they are cut otherwise."""
    factors = [f for f in factors if f != 1]
    leading = packed_factors(factors)
    if leading is not None and len(leading) == 1:
        kept = [w for w in wanted if w != 1]
        if kept and isinstance(kept[0], Dim) and not any(isinstance(w, Dim) for w in kept[1:]):
            return [(w,) for w in wanted]
    left, made = list(factors), []
    for w in wanted:
        got = 1, ()
        while got[0] != w:
            if not left:
                return None
            f, rest = left[0], left[1:]
            if all(isinstance(k, int) for k in (f, w, got[0])) and w % got[0] == 0 and f % (w // got[0]) == 0:
                f, rest = w // got[0], [f // (w // got[0]), *rest]
            got, left = (whole_of((got[0], f)), (*got[1], f)), rest
        made.append(got[1] or (1,))
    return made if not [f for f in left if f != 1] else None


# -- parts -----------------------------------------------------------------------------------------


@ROOM.rule(slice_)
def sliced(scope, eqn, x):
    start, stop, stride = (scope.attr(eqn, k) for k in ("start", "stop", "stride"))
    shape = scope.dims(eqn.results[0])
    if is_diagonal(x, start, stop, stride):
        return scope.made(eqn, slice_(x.value, **scope.attrs(eqn)))
    whole = [a for a, d in enumerate(before_dims(x)) if (start[a], stop[a], stride[a]) == (0, d, 1)]
    scope.plain(eqn, x, [a for a in range(len(start)) if a not in whole])
    ends, axes = {}, list(plain_axes(shape))
    for a, d in enumerate(before_dims(x)):
        if isinstance(stride[a], Dim):
            refuse_in_room(eqn, f"the step {stride[a]} hangs on sizes")
        if a in whole:
            axes[a] = x.axes[a]
        if a in x.ends and stop[a] == d:
            ends[a] = x.ends[a]
    reach = [spanned(scope, n, s) for n, s in zip(shape, stride, strict=True)]
    value = begun_at(scope, eqn, x.value, start, reach)
    begin = [0 if isinstance(s, Dim) else s for s in start]
    end = [min(b + r, n) for b, r, n in zip(begin, reach, value.type.shape, strict=True)]
    value = slice_(value, start=tuple(begin), stop=tuple(end), stride=tuple(stride))
    return [Roomy(value, axes, ends, x.free)]


def begun_at(scope, eqn, x, start, reach):
    """The part of x that begins where starts that hang on sizes say, of the reach asked for along these axes; of the
    others all."""
    moving = [a for a, s in enumerate(start) if isinstance(s, Dim)]
    for a in moving:
        if not scope.sizes.rises(start[a]) or scope.sizes.at(start[a]) + reach[a] > x.type.shape[a]:
            refuse_in_room(eqn, f"it begins at {start[a]}, where there is no room")
    if not moving:
        return x
    starts = [scope.sizes.scalar(s if a in moving else 0) for a, s in enumerate(start)]
    return dynamic_slice(x, *starts, sizes=tuple(reach[a] if a in moving else n for a, n in enumerate(x.type.shape)))


def spanned(scope, size, stride):
    """How far the elements of a part reach."""
    n = scope.sizes.at(size)
    return (n - 1) * stride + 1 if n else 0


def is_diagonal(x, start, stop, stride):
    """Whether a part is the diagonal of a square array whose rows have been made one axis."""
    if len(start) != 1 or x.axes[0] is None or len(x.axes[0]) != 2:
        return False
    a, b = x.axes[0]
    return a == b and start[0] == 0 and stop[0] == whole_of(x.axes[0]) and stride[0] == a + 1


def before_dims(x):
    """The true shape of a value."""
    return [whole_of(f) if f else n for f, n in zip(x.axes, x.value.type.shape, strict=True)]


@ROOM.rule(pad)
def padded(scope, eqn, x, number):
    low, high, interior = (scope.attr(eqn, k) for k in ("low", "high", "interior"))
    idle = [a for a in range(len(low)) if low[a] == high[a] == interior[a] == 0]
    scope.plain(eqn, x, [a for a in range(len(low)) if a not in idle])
    shape, literal = scope.dims(eqn.results[0]), isinstance(number.value, Lit)
    if len(low) == 1 and low[0] == high[0] == 0 and (interior[0],) == x.axes[0]:
        return on_diagonal(scope, eqn, x, number)
    if any(isinstance(i, Dim) for i in interior):
        refuse_in_room(eqn, f"{interior} elements are put between others")
    read = [a for a in range(len(low)) if a not in idle and not (isinstance(high[a], int) and high[a] <= 0)]
    fill = number.value.value if literal else number.value
    x = scope.fill(x, {*read, *(a for a, n in enumerate(low) if isinstance(n, Dim))}, fill, eqn)
    value = pad(x.value, number.value, **scope.attrs(eqn))
    value = begun_with(scope, eqn, value, low, number.value)
    axes, ends = list(plain_axes(shape)), {}
    for a in range(len(low)):
        if a in idle:
            axes[a] = x.axes[a]
        dirty = isinstance(high[a], int) and high[a] < 0
        if literal and not dirty and a in x.ends and same_tail(x.ends[a], fill):
            ends[a] = fill
    return [Roomy(value, axes, ends)]


def begun_with(scope, eqn, x, low, number):
    """x without those of the numbers in front that there are only because of the room."""
    for a, n in enumerate(low):
        if isinstance(n, Dim):
            if not scope.sizes.rises(n):
                refuse_in_room(eqn, f"it begins with {n} numbers")
            most = scope.sizes.at(n)
            x = from_later_on(scope, x, a, sub(Lit(most, COUNTER), scope.sizes.scalar(n)), most, number)
    return x


def on_diagonal(scope, eqn, x, number):
    """The elements as the diagonal of a square array, whose rows are made one axis, and a number elsewhere."""
    (n,) = x.axes[0]
    fill = number.value.value if isinstance(number.value, Lit) else number.value
    x = scope.fill(x, [0], fill, eqn)
    return [Roomy(pad(x.value, number.value, **scope.attrs(eqn)), [(n, n)], {0: x.ends[0]} if 0 in x.ends else {})]


@ROOM.rule(concatenate)
def joined(scope, eqn, *xs):
    axis = eqn.attrs["axis"]
    for x in xs:
        scope.plain(eqn, x)
    sizes = [before_dims(x)[axis] for x in xs]
    axes = plain_axes(scope.dims(eqn.results[0]))
    ends = {a: c for a, c in xs[0].ends.items() if all(a in x.ends and same_tail(c, x.ends[a]) for x in xs)}
    if not any(isinstance(n, Dim) for n in sizes[:-1]):
        last = {axis: xs[-1].ends[axis]} if axis in xs[-1].ends else {}
        ends = {a: c for a, c in ends.items() if a != axis} | last
        return [Roomy(concatenate(*[x.value for x in xs], axis=axis), axes, ends)]
    type = scope.type(scope.dims(eqn.results[0]), eqn.results[0].type.dtype)
    value = Lit(ends.get(axis, 0), type)
    for x, start in zip(xs, itertools.accumulate([0, *sizes[:-1]], lambda a, b: a + b), strict=True):
        if not scope.sizes.rises(start):
            refuse_in_room(eqn, f"a part begins at {start}, which falls where a size grows")
        at = scope.sizes.scalar(start)
        starts = [at if a == axis else Lit(0, COUNTER) for a in range(len(axes))]
        value = dynamic_update_slice(value, x.value, *starts)
    return [Roomy(value, axes, ends)]


# -- parts at starts that data decide ----------------------------------------------------------------


def clamped(scope, start, last):
    """A start between zero and the last that there is, which hangs on sizes, i64[]."""
    start = start if start.type.dtype == COUNTER.dtype else cast(start, dtype=COUNTER.dtype)
    return maximum(minimum(start, scope.sizes.scalar(last)), Lit(0, COUNTER))


def inside_starts(scope, eqn, dims, sizes, starts):
    """Starts so that a part of those sizes lies within what is no tail; refuses where it has no room there."""
    made = []
    for d, k, s in zip(dims, sizes, starts, strict=True):
        last = d - k if isinstance(d, Dim) or isinstance(k, Dim) else None
        if last is None:
            made.append(s.value)
            continue
        last = last.simplified() if isinstance(last, Dim) else last
        if not scope.sizes.rises(last):
            refuse_in_room(eqn, f"a part of {k} of {d} has no room")
        starts_within = isinstance(s.value, Lit) and isinstance(last, int) and 0 <= int(s.value.value) <= last
        made.append(s.value if starts_within else clamped(scope, s.value, last))
    if len({m.type for m in made}) > 1:
        made = [m if m.type is COUNTER else cast(m, dtype=COUNTER.dtype) for m in made]
    return made


@ROOM.rule(dynamic_slice)
def part(scope, eqn, x, *starts):
    sizes, dims = scope.attr(eqn, "sizes"), before_dims(x)
    whole = [a for a, d in enumerate(dims) if d == sizes[a]]
    scope.plain(eqn, x, [a for a in range(len(dims)) if a not in whole])
    at = inside_starts(scope, eqn, dims, sizes, starts)
    axes = [x.axes[a] if a in whole else f for a, f in enumerate(plain_axes(sizes))]
    value = dynamic_slice(x.value, *at, sizes=scope.roomy(sizes))
    return [Roomy(value, axes, {a: c for a, c in x.ends.items() if a in whole})]


@ROOM.rule(dynamic_update_slice)
def part_put(scope, eqn, x, u, *starts):
    dims, sizes = before_dims(x), before_dims(u)
    scope.plain(eqn, x)
    scope.plain(eqn, u)
    at = inside_starts(scope, eqn, dims, sizes, starts)
    whole = [a for a, d in enumerate(dims) if d == sizes[a]]
    cut = [a for a in u.roomy if a not in whole]
    value = u.value
    if cut:  # what is beyond the part's own size stays what it is
        there = dynamic_slice(x.value, *at, sizes=u.value.type.shape)
        value = scope.fill(u, cut, there, eqn).value
    joint = lambda a, c: a not in whole or a in u.ends and same_tail(u.ends[a], c)
    ends = {a: c for a, c in x.ends.items() if joint(a, c)}
    return [Roomy(dynamic_update_slice(x.value, value, *at), x.axes, ends)]
