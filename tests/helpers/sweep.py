"""Tables meant for many dtypes: what NumPy raises on a line is asked of NumPy, not written beside it."""

import warnings

import numpy as np
import pytest
from table import check


def by_xla(some, *every):
    """The parameters `every`, one after another; those not among `some` run as generated NumPy (see conftest.py)."""
    return [x if x in some else pytest.param(*(x if isinstance(x, tuple) else (x,)), marks=pytest.mark.as_numpy) for x in every]


def check_sweep(table, rtol=1e-12, **operands):
    """`table.check` of the lines, each with the exception class that NumPy raises for these operands."""
    return check("\n".join(f"{line}{raised(line, operands)}" for line in map(str.strip, table.splitlines()) if line), rtol, **operands)


def raised(line, operands):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            eval(line, {"np": np, **operands})
        except Exception as error:
            return f"  # {type(error).__name__}"
    return ""
