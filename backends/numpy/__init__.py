"""Functions as generated NumPy source: the oracle of the tests, readable text, and tiny programs.

Nothing is stated twice: the text of an op *is* the body of its declaration.
"""

from . import control
from .emit import Pieces, callable_of, emit, identifier, plain
from .held import NUMPY, PYTHON, ZERO, Held
from .nests import machine_code, with_loops
from .quick import Statements

__all__ = [
    "NUMPY", "PYTHON", "ZERO", "Held", "Pieces", "Statements", "callable_of", "control", "emit", "identifier", "machine_code", "plain", "with_loops",
]  # fmt: skip
