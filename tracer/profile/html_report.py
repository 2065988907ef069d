"""A profile as HTML, for notebooks: the tables of the text, with a bar for each share."""

import html

from ...ir.amounts import in_time
from ..common.html_table import Bar, html_block, html_table
from .text_report import LINES, ROWS, row_place, shown_line


def report_html(data, title):
    """A fragment of HTML, with its style."""
    parts = [f"<h4>profile of {html.escape(title)}: {in_time(data['seconds'])}</h4>"]
    whole = data["seconds"] or 1.0
    parts.append(html_table(["share", "seconds", "*where"], share_rows(data, whole)))
    rows = [
        [str(r["calls"]), in_time(r["seconds"]), in_time(r["mean"]), in_time(r["making"]), r["runs as"], call_title(r)]
        for r in data["calls"][:ROWS]
    ]
    parts.append(html_table(["calls", "total", "mean", "making", "*runs as", "*function"], rows))
    rows = [
        [Bar(r["share"]), in_time(r["seconds"]), row_place(r), f"{r['runs as']} {r['derived']}".strip(), shown_line(r)]
        for r in data["lines"][:LINES]
    ]
    parts.append(html_table(["share", "seconds", "*line", "*runs as", "*text"], rows))
    rows = [[str(r["times"]), in_time(r["seconds"]), r["phase"]] for r in data["phases"]]
    parts.append(html_table(["times", "seconds", "*making programs"], rows))
    rows = [[f"{r['name']} ({row_place(r)})", f"({r['arguments']})", r["reason"]] for r in data["traces"][:ROWS]]
    parts.append(html_table(["*trace of", "*arguments", "*because"], rows))
    rows = [
        [str(r["calls"]), in_time(r["seconds"]), f"{r['name']} ({row_place(r)})", r["why"]]
        for r in data["fallbacks"][:ROWS]
    ]
    parts.append(html_table(["calls", "seconds", "*left to plain Python", "*because"], rows))
    parts += [f"<p>{html.escape(note)}</p>" for note in data["notes"]]
    return html_block(parts)


def share_rows(data, whole):
    return [[Bar(seconds / whole), in_time(seconds), name] for name, seconds in data["shares"].items() if seconds > 0]


def call_title(row):
    return f"{row['name']}({row['signature']})"
