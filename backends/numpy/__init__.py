"""Functions as generated NumPy source: the oracle of the tests, readable text, and tiny programs.

Nothing is stated twice: the text of an op *is* the body of its declaration.
"""

from . import control
from .any_size import at_most
from .clock import StatementClock
from .emit import Pieces, callable_of, emit, identifier, is_loop_free
from .emit_fast import Statements
from .looped import LARGEST
from .matrices import TEXTS, solved
from .nests import with_loops
from .operand import NUMPY, PYTHON, ZERO, LazyOperand
from .partition import fused, views
from .quick import once_callable, quick_callable, quick_number
from .rows import checked_rows, rows_of
from .trips import by_python, has_statements

__all__ = [
    "LARGEST", "NUMPY", "PYTHON", "TEXTS", "ZERO", "LazyOperand", "Pieces", "StatementClock", "Statements", "by_python",
    "at_most", "callable_of", "control", "emit", "fused", "has_statements", "identifier", "is_loop_free",
    "once_callable", "quick_callable", "quick_number", "rows_of", "solved", "checked_rows", "views", "with_loops",
]  # fmt: skip
