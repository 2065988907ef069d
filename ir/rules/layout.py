"""Identities of ops that move, repeat, join or cut elements."""

import math

from ..core import Lit
from ..op import Cost
from ..ops.shape import (
    broadcast,
    concatenate,
    dynamic_slice,
    dynamic_update_slice,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from ..pattern import head, holes, rest
from ..rewrite import RuleSet

LAYOUT = RuleSet("layout")
rule = LAYOUT.rule
x, y, u, v = holes("x y u v")
p, q, s, t, d, e = holes("p q s t d e")  # attributes: axes and shapes
xs = rest("xs")


def rising(axes):
    return list(axes) == sorted(axes)


# -- splats ----------------------------------------------------------------------------------------

@rule(None, fits=lambda op, heads: op.traits & {"moves", "joins"} and heads[0] is Lit, never=["""
    func padded() -> f64[5] {
      %0 = pad 0.0:f64[3], -0.0:f64[] low=[1] high=[1] interior=[0] : f64[5]
      return %0
    }"""])
def splat_stays_splat(op, operands, attrs):
    """Moving equal elements moves nothing; what is joined or padded must be equal too."""
    joined = operands if "joins" in op.traits else operands[:1]
    if any(not isinstance(z, Lit) or Lit(z.value, operands[0].type) is not operands[0] for z in joined):
        return None
    return Lit(operands[0].value, op.result_types(operands, attrs)[0])


# -- transpose, reshape, broadcast: few equations, each as plain as it can be ----------------------


@rule(transpose(transpose(x, perm=p), perm=q), cases=[
    {"x": "f64[2,3,4]", "p": (2, 0, 1), "q": (0, 2, 1)},
    {"x": "i32[2,3]", "p": (1, 0), "q": (1, 0)},
])  # fmt: skip
def merge_transposes(x, p, q):
    return transpose(x, perm=tuple(p[i] for i in q))


@rule(transpose(x, perm=p), cases=[{"x": "f64[2,3]", "p": (0, 1)}, {"x": "f64[1,3]", "p": (1, 0)},
    {"x": "f64[2,1,3,1]", "p": (1, 0, 3, 2)}],
      never=[{"x": "f64[2,3]", "p": (1, 0)}])  # fmt: skip
def transpose_of_ones(x, p):
    """Axes of size one may move freely."""
    return (
        reshape(x, shape=tuple(x.type.shape[i] for i in p)) if rising([i for i in p if x.type.shape[i] != 1]) else None
    )


rule(reshape(reshape(x, shape=s), shape=t), reshape(x, shape=t), cases=[{"x": "f64[2,6]", "s": (3, 4), "t": (12,)}])
rule(reshape(x, shape=s), x, where=lambda x, s: x.type.shape == s,
    cases=[{"x": "f64[2,6]", "s": (2, 6)}, {"x": "i64[]", "s": ()}],
     never=[{"x": "f64[6]", "s": (2, 3)}])  # fmt: skip


@rule(
    broadcast(broadcast(x, shape=s, dims=d), shape=t, dims=e),
    cases=[{"x": "f64[3,1]", "s": (3, 4), "d": (0, 1), "t": (2, 3, 4), "e": (1, 2)}],
)
def merge_broadcasts(x, d, t, e):
    return broadcast(x, shape=t, dims=tuple(e[i] for i in d))


@rule(broadcast(x, shape=s, dims=d), cases=[{"x": "f64[3]", "s": (1, 3, 1), "d": (1,)},
    {"x": "f64[2,3]", "s": (2, 3), "d": (0, 1)}],
      never=[{"x": "f64[3]", "s": (2, 3), "d": (1,)}])  # fmt: skip
def broadcast_repeats_nothing(x, s):
    return reshape(x, shape=s) if math.prod(s) == x.type.size else None


@rule(reshape(broadcast(x, shape=s, dims=d), shape=t), cases=[
    {"x": "f64[3]", "s": (3, 4), "d": (0,), "t": (3, 1, 4)},
    {"x": "i8[2,3]", "s": (1, 2, 5, 3), "d": (1, 3), "t": (2, 5, 1, 3)},
], never=[{"x": "f64[3]", "s": (3, 4), "d": (0,), "t": (4, 3)}])  # fmt: skip
def reshape_of_broadcast(x, s, d, t):
    """Ones come and go beside the axes that stay."""
    old, new = [i for i, n in enumerate(s) if n != 1], [i for i, n in enumerate(t) if n != 1]
    if [s[i] for i in old] != [t[i] for i in new] or any(i not in old for i in d):
        return None
    return broadcast(x, shape=t, dims=tuple(new[old.index(i)] for i in d))


@rule(broadcast(reshape(x, shape=s), shape=t, dims=e), cases=[
    {"x": "f64[3]", "s": (3, 1), "t": (3, 4), "e": (0, 1)},
    {"x": "f64[2,3]", "s": (2, 1, 3), "t": (5, 2, 4, 3), "e": (1, 2, 3)},
], never=[{"x": "f64[2,3]", "s": (3, 2), "t": (4, 3, 2), "e": (1, 2)}])  # fmt: skip
def broadcast_of_added_ones(x, s, t, e):
    """The reshape only made room for the broadcast."""
    kept, i = [], 0
    for axis, n in zip(e, s, strict=True):
        if i < x.type.ndim and x.type.shape[i] == n:
            kept, i = [*kept, axis], i + 1
        elif n != 1:
            return None
    return broadcast(x, shape=t, dims=tuple(kept)) if i == x.type.ndim else None


@rule(transpose(broadcast(x, shape=s, dims=d), perm=p), cases=[
    {"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (1, 0)},
    {"x": "f64[2,3]", "s": (2, 5, 3), "d": (0, 2), "p": (1, 0, 2)},
], never=[{"x": "f64[2,3]", "s": (2, 5, 3), "d": (0, 2), "p": (2, 1, 0)}])  # fmt: skip
def transpose_of_broadcast(x, s, d, p):
    dims = tuple(p.index(i) for i in d)
    return broadcast(x, shape=tuple(s[i] for i in p), dims=dims) if rising(dims) else None


def repeats(op, heads):
    """Elementwise, of literals and of repeated values."""
    return "elementwise" in op.traits and broadcast in heads and {broadcast, Lit} >= {*heads}


def repeats_alike(operands):
    """All in one and the same way."""
    repeated = [x.eqn.attrs for x in operands if head(x) is broadcast]
    return all(attrs == repeated[0] for attrs in repeated)


REPEATED = """
    func otherwise(%x: f64[3], %y: f64[3]) -> f64[3,3] {{
      %0 = broadcast %x shape=[3,3] dims=[0] : f64[3,3]
      %1 = broadcast %y shape=[3,3] dims=[1] : f64[3,3]
      %2 = {} %0, %1 : f64[3,3]
      return %2
    }}"""


@rule(None, where=repeats_alike, fits=repeats, never=[REPEATED.format("add")])
def repeat_the_result(op, operands, attrs):
    """f(broadcast x) = broadcast f(x), on fewer elements."""
    return repeated_result(op, operands, attrs)


@rule(
    None,
    where=repeats_alike,
    fits=lambda op, heads: op.cost >= Cost.DIVISION and repeats(op, heads),
    grows=True,
    never=[REPEATED.format("div")],
)
def repeat_the_dear_result(op, operands, attrs):
    """Even where the repeated operands are read otherwise too."""
    return repeated_result(op, operands, attrs)


def repeated_result(op, operands, attrs):
    first = next(x.eqn for x in operands if head(x) is broadcast)
    inner = first.operands[0].type.shape
    parts = [Lit(x.value, x.type.like(inner)) if isinstance(x, Lit) else x.eqn.operands[0] for x in operands]
    return broadcast(op(*parts, **attrs), **first.attrs) if all(x.type.shape == inner for x in parts) else None


rule(
    x + broadcast(-y, shape=s, dims=d),
    x - broadcast(y, shape=s, dims=d),
    cases=[{"x": "f64[3,4]", "y": "f64[4]", "s": (3, 4), "d": (1,)}],
)


# -- reverse, slices, padding, joining -------------------------------------------------------------


@rule(reverse(x, axes=p), cases=[{"x": "f64[2,3]", "p": ()}, {"x": "f64[1,3]", "p": (0,)},
    {"x": "f64[1,3]", "p": (0, 1)}],
      never=[{"x": "f64[2,3]", "p": (0,)}])  # fmt: skip
def reverse_of_ones(x, p):
    axes = tuple(i for i in p if x.type.shape[i] > 1)
    return reverse(x, axes=axes) if 0 < len(axes) < len(p) else None if axes else x


@rule(
    reverse(reverse(x, axes=p), axes=q),
    cases=[{"x": "f64[2,3]", "p": (0,), "q": (0, 1)}, {"x": "f64[3]", "p": (0,), "q": (0,)}],
)
def merge_reverses(x, p, q):
    return reverse(x, axes=tuple(sorted({*p} ^ {*q})))


@rule(slice_(x, start=s, stop=t, stride=d), cases=[{"x": "f64[4,3]", "s": (0, 0), "t": (4, 3), "d": (1, 1)}],
      never=[{"x": "f64[4]", "s": (1,), "t": (4,), "d": (1,)},
          {"x": "f64[4]", "s": (0,), "t": (4,), "d": (2,)}])  # fmt: skip
def slice_of_all(x, s, t, d):
    return x if not any(s) and t == x.type.shape and set(d) <= {1} else None


@rule(slice_(reverse(x, axes=d), start=p, stop=q, stride=e), cases=[
    {"x": "f64[9,4]", "d": (0,), "p": (1, 1), "q": (6, 3), "e": (1, 2)},
    {"x": "i64[5]", "d": (0,), "p": (2,), "q": (2,), "e": (1,)},
], never=[{"x": "f64[9]", "d": (0,), "p": (0,), "q": (8,), "e": (2,)}])  # fmt: skip
def reverse_a_part(x, d, p, q, e):
    """Only the part that is left is reversed; every element of it, or the last one would have to be found."""
    if any(e[i] != 1 for i in d):
        return None
    ends = [(n - b, n - a) if i in d else (a, b) for i, (n, a, b) in enumerate(zip(x.type.shape, p, q))]
    return reverse(slice_(x, start=tuple(a for a, _ in ends), stop=tuple(b for _, b in ends), stride=e), axes=d)


@rule(slice_(slice_(x, start=s, stop=t, stride=d), start=p, stop=q, stride=e), cases=[
    {"x": "f64[20]", "s": (3,), "t": (18,), "d": (2,), "p": (1,), "q": (7,), "e": (3,)},
    {"x": "i64[5]", "s": (1,), "t": (5,), "d": (1,), "p": (0,), "q": (0,), "e": (1,)},
])  # fmt: skip
def merge_slices(x, s, d, p, q, e):
    """Element k of the outer one is element s + d (p + e k) of x."""
    start, stop, stride = [], [], []
    for n, first, step, a, b, c in zip(x.type.shape, s, d, p, q, e, strict=True):
        count = -(-(b - a) // c)
        start.append(min(first + step * a, n))
        stop.append(start[-1] + (count - 1) * step * c + 1 if count else start[-1])
        stride.append(step * c)
    return slice_(x, start=tuple(start), stop=tuple(stop), stride=tuple(stride))


@rule(pad(x, v, low=s, high=t, interior=d), cases=[
    {"x": "f64[5]", "v": "f64[]", "s": (0,), "t": (0,), "d": (0,)},
    {"x": "f64[5,3]", "v": 0.0, "s": (-1, 0), "t": (-2, 0), "d": (0, 0)},
    {"x": "f64[1]", "v": 0.0, "s": (0,), "t": (0,), "d": (3,)},
], never=[{"x": "f64[5]", "v": 0.0, "s": (1,), "t": (0,), "d": (0,)},
{"x": "f64[5]", "v": 0.0, "s": (0,), "t": (0,), "d": (1,)}])  # fmt: skip
def pad_adds_nothing(x, s, t, d):
    """No padding, or a cut: then it is a slice."""
    if max(s, default=0) > 0 or max(t, default=0) > 0 or any(i and n > 1 for i, n in zip(d, x.type.shape, strict=True)):
        return None
    start, stop = tuple(-i for i in s), tuple(n + i for n, i in zip(x.type.shape, t, strict=True))
    return (
        slice_(x, start=start, stop=stop, stride=(1,) * len(s))
        if all(0 <= i <= j for i, j in zip(start, stop, strict=True))
        else None
    )


@rule(pad(pad(x, v, low=s, high=t, interior=d), v, low=p, high=q, interior=e), cases=[
    {"x": "f64[3]", "v": 0.5, "s": (1,), "t": (2,), "d": (1,), "p": (0,), "q": (3,), "e": (0,)},
    {"x": "f64[3,2]", "v": "f64[]", "s": (1, 0), "t": (2, 0), "d": (0, 0), "p": (0, 2), "q": (3, 1), "e": (0, 0)},
], never=[{"x": "f64[3]", "v": 0.5, "s": (2,), "t": (2,), "d": (0,), "p": (-1,), "q": (0,), "e": (0,)}])  # fmt: skip
def merge_pads(x, v, s, t, d, p, q, e):
    if any(e) or min(*s, *t, *p, *q) < 0:
        return None
    return pad(
        x,
        v,
        low=tuple(i + j for i, j in zip(s, p, strict=True)),
        high=tuple(i + j for i, j in zip(t, q, strict=True)),
        interior=d,
    )


@rule(concatenate(xs, axis=d), cases=[{"xs": ("f64[3]",), "d": 0}, {"xs": ("f64[3]", "f64[0]", "f64[2]"), "d": 0}],
      never=["""
    func full(%x: f64[3], %y: f64[1]) -> f64[4] {
      %0 = concatenate %x, %y axis=0 : f64[4]
      return %0
    }"""])  # fmt: skip
def concatenate_of_nothing(xs, d):
    """Empty parts leave; one part alone is itself."""
    full = [z for z in xs if z.type.shape[d]] or xs[:1]
    return full[0] if len(full) == 1 else concatenate(*full, axis=d) if len(full) < len(xs) else None


@rule(concatenate(xs, axis=d), cases=["""
    func joined(%x: f64[6,3]) -> f64[4,2] {
      %0 = slice %x start=[1,1] stop=[3,3] stride=[1,1] : f64[2,2]
      %1 = slice %x start=[3,1] stop=[5,3] stride=[1,1] : f64[2,2]
      %2 = concatenate %0, %1 axis=0                    : f64[4,2]
      return %2
    }"""], never=["""
    func apart(%x: f64[6]) -> f64[4] {
      %0 = slice %x start=[1] stop=[3] stride=[1] : f64[2]
      %1 = slice %x start=[4] stop=[6] stride=[1] : f64[2]
      %2 = concatenate %0, %1 axis=0              : f64[4]
      return %2
    }"""])  # fmt: skip
def concatenate_of_slices(xs, d):
    """Neighbouring slices of one value, joined again."""
    parts = [z.eqn if not isinstance(z, Lit) and z.eqn is not None and z.eqn.op is slice_ else None for z in xs]
    if None in parts or len({z.operands[0] for z in parts}) > 1 or any(set(z.attrs["stride"]) != {1} for z in parts):
        return None
    starts, stops = [z.attrs["start"] for z in parts], [z.attrs["stop"] for z in parts]
    adjacent = all(i[d] == j[d] for i, j in zip(starts[1:], stops, strict=False))
    aligned = all((i[:d], i[d + 1 :]) == (starts[0][:d], starts[0][d + 1 :]) for i in starts)
    if not adjacent or not aligned:
        return None
    return slice_(
        parts[0].operands[0],
        start=starts[0],
        stop=(*stops[0][:d], stops[-1][d], *stops[0][d + 1 :]),
        stride=(1,) * len(starts[0]),
    )


@rule(dynamic_slice(x, xs, sizes=s), cases=[{"x": "f64[5,4]", "xs": (2, 9), "s": (2, 2)},
    {"x": "f64[5]", "xs": ("i64[]",), "s": (5,)}],
      never=[{"x": "f64[5]", "xs": ("i64[]",), "s": (2,)}])  # fmt: skip
def dynamic_slice_at_known_place(x, xs, s):
    if x.type.shape == s:
        return x
    if not all(isinstance(i, Lit) for i in xs):
        return None
    start = tuple(min(max(int(i.value), 0), n - k) for i, n, k in zip(xs, x.type.shape, s, strict=True))
    return slice_(x, start=start, stop=tuple(i + k for i, k in zip(start, s, strict=True)), stride=(1,) * len(s))


rule(
    dynamic_update_slice(x, u, xs),
    u,
    where=lambda x, u: x.type.shape == u.type.shape,
    cases=[{"x": "f64[5]", "u": "f64[5]", "xs": ("i64[]",)}],
    never=[{"x": "f64[5]", "u": "f64[4]", "xs": ("i64[]",)}],
)
rule(
    dynamic_slice(dynamic_update_slice(x, u, xs), xs, sizes=s),
    u,
    where=lambda u, s: u.type.shape == s,
    cases=[{"x": "f64[5]", "u": "f64[2]", "xs": ("i64[]",), "s": (2,)}],
    never=[{"x": "f64[5]", "u": "f64[3]", "xs": ("i64[]",), "s": (2,)}],
)
