"""Text for a terminal: its width, long names cut, columns, and numbers put together."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

LEAST, MOST = 80, 120  # bound: columns of a text
LEAST_CUT = 12  # bound: columns that are left of a text that is cut


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
