"""Loops whose trips do not hang together (`independent.py`), shared among threads (`threads.py`).

Their trips are cut into parts, by a number that follows from the loop alone: what is added up in each part, and then
over all of them in order, is the same on one processor and on many. The code of a part is emitted apart, and becomes a
function that takes the registers of the nest which it reads from a frame. Where there is one processor, or machine code
names the user's lines, it stays where it is, as the body of a loop over parts.
"""

import contextlib
import re

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.sample import Unalike, decide, proved
from .code import IndexForm, chosen, compare, llvm_literal, llvm_type
from .debug_lines import asked_for
from .early_exit import CommonExit, status_result
from .independent import FIRST, totals
from .interrupts import PERIOD, ROW, trips, work
from .reduce import REDUCTIONS
from .threads import SHARE, thread_count

# work of a loop, of which an equation is ROW, from which threads may share it; measured by benchmarks/tune.py
LEAST = 1 << 20
PART = 1 << 18  # the same, of a part; measured by benchmarks/tune.py
ELEMENT = 4  # fact: what one operation on an element of an array is, an equation being ROW
LONG = PERIOD * ROW  # the same, of a trip that is to hear signals
MOST = 256  # bound: parts
FEW = 4  # bound: parts below which threads would wait for one another
SLOT = 16  # fact: bytes of the largest register
NAME = re.compile(r"%[vp]\d+")
DEFINED = re.compile(r"  (%v\d+) = (.*)")
WORD = r"(?:nsw|nuw|exact|reassoc|nnan|ninf|nsz|arcp|contract|afn|fast|disjoint|nneg|samesign)"
TYPE = r"(\{[^}]*\}|\w+)"
CAST = re.compile(rf"(?:sext|zext|trunc|fptosi|fptoui|sitofp|uitofp|fpext|fptrunc|bitcast) .* to {TYPE}$")
LEADING = re.compile(rf"[a-z]+(?: {WORD})* {TYPE}[ ,]")
FIELD = re.compile(r"extractvalue \{ (\w+), \1 \} ")
CHOSEN = re.compile(rf"select i1 [^,]+, {TYPE} ")


