"""The logistic loss, plain NumPy."""

import numpy as np


def loss(w, X, y):
    """The mean of log(1 + exp z) - y z, where z = X w and y is 0 or 1."""
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z)
