"""Passes: each a function `Func -> Func` that says what holds afterwards. `ir.pipeline` puts them in order."""

from .bounds import bounds
from .cse import cse
from .dce import dce
from .fission import fission
from .fold import fold
from .inline import inline
from .loops import loops
from .masks import masks
from .memory import memory
from .products import products
from .rotations import rotations
from .shifts import shifts
from .simplify import simplify
from .user_rules import user_rules
from .widen import widen

__all__ = [
    "bounds", "cse", "dce", "fission", "fold", "inline", "loops", "masks", "memory", "products", "rotations", "shifts",
    "simplify", "user_rules", "widen",
]  # fmt: skip
