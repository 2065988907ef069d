"""Compiled functions in other libraries: JAX, PyTorch, pickles, processes.

Promises the values and derivatives that calls in plain Python have, or an error that says what to pass instead; that no
library is imported for this which the user has not imported; and that what another library knows of a value (its
gradient, its unit, its mask) is never lost in silence.
May import: api and all below.
"""
