"""LLVM IR that the threads of a block run together.

What decides the way (counters, branches, scalars) is computed by every thread alike; elements are shared out among
them, thread k taking every T-th from the k-th on. A barrier stands before and after whatever stores, so that what is
read between two of them lies still. Within what is shared out, a thread is alone: what it stores no other touches.
"""

import contextlib
import math

from ..native.code import Code, IndexForm
from ..native.interrupts import UNKNOWN
from .estimate import WARP, latency


class BlockCode(Code):
    """threads: of the block, a power of two; 1 is plain serial code.

    processors: among which the threads lie; cycles: expected of one block; work: lines run by all threads; times: how
    often what is emitted now runs; warps: how many at once; sections: how often threads were given parts of something.
    """

    def __init__(self, exact, threads, processors=1):
        super().__init__(exact)
        self.threads, self.processors, self.alone, self.quiet = threads, processors, threads == 1, False
        self.thread, self.block = self.name(), self.name()
        self.head += [f"  {self.thread} = zext i32 %thread to i64", f"  {self.block} = zext i32 %block to i64"]
        self.widest, self.sections, self.cycles, self.work, self.times, self.warps = 1, 0, 0.0, 0, 1, 1

    def add(self, line):
        super().add(line)
        self.cycles += self.times * latency(line, self.warps)
        self.work += self.times * min(self.warps * WARP, self.threads)
        if not isinstance(line, str) or line.endswith(":") or any(w in line for w in (" load ", "store ", "call ")):
            self.quiet = False

    def barrier(self):
        """All threads of the block come here before any goes on, and see what the others have stored."""
        if not self.alone and not self.quiet:
            self.do("call void @barrier()")
            self.quiet = True

    @contextlib.contextmanager
    def by_itself(self, threads=1):
        """Within: what is emitted is run by single threads, so many at once."""
        outer = self.alone, self.warps
        self.alone, self.warps = True, self.warps if self.alone else -(-threads // WARP // self.processors)
        try:
            yield
        finally:
            self.alone, self.warps = outer

    @contextlib.contextmanager
    def often(self, times):
        """Within: what is emitted runs so many times as often."""
        outer, self.times = self.times, self.times * times
        try:
            yield
        finally:
            self.times = outer

    def count_up(self, low, high, body, types=(), start=(), name=None):
        literal = not str(low).startswith("%") and not str(high).startswith("%")
        with self.often(max(int(high) - int(low), 0) if literal else UNKNOWN):
            return super().count_up(low, high, body, types, start, name)

    def only_if(self, truth, body):
        """`body()` by the threads of which something is true."""
        inside, after = self.label(), self.label()
        self.branch(truth, inside, after)
        self.begin(inside)
        with self.by_itself():
            body()
        self.jump(after)
        self.begin(after)

    def once(self, body):
        """`body()` by one thread."""
        if self.alone:
            body()
            return
        self.sections += 1
        self.barrier()
        self.only_if(self.op(f"icmp eq i64 {self.thread}, 0"), body)
        self.barrier()

    def share(self, low, high, count, body, types=(), start=(), name=None):
        """`count_up` over the trips of this thread, of about `count` in all."""
        self.sections += 1
        self.widest = max(self.widest, count)
        first = self.thread if low == "0" else self.op(f"add nsw i64 {low}, {self.thread}")
        with self.by_itself(min(count, self.threads)), self.often(-(-count // self.threads)):
            return self.loop(
                types, start, lambda t, *_: self.op(f"icmp slt i64 {t}, {high}"), body, first, name, self.threads
            )

    def indices(self, sizes, names, body, types=(), start=(), bounds=None):
        """`values = body(*values)` for all indices, of which each entry has its name -> the last values: those of this
        thread, where they are shared out. bounds: (lowest, highest + 1) of one index."""
        if self.alone:
            return self.in_order(sizes, names, body, types, start, bounds)
        count = math.prod(sizes)
        if len(sizes) == 1:
            low, high = bounds or ("0", str(count))
            return self.share(low, high, count, lambda _, *values: body(*values), types, start, names[0])

        def inner(t, *values):
            for d in reversed(range(len(sizes))):
                if d:
                    self.do(f"{names[d]} = urem i64 {t}, {sizes[d]}")
                    t = self.op(f"udiv i64 {t}, {sizes[d]}")
                else:
                    self.do(f"{names[0]} = add i64 {t}, 0")
            return body(*values)

        return self.share("0", str(count), count, inner, types, start)

    def in_order(self, sizes, names, body, types=(), start=(), bounds=None):
        """`indices` by a thread for itself."""

        def nested(d, *values):
            if d == len(sizes):
                return body(*values)
            low, high = bounds if bounds and d == 0 else ("0", str(sizes[d]))
            return self.count_up(low, high, lambda _, *now: nested(d + 1, *now), types, values, names[d])

        return nested(0, *start)

    def stores(self, sizes, names, body, bounds=None):
        """`body()`, which stores, for all indices, between barriers."""
        run = lambda: body() or ()
        if not names:
            self.once(run)
            return
        self.barrier()
        self.indices(sizes, names, run, bounds=bounds)
        self.barrier()

    def together(self, dtype, x, take, cell):
        """What `take` makes of x of every thread, by halves. cell: memory with a place for each."""
        place = lambda k: IndexForm.of(self.thread).plus(k)
        read = lambda k: self.load(cell.pointer, dtype, place(k))
        self.barrier()
        self.store(cell.pointer, dtype, place(0), x)
        self.barrier()
        half = self.threads // 2
        while half:
            self.only_if(
                self.op(f"icmp slt i64 {self.thread}, {half}"),
                lambda half=half: self.store(cell.pointer, dtype, place(0), take(self, dtype, read(0), read(half))),
            )
            self.barrier()
            half //= 2
        return self.load(cell.pointer, dtype, IndexForm())
