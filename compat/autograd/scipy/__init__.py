"""SciPy itself, under the names autograd.scipy has for its parts; `signal` has a convolution of autograd's own."""

import sys

from scipy import integrate, linalg, special, stats

from . import signal

misc = special  # where logsumexp went
DISTRIBUTIONS = ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t")

PARTS = {"integrate": integrate, "linalg": linalg, "misc": misc, "special": special, "stats": stats}

sys.modules.update({f"{__name__}.{name}": part for name, part in PARTS.items()})
sys.modules.update({f"{__name__}.stats.{name}": getattr(stats, name) for name in DISTRIBUTIONS})

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]
