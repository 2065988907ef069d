"""The samples of a program of symbolic sizes as text: `sizes n=[37,38,74] m=[5,6,11]`; and samples for a text that has
none."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence

from .dims import Dim, parse_dim
from .reading import SIZED_TYPE

FEWEST = 6  # samples
SPREAD = range(30, 110)  # the numbers that are drawn as samples
_LINE = re.compile(r"\s*sizes((?:\s+\w+=\[[\d,]*\])+)\s*(?:#.*)?$")
_NUMBERS = re.compile(r"(\w+)=\[([\d,]*)\]")


def show_samples(samples: Sequence[Mapping[str, int]]) -> str:
    parts = [f"{name}=[{','.join(str(s[name]) for s in samples)}]" for name in sorted(samples[0])]
    return " ".join(["sizes", *parts])


def split_samples(text: str) -> tuple[list[dict[str, int]], str]:
    """The samples that the first line of a text names, none where there is no such line; and the text without it, of
    as many lines."""
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if line.split("#")[0].strip()), None)
    found = _LINE.match(lines[first]) if first is not None else None
    if first is None or found is None:
        return [], text
    numbers = {name: [int(x) for x in row.split(",") if x] for name, row in _NUMBERS.findall(found[1])}
    if len(set(map(len, numbers.values()))) != 1:
        raise ValueError(f"{lines[first].strip()!r}: each size needs a number for each sample")
    lines[first] = ""
    names = list(numbers)
    return [dict(zip(names, row, strict=True)) for row in zip(*numbers.values(), strict=True)], "\n".join(lines)


def size_names(text: str) -> frozenset[str]:
    """The names of sizes in the types of a text; ValueError for what is no size."""
    found: set[str] = set()
    for line in text.splitlines():
        for match in SIZED_TYPE.finditer(line):
            parts = (match["sizes"] or "").split(",")
            found.update(*[Dim.of(parse_dim(part)).names for part in parts if part.strip()])
    return frozenset(found)


def has_sizes(text: str) -> bool:
    """Whether types of a text have names of sizes, as far as they can be read."""
    try:
        return bool(size_names(text))
    except ValueError:
        return False


def drawn_samples(names: Iterable[str]) -> list[dict[str, int]]:
    """Samples for these names: as many as tell expressions of them apart, the same at each call."""
    ordered = sorted(names)
    rng = random.Random(0)
    count = max(FEWEST, len(ordered) + 3)
    columns = [rng.sample(SPREAD, count) for _ in ordered]
    return [dict(zip(ordered, row, strict=True)) for row in zip(*columns, strict=True)]
