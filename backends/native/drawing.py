"""Draws within a nest: bit generators as machine code on the words of a state in memory, and the distributions that
NumPy's extension module exports, called with them.

A `bitgen_t` (numpy/random/bitgen.h) of the nest's own tells those where the state is and which functions step it. What
Python and `RandomState` draw otherwise is written here. All of it is compared with NumPy's own methods before it is
used (`unlike_numpy`).
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.drawing import KINDS, WORD, WORDS, draw
from .bit_generators import generator_text
from .code import IndexForm, llvm_literal, llvm_type
from .elements import offset
from .values import Memory, NotNative, Register

STEPS = "next64", "next32", "nextd", "next64"  # of a bitgen_t, behind the state; the last is for tests of NumPy's
# (polar method of Marsaglia, of whose two numbers one is kept)
GAUSS = """define internal double @gauss.{b}(ptr %s) {{
entry:
  %has.at = getelementptr i8, ptr %s, i64 {kept}
  %other.at = getelementptr i8, ptr %has.at, i64 4
  %has = load i32, ptr %has.at, align 4
  %some = icmp ne i32 %has, 0
  br i1 %some, label %old, label %more
old:
  %found = load double, ptr %other.at, align 4
  store i32 0, ptr %has.at, align 4
  store double 0.0, ptr %other.at, align 4
  ret double %found
more:
  %u = call double @nextd.{b}(ptr %s)
  %v = call double @nextd.{b}(ptr %s)
  %u2 = fmul double 2.0, %u
  %v2 = fmul double 2.0, %v
  %x = fsub double %u2, 1.0
  %y = fsub double %v2, 1.0
  %xx = fmul double %x, %x
  %yy = fmul double %y, %y
  %r = fadd double %xx, %yy
  %out = fcmp oge double %r, 1.0
  %zero = fcmp oeq double %r, 0.0
  %again = or i1 %out, %zero
  br i1 %again, label %more, label %done
done:
  %log = call double @log(double %r)
  %twice = fmul double -2.0, %log
  %over = fdiv double %twice, %r
  %f = call double @llvm.sqrt.f64(double %over)
  %keep = fmul double %f, %x
  %give = fmul double %f, %y
  store i32 1, ptr %has.at, align 4
  store double %keep, ptr %other.at, align 4
  ret double %give
}}
"""
GAUSS_CALLS = {"log": "declare double @log(double)", "llvm.sqrt.f64": "declare double @llvm.sqrt.f64(double)"}

# as many bits as the bound has, until they are below it (random.Random._randbelow)
BELOW = """define internal i64 @below.{b}(ptr %s, i64 %n) {{
entry:
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %bits = sub i64 64, %zeros
  %short = icmp ule i64 %bits, 32
  %drop = sub i64 32, %bits
  br label %try
try:
  %w0 = call i32 @next32.{b}(ptr %s)
  %first = zext i32 %w0 to i64
  br i1 %short, label %one, label %two
one:
  %r1 = lshr i64 %first, %drop
  br label %ask
two:
  %w1 = call i32 @next32.{b}(ptr %s)
  %second = zext i32 %w1 to i64
  %high = lshr i64 %second, %zeros
  %up = shl i64 %high, 32
  %r2 = or i64 %up, %first
  br label %ask
ask:
  %r = phi i64 [ %r1, %one ], [ %r2, %two ]
  %good = icmp ult i64 %r, %n
  br i1 %good, label %done, label %try
done:
  ret i64 %r
}}
"""
BELOW_CALLS = {"llvm.ctlz.i64": "declare i64 @llvm.ctlz.i64(i64, i1)"}


def emit_draw(region, eqn):
    """The reps of a draw's results; its state stays in one place."""
    code, attrs = region.code, eqn.attrs
    state, going, *given = eqn.operands
    after, numbers = eqn.results
    asks = region.element(region.read(going), ())
    scalars = {x: region.element(region.read(x), ()) for x in given if not x.type.shape}
    cell, out = state_cell(region, eqn, state, after), numbers_cell(region, numbers, given)
    cells = {cell} if out is None else {cell, out}
    region.before_store(cells, [x for x in given if x.type.shape])
    rep = region.read(state)
    if not (isinstance(rep, Memory) and rep.cell is cell and rep.latest):
        region.copied(state)
        region.write(cell, state.type.shape, [IndexForm()], rep, whole=True)
    region.flush()
    numbers_of, t = Distribution(region, attrs, cell.pointer), numbers.type
    nothing = llvm_literal(0, t.dtype)

    def put(x):
        region.over(t.shape, lambda index: code.store(out.pointer, t.dtype, offset(t.shape, index), x(index)))

    def parameter(x, index):
        return scalars[x] if x in scalars else region.element(region.read(x), index)

    def drawn():
        if out is None:
            return numbers_of(*(scalars[x] for x in given))
        if attrs["kind"] == "permutation":
            return numbers_of.permutation(out, t.size)
        return put(lambda index: numbers_of(*(parameter(x, index) for x in given)))

    def not_drawn():
        return nothing if out is None else put(lambda _: nothing)

    found = drawn() if asks == "true" else either_way_emitted(code, asks, drawn, not_drawn, llvm_type(t.dtype))
    for c in cells:
        c.written()
    return [Memory(after.type, cell), Register(t, found) if out is None else Memory(t, out)]


