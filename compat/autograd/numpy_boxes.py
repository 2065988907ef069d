"""`autograd.numpy.numpy_boxes`: programs ask whether something is a box; here nothing is."""

from .extend import Box

__all__ = ["ArrayBox", "Box"]


class ArrayBox(Box):
    """autograd's box of an array, of which nothing is an instance here."""
