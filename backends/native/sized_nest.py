"""A nest emitted as one sample of several, so that what differs between samples is numbers alone.

Forms of loops that pay from some size on are one form for all sizes here: no blocks of columns, no rows behind rows, no
stretches without work, and no scratch memory that comes from elsewhere where it is large. Other thresholds are decided
as one of the samples decides them (`ir.sample.decide`).

What is left out at one size may be needed at another: the check of an index that lies within an array as long as the
array is so long. So whatever the code takes for granted because of a size is noted in `proofs`, as a number that is no
less than 0, in the order in which it is emitted. As expressions of the sizes they are tested whenever a nest of
symbolic sizes is called (`size_free.py`).
"""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import runs_once
from ...ir.sample import Decisions, assume, deciding
from . import direct, parallel
from .code import IndexForm
from .fuse import Fused
from .interrupts import LONG, ROW, loop_work, outermost_loops
from .nest import Nest
from .reduce import read_once
from .region import RegionEmitter, supported
from .scatter import SCATTERS
from .skew import Skewed
from .values import Cell


class Unskipped(Fused):
    """Stores of one loop, all of it."""

    SKIPS = False


class Unskewed(Skewed):
    """Groups of stores, one after the other."""

    def takes(self, new):
        return None


class SizedRegion(RegionEmitter):
    COPIED, FUSED, SKEWED = float("inf"), Unskipped, Unskewed

    def strips(self, attrs):
        return False

    def row_of_calls(self, op, d):
        """Within loops they stay: what is no nest there is left to Python, trip by trip."""
        return super().row_of_calls(op, d) if self.nest.once else float("inf")

    def is_left_to_blas(self, eqn):
        return False

    def largest_product(self, eqn):
        """Likewise those with a vector, and of two."""
        of_vectors = read_once(eqn) or not eqn.attrs["contract"][0]
        return float("inf") if of_vectors and not self.nest.once else super().largest_product(eqn)

    def trips_of(self, period, cost):
        return self.code.most("1", self.code.op(f"sdiv i64 {period}, {cost}"))

    def equation(self, eqn):
        for r in eqn.results:
            assume(*(n - 1 for n in r.type.shape))
        note = OF_SIZES.get(eqn.op)
        if note is not None:
            assume(*note(eqn))
        super().equation(eqn)

    def start(self, x, last):
        assume(last)
        if isinstance(x, Lit):
            at = min(max(int(x.value), 0), last)
            assume(at, last - at)
        elif last == 0:
            assume(-last)
        return super().start(x, last)

    def clamp(self, x, last):
        low, high = self.facts.interval(x) if x.type.dtype == "i8" else (None, None)
        if low is not None and low >= 0:
            assume(low)
        if high is not None and high <= last:
            assume(last - high)
        return super().clamp(x, last)


def of_slice(eqn):
    """The first elements of a part lie within, and the last ones."""
    attrs = eqn.attrs
    for n, r, a, s in zip(
        eqn.operands[0].type.shape, eqn.results[0].type.shape, attrs["start"], attrs["stride"], strict=True
    ):
        yield from (a, n - 1 - (a + (r - 1) * s))


def of_pad(eqn):
    """A frame has no less than no elements, or says itself what lies within."""
    for n, r, low in zip(eqn.operands[0].type.shape, eqn.results[0].type.shape, eqn.attrs["low"], strict=True):
        yield n - 1
        if min(eqn.attrs["low"] + eqn.attrs["high"]) >= 0:
            yield from (low, r - low - n)


def of_gather(eqn):
    """Windows are no larger than the array."""
    return [n - k for n, k in zip(eqn.operands[0].type.shape, eqn.attrs["sizes"], strict=True)]


def of_scatter(eqn):
    attrs, (array, _, updates) = eqn.attrs, (x.type.shape for x in eqn.operands)
    free = [a for a in range(len(array)) if a not in attrs["collapsed"] and a not in attrs["operand_batch"]]
    return [array[a] - updates[k] for a, k in zip(free, attrs["offset_dims"])]


def of_concatenate(eqn):
    """The parts fill the whole."""
    axis = eqn.attrs["axis"]
    rest = eqn.results[0].type.shape[axis] - sum(x.type.shape[axis] for x in eqn.operands)
    return [rest, -rest, *(x.type.shape[axis] for x in eqn.operands)]


def of_reshape(eqn):
    """There are as many elements as before."""
    rest = eqn.operands[0].type.size - eqn.results[0].type.size
    return [rest, -rest]


