"""The traces of a compiled function as a tree: why each was made, what it relied on outside, by the way to each place,
what is read again at every call, what it cost, and what runs it.

A node is {"t": text, "n": note behind it, "k": kind, "c": children}, where it has them.
"""

import types

from ..call.receipt import receipt
from ..common.errors import shown
from ..guards.guard import MISSING
from ..guards.reliance import expected

ITEMS = 60  # bound: places outside that a trace tells


def traces_of(compiled):
    """[(entry, world, version)] of all programs there are, in the order in which they were made."""
    found = [
        (entry, world, version)
        for entry in compiled.entries.values()
        for world in entry.worlds
        for version in world.versions
    ]
    inside = [(e, w, v) for e, w, version in found if version.tree is not None for v in version.tree.versions.values()]
    return [*found, *(x for x in inside if x[2] not in {v for *_, v in found})]


def trace_node(number, entry, world, version):
    """The node of one trace."""
    arguments = ", ".join(f"{name}: {t}" for name, t in zip(entry.names, version.types))
    children = [node("because", version.reason, "why")]
    children.append(node("program", receipt(version, entry.compiled.plain or entry.compiled.function), "fact"))
    children.append(node("engine", engine_text(entry, world, version), "fact"))
    if entry.static:
        children.append(node("static", ", ".join(f"{n}={shown(v)}" for n, v in entry.static.items()), "fact"))
    children += guard_nodes(version)
    children += [node("stores", place.name, "fact") for place in version.captured.stores]
    children += [node("assumes", f"{a}: {str(a.truth).lower()}", "fact") for a in version.assumed]
    children += [node("note", text, "fact") for text in version.captured.notes]
    children.append({"t": "cost", "n": told_seconds(sum(s or 0 for _, s in phases(version))), "k": "fact",
                     "c": [node(name, told_seconds(s), "fact") for name, s in phases(version) if s is not None]})
    if version.kept:
        children.append(node("cache", version.kept, "fact"))
    return {"t": f"trace {number}", "n": f"({arguments})", "k": "trace", "c": children}


def node(text, note, kind):
    return {"t": text, "n": str(note), "k": kind}


def guard_nodes(version):
    """What is relied on and what is read again, each below the place it lies in."""
    reads = [r for r in version.captured.outside.reads.values() if told(r)]
    groups = {"relied on": [r for r in reads if r.how != "input"], "re-read at every call": [r for r in reads if r.how == "input"]}
    found = []
    for title, some in groups.items():
        if some:
            found.append({"t": title, "n": f"{len(some)} place{'s' * (len(some) != 1)}", "k": "guards", "c": read_nodes(some)})
    return found


def told(read):
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


def engine_text(entry, world, version):
    """What answers calls of this trace."""
    contest = next((c for c in world.contests.values() if c.plain), None)
    if contest is not None:
        return contest.told()
    timed = ""
    if version.times is not None:
        numpy, xla = version.times
        timed = f": {told_seconds(numpy)} as NumPy" + (f", {told_seconds(xla)} through XLA" if xla else "") + ", when timed"
    return ("generated NumPy" if version.engine else "XLA") + timed


def phases(version):
    """[(phase, seconds or None where it was not)] of how a program was come by."""
    first = version.first_seconds
    compiling = version.compile_seconds
    run = None if first is None else max(first - (compiling or 0.0), 0.0)
    return [("trace", version.trace_seconds), ("passes", version.pass_seconds), ("compile", compiling), ("first run", run)]


def told_seconds(seconds):
    """Seconds in the unit that suits them."""
    if seconds is None:
        return "not yet"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns" if seconds else "0 s"
