"""The user's own rules."""

from ..rewrite import rewrite


def user_rules(func, rules=None, log=None):
    """None of the user's rules applies to any equation, but to those that it made itself. Regions too."""
    return func if rules is None else rewrite(func, rules, log)
