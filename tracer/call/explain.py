"""What `f.explain()` prints: every trace, what it relied on, why it was made, and what it cost.

One fact a line; many of a kind are put together: leaves of an argument, places outside, loops.
"""

import collections
import html
import types

from ...backends import gpu, native
from ...backends.numpy import by_python
from ...backends.target import platform
from ...backends.xla.device_list import device_name
from ...backends.xla.fusion_barrier import materialized_count
from ...ir.amounts import in_time
from ...ir.exactness import PRECISIONS
from ..common.errors import shown
from ..common.terminal import cut_text, filled_lines, several, text_columns
from ..guards.guard import MISSING, Read
from ..guards.reliance import expected
from ..guards.running_draws import DRAWN
from ..program import backend_choice, outlined
from ..sharding.placement import Placement
from ..values.speculate import Assumption
from . import donation
from .contest import taken_types
from .leaf_groups import leaves_text
from .receipt import receipt
from .slow_calls import TEXT
from .told_sizes import sample_text, size_lines, symbolic_types

TOLD = 12  # bound: choices by value of a trace that are told
READS = 16  # bound: places outside that are told one by one
LOOPS = 12  # bound: loops that are told one by one
LABEL = 17  # fact: columns before what a line says


class Explanation(str):
    """The text, a fact a line. Printed, lines are broken at the width of the terminal."""

    __slots__ = ()

    def __str__(self):
        width = text_columns()
        return "\n".join(part for line in self.splitlines() for part in broken(line, width))

    def _repr_html_(self):
        """For notebooks."""
        return f"<pre>{html.escape(str.__str__(self))}</pre>"


def broken(line, width):
    """A line as several no wider than `width`, the later ones below what it says."""
    if len(line) <= width:
        return [line]
    text = line.lstrip()
    indent = len(line) - len(text)
    label = line[:LABEL] if indent == 4 and len(line) > LABEL and line[LABEL - 1] == " " else line[:indent]
    return filled_lines(label, line[len(label) :], width)


def explanation(compiled):
    """The text of `explain`, one paragraph a trace."""
    lines, numbers = [f"{compiled.name}: {_count(compiled)} trace(s)", *_asked_for(compiled)], {}
    for entry in compiled.entries.values():
        for world in (*entry.worlds, *entry.old):
            trees, told = [], size_lines(entry, world)
            for version in world.versions:
                if version.tree in trees:
                    continue
                members = [version] if version.tree is None else list(version.tree.versions.values())
                numbers = {v: len(numbers) + i for i, v in enumerate(members, 1)} | numbers
                for v in members:
                    lines += _version(numbers[v], entry, world, v)
                    lines += (
                        [f"    pieces       {outlined.told(v)}"] if v.chain else [] if v.engine else _chains(v.func)
                    )
                    lines += _loops(v, compiled.device) if compiled.native else []
                if version.tree is not None:
                    trees.append(version.tree)
                    lines += ["  which data chooses by value", *(f"    {line}" for line in version.tree.lines(numbers))]
            lines += told
        lines += [*entry.lines(), *(line for job in entry.jobs.values() for line in job.lines())]
    lines += compiled.kept.lines()
    if (why := compiled.patience.why) is not None:
        lines += ["  plain Python answers other calls", *(f"    {line.strip()}" for line in str(why).splitlines())]
    if compiled.patience.unseen:
        calls = several(compiled.patience.unseen, "more call")
        lines.append(f"  plain Python answered {calls} without a look at the arguments: none before was captured")
    if compiled.slow_calls.answered:
        calls = several(compiled.slow_calls.answered, "more call")
        lines.append(f"  plain Python answered {calls}: {TEXT}")
    return Explanation("\n".join(lines))


def _asked_for(compiled):
    """The options that change where, or in which numbers, it computes."""
    asked = [f"precision={compiled.precision!r}"] if compiled.precision != PRECISIONS[0] else []
    asked += ["promote='weak'"] if compiled.promote != "numpy" else []
    device = compiled.device
    if device is not None:
        asked += [] if isinstance(device, Placement) else [f"device={device_name(device)!r}"]
    return [f"  asked for    {', '.join(asked)}"] if asked else []


