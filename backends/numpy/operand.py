"""What generated NumPy holds of a value: a name or a number, an array that broadcasts to it, numbers of Python's or of
NumPy's."""

import ast
from dataclasses import dataclass, field, replace

import numpy as np

from .emit import _template

KEPT = 1 << 16  # bound: bytes up to which what depends on no argument is made once
PYTHON, NUMPY, ZERO = "Python's", "NumPy's", "array of no axes"  # what a value of shape () may be
# mean of Python's floats and bools what they mean of NumPy's
SAME = {"+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"}


@dataclass(frozen=True)
class LazyOperand:
    """What stands for a value: a name or a number as text, and what is known of it.

    shape: broadcasts to the value's shape, aligned right, as NumPy does.
    kinds: which of PYTHON, NUMPY and ZERO it may be, where its shape is ().
    new:   whether it is an array that shares memory with no other value.
    """

    text: str
    shape: tuple
    kinds: frozenset = field(default=frozenset())
    new: bool = False

    def shared(self):
        """The same, of memory that others may read."""
        return replace(self, new=False)

    @property
    def python(self):
        """Whether it may be a number of Python's."""
        return PYTHON in self.kinds


def outcome(held):
    """What numbers an operator gives of numbers."""
    if all(h.kinds == {PYTHON} for h in held):
        return [PYTHON]
    return [PYTHON, NUMPY] if all(h.python for h in held) else [NUMPY]


def ufunc(op):
    """Whether an op is one call of a function of NumPy's that computes element by element."""
    tree = _template(op)
    return (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Attribute)
        and isinstance(getattr(np, tree.func.attr, None), np.ufunc)
    )


def computes(op):
    """Whether the result of an op is always a new array, or a number."""
    return ufunc(op) or isinstance(_template(op), ast.BinOp)