def either_way_emitted(code, asks, one, other, t):
    """What one of two functions emits, as a bool decides at run time; None where they give none."""
    labels, then, found = (code.label(), code.label()), code.label(), []
    code.branch(asks, *labels)
    for label, emit in zip(labels, (one, other), strict=True):
        code.begin(label)
        found.append((emit(), code.here))
        code.jump(then)
    code.begin(then)
    return None if found[0][0] is None else code.phi(t, found)[0]


def state_cell(region, eqn, state, after):
    """The cell in which the state is."""
    cell = region.home.get(after)
    if cell is None and not isinstance(state, Lit) and region.mine(state):
        cell = region.read(state).cell
    return region.scratch(after.type) if cell is None else cell


def numbers_cell(region, numbers, given):
    """The cell of numbers that are an array, which none of the parameters is read from."""
    if not numbers.type.shape:
        return None
    cell = region.home.get(numbers)
    free = cell is not None and not any(cell in region.read(x).reads for x in given)
    return cell if free else region.scratch(numbers.type)


def drawn_state(x):
    """The operand that a draw's result is made of."""
    return x.eqn.operands[0] if x is x.eqn.results[0] else None


class Distribution:
    """One kind of draws from the state at a pointer: called with the registers of its parameters, it emits one."""

    def __init__(self, region, attrs, state):
        self.code, self.nest, self.state = region.code, region.nest, state
        self.family, self.bits, self.kind = attrs["family"], attrs["bits"], attrs["kind"]
        self.nest.drawn.add((self.family, self.bits, self.kind))
        self.define(self.bits, *generator_text(self.bits))

    def define(self, name, text, declared):
        self.code.defined[name] = text
        self.code.declared.update(declared)

    def __call__(self, *given):
        made = self.own().get(self.kind)
        if made is not None:
            return made(*given)
        if self.family != "Generator":
            raise NotNative(f"{self.kind}() of a {self.family} has no native form")
        return self.numpys(f"random_{self.kind}", *given)

    def own(self):
        """What is written out here, by kind."""
        found = {"random": self.next_float, "integers": self.integer}
        if self.family == "Random":
            found["uniform"] = self.pythons_uniform
        else:
            found["uniform"] = lambda low, high: self.numpys("random_uniform", low, self.float("fsub", high, low))
        if self.family == "RandomState":
            found["standard_normal"] = self.gauss
            found["normal"] = lambda loc, scale: self.float("fadd", loc, self.float("fmul", scale, self.gauss()))
            found["standard_exponential"] = self.legacy_exponential
            found["exponential"] = lambda scale: self.float("fmul", scale, self.legacy_exponential())
        return found

    def float(self, op, x, y):
        return self.code.op(f"{op} double {x}, {y}")

    def next_float(self):
        return self.code.op(f"call double @nextd.{self.bits}(ptr {self.state})")

    def bitgen(self):
        """The bitgen_t by which NumPy's functions know the state; made where the function begins."""
        found = self.nest.bitgens.get((self.state, self.bits))
        if found is None:
            code = self.code
            found = self.nest.bitgens[self.state, self.bits] = code.name()
            code.head.append(f"  {found} = alloca [5 x ptr], align 8")
            code.head.append(f"  store ptr {self.state}, ptr {found}")
            for n, step in enumerate(STEPS, 1):
                at = code.name()
                code.head.append(f"  {at} = getelementptr ptr, ptr {found}, i64 {n}")
                code.head.append(f"  store ptr @{step}.{self.bits}, ptr {at}")
        return found

    def numpys(self, function, *given):
        """A call of NumPy's own function."""
        returns = llvm_type(KINDS[self.kind][1])
        return self.code.call(function, returns, ("ptr", self.bitgen()), *(("double", x) for x in given))

    def pythons_uniform(self, low, high):
        return self.float("fadd", low, self.float("fmul", self.float("fsub", high, low), self.next_float()))

    def gauss(self):
        kept = WORD.itemsize * WORDS[self.bits]
        self.define(f"gauss.{self.bits}", GAUSS.format(b=self.bits, kept=kept), GAUSS_CALLS)
        return self.code.op(f"call double @gauss.{self.bits}(ptr {self.state})")

    def legacy_exponential(self):
        """-log(1 - u)"""
        rest = self.float("fsub", llvm_literal(1.0, np.dtype(float)), self.next_float())
        return self.code.op(f"fneg double {self.code.call('log', 'double', ('double', rest))}")

    def integer(self, low, high):
        """A whole number in [low, high)."""
        code = self.code
        many = code.op(f"sub i64 {high}, {low}")
        if self.family == "Random":
            self.define(f"below.{self.bits}", BELOW.format(b=self.bits), BELOW_CALLS)
            return code.op(f"add i64 {low}, {code.op(f'call i64 @below.{self.bits}(ptr {self.state}, i64 {many})')}")
        most, mask, masked = code.op(f"sub i64 {many}, 1"), "0", self.family == "RandomState"
        if masked:  # as many bits as the greatest has, until they are no more than that
            zeros = code.call("llvm.ctlz.i64", "i64", ("i64", most), ("i1", "false"))
            inside = code.op(f"and i64 {zeros}, 63")
            mask = code.op(f"lshr i64 -1, {inside}")
        return code.call(
            "random_bounded_uint64", "i64", ("ptr", self.bitgen()), ("i64", low), ("i64", most), ("i64", mask),
            ("i1 zeroext", "true" if masked else "false"),
        )  # fmt: skip

    def permutation(self, out, size):
        """0, 1, ... in memory, each from the last on exchanged with one before it or itself (Fisher & Yates)."""
        code = self.code
        place = lambda at: code.op(f"getelementptr i64, ptr {out.pointer}, i64 {at}")
        code.count_up("0", str(size), lambda t: code.do(f"store i64 {t}, ptr {place(t)}") or ())

        def exchange(k):
            i = code.op(f"sub i64 {size - 1}, {k}")
            j = code.call("random_interval", "i64", ("ptr", self.bitgen()), ("i64", i))
            here, there = place(i), place(j)
            x, y = code.op(f"load i64, ptr {here}"), code.op(f"load i64, ptr {there}")
            code.do(f"store i64 {y}, ptr {here}")
            code.do(f"store i64 {x}, ptr {there}")
            return ()

        if size > 1:
            code.count_up("0", str(size - 1), exchange)


def alone(types, attrs):
    """(types, attributes) of a loop of one trip that makes one draw; what it carries, the state and the numbers, come
    last."""
    state, going, *given = types
    _, numbers = draw.result_types([Lit(0, t) for t in types], attrs)
    carried = [going, *given, state, numbers]

    def body(_, going, *rest):
        *given, state, _ = rest
        return draw(state, going, *given, **attrs)

    made = region(body, [COUNTER, *carried], attrs["kind"])
    return carried, loop.complete({"body": made, "carried": 2, "trips": 1})
