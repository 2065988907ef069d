"""Expressions a person would write, for ops whose bodies are more general than one equation needs.

op -> `(equation, *operand texts) -> text`, or None where only the body of the op will do. Each statement
holds one op and every operand is a name, a number or a call, so no parentheses are needed.
"""

from string import ascii_lowercase as LETTERS

from ...ir.ops.elementwise import (
    add,
    and_,
    clamp,
    div,
    eq,
    ge,
    gt,
    le,
    lt,
    mul,
    ne,
    neg,
    not_,
    or_,
    strong_mul,
    sub,
    xor,
)
from ...ir.ops.indexing import gather
from ...ir.ops.linalg import dot_general, labels
from ...ir.ops.reduction import cummax, cummin, cumprod, cumsum, reduce_max, reduce_min, reduce_prod, reduce_sum
from ...ir.ops.shape import broadcast, iota, reverse, slice_, transpose
from ...ir.ops.signal import fft


def pretty(eqn, operands):
    """The text of `eqn` on operand texts, or None."""
    rule = PRETTY.get(eqn.op)
    return rule and rule(eqn, *operands)


def infix(symbol):
    return lambda eqn, x, y: f"{x} {symbol} {y}"


def product_call(eqn, x, y):
    """A matmul or an outer product where NumPy orders the axes alike, else an einsum."""
    m, n = eqn.operands[0].type.ndim, eqn.operands[1].type.ndim
    (cx, cy), (bx, by) = eqn.attrs["contract"], eqn.attrs["batch"]
    b, turn = len(bx), ".mT" if bx else ".T"
    if len(cx) == 1 and bx == by == tuple(range(b)) and (n <= 2 if b == 0 else m == n == b + 2):
        if cx[0] == m - 1 or m == b + 2:
            left = "" if cx[0] == m - 1 else turn
            right = "" if cy[0] == max(n - 2, 0) else turn
            return f"{x}{left} @ {y}{right}"
    if not cx and not bx and m == n == 1:
        return f"np.outer({x}, {y})"
    if m + n > len(LETTERS):
        return None
    in_x, in_y, out = ("".join(LETTERS[i] for i in axes) for axes in labels(m, n, **eqn.attrs))
    return f"np.einsum('{in_x},{in_y}->{out}', {x}, {y}, optimize=True)"


def broadcast_call(eqn, x):
    """Axes are right-aligned by NumPy; new ones behind x's own are indexed in."""
    shape, dims = eqn.attrs["shape"], eqn.attrs["dims"]
    index = [":" if d in dims else "None" for d in range(dims[0] if dims else len(shape), len(shape))]
    return f"np.broadcast_to({x}[{', '.join(index)}], {shape})" if "None" in index else f"np.broadcast_to({x}, {shape})"


def clip_call(eqn, low, x, high):
    return (
        f"np.clip({x}, {low}, {high})"
        if eqn.results[0].type.kind == "f"
        else f"np.minimum(np.maximum({x}, {low}), {high})"
    )


def iota_call(eqn):
    shape = eqn.attrs["shape"]
    return thin_iota(eqn) if len(shape) == 1 else f"np.broadcast_to({thin_iota(eqn)}, {shape})"


def thin_iota(eqn):
    """The numbers along their axis, one along those behind it."""
    shape, axis = eqn.attrs["shape"], eqn.attrs["axis"]
    dtype = eqn.attrs["dtype"].name
    numbers = f"np.arange({shape[axis]}, dtype={'bool' if dtype == 'bool' else f'np.{dtype}'})"
    behind = "".join(", None" for _ in shape[axis + 1 :])
    return f"{numbers}[:{behind}]" if behind else numbers


def transform(eqn, x):
    kind, lengths = eqn.attrs["kind"], eqn.attrs["lengths"]
    if len(lengths) == 1:
        return f"np.fft.irfft({x}, {lengths[0]})" if kind == "irfft" else f"np.fft.{kind}({x})"
    axes = tuple(range(-len(lengths), 0))
    return f"np.fft.{kind}n({x}, {lengths}, {axes})" if kind == "irfft" else f"np.fft.{kind}n({x}, axes={axes})"


