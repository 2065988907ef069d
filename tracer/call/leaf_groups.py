"""Many names that differ in their numbers alone, as few: `params.layers[0..23].w: f64[64,64]`."""

import re

NUMBER = re.compile(r"\[(\d+)\]")
LEAVES = 12  # bound: leaves that are told one by one; more are put together
MOST = 12  # bound: groups that are told
SPAN = re.compile(r"\[(\d+)(?:\.\.(\d+))?\]")


def leaves_text(found, sign=": "):
    """[(name, what it is)] as text, alike ones put together where they are many."""
    return ", ".join(f"{n}{sign}{x}" for n, x in (found if len(found) <= LEAVES else grouped_leaves(found)))


def grouped_leaves(leaves):
    """[(name, type)], those alike but for a number in brackets put together; where more than `MOST` are left, the first
    of them, and how many more there are."""
    found = [(split_spans(name), type) for name, type in leaves]
    for place in range(max((len(spans) for (_, spans), _ in found), default=0)):
        found = merged_spans(found, place)
    told = [(joined_name(parts, spans), type) for (parts, spans), type in found]
    if len(told) > MOST:
        told = [*told[: MOST - 1], ("...", f"{len(told) - MOST + 1} more")]
    return told


def split_spans(name):
    """A name as (the texts between its numbers, (first, last) of each number)."""
    parts, spans, at = [], [], 0
    for m in SPAN.finditer(name):
        parts.append(name[at : m.start()])
        spans.append((int(m[1]), int(m[2] or m[1])))
        at = m.end()
    return (*parts, name[at:]), tuple(spans)


def joined_name(parts, spans):
    shown = [f"[{a}]" if a == b else f"[{a}..{b}]" for a, b in spans]
    return "".join(text + number for text, number in zip(parts, [*shown, ""], strict=True))


def merged_spans(leaves, place):
    """Those put together whose number at one place, counted from the last, follows on another's, all else being
    equal."""
    found = {}  # (texts, other numbers, type) -> [[first, last] of runs]
    for (parts, spans), type in leaves:
        at = len(spans) - 1 - place
        key = parts, spans[:at], spans[at + 1 :] if at >= 0 else spans, type, at
        runs = found.setdefault(key, [])
        if at < 0:
            runs.append(None)
        elif runs and runs[-1][1] + 1 == spans[at][0]:
            runs[-1][1] = spans[at][1]
        else:
            runs.append(list(spans[at]))
    out = []
    for (parts, before, after, type, at), runs in found.items():
        for run in runs:
            spans = after if at < 0 else (*before, tuple(run), *after)
            out.append(((parts, spans), type))
    return out
