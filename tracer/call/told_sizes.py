"""What `explain()` says of sizes that change: who has answered which shapes, and the programs of symbolic sizes."""

from ..common.terminal import several
from .leaf_groups import leaves_text
from .size_facts import shown_sizes

MOST = 6  # bound: arrays outside that are named
WHY = "other sizes have programs of their own"


def size_lines(entry, here):
    """The lines of a set of traces, none where there is nothing to tell."""
    sizing, names = here.sizing, [*entry.names, *here.input_names()]
    shapes = [s for s in (*here.served.values(), *here.shapes.values()) if s.by]
    families = sizing.families if sizing is not None else []
    if not shapes and not families and (sizing is None or sizing.why is None):
        return []
    known = [v.types_with_inputs(len(names)) for v in here.versions if v.symbolic is None]
    lines = ["  sizes that change"]
    for who in sorted({who for s in shapes for who in s.by}):
        theirs = [s for s in shapes if who in s.by]
        calls = sum(s.by[who] for s in theirs)
        which = spans([s.types for s in theirs], names, known)
        lines.append(f"    answered     {several(calls, 'call')} of {several(len(theirs), 'shape')} by {who}: {which}")
    if sizing is not None and sizing.forgotten:
        lines.append(f"    answered     {several(sizing.forgotten, 'call')} of shapes before these")
    for made in families:
        lines += [f"    symbolic     {text}" for text in made.family.texts()]
        lines.append(f"    answered     {family_calls(made)}")
        lines += engine_lines(made)
    if not families and any(v.tree is not None for v in here.versions):
        return [*lines, "    not symbolic data choose by value, and there is a program for each way that data go"]
    return lines if families else [*lines, *unserved_lines(sizing, shapes, names, known, len(entry.names))]


def unserved_lines(sizing, shapes, names, known, arguments):
    """Why there is no program of symbolic sizes."""
    if sizing is not None and sizing.why is not None:
        return [f"    not symbolic {sizing.why}"]
    if sizing is not None and sizing.search is not None and sizing.search.made:
        return [f"    not symbolic as yet: {sizing.search.told()}"]
    places = changing_places([s.types for s in shapes], known) if shapes else ()
    outside = ", ".join(names[k] for k in places[:MOST] if k >= arguments)
    told = f"    not symbolic arrays outside have changed, and sizes of arguments alone can be so: {outside}"
    return [told] if outside else []


def engine_lines(made):
    """Which of a family's programs beside generated NumPy were compared with that."""
    told = made.nests.told() if made.nests is not None else None
    lines = [f"    nests        straight lines as machine code: {told}"] if told else []
    steps = made.laddered.told() if made.laddered is not None else ()
    return [*lines, *(f"    ladder       {text}" for text in steps)]


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


def spans(types, names, known=()):
    """Types of several calls as one text, `x: f64[3 to 40,64]`; places of which no size differs, from those of `known`
    traces either, are left out."""
    texts = []
    for k in changing_places(types, known):
        columns = [span(column) for column in zip(*(t[k].shape for t in types if k < len(t)))]
        texts.append((names[k], str(types[-1][k]).partition("[")[0] + f"[{','.join(columns)}]"))
    return leaves_text(texts)


def changing_places(types, known):
    """Places of arguments and inputs whose shapes are not one in all calls and traces."""
    every = [*known, *types]
    shapes = [{t[k].shape for t in every if k < len(t) and t[k] is not None} for k in range(len(types[-1]))]
    return [k for k, found in enumerate(shapes) if len(found) > 1]


def span(numbers):
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def sample_text(version):
    """The sizes of the program that stands for those of all sizes, behind what is told of it; "" of another."""
    if version.symbolic is None:
        return ""
    return f", at {shown_sizes(version.symbolic.family.names.sizes_of(version.types))}"


def symbolic_types(version):
    """The types of what a family's programs take, with names: `f64[n,64]`."""
    dims = version.symbolic.family.names.dims
    return [f"{str(t).partition('[')[0]}[{','.join(map(str, d))}]" for t, d in zip(version.types, dims)]

