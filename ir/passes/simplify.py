"""Identities."""

from __future__ import annotations

from typing import Any

from ..core import Func
from ..rewrite import rewrite
from ..rules import RULES


def simplify(func: Func, rules: Any = RULES, log: list[Any] | None = None) -> Func:
    """No rule of the set applies to any equation, and what the rules left unread is gone. Regions too."""
    return rewrite(func, rules, log)
