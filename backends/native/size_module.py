"""A nest of symbolic sizes as a module of LLVM IR.

LLVM takes the rows of a loop whose trips it does not know for long: a trip computes several vectors, and what is left
of a row is computed element by element. So loops here compute one vector a trip. Those that add up numbers wait for
each vector then; of a nest with such loops there are two forms, and how long its longest row is decides.
"""

from .code import memory_type
from .debug_lines import DebugMetadata
from .interrupts import TEXT as HEARD
from .nest import ATTRIBUTES
from .size_text import Computed, filled_line

SHORT = 96  # bound: elements of a row that are better computed by one vector a trip
LONGEST = 400  # bound: lines of a nest that is compiled in two forms
HINTS = 1 << 20  # bound: numbers of other metadata


class Hints:
    """Metadata of loops: how many vectors they compute in a trip."""

    def __init__(self):
        self.lines = []

    def vectors(self, count):
        name = f"!{HINTS + len(self.lines)}"
        self.lines.append(f'{name} = distinct !{{{name}, !{{!"llvm.loop.interleave.count", i32 {count}}}}}')
        return f", !llvm.loop {name}"


def sized_loops(lines):
    """{label: (size of its trips, whether it carries values)} of the loops whose trips are a size."""
    here, arriving, found = None, 0, {}
    for line in lines:
        if isinstance(line, str):
            here, arriving = (line[:-1], 0) if line.endswith(":") else (here, arriving + (" = phi " in line))
        elif line[0][2:3] == ["phi"]:
            arriving += 1
        elif line[0][2:3] == ["icmp"] and len(line[1]) == 1:
            (slot,) = line[1].values()
            found[here] = slot.dim, arriving > 1
    return found


def hinted(texts, loops, hints, adding):
    """Lines in which loops have hints. adding: vectors of those that carry values, 0 for no hint."""
    out, jump = [], "  br label %"
    for text in texts:
        head = loops.get(text.removeprefix(jump)) if text.startswith(jump) else None
        count = 0 if head is None else adding if head[1] else 1
        out.append(text + hints.vectors(count) if count else text)
    return out


class SizedFunctions:
    """The functions of a SizeFreeNest as text: of the nest itself, and of parts of loops that threads share.

    gives, given: what they give and take; far: scratch memory that is given; hints, declared: what they refer to.
    """

    def __init__(self, one, suffix):
        self.one, self.suffix, nest = one, suffix, one.nest
        self.sizes = {name: f"%s{k}" for k, name in enumerate(one.names)}
        self.hints, self.declared = Hints(), dict(nest.code.declared)
        near, self.far = one.memory()
        self.allocated = [f"  {name} = alloca {memory_type(d)}, i64 {size}, align 64" for name, d, size in near]
        self.allocated += handed_sizes(self.sizes) if one.parts else []
        self.gives, hear = ("i1", ["i1 %hear"]) if nest.long else ("void", [])
        params = [f"i64 {s}" for s in self.sizes.values()]
        params += [f"ptr noalias %p{n}" for n in range(len(nest.buffers))]
        params += [f"ptr noalias align 64 {name}" for name, _, _ in self.far]
        self.given = ", ".join([*params, *hear])
        self.loops, *self.part_loops = map(sized_loops, (one.lines, *(lines for _, _, lines in one.parts)))

    def rows(self):
        """The sizes of trips of loops that carry values."""
        return [dim for loops in (self.loops, *self.part_loops) for dim, carries in loops.values() if carries]

    def form(self, name, adding, part="part"):
        """Texts of one form of all. adding: as `hinted` has it; part: what its parts are named for."""
        head, found = self.filled(self.one.head, self.one.lines, self.loops, adding, part, self.one.work)
        places = self.one.nest.code.places
        body = [x if x.endswith(":") else x + self.suffix(p) for x, p in zip(found, places, strict=True)]
        block = "\n".join(["entry:", *self.allocated, *head, *body])
        texts = [f"define {self.gives} @{name}({self.given}) #0 {{\n{block}\n}}"]
        for (made, head, lines), loops in zip(self.one.parts, self.part_loops, strict=True):
            head, found = self.filled(head, lines, loops, adding, part)
            texts.append(made.text(made.name.replace("part", part), [*loaded_sizes(self.sizes), *head], found))
        return texts

    def filled(self, head, lines, loops, adding, part, work=()):
        """(instructions that compute numbers of the sizes, and then the head; the lines) as text."""
        computed = Computed(self.sizes, "d")
        amounts = [f"  %work{k} = add i64 {computed.whole(total)}, 0" for k, total in enumerate(work)]
        texts = [filled_line(line, computed.slot) for line in lines]
        head = [filled_line(line, computed.slot) for line in head]
        self.declared |= computed.declared
        texts = [x.replace("@part", f"@{part}") for x in hinted(texts, loops, self.hints, adding)]
        return [*computed.lines, *amounts, *head], texts


def module_text(one, lines, forms):
    """Of a SizeFreeNest; lines: whether its machine code names the user's; forms: whether it may have two."""
    nest = one.nest
    metadata = DebugMetadata(nest.place) if lines and nest.place is not None else None
    made = SizedFunctions(one, metadata.location if metadata is not None else lambda place: "")
    rows = made.rows()
    if rows and forms and metadata is None and len(one.all_lines()) <= LONGEST:
        texts = [*made.form("nest.short", 1, "short"), *made.form("nest.long", 0, "long")]
        texts.append(chosen_form(made.sizes, made.gives, made.given, rows))
    else:
        texts = made.form("nest", 2)
    declared = made.declared | {"llvm.smax.i64": "declare i64 @llvm.smax.i64(i64, i64)"}
    parts = [*nest.constants, *(declared[name] for name in sorted(declared)), *nest.code.defined.values()]
    parts += [*texts, one.entry(made.far), *([HEARD] if nest.long else []), ATTRIBUTES, *made.hints.lines, ""]
    text = "\n".join(parts)
    return text if metadata is None else metadata.module(text)


def handed_sizes(sizes):
    """Lines that write the sizes to memory, for parts of a loop that threads share."""
    lines = [f"  %sizes = alloca [{max(len(sizes), 1)} x i64]"]
    for k, name in enumerate(sizes.values()):
        lines += [f"  %sizes.{k} = getelementptr i64, ptr %sizes, i64 {k}", f"  store i64 {name}, ptr %sizes.{k}"]
    return lines


def loaded_sizes(sizes):
    """Lines that read them there."""
    lines = []
    for k, name in enumerate(sizes.values()):
        lines += [f"  {name}.at = getelementptr i64, ptr %sizes, i64 {k}", f"  {name} = load i64, ptr {name}.at"]
    return lines


def chosen_form(sizes, gives, given, rows):
    """The function that calls one form or the other."""
    computed, longest = Computed(sizes, "d"), "0"
    for dim in dict.fromkeys(rows):
        longest = computed.op(f"call i64 @llvm.smax.i64(i64 {longest}, i64 {computed.whole(dim)})")
    passed = given.replace("noalias ", "").replace("align 64 ", "")
    out = "  ret void" if gives == "void" else "  ret i1 %out.{form}"
    call = lambda form: f"  {'' if gives == 'void' else f'%out.{form} = '}call {gives} @nest.{form}({passed})"
    lines = [
        f"define {gives} @nest({given}) #0 {{\nentry:",
        *computed.lines,
        f"  %fits = icmp sle i64 {longest}, {SHORT}\n  br i1 %fits, label %short, label %long",
        *(f"{form}:\n{call(form)}\n{out.format(form=form)}" for form in ("short", "long")),
        "}",
    ]
    return "\n".join(lines)