OF_SIZES = {
    OPS["slice"]: of_slice, OPS["pad"]: of_pad, OPS["gather"]: of_gather, OPS["concatenate"]: of_concatenate,
    OPS["reshape"]: of_reshape, **dict.fromkeys(SCATTERS, of_scatter),
}  # fmt: skip


class SizedNumbers:
    """How a loop is cut, as `Numbers` has it, in registers that are computed where the nest begins. A loop that does
    too little there is one part.

    estimates: (trips, work) of loops, whose work is the register %work0, %work1, ...: it decides about speed alone.
    """

    def __init__(self, code):
        self.code, self.estimates = code, []

    def op(self, text):
        name = self.code.name()
        self.code.head.append(f"  {name} = {text}")
        return name

    def extreme(self, function, x, y):
        self.code.declared[function] = f"declare i64 @{function}(i64, i64)"
        return self.op(f"call i64 @{function}(i64 {x}, i64 {y})")

    def some(self, count):
        """Trips, or their work, of which there may be none at some sizes: then there is one part, that makes none."""
        return self.extreme("llvm.smax.i64", count, 1)

    def ceil(self, x, y):
        above = self.op(f"sub i64 {self.op(f'add i64 {x}, {y}')}, 1")
        return self.op(f"sdiv i64 {above}, {y}")

    def work(self, count, total):
        if not isinstance(total, int):
            return total
        self.estimates.append((count, total))
        return f"%work{len(self.estimates) - 1}"

    def parts_of(self, count, total):
        total, count = self.some(self.work(count, total)), self.some(count)
        wanted = self.extreme("llvm.smax.i64", self.op(f"sdiv i64 {total}, {parallel.PART}"), parallel.FEW)
        wanted = self.extreme("llvm.smin.i64", self.extreme("llvm.smin.i64", wanted, parallel.MOST), count)
        much = self.op(f"icmp sge i64 {total}, {parallel.LEAST}")
        size = self.ceil(count, self.op(f"select i1 {much}, i64 {wanted}, i64 1"))
        return self.ceil(count, size), size

    def stretches_of(self, count, total):
        total, count = self.some(self.work(count, total)), self.some(count)
        stretches = self.extreme("llvm.smin.i64", self.ceil(total, parallel.LONG), count)
        trips = self.ceil(count, stretches)
        return self.ceil(count, trips), trips, self.ceil(total, stretches)

    def times(self, name, n):
        return IndexForm.of(self.code.op(f"mul nsw i64 {name}, {n}"))

    def heard(self, total):
        return total

    def room(self, parts):
        return parallel.MOST


class SizedNest(Nest):
    """See the module.

    made_from: what it was emitted from, so that it can be once more; proofs, decisions: as the module says; scratched:
    (pointer, dtype, elements) of scratch memory; parts: of loops that threads share; work: of the loop, in parts of an
    equation; long: whether it is to hear signals.
    """

    # of a loop that is shared where it does enough, samples may do little; parts are handed the sizes, in memory
    REGION, PARTS, SHARES, SPLITS, SIZES = SizedRegion, ROW, 64, False, (("%sizes", "ptr"),)

    def __init__(self, op, types, attrs, exact=False, status=None, followed=None):
        self.made_from, self.scratched = (op, tuple(types), tuple(attrs.items()), exact, status), []
        self.parts = []
        self.work = loop_work(attrs, ROW)
        # with loops it may run for long at some size; without, it is refused where it would
        loops = not runs_once(attrs) or any(True for _ in outermost_loops(attrs["body"]))
        self.long = loops and direct.refusal() is None
        with deciding(Decisions(followed)) as log:
            if not self.long:
                assume(LONG * ROW - self.work)
            super().__init__(op, types, attrs, exact=exact, long=self.long, status=status)
        log.finish()
        self.decisions, self.proofs = log.made, log.margins

    def scratch(self, t):
        """Memory of its own for a value, of any size: where it is to be is decided when the samples are compared."""
        supported(t)
        if self.part is not None:
            return Cell(self.part.memory(t.size * t.dtype.itemsize), t.dtype, t.size)
        self.scratched.append((self.code.name(), t.dtype, t.size))
        return Cell(*self.scratched[-1])

    def new_code(self, exact):
        code = super().new_code(exact)
        self.numbers = SizedNumbers(code)
        return code

    def given_memory(self):
        return {name for name, _, _ in self.scratched}

    def keep_part(self, part):
        self.parts.append(part)
