"""Statements of a sample of sizes (`ir/sample.py`): nothing in them is decided by how large an array is.

What is measured by the number of elements is settled as it is best for middle sizes, and of arrays that are made once
the text is kept beside them (`Statements.recipes`), for those that other sizes make other.
"""

from ...ir.sample import SAMPLE


def at_most(amount, bound):
    """Whether an amount is within a bound that was measured: always, where all sizes are to be alike."""
    return SAMPLE.get() is not None or amount <= bound
