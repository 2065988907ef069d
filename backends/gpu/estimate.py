"""How long a kernel takes, and how long XLA's own kernels would: roughly, to choose between them.

The numbers are of an H100, from NVIDIA's documents and from published microbenchmarks; no clock was read here.
"""

from ...ir.ops import OPS
from ..native.interrupts import UNKNOWN, trips

COND, LOOP, STORE = OPS["cond"], OPS["loop"], OPS["dynamic_update_slice"]
FUSED = {OPS[name] for name in (
    "broadcast", "concatenate", "constant", "dynamic_slice", "iota", "pad", "reshape", "reverse", "slice", "transpose",
    "gather",
)}  # fmt: skip

WARP = 32  # fact: threads that go in step
PROCESSORS = 132  # fact: multiprocessors of an H100; more blocks than that wait for others
CLOCK = 1.7e9  # fact: cycles a second
ISSUE, LOAD, DIVIDE, CALL, BARRIER = 5, 35, 60, 150, 30  # fact: cycles of one instruction of one warp
SCHEDULERS = 4  # fact: warps that a multiprocessor runs in a cycle
LINE = 4  # fact: cycles in which a multiprocessor gets what a warp reads, 8 bytes a thread


def latency(line, warps):
    """Cycles in which `warps` warps run one line of a kernel."""
    if not isinstance(line, str) or line.endswith(":"):
        return 1
    if "@barrier" in line:
        return BARRIER + warps
    if " load " in line:
        return max(LOAD, LINE * warps)
    many = max(1, warps / (ISSUE * SCHEDULERS))
    if "fdiv" in line or "sqrt" in line or "div i64" in line or "rem i64" in line:
        return DIVIDE * many
    return (CALL if "call" in line and "@llvm" not in line else ISSUE) * many


LAUNCH = 5e-6  # fact: seconds of a small kernel from one launch to the next, as a rule
BANDWIDTH = 2e12  # fact: bytes a second, of which XLA's large kernels get most
CORE = 6e9  # fact: simple instructions a second of a CPU core, as a rule


def xla_seconds(func, kernel_seconds=lambda eqn: None):
    """(launches, seconds) of a function through XLA: one launch for each store, reduction, product and the like, with
    what is computed for it; one more for the counter of a loop.

    kernel_seconds(eqn): what a loop takes as a kernel of its own, None where it is none.
    """
    count, seconds = 0, 0.0
    for eqn in func.eqns:
        if eqn.op is LOOP:
            found = kernel_seconds(eqn)
            more = loop_seconds(eqn.attrs, kernel_seconds) if found is None else (1, found + LAUNCH)
        elif eqn.op is COND:
            sides = [xla_seconds(branch, kernel_seconds) for branch in eqn.attrs["branches"]]
            more = max((n + 1, t + LAUNCH) for n, t in sides)
        elif eqn.op in FUSED or "elementwise" in eqn.op.traits:
            continue
        else:
            read = [eqn.operands[1]] if eqn.op is STORE else eqn.operands
            size = sum(size_in_bytes(x.type) for x in (*read, read[0] if eqn.op is STORE else eqn.results[0]))
            more = 1, max(LAUNCH, size / BANDWIDTH)
        count, seconds = count + more[0], seconds + more[1]
    return count, seconds


def loop_seconds(attrs, kernel_seconds=lambda eqn: None):
    """The same of a loop, the trips of which XLA runs."""
    n, (count, seconds) = trips(attrs) or UNKNOWN, xla_seconds(attrs["body"], kernel_seconds)
    return n * (count + 1), n * (seconds + LAUNCH)


def size_in_bytes(t):
    return t.size * t.dtype.itemsize
