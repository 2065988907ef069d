"""The user's own rules."""

from __future__ import annotations

from typing import Any

from ..core import Func
from ..rewrite import rewrite


def user_rules(func: Func, rules: Any = None, log: list[Any] | None = None) -> Func:
    """None of the user's rules applies to any equation, but to those that it made itself. Regions too."""
    return func if rules is None else rewrite(func, rules, log)
