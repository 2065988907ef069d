"""Statements that are to be alike at all sizes: nothing in them is decided by how large an array is.

Within `for_any_size` what is measured by the number of elements is settled as it is best for middle sizes, and of
arrays that are made once the text is kept beside them (`Statements.recipes`), for those that other sizes make other.
"""

import contextvars

from ...ir.setting import set_within

ANY_SIZE = contextvars.ContextVar("any size", default=False)


def for_any_size():
    """Within: statements are written so."""
    return set_within(ANY_SIZE, True)


def at_most(amount, bound):
    """Whether an amount is within a bound that was measured: always, where all sizes are to be alike."""
    return ANY_SIZE.get() or amount <= bound
