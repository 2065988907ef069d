"""Which axes of the values of a program lie over which axes of a mesh of devices, and what the devices have to send.

A spec has an entry for each axis of a value: the name of a mesh axis, a tuple of such names, or None. `Spread` takes
the specs of the parameters through the equations, forward, as XLA's partitioner does: an elementwise result lies as its
operands do, a sum along a spread axis is a sum of partial sums, what no rule knows is gathered first. Nothing here
decides how a program runs: it is a model, from which axes are chosen and costs are told.

Bytes are those that one device sends: of an all-reduce of b bytes over n devices 2 b (n - 1) / n, of an all-gather and
an all-to-all of b bytes b (n - 1) / n, b of a permutation.  [Thakur, Rabenseifner and Gropp 2005, Optimization of
Collective Communication Operations in MPICH, sections 4 and 5]
"""

import math

from .amounts import in_units
from .core import Lit

ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, PERMUTE = "all-reduce", "all-gather", "all-to-all", "collective-permute"
ROUNDS = 3  # bound: how often the body of a loop is looked at, until what it carries lies as before
UNKNOWN_TRIPS = 1  # trips of a loop that data decide, as they count


def sent(kind, size, n):
    """Bytes that one of n devices sends in a collective whose result has `size` bytes on it."""
    if n <= 1:
        return 0.0
    return {ALL_REDUCE: 2.0 * (n - 1) / n, PERMUTE: 1.0}.get(kind, (n - 1) / n) * size


class Moved:
    """One collective that an equation leads to. size: bytes of its result on one device; n: devices that take part;
    times: how often it runs."""

    __slots__ = ("kind", "eqn", "n", "size", "times")

    def __init__(self, eqn, kind, size, n, times):
        self.eqn, self.kind, self.size, self.n, self.times = eqn, kind, size, n, times

    @property
    def bytes(self):
        """What one device sends in all of them."""
        return self.times * sent(self.kind, self.size, self.n)

    def __repr__(self):
        return f"<{self.kind} of {in_units(self.size, 'B')} over {self.n}, {self.times} x>"


def mesh_axes(entry):
    """The mesh axes over which one axis of a value lies, as a tuple."""
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


class Spread:
    """.specs: {value: its spec}; .moved: the collectives, in order. sizes: {mesh axis: devices along it}."""

    def __init__(self, func, specs, sizes):
        self.sizes, self.specs, self.moved, self.times = sizes, {}, [], 1
        self.results = self.run(func, specs)

    def run(self, func, specs):
        """The specs of the results of a function."""
        self.specs.update(zip(func.params, specs, strict=True))
        for eqn in func.eqns:
            given = [self.of(x) for x in eqn.operands]
            found = RULES.get(eqn.op.name, lay_elementwise if "elementwise" in eqn.op.traits else lay_gathered)(
                self, eqn, *given
            )
            for r, spec in zip(eqn.results, found if eqn.op.multiple else (found,), strict=True):
                self.specs[r] = self.fitting(r, spec)
        return [self.of(r) for r in func.results]

    def of(self, x):
        return (None,) * x.type.ndim if isinstance(x, Lit) else self.specs.get(x, (None,) * x.type.ndim)

    def fitting(self, x, spec):
        """A spec without axes that do not divide, or that lie along an earlier axis too."""
        out, used = [], set()
        for size, entry in zip(x.type.shape, spec, strict=True):
            names = mesh_axes(entry)
            keep = names and not used & set(names) and size % self.count(entry) == 0 and size
            used |= set(names) if keep else set()
            out.append(entry if keep else None)
        return tuple(out)

    def count(self, *entries):
        """Devices along the mesh axes of entries of a spec."""
        return math.prod(self.sizes[a] for e in entries for a in mesh_axes(e))

    def local(self, x, spec):
        """Bytes of a value on one device."""
        return x.type.size * x.type.dtype.itemsize / self.count(*spec)

    def move(self, eqn, kind, size, *entries):
        if (n := self.count(*entries)) > 1 and size:
            self.moved.append(Moved(eqn, kind, size, n, self.times))

    def whole(self, eqn, x, spec, axes):
        """The spec of a value that is made whole along some of its axes first."""
        cut = tuple(None if a in axes else e for a, e in enumerate(spec))
        entries = [spec[a] for a in axes if spec[a] is not None]
        if entries:
            self.move(eqn, ALL_GATHER, self.local(x, cut), *entries)
        return cut

    def laid(self, eqn, x, spec, wanted):
        """What it takes to have a value lie as is wanted: nothing where it is whole, or lies so along all its axes."""
        moves = [e for e, w in zip(spec, wanted, strict=True) if e is not None and e != w]
        if moves:
            taken = {a for e in wanted for a in mesh_axes(e)}
            kind = ALL_TO_ALL if {a for e in moves for a in mesh_axes(e)} <= taken else ALL_GATHER
            self.move(eqn, kind, self.local(x, wanted if kind is ALL_GATHER else spec), *moves)

    @property
    def bytes(self):
        """What one device sends in one call."""
        return sum(m.bytes for m in self.moved)


