"""A program that runs as NumPy, called with jax arrays of the CPU: its results are handed over as such."""

from ...backends import forked
from ...backends.xla import dispatch, host_arrays
from .numpy_function import MISS


def on_jax_arrays(run, version):
    """The raw form of a version on jax arrays. run: that on ndarrays. The status of its checks stays one of NumPy's."""
    count = len(version.func.results) - bool(version.captured.checks)

    def call(*leaves):
        forked.refuse_forked()
        if not host_arrays.are_plain(leaves):
            return MISS
        raw = run(*host_arrays.as_ndarrays(leaves))
        if raw is MISS:
            return MISS
        results = raw if isinstance(raw, tuple) else (raw,)
        try:
            with dispatch.wide():
                handed = host_arrays.as_jax_arrays(results[:count], host_arrays.committed_to(leaves))
        except RuntimeError:  # the user allows no transfers, of which XLA's form makes none
            return MISS
        handed += results[count:]
        return tuple(handed) if isinstance(raw, tuple) else handed[0]

    call.function = run.function
    return call
