"""How a program *changes*: derivatives and batching, each a transform `Func -> Func`.

`vjp`, `jvp` and `batch` read total tables keyed by op; every table line stands in the file named
as the op's own (`elementwise`, `shape`, ...). Results are ordinary functions: printable,
simplified by the same passes, differentiable again. Imports `ir` only.
"""

from . import (
    control,
    dense,
    drawing,
    elementwise,
    external,
    flow,
    indexing,
    linalg,
    loops,
    reduction,
    shape,
    signal,
    sorting,
    special,
    spectral,
    transcendental,
    window,
)
from .batch import BATCH, batch
from .forms import DERIVATIVE
from .jvp import jvp
from .vjp import vjp

__all__ = [
    "BATCH",
    "DERIVATIVE",
    "batch",
    "control",
    "dense",
    "drawing",
    "elementwise",
    "external",
    "flow",
    "indexing",
    "jvp",
    "linalg",
    "loops",
    "reduction",
    "shape",
    "signal",
    "sorting",
    "special",
    "spectral",
    "transcendental",
    "vjp",
    "window",
]