# -- rules: (spread, equation, *specs of operands) -> the spec of the result, or one for each -----------------------


def common_spec(specs, like):
    """One spec of several of one shape: of each axis the first that is told, of values that are larger first."""
    out, used = [], set()
    for entries in zip(*specs):
        found = next((e for e in entries if e is not None and not used & set(mesh_axes(e))), None)
        used |= set(mesh_axes(found))
        out.append(found)
    return tuple(out) or (None,) * like.type.ndim


def lay_elementwise(s, eqn, *given):
    same = [(x, g) for x, g in zip(eqn.operands, given) if x.type.shape == eqn.results[0].type.shape]
    out = s.fitting(eqn.results[0], common_spec([g for _, g in same], eqn.results[0]))
    for x, g in same:
        s.laid(eqn, x, g, out)
    return (out,) * len(eqn.results) if eqn.op.multiple else out


def lay_gathered(s, eqn, *given):
    """What no rule knows runs on all devices, of whole operands."""
    for x, g in zip(eqn.operands, given):
        s.whole(eqn, x, g, range(len(g)))
    whole = tuple((None,) * r.type.ndim for r in eqn.results)
    return whole if eqn.op.multiple else whole[0]


def lay_reduction(s, eqn, x):
    axes = eqn.attrs["axes"]
    out = tuple(e for a, e in enumerate(x) if a not in axes)
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *(x[a] for a in axes))
    return out


def lay_arg_extreme(s, eqn, x):
    """The extremes of the parts, then the least place among them."""
    axis = eqn.attrs["axis"]
    out = tuple(e for a, e in enumerate(x) if a != axis)
    for _ in range(2):
        s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), x[axis])
    return out


def lay_along(s, eqn, *given):
    """Of whole rows: scans and sorts."""
    axis = eqn.attrs.get("axis", -1) % len(given[0]) if given[0] else 0
    axis = len(given[0]) - 1 if "k" in eqn.attrs else axis
    cut = [s.whole(eqn, x, g, (axis,) if g else ()) for x, g in zip(eqn.operands, given)]
    out = common_spec(cut, eqn.results[0])
    return (out,) * len(eqn.results) if eqn.op.multiple else out


def lay_scan(s, eqn, x):
    """Each device scans its part, and begins with what lies before it."""
    axis = eqn.attrs["axis"]
    total = math.prod(s.sizes.values())
    if x[axis] is None or eqn.operands[0].type.shape[axis] % total:
        return lay_along(s, eqn, x)
    size = s.local(eqn.operands[0], x) * s.count(x[axis]) / eqn.operands[0].type.shape[axis]
    s.move(eqn, ALL_GATHER, size * total, x[axis])
    return x


def lay_broadcast(s, eqn, x):
    out = [None] * eqn.results[0].type.ndim
    for a, d in enumerate(eqn.attrs["dims"]):
        out[d] = x[a] if eqn.operands[0].type.shape[a] == eqn.results[0].type.shape[d] else None
    return tuple(out)


def lay_transpose(s, eqn, x):
    return tuple(x[p] for p in eqn.attrs["perm"])


def lay_reshape(s, eqn, x):
    """The first axis of each group of axes that become others keeps what lies along it; the others are gathered."""
    old, new = eqn.operands[0].type.shape, eqn.results[0].type.shape
    out, lost, i, j = [None] * len(new), [], 0, 0
    while i < len(old) and j < len(new):
        begun, first, m, n = i, j, old[i], new[j]
        i, j = i + 1, j + 1
        while m != n:
            if m < n:
                m, i = m * old[i], i + 1
            else:
                n, j = n * new[j], j + 1
        group = [a for a in range(begun, i) if old[a] != 1] or [begun]
        lead = next((b for b in range(first, j) if new[b] != 1), first)
        kept = group[0]
        if x[kept] is not None and new[lead] % s.count(x[kept]) == 0:
            out[lead] = x[kept]
        else:
            lost += [kept]
        lost += group[1:]
    s.whole(eqn, eqn.operands[0], x, [a for a in lost if x[a] is not None])
    return tuple(out)


def lay_reverse(s, eqn, x):
    spread = [x[a] for a in eqn.attrs["axes"] if x[a] is not None]
    if spread:
        s.move(eqn, PERMUTE, s.local(eqn.operands[0], x), *spread)
    return x


