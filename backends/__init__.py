"""How a program *runs*: as generated NumPy source, or through jax.lax and XLA on CPU or GPU.

The only folder that imports jax (public interface only). Each op has one lowering line, in the file
named as the op's own family. Nothing here knows Python capture, guards or derivatives.
"""

import importlib
import random

import numpy as np

_drawn = np.random.get_state(legacy=False), random.getstate()
importlib.import_module("jax")  # which draws from NumPy's generator; the user's numbers are to be those they were
np.random.set_state(_drawn[0])
random.setstate(_drawn[1])
