"""`autograd.util`: small helpers that programs take from there."""

__all__ = ["func", "subval", "subvals"]


def subvals(x, ivs):
    """A tuple of x with the values v at the positions i of the pairs (i, v)."""
    given = dict(ivs)
    return tuple([given.get(i, v) for i, v in enumerate(x)])


def subval(x, i, v):
    """A tuple of x with v at position i."""
    return subvals(x, [(i, v)])


def func(f):
    """The function behind a class's attribute."""
    return f
