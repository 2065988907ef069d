"""Forms for one platform or another."""

from ..target import per_platform, platform


def by_platform(*operands, cpu, default):
    """`cpu(*operands)` on CPUs and `default(*operands)` elsewhere, which mean the same.

    Where programs run on the CPU unless told otherwise, `default` is not even traced: to trace and to lower a choice
    takes as long as ten operations. A program that is moved elsewhere from there runs as it does on the CPU.
    """
    return cpu(*operands) if platform() == "cpu" else per_platform(*operands, cpu=cpu, default=default)
