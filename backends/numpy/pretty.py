"""Expressions a person would write, for ops whose bodies are more general than one equation needs.

op -> `(equation, *operand texts) -> text`, or None where only the body of the op will do. Each statement
holds one op and every operand is a name, a number or a call, so no parentheses are needed.
"""

from string import ascii_lowercase as LETTERS

from ...ir.ops.elementwise import add, div, lt, mul, neg, sub
from ...ir.ops.linalg import dot_general, labels
from ...ir.ops.shape import broadcast, iota, transpose


def pretty(eqn, operands):
    """The text of `eqn` on operand texts, or None."""
    rule = PRETTY.get(eqn.op)
    return rule and rule(eqn, *operands)


def infix(symbol):
    return lambda eqn, x, y: f"{x} {symbol} {y}"


def product(eqn, x, y):
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


def spread(eqn, x):
    """Axes are right-aligned by NumPy; new ones behind x's own are indexed in."""
    shape, dims = eqn.attrs["shape"], eqn.attrs["dims"]
    index = [":" if d in dims else "None" for d in range(dims[0] if dims else len(shape), len(shape))]
    return f"np.broadcast_to({x}[{', '.join(index)}], {shape})" if "None" in index else f"np.broadcast_to({x}, {shape})"


def count(eqn):
    shape, axis = eqn.attrs["shape"], eqn.attrs["axis"]
    dtype = eqn.attrs["dtype"].name
    numbers = f"np.arange({shape[axis]}, dtype={'bool' if dtype == 'bool' else f'np.{dtype}'})"
    behind = "".join(", None" for _ in shape[axis + 1 :])
    return numbers if len(shape) == 1 else f"np.broadcast_to({numbers}{f'[:{behind}]' if behind else ''}, {shape})"


# fmt: off
PRETTY = {
    add:          infix("+"),
    sub:          infix("-"),
    mul:          infix("*"),
    div:          infix("/"),
    lt:           infix("<"),
    neg:          lambda eqn, x: f"-{x}",
    dot_general:  product,
    transpose:    lambda eqn, x: f"{x}.T" if eqn.attrs["perm"] == (1, 0) else None,
    broadcast:    spread,
    iota:         count,
}