def _count(compiled):
    return sum(len(w.versions) for e in compiled.entries.values() for w in (*e.worlds, *e.old))


def _version(number, entry, world, version):
    arguments = arguments_text(entry, version)
    at = sample_text(version)
    lines = [
        f"  trace {number}: ({arguments})",
        f"    receipt      {receipt(version, entry.compiled.plain or entry.compiled.function)}{at}",
    ]
    lines.append(f"    because      {version.reason}")
    if entry.static:
        lines.append(f"    static       {static_text(entry)}")
    lines += [*_outside_reads(version.captured), *_done(entry, version)]
    if isinstance(entry.compiled.device, Placement):
        lines.append(f"    devices      {entry.compiled.device.text()}: {entry.compiled.device.told(version.func)}")
    lines += [f"    note         {note}{at}" for note in version.captured.notes]
    lines.append(f"    cost         {_cost(version)}")
    lines += [f"    cache        {version.kept}"] if version.kept else []
    if version.background is not None:
        lines += version.background.told_of()
    contest = world.contests.get(taken_types(version))
    if contest is not None and contest.plain:
        lines.append(f"    runs         {contest.told()}")
    elif version.times is not None:
        lines.append(f"    runs         {runs(version)}")
    lines += [f"    first ran    {version.deferred.told()}"] if version.deferred is not None else []
    return lines


def _outside_reads(captured):
    """What a trace relied on outside its arguments, and what is read there again at every call."""
    relied_on, read_again = told_reads(captured)
    yield from read_lines("relied on", relied_on)
    yield from read_lines("re-read", read_again)
    draws = captured.outside.draws.list
    if draws:
        yield f"    draws        {', '.join(d.name for d in draws)} before each launch, in this order"
    others = sum(not isinstance(x, (Read, *DRAWN)) and x is not None for x in captured.inputs)
    if others:
        yield f"    re-read      {others} outside array(s) at every call"


def told_reads(captured):
    """([places outside that a trace relied on], [those that are read again at every call]), without what hardly anybody
    exchanges, and that no global hides a builtin."""
    reads = [r for r in captured.outside.reads.values() if not expected(r) and not isinstance(r.value, types.CodeType)]
    reads = [r for r in reads if not (r.value is MISSING and r.kind == "item" and r.parent is None)]
    return [r for r in reads if r.how not in ("free", "input")], [r for r in reads if r.how == "input"]


def arguments_text(entry, version):
    """Names and types of the arguments."""
    types = version.types if version.symbolic is None else symbolic_types(version)
    return leaves_text(list(zip(entry.names, types)))


def static_text(entry):
    """Static arguments and their values."""
    return leaves_text([(n, shown(v)) for n, v in entry.static.items()], "=")


def read_lines(label, reads):
    """A line a place outside; of many, the first ones, and how many more there are of each function's or object's."""
    yield from (f"    {label:<13}{cut_text(r.describe(), 400)}" for r in reads[:READS])
    if len(reads) > READS:
        files = collections.Counter(f"{r.file.rpartition('/')[2]}" or "no line" for r in reads[READS:])
        where = ", ".join(f"{n} in {file}" for file, n in files.most_common(3))
        names = cut_text(", ".join(dict.fromkeys(str(r.name) for r in reads[READS:])), 160)
        yield f"    {label:<13}and {len(reads) - READS} more places ({where}): {names}"


def _done(entry, version):
    """What a call does beside its results: stores, writes and exceptions."""
    yield from (f"    stores       {place.name}" for place in version.captured.stores)
    if version.captured.writes:
        yield f"    writes       {', '.join(_named(entry, version, i) for i in version.captured.writes)}"
    yield from (f"    assumes      {a}: {str(a.truth).lower()}" for a in version.assumed[:TOLD])
    if len(version.assumed) > TOLD:
        yield f"    assumes      and {len(version.assumed) - TOLD} more"
    yield from (f"    donates      {line}" for line in donation.donation_lines(entry, version))
    errors = {c.error for c in version.captured.checks} - {Assumption}
    if errors:
        yield f"    may raise    {', '.join(sorted(e.__name__ for e in errors))}"


