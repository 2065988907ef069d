"""Containers and their tests are Python's own: a traced program sees lists, tuples and dicts as they are."""

from builtins import dict, isinstance, list, tuple, type  # noqa: UP029, others import them from here

from .extend import Box


class DictBox(Box):
    """autograd's box of a dict, of which nothing is an instance here."""


class ListBox(Box):
    """Likewise of a list."""


class TupleBox(Box):
    """Likewise of a tuple."""


SequenceBox = ListBox

__all__ = ["DictBox", "ListBox", "SequenceBox", "TupleBox", "dict", "isinstance", "list", "tuple", "type"]