class Part(CommonExit):
    """Code that is emitted apart from the function it is a part of, and to the end of which its checks go.

    number: the register of which part it is; begin: the label of its first block; owned: memory that it takes,
    (pointer, bytes); name: of its function; captured: what that reads of the function around, as (register, its type).
    """

    def __init__(self, nest):
        super().__init__(nest)
        self.number, self.begin, self.owned = nest.code.name(), nest.code.label(), []

    @contextlib.contextmanager
    def emitted(self):
        """Within: code goes here; no signal is heard in it, and what leaves the nest leaves the part."""
        code, nest = self.code, self.nest
        outer = code.lines, code.places, code.head, code.here, nest.room, nest.hearing, nest.early_exit, nest.part
        code.lines, code.places, code.head = [], [], []
        nest.hearing, nest.part, nest.early_exit = None, self, self
        try:
            code.begin(self.begin)
            yield self
            self.lines, self.places, self.head, self.here = code.lines, code.places, code.head, code.here
        finally:
            code.lines, code.places, code.head, code.here, nest.room, nest.hearing, nest.early_exit, nest.part = outer

    # -- what a region asks of it ------------------------------------------------------------------
    def finish(self, statuses):
        """The end of the part. statuses: the cell of what its checks found, if there is one."""
        code = self.code
        self.arrivals.append(("0", code.here))
        code.jump(self.label)
        code.begin(self.label)
        found, _ = code.phi("i64", self.arrivals)
        if statuses is not None:
            code.store(statuses.pointer, statuses.dtype, IndexForm.of(self.number), found)

    def memory(self, bytes):
        """Memory for a value that is too large for the stack -> its pointer."""
        self.code.declared |= {"malloc": "declare ptr @malloc(i64)", "free": "declare void @free(ptr)"}
        self.owned.append((self.code.name(), bytes))
        return self.owned[-1][0]

    def taking(self):
        """Lines that take what it owns, and those that give it back."""
        taken = [f"  {name} = call ptr @malloc(i64 {bytes})" for name, bytes in self.owned]
        return taken, [f"  call void @free(ptr {name})" for name, _ in self.owned]

    # -- where it goes -----------------------------------------------------------------------------
    def share(self, count):
        """Run `count` parts, each once."""
        code, captured = self.code, None if thread_count() == 1 or asked_for() else self.read_from_around()
        if captured is None:
            code.head += self.head
            taken, given = self.taking()
            for line in taken:
                code.add(line)
            code.count_up("0", count, lambda _: self.within() or (), name=self.number)
            for line in given:
                code.add(line)
            return
        self.captured = [*self.nest.SIZES, *captured]
        self.name, frame = f"part{self.nest.shared}", code.name()
        self.nest.shared += 1
        code.head.append(f"  {frame} = alloca [{max(len(self.captured), 1) * SLOT} x i8], align {SLOT}")
        for n, (x, t) in enumerate(self.captured):
            at = code.op(f"getelementptr inbounds i8, ptr {frame}, i64 {n * SLOT}")
            code.do(f"store {stored_type(t)} {x}, ptr {at}")
        self.nest.keep_part(self)
        code.declared[SHARE] = f"declare void @{SHARE}(ptr, ptr, i64, ptr)"
        code.do(f"call void @{SHARE}(ptr @{self.name}.entry, ptr {frame}, i64 {count}, ptr @{self.name}.known)")

    def within(self):
        """The part, in the function that it is a part of."""
        code = self.code
        code.jump(self.begin)
        code.lines += self.lines
        code.places += self.places
        code.here = self.here

    def text(self, name, head, lines):
        """Its function, and the one that reads what that takes from a frame. lines: of `spelled`."""
        slots = [f"%slot{n}" for n in range(len(self.captured))]
        taken = ", ".join(f"{t} {x}" for x, t in self.captured + [(self.number, "i64")])
        given = ", ".join([*(f"{stored_type(t)} {s}" for s, (_, t) in zip(slots, self.captured)), "i64 %number"])
        body = "\n".join(["entry:", *head, *lines, "  ret void"])
        reads = []
        for n, (s, (_, t)) in enumerate(zip(slots, self.captured, strict=True)):
            reads.append(f"  {s}.at = getelementptr inbounds i8, ptr %frame, i64 {n * SLOT}")
            reads.append(f"  {s} = load {stored_type(t)}, ptr {s}.at")
        entry = "\n".join([*reads, f"  call void @{name}({given})", "  ret void"])
        return (
            f"@{name}.known = internal global i64 0, align 8\n"
            f"define internal void @{name}({taken}) #0 {{\n{body}\n}}\n"
            f"define internal void @{name}.entry(ptr %frame, i64 %number) #0 {{\n{entry}\n}}"
        )

    def spelled(self):
        """The lines of its function."""
        taken, given = self.taking()
        return [*taken, f"  br label %{self.begin}", *self.code.spelled(self.lines), *given]

    def read_from_around(self):
        """[(register of the function around, its type)] of what it reads; None where a type is not known, or two of
        them may be the same memory."""
        lines = [*self.head, *self.spelled()]
        own = {m[1] for line in lines if (m := DEFINED.match(line))} | {self.number}
        read = dict.fromkeys(x for line in lines for x in NAME.findall(line) if x not in own)
        around = {m[1]: m[2] for line in (*self.code.head, *self.code.spelled()) if (m := DEFINED.match(line))}
        memory = self.nest.given_memory()
        kind = lambda x: "ptr noalias" if x.startswith("%p") or x in memory else register_type(around.get(x, ""))
        types = [(x, kind(x)) for x in read]
        return None if any(t is None for _, t in types) else types


def stored_type(t):
    return t.removesuffix(" noalias")


