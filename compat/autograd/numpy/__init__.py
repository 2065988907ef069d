"""NumPy itself, with its `linalg`, `fft` and `random`: no function of autograd's twin of it differs in what it
computes."""

import sys

import numpy

from .. import numpy_boxes, numpy_vjps

sys.modules[__name__] = numpy
sys.modules.update({f"{__name__}.{name}": getattr(numpy, name) for name in ("fft", "linalg", "random")})
sys.modules.update({f"{__name__}.numpy_boxes": numpy_boxes, f"{__name__}.numpy_vjps": numpy_vjps})
