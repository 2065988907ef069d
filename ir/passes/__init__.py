"""Passes: each a function `Func -> Func` that says what holds afterwards. `ir.pipeline` puts them in order."""

from .cse import cse
from .dce import dce
from .fold import fold
from .inline import inline
from .loops import loops
from .memory import memory
from .simplify import simplify

__all__ = ["cse", "dce", "fold", "inline", "loops", "memory", "simplify"]
