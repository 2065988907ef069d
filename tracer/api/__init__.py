"""What `wengert` exports: jit, grad and its kin, vmap, custom derivatives, implicit solvers, source.

Promises the public names, their docstrings and their errors.
May import: call and all below.
"""
