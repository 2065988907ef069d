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


def xla_seconds(func):
    """(launches, seconds) of a function through XLA: one launch for each store, reduction, product and the like, with
    what is computed for it; one more for the counter of a loop."""
    count, seconds = 0, 0.0
    for eqn in func.eqns:
        if eqn.op is LOOP:
            n, body = trips(eqn.attrs) or UNKNOWN, xla_seconds(eqn.attrs["body"])
            count, seconds = count + n * (body[0] + 1), seconds + n * (body[1] + LAUNCH)
        elif eqn.op is COND:
            sides = [xla_seconds(branch) for branch in eqn.attrs["branches"]]
            most = max(sides, key=lambda side: side[1])
            count, seconds = count + most[0] + 1, seconds + most[1] + LAUNCH
        elif eqn.op not in FUSED and "elementwise" not in eqn.op.traits:
            read = [eqn.operands[1]] if eqn.op is STORE else eqn.operands
            size = sum(size_in_bytes(x.type) for x in (*read, read[0] if eqn.op is STORE else eqn.results[0]))
            count, seconds = count + 1, seconds + max(LAUNCH, size / BANDWIDTH)
    return count, seconds


def size_in_bytes(t):
    return t.size * t.dtype.itemsize