def _cost(version):
    """How long it took to come by a program."""
    what = "compile and run first" if version.background is None else "compile"
    first = "not run yet" if version.first_seconds is None else f"{version.first_seconds:.3f} s to {what}"
    before, after = version.equations or version.captured.func.count(), version.func.count()
    if version.symbolic is not None:
        sought = f"{version.symbolic.seconds:.3f} s to find what {len(version.symbolic.family.verified)} sizes"
        return f"{sought} have in common, traces of {before} equations ({after} left)"
    if version.equations is not None:
        return f"{version.trace_seconds:.4f} s to read {after} equations ({before} were traced), {first}"
    return (
        f"{version.trace_seconds:.4f} s to trace {before} equations, {version.pass_seconds:.4f} s for passes ({after} "
        f"left), {first}"
    )


def runs(version):
    """As what, and how long that took."""
    ours, xla, inside = (t and in_time(t) for t in (*version.times, version.inside))
    if not version.engine and version.within_xla is not None:
        count = nests(version.within_xla)
        form = f"straight lines and loops as {count} {'function' if count == 1 else 'functions'} of machine code"
        return f"through XLA, {form}: {ours} so, {xla} as XLA compiles them, when they were timed"
    if not version.engine:
        return f"through XLA: {ours} as NumPy, {xla} through XLA, when they were timed"
    count = nests(version.func)
    form = f"as NumPy, {count} {'loop' if count == 1 else 'loops'} as machine code" if count else "as NumPy"
    if version.fused is not None:
        count = nests(version.fused)
        form = (
            f"as NumPy, straight lines and loops as {count} {'function' if count == 1 else 'functions'} of machine code"
        )
    if xla is not None:
        return f"{form}: {ours} as NumPy, {xla} through XLA, when they were timed"
    within = (
        f", {inside} of that in {'them' if version.fused else 'the loop' if count == 1 else 'the loops'}"
        if count and version.inside
        else ""
    )
    return f"{form}: {ours} when it was timed{within}; XLA could save nothing, and was not asked to compile it"


def nests(func):
    """How many nests there are, in loops of Python's too."""
    loops = [eqn for eqn in backend_choice.equations(func) if eqn.op is backend_choice.LOOP]
    return sum(nests(eqn.attrs["body"]) if by_python(eqn) else 1 for eqn in loops)


def _chains(func):
    """How many values are kept from being computed again by each that reads them."""
    count = materialized_count(func)
    return (
        [f"    chains       {count} long chains are computed once, on CPUs, not again by each of their readers"]
        if count
        else []
    )


def _loops(version, device):
    """The form of each loop where programs run; of those within a native one there is nothing to say. Of many, how many
    have each form, and why."""
    if platform(device) == "gpu":
        return [
            f"    loop         {eqn.source or 'of no line'}: {choice.told() if choice else f'through XLA: {reason}'}"
            for eqn, choice, reason in gpu.kernel_forms(version.func)
        ]
    found = list(native.forms(version.func, 0 if version.engine or version.within_xla else native.LEAST))
    if version.engine and (why := native.uncallable()) is not None:
        found = [(eqn, reason or why) for eqn, reason in found]
    other = "in Python" if version.engine else "through XLA"
    if len(found) <= LOOPS:
        form = lambda eqn, reason: native.form_in_words(eqn) if reason is None else f"{other}: {reason}"
        with native.ending(version.func):
            return [f"    loop         {eqn.source or 'of no line'}: {form(eqn, reason)}" for eqn, reason in found]
    reasons = collections.defaultdict(list)
    for eqn, reason in found:
        reasons[reason].append(eqn.source)
    count = len(reasons.get(None, ()))
    lines = [f"    loops        {len(found)}: {count} native, {len(found) - count} {other}"]
    for reason, sources in sorted(reasons.items(), key=lambda item: -len(item[1])):
        if reason is not None:
            places = cut_text(", ".join(dict.fromkeys(map(str, sources))), 120)
            lines.append(f"    loops        {several(len(sources), 'loop')} {other}: {reason} ({places})")
    return lines


def _named(entry, version, index):
    """An argument, or behind those an outside array."""
    count = len(entry.names)
    return entry.names[index] if index < count else version.captured.inputs[index - count].name
