"""What `f.explain()` prints: every trace, what it relied on, why it was made, and what it cost."""

from .assume import Assumption


def explanation(compiled):
    """The text of `explain`, one paragraph a trace."""
    lines, numbers = [f"{compiled.name}: {_count(compiled)} trace(s)"], {}
    for entry in compiled.entries.values():
        for world in entry.worlds.values():
            for version in world.versions.values():
                members = _members(version)
                numbers = {v: len(numbers) + i for i, v in enumerate(members, 1)} | numbers
                for v in members:
                    lines += _version(numbers[v], entry, world, v)
                if version.tree is not None:
                    lines += ["  which data chooses by value", *(f"    {line}" for line in version.tree.lines(numbers))]
    return "\n".join(lines)


def _count(compiled):
    return sum(len(_members(v)) for e in compiled.entries.values() for w in e.worlds.values() for v in w.versions.values())


def _members(version):
    """All traces of the types of a version."""
    return [version] if version.tree is None else list(version.tree.versions.values())


def _version(number, entry, world, version):
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(entry.names, version.types))
    lines = [f"  trace {number}: ({arguments})", f"    because      {version.reason}"]
    if entry.static:
        lines.append(f"    static       {', '.join(f'{n}={v!r:.40}' for n, v in entry.static.items())}")
    outside = [str(r) for r in world.guard.reads if r.kind != "builtin"]
    if outside:
        lines.append(f"    relied on    {', '.join(outside)}")
    if version.captured.inputs:
        lines.append(f"    re-read      {len(version.captured.inputs)} outside array(s) at every call")
    if version.captured.writes:
        lines.append(f"    writes       {', '.join(entry.names[i] for i in version.captured.writes)}")
    lines += [f"    assumes      {a}: {str(a.truth).lower()}" for a in version.assumed]
    errors = {c.error for c in version.captured.checks} - {Assumption}
    if errors:
        lines.append(f"    may raise    {', '.join(sorted(e.__name__ for e in errors))}")
    lines += [f"    note         {note}" for note in version.captured.notes]
    first = "not run yet" if version.first_seconds is None else f"{version.first_seconds:.3f} s to compile and run first"
    before, after = version.captured.func.count(), version.func.count()
    lines.append(
        f"    cost         {version.trace_seconds:.4f} s to trace {before} equations, {version.pass_seconds:.4f} s for passes ({after} left), {first}"
    )
    return lines
