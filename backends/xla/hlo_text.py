"""The text of an executable, `compiled.as_text()`, as computations of instructions, in the order in which they run.

XLA gives a compiled program as text alone. What is read here is what plans and measured calls tell: names, shapes,
operands, the computations an instruction calls, how often a loop is known to run, and where an instruction comes from.
"""

import math
import re
from typing import NamedTuple

NAMED = re.compile(r"HloModule ([\w.\-]+)")
HEAD = re.compile(r"\s+(ROOT )?%?([\w.\-]+) = ")
COMPUTATION = re.compile(r"(ENTRY )?%?([\w.\-]+) \(.*\{$")
COMMENT = re.compile(r"/\*.*?\*/")
ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([\d,<=]*)\]")
CALLED = re.compile(r"\b(calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)")
BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
ALIASED = re.compile(r"output_to_operand_aliasing=\{(\{.*?\)(?:, \{.*?\))*)\}")
ONE_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+), \{[\d, ]*\}\)")
BITS = {"pred": 8, "token": 0, "s4": 4, "u4": 4, "s2": 2, "u2": 2}  # those that their name does not tell
METADATA = re.compile(r'metadata=\{((?:[^}"]|"(?:[^"\\]|\\.)*")*)\}')
ENTRY = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\d+))')


class Shape(NamedTuple):
    """One array: its element type as XLA spells it, and its sizes."""

    element: str
    sizes: tuple[int, ...]

    @property
    def count(self):
        return math.prod(self.sizes)

    @property
    def bytes(self):
        bits = BITS.get(self.element) or int(
            re.sub(r"\D.*", "", self.element.lstrip("abcdefghijklmnopqrstuvwxyz")) or 0
        )
        return self.count * bits // 8

    def __str__(self):
        element = {"pred": "bool"}.get(
            self.element, self.element.replace("s", "i", 1) if self.element[0] == "s" else self.element
        )
        return f"{element}[{','.join(map(str, self.sizes))}]"


class Instruction(NamedTuple):
    """`name = shapes opcode(operands), attributes`; root: whether its value is what the computation gives."""

    name: str
    shapes: tuple[Shape, ...]
    opcode: str
    operands: tuple[str, ...]
    attributes: str
    root: bool

    @property
    def bytes(self):
        """Of its results."""
        return sum(s.bytes for s in self.shapes)

    @property
    def count(self):
        """Elements of its results."""
        return sum(s.count for s in self.shapes)

    def called(self, *kinds):
        """The names of the computations it calls, those of some kinds alone."""
        found = [name for kind, name in CALLED.findall(self.attributes) if not kinds or kind in kinds]
        if (branches := BRANCHES.search(self.attributes)) and (not kinds or "branch" in kinds):
            found += [name.strip().lstrip("%") for name in branches[1].split(",")]
        return found

    @property
    def metadata(self):
        """{key: text} of where it comes from, numbers as they are spelled, texts with their backslashes."""
        found = METADATA.search(self.attributes)
        return {key: text or number for key, text, number in ENTRY.findall(found[1])} if found else {}

    @property
    def trips(self):
        """How often a `while` is known to run, or None."""
        found = TRIPS.search(self.attributes)
        return None if found is None else int(found[1])

    @property
    def parameter(self):
        """Which operand of the caller a `parameter` is, -1 for other instructions."""
        digits = self.attributes.partition(",")[0].strip() if self.opcode == "parameter" else ""
        return int(digits) if digits.isdigit() else -1

    @property
    def target(self):
        """What a `custom-call` calls, or ""; where that is a kernel given as text, the kernel's name."""
        found = re.search(r'custom_call_target="([^"]*)"', self.attributes)
        kernel = re.search(r'backend_config={name = "([^"]*)"', self.attributes) if found else None
        return "" if found is None else found[1] if kernel is None else kernel[1]

    @property
    def aliases(self):
        """{position of a result: position of the operand whose memory it is}."""
        found = ALIASED.search(self.attributes)
        return {int(r or 0): int(k) for r, k in ONE_ALIAS.findall(found[1])} if found else {}


class Module(NamedTuple):
    """computations: name -> its Instructions in order; entry: the name of the one that is run; head: the lines in front
    of the first, with the module's name and its tables."""

    computations: dict[str, tuple[Instruction, ...]]
    entry: str
    head: tuple[str, ...] = ()

    @property
    def name(self):
        """Of the module, by which profilers tell of it; "" where it has none."""
        return next((found[1] for line in self.head if (found := NAMED.match(line))), "")

    @property
    def steps(self):
        return self.computations[self.entry]

    @property
    def instructions(self):
        """Those of all computations."""
        return [i for inside in self.computations.values() for i in inside]


def parse_module(text):
    """The Module that an executable's text spells."""
    computations, entry, head, now = {}, "", [], None
    for line in COMMENT.sub("", text).splitlines():
        if now is not None and (named := HEAD.match(line)):
            now.append(instruction(line, named))
        elif begun := COMPUTATION.match(line):
            now = computations[begun[2]] = []
            entry = begun[2] if begun[1] else entry
        elif line.startswith("}"):
            now = None
        elif not computations:
            head.append(line)
    return Module({name: tuple(found) for name, found in computations.items()}, entry, tuple(head))


def instruction(line, named):
    """One line of a computation."""
    spelled, rest = until(line, named.end())
    opcode, _, rest = rest.partition("(")
    inside, attributes = until("(" + rest, 0)
    names = () if opcode in ("constant", "parameter", "iota") else operand_names(inside[1:-1])
    if opcode == "parameter":
        attributes = inside[1:-1] + attributes
    shapes = tuple(
        Shape(e, tuple(int(n.lstrip("<=")) for n in sizes.split(",") if n)) for e, sizes in ARRAY.findall(spelled)
    )
    return Instruction(named[2], shapes, opcode.strip(), names, attributes, bool(named[1]))


def until(text, start):
    """(text from `start` to the blank or the end of the parenthesis it opens, what follows)."""
    depth = 0
    for at in range(start, len(text)):
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        if depth == 0 and (text[at] == " " or text[at] == ")" and text[start] == "("):
            end = at + (text[at] == ")")
            return text[start:end], text[end:].lstrip()
    return text[start:], ""


def operand_names(text):
    """Names of operands, before which older versions write their shapes."""
    depth, parts = 0, [""]
    for c in text:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return tuple(part.split()[-1].lstrip("%") for part in parts if part.strip())
