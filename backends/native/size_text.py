"""Lines of LLVM IR from several samples of the sizes -> lines in which the numbers that differ are named values.

Lines have the same words but for integers and floats that stand where LLVM takes a value. The integers of one place
are one `Dim`; floats are one made of it in a way that rounds as NumPy does (`FLOATS`). Whatever else differs is
`Unalike`.
"""

import functools
import math
import re
import struct

import numpy as np

from ...ir.dims import Dim, fit
from ...ir.sample import Unalike

WORD = re.compile(r'[%@][\w.]+|"[^"]*"|0x[0-9A-F]+|-?\d+|[A-Za-z_][\w.]*|[^\s\w]')
INTEGER, FLOAT = re.compile(r"-?\d+"), re.compile(r"0x[0-9A-F]{16}")
KIND = re.compile(r"i\d+|float|double")
# instructions that take values where integers stand behind a type
TAKING = {
    "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "select",
    "phi", "call", "getelementptr", "store", "fadd", "fsub", "fmul", "fdiv", "fcmp", "sitofp", "uitofp", "sext",
    "zext", "trunc", "fneg",
}  # fmt: skip
LARGEST = 1 << 62  # bound: of the numbers that sizes are in


class SizeSlot:
    """A number of a type of LLVM's that hangs on the sizes. form: of FLOATS, None for an integer."""

    def __init__(self, dim, type, form=None):
        self.dim, self.type, self.form = dim, type, form

    @property
    def key(self):
        return str(self.dim), self.type, self.form

    def literal(self, sizes):
        """As LLVM writes the number that it is for these sizes."""
        n = self.dim.at(sizes)
        return str(n) if self.form is None else hex_float(FLOATS[self.form][0](NUMPY[self.type](n)))


NUMPY = {"double": np.float64, "float": np.float32}
# form -> (the float of a size in its dtype, the number whose size it may be, instructions of it; {x}: the size)
FLOATS = {
    "x": (lambda x: x, lambda v: v, "{out} = sitofp i64 {n} to {t}"),
    "1/x": (
        lambda x: type(x)(1) / x,
        lambda v: 1 / v,
        "{out}.x = sitofp i64 {n} to {t}\n  {out} = fdiv {t} 1.0, {out}.x",
    ),
    "2/x": (
        lambda x: type(x)(2) / x,
        lambda v: 2 / v,
        "{out}.x = sitofp i64 {n} to {t}\n  {out} = fdiv {t} 2.0, {out}.x",
    ),
    "sqrt(x)": (
        np.sqrt,
        lambda v: v * v,
        "{out}.x = sitofp i64 {n} to {t}\n  {out} = call {t} @llvm.sqrt.{f}({t} {out}.x)",
    ),
    "1/sqrt(x)": (
        lambda x: type(x)(1) / np.sqrt(x),
        lambda v: 1 / (v * v),
        "{out}.x = sitofp i64 {n} to {t}\n  {out}.s = call {t} @llvm.sqrt.{f}({t} {out}.x)\n"
        "  {out} = fdiv {t} 1.0, {out}.s",
    ),
}


def hex_float(x):
    return "0x" + struct.pack(">d", float(x)).hex().upper()


def fitted_to(samples):
    """The function from a number at each sample, all in a tuple, to the Dim or int that they are, or None."""
    return functools.cache(lambda values: fit(values, samples))


def unified_lines(texts, fitted):
    """Lines of each sample -> [line, or (words, {place in it: SizeSlot})]. fitted: of `fitted_to`."""
    if len({len(lines) for lines in texts}) != 1:
        raise Unalike("the machine code of a loop has more instructions at one size than at another")
    return [unified(row, fitted) for row in zip(*texts, strict=True)]


def unified(row, fitted):
    first = row[0]
    if all(line == first for line in row):
        return first
    words = [WORD.findall(line) for line in row]
    if len({len(found) for found in words}) != 1:
        raise Unalike(f"an instruction of a loop is another at another size: {first.strip()}")
    slots = {}
    for k, found in enumerate(zip(*words, strict=True)):
        if any(word != found[0] for word in found):
            slots[k] = slot(words[0], k, found, fitted)
    return words[0], slots


