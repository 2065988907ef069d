"""Loops as kernels of a GPU: an IR loop -> LLVM IR -> PTX -> a launch within the XLA program, where llvmlite is
installed.

The emitter is that of `backends/native`, so what may be a kernel, and what must be computed before what, is decided
there. `lowered_kernel` runs one on jax values; `kernel_forms` says of the loops of a program which form each has, or
why it has none.
"""

from .decision import kernel_for, kernel_forms, lowered_kernel

__all__ = ["kernel_for", "kernel_forms", "lowered_kernel"]
