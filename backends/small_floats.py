"""The floating dtypes that come with jax and that NumPy itself has none of: bfloat16, float8_e4m3fn and float8_e5m2.

They are told to the IR here, before anything asks which dtypes there are. NumPy calls their kind "V" or "f", as the
library that makes them says; in the IR they are floats. Who computes with them does so in float32 and rounds
(`ir/passes/widen.py`), as that library does.
"""

import numpy as np
from jax import numpy as jnp

from ..ir.types import declare_float

for _short, _scalar in (("bf16", jnp.bfloat16), ("f8e4m3fn", jnp.float8_e4m3fn), ("f8e5m2", jnp.float8_e5m2)):
    declare_float(_short, np.dtype(_scalar))
