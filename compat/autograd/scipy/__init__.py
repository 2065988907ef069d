"""SciPy itself, under the names autograd.scipy has for its parts."""

import sys

from scipy import integrate, linalg, signal, special, stats

misc = special  # where logsumexp went
DISTRIBUTIONS = ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t")

PARTS = {"integrate": integrate, "linalg": linalg, "misc": misc, "signal": signal, "special": special, "stats": stats}

sys.modules.update({f"{__name__}.{name}": part for name, part in PARTS.items()})
sys.modules.update({f"{__name__}.stats.{name}": getattr(stats, name) for name in DISTRIBUTIONS})

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]
