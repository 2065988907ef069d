"""A function in another file than the program that calls it, where a NaN is born; for blame.py."""

import numpy as np


def scaled(values):
    shifted = values - 3.0
    return np.log(shifted) * 2.0  # born
