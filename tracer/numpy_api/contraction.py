"""Sums of products over labelled axes: the one form in which every product of arrays is lowered to dot_general."""


from ...ir.ops import OPS
from ..common.errors import ShapeError, message
from ..common.frames import locate
from .steps import arranged, diagonals

dot_general, reduce_or, reduce_sum, mul, and_ = (OPS[n] for n in (
    "dot_general", "reduce_or", "reduce_sum", "mul", "and",
))


def summed(x, labels, gone):
    """x summed over the labels `gone` -> (x, labels left)."""
    axes = tuple(d for d, label in enumerate(labels) if label in gone)
    if axes:
        x = (reduce_or if x.type.kind == "b" else reduce_sum)(x, axes=axes)
    return x, [label for label in labels if label not in gone]


def contract(x, xs, y, ys, out):
    """The product of x and y, whose axes are labelled xs and ys (no repeats), summed over the labels not in `out`.

    Axes of size one stand for any size, as in broadcasting.
    """
    x, xs, y, ys = stretched(x, xs, y, ys)
    x, xs = summed(x, xs, [label for label in xs if label not in ys and label not in out])
    y, ys = summed(y, ys, [label for label in ys if label not in xs and label not in out])
    shared = [label for label in xs if label in ys]
    inner = [label for label in shared if label not in out]
    batch = [label for label in out if label in shared]
    if not inner and len(batch) == len(xs) == len(ys):  # a product without a sum
        product = and_ if x.type.kind == "b" else mul
        return product(arranged(x, xs, batch), arranged(y, ys, batch))
    places = [tuple(tuple(labels.index(label) for label in chosen) for labels in (xs, ys)) for chosen in (inner, batch)]
    product = dot_general(x, y, contract=places[0], batch=places[1])
    found = [*batch, *(label for label in xs if label not in shared), *(label for label in ys if label not in shared)]
    return arranged(product, found, out)


def stretched(x, xs, y, ys):
    """Labels of size one in one operand only are left out of it; other differences are errors."""
    sizes = dict(zip(xs, x.type.shape))
    for label, n in zip(ys, y.type.shape):
        m = sizes.get(label, n)
        if m == n:
            continue
        if m != 1 and n != 1:
            text = (
                f"a product of arrays of shapes {x.type.shape} and {y.type.shape}: sizes {m} and {n} of a common axis "
                "differ"
            )
            raise ShapeError(message(text, locate()))
        if m == 1:
            xs = [other for other in xs if other != label]
            x = arranged_without(x, list(sizes), label)
            sizes = dict(zip(xs, x.type.shape))
        else:
            y = arranged_without(y, list(ys), label)
            ys = [other for other in ys if other != label]
    return x, list(xs), y, list(ys)


def arranged_without(x, labels, label):
    """x without its axis `label`, of size one."""
    at = labels.index(label)
    return OPS["reshape"](x, shape=x.type.shape[:at] + x.type.shape[at + 1 :])


def contract_all(operands, out, path):
    """The product of many labelled operands, by pairs in the order of np.einsum_path's `path`, summed over labels not
    in `out`."""
    operands = [diagonals(x, labels) for x, labels in operands]
    for group in path:
        chosen = [operands[i] for i in group]
        operands = [o for i, o in enumerate(operands) if i not in group]
        x, xs = chosen[0]
        for k, (y, ys) in enumerate(chosen[1:], 1):
            later = {label for _, labels in [*operands, *chosen[k + 1 :]] for label in labels} | set(out)
            kept = [label for label in dict.fromkeys([*xs, *ys]) if label in later]
            x, xs = contract(x, xs, y, ys, kept), kept
        operands.append((x, xs))
    ((x, labels),) = operands
    x, labels = summed(x, labels, [label for label in labels if label not in out])
    return arranged(x, labels, out)