def slot(words, k, found, fitted):
    """What a word is of which samples have different ones."""
    where = " ".join(words)
    whole = all(INTEGER.fullmatch(word) for word in found)
    if not whole and not all(FLOAT.fullmatch(word) for word in found):
        raise Unalike(f"an instruction of a loop is another at another size: {where}")
    type = taken_type(words, k)
    if type is None or whole != (type[0] == "i"):
        raise Unalike(f"a size stands where machine code has a constant: {where}")
    if whole:
        return whole_slot([int(word) for word in found], type, fitted, where)
    values = [struct.unpack(">d", bytes.fromhex(word[2:]))[0] for word in found]
    for form, (of, back, _) in FLOATS.items():
        with np.errstate(all="ignore"):
            near = [back(NUMPY["double"](v)) for v in values]
            if not all(abs(x) < 2**53 and round(x) for x in near):
                continue
            sizes = [round(x) for x in near]
            if all(of(NUMPY[type](n)) == v for n, v in zip(sizes, values, strict=True)):
                dim = fitted(tuple(sizes))
                if isinstance(dim, Dim):
                    return SizeSlot(dim, type, form)
    raise Unalike(f"a float hangs on a size in no way that is known: {where}")


def whole_slot(values, type, fitted, where):
    dim = fitted(tuple(values))
    if not isinstance(dim, Dim):
        raise Unalike("a number in the machine code of a loop hangs on the sizes in no way that is known")
    bits = int(type[1:])
    if not all(-(1 << (bits - 1)) <= v < 1 << (bits - 1) for v in values) or bits > 64:
        raise Unalike(f"a number that hangs on the sizes wraps: {where}")
    return SizeSlot(dim, type)


def taken_type(words, k):
    """The type of a word that an instruction takes as a value, None where it has to be a constant."""
    op = words[2] if len(words) > 2 and words[1] == "=" else words[0]
    before = words[k - 1]
    if op not in TAKING or before in ("align", "<") or (before == "[" and op != "phi"):
        return None
    return next((word for word in reversed(words[:k]) if KIND.fullmatch(word)), None)


def greatest_met(dim, sizes):
    """What no number that is met while a Dim is computed exceeds, of sizes up to these."""
    scale = math.lcm(*(c.denominator for c in dim.terms.values()))
    size = lambda u: sizes[u] if isinstance(u, str) else greatest_met(u.of, sizes)
    return sum(abs(c) * scale * math.prod(max(size(u), 1) for u in m) for m, c in dim.terms.items())


class Computed:
    """Instructions that compute numbers that hang on sizes, once each. names: size -> the register that has it."""

    def __init__(self, names, prefix):
        self.names, self.prefix, self.lines, self.known, self.declared = names, prefix, [], {}, {}

    def op(self, text):
        name = f"%{self.prefix}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def whole(self, dim):
        """The i64 that a Dim is."""
        if not isinstance(dim, Dim):
            return str(dim)
        if dim not in self.known:
            scale = math.lcm(*(c.denominator for c in dim.terms.values()))
            total = "0"
            for monomial, c in dim.terms.items():
                part = str(int(c * scale))
                for unknown in monomial:
                    part = self.op(f"mul i64 {self.unknown(unknown)}, {part}") if part != "1" else self.unknown(unknown)
                total = part if total == "0" else self.op(f"add i64 {part}, {total}")
            self.known[dim] = total if scale == 1 else self.op(f"sdiv exact i64 {total}, {scale}")
        return self.known[dim]

    def unknown(self, unknown):
        if isinstance(unknown, str):
            return self.names[unknown]
        if unknown not in self.known:  # a whole division, which rounds down
            x, d = self.whole(unknown.of), unknown.divisor
            rest = self.op(f"srem i64 {x}, {d}")
            below = self.op(f"ashr i64 {rest}, 63")
            self.known[unknown] = self.op(f"add i64 {self.op(f'sdiv i64 {x}, {d}')}, {below}")
        return self.known[unknown]

    def slot(self, slot):
        """The register of a SizeSlot."""
        n = self.whole(slot.dim)
        if slot.type == "i64":
            return n
        if slot.key not in self.known:
            if slot.form is None:
                self.known[slot.key] = self.op(f"trunc i64 {n} to {slot.type}")
            else:
                f, out = {"double": "f64", "float": "f32"}[slot.type], f"%{self.prefix}{len(self.lines)}"
                self.lines.append("  " + FLOATS[slot.form][2].format(out=out, n=n, t=slot.type, f=f))
                if "sqrt" in slot.form:
                    name = f"llvm.sqrt.{f}"
                    self.declared[name] = f"declare {slot.type} @{name}({slot.type})"
                self.known[slot.key] = out
        return self.known[slot.key]


def filled_line(line, value):
    """A unified line as text. value: SizeSlot -> how it is written."""
    if isinstance(line, str):
        return line
    words, slots = line
    return "  " + " ".join([value(slots[k]) if k in slots else word for k, word in enumerate(words)])


def agrees(line, other, sizes):
    """Whether a unified line is the line of a sample of these sizes."""
    if isinstance(line, str):
        return line == other
    words, slots = line
    return [slots[k].literal(sizes) if k in slots else word for k, word in enumerate(words)] == WORD.findall(other)
