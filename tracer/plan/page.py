"""A plan as HTML for notebooks."""

from __future__ import annotations

import html
from typing import Any

from ...ir.amounts import in_time, in_units
from ..common.html_table import html_block, html_table
from .shown import cost_text, guard_text, memory_text, place_text, places_text, runs_text, time_text

STEPS = ["", "*step", "*does", "runs", "flop", "bytes", "expected", "measured", "*lines", "*apart"]
LINES = ["*line", "flop", "read", "written", "measured", "*text"]


def plan_page(data: dict[str, Any]) -> str:
    """The fragment for a plan's dict."""
    parts = [f"<b>plan of {html.escape(data['function'])}</b>"]
    for trace in data["traces"]:
        parts.append(f"<p>({html.escape(trace['arguments'])})</p>")
        facts = [("runs", runs_text(trace))]
        if trace["totals"] is not None:
            facts += [
                ("work", cost_text(trace["totals"])),
                ("time", time_text(trace)),
                ("memory", memory_text(trace)),
                ("guard", guard_text(trace["guard"])),
            ]
        parts.append(html_table([], facts))
        parts.append(html_table(STEPS, step_cells(trace["steps"])))
        parts.append(html_table(LINES, line_cells(trace["lines"])))
    return html_block(parts)


def line_cells(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    amounts = lambda x: (in_units(x["flops"]), in_units(x["read"], "B"), in_units(x["written"], "B"))
    took = lambda x: "" if x["measured"] is None else in_time(x["measured"])
    return [(place_text(x), *amounts(x), took(x), x["text"]) for x in lines]


def step_cells(steps: list[dict[str, Any]], depth: int = 0) -> list[tuple[str, ...]]:
    rows = []
    for s in steps:
        seconds = [in_time(t) if t is not None else "" for t in (s["expected"], s["measured"])]
        runs = "?" if s["runs"] is None else str(s["runs"])
        head = "" if depth else str(s["number"]), "\u00a0\u00a0" * depth + s["kind"], s["does"], runs
        amounts = in_units(s["flops"]), in_units(s["read"] + s["written"], "B"), *seconds
        rows.append((*head, *amounts, places_text(s["lines"]), s["apart"]))
        rows += step_cells(s["steps"], depth + 1)
    return rows
