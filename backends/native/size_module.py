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


def module_text(one, lines, forms):
    """Of a SizeFreeNest; lines: whether its machine code names the user's; forms: whether it may have two."""
    nest, sizes = one.nest, {name: f"%s{k}" for k, name in enumerate(one.names)}
    metadata = DebugMetadata(nest.place) if lines and nest.place is not None else None
    suffix = metadata.location if metadata is not None else lambda place: ""
    hints, declared = Hints(), dict(nest.code.declared)
    near, far = one.memory()
    allocated = [f"  {name} = alloca {memory_type(d)}, i64 {size}, align 64" for name, d, size in near]
    allocated += handed_sizes(sizes) if one.parts else []
    gives, hear = ("i1", ["i1 %hear"]) if nest.long else ("void", [])
    params = [f"i64 {s}" for s in sizes.values()]
    params += [f"ptr noalias %p{n}" for n in range(len(nest.buffers))]
    params += [f"ptr noalias align 64 {name}" for name, _, _ in far]
    given = ", ".join([*params, *hear])

    def filled(head, lines, adding, form, work=()):
        """(instructions that compute numbers of the sizes, and then the head; the lines) as text."""
        computed = Computed(sizes, "d")
        amounts = [f"  %work{k} = add i64 {computed.whole(total)}, 0" for k, total in enumerate(work)]
        texts = [filled_line(line, computed.slot) for line in lines]
        head = [filled_line(line, computed.slot) for line in head]
        declared.update(computed.declared)
        texts = [x.replace("@part", f"@{form}") for x in hinted(texts, sized_loops(lines), hints, adding)]
        return [*computed.lines, *amounts, *head], texts

    def functions(name, adding, form="part"):
        head, found = filled(one.head, one.lines, adding, form, one.work)
        body = [x if x.endswith(":") else x + suffix(p) for x, p in zip(found, nest.code.places, strict=True)]
        block = "\n".join(["entry:", *allocated, *head, *body])
        yield f"define {gives} @{name}({given}) #0 {{\n{block}\n}}"
        for part, head, lines in one.parts:
            head, found = filled(head, lines, adding, form)
            yield part.text(part.name.replace("part", form), [*loaded_sizes(sizes), *head], found)

    rows = [dim for dim, carries in sized_loops(one.lines).values() if carries]
    rows += [dim for _, _, lines in one.parts for dim, carries in sized_loops(lines).values() if carries]
    if rows and forms and metadata is None and len(one.all_lines()) <= LONGEST:
        texts = [*functions("nest.short", 1, "short"), *functions("nest.long", 0, "long")]
        texts.append(chosen_form(sizes, gives, given, rows))
    else:
        texts = [*functions("nest", 2)]
    declared |= {"llvm.smax.i64": "declare i64 @llvm.smax.i64(i64, i64)"}
    parts = [*nest.constants, *(declared[name] for name in sorted(declared)), *nest.code.defined.values()]
    parts += [*texts, one.entry(far), *([HEARD] if nest.long else []), ATTRIBUTES, *hints.lines, ""]
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
