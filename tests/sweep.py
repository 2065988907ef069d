"""Tables meant for many dtypes: what NumPy raises on a line is asked of NumPy, not written beside it."""

import warnings

import numpy as np
from table import check


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