def lay_concatenate(s, eqn, *given):
    axis = eqn.attrs["axis"]
    for x, g in zip(eqn.operands, given):
        s.whole(eqn, x, g, (axis,))
    return common_spec([tuple(None if a == axis else e for a, e in enumerate(g)) for g in given], eqn.results[0])


def shifted(s, eqn, x, axis, rows):
    """Rows that cross from one device to the next."""
    value = eqn.operands[0]
    if x[axis] is not None and rows:
        n = s.count(x[axis])
        part = max(value.type.shape[axis] // n, 1)
        s.move(eqn, PERMUTE, s.local(value, x) * min(rows, part) / part, x[axis])


def lay_pad(s, eqn, x, value):
    """Spread axes stay so, where XLA's partitioner can: rows move over by what is put in front."""
    if any(i and e is not None for i, e in zip(eqn.attrs["interior"], x)):
        x = s.whole(eqn, eqn.operands[0], x, [a for a, i in enumerate(eqn.attrs["interior"]) if i])
    for axis, (low, high) in enumerate(zip(eqn.attrs["low"], eqn.attrs["high"])):
        shifted(s, eqn, x, axis, max(abs(low), abs(high)))
    return x


def lay_slice_(s, eqn, x):
    shape = eqn.operands[0].type.shape
    for axis, (start, stop, step) in enumerate(zip(*(eqn.attrs[k] for k in ("start", "stop", "stride")))):
        if (start, stop, step) != (0, shape[axis], 1):
            shifted(s, eqn, x, axis, start if stop - start > shape[axis] // 2 else shape[axis])
    return tuple(
        e if k == n or k > n // 2 else None for e, k, n in zip(x, eqn.results[0].type.shape, shape, strict=True)
    )


def lay_dynamic_slice(s, eqn, x, *starts):
    """What is cut from a spread axis is the sum of what each device has of it."""
    cut = [e for e, k, n in zip(x, eqn.attrs["sizes"], eqn.operands[0].type.shape, strict=True) if k != n]
    out = tuple(e if k == n else None for e, k, n in zip(x, eqn.attrs["sizes"], eqn.operands[0].type.shape))
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *cut)
    return out


def lay_dynamic_update_slice(s, eqn, x, u, *starts):
    array, update = eqn.operands[:2]
    alike = tuple(e if k == n else None for e, k, n in zip(u, update.type.shape, array.type.shape, strict=True))
    out = common_spec([x, alike], array)
    for axis, (e, k, n) in enumerate(zip(u, update.type.shape, array.type.shape)):
        if e is not None and k != n and k > n // 2:  # it lies nearly as the array does
            out = tuple(e if a == axis and o is None else o for a, o in enumerate(out))
            part = max(n // s.count(e), 1)
            s.move(eqn, PERMUTE, s.local(update, u) / part, e)
        elif e is not None and k != n:
            s.whole(eqn, update, u, (axis,))
    return out


def lay_dot_general(s, eqn, x, y):
    (a, b), (p, q), out = *(eqn.attrs[k] for k in ("contract", "batch")), []
    left, right = eqn.operands
    for i, j in zip(p, q):
        out.append(x[i] if x[i] is not None else y[j])
    partial = []
    for i, j in zip(a, b):
        entry = x[i] if x[i] is not None else y[j]
        if entry is not None:
            partial.append(entry)
            if y[j] is not None and x[i] is not None and x[i] != y[j]:
                y = s.whole(eqn, right, y, (j,))
    out += [e for k, e in enumerate(x) if k not in (*a, *p)]
    free = [e for k, e in enumerate(y) if k not in (*b, *q)]
    used = {n for e in (*out, *partial) for n in mesh_axes(e)}
    clash = [k for k, e in enumerate(y) if k not in (*b, *q) and used & set(mesh_axes(e))]
    y = s.whole(eqn, right, y, clash) if clash else y
    out += [None if used & set(mesh_axes(e)) else e for e in free]
    out = s.fitting(eqn.results[0], out)
    used = {n for e in out for n in mesh_axes(e)}
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *[e for e in partial if not used & set(mesh_axes(e))])
    return out


def lay_gather(s, eqn, x, indices):
    """Windows of an axis that is spread are sums of what each device has; where the indices are spread, so is the
    result."""
    attrs, array = eqn.attrs, eqn.operands[0]
    ndim = eqn.results[0].type.ndim
    places = [d for d in range(ndim) if d not in attrs["offset_dims"]]
    out = [None] * ndim
    for d, e in zip(places, indices):
        out[d] = e
    kept = [a for a in range(len(x)) if a not in (*attrs["collapsed"], *attrs["operand_batch"])]
    used = {n for e in out for n in mesh_axes(e)}
    cut = []
    for d, a in zip(attrs["offset_dims"], kept):
        if attrs["sizes"][a] == array.type.shape[a] and not used & set(mesh_axes(x[a])):
            out[d] = x[a]
        else:
            cut.append(a)
    cut += [*attrs["collapsed"]]
    clash = [a for a in cut if used & set(mesh_axes(x[a]))]
    x = s.whole(eqn, array, x, clash) if clash else x
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *(x[a] for a in cut if x[a] is not None))
    return tuple(out)


