"""What a notebook shows of a compiled function: its name, its traces, and how to see more."""

import html

from .trace_tree import engine_text, told_seconds, traces_of

CARD = (
    '<div style="display:inline-block;font:13px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:6px;'
    'padding:.6em .9em;max-width:60em"><div><b style="font-family:ui-monospace,monospace">{name}</b> '
    '<span style="opacity:.7">{count}</span></div>{rows}<div style="opacity:.7;font-size:12px">{more}</div></div>'
)
ROW = '<div><code>{types}</code> <span style="opacity:.7">{told}</span></div>'
ROWS = 6  # bound: traces in a card


def function_card(compiled):
    """The card of a Compiled, as HTML."""
    traces = traces_of(compiled)
    rows = "".join(trace_row(*trace) for trace in traces[-ROWS:])
    more = f"{compiled.name}.view(...) shows the program, {compiled.name}.explain() why there is each trace"
    count = f"compiled function, {len(traces)} trace{'s' * (len(traces) != 1)}"
    return CARD.format(name=html.escape(compiled.name), count=count, rows=rows, more=html.escape(more))


def trace_row(entry, world, version):
    types = ", ".join(f"{name}: {t}" for name, t in zip(entry.names, version.types))
    ready = version.first_seconds and f", ready in {told_seconds(version.first_seconds + version.trace_seconds)}"
    told = f"{version.reason}; {version.func.count()} equations; {engine_text(entry, world, version)}{ready or ''}"
    return ROW.format(types=html.escape(f"({types:.200})"), told=html.escape(told))
