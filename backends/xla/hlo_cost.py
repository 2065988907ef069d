"""What each instruction of an executable costs: operations, and bytes that it reads and writes in memory.

Counted as XLA's own `HloCostAnalysis` counts (xla/service/hlo_cost_analysis.cc), with two differences: transcendental
functions are among the operations, and the body of a loop counts as often as it is known to run. What a fusion computes
inside stays in registers: it reads its operands and writes its results, and of an operand that is only sliced the
slices. Foreign functions are a matter of whoever asks (`foreign`).
"""

import math
import re

from ...ir.cost import EqnCost

FREE = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all partition-id replica-id opt-barrier".split()
)
MOVES = frozenset(
    """
reshape broadcast transpose copy slice iota concatenate pad reverse dynamic-slice dynamic-update-slice gather
bitcast-convert rng-get-and-update-state copy-start copy-done domain
""".split()
)  # which compute nothing
SLICES = frozenset(("slice", "dynamic-slice", "gather"))  # which read of their first operand what they give
ZERO = EqnCost()


class Costs:
    """The costs of instructions of a `hlo_text.Module`; `known` is False where one is a lower bound.

    foreign: the cost of a custom call, or None where it is not known; once: bodies of loops count once, as XLA's do.
    """

    def __init__(self, module, foreign=lambda instruction: None, once=False):
        self.module, self.foreign, self.once, self.known = module, foreign, once, {}

    def computation(self, name):
        """Of all instructions of a computation, each once."""
        if name not in self.known:
            self.known[name] = ZERO
            named = {i.name: i for i in self.module.computations[name]}
            self.known[name] = sum((self.of(i, named) for i in named.values()), ZERO)
        return self.known[name]

    def of(self, instruction, named):
        """The cost of an instruction; named: those of its computation by name."""
        opcode = instruction.opcode
        if opcode in FREE:
            return ZERO
        if opcode == "while":
            return self.repeated(instruction)
        if opcode == "conditional":
            sides = map(self.computation, instruction.called("branch", "true_computation", "false_computation"))
            return max(sides, key=lambda c: c.flops + c.bytes, default=ZERO)
        if opcode == "call":
            return sum(map(self.computation, instruction.called("to_apply")), ZERO)
        if opcode == "custom-call":
            return self.called(instruction, named)
        if opcode == "fusion":
            return self.fused(instruction, named)
        read, written = bytes_moved(instruction, named)
        return EqnCost(float(flops(instruction, named, self.module)), read, written)

    def repeated(self, instruction):
        """A loop: its body, and the test that goes before each trip and behind the last."""
        body = sum(map(self.computation, instruction.called("body")), ZERO)
        trips, tests = instruction.trips, self.tests(instruction)
        if self.once or trips is not None:
            return body.times(1 if self.once else trips) + tests
        return (body + tests).unsure()

    def tests(self, instruction):
        """All tests of a loop."""
        each = sum(map(self.computation, instruction.called("condition")), ZERO)
        return each.times(1 if self.once or instruction.trips is None else instruction.trips + 1)

    def called(self, instruction, named):
        found = self.foreign(instruction)
        if found is not None:
            return found
        read = sum(named[x].bytes for x in dict.fromkeys(instruction.operands) if x in named)
        count = lapack_flops(instruction, named)
        return EqnCost(float(count or 0), read, instruction.bytes, count is not None)

    def fused(self, instruction, named):
        """The operations inside, and the bytes that pass its edge."""
        (called,) = instruction.called("calls")
        inside = self.module.computations[called]
        within = {i.name: i for i in inside}
        count = 0.0
        for i in inside:
            count += self.fused(i, within).flops if i.opcode == "fusion" else flops(i, within, self.module)
        read = 0
        for n, x in enumerate(instruction.operands):
            parameter = next((i for i in inside if i.parameter == n), None)
            most = named[x].bytes if x in named else 0
            read += most if parameter is None else min(most, read_bytes(parameter, inside, within))
        root = next((i for i in inside if i.root), inside[-1])
        return EqnCost(count, read, stored_bytes(root, within))


def read_bytes(parameter, inside, within):
    """Bytes of a parameter of a fusion that are read: of one that is sliced alone, the slices."""
    total = 0
    for reader in inside:
        if parameter.name not in reader.operands:
            continue
        if reader.opcode == "bitcast":
            total += read_bytes(reader, inside, within)
        elif reader.opcode in SLICES and reader.operands[0] == parameter.name:
            total += reader.bytes
        elif reader.opcode == "dynamic-update-slice" and reader.operands[0] == parameter.name:
            continue  # it is written in place
        else:
            return parameter.bytes
    return total


def stored_bytes(root, within):
    """Bytes that the root of a fusion writes: of a store in place, what is stored."""
    if root.opcode == "tuple":
        return sum(stored_bytes(within[x], within) for x in root.operands)
    while root.opcode == "bitcast" and root.operands[0] in within:
        root = within[root.operands[0]]
    return within[root.operands[1]].bytes if root.opcode == "dynamic-update-slice" else root.bytes