def register_type(text):
    """The type of what an instruction gives; None where that is not known, or is memory that others may point into."""
    if text.startswith(("alloca ", "call ptr @malloc(")):
        return "ptr noalias"
    if text.startswith(("icmp ", "fcmp ")):
        return "i1"
    found = CAST.match(text) or CHOSEN.match(text)
    if found is None and text.startswith("extractvalue "):
        found = FIELD.match(text)
    if found is None and not text.startswith(("getelementptr", "extractvalue", "select")):
        found = LEADING.match(text)
    return None if found is None or found[1] == "ptr" else found[1]


def shared_trips(region, eqn, body, bound, invariants, start, step):
    """The last values of the carried numbers of a loop whose trips are shared; None where they are run in order."""
    nest, attrs, count = region.nest, eqn.attrs, trips(eqn.attrs)
    total = max(work(body, ROW), 1) * (count or 0)
    if attrs["test"] is not None or not count or not is_shared(nest, count, total):
        return None
    nest.known.counter(body.params[0], bound)
    for p, x in zip(body.params[1:], invariants):
        nest.known.same(p, x)
    status, found = status_result(region, eqn), None

    def do_not_hang_together():
        nonlocal found
        found = totals(nest.known, body, attrs["carried"], status, literals=True)
        return found is not None and all(op is not FIRST or k == status for k, op in found.items())

    if not proved("trips that do not hang together", do_not_hang_together):
        return None
    state = eqn.operands[len(eqn.operands) - attrs["carried"] :]
    end = region.element(region.read(bound), ())
    sums = [(op, state[k].type) for k, op in found.items()]
    return Shared(nest, *in_stretches(nest, count, total), sums).run(end, start, step)


def is_shared(nest, count, total):
    """Whether threads share a loop of so many trips, of so much work in all."""
    if not nest.SHARES or nest.part is not None:
        return False
    short = total <= LONG * count
    shared = decide("shared by threads", FEW <= count and nest.SHARES * total >= LEAST and short)
    if shared and not short:
        raise Unalike("trips of a loop that threads share take long at one size")
    return shared


