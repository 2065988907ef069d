"""Identities of ops that move, repeat, join or cut elements, and of those ops around contractions and sums."""

from ..core import Lit
from ..ops.linalg import dot_general
from ..ops.reduction import reduce_sum
from ..ops.shape import broadcast, concatenate, dynamic_slice, dynamic_update_slice, pad, reshape, reverse, slice_, transpose
from ..rewrite import RuleSet, holes, literals, rest

LAYOUT = RuleSet("layout")
rule = LAYOUT.rule
x, y, u, v = holes("x y u v")
a = literals("a")
p, q, s, t, d, e = holes("p q s t d e")  # attributes: axes and shapes
b, c = holes("b c")
xs, ys = rest("xs"), rest("ys")


def size(shape):
    n = 1
    for k in shape:
        n *= k
    return n


def rising(axes):
    return list(axes) == sorted(axes)


def without(axes, ndim):
    """The other axes, in order."""
    return tuple(i for i in range(ndim) if i not in axes)


# -- splats ----------------------------------------------------------------------------------------

MOVES = (reshape, transpose, broadcast, reverse, slice_, dynamic_slice, concatenate, pad)


@rule(None, where=lambda op, operands: op in MOVES and isinstance(operands[0], Lit))
def splat_stays_splat(op, operands, attrs):
    """Moving equal elements moves nothing; what is joined or padded must be equal too."""
    joined = operands if op in (concatenate, pad) else operands[:1]
    if any(not isinstance(z, Lit) or Lit(z.value, operands[0].type) is not operands[0] for z in joined):
        return None
    return Lit(operands[0].value, op.result_types(operands, attrs)[0])


# -- transpose, reshape, broadcast: few equations, each as plain as it can be ----------------------


@rule(transpose(transpose(x, perm=p), perm=q), cases=[{"x": "f64[2,3,4]", "p": (2, 0, 1), "q": (0, 2, 1)}, {"x": "i32[2,3]", "p": (1, 0), "q": (1, 0)}])
def merge_transposes(x, p, q):
    return transpose(x, perm=tuple(p[i] for i in q))


@rule(transpose(x, perm=p), cases=[{"x": "f64[2,3]", "p": (0, 1)}, {"x": "f64[1,3]", "p": (1, 0)}, {"x": "f64[2,1,3,1]", "p": (1, 0, 3, 2)}])
def transpose_of_ones(x, p):
    """Axes of size one may move freely."""
    return reshape(x, shape=tuple(x.type.shape[i] for i in p)) if rising([i for i in p if x.type.shape[i] != 1]) else None


rule(reshape(reshape(x, shape=s), shape=t), reshape(x, shape=t), cases=[{"x": "f64[2,6]", "s": (3, 4), "t": (12,)}])
rule(reshape(x, shape=s), x, where=lambda x, s: x.type.shape == s, cases=[{"x": "f64[2,6]", "s": (2, 6)}, {"x": "i64[]", "s": ()}])


@rule(broadcast(broadcast(x, shape=s, dims=d), shape=t, dims=e), cases=[{"x": "f64[3,1]", "s": (3, 4), "d": (0, 1), "t": (2, 3, 4), "e": (1, 2)}])
def merge_broadcasts(x, d, t, e):
    return broadcast(x, shape=t, dims=tuple(e[i] for i in d))


@rule(broadcast(x, shape=s, dims=d), cases=[{"x": "f64[3]", "s": (1, 3, 1), "d": (1,)}, {"x": "f64[2,3]", "s": (2, 3), "d": (0, 1)}])
def broadcast_repeats_nothing(x, s):
    return reshape(x, shape=s) if size(s) == x.type.size else None


@rule(reshape(broadcast(x, shape=s, dims=d), shape=t), cases=[{"x": "f64[3]", "s": (3, 4), "d": (0,), "t": (3, 1, 4)}, {"x": "i8[2,3]", "s": (1, 2, 5, 3), "d": (1, 3), "t": (2, 5, 1, 3)}])
def reshape_of_broadcast(x, s, d, t):
    """Ones come and go beside the axes that stay."""
    old, new = [i for i, n in enumerate(s) if n != 1], [i for i, n in enumerate(t) if n != 1]
    if [s[i] for i in old] != [t[i] for i in new] or any(i not in old for i in d):
        return None
    return broadcast(x, shape=t, dims=tuple(new[old.index(i)] for i in d))


