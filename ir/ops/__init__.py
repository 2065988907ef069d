"""Every op, declared once, one file a family; the other folders' tables use the same file names."""

from ..core import Operand
from ..op import OPS
from . import control, elementwise, indexing, linalg, reduction, shape, transcendental

Operand.arithmetic.update({name: OPS[name] for name in ("neg", "add", "sub", "mul", "div", "pow")})

__all__ = ["OPS", "control", "elementwise", "indexing", "linalg", "reduction", "shape", "transcendental"]
