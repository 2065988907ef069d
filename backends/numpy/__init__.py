"""Functions as generated NumPy source: the oracle of the tests, readable text, and tiny programs.

Nothing is stated twice: the text of an op *is* the body of its declaration.
"""

from . import control
from .emit import Pieces, callable_of, emit, identifier, plain
from .held import NUMPY, PYTHON, ZERO, Held
from .looped import LARGEST
from .nests import machine_code, with_loops
from .quick import Statements
from .solved import is_solved, solved
from .stages import fused

__all__ = [
    "LARGEST", "NUMPY", "PYTHON", "ZERO", "Held", "Pieces", "Statements", "callable_of", "control", "emit", "fused", "identifier", "is_solved",
    "machine_code", "plain", "solved", "with_loops",
]  # fmt: skip
