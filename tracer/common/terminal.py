"""Text for a terminal: its width, long names cut, and amounts in units that are read at a glance."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

LEAST, MOST = 80, 120  # bound: columns of a text
LEAST_CUT = 12  # bound: columns that are left of a text that is cut
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def text_columns() -> int:
    """How wide a text may be here: the terminal's width, from 80 to 120."""
    return min(max(shutil.get_terminal_size((100, 24)).columns, LEAST), MOST)


def cut_text(text: str, most: int) -> str:
    """A text of one line and at most so many characters, its middle left out where it is longer."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    if most < 8:
        return text[:most]
    end = (most - 3) // 3
    return f"{text[: most - 3 - end]}...{text[-end:]}"


def cut_end(text: str, most: int) -> str:
    """The same, its end left out."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: max(most - 3, 0)].rstrip()}..."


def filled_lines(head: str, text: str, width: int, indent: int | None = None) -> list[str]:
    """Lines of `head` and a text behind it, broken where it would be wider; later lines begin below the text."""
    later = " " * (len(head) if indent is None else indent)
    lines = textwrap.wrap(
        text, width, initial_indent=head, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
    return lines or [head.rstrip()]


def in_units(number: float, unit: str = "") -> str:
    """1234567 -> "1.23 M", with the unit behind: "1.23 MB"."""
    for size, letter in UNITS:
        if abs(number) >= size * 0.9995:
            return f"{number / size:.3g} {letter}{unit}"
    return f"{number:.3g} {unit}".rstrip()


def in_time(seconds: float) -> str:
    """Seconds in the unit that suits: "7.2 us"."""
    if seconds >= 999.5:
        return f"{seconds:.0f} s"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size * 0.9995:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def several(count: int, what: str) -> str:
    """1 -> "1 step", 2 -> "2 steps"."""
    return f"{count} {what}" + "s" * (count != 1)


def number_ranges(numbers: Iterable[int], separator: str = ",", most: int | None = None) -> str:
    """Numbers in order, neighbours together: 1, 2, 3, 7 -> "1-3,7"; most: of the ranges that are named."""
    found: list[list[int]] = []
    for n in numbers:
        if found and n == found[-1][1] + 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    text = separator.join(f"{a}-{b}" if a != b else str(a) for a, b in found[:most])
    return text + (" ..." if most is not None and len(found) > most else "")


def aligned(
    rows: Sequence[Sequence[str]], right: Iterable[int] = (), width: int | None = None, cut: int = -1
) -> list[str]:
    """Rows of texts as lines with columns below each other; right: columns that end below each other.

    width: of the lines, for which texts of the column `cut` are cut at the end.
    """
    if not rows:
        return []
    gap, wide = "  ", [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    if width is not None:
        cut %= len(wide)
        left = max(width - sum(wide) + wide[cut] - len(gap) * (len(wide) - 1), LEAST_CUT)
        rows = [[*row[:cut], cut_end(row[cut], left), *row[cut + 1 :]] for row in rows]
        wide[cut] = min(wide[cut], left)
    at_right = set(right)
    put = lambda k, text: text.rjust(wide[k]) if k in at_right else text.ljust(wide[k])
    return [gap.join(put(k, text) for k, text in enumerate(row)).rstrip() for row in rows]
