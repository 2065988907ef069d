"""A loop as a module of LLVM IR: the function, its buffers, its scratch memory."""

from ...ir.affine import Affine
from ...ir.core import Builder, Lit
from ...ir.ops.control import COUNTER, runs_once
from . import direct
from .code import UNROLL, Code, IndexForm, llvm_literal, memory_type
from .control import copy
from .debug_lines import DebugMetadata, asked_for, nest_place
from .early_exit import EarlyExit
from .ffi import execute
from .interrupts import POSTPONED, Interrupts
from .interrupts import TEXT as HEARD
from .parallel import Numbers
from .region import RegionEmitter, supported
from .values import Cell, Memory, Register

# bound: bytes of scratch memory on the stack; larger arrays are results of the call that nobody reads
ON_STACK = 1 << 13
ATTRIBUTES = 'attributes #0 = { nounwind noinline "no-trapping-math"="true" "prefer-vector-width"="512" }'


def only_trip(build, params, attrs):
    """The results of the one trip that a loop makes: no loop."""
    return build.inline(attrs["body"], [Lit(0, COUNTER), *params])


class Nest:
    """One loop equation being emitted.

    SHARES: how many times its work a loop is taken to do where it is asked whether threads share it, 0 for never;
    SIZES: what parts of loops are handed, as `Part.captured`, beside what they read; numbers: how loops are cut.
    unlocked: whether other threads of Python's may run while it does; exact: sums keep their order; long: it is to hear
    signals meanwhile; status: the number it carries that says which check has failed, where it may end there.
    once: whether it is no loop; part: the one of a loop that is being emitted apart; shared: how many loops threads
    share. SPLITS: whether rows may be split.
    """

    REGION, PARTS, SHARES, SPLITS, SIZES, numbers = RegionEmitter, 1, 1, True, (), Numbers

    def __init__(self, op, types, attrs, unlocked=False, exact=False, long=False, status=None):
        self.unlocked, self.once = unlocked, runs_once(attrs)
        self.code, self.known, self.depth, self.room = self.new_code(exact), Affine(), 0, ON_STACK
        self.code.splits, self.code.known = self.SPLITS, self.known
        self.constants, self.met, self.extra, self.part, self.shared = [], set(), [], None, 0
        # (family, bit generator, kind) of its draws; (pointer to a state, bit generator) -> the bitgen_t of it
        self.drawn, self.bitgens = set(), {}
        self.hearing = Interrupts(self.code, self.PARTS) if long and direct.refusal() is None else None
        build = Builder("nest")
        with build:
            params = [build.param(t) for t in types]
            results = only_trip(build, params, attrs) if self.once else build.emit(op, params, attrs)
        self.func, self.results = build.finish(results), results
        self.early_exit = EarlyExit.of(self, status)
        self.place = self.code.place = nest_place(self.func)
        for t in (*types, *(r.type for r in results)):
            supported(t)
        self.emit(len(types) - attrs["carried"])

    def new_code(self, exact):
        return Code(exact, not exact)

    def emit(self, first):
        """first: the position of the first carried operand. A carried array shares the buffer of its result."""
        code, self.buffers, self.aliases, homes, reps = self.code, [], {}, {}, []
        for k, p in enumerate(self.func.params):
            t, shared = p.type, k >= first and p.type.shape != ()
            pointer = self.buffer("result", k - first) if shared else self.buffer("argument", k)
            if shared:
                homes[k - first] = Cell(pointer, t.dtype, t.size)
                self.aliases[k] = k - first
                reps.append(Memory(t, homes[k - first]))
            elif t.shape:
                reps.append(Memory(t, Cell(pointer, t.dtype, t.size)))
            else:
                reps.append(Register(t, code.load(pointer, t.dtype, IndexForm())))
        outs = {k: self.buffer("result", k) for k, r in enumerate(self.results) if not r.type.shape}
        status = self.early_exit.begin(reps) if self.early_exit else ()
        region = self.REGION(self, self.func, reps, homes, status=status)
        for k, r in enumerate(region.run()):
            if k in outs:
                code.store(outs[k], r.type.dtype, IndexForm(), region.element(r, ()))
        if self.hearing is None:
            code.do("ret void")
        else:
            self.hearing.finish()
        if self.early_exit:
            self.early_exit.finish({k: (pointer, self.results[k].type.dtype) for k, pointer in outs.items()})

    def buffer(self, kind, position):
        self.buffers.append((kind, position))
        return f"%p{len(self.buffers) - 1}"

    def fresh(self, func):
        """A region that is emitted twice is another one: what is known of its values may differ."""
        if func in self.met:
            return copy(func)
        self.met.add(func)
        return func

    def scratch(self, t):
        """Memory of its own for a value: on the stack while there is room. Each part of a loop that threads share has
        its own."""
        supported(t)
        size = t.size * t.dtype.itemsize
        if size <= self.room:
            self.room -= size
            name = self.code.name()
            self.code.head.append(f"  {name} = alloca {memory_type(t.dtype)}, i64 {t.size}, align 64")
            return Cell(name, t.dtype, t.size)
        if self.part is not None:
            return Cell(self.part.memory(size), t.dtype, t.size)
        self.extra.append(t)
        return Cell(self.buffer("result", len(self.results) + len(self.extra) - 1), t.dtype, t.size)

    def given_memory(self):
        """Names of scratch memory that no line of the function makes."""
        return ()

    def keep_part(self, part):
        """Have the function of a part beside this one."""
        self.code.defined[part.name] = part.text(part.name, part.head, part.spelled())

    def constant(self, array):
        name, t = f"@c{len(self.constants)}", memory_type(array.dtype)
        spell = (lambda x: str(int(x))) if array.dtype.kind == "b" else lambda x: llvm_literal(x, array.dtype)
        self.constants.append(
            f"{name} = internal constant [{array.size} x {t}] [{', '.join(f'{t} {spell(x)}' for x in array.ravel())}]"
        )
        return Cell(name, array.dtype, array.size)

    def text(self, lines=None):
        """The module. lines: whether its machine code names the user's lines, if not as `debug_lines` says."""
        debug = self.place is not None and (asked_for() if lines is None else lines)
        metadata = DebugMetadata(self.place) if debug else None
        params = ", ".join(f"ptr noalias %p{n}" for n in range(len(self.buffers)))
        gives, hear = ("void", "") if self.hearing is None else ("i1", ", i1 %hear")
        body = f"define {gives} @nest({params}{hear}) #0 {{\n{self.code.text(metadata and metadata.location)}\n}}"
        declared = [self.code.declared[name] for name in sorted(self.code.declared)]
        entries = [execute(self.buffers, self.hearing is not None)]
        entries += [direct.entry(self)] if direct.refusal() is None else []
        entries += [HEARD, POSTPONED] if self.hearing is not None else []
        entries += [UNROLL] if self.code.written_out else []
        text = "\n".join([*self.constants, *declared, *self.code.defined.values(), body, *entries, ATTRIBUTES, ""])
        return text if metadata is None else metadata.module(text)

    def kinds(self):
        """(type, whether it is an array) of each pointer that the function takes: numbers are arguments alone."""
        results = [*(r.type for r in self.results), *self.extra]
        types = {"argument": [p.type for p in self.func.params], "result": results}
        return [(types[kind][k], kind == "result" or types[kind][k].shape != ()) for kind, k in self.buffers]

    def functions(self):
        """The C functions that it calls."""
        return [name for name in self.code.declared if not name.startswith("llvm.")]
