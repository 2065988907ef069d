"""A profile as text: tables for a terminal."""

import textwrap

from ...ir.amounts import in_time
from ...ir.source import line_name
from ..common.terminal import number_ranges, several, text_columns

LINES, ROWS = 25, 20  # bound: rows of the table of lines, and of the others; what is left out is counted
REASONS = 8  # bound: traces of a function that are told
LONG = 3  # bound: lines of one row

SHORT = {"generated NumPy": "NumPy", "plain Python": "Python"}


def report_text(data, title):
    """The text of a profile's data, as wide as the terminal."""
    width = text_columns()
    parts = [[f"profile of {title}: {in_time(data['seconds'])}", *shares(data)]]
    parts += [part(data, width) for part in PARTS]
    parts.append([line for note in data["notes"] for line in textwrap.wrap(f"note: {note}", width)])
    return "\n\n".join("\n".join(part) for part in parts if part)


def row_place(row):
    """`script.py:12`, "" where it is not known."""
    return line_name(row["file"], row["line"])


def shares(data):
    whole = data["seconds"] or 1.0
    return [
        f"  {name:<40} {in_time(seconds):>8}  {seconds / whole:4.0%}"
        for name, seconds in data["shares"].items()
        if seconds > 0
    ]


def row_lines(rows, heads, left, width, most=LONG):
    """Rows of texts in columns; left: which are flush left, the others are flush right. The last is flush left, and
    goes on in further lines where it is long, at most so many."""
    table = [heads, *rows] if heads else rows
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]) - 1)]
    put = lambda x, k: x.ljust(widths[k]) if k in left else x.rjust(widths[k])
    out = []
    for *row, last in table:
        head = "  " + "  ".join(put(x, k) for k, x in enumerate(row)) + "  "
        room, how = max(width - len(head), 24), {"subsequent_indent": "  ", "break_long_words": False}
        first, *more = textwrap.wrap(last, room, max_lines=most, placeholder=" ...", **how) or [""]
        out += [(head + first).rstrip(), *(" " * len(head) + line for line in more)]
    return out


def first_rows(rows, most):
    """The first rows, and a line that counts the others, as a list."""
    left = len(rows) - most
    return rows[:most], [f"  and {left} more"] if left > 0 else []


def call_lines(data, width):
    rows, more = first_rows(data["calls"], ROWS)
    if not rows:
        return ["calls", "  no compiled function was called"]
    texts = [
        [
            str(r["calls"]),
            in_time(r["seconds"]),
            in_time(r["mean"]),
            in_time(r["worst"]),
            in_time(r["making"]) if r["making"] else "",
            SHORT.get(r["runs as"], r["runs as"]),
            f"{r['name']}({r['signature']})",
        ]
        for r in rows
    ]
    heads = ["calls", "total", "mean", "longest", "making", "runs as", "function"]
    head = "calls by function and signature (mean and longest: of calls that made no program)"
    return [head, *row_lines(texts, heads, {5}, width), *more]


def line_lines(data, width):
    rows, more = first_rows([r for r in data["lines"] if r["share"] >= 0.0005 or len(data["lines"]) < 5], LINES)
    if not rows:
        return []
    texts = [
        [
            in_time(r["seconds"]),
            f"{r['share']:.1%}",
            row_place(r),
            " ".join(filter(None, (SHORT.get(r["runs as"], r["runs as"]), r["derived"]))),
            shown_line(r),
        ]
        for r in rows
    ]
    return ["time by line", *row_lines(texts, ["seconds", "share", "line", "runs as", ""], {2, 3}, width), *more]


def shown_line(row):
    """The text of a line, what it is fused with, and why it stands for a whole function."""
    text = row["text"]
    if row["fused"]:
        text += f"  # and line{'s' * (len(row['fused']) > 1)} {number_ranges(row['fused'], ', ', 6)}"
    if row["why"] and row["runs as"] != "plain Python":
        text += f"  # all of {', '.join(row['of'])}: {row['why']}"
    return text


def phase_lines(data, width):
    out, heads = [], {"phases": "making programs, by phase", "background": "making programs behind calls, by phase"}
    for key, head in heads.items():
        if data[key]:
            texts = [[str(r["times"]), in_time(r["seconds"]), r["phase"]] for r in data[key]]
            out += [head, *row_lines(texts, ["times", "total", "phase"], (), width)]
    return out


def trace_lines(data, width):
    """The traces of each function, and why they were made."""
    if not data["traces"]:
        return []
    functions = {}
    for r in data["traces"]:
        functions.setdefault((r["name"], row_place(r)), []).append(r)
    out = ["traces, and why"]
    rows, more = first_rows(list(functions.items()), ROWS)
    for (name, where), traces in rows:
        out.append(f"  {name}{f' ({where})' if where else ''}: {several(len(traces), 'trace')}")
        reasons, others = first_rows(traces, REASONS)
        texts = [["  ", in_time(t["seconds"]).rjust(7), f"{t['reason']}, with ({t['arguments']})"] for t in reasons]
        out += row_lines(texts, None, {0}, width) + others
    exits = [r for r in data["misses"] if r["kind"] == "side exit"]
    out += row_lines([[r["name"], r["text"]] for r in exits[:REASONS]], None, {0}, width) if exits else []
    return out + more


def fallback_lines(data, width):
    rows, more = first_rows(data["fallbacks"], ROWS)
    if not rows:
        return []
    out = ["calls left to plain Python, and why"]
    for r in rows:
        where = f" ({row_place(r)})" if r["file"] else ""
        out.append(f"  {r['name']}{where}: {several(r['calls'], 'call')}, {in_time(r['seconds'])} uncompiled")
        out += row_lines([["", r["why"]]], None, {0}, width)
    return out + more


def cache_lines(data, width):
    """Programs on disk, if there is a cache."""
    counts = {kind: sum(r["times"] for r in rows) for kind, rows in data["cache"].items()}
    if not any(counts.values()):
        return []
    words = {"hit": "read", "miss": "not there", "kept": "kept", "not kept": "not kept"}
    out = ["programs on disk: " + ", ".join(f"{n} {words[kind]}" for kind, n in counts.items() if n)]
    missing = [[r["name"], r["text"]] for r in data["cache"]["not kept"][:REASONS]]
    return out + (row_lines(missing, None, {0}, width) if missing else [])


PARTS = call_lines, line_lines, phase_lines, trace_lines, fallback_lines, cache_lines
