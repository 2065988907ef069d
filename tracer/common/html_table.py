"""Tables as HTML, for notebooks: those of plans and of profiles. All text is escaped."""

import html

STYLE = (
    "<style>.wengert-tables table{border-collapse:collapse;margin:.3em 0 1em}"
    ".wengert-tables th,.wengert-tables td{padding:.1em .7em;text-align:right;white-space:nowrap}"
    ".wengert-tables td.text,.wengert-tables th.text{text-align:left;white-space:normal}"
    ".wengert-tables .bar{background:linear-gradient(to right,rgba(230,120,40,.45) var(--share),transparent 0)}"
    "</style>"
)


class Bar(float):
    """A share of the whole, drawn as a bar behind its text."""


def html_block(parts):
    """A fragment of HTML of paragraphs and tables, with their style; parts that are "" are left out."""
    return f'<div class="wengert-tables">{STYLE}{"".join(filter(None, parts))}</div>'


def html_table(heads, rows):
    """A table, "" without rows; heads that begin with * are of text, and without heads all columns are."""
    if not rows:
        return ""
    text = [h.startswith("*") for h in heads] or [True] * len(rows[0])
    kind = lambda k: ' class="text"' if text[k] else ""
    top = "".join(f"<th{kind(k)}>{html.escape(h.lstrip('*'))}</th>" for k, h in enumerate(heads))
    body = "".join(f"<tr>{''.join(html_cell(x, kind(k)) for k, x in enumerate(row))}</tr>" for row in rows)
    return f"<table>{f'<tr>{top}</tr>' if heads else ''}{body}</table>"


def html_cell(x, kind):
    if type(x) is Bar:
        return f'<td class="bar" style="--share:{min(max(x, 0.0), 1.0):.1%}">{x:.1%}</td>'
    return f"<td{kind}>{html.escape(x)}</td>"
