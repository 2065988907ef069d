"""A profile as HTML, for notebooks: the tables of the text, with a bar for each share. All text is escaped."""

import html

from ..common.terminal import in_time
from .text_report import LINES, ROWS, row_place, shown_line

STYLE = (
    "<style>.wengert-profile table{border-collapse:collapse;margin:.3em 0 1em}"
    ".wengert-profile th,.wengert-profile td{padding:.1em .7em;text-align:right;white-space:nowrap}"
    ".wengert-profile td.text,.wengert-profile th.text{text-align:left}"
    ".wengert-profile .bar{background:linear-gradient(to right,rgba(230,120,40,.45) var(--share),transparent 0)}"
    "</style>"
)


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
    return f'<div class="wengert-profile">{STYLE}{"".join(filter(None, parts))}</div>'


class Bar(float):
    """A share of the whole, drawn as a bar behind its text."""


def share_rows(data, whole):
    return [[Bar(seconds / whole), in_time(seconds), name] for name, seconds in data["shares"].items() if seconds > 0]


def call_title(row):
    return f"{row['name']}({row['signature']})"


def html_table(heads, rows):
    """A table, "" without rows; heads that begin with * are of text."""
    if not rows:
        return ""
    text = [h.startswith("*") for h in heads]
    kind = lambda k: ' class="text"' if text[k] else ""
    top = "".join(f"<th{kind(k)}>{html.escape(h.lstrip('*'))}</th>" for k, h in enumerate(heads))
    body = "".join(f"<tr>{''.join(html_cell(x, kind(k)) for k, x in enumerate(row))}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def html_cell(x, kind):
    if type(x) is Bar:
        return f'<td class="bar" style="--share:{min(max(x, 0.0), 1.0):.1%}">{x:.1%}</td>'
    return f"<td{kind}>{html.escape(x)}</td>"
