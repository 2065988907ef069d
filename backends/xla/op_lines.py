"""Which user line each instruction of a compiled program comes from, read from the text of the executable.

A profiler names the instructions that ran (`hlo_op`); `op_lines` says where each comes from. XLA writes the place of an
instruction in its metadata, either as a number of a table of stack frames at the head of the module, or, in older
versions, as file and line.
"""

import re

TABLES = "FileNames", "FunctionNames", "FileLocations", "StackFrames"
ROW = re.compile(r"(\d+) (.*)")
FIELD = re.compile(r"(\w+)=(\d+)")
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")
NAMED = re.compile(r"%([\w.\-]+)")
COMPUTATION = re.compile(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
METADATA = re.compile(r'metadata=\{((?:[^}"]|"(?:[^"\\]|\\.)*")*)\}')
ENTRY = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\d+))')
DERIVED = re.compile(r" of [^/]*:\d+$")  # how the scope of a derivative ends
CALLED = re.compile(r"\b(?:calls|to_apply|body)=%?([\w.\-]+)")
# what combines two numbers in a reduction: jax makes it once for all programs, with the line of the first
REDUCER = re.compile(r"= .*? (?!call\()[\w\-]+\(.*\bto_apply=%?([\w.\-]+)")


def op_lines(compiled_text, own=()):
    """{name of an HLO instruction: (file, line, scope)} of an executable's text, `compiled.as_text()`.

    own: the (file, line) of the program's lines, where they are known: jax keeps what some of its functions are traced
    to, and gives it to all programs with the place of the first, so other places tell nothing.
    file: as Python names it; line: from 1; scope: the functions of the user's that the instruction is in, and of what
    it is the derivative, parted by "/": "" at the outermost. An instruction that XLA has made without saying of what
    has the place of the last instruction within it, else of what it reads or what reads it, and is left out where there
    is none. Of one that XLA has made of two (`a/mul;b/add`) it tells what their stacks have in common; such a one has
    the place of the first, where another instruction is of that, or of the same derivative of a line.
    """
    place_of, found, last, calls, merged, named = place_reader(compiled_text), {}, {}, {}, {}, {}
    reducers, lost = set(REDUCER.findall(compiled_text)), {}
    for computation, name, entries, called, reads in instructions(compiled_text):
        if computation in reducers:
            continue
        place, op = place_of(entries), entries.get("op_name", "")
        if place is not None and (not own or place in own):
            found[name], last[computation] = (*place, scope_of(op.partition(";")[0])), name
            if ";" in op:
                merged[name] = op
            else:
                named[op] = named[scope_of(op)] = found[name]
            continue
        if called and called not in reducers:
            calls[name] = called
        if place is not None or called:
            lost[name] = reads
    for name, op in merged.items():
        first = op.partition(";")[0]
        scope = scope_of(first)
        found[name] = named.get(first) or (DERIVED.search(scope) and named.get(scope)) or found[name]
    found.update((name, found[last[called]]) for name, called in calls.items() if called in last)
    place_by_neighbours(found, lost, compiled_text)
    return found


def place_by_neighbours(found, lost, compiled_text):
    """Give instructions without a place that of what they read, in the order in which they run, else of the first that
    reads them. lost: {name: names of what it reads}"""
    for name, reads in lost.items():
        if name not in found and (place := next((found[x] for x in reads if x in found), None)):
            found[name] = place
    if all(name in found for name in lost):
        return
    for _, name, _, _, reads in instructions(compiled_text):
        for x in reads:
            if x in lost and x not in found and name in found:
                found[x] = found[name]


def instructions(compiled_text):
    """(the computation it stands in, its name, the entries of its metadata, the computation it calls or None, the names
    in it) of each instruction."""
    current = None
    for text in compiled_text.splitlines():
        instruction = INSTRUCTION.match(text)
        if instruction is None:
            computation = COMPUTATION.match(text)
            current = computation.group(1) if computation else current
            continue
        metadata, called = METADATA.search(text), CALLED.search(text)
        entries = {k: word or number for k, word, number in ENTRY.findall(metadata.group(1))} if metadata else {}
        yield current, instruction.group(1), entries, called and called.group(1), NAMED.findall(text, instruction.end())


def place_reader(compiled_text):
    """A function from an instruction's metadata to (file, line), or None where it names no place."""
    tables, current = {name: {} for name in TABLES}, None
    for text in compiled_text.splitlines():
        if text in tables:
            current = tables[text]
        elif (row := ROW.match(text)) and current is not None:
            current[row.group(1)] = row.group(2)
        elif text.startswith((" ", "%", "ENTRY")):
            break
    files, _, locations, frames = tables.values()

    def place_of(entries):
        if "source_line" in entries and entries.get("source_file"):
            return unescaped(entries["source_file"]), int(entries["source_line"])
        frame = dict(FIELD.findall(frames.get(entries.get("stack_frame_id"), "")))
        location = dict(FIELD.findall(locations.get(frame.get("file_location_id"), "")))
        file = files.get(location.get("file_name_id"))
        return None if file is None else (unescaped(file.strip('"')), int(location["line"]))

    return place_of


def unescaped(text):
    """A text as it was before XLA put backslashes into it."""
    return re.sub(r"\\(.)", r"\1", text)


def scope_of(op_name):
    """The scopes in an op's name, without the calls of `jax.jit` around them and the operation itself."""
    parts = [part for part in unescaped(op_name).split("/")[:-1] if not re.fullmatch(r"p?jit\(.*\)", part)]
    return "/".join(parts)
