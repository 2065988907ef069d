"""A plan as HTML for notebooks: tables, everything of the user's escaped."""

from __future__ import annotations

import html
from typing import Any

from ..common.terminal import in_time, in_units
from .shown import cost_text, guard_text, memory_text, place_text, places_text, runs_text, time_text

CELL = "text-align:left;padding:1px 8px;font-family:monospace"


def plan_page(data: dict[str, Any]) -> str:
    """The fragment for a plan's dict."""
    parts = [f"<div><b>plan of {escaped(data['function'])}</b>"]
    for trace in data["traces"]:
        parts.append(f"<p>({escaped(trace['arguments'])})</p>")
        facts = [("runs", runs_text(trace))]
        if trace["totals"] is not None:
            facts += [
                ("work", cost_text(trace["totals"])),
                ("time", time_text(trace)),
                ("memory", memory_text(trace)),
                ("guard", guard_text(trace["guard"])),
            ]
        parts.append(rows_page([], facts))
        parts.append(
            rows_page(
                ["", "step", "does", "runs", "flop", "bytes", "expected", "measured", "lines", "apart"],
                steps_page(trace["steps"]),
            )
        )
        parts.append(rows_page(["line", "flop", "read", "written", "measured", "text"], lines_page(trace["lines"])))
    return "\n".join([*parts, "</div>"])


def escaped(text: object) -> str:
    return html.escape(str(text), quote=True)


def lines_page(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    amounts = lambda x: (in_units(x["flops"]), in_units(x["read"], "B"), in_units(x["written"], "B"))
    took = lambda x: "" if x["measured"] is None else in_time(x["measured"])
    return [(place_text(x), *amounts(x), took(x), x["text"]) for x in lines]


def steps_page(steps: list[dict[str, Any]], depth: int = 0) -> list[tuple[str, ...]]:
    rows = []
    for s in steps:
        seconds = [in_time(t) if t is not None else "" for t in (s["expected"], s["measured"])]
        runs = "?" if s["runs"] is None else str(s["runs"])
        head = "" if depth else str(s["number"]), "\u00a0\u00a0" * depth + s["kind"], s["does"], runs
        amounts = in_units(s["flops"]), in_units(s["read"] + s["written"], "B"), *seconds
        rows.append((*head, *amounts, places_text(s["lines"]), s["apart"]))
        rows += steps_page(s["steps"], depth + 1)
    return rows


def rows_page(head: list[str], rows: Any) -> str:
    """A table, "" without rows."""
    if not rows:
        return ""
    line = lambda cells, tag: "<tr>" + "".join(f'<{tag} style="{CELL}">{escaped(c)}</{tag}>' for c in cells) + "</tr>"
    heads = line(head, "th") if head else ""
    return f"<table>{heads}{''.join(line(row, 'td') for row in rows)}</table>"
