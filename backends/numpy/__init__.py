"""Functions as generated NumPy source: the oracle of the tests, readable text, and tiny programs.

Nothing is stated twice: the text of an op *is* the body of its declaration.
"""

from . import control
from .emit import Pieces, callable_of, emit, identifier, plain
from .held import NUMPY, PYTHON, ZERO, Held
from .looped import LARGEST
from .matrices import TEXTS, solved
from .nests import with_loops
from .quick import Statements
from .rows import rows_of, taken
from .stages import fused, views
from .trips import by_python, has_statements

__all__ = [
    "LARGEST", "NUMPY", "PYTHON", "TEXTS", "ZERO", "Held", "Pieces", "Statements", "by_python", "callable_of", "control", "emit", "fused",
    "has_statements", "identifier", "plain", "rows_of", "solved", "taken", "views", "with_loops",
]  # fmt: skip
