"""NumPy itself, with its `linalg`, `fft` and `random`: no function of autograd's twin of it differs in what it
computes."""

import sys

import numpy

sys.modules[__name__] = numpy
sys.modules.update({f"{__name__}.{name}": getattr(numpy, name) for name in ("fft", "linalg", "random")})
