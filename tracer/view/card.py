"""What a notebook shows of a compiled function: its name, its traces, and how to see more."""

import html

from ...ir.amounts import in_time
from ..common.terminal import several
from ..plan.subject import ENGINES, existing

CARD = (
    '<div style="display:inline-block;font:13px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:6px;'
    'padding:.6em .9em;max-width:60em"><div><b style="font-family:ui-monospace,monospace">{name}</b> '
    '<span style="opacity:.7">{count}</span></div>{rows}<div style="opacity:.7;font-size:12px">{more}</div></div>'
)
ROW = '<div><code>{types}</code> <span style="opacity:.7">{told}</span></div>'
ROWS = 6  # bound: traces in a card


def function_card(compiled):
    """The card of a Compiled, as HTML."""
    subjects = existing(compiled)
    rows = "".join(map(trace_row, subjects[-ROWS:]))
    more = f"{compiled.name}.view(...) shows the program, {compiled.name}.explain() why there is each trace"
    count = f"compiled function, {several(len(subjects), 'trace')}"
    return CARD.format(name=html.escape(compiled.name), count=count, rows=rows, more=html.escape(more))


def trace_row(subject):
    version = subject.version
    first = version.first_seconds
    ready = "" if first is None else f", ready in {in_time(first + version.trace_seconds)}"
    told = f"{version.reason}; {version.func.count()} equations; {ENGINES[subject.engine]}{ready}"
    return ROW.format(types=html.escape(f"({subject.arguments:.200})"), told=html.escape(told))
