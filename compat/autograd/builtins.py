"""Containers and their tests are Python's own: a traced program sees lists, tuples and dicts as they are."""

from builtins import dict, isinstance, list, tuple, type  # noqa: UP029, others import them from here

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
