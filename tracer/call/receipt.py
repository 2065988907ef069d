"""One line a trace that says what became of the user's lines: "lines 12-18: 3000 iterations, 1 loop, compiled in 0.07
s"."""

import collections

from ...ir.op import OPS
from ...ir.walk import every_equation

LOOP, MAP, COND = OPS["loop"], OPS["map"], OPS["cond"]


def receipt(version, function):
    """The line of a version of a function."""
    where = program_lines(version.captured.func, function)
    return (
        f"{where}: {work_summary(version.func)}, {time(version)}"
        if where
        else f"{work_summary(version.func)}, {time(version)}"
    )


def program_lines(func, function):
    """The lines of the function that left equations in its program; where it has none of its own, those of the function
    that left most, or ""."""
    found, code = list(equation_sources(func)), getattr(function, "__code__", None)
    if not found:
        return ""
    own = [line for *_, line in code.co_lines() if line] if code is not None else [0]
    file = code.co_filename if code is not None else None
    lines = [s.line for s in found if s.file == file and min(own) <= s.line <= max(own)]
    if not lines:
        (most, _), *_ = collections.Counter((s.file, s.function) for s in found).most_common(1)
        lines = [s.line for s in found if (s.file, s.function) == most]
    first, last = min(lines), max(lines)
    return f"line {first}" if first == last else f"lines {first}-{last}"


def equation_sources(func):
    """Where the equations of a function and its regions come from."""
    return (eqn.source for eqn in every_equation(func) if eqn.source is not None)


def work_summary(func):
    """The loops that are left and how often their bodies run, those within others each time; of a program without
    loops, its equations."""
    found = list(loop_trip_counts(func))
    if not found:
        count = func.count()
        return f"{count} equation{'s' * (count != 1)}"
    left = f"{len(found)} loop{'s' * (len(found) != 1)}"
    if any(times is None for times, _ in found):
        return f"iterations as the data ask, {left}"
    total = sum(times for times, _ in found)
    most = "" if all(sure for _, sure in found) else "at most "
    return f"{most}{total} iteration{'s' * (total != 1)}, {left}"


def loop_trip_counts(func, times=1, sure=True):
    """(how often the body runs or None, whether it surely does) of each loop, those within others too; `times` is how
    often the function runs."""
    for eqn in func.eqns:
        inner, certain = times, sure and eqn.op is not COND
        if eqn.op in (LOOP, MAP):
            trips = (
                eqn.attrs["size"]
                if eqn.op is MAP
                else next((eqn.attrs[n] for n in ("trips", "bound") if eqn.attrs[n] is not None), None)
            )
            certain = certain and (eqn.op is MAP or eqn.attrs["trips"] is not None and eqn.attrs["test"] is None)
            inner = None if trips is None or times is None else times * trips
            yield inner, certain
        for region in eqn.regions():
            if eqn.op is not LOOP or region is eqn.attrs["body"]:
                yield from loop_trip_counts(region, inner, certain)


def time(version):
    """How long it took until the program could run."""
    spent = version.trace_seconds + version.pass_seconds
    if version.compile_seconds is None:
        return "not compiled yet"
    spent += version.compile_seconds
    return (
        f"{'compiled' if version.equations is None else 'read from disk'} in "
        f"{f'{spent:.2g}' if spent < 10 else round(spent)} s"
    )
