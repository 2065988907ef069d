"""Compiled functions in other libraries: JAX, PyTorch, pickles, processes."""
