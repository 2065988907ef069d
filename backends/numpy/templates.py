"""Ops whose quickest NumPy is not the body of their declaration: (writer, equation, *what is held of the operands) ->
statements, or None."""

import math

import numpy as np

from ...ir.core import Lit, Value
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.elementwise import cast, clamp, neg, not_, select
from ...ir.ops.indexing import gather
from ...ir.ops.linalg import dot_general
from ...ir.ops.reduction import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)  # fmt: skip
from ...ir.ops.shape import broadcast, concatenate, dynamic_slice, dynamic_update_slice, iota, pad, reshape, slice_
from ...ir.ops.signal import conv_general, fft
from ...ir.ops.sorting import sort
from ...ir.sample import SAMPLE
from .any_size import at_most
from .emit import _number
from .operand import NUMPY, PYTHON, ZERO, LazyOperand, outcome
from .pretty import product_call, take

REDUCE = {
    reduce_sum: "np.add", reduce_prod: "np.multiply", reduce_max: "np.maximum", reduce_min: "np.minimum",
    reduce_and: "np.bitwise_and", reduce_or: "np.bitwise_or", reduce_xor: "np.bitwise_xor",
}  # fmt: skip


def negation(writer, eqn, x):
    return writer.keep(eqn.results[0], f"-{x.text}", x.shape, outcome([x]), new=True)


def inverted(writer, eqn, x):
    """`~True` is an int."""
    if x.kinds == {PYTHON}:
        return writer.keep(eqn.results[0], f"not {x.text}", (), [PYTHON])
    return writer.keep(eqn.results[0], f"~{writer.number(x, eqn.operands[0].type)}", x.shape, [NUMPY], new=True)


def chosen(writer, eqn, c, x, y):
    """Of numbers one of the two; NumPy's `where` makes arrays."""
    if c.shape or x.shape or y.shape:
        texts = [h.text for h in (c, x, y)]
        shape = np.broadcast_shapes(c.shape, x.shape, y.shape)
        return writer.keep(eqn.results[0], f"np.where({', '.join(texts)})", shape, new=True)
    return writer.keep(eqn.results[0], f"{x.text} if {c.text} else {y.text}", (), x.kinds | y.kinds)


