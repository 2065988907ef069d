"""Which user line each instruction of a compiled program comes from, by the metadata in the text of the executable.

A profiler names the instructions that ran (`hlo_op`); `op_lines` says where each comes from. XLA writes the place of an
instruction in its metadata, either as a number of a table of stack frames at the head of the module, or, in older
versions, as file and line.
"""

import re

from .hlo_text import parse_module

TABLES = "FileNames", "FunctionNames", "FileLocations", "StackFrames"
ROW = re.compile(r"(\d+) (.*)")
FIELD = re.compile(r"(\w+)=(\d+)")
WITHIN = "calls", "to_apply", "body"  # attributes that name the computation an instruction is made of
DERIVED = re.compile(r" of [^/]*:\d+$")  # how the scope of a derivative ends


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
    return module_lines(parse_module(compiled_text), own)


def module_lines(module, own=()):
    """The same of a `hlo_text.Module`."""
    place_of, found, last, calls, merged, named = place_reader(module.head), {}, {}, {}, {}, {}
    # what combines two numbers in a reduction: jax makes it once for all programs, with the line of the first
    reducers = {name for i in module.instructions if i.opcode != "call" for name in i.called("to_apply")}
    products, lost = set(), {}
    computations = [(name, i) for name, inside in module.computations.items() if name not in reducers for i in inside]
    for computation, i in computations:
        entries, called = i.metadata, i.called(*WITHIN)
        place, op = place_of(entries), entries.get("op_name", "")
        if place is not None and (not own or place in own):
            found[i.name], last[computation] = (*place, scope_of(op.partition(";")[0])), i.name
            if op.endswith("/dot_general"):
                products.add(i.name)
            if ";" in op:
                merged[i.name] = op
            else:
                named[op] = named[scope_of(op)] = found[i.name]
            continue
        if called and called[0] not in reducers:
            calls[i.name] = called[0]
        if place is not None or called:
            lost[i.name] = i.operands
    for name, op in merged.items():
        first = op.partition(";")[0]
        scope = scope_of(first)
        found[name] = named.get(first) or (DERIVED.search(scope) and named.get(scope)) or found[name]
    found.update((name, found[last[called]]) for name, called in calls.items() if called in last)
    found |= laid_out_products(module, found, products)
    place_by_neighbours(found, lost, module)
    return found


def laid_out_products(module, found, products):
    """{name: place} of products that XLA has laid out anew: they have no place then, or that of the loop around, and a
    bitcast behind them has their own, which may stand in the fusion that reads them."""
    more = {}
    for steps in module.computations.values():
        unknown = {step.name for step in steps if step.opcode == "dot" and step.name not in products}
        for step in steps:
            for k, operand in enumerate(step.operands):
                if operand in unknown and (behind := products & set(bitcasts(module, step, k))):
                    more[operand] = found[behind.pop()]
    return more


def place_by_neighbours(found, lost, module):
    """Give instructions without a place that of what they read, in the order in which they run, else of the first that
    reads them. lost: {name: names of what it reads}"""
    for name, reads in lost.items():
        if name not in found and (place := next((found[x] for x in reads if x in found), None)):
            found[name] = place
    for i in module.instructions:
        for x in i.operands:
            if x in lost and x not in found and i.name in found:
                found[x] = found[i.name]


def bitcasts(module, step, position):
    """The names of the bitcasts by which an instruction reads one of its operands."""
    if step.opcode == "bitcast":
        return [step.name]
    called = step.called("calls") if step.opcode == "fusion" else ()
    inside = [i for name in called for i in module.computations.get(name, ())]
    params = {i.name for i in inside if i.parameter == position}
    return [i.name for i in inside if i.opcode == "bitcast" and params & set(i.operands)]


def fused_lines(module, places):
    """{instruction: the (file, line) of each line of the user's that the instructions within it are of}; places: as
    `module_lines` gives them."""
    lines = lambda computation: {places[i.name][:2] for i in module.computations[computation] if i.name in places}
    inside = {name: lines(name) for name in module.computations}
    calls = {i.name: called[0] for i in module.instructions if (called := i.called(*WITHIN))}
    return {name: inside.get(called, set()) for name, called in calls.items()}


def place_reader(head):
    """A function from an instruction's metadata to (file, line), or None where it names no place; head: lines of the
    module's tables."""
    tables, current = {name: {} for name in TABLES}, None
    for text in head:
        if text in tables:
            current = tables[text]
        elif (row := ROW.match(text)) and current is not None:
            current[row.group(1)] = row.group(2)
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