def lay_scatter(s, eqn, x, indices, updates):
    """Sums and extremes of spread updates are of partial ones; to replace elements, all updates are gathered."""
    spread = [e for e in indices if e is not None]
    used = {n for e in x for n in mesh_axes(e)}
    if eqn.op.name == "scatter" or any(used & set(mesh_axes(e)) for e in spread):
        s.whole(eqn, eqn.operands[1], indices, range(len(indices)))
        s.whole(eqn, eqn.operands[2], updates, [a for a, e in enumerate(updates) if e in spread])
        spread = []
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], x), *spread)
    return x


def lay_batched(s, eqn, *given):
    """Matrices along the last two axes are whole, vectors the last one."""
    keep = max(eqn.results[0].type.ndim - 2, 0)
    cut = [s.whole(eqn, x, g, range(min(keep, len(g)), len(g))) for x, g in zip(eqn.operands, given)]
    lead = next((g[:keep] for g in cut if len(g) >= keep), (None,) * keep)
    out = [(*lead, *[None] * r.type.ndim)[: r.type.ndim] for r in eqn.results]
    return out if eqn.op.multiple else out[0]


def lay_conv_general(s, eqn, x, w):
    """Rows of the batch are independent."""
    lhs, _, to = eqn.attrs["dimension_numbers"]
    x = s.whole(eqn, eqn.operands[0], x, [a for a in range(len(x)) if a != lhs[0]])
    s.whole(eqn, eqn.operands[1], w, range(len(w)))
    out = [None] * len(x)
    out[to[0]] = x[lhs[0]] if eqn.attrs["batch_groups"] == 1 else None
    return tuple(out)


def lay_loop(s, eqn, *given):
    """What a loop carries lies as its body leaves it, from the trip on in which nothing changes any more."""
    attrs, first = eqn.attrs, len(given) - eqn.attrs["carried"]
    head = int(attrs["trips"] is None and attrs["test"] is None)
    state, before, times = list(given[first:]), len(s.moved), s.times
    for _ in range(ROUNDS):
        del s.moved[before:]
        s.times = times * (UNKNOWN_TRIPS if attrs["trips"] is None else attrs["trips"])
        out = s.run(attrs["body"], [(), *given[head:first], *state])
        wider = [common_spec([a, b], x) for a, b, x in zip(state, out, eqn.results, strict=True)]
        if wider == state:
            break
        state = wider
    s.times = times
    return state


def lay_cond(s, eqn, index, *given):
    found = [s.run(branch, given) for branch in eqn.attrs["branches"]]
    return [common_spec(specs, r) for specs, r in zip(zip(*found, strict=True), eqn.results, strict=True)]


def lay_call(s, eqn, *given):
    return s.run(eqn.attrs["body"], given)


def lay_made(s, eqn):
    return (None,) * eqn.results[0].type.ndim


# fmt: off
RULES = {
    **{f"reduce_{name}": lay_reduction for name in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **dict.fromkeys(("argmax", "argmin"), lay_arg_extreme),
    **dict.fromkeys(("recurrence", "sort", "top_k"), lay_along),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), lay_scan),
    **dict.fromkeys(("constant", "iota"), lay_made),
    **dict.fromkeys(("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"), lay_scatter),
    **dict.fromkeys(("solve", "triangular_solve", "cholesky", "lu", "qr", "svd"), lay_batched),
    **dict.fromkeys(("eigh", "eigvalsh", "eig", "eigvals"), lay_batched),
    "broadcast": lay_broadcast, "transpose": lay_transpose, "reshape": lay_reshape, "reverse": lay_reverse,
    "concatenate": lay_concatenate,
    "pad": lay_pad, "slice": lay_slice_, "dynamic_slice": lay_dynamic_slice,
    "dynamic_update_slice": lay_dynamic_update_slice,
    "dot_general": lay_dot_general, "gather": lay_gather, "conv_general": lay_conv_general,
    "loop": lay_loop, "cond": lay_cond, "call": lay_call, "apart": lay_call,
}
