"""Loops as kernels of a GPU."""
