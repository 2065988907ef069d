"""Every op, declared once, one file a family; the other folders' tables use the same file names."""

from ..core import Operand
from ..op import OPS
from . import (
    control,
    dense,
    drawing,
    elementwise,
    external,
    flow,
    indexing,
    linalg,
    reduction,
    shape,
    signal,
    sorting,
    special,
    spectral,
    transcendental,
    window,
)

Operand.arithmetic.update({name: OPS[name] for name in ("neg", "add", "sub", "mul", "div", "pow")})

__all__ = [
    "OPS",
    "control",
    "dense",
    "drawing",
    "elementwise",
    "external",
    "flow",
    "indexing",
    "linalg",
    "reduction",
    "shape",
    "signal",
    "sorting",
    "special",
    "spectral",
    "transcendental",
    "window",
]
