"""A loop as a kernel: the function that a thread runs, its buffers, the memory that a block shares."""

import numpy as np

from ...ir.ops.control import COUNTER
from ...ir.types import Tensor
from ..native.code import IndexForm, memory_type
from ..native.nest import Nest
from ..native.region import supported
from ..native.values import Cell, NotNative
from .block_code import BlockCode
from .block_region import BlockRegion
from .estimate import PROCESSORS

# bound: bytes of memory that a block shares on the chip, beside WIDEST for each of 1024 threads; 48 KiB are there
# without being asked for
SHARED = 31 << 10
WIDEST = 16  # fact: bytes of a number, complex128
SPILT = 1 << 28  # bound: bytes of an array that each block has for itself, all together
PRIVATE = 1 << 10  # bound: bytes of memory that a thread has for itself


class Kernel(Nest):
    """threads: of a block; form: what the outermost loop is shared out among.

    "block": nothing: one block makes its trips in order, all threads at each; "blocks": blocks, each with all of its
    threads at one trip; "threads": the threads of all blocks. The last two are for trips that do not hang together;
    sure: bodies of loops of which that is known; inner: whether a block's threads may have trips of inner loops.
    """

    REGION, SHARES, SPLITS = BlockRegion, 0, False

    def __init__(self, op, types, attrs, exact, threads, form="block", blocks=1, sure=(), inner=True):
        self.threads, self.form, self.blocks, self.sure, self.inner = threads, form, blocks, sure, inner
        self.left = {}  # position of a number -> (reduction or FIRST, positions of its parts among the results)
        self.spread_out = False  # whether the outermost loop has been
        self.on_chip, self.free, self.own_room, self.sums = [], SHARED, PRIVATE, None
        super().__init__(op, types, attrs, exact=exact)
        if form != "block" and not self.spread_out or form == "threads" and (self.code.sections > 1 or self.on_chip):
            raise NotNative("there is more to it than its trips")

    def new_code(self, exact):
        if self.form == "threads":
            return BlockCode(exact, self.threads * self.blocks, min(self.blocks, PROCESSORS))
        return BlockCode(exact, self.threads)

    def partials(self, dtype):
        """Memory with a place for every thread; it is the same for all dtypes, one after the other."""
        if self.sums is None:
            self.sums = self.chip(np.dtype("i1"), self.threads * WIDEST)
            self.free += self.threads * WIDEST  # it has room of its own
        return Cell(self.sums.pointer, dtype, self.threads)

    def chip(self, dtype, size):
        name = self.code.name()
        self.on_chip.append((name, memory_type(dtype), size))
        self.free -= size * dtype.itemsize
        return Cell(name, dtype, size)

    def scratch(self, t):
        supported(t)
        size = t.size * t.dtype.itemsize
        if self.threads * self.blocks == 1:
            return super().scratch(t)
        if not self.code.alone:
            return self.chip(t.dtype, t.size) if size <= self.free else self.spilt(t)
        if size > self.own_room:
            raise NotNative(f"a thread has no room for an array of {size} bytes")
        self.own_room -= size
        name = self.code.name()
        self.code.head.append(f"  {name} = alloca {memory_type(t.dtype)}, i64 {t.size}, align 16")
        return Cell(name, t.dtype, t.size)

    def leave(self, parts):
        """Put what the trips of each thread, or block, leave of carried numbers where `gathered_totals` finds it."""
        code, count = self.code, self.threads * self.blocks if self.form == "threads" else self.blocks
        at = IndexForm.of(code.thread if self.form == "threads" else code.block)
        for k, part in parts.items():
            if part.op is None:
                continue
            places = []
            for x, d in zip(part.last, (part.dtype, COUNTER.dtype)):
                self.extra.append(Tensor((count,), d))
                places.append(len(self.results) + len(self.extra) - 1)
                code.store(self.buffer("result", places[-1]), d, at, x)
            self.left[k] = part.op, places

    def spilt(self, t):
        """Memory of its own that is a result of the call that nobody reads."""
        copies = self.blocks if self.form == "blocks" else 1
        if self.form == "threads" or copies * t.size * t.dtype.itemsize > SPILT:
            raise NotNative(f"there is no room for arrays of {t.size * t.dtype.itemsize} bytes, one for each trip")
        self.extra.append(t if copies == 1 else t.like((copies, *t.shape)))
        pointer = self.buffer("result", len(self.results) + len(self.extra) - 1)
        if copies > 1:
            name, code = self.code.name(), self.code
            code.head.append(f"  {name}.at = mul i64 {code.block}, {t.size}")
            code.head.append(f"  {name} = getelementptr {memory_type(t.dtype)}, ptr {pointer}, i64 {name}.at")
            pointer = name
        return Cell(pointer, t.dtype, t.size)

    def module(self, space, prologue):
        """The module of `@nest(buffers, thread)`.

        space: where memory that a block shares lies, "addrspace(3) " or nothing; prologue: what `@barrier` is, and the
        functions that stand for those of the C library. What threads exchange is never `noalias` or internal: LLVM
        would not expect it to change at a barrier.
        """
        kind = {"argument": "ptr noalias readonly", "result": "ptr"}
        params = ", ".join(f"{kind[k]} %p{n}" for n, (k, _) in enumerate(self.buffers))
        head, shared = [], []
        for n, (name, t, size) in enumerate(self.on_chip):
            shared.append(f"@s{n} = {space}global [{size} x {t}] {'undef' if space else 'zeroinitializer'}, align 16")
            head.append(
                f"  {name} = addrspacecast ptr {space}@s{n} to ptr"
                if space
                else f"  {name} = getelementptr i8, ptr @s{n}, i64 0"
            )
        lines = self.code.text()
        body = lines.replace("entry:", "\n".join(["entry:", *head]), 1)
        comma = ", " if self.buffers else ""
        function = f"define void @nest({params}{comma}i32 %thread, i32 %block) alwaysinline {{\n{body}\n}}"
        declared = [self.code.declared[name] for name in sorted(self.code.declared)]
        text = [*self.constants, *shared, *declared, *self.code.defined.values(), *prologue, function, ""]
        return "\n".join(text)
