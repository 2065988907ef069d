"""Arithmetic on numbers known beforehand."""

from __future__ import annotations

from typing import Any

from ..core import Func
from ..rewrite import rewrite
from ..rules.control import CHOICES
from ..rules.fold import FOLD


def fold(func: Func, log: list[Any] | None = None) -> Func:
    """No equation computes a small array from literals and constants alone, and no choice gives what all its branches
    give. Regions too."""
    return rewrite(func, FOLD + CHOICES, log)
