"""Compiled functions in other libraries: JAX, PyTorch, pickles, processes.

Promises the values and derivatives that calls in plain Python have, or an error that says what to pass instead.
May import: api and all below.
"""
