"""A loop as a kernel: the function that a thread runs, its buffers, the memory that a block shares."""

from ..native.code import memory_type
from ..native.nest import Nest
from ..native.region import supported
from ..native.values import Cell, NotNative
from .block_code import BlockCode
from .block_region import BlockRegion
from .estimate import PROCESSORS

SHARED = 40 << 10  # bound: bytes of memory that a block shares on the chip; 48 KiB are there without being asked for
PRIVATE = 1 << 10  # bound: bytes of memory that a thread has for itself


class Kernel(Nest):
    """threads: of a block; form: what the outermost loop is shared out among.

    "block": nothing: one block makes its trips in order, all threads at each; "blocks": blocks, each with all of its
    threads at one trip; "threads": the threads of all blocks. The last two are for trips that do not hang together.
    """

    REGION = BlockRegion

    def __init__(self, op, types, attrs, exact, threads, form="block", blocks=1):
        self.threads, self.form, self.blocks = threads, form, blocks
        self.spread_out = False  # whether the outermost loop has been
        self.on_chip, self.free, self.own_room, self.sums = [], SHARED, PRIVATE, {}
        super().__init__(op, types, attrs, exact=exact)
        if form != "block" and not self.spread_out or form == "threads" and (self.code.sections > 1 or self.on_chip):
            raise NotNative("there is more to it than its trips")

    def new_code(self, exact):
        if self.form == "threads":
            return BlockCode(exact, self.threads * self.blocks, min(self.blocks, PROCESSORS))
        return BlockCode(exact, self.threads)

    def partials(self, dtype):
        """Memory with a place for every thread."""
        if dtype not in self.sums:
            self.sums[dtype] = self.chip(dtype, self.threads)
        return self.sums[dtype]

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

    def spilt(self, t):
        """Memory of its own that is a result of the call that nobody reads."""
        if self.form != "block":
            raise NotNative(f"a block has no room for an array of {t.size * t.dtype.itemsize} bytes")
        self.extra.append(t)
        return Cell(self.buffer("result", len(self.results) + len(self.extra) - 1), t.dtype, t.size)

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
