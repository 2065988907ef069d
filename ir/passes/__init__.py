"""Passes: each a function `Func -> Func` that says what holds afterwards. `ir.pipeline` puts them in order."""

from .bounds import bounds
from .cse import cse
from .dce import dce
from .fold import fold
from .given import given
from .inline import inline
from .loops import loops
from .masks import masks
from .memory import memory
from .products import products
from .simplify import simplify

__all__ = ["bounds", "cse", "dce", "fold", "given", "inline", "loops", "masks", "memory", "products", "simplify"]
