"""A model of collectives: a message takes a latency and its bytes over a bandwidth, and a collective is a number of
messages one behind the other. What it says of up to 1,024 devices:

    python benchmarks/collectives.py

Hockney's model (Parallel Computing 20(3), 1994): a message of n bytes takes `latency + n / bandwidth`, whatever else
the network carries. The counts of messages and bytes are those of Thakur, Rabenseifner and Gropp (International Journal
of High Performance Computing Applications 19(1), 2005) and of Patarasuk and Yuan (Journal of Parallel and Distributed
Computing 69(2), 2009). All times in seconds, sizes in bytes.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Link:
    """What lies between two devices. latency: seconds a message; bandwidth: bytes a second in each direction."""

    latency: float
    bandwidth: float

    def message(self, nbytes):
        return self.latency + nbytes / self.bandwidth


@dataclasses.dataclass(frozen=True)
class Machine:
    """Nodes of `each` devices: `inside` a node, `between` nodes (each device has its own way out). memory: bytes a
    second of a device; flops: operations a second of a device."""

    name: str
    each: int
    inside: Link
    between: Link
    memory: float
    flops: float


def ring_all_reduce(link, p, nbytes):
    """Reduce-scatter and all-gather round a ring: 2 (p - 1) messages of nbytes / p."""
    return 2 * (p - 1) * link.message(nbytes / p)


def tree_all_reduce(link, p, nbytes):
    """Up and down a binary tree, pipelined: 2 ceil(log2 p) latencies, and every byte twice over a link."""
    return 2 * math.ceil(math.log2(p)) * link.latency + 2 * nbytes / link.bandwidth if p > 1 else 0.0


def all_reduce(link, p, nbytes):
    """The quicker of the two, as libraries choose."""
    return min(ring_all_reduce(link, p, nbytes), tree_all_reduce(link, p, nbytes))


def all_gather(link, p, nbytes):
    """Round a ring; nbytes: of the whole result."""
    return (p - 1) * link.message(nbytes / p)


def halo_exchange(link, p, nbytes):
    """An edge of nbytes to each of two neighbours, one after the other; both directions of a link at once."""
    return 2 * link.message(nbytes) if p > 1 else 0.0


def nested_all_reduce(machine, p, nbytes):
    """Reduce-scatter in each node, all-reduce of the parts between nodes, all-gather in each node."""
    inside = min(p, machine.each)
    nodes = p // inside
    within = 2 * (inside - 1) * machine.inside.message(nbytes / inside)
    return within + (all_reduce(machine.between, nodes, nbytes / inside) if nodes > 1 else 0.0)


def neighbours(machine, p, nbytes):
    """A halo exchange of devices in a row: the slowest pair of neighbours is in two nodes where there are several."""
    return halo_exchange(machine.inside if p <= machine.each else machine.between, p, nbytes)


# H100 SXM: NVLink 4 is 900 GB/s in both directions together, 450 each; 3.35 TB/s of memory; 67 Tflop/s in float32 (its
# data sheet). DGX H100: eight devices, each with a port of 400 Gb/s (its user guide). Assumptions, not measured: four
# fifths of these bandwidths are reached, and a message takes 4 us within a node and 10 us between nodes.
DGX = Machine("DGX H100", 8, Link(4e-6, 0.8 * 450e9), Link(10e-6, 0.8 * 50e9), 3.35e12, 67e12)
DEVICES = (1, 2, 8, 16, 64, 256, 1024)


def training(machine, p, parameters, flop, overlap):
    """Seconds of a step: `flop` operations on each device at two fifths of its peak, and float32 gradients all-reduced,
    beside the backward pass (two thirds of the step) where that is overlapped."""
    compute = flop / (0.4 * machine.flops)
    reduce = nested_all_reduce(machine, p, 4 * parameters)
    return max(compute, compute / 3 + reduce) if overlap else compute + reduce


def stencil(machine, p, rows, columns, every):
    """Seconds of a step of a five-point stencil on rows x columns float64 numbers a device, each read and written once;
    a residual is all-reduced every so many steps."""
    compute = 16 * rows * columns / machine.memory
    residual = nested_all_reduce(machine, p, 8) / every if every else 0.0
    return compute + neighbours(machine, p, 8 * columns) + residual


CASES = {
    "training, 25 M parameters, 0.2 Tflop a device": lambda m, p: training(m, p, 25e6, 0.2e12, overlap=False),
    "the same, overlapped": lambda m, p: training(m, p, 25e6, 0.2e12, overlap=True),
    "training, 1 G parameters, 20 Tflop a device": lambda m, p: training(m, p, 1e9, 20e12, overlap=False),
    "the same, overlapped ": lambda m, p: training(m, p, 1e9, 20e12, overlap=True),
    "stencil, 8192 x 8192 a device": lambda m, p: stencil(m, p, 8192, 8192, every=0),
    "the same, residual every step": lambda m, p: stencil(m, p, 8192, 8192, every=1),
    "stencil, 512 x 512 a device": lambda m, p: stencil(m, p, 512, 512, every=0),
    "stencil, 8192 x 8192 in all": lambda m, p: stencil(m, p, 8192 / p, 8192, every=0),
}


def model_rows(machine=DGX, devices=DEVICES):
    """[(case, [(devices, seconds of a step, efficiency)])]: of what keeps its size for each device the time on one
    device over that on p; of what keeps its size in all ("in all"), that over p."""
    made = []
    for name, seconds in CASES.items():
        one = seconds(machine, 1)
        fixed = name.endswith("in all")
        found = [(p, seconds(machine, p)) for p in devices]
        made.append((name.strip(), [(p, t, one / t / (p if fixed else 1)) for p, t in found]))
    return made


def main():
    print(f"{DGX.name}, {DGX.each} devices a node; milliseconds a step, and efficiency, by the model")
    print(f"{'devices':<46}" + "".join(f"{p:>14}" for p in DEVICES))
    for name, row in model_rows():
        print(f"{name:<46}" + "".join(f"{1e3 * t:>8.3f} {e:>4.0%} " for _, t, e in row))
    print("\nall-reduce of one array, microseconds: ring | tree, on the links between nodes")
    for nbytes in (8, 1 << 16, 1 << 20, 1 << 26, 1 << 30):
        pairs = [[reduce(DGX.between, p, nbytes) for reduce in (ring_all_reduce, tree_all_reduce)] for p in DEVICES[1:]]
        print(f"{nbytes:>12} B  " + "".join(f"{1e6 * ring:>12.0f} |{1e6 * tree:>9.0f}" for ring, tree in pairs))


if __name__ == "__main__":
    main()