def bytes_moved(instruction, named):
    """(bytes read, bytes written) of an instruction that is in no fusion."""
    sizes = [named[x].bytes if x in named else 0 for x in instruction.operands]
    if instruction.opcode in SLICES:
        return instruction.bytes + sum(sizes[1:]), instruction.bytes
    if instruction.opcode == "dynamic-update-slice":
        return sum(sizes[1:]), sizes[1]
    if instruction.opcode == "scatter":
        return 2 * sizes[2] + sizes[1], sizes[2]
    distinct = dict(zip(instruction.operands, sizes, strict=True))
    return sum(distinct.values()), instruction.bytes


def flops(instruction, named, module=None):
    """Operations of an instruction, whatever memory it touches. module: where the computation is that a reduction
    applies, which is taken for one operation without."""
    opcode, count = instruction.opcode, instruction.count
    if opcode in FREE or opcode in MOVES:
        return 0
    first = named.get(instruction.operands[0]) if instruction.operands else None
    rule = RULES.get(opcode)
    made = count if rule is None or first is None else rule(instruction, first, named)
    if module is None or opcode not in APPLYING:
        return made
    return made * max(sum(applied(module, name) for name in instruction.called("to_apply")), 1)


def applied(module, computation):
    """Operations of the computation that is applied to each pair."""
    inside = module.computations[computation]
    return sum(flops(i, {}) for i in inside)


def dims(instruction, name):
    """The list of axes that an attribute is."""
    at = instruction.attributes.find(f"{name}={{")
    if at < 0:
        return []
    inside = instruction.attributes[at + len(name) + 2 :].partition("}")[0]
    return [int(n) for n in inside.split(",") if n.strip()]


def dot_flops(instruction, first, named):
    sizes = first.shapes[0].sizes
    return 2 * instruction.count * math.prod(sizes[d] for d in dims(instruction, "lhs_contracting_dims"))


def convolution_flops(instruction, first, named):
    """Twice the taps of each element of the result, those on the padding too."""
    kernel = named[instruction.operands[1]]
    label = instruction.attributes.partition("dim_labels=")[2].partition("_")[2].partition("->")[0]
    taps = math.prod(n for n, axis in zip(kernel.shapes[0].sizes, label, strict=False) if axis != "o")
    return 2 * instruction.count * taps


def reduction_flops(instruction, first, named):
    return max(first.count - instruction.shapes[0].count, 0)


def window_flops(instruction, first, named):
    """One operation less than the window has elements, for each element of the result."""
    size = instruction.attributes.partition("size=")[2].partition("}")[0].split()[0]
    return instruction.count * (math.prod(int(n) for n in size.split("x") if n.isdigit()) - 1)


def sort_flops(instruction, first, named):
    return first.count * math.ceil(math.log2(first.count)) if first.count > 1 else 0


def fft_flops(instruction, first, named):
    lengths = instruction.attributes.partition("fft_length={")[2].partition("}")[0]
    n = math.prod(int(x) for x in lengths.split(",") if x.strip())
    real = 0.5 if "RFFT" in instruction.attributes else 1
    return 5 * real * max(first.count, instruction.count) * math.log2(n) if n > 1 else 0


def scatter_flops(instruction, first, named):
    return named[instruction.operands[2]].count


def matrix_sizes(shape):
    """(how many matrices an array holds, their rows, their columns)."""
    *batch, m, n = shape.sizes
    return math.prod(batch), m, n


def lapack_flops(instruction, named):
    """Operations of a call of LAPACK's or BLAS's by the formulas of `ir.cost`, None for other calls."""
    name = re.search(r"(potrf|getrf|geqrf|orgqr|ungqr|gesdd|syevd|heevd|geev|trsm|gtsv)", instruction.target)
    shapes = [s for x in instruction.operands if x in named for s in named[x].shapes if len(s.sizes) >= 2]
    if name is None or not shapes:
        return None
    batch, m, n = matrix_sizes(shapes[0])
    k = min(m, n)
    columns = matrix_sizes(shapes[-1])[2]
    found = {
        "potrf": n**3 / 3,
        "getrf": m * n * k - (m + n) * k**2 / 2 + k**3 / 3,
        "geqrf": 2 * m * n * k - (m + n) * k**2 + 2 * k**3 / 3,
        "gesdd": 14 * max(m, n) * k**2 + 8 * k**3,
        "geev": 25 * n**3,
        "trsm": n * n * columns,
        "gtsv": 8 * m * columns,
    }
    found["orgqr"] = found["ungqr"] = found["geqrf"]
    found["syevd"] = found["heevd"] = 9 * n**3
    return batch * found[name[1]]


APPLYING = frozenset(("reduce", "reduce-window"))
RULES = {
    "dot": dot_flops,
    "convolution": convolution_flops,
    "reduce": reduction_flops,
    "reduce-window": window_flops,
    "sort": sort_flops,
    "fft": fft_flops,
    "scatter": scatter_flops,
    "cholesky": lambda i, first, named: first.count * first.shapes[0].sizes[-1] / 3,
    "triangular-solve": lambda i, first, named: i.count * first.shapes[0].sizes[-1],
}
