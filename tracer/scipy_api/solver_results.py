"""What SciPy's solvers return, while traced: an object that gives the parts that programs ask for, by attribute or key.

The whole object has text in it that only the run decides, so it is not handed out.
"""

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.poison import Poison


class SolverResult(Poison):
    """An `OptimizeResult`, or another of SciPy's bunches, of which `parts` are known."""

    __slots__ = ("parts",)

    def __init__(self, name, parts):
        asked = ", ".join(parts)
        super().__init__(f"the result of {name} is known while traced by its {asked}")
        object.__setattr__(self, "parts", parts)

    def __getattr__(self, key):
        if key in self.parts:
            return self.parts[key]
        if key[:2] == key[-2:] == "__":
            raise AttributeError(key)
        raise UnsupportedError(message(f"{self.reason}, and is asked for .{key}", locate()))

    def __getitem__(self, key):
        return self.__getattr__(key)
