"""`autograd.tracer`: the questions that programs ask about boxes, where there are none."""

from .extend import Box

__all__ = ["Box", "getval", "isbox"]


def isbox(x):
    """Whether x is a box: never."""
    return isinstance(x, Box)


def getval(x):
    """What a box holds: x itself."""
    return x
