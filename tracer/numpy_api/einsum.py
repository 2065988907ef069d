"""np.einsum: subscripts read into labels, the order of products taken from np.einsum_path."""

import numpy as np

from ..common.emit import cast_to
from ..common.errors import ConcretizationError, message
from ..common.frames import locate
from ..values.array import Traced, TracedArray, fresh, wrap
from ..values.promote import result_dtype
from .arguments import verdict
from .contraction import contract_all
from .handles import handle, stand_in
from .registry import implements
from .steps import Labelled
from .ufunc_calls import write_out


def parsed(operands):
    """(labels of every operand, labels of the result, arrays), the ellipsis replaced by labels -1, -2, ... from the
    right."""
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), [handle(x) for x in operands[1:]]
        inputs, arrow, output = text.partition("->")
        terms = [read_term(t) for t in inputs.split(",")]
        result = read_term(output) if arrow else None
    else:
        pairs = operands[: len(operands) // 2 * 2]
        arrays = [handle(x) for x in pairs[::2]]
        terms = [list(t) for t in pairs[1::2]]
        result = list(operands[-1]) if len(operands) % 2 else None
    ranks = [x.ndim - sum(label is not Ellipsis for label in t) if Ellipsis in t else 0 for t, x in zip(terms, arrays)]
    widest = range(-max(ranks, default=0), 0)
    if result is None:
        every = [label for t in terms for label in t if label is not Ellipsis]
        result = [Ellipsis] * any(Ellipsis in t for t in terms) + sorted(
            label for label in set(every) if every.count(label) == 1
        )
    terms = [
        [other for label in t for other in (widest[len(widest) - k :] if label is Ellipsis else (label,))]
        for t, k in zip(terms, ranks)
    ]
    return terms, [other for label in result for other in (widest if label is Ellipsis else (label,))], arrays


def sublists(operands):
    """The arguments with subscripts that are arrays of constants as lists."""
    if isinstance(operands[0], str):
        return operands
    last = len(operands) - 1
    return [known_list(x) if i % 2 or i == last else x for i, x in enumerate(operands)]


def known_list(x):
    if not isinstance(x, Traced):
        return x
    if x.known() is None:
        text = "np.einsum takes subscripts from an array that is known only when the program runs"
        raise ConcretizationError(
            message(text, locate(), "Write them as a list of ints, or as text: np.einsum('ij,jk->ik', x, y).")
        )
    return x.known().tolist()


def read_term(text):
    """Labels of `ij...k`: sorting them sorts the letters, as the implicit result does."""
    return [Ellipsis if c == "." else ord(c) for c in text.replace("...", ".")]


def replaced(operands, arrays):
    """The arguments with other arrays in place of their own."""
    if isinstance(operands[0], str):
        return [operands[0], *arrays]
    return [x for pair in zip(arrays, operands[1::2]) for x in pair] + [operands[-1]] * (len(operands) % 2)


def checked_path(operands, arrays, optimize):
    """The path NumPy finds on arrays of the same shapes; it raises ValueError where the subscripts do not fit."""
    return np.einsum_path(*replaced(operands, [stand_in(x) for x in arrays]), optimize=optimize)


def trial(operands, arrays, path, out, **options):
    """What NumPy gives, or says, for small arrays: where its last product is a matmul, that has casts and kinds of its
    own."""
    small = [np.ones([min(n, 2) for n in x.shape], x.dtype) for x in arrays]
    if out is not None:
        options["out"] = np.zeros([min(n, 2) for n in np.shape(out)], out.dtype)
    return verdict(np.einsum, *replaced(operands, small), optimize=path, **options)


@implements(np.einsum)
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    operands = sublists(operands)
    terms, result, arrays = parsed(operands)
    like = None if optimize else trial(operands, arrays, False, out, dtype=dtype, casting=casting)
    path, _ = checked_path(operands, arrays, optimize or "greedy")
    (x, *others), (labels, *_) = arrays, terms
    if not others and out is None and dtype is None and set(labels) == set(result) and isinstance(x, TracedArray):
        return x.window(Labelled(numbered(labels, labels), numbered(result, labels)))
    like = trial(operands, arrays, path, out, dtype=dtype, casting=casting) if optimize else like
    # one iterator over all, in one dtype
    common = [*arrays, out] if out is not None and (not others or not optimize) else arrays
    made = result_dtype([x.dtype for x in common]) if dtype is None else np.dtype(dtype)
    value = contract_all([(cast_to(x.value, made), labels) for x, labels in zip(arrays, terms)], result, path[1:])
    if made.kind in "fc" and not optimize and set(result) >= {label for t in terms for label in t}:
        value = value + 0.0  # NumPy adds what it sums nothing of to zeros
    if out is not None:
        return write_out("einsum", out, value, casting="unsafe")
    return fresh(value) if isinstance(like, np.ndarray) else wrap(value)


def numbered(labels, among):
    """Labels as numbers np.einsum takes."""
    order = list(dict.fromkeys(among))
    return [order.index(label) for label in labels]


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    operands = sublists(operands)
    _, _, arrays = parsed(operands)
    return checked_path(operands, arrays, optimize)
