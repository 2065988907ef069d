"""Compiled functions in other libraries: JAX, PyTorch, pickles, processes.

Promises that no library is imported for this which the user has not imported, and that what another library knows of a
value (its gradient, its unit, its mask) is never lost in silence: it is handed on, or the call is refused.
May import: api and all below.
"""
