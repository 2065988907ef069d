"""LLVM IR as text: names, blocks, counted loops, memory, and indices as sums of multiples of names."""

import contextlib
import struct

import numpy as np

from ...ir.affine import plus

FAR = 1 << 60  # bound: of integers whose sums do not wrap around
WRITTEN_OUT = 1 << 20  # fact: the number of a node of metadata, above those of lines
UNROLL = f"""!{WRITTEN_OUT} = distinct !{{!{WRITTEN_OUT}, !{WRITTEN_OUT + 1}}}
!{WRITTEN_OUT + 1} = !{{!"llvm.loop.unroll.enable"}}"""
FLOATS = {4: "float", 8: "double"}
TYPES = {
    "b": lambda n: "i1", "i": lambda n: f"i{8 * n}", "u": lambda n: f"i{8 * n}", "f": FLOATS.__getitem__,
    "c": lambda n: f"{{ {FLOATS[n // 2]}, {FLOATS[n // 2]} }}",
}  # fmt: skip


def llvm_type(dtype):
    """The type of a number in a register."""
    return TYPES[dtype.kind](dtype.itemsize)


def memory_type(dtype):
    """The type of a number in memory, where a bool is a byte."""
    return "i8" if dtype.kind == "b" else llvm_type(dtype)


def llvm_literal(value, dtype):
    """A number as LLVM writes it."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        f = FLOATS[dtype.itemsize // 2]
        return (
            "{ "
            + ", ".join(
                f"{f} {llvm_literal(part, np.dtype('f8'))}" for part in (complex(value).real, complex(value).imag)
            )
            + " }"
        )
    return "0x" + struct.pack(">d", float(value)).hex().upper()


class IndexForm(tuple):
    """An integer as (constant, ((name, multiple), ...)): equal forms are equal numbers, and nothing is emitted to
    compare them."""

    def __new__(cls, constant=0, terms=()):
        return super().__new__(cls, (constant, tuple(terms)))

    @classmethod
    def of(cls, x):
        """From a number, the name of an i64 register, or a literal."""
        if isinstance(x, IndexForm):
            return x
        if isinstance(x, int):
            return cls(x)
        return cls(0, ((x, 1),)) if x.startswith("%") else cls(int(x))

    def plus(self, other, times=1):
        other = IndexForm.of(other)
        terms = dict(self[1])
        for name, n in other[1]:
            terms[name] = terms.get(name, 0) + times * n
        return IndexForm(self[0] + times * other[0], sorted((item for item in terms.items() if item[1]), key=_age))

    def times(self, n):
        return IndexForm().plus(self, n)

    def multiple(self, name):
        """How often a name is in it."""
        return dict(self[1]).get(name, 0)

    def without(self, name):
        return IndexForm(self[0], (item for item in self[1] if item[0] != name))


def _age(item):
    return int(item[0][2:])


class Code:
    """The body of one LLVM function under construction: lines, and the block that is open."""

    def __init__(self, exact=False, in_vectors=False):
        self.exact = exact
        self.in_vectors = in_vectors  # whether functions of the C library may be taken on vectors
        self.any_order = "" if exact else "reassoc "  # what adds up and multiplies elements
        self.lines, self.count, self.here, self.declared, self.globals = [], 0, "entry", {}, []
        self.place, self.places = None, []  # where the user wrote what is emitted now, and each of the lines
        self.head = []  # what stands at the beginning of the function
        self.written_out = False  # whether a loop is to be
        self.defined = {}  # functions beside it: name -> text
        # whether rows are split (`index_split.py`); the RowIndex of the row being emitted; name -> the affine form that
        # an integer is; the Affine that knows their bounds
        self.splits, self.row, self.forms, self.known = False, None, {}, None

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def op(self, text):
        """Emit an instruction -> the name of its result."""
        name = self.name()
        self.add(f"  {name} = {text}")
        return name

    def do(self, text):
        self.add(f"  {text}")

    def add(self, line):
        self.lines.append(line)
        self.places.append(self.place)

    @contextlib.contextmanager
    def at(self, place):
        """Within: what is emitted is from this place, if it is one."""
        outer, self.place = self.place, place or self.place
        try:
            yield
        finally:
            self.place = outer

    def call(self, function, returns, *arguments, attributes=""):
        """Call a function that only computes. arguments: (type, value) pairs."""
        self.declared[function] = f"declare {returns} @{function}({', '.join(t for t, _ in arguments)}){attributes}"
        return self.op(f"call {returns} @{function}({', '.join(f'{t} {x}' for t, x in arguments)})")

    # -- blocks ------------------------------------------------------------------------------------
    def label(self):
        self.count += 1
        return f"b{self.count}"

    def begin(self, label):
        self.add(f"{label}:")
        self.here = label

    def jump(self, label):
        self.do(f"br label %{label}")

    def branch(self, truth, yes, no):
        self.do(f"br i1 {truth}, label %{yes}, label %{no}")

    def phi(self, type, arrivals, name=None):
        """arrivals: (value, block) pairs, to which more may be added. -> (the name of what arrives, the pairs)"""
        name = name or self.name()
        self.add([f"  {name} = phi {type}", list(arrivals)])
        return name, self.lines[-1][1]

    def both(self, truth, ask):
        """`truth and ask()`, asked only where it is needed."""
        before, inside, after = self.here, self.label(), self.label()
        self.branch(truth, inside, after)
        self.begin(inside)
        asked = ask()
        last = self.here
        self.jump(after)
        self.begin(after)
        return self.phi("i1", [("false", before), (asked, last)])[0]

    def loop(self, types, start, go, body, counter="0", name=None, step=1, written_out=False):
        """`while go(t, *values): values = body(t, *values); t += step` from t = counter -> the last values.

        name: of t, if it has one; written_out: whether LLVM is to write its few trips out one by one.
        """
        before, head, inside, after = self.here, self.label(), self.label(), self.label()
        self.jump(head)
        self.begin(head)
        found = [
            self.phi("i64", [(counter, before)], name),
            *(self.phi(type, [(x, before)]) for type, x in zip(types, start, strict=True)),
        ]
        t, *values = [name for name, _ in found]
        self.branch(go(t, *values), inside, after)
        self.begin(inside)
        new = body(t, *values)
        new = [self.op(f"add nsw i64 {t}, {step}"), *new]
        for (_, arrivals), x in zip(found, new, strict=True):
            arrivals.append((x, self.here))
        self.do(f"br label %{head}" + (f", !llvm.loop !{WRITTEN_OUT}" if written_out else ""))
        self.written_out |= written_out
        self.begin(after)
        return values

    def count_up(self, low, high, body, types=(), start=(), name=None):
        """`for t in range(low, high): values = body(t, *values)` -> the last values."""
        return self.loop(types, start, lambda t, *_: self.op(f"icmp slt i64 {t}, {high}"), body, low, name)

    # -- numbers -----------------------------------------------------------------------------------
    def note(self, name, form):
        """Say what an integer is, where its sums with others wrap around nowhere."""
        low, high = self.known.between(form)
        if name.startswith("%") and -FAR <= low and high <= FAR:
            self.forms[name] = form

    def affine_form(self, index):
        """An index as an affine form, or None."""
        total = {}, index[0]
        for name, n in index[1]:
            if name not in self.forms:
                return None
            total = plus(total, self.forms[name], n)
        return total

    def value(self, index):
        """The i64 that an index is."""
        constant, terms = index
        out = None
        for name, n in terms:
            part = name if n == 1 else self.op(f"mul nsw i64 {name}, {n}")
            out = part if out is None else self.op(f"add nsw i64 {out}, {part}")
        if out is None:
            return str(constant)
        return out if constant == 0 else self.op(f"add nsw i64 {out}, {constant}")

    def least(self, *xs):
        return self._extreme("smin", min, xs)

    def most(self, *xs):
        return self._extreme("smax", max, xs)

    def _extreme(self, name, fold, xs):
        numbers = [int(x) for x in xs if not str(x).startswith("%")]
        out = str(fold(numbers)) if numbers else None
        for x in (x for x in xs if str(x).startswith("%")):
            out = x if out is None else self.call(f"llvm.{name}.i64", "i64", ("i64", x), ("i64", out))
        return out

    def saturated(self, kind, x, y):
        """x + y or x - y, at the ends of i64 where it would leave them. kind: "add" or "sub"."""
        if not (str(x).startswith("%") or str(y).startswith("%")):
            ends = np.iinfo(np.int64)
            return str(min(max(int(x) + int(y) if kind == "add" else int(x) - int(y), ends.min), ends.max))
        if str(y) == "0":
            return x
        return self.call(f"llvm.s{kind}.sat.i64", "i64", ("i64", x), ("i64", y))

    # -- memory ------------------------------------------------------------------------------------
    def address(self, pointer, dtype, offset):
        at = self.value(offset)
        return (
            pointer if at == "0" else self.op(f"getelementptr inbounds {memory_type(dtype)}, ptr {pointer}, i64 {at}")
        )

    def load(self, pointer, dtype, offset):
        found = self.op(f"load {memory_type(dtype)}, ptr {self.address(pointer, dtype, offset)}")
        return self.op(f"icmp ne i8 {found}, 0") if dtype.kind == "b" else found

    def store(self, pointer, dtype, offset, x):
        if dtype.kind == "b":
            x = self.op(f"zext i1 {x} to i8")
        self.do(f"store {memory_type(dtype)} {x}, ptr {self.address(pointer, dtype, offset)}")

    def text(self, suffix=None):
        """The lines of the body, phis completed. suffix: place -> what is put behind its instructions, if anything."""

        def spell(line, place):
            return line if suffix is None or line.endswith(":") else line + suffix(place)

        return "\n".join(["entry:", *self.head, *map(spell, self.spelled(), self.places)])

    def spelled(self, lines=None):
        """The lines of the body, or of a part of it, phis completed."""
        arrivals = lambda pairs: ", ".join(f"[ {x}, %{block} ]" for x, block in pairs)
        lines = self.lines if lines is None else lines
        return [line if isinstance(line, str) else f"{line[0]} {arrivals(line[1])}" for line in lines]


def compare(code, kind, d, x, y):
    """kind: "eq", "ne", "lt", "le", "gt", "ge"; NaN is unequal to all and not ordered."""
    t = llvm_type(d)
    if d.kind == "f":
        return code.op(f"fcmp {'une' if kind == 'ne' else 'o' + kind} {t} {x}, {y}")
    sign = "" if kind in ("eq", "ne") else "s" if d.kind == "i" else "u"
    return code.op(f"icmp {sign}{kind} {t} {x}, {y}")


def chosen(code, c, d, x, y):
    return code.op(f"select i1 {c}, {llvm_type(d)} {x}, {llvm_type(d)} {y}")


def intrinsic(code, name, d, *xs):
    t = llvm_type(d)
    return code.call(f"llvm.{name}.{ {'float': 'f32', 'double': 'f64'}.get(t, t)}", t, *((t, x) for x in xs))