class Numbers:
    """How a loop is cut, where its trips and their work are known: ints. `SizedNumbers` has them as registers."""

    MOST = MOST

    @staticmethod
    def parts_of(count, total):
        """(how many parts a loop of so many trips and so much work is cut into, trips of each)"""
        size = -(-count // min(count, MOST, max(total // PART, FEW)))
        return -(-count // size), size

    @staticmethod
    def stretches_of(count, total):
        """(in how many stretches a long loop is shared, between which it hears signals; trips of each; their work)"""
        stretches = -(-total // LONG)
        trips = -(-count // stretches)
        return stretches, trips, total * trips // count

    @staticmethod
    def times(name, n):
        """A register so many times."""
        return IndexForm.of(name).times(n)

    @staticmethod
    def heard(total):
        """Work as signals have it."""
        return total // ROW

    @staticmethod
    def room(parts):
        """How many parts memory is to be for."""
        return parts


def in_stretches(nest, count, total):
    """`stretches_of`, all at once where no signals are heard."""
    return (1, count, total) if nest.hearing is None else nest.numbers.stretches_of(count, total)


def share_range(nest, count, total, emit, sums=()):
    """Have threads share `emit(low, high)` of parts of range(count), of which each index works on memory of its own ->
    what the first part gives, numbers of these types. total: work of all."""
    part, (parts, size) = Part(nest), nest.numbers.parts_of(count, total)
    cells = [nest.scratch(t.like((nest.numbers.room(parts),))) for t in sums]
    with part.emitted():
        low = nest.numbers.times(part.number, size)
        found = emit(part.code.value(low), part.code.least(part.code.value(low.plus(size)), str(count)))
        for cell, x in zip(cells, found or ()):
            part.code.store(cell.pointer, cell.dtype, IndexForm.of(part.number), x)
        part.finish(None)
    part.share(parts)
    return [nest.code.load(cell.pointer, cell.dtype, IndexForm()) for cell in cells]


class Shared:
    """A loop of which trips are shared, in stretches, each of so many trips and so much work. sums: (the reduction that
    a carried number is, or the Lit that some trips make it, or None for one that stays as it is; its type)."""

    def __init__(self, nest, stretches, count, total, sums):
        self.nest, self.code, self.sums = nest, nest.code, sums
        self.stretches, self.count, self.total = stretches, count, total
        self.parts, self.size = nest.numbers.parts_of(count, total)
        room = nest.numbers.room(self.parts)
        self.cells = [op and nest.scratch(t.like((room,))) for op, t in sums]
        self.statuses = next((cell for cell, (op, _) in zip(self.cells, sums) if op is FIRST), None)

    def run(self, end, start, step):
        """-> the last values of the carried numbers."""
        types = [llvm_type(t.dtype) for _, t in self.sums]

        def stretch(s, *before):
            part, numbers = Part(self.nest), self.nest.numbers
            first = IndexForm() if s == "0" else numbers.times(s, self.count)
            with part.emitted():
                self.trips_of(part, first, end, before, step, types)
            part.share(self.parts)
            if self.nest.hearing is not None:
                self.nest.hearing.after(numbers.heard(self.total))
            return self.over_parts(before, types)

        if self.stretches == 1:
            return stretch("0", *start)
        return self.code.count_up("0", self.stretches, stretch, types, start)

    def trips_of(self, part, first, end, before, step, types):
        """The trips of one part, and what they leave."""
        code, low = self.code, first.plus(self.nest.numbers.times(part.number, self.size))
        high = code.least(code.value(low.plus(self.size)), code.value(first.plus(self.count)), end)
        goes = lambda t, *_: code.op(f"icmp slt i64 {t}, {high}")
        begun = [begun_with(op, t.dtype, x) for x, (op, t) in zip(before, self.sums)]
        last = code.loop(types, begun, goes, step, code.value(low))
        for x, cell, (op, t) in zip(last, self.cells, self.sums, strict=True):
            if cell is not None and op is not FIRST:
                code.store(cell.pointer, t.dtype, IndexForm.of(part.number), x)
        part.finish(self.statuses)

    def over_parts(self, before, types):
        """What all parts come to, in order; the nest leaves where one of them has found a check that fails."""
        code = self.code

        def more(c, *sofar):
            return [self.taken(x, c, cell, *one) for x, cell, one in zip(sofar, self.cells, self.sums, strict=True)]

        if not any(self.cells):
            return list(before)
        out = code.count_up("0", self.parts, more, types, before)
        for k, (op, _) in enumerate(self.sums):
            if op is FIRST:
                self.nest.early_exit.unless(code.op(f"icmp ne i64 {out[k]}, 0"), out[k])
                out[k] = "0"
        return out

    def taken(self, sofar, c, cell, op, t):
        """A number, and what a part has."""
        if cell is None:
            return sofar
        code, x = self.code, self.code.load(cell.pointer, t.dtype, IndexForm.of(c))
        if op is FIRST:
            return code.op(f"select i1 {code.op(f'icmp eq i64 {sofar}, 0')}, i64 {x}, i64 {sofar}")
        if isinstance(op, Lit):
            is_marked = compare(code, "eq", t.dtype, x, llvm_literal(op.value, t.dtype))
            return chosen(code, is_marked, t.dtype, x, sofar)
        return REDUCTIONS[op][0](code, t.dtype, sofar, x)


def begun_with(op, d, before):
    """What a part begins with, as LLVM writes it: what a reduction leaves as it is. before: what the loop begins
    with."""
    if op is None or isinstance(op, Lit):
        return before
    if op is FIRST:
        return "0"
    if op is OPS["reduce_sum"] and d.kind in "fc":
        return llvm_literal(complex(-0.0, -0.0) if d.kind == "c" else -0.0, d)
    return llvm_literal(REDUCTIONS[op][1](d), d)
