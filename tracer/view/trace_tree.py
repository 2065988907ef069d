"""The traces of a compiled function as a tree: why each was made, what it relied on outside, by the way to each place,
what is read again at every call, what it cost, and what runs it.

A node is {"t": text, "n": note behind it, "k": kind, "c": children}, where it has them.
"""

import types

from ...ir.amounts import in_time
from ..call.receipt import receipt
from ..common.terminal import cut_text, several
from ..guards.guard import MISSING
from ..guards.reliance import expected
from ..plan.subject import ENGINES

ARGUMENTS = 240  # bound: characters of the arguments of a trace
ITEMS = 60  # bound: places outside that a trace tells


def trace_node(number, subject):
    """The node of one program that a call has made."""
    version, entry = subject.version, subject.entry
    children = [node("because", version.reason, "why")]
    children.append(node("program", receipt(version, entry.compiled.plain or entry.compiled.function), "fact"))
    children.append(node("engine", subject.why or ENGINES[subject.engine], "fact"))
    if subject.static:
        children.append(node("static", subject.static, "fact"))
    children += guard_nodes(version)
    children += [node("stores", place.name, "fact") for place in version.captured.stores]
    children += [node("assumes", f"{a}: {str(a.truth).lower()}", "fact") for a in version.assumed]
    children += [node("note", text, "fact") for text in version.captured.notes]
    spent = [(name, s) for name, s in trace_phases(version) if s is not None]
    cost = {"t": "cost", "n": in_time(sum(s for _, s in spent)), "k": "fact"}
    children.append(cost | {"c": [node(name, in_time(s), "fact") for name, s in spent]})
    if version.kept:
        children.append(node("cache", version.kept, "fact"))
    return {"t": f"trace {number}", "n": cut_text(f"({subject.arguments})", ARGUMENTS), "k": "trace", "c": children}


def node(text, note, kind):
    return {"t": text, "n": str(note), "k": kind}


def guard_nodes(version):
    """What is relied on and what is read again, each below the place it lies in."""
    reads = [r for r in version.captured.outside.reads.values() if is_worth_telling(r)]
    groups = {
        "relied on": [r for r in reads if r.how != "input"],
        "re-read at every call": [r for r in reads if r.how == "input"],
    }
    found = []
    for title, some in groups.items():
        if some:
            found.append({"t": title, "n": several(len(some), "place"), "k": "guards", "c": read_nodes(some)})
    return found


def is_worth_telling(read):
    """Whether a read is worth a line: not what hardly anybody exchanges, nor that a global does not hide a builtin."""
    if read.how == "free" or expected(read) or isinstance(read.value, types.CodeType):
        return False
    return not (read.value is MISSING and read.kind == "item" and read.parent is None)


def read_nodes(reads):
    """The nodes of reads, each among the children of the nearest place that it lies in."""
    nodes, roots = {id(r): read_node(r) for r in reads[:ITEMS]}, []
    for read in reads[:ITEMS]:
        above = read.parent
        while above is not None and id(above) not in nodes:
            above = above.parent
        (roots if above is None else nodes[id(above)].setdefault("c", [])).append(nodes[id(read)])
    if len(reads) > ITEMS:
        roots.append(node(f"and {len(reads) - ITEMS} more", "", "guard"))
    return roots


def read_node(read):
    said = read.describe()
    name, _, value = said.partition(" = ")
    return {"t": name or said, "n": value, "k": "guard", "f": read.file, "l": read.line}


def trace_phases(version):
    """[(phase, seconds or None where it was not)] of how a program was come by."""
    first = version.first_seconds
    compiling = version.compile_seconds
    run = None if first is None else max(first - (compiling or 0.0), 0.0)
    return [
        ("trace", version.trace_seconds),
        ("passes", version.pass_seconds),
        ("compile", compiling),
        ("first run", run),
    ]
