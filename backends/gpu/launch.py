"""A kernel on jax values: PTX within the program, which XLA hands to the driver and launches as it does its own.

The call is XLA's `__gpu$xla.gpu.ptx`, whose configuration is a dictionary in MLIR's text: the name of the function, its
PTX, how many blocks and threads, and which of its pointers are results. XLA puts it into CUDA graphs too.
"""

import jax
from jax import numpy as jnp

from ..native.independent import FIRST
from ..xla.table import XLA

TARGET = "__gpu$xla.gpu.ptx"
CONFIGURATION = (
    '{{name = "{name}", kernel_type = "ptx", kernel_data = "{data}", grid_x = {blocks} : i32, grid_y = 1 : i32, '
    "grid_z = 1 : i32, block_x = {threads} : i32, block_y = 1 : i32, block_z = 1 : i32, shared_mem_bytes = 0 : i32, "
    "output_indices = [{results}]}}"
)


def launcher(choice):
    """The call of a kernel: a function from jax values to a tuple of them."""
    kernel = choice.kernel
    results = [*(r.type for r in kernel.results), *kernel.extra]
    operands = len(kernel.func.params)
    call = jax.ffi.ffi_call(
        TARGET,
        [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in results],
        vmap_method="sequential",
        input_output_aliases=kernel.aliases,
        custom_call_api_version=2,
        legacy_backend_config=CONFIGURATION.format(
            name=choice.name,
            data=escaped(choice.text),
            blocks=kernel.blocks,
            threads=kernel.threads,
            results=", ".join(str(operands + n) for n in range(len(results))),
        ),
    )
    return lambda *xs: tuple(gathered_totals(kernel, call(*xs)))


def gathered_totals(kernel, results):
    """The results of a loop, of which the kernel has left numbers in parts: a number for each thread, or block."""
    out = list(results[: len(kernel.results)])
    for k, (op, places) in kernel.left.items():
        parts = results[places[0]]
        if op is FIRST:
            found = parts[jnp.argmin(results[places[1]])]
            out[k] = jnp.where(out[k] != 0, out[k], found)
        else:
            all_of = jnp.concatenate([jnp.reshape(out[k], (1,)), parts])
            out[k] = XLA[op](all_of, axes=(0,))
    return out


def escaped(text):
    """A text within quotes of MLIR's."""
    return "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in text)
