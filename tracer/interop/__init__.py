"""Compiled functions in other libraries: JAX, PyTorch, pickles, processes.

What other libraries hand us, and what they are handed, means there what it means here; none of them is imported that
the user has not imported, and nothing is unpickled.
"""
