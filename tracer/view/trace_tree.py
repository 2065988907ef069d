"""The traces of a compiled function as a tree: why each was made, what it relied on outside, by the way to each place,
what is read again at every call, what it cost, and what runs it.

A node is {"t": text, "n": note behind it, "k": kind, "c": children}, where it has them.
"""

from ...ir.amounts import in_time
from ..call.explain import told_reads
from ..call.receipt import receipt
from ..common.terminal import cut_text, several
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
    groups = zip(("relied on", "re-read at every call"), told_reads(version.captured), strict=True)
    return [
        {"t": title, "n": several(len(reads), "place"), "k": "guards", "c": read_nodes(reads)}
        for title, reads in groups
        if reads
    ]


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
