"""How Python *becomes* a program: capture, guards, and the call path of `jit` and `grad`.

The user's function runs once on traced values, which append equations; mutation and aliasing are
resolved here, and what the trace relied on is written down beside it. jax is never imported here,
except `jax.tree_util` in `pytree`.
"""
