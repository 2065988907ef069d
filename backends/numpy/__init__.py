"""Functions as generated NumPy source: the oracle of the tests, readable text, and tiny programs.

Nothing is stated twice: the text of an op *is* the body of its declaration.
"""

from . import control
from .emit import Pieces, callable_of, emit, identifier, plain

__all__ = ["Pieces", "callable_of", "control", "emit", "identifier", "plain"]