def limited(writer, eqn, low, x, high):
    """Two ufuncs on small arrays, of which `np.clip` costs three times as much a call, and on bools, which it does not
    take."""
    held, t = (low, x, high), eqn.results[0].type
    shape = np.broadcast_shapes(*(h.shape for h in held))
    if shape == ():
        return None
    literal = [isinstance(o, Lit) for o in eqn.operands]
    if literal[0] and literal[1]:  # by itself NumPy would give their maximum the dtype of Python's numbers
        most = _number(np.maximum(eqn.operands[0].value, eqn.operands[1].value))
        return writer.keep(eqn.results[0], f"np.minimum({most}, {high.text})", shape, new=True)
    low, x, high = (_number(o.value) if isinstance(o, Lit) else h.text for o, h in zip(eqn.operands, held))
    short = literal[1] or t.kind == "b" or at_most(t.size, SHORT if t.kind == "f" else SHORT // 2)
    bounds = eqn.operands[0], eqn.operands[2]
    told = t.kind != "f" or all(isinstance(o, Lit) and o.value != 0 for o in bounds)  # which zero np.clip keeps
    text = f"np.minimum(np.maximum({x}, {low}), {high})" if short and told else f"np.clip({x}, {low}, {high})"
    return writer.keep(eqn.results[0], text, shape, new=True)


def converted(writer, eqn, x):
    """`astype`, and the type itself of a number that becomes a float."""
    type, dtype = eqn.operands[0].type, eqn.attrs["dtype"]
    if type.kind == "c" and dtype.kind not in "cb":
        return None
    if x.shape == () and dtype.kind == "f":
        return writer.keep(eqn.results[0], f"np.{dtype.name}({x.text})", (), [NUMPY])
    return writer.keep(
        eqn.results[0], f"{writer.number(x, type)}.astype(np.{dtype.name})", x.shape, {NUMPY, ZERO}, new=True
    )


def lazy_broadcast(writer, eqn, x):
    """Nothing, but for new axes behind those that there are."""
    (r,), shape, dims = eqn.results, eqn.attrs["shape"], eqn.attrs["dims"]
    own = dims[len(dims) - len(x.shape) :]
    index = [":" if d in own else "None" for d in range(own[0] if own else len(shape), len(shape))]
    if "None" not in index:
        writer.held[r] = LazyOperand(x.text, x.shape, x.kinds)
        return []
    sizes = dict(zip(own, x.shape, strict=True))
    return writer.keep(r, f"{x.text}[{', '.join(index)}]", tuple(sizes.get(d, 1) for d in range(own[0], len(shape))))


def reshaped(writer, eqn, x):
    """Of one cut-out element or row, the index that leads to it."""
    (operand,), (r,) = eqn.operands, eqn.results
    shape, made = r.type.shape, operand.eqn if isinstance(operand, Value) else None
    if made is not None and made.op is slice_ and (index := indexed(made, shape)) is not None:
        base = made.operands[0]
        return writer.keep(r, f"{writer.whole(writer.hold(base), base.type)}[{', '.join(index)}]", shape, [NUMPY])
    if (
        made is not None
        and made.op is dynamic_slice
        and operand.type.shape == (1,)
        and not shape
        and not isinstance(made.operands[1], Lit)
    ):
        base, start = made.operands
        i = f"min(max(int({writer.hold(start).text}), 0), {base.type.size - 1})"
        return writer.keep(r, f"{writer.whole(writer.full(base), base.type)}[{i}]", shape, [NUMPY])
    if x.shape == ():
        if shape:
            return writer.keep(r, f"np.full({shape}, {x.text}, np.{r.type.dtype.name})", shape, new=True)
        return writer.keep(r, writer.number(x, operand.type), (), x.kinds - {PYTHON} or [NUMPY])
    text = writer.whole(x, operand.type)
    return writer.keep(r, f"{text}.reshape({shape})" if shape else f"{text}.reshape(())[()]", shape, [NUMPY])


def indexed(eqn, shape):
    """The index that cuts as `eqn` does and leaves out axes of which it keeps one element, so that `shape` is left;
    None if there is none."""
    index, left = [], list(shape)
    for a, b, s, k in zip(*(eqn.attrs[k] for k in ("start", "stop", "stride")), eqn.results[0].type.shape):
        if k == 1 and not (left and left[0] == 1):
            index.append(str(a))
        elif left and left[0] == k:
            del left[0]
            index.append(f"{a}:{b}:{s}")
        else:
            return None
    return None if left else index


def reduced(writer, eqn, x):
    (operand,), axes = eqn.operands, eqn.attrs["axes"]
    if not axes:
        return None
    axis = None if len(axes) == operand.type.ndim else axes[0] if len(axes) == 1 else axes
    dtype = (
        f", np.{operand.type.dtype.name}" if eqn.op in (reduce_sum, reduce_prod) and operand.type.kind in "iu" else ""
    )
    return writer.keep(
        eqn.results[0],
        f"{REDUCE[eqn.op]}.reduce({writer.whole(x, operand.type)}, {axis}{dtype})",
        eqn.results[0].type.shape,
        [NUMPY],
        new=True,
    )


def clamped_index(writer, starts, sizes, whole):
    """The index of a part whose starts are clamped so that it lies within."""
    index = []
    for start, k, n in zip(starts, sizes, whole, strict=True):
        if isinstance(start, Lit):
            a = min(max(int(start.value), 0), n - k)
            index.append(":" if k == n else f"{a}:{a + k}")
        elif k == n:
            index.append(":")
        else:
            name = writer.fresh("start")
            yield f"{name} = min(max(int({writer.hold(start).text}), 0), {n - k})"
            index.append(f"{name}:{name} + {k}")
    return ", ".join(index) or "..."


def dynamic_part(writer, eqn, x, *starts):
    operand, *starts = eqn.operands
    lines = clamped_index(writer, starts, eqn.attrs["sizes"], operand.type.shape)
    return [
        *(index := Emitted(lines)),
        *writer.keep(eqn.results[0], f"{writer.whole(x, operand.type)}[{index.value}]", eqn.results[0].type.shape),
    ]


def updated(writer, eqn, x, u, *starts):
    """In place where nobody else reads the array."""
    operand, update, *starts = eqn.operands
    lines = [*(index := Emitted(clamped_index(writer, starts, update.type.shape, operand.type.shape)))]
    text, t = writer.whole(x, operand.type), operand.type
    value = _number(update.value) if isinstance(update, Lit) else u.text
    if not t.shape:
        return None
    if isinstance(update, Lit) and update.type.size == 1 and all(isinstance(s, Lit) for s in starts):
        index.value = ", ".join(str(min(max(int(s.value), 0), n - 1)) for s, n in zip(starts, t.shape))
    alone = writer.uses[operand] == 1 or is_changed_part(writer, operand, update)
    if x.new and x.shape == t.shape and alone:
        writer.held[eqn.results[0]] = x
        return [*lines, f"{text}[{index.value}] = {value}"]
    if operand in writer.overwritable and alone:
        writer.held[eqn.results[0]] = LazyOperand(text, t.shape, new=True)
        writer.overwritten[text] = text
        return [*lines, f"{text}[{index.value}] = {value}"]
    fresh = text if text.startswith("np.full(") else f"np.array({text})"
    return [
        *lines,
        *(kept := writer.keep(eqn.results[0], fresh, t.shape, new=True)),
        f"{kept[0].partition(' = ')[0]}[{index.value}] = {value}",
    ]


def is_changed_part(writer, operand, update):
    """Whether nobody else reads an array but who computes what is stored into it, in one step, of a part of it."""
    eqn = update.eqn if isinstance(update, Value) and writer.uses[update] == 1 else None
    if eqn is None or "elementwise" not in eqn.op.traits or writer.uses[operand] != 2:
        return False
    made = [x.eqn for x in eqn.operands if isinstance(x, Value) and writer.uses[x] == 1 and x.eqn is not None]
    return any(e.op in (slice_, dynamic_slice) and e.operands[0] is operand for e in made)


class Emitted:
    """A generator's lines, and the value it returns in the end."""

    def __init__(self, generator):
        self.generator = generator

    def __iter__(self):
        self.value = yield from self.generator


def taken(writer, eqn, x, indices):
    """Rows by one index each: the method, and the index before it got an axis of its own."""
    operand, index = eqn.operands
    if not (take(eqn, "", "") or "").startswith("np.take("):
        return None
    made = index.eqn if isinstance(index, Value) else None
    plain = made is not None and made.op is reshape and made.operands[0].type.shape == index.type.shape[:-1]
    source = made.operands[0] if plain else index
    text = writer.whole(writer.hold(source), source.type) + ("" if plain else "[..., 0]")
    axis = eqn.attrs["collapsed"][0]
    rows = f"{writer.whole(x, operand.type)}.take({text}, {axis}, mode='clip')"
    return writer.keep(eqn.results[0], rows, eqn.results[0].type.shape, [NUMPY], new=True)


def place(writer, eqn, x):
    """The method gives the index that NumPy's functions give."""
    if eqn.attrs["dtype"] != np.intp:
        return None
    text = f"{writer.whole(x, eqn.operands[0].type)}.{eqn.op.name}({eqn.attrs['axis']})"
    return writer.keep(eqn.results[0], text, eqn.results[0].type.shape, [NUMPY], new=True)


def joined(writer, eqn, *xs):
    """Of numbers the array of them."""
    (r,) = eqn.results
    made = [operand.eqn if isinstance(operand, Value) else None for operand in eqn.operands]
    if r.type.ndim == 1 and all(e is not None and e.op is reshape and e.operands[0].type.shape == () for e in made):
        texts = [writer.hold(e.operands[0]).text for e in made]
        return writer.keep(r, f"np.array(({', '.join(texts)},), np.{r.type.dtype.name})", r.type.shape, new=True)
    texts = [writer.whole(writer.full(operand), operand.type) for operand in eqn.operands]
    return writer.keep(r, f"np.concatenate(({', '.join(texts)},), {eqn.attrs['axis']})", r.type.shape, new=True)


def in_order(writer, eqn, *held):
    """Of one array `np.sort`; otherwise the order of the first, and those of the others that are read. The order of
    places is the order itself."""
    axis, xs = eqn.attrs["axis"], eqn.operands
    kind = ", kind='stable'" if eqn.attrs["stable"] else ""
    if len(xs) == 1 and (places := picked(writer, eqn.results[0], axis)):
        ends = [
            k for k in places if k > 0 and k - 1 not in places or k < xs[0].type.shape[axis] - 1 and k + 1 not in places
        ]
        lines = writer.keep(
            eqn.results[0],
            f"np.partition({writer.whole(held[0], xs[0].type)}, {ends}, {axis})",
            xs[0].type.shape,
            new=True,
        )
        firsts, lasts = ([k for k in places if k + step not in places] for step in (-1, 1))
        name, before = lines[0].partition(" = ")[0], ":, " * axis
        return lines + [f"{name}[{before}{a}:{b + 1}].sort({axis})" for a, b in zip(firsts, lasts) if b - a > 1]
    if len(xs) == 1:
        return writer.keep(
            eqn.results[0], f"np.sort({writer.whole(held[0], xs[0].type)}, {axis}{kind})", xs[0].type.shape, new=True
        )
    if eqn.attrs["num_keys"] > 1:
        return None
    order = writer.fresh("order")
    lines = [f"{order} = {writer.whole(held[0], xs[0].type)}.argsort({axis}{kind})"]
    for r, x in zip(eqn.results, xs, strict=True):
        made = x.eqn if isinstance(x, Value) else None
        if made is not None and made.op is iota and made.attrs["axis"] == axis and x.type.dtype == np.intp:
            writer.held[r] = LazyOperand(order, r.type.shape)
        elif writer.uses[r]:
            lines += writer.keep(
                r,
                f"np.take_along_axis({writer.whole(writer.full(x), x.type)}, {order}, {axis})",
                r.type.shape,
                new=True,
            )
    return lines


def picked(writer, x, axis):
    """The few places along an axis that alone are read of a value, by slices, or None."""
    found, reading = set(), writer.readers.get(x, ())
    if SAMPLE.get() is not None or len(reading) != writer.uses[x] or any(eqn.op is not slice_ for eqn in reading):
        return None
    for eqn in reading:
        found.update(range(*(eqn.attrs[k][axis] for k in ("start", "stop", "stride"))))
        if PICKED * len(found) > x.type.shape[axis]:
            return None
    return sorted(found)


def contracted(writer, eqn, x, y):
    """What no operator of NumPy's says, and of more rows than a matrix has those that it would multiply one stack after
    the other: the product of matrices that the axes make, those of the result in order."""
    (r,), (tx, ty) = eqn.results, (operand.type for operand in eqn.operands)
    x, y = (writer.whole(writer.full(operand), operand.type) for operand in eqn.operands)
    text = product_call(eqn, x, y)
    (cx, cy), (bx, by) = eqn.attrs["contract"], eqn.attrs["batch"]
    stacks = not bx and tx.ndim > 2 and not ONLY_EXACT.get()
    if text is None or text.startswith("np.einsum(") or stacks:
        fx, fy = (tuple(a for a in range(t.ndim) if a not in (*c, *b)) for t, c, b in ((tx, cx, bx), (ty, cy, by)))
        left = matrices_text(x, tx.shape, bx, fx, cx)
        text = f"({left} @ {matrices_text(y, ty.shape, by, cy, fy)}).reshape({r.type.shape})"
    return writer.keep(r, text, r.type.shape, [NUMPY, ZERO], new=True)


def matrices_text(text, shape, batch, rows, columns):
    """Text of an array as matrices of these axes."""
    perm, size = (*batch, *rows, *columns), lambda axes: math.prod(shape[a] for a in axes)
    turned = f"{text}.transpose({perm})" if perm != tuple(range(len(shape))) else text
    return f"{turned}.reshape({(*(shape[a] for a in batch), size(rows), size(columns))})"


def convolution(eqn):
    """The mode of `np.convolve` that an equation is, but for the order of its window; None if it is none."""
    if eqn.op is not conv_general or len(eqn.attrs["strides"]) != 1:
        return None
    (tx, tw), attrs = (operand.type for operand in eqn.operands), eqn.attrs
    ones = (
        all(attrs[name] == (1,) for name in ("strides", "lhs_dilation", "rhs_dilation"))
        and attrs["groups"] == attrs["batch_groups"] == 1
    )
    (padding,), (xs, ws, _), n, k = attrs["padding"], attrs["dimension_numbers"], tx.size, tw.size
    if not ones or tx.kind == "b" or not 0 < k <= n or tx.shape[xs[2]] != n or tw.shape[ws[2]] != k:
        return None
    return {(0, 0): "valid", (k // 2, k - k // 2 - 1): "same", (k - 1, k - 1): "full"}.get(tuple(padding))


def convolved(writer, eqn, x, w):
    """One signal and one window, which NumPy has a function for."""
    mode = convolution(eqn)
    if mode is None:
        return None
    signal, window = (writer.whole(writer.full(operand), operand.type) for operand in eqn.operands)
    text = f"np.convolve({signal}.ravel(), {window}.ravel()[::-1], '{mode}').reshape({eqn.results[0].type.shape})"
    return writer.keep(eqn.results[0], text, eqn.results[0].type.shape, new=True)


# elements up to which another pass over an array costs less than Python does; measured by
# benchmarks/tune.py
SHORT = 1 << 11
# elements of a row for one that is read of it in order, from which it need not be sorted; measured by
# benchmarks/tune.py
PICKED = 256
MADE = {cumsum, cumprod, cummax, cummin, cumlogsumexp, fft, pad}  # always a new array

# fmt: off
RULES = {
    neg: negation, not_: inverted, select: chosen, clamp: limited, cast: converted, broadcast: lazy_broadcast,
    reshape: reshaped,
    concatenate: joined,
    dot_general: contracted, conv_general: convolved,
    argmax: place, argmin: place, dynamic_slice: dynamic_part, dynamic_update_slice: updated, gather: taken,
    sort: in_order,
    **dict.fromkeys(REDUCE, reduced),
}