def slice_call(eqn, x):
    """Slices as written by hand, without the whole axes at the end, or a stop behind which nothing would be taken."""
    index = []
    for n, a, b, s in zip(eqn.operands[0].type.shape, *(eqn.attrs[k] for k in ("start", "stop", "stride"))):
        index.append(f"{a or ''}:{'' if len(range(a, n, s)) == len(range(a, b, s)) else b}{f':{s}' if s > 1 else ''}")
    while index and index[-1] == ":":
        index.pop()
    return f"{x}[{', '.join(index) or '...'}]"


def backwards(eqn, x):
    axes = eqn.attrs["axes"]
    return f"{x}[{', '.join('::-1' if a in axes else ':' for a in range(max(axes) + 1))}]" if axes else None


def reduction_call(name):
    """A reduction, its axes left out where they are all; None where NumPy would widen the sum."""
    def text(eqn, x):
        t, axes = eqn.operands[0].type, eqn.attrs["axes"]
        if name in ("sum", "prod") and t.kind in "iu" and t.dtype.itemsize < 8:
            return None
        axis = "" if len(axes) == t.ndim else f", axis={axes[0] if len(axes) == 1 else axes}"
        return f"np.{name}({x}{axis})"

    return text


def accumulated(name):
    return lambda eqn, x: None if eqn.attrs["reverse"] else f"np.{name}.accumulate({x}, {eqn.attrs['axis']})"


def scan_call(name):
    def text(eqn, x):
        t = eqn.operands[0].type
        return (
            None
            if eqn.attrs["reverse"] or (t.kind in "iu" and t.dtype.itemsize < 8)
            else f"np.{name}({x}, axis={eqn.attrs['axis']})"
        )

    return text


def take(eqn, x, indices):
    """Whole rows by one index, or one element of each row."""
    n, attrs = eqn.operands[0].type, eqn.attrs
    if len(attrs["start_index_map"]) != 1 or attrs["collapsed"] != attrs["start_index_map"] or attrs["mode"] == "fill":
        return None
    (axis,), rank = attrs["collapsed"], eqn.operands[1].type.ndim - 1
    others = tuple(a for a in range(n.ndim) if a != axis)
    if rank == n.ndim and attrs["operand_batch"] == attrs["indices_batch"] == others and attrs["mode"] == "promise":
        return f"np.take_along_axis({x}, {indices}[..., 0], {axis})"
    rows = attrs["offset_dims"] == tuple(a if a < axis else a - 1 + rank for a in others) and all(
        attrs["sizes"][a] == n.shape[a] for a in others
    )
    return f"np.take({x}, {indices}[..., 0], {axis}, mode='clip')" if rows else None


INFIX = {
    add: "+",
    sub: "-",
    mul: "*",
    div: "/",
    lt: "<",
    le: "<=",
    gt: ">",
    ge: ">=",
    eq: "==",
    ne: "!=",
    and_: "&",
    or_: "|",
    xor: "^",
}

# fmt: off
PRETTY = {
    **{op: infix(symbol) for op, symbol in INFIX.items()},
    strong_mul:   lambda eqn, x, y: f"np.where({x} == 0, {x}, {x} * {y})",
    neg:          lambda eqn, x: f"-{x}",
    not_:         lambda eqn, x: f"~{x}",
    clamp:        clip_call,
    dot_general:  product_call,
    transpose:    lambda eqn, x: f"{x}.T" if eqn.attrs["perm"] == (1, 0) else None,
    broadcast:    broadcast_call,
    iota:         iota_call,
    fft:          transform,
    slice_:       slice_call,
    reverse:      backwards,
    reduce_sum:   reduction_call("sum"),
    reduce_prod:  reduction_call("prod"),
    reduce_max:   reduction_call("max"),
    reduce_min:   reduction_call("min"),
    cumsum:       scan_call("cumsum"),
    cumprod:      scan_call("cumprod"),
    cummax:       accumulated("maximum"),
    cummin:       accumulated("minimum"),
    gather:       take,
}
