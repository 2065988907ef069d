"""Amounts and times as people read them: three digits, in the unit that suits."""

from __future__ import annotations

UNITS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


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
