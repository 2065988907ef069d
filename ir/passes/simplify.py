"""Identities."""

from ..rewrite import rewrite
from ..rules import RULES


def simplify(func, rules=RULES, log=None):
    """No rule of the set applies to any equation, and what the rules left unread is gone. Regions too."""
    return rewrite(func, rules, log)
