"""How the results of each op lie over a mesh, as its operands do, and what is sent: the rules of `ir.spread`.

A rule takes (the Spread, the equation, the spec of each operand) and gives the spec of the result, or one for each of
several; what has to be sent it tells the Spread.
"""

import math

from .split import in_parts_within, way_of

ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, PERMUTE = "all-reduce", "all-gather", "all-to-all", "collective-permute"
ROUNDS = 3  # bound: how often the body of a loop is looked at, until what it carries lies as before
UNKNOWN_TRIPS = 1  # trips of a loop that data decide, as they count


def mesh_axes(entry):
    """The mesh axes over which one axis of a value lies, as a tuple."""
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


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
    for x, g in dict(zip(eqn.operands, given, strict=True)).items():
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


def rows_cross(s, eqn, x, axis, rows):
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
        rows_cross(s, eqn, x, axis, max(abs(low), abs(high)))
    return x


def lay_slice_(s, eqn, x):
    shape = eqn.operands[0].type.shape
    for axis, (start, stop, step) in enumerate(zip(*(eqn.attrs[k] for k in ("start", "stop", "stride")))):
        if (start, stop, step) != (0, shape[axis], 1):
            rows_cross(s, eqn, x, axis, start if stop - start > shape[axis] // 2 else shape[axis])
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


def lay_dot_general(s, eqn, *given):
    """Each index of the product, batched, contracted or free, lies along one mesh axis, as the larger operand has it;
    what lies otherwise moves. Along a contracted index each device has a part of every sum."""
    (a, b), (p, q) = (eqn.attrs[k] for k in ("contract", "batch"))
    names = [{i: ("batch", n) for n, i in enumerate(side)} for side in (p, q)]
    for own, side in zip(names, (a, b), strict=True):
        own.update({i: ("contract", n) for n, i in enumerate(side)})
    index = [[own.get(k, (n, k)) for k in range(len(g))] for n, (own, g) in enumerate(zip(names, given, strict=True))]
    lies, used = {}, set()
    for n in sorted((0, 1), key=lambda n: -eqn.operands[n].type.size):
        for name, entry in zip(index[n], given[n], strict=True):
            if entry is not None and name not in lies and not used & {*mesh_axes(entry)}:
                lies[name] = entry
                used |= {*mesh_axes(entry)}
    for x, own, spec in zip(eqn.operands, index, given, strict=True):
        s.laid(eqn, x, spec, [lies.get(name) for name in own])
    free = [name for own in index for name in own if name[0] in (0, 1)]
    out = [lies.get(name) for name in [*(("batch", n) for n in range(len(p))), *free]]
    partial = [lies[name] for name in lies if name[0] == "contract"]
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *partial)
    return out


def lay_gather(s, eqn, x, indices):
    """Windows of an axis that is spread are sums of what each device has; where the indices are spread, so is the
    result."""
    attrs, array, out = eqn.attrs, eqn.operands[0], [None] * eqn.results[0].type.ndim
    places = [d for d in range(len(out)) if d not in attrs["offset_dims"]]
    for d, e in zip(places, indices, strict=False):
        out[d] = e
    for a, k in zip(attrs["operand_batch"], attrs["indices_batch"], strict=True):
        out[places[k]] = x[a] if out[places[k]] is None else out[places[k]]
    kept = [a for a in range(len(x)) if a not in (*attrs["collapsed"], *attrs["operand_batch"])]
    used, cut = {n for e in out for n in mesh_axes(e)}, [*attrs["collapsed"]]
    for d, a in zip(attrs["offset_dims"], kept, strict=True):
        if attrs["sizes"][a] == array.type.shape[a] and not used & {*mesh_axes(x[a])}:
            out[d] = x[a]
        else:
            cut.append(a)
    x = s.whole(eqn, array, x, [a for a in cut if used & {*mesh_axes(x[a])}])
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *(x[a] for a in cut if x[a] is not None))
    return tuple(out)


def lay_scatter(s, eqn, x, indices, updates):
    """Sums and extremes of spread updates are of partial ones; to replace elements, all updates are gathered. Along
    axes that the indices count the rows of, each device has its own."""
    rows = dict(zip(eqn.attrs["indices_batch"], eqn.attrs["operand_batch"], strict=True))
    out = tuple(next((indices[k] for k, a in rows.items() if a == n and e is None), e) for n, e in enumerate(x))
    spread = [e for k, e in enumerate(indices) if e is not None and k not in rows]
    used = {n for e in out for n in mesh_axes(e)}
    if eqn.op.name == "scatter" or any(used & {*mesh_axes(e)} for e in spread):
        s.whole(eqn, eqn.operands[1], indices, [k for k in range(len(indices)) if k not in rows])
        s.whole(eqn, eqn.operands[2], updates, [a for a, e in enumerate(updates) if e in spread])
        spread = []
    s.move(eqn, ALL_REDUCE, s.local(eqn.results[0], out), *spread)
    return out


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


def lay_parts(s, eqn, split, axis, given):
    """Each device has its rows, and those of its neighbours that it needs; what is not taken row by row is whole."""
    out = []
    for k, (x, spec) in enumerate(zip(eqn.operands, given, strict=True)):
        wanted = [axis if k in split.axes and a == split.axes[k] else None for a in range(len(spec))]
        s.laid(eqn, x, spec, wanted)
        for rows in split.halo.get(k, ()):
            s.move(eqn, PERMUTE, rows * s.local(x, ()) / max(split.rows, 1), axis)
        if k in split.sums:
            s.move(eqn, ALL_REDUCE, s.local(x, ()), axis)
        out.append(tuple(wanted))
    return out[split.count :]


def lay_loop(s, eqn, *given):
    """What a loop carries lies as its body leaves it, from the trip on in which nothing changes any more; a loop that
    goes through arrays element by element has them in parts, or whole."""
    split, axis, _ = way_of(eqn.attrs, s.sizes)
    if split is not None:
        return lay_parts(s, eqn, split, axis, given)
    if any(x.type.shape for x in eqn.operands) and not in_parts_within(eqn.attrs, s.sizes):
        return lay_gathered(s, eqn, *given)
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
