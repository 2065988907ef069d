"""Graphics cards that need not be here: descriptions for which XLA's GPU compiler compiles, and nothing runs.

    pip install jax==X jax-cuda12-plugin==X jax-cuda12-pjrt==X      # of one version; no NVIDIA library, no driver

`described("sm_90")` is a jax device: `jit(f, device=described("sm_90")).plan(x)` tells what XLA makes of `f` there, and
`.text("hlo", x)` writes it. The numbers are those of NVIDIA's data sheets and CUDA's table of compute capabilities, in
the text form of XLA's GpuTargetConfigProto.
"""

import functools
import os
import textwrap

import jax
from jax.experimental import topologies

CHECK = "JAX_SKIP_CUDA_CONSTRAINTS_CHECK"  # without it the plugin asks for a driver before it compiles
RECIPE = (
    "pip install jax==X jax-cuda12-plugin==X jax-cuda12-pjrt==X, all of one version, in an environment of their own "
    "(no NVIDIA library and no driver is needed)"
)
COMMON = """
    threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
    block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
    registers_per_core_limit: 65536 registers_per_block_limit: 65536 shared_memory_per_block: 49152
"""
CARDS = {
    "sm_80": (
        "NVIDIA A100-SXM4-80GB",
        """
        core_count: 108 fpus_per_core: 64 clock_rate_ghz: 1.41
        shared_memory_per_core: 167936 shared_memory_per_block_optin: 166912
        l2_cache_size: 41943040 memory_bandwidth: 2039000000000 device_memory_size: 85028896768
        cuda_compute_capability { major: 8 }
        """,
    ),
    "sm_90": (
        "NVIDIA H100 80GB HBM3",
        """
        core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
        shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
        l2_cache_size: 52428800 memory_bandwidth: 3352320000000 device_memory_size: 84978434048
        cuda_compute_capability { major: 9 }
        """,
    ),
}


class NoCompiler(Exception):
    """XLA's GPU compiler is not installed; the text says how to install it, and what was raised."""


def config_text(card):
    """The GpuTargetConfigProto of a card, as text."""
    name, numbers = CARDS[card]
    return textwrap.dedent(f"""\
        gpu_device_info {{ {COMMON} {numbers} }}
        platform_name: "CUDA"
        dnn_version_info {{ major: 9 minor: 10 }}
        device_description_str: "{name}"
    """)


@functools.cache
def described(card):
    """The jax device that stands for a card of `CARDS`. Raises NoCompiler where there is no compiler for it.

    It must be asked for before jax has looked for its platforms: in a process that has run nothing yet.
    """
    os.environ.setdefault(CHECK, "1")
    try:
        found = topologies.get_topology_desc("", "cuda", target_config=config_text(card), topology="1x1x1")
    except (RuntimeError, ValueError, NotImplementedError, jax.errors.JaxRuntimeError) as error:
        raise NoCompiler(f"{RECIPE}\n  {type(error).__name__}: {error}") from None
    return found.devices[0]


def refusal():
    """Why there is no compiler for `CARDS` here, in one line; None where there is one."""
    try:
        described("sm_90")
    except NoCompiler as error:
        return " ".join(str(error).split())
    return None
