"""One of several arrays of one shape and dtype whose classes differ, or that are instances with attributes, as data
decide.

Its elements are a traced array. What NumPy makes of it where all its classes give the same, a number or a plain array,
is made; whatever else is asked of it raises, as of any `Poison`.
"""

from .poison import USES, Poison


class ChosenArray(Poison):
    """array: the elements; kinds: the classes that it may be of."""

    __slots__ = ("array", "kinds")

    def __init__(self, reason, array, kinds, choice=None):
        super().__init__(reason, choice)
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "kinds", kinds)


for _use in USES:
    setattr(ChosenArray, _use, Poison.fail)