@rule(broadcast(reshape(x, shape=s), shape=t, dims=e), cases=[{"x": "f64[3]", "s": (3, 1), "t": (3, 4), "e": (0, 1)}, {"x": "f64[2,3]", "s": (2, 1, 3), "t": (5, 2, 4, 3), "e": (1, 2, 3)}])
def broadcast_of_added_ones(x, s, t, e):
    """The reshape only made room for the broadcast."""
    kept, i = [], 0
    for axis, n in zip(e, s, strict=True):
        if i < x.type.ndim and x.type.shape[i] == n:
            kept, i = [*kept, axis], i + 1
        elif n != 1:
            return None
    return broadcast(x, shape=t, dims=tuple(kept)) if i == x.type.ndim else None


@rule(transpose(broadcast(x, shape=s, dims=d), perm=p), cases=[{"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (1, 0)}, {"x": "f64[2,3]", "s": (2, 5, 3), "d": (0, 2), "p": (1, 0, 2)}])
def transpose_of_broadcast(x, s, d, p):
    dims = tuple(p.index(i) for i in d)
    return broadcast(x, shape=tuple(s[i] for i in p), dims=dims) if rising(dims) else None


# -- reverse, slices, padding, joining -------------------------------------------------------------


@rule(reverse(x, axes=p), cases=[{"x": "f64[2,3]", "p": ()}, {"x": "f64[1,3]", "p": (0,)}, {"x": "f64[1,3]", "p": (0, 1)}])
def reverse_of_ones(x, p):
    axes = tuple(i for i in p if x.type.shape[i] > 1)
    return reverse(x, axes=axes) if 0 < len(axes) < len(p) else None if axes else x


@rule(reverse(reverse(x, axes=p), axes=q), cases=[{"x": "f64[2,3]", "p": (0,), "q": (0, 1)}, {"x": "f64[3]", "p": (0,), "q": (0,)}])
def merge_reverses(x, p, q):
    return reverse(x, axes=tuple(sorted({*p} ^ {*q})))


@rule(slice_(x, start=s, stop=t, stride=d), cases=[{"x": "f64[4,3]", "s": (0, 0), "t": (4, 3), "d": (1, 1)}])
def slice_of_all(x, s, t, d):
    return x if not any(s) and t == x.type.shape and set(d) <= {1} else None


@rule(slice_(slice_(x, start=s, stop=t, stride=d), start=p, stop=q, stride=e), cases=[
    {"x": "f64[20]", "s": (3,), "t": (18,), "d": (2,), "p": (1,), "q": (7,), "e": (3,)}, {"x": "i64[5]", "s": (1,), "t": (5,), "d": (1,), "p": (0,), "q": (0,), "e": (1,)},
])  # fmt: skip
def merge_slices(x, s, d, p, q, e):
    """Element k of the outer one is element s + d (p + e k)."""
    start = tuple(i + k * j for i, k, j in zip(s, d, p, strict=True))
    stop = tuple(i + (n - 1) * k + 1 if n > m else i + m * k for i, k, m, n in zip(s, d, p, q, strict=True))
    stop = tuple(max(i, min(j, n)) for i, j, n in zip(start, stop, x.type.shape, strict=True))
    return slice_(x, start=start, stop=stop, stride=tuple(i * j for i, j in zip(d, e, strict=True))) if all(i <= n for i, n in zip(start, x.type.shape, strict=True)) else None


@rule(pad(x, v, low=s, high=t, interior=d), cases=[
    {"x": "f64[5]", "v": "f64[]", "s": (0,), "t": (0,), "d": (0,)}, {"x": "f64[5,3]", "v": 0.0, "s": (-1, 0), "t": (-2, 0), "d": (0, 0)}, {"x": "f64[1]", "v": 0.0, "s": (0,), "t": (0,), "d": (3,)},
])  # fmt: skip
def pad_adds_nothing(x, s, t, d):
    """No padding, or a cut: then it is a slice."""
    if max(s, default=0) > 0 or max(t, default=0) > 0 or any(i and n > 1 for i, n in zip(d, x.type.shape, strict=True)):
        return None
    start, stop = tuple(-i for i in s), tuple(n + i for n, i in zip(x.type.shape, t, strict=True))
    return slice_(x, start=start, stop=stop, stride=(1,) * len(s)) if all(0 <= i <= j for i, j in zip(start, stop, strict=True)) else None


@rule(pad(pad(x, v, low=s, high=t, interior=d), v, low=p, high=q, interior=e), cases=[
    {"x": "f64[3]", "v": 0.5, "s": (1,), "t": (2,), "d": (1,), "p": (0,), "q": (3,), "e": (0,)},
    {"x": "f64[3,2]", "v": "f64[]", "s": (1, 0), "t": (2, 0), "d": (0, 0), "p": (0, 2), "q": (3, 1), "e": (0, 0)},
])  # fmt: skip
def merge_pads(x, v, s, t, d, p, q, e):
    if any(e) or min(*s, *t, *p, *q) < 0:
        return None
    return pad(x, v, low=tuple(i + j for i, j in zip(s, p, strict=True)), high=tuple(i + j for i, j in zip(t, q, strict=True)), interior=d)


@rule(concatenate(xs, axis=d), cases=[{"xs": ("f64[3]",), "d": 0}, {"xs": ("f64[3]", "f64[0]", "f64[2]"), "d": 0}])
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
    }"""])
def concatenate_of_slices(xs, d):
    """Neighbouring slices of one value, joined again."""
    parts = [z.eqn if not isinstance(z, Lit) and z.eqn is not None and z.eqn.op is slice_ else None for z in xs]
    if None in parts or len({z.operands[0] for z in parts}) > 1 or any(set(z.attrs["stride"]) > {1} for z in parts):
        return None
    starts, stops = [z.attrs["start"] for z in parts], [z.attrs["stop"] for z in parts]
    adjacent = all(i[d] == j[d] for i, j in zip(starts[1:], stops, strict=False))
    aligned = all((i[:d], i[d + 1 :]) == (starts[0][:d], starts[0][d + 1 :]) for i in starts)
    if not adjacent or not aligned:
        return None
    return slice_(parts[0].operands[0], start=starts[0], stop=(*stops[0][:d], stops[-1][d], *stops[0][d + 1 :]), stride=(1,) * len(starts[0]))


@rule(dynamic_slice(x, xs, sizes=s), cases=[{"x": "f64[5,4]", "xs": (2, 9), "s": (2, 2)}, {"x": "f64[5]", "xs": ("i64[]",), "s": (5,)}])
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
)
rule(
    dynamic_slice(dynamic_update_slice(x, u, xs), xs, sizes=s),
    u,
    where=lambda u, s: u.type.shape == s,
    cases=[{"x": "f64[5]", "u": "f64[2]", "xs": ("i64[]",), "s": (2,)}],
)

# -- sums ------------------------------------------------------------------------------------------

rule(reduce_sum(x, axes=()), x, cases=[{"x": "f64[3]"}])


@rule(reduce_sum(reduce_sum(x, axes=p), axes=q), exact=False, cases=[{"x": "f64[2,3,4]", "p": (1,), "q": (1,)}])  # adds in another order
def merge_sums(x, p, q):
    left = without(p, x.type.ndim)
    return reduce_sum(x, axes=tuple(sorted((*p, *(left[i] for i in q)))))


@rule(reduce_sum(transpose(x, perm=p), axes=q), exact=False, cases=[{"x": "f64[2,3,4]", "p": (2, 0, 1), "q": (0,)}, {"x": "f64[2,3]", "p": (1, 0), "q": (0, 1)}])
def sum_of_transpose(x, p, q):
    """Where the axes that stay are in order."""
    return reduce_sum(x, axes=tuple(sorted(p[i] for i in q))) if rising([p[i] for i in without(q, len(p))]) else None


@rule(reduce_sum(reshape(x, shape=s), axes=p), exact=False, cases=[{"x": "f64[2,6]", "s": (3, 4), "p": (0, 1)}])  # adds in another order
def sum_of_everything(x, s, p):
    return reduce_sum(x, axes=tuple(range(x.type.ndim))) if len(p) == len(s) else None


@rule(reduce_sum(broadcast(x, shape=s, dims=d), axes=p), exact=False, cases=[{"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (1,)}, {"x": "f32[3,1]", "s": (3, 4, 2), "d": (0, 2), "p": (1, 2)}])
def sum_of_repeats(x, s, d, p):
    """n equal terms are n times one; only axes that repeat are summed, and all of them."""
    repeats = tuple(i for i in range(len(s)) if i not in d or x.type.shape[d.index(i)] != s[i])
    if set(p) != set(repeats):
        return None
    return reshape(x, shape=tuple(s[i] for i in without(p, len(s)))) * size(s[i] for i in p)


@rule(reduce_sum(a, axes=p), exact=False, cases=[{"a": 0.1, "p": (0,)}, {"a": 3, "p": (0,)}])
def sum_of_splat(a, p):
    n = size(a.type.shape[i] for i in p)
    return Lit(a.value * a.type.dtype.type(n), a.type.like(a.type.shape[i] for i in without(p, a.type.ndim)))


rule(reduce_sum(-x, axes=p), -reduce_sum(x, axes=p), exact=False, cases=[{"x": "f64[3,4]", "p": (1,)}])  # 1 - 1 and -1 + 1 are both +0.0


@rule(reduce_sum(a * x, axes=p), exact=False, cases=[{"a": 0.1, "x": "f64[3,4]", "p": (1,)}])  # rounds once instead of n times
def sum_of_multiples(a, x, p):
    total = reduce_sum(x, axes=p)
    return Lit(a.value, total.type) * total


# -- contractions take transposed operands as they are; BLAS may add in another order --------------


def through(axes, perm):
    """Axes of a transposed operand as axes of the operand."""
    return tuple(perm[i] for i in axes)


def free_in_order(perm, contract, batch):
    return rising([perm[i] for i in range(len(perm)) if i not in contract + batch])


@rule(dot_general(transpose(x, perm=p), y, contract=c, batch=b), exact=False, cases=[
    {"x": "f64[4,3]", "p": (1, 0), "y": "f64[4,2]", "c": ((1,), (0,)), "b": ((), ())}, {"x": "f64[4,2,3]", "p": (1, 2, 0), "y": "f64[2,4]", "c": ((2,), (1,)), "b": ((0,), (0,))},
])  # fmt: skip
def contract_transposed_left(x, p, y, c, b):
    if not free_in_order(p, c[0], b[0]):
        return None
    return dot_general(x, y, contract=(through(c[0], p), c[1]), batch=(through(b[0], p), b[1]))


@rule(dot_general(x, transpose(y, perm=p), contract=c, batch=b), exact=False, cases=[{"x": "f64[2,4]", "y": "f64[3,4]", "p": (1, 0), "c": ((1,), (0,)), "b": ((), ())}])
def contract_transposed_right(x, y, p, c, b):
    if not free_in_order(p, c[1], b[1]):
        return None
    return dot_general(x, y, contract=(c[0], through(c[1], p)), batch=(b[0], through(b[1], p)))


@rule(transpose(dot_general(x, y, contract=c, batch=b), perm=p), exact=False, cases=[
    {"x": "f64[3,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": ((), ()), "p": (1, 0)}, {"x": "f64[2,3,4]", "y": "f64[2,4,5]", "c": ((2,), (1,)), "b": ((0,), (0,)), "p": (0, 2, 1)},
])  # fmt: skip
def contract_the_other_way_round(x, y, c, b, p):
    """(x y)^T contracts y with x: batch axes, then the free axes of y, then those of x."""
    k = len(b[0])
    m = k + x.type.ndim - k - len(c[0])
    if p != (*range(k), *range(m, len(p)), *range(k, m)):
        return None
    return dot_general(y, x, contract=c[::-1], batch=b[::-1])
