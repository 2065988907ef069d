"""What `explain()` says of sizes that change: who has answered which shapes, and the programs of symbolic sizes."""

from ..common.terminal import several
from .leaf_groups import grouped_leaves

LEAVES = 12  # bound: leaves of the arguments that are told one by one; more are put together
WHY = "other sizes have programs of their own"


def size_lines(entry, here):
    """The lines of a set of traces, none where there is nothing to tell."""
    sizing, count = here.sizing, len(entry.names)
    shapes = [s for s in (*here.served.values(), *here.shapes.values()) if s.by]
    families = sizing.families if sizing is not None else []
    if not shapes and not families and (sizing is None or sizing.why is None):
        return []
    lines = ["  sizes that change"]
    for who in sorted({who for s in shapes for who in s.by}):
        theirs = [s for s in shapes if who in s.by]
        calls = sum(s.by[who] for s in theirs)
        which = spans([s.types[:count] for s in theirs], entry.names) or "arrays outside have changed, no argument"
        lines.append(f"    answered     {several(calls, 'call')} of {several(len(theirs), 'shape')} by {who}: {which}")
    for made in families:
        lines += [f"    symbolic     {text}" for text in made.family.texts()]
        lines.append(f"    answered     {family_calls(made)}")
        lines += [f"    ladder       {text}" for text in (made.laddered.told() if made.laddered is not None else ())]
    if sizing is not None and sizing.why is not None and not families:
        lines.append(f"    not symbolic {sizing.why}")
    return lines


def family_calls(made):
    """Which calls a family has answered, as text."""
    if made.free is None:
        return f"none: {made.why}; programs of shapes that have paid are made of it without a trace"
    if not made.spent:
        return "none as yet, by one program for all sizes"
    calls, names = sum(n for n, _ in made.spent.values()), list(made.family.names.names)
    ranges = ", ".join(f"{name} = {span(column)}" for name, column in zip(names, zip(*made.spent)))
    own = f"; {WHY}: {several(len(made.exact), 'size')}" if made.exact else ""
    return f"{several(calls, 'call')} of {several(len(made.spent), 'size')} by one program, {ranges}{own}"


def spans(types, names):
    """Types of several calls as one text, `x: f64[3 to 40,64]`; leaves of which no size differs are left out."""
    texts = []
    for k, name in enumerate(names):
        columns = [span(column) for column in zip(*(t[k].shape for t in types))]
        if any(len({t[k].shape[axis] for t in types}) > 1 for axis in range(len(columns))) or len(types) == 1:
            texts.append((name, str(types[0][k]).partition("[")[0] + f"[{','.join(columns)}]"))
    found = texts if len(texts) <= LEAVES else grouped_leaves(texts)
    return ", ".join(f"{name}: {text}" for name, text in found)


def span(numbers):
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def symbolic_types(version):
    """The types of what a family's programs take, with names: `f64[n,64]`."""
    dims = version.symbolic.family.names.dims
    return [f"{str(t).partition('[')[0]}[{','.join(map(str, d))}]" for t, d in zip(version.types, dims)]

