"""What is not captured, why, and what to write instead: results whose length depends on data, and uses of the numbers themselves."""

import numpy as np

from ..errors import UnsupportedError, message
from ..frames import locate
from .registry import HANDLERS, METHODS

VALUES = "np.sort(x) has the values in order, np.isin(x, y) tests membership, np.bincount(x, minlength=n) counts small integers."
SAVED, SHOWN = "Return the array, and save it outside the compiled function.", "Return the array, and print it outside the compiled function."
DATES = "Dates have no place in a program: convert them to numbers."
COMPANION, DIVISION = "np.linalg.eigvals of the companion matrix has the roots.", "Write the division out for the degrees you know."

# fmt: off
DATA_DEPENDENT = {
    # functions                                                                    what of the result depends on data, what to write instead
    ("unique_all", "unique_counts", "unique_inverse", "unique_values"):  ("finds a number of values", VALUES),
    ("union1d", "intersect1d", "setdiff1d", "setxor1d"):                           ("finds a number of values", VALUES),
    ("trim_zeros",):                                                               ("cuts to a length", "Cut to a known length: x[start:stop]."),
    ("roots",):                                                                    ("drops a number of zeros", COMPANION),
    ("polydiv",):                                                                  ("leaves a remainder of a length", DIVISION),
}
OUTSIDE = {
    ("save", "savetxt", "savez", "savez_compressed"):                              SAVED,
    ("array2string", "array_repr", "array_str"):                                   SHOWN,
    ("busday_count", "busday_offset", "is_busday", "datetime_as_string"):          DATES,
}
# fmt: on


def refusal(name, what, instead):
    def refuse(*args, **kwargs):
        raise UnsupportedError(message(f"{name} {what}", locate(), instead))

    return refuse


def _refuse():
    for names, (what, instead) in DATA_DEPENDENT.items():
        HANDLERS.update({getattr(np, n): refusal(f"np.{n}", f"{what} that depends on data", instead) for n in names})
    for names, instead in OUTSIDE.items():
        HANDLERS.update({getattr(np, n): refusal(f"np.{n}", "needs the numbers themselves", instead) for n in names})
    METHODS["resize"] = refusal("ndarray.resize", "changes the size of memory in place", "Write x = np.resize(x, shape).")
    METHODS.update({n: refusal(f"ndarray.{n}", "needs the numbers themselves", SAVED) for n in ("tobytes", "tofile", "dump", "dumps")})


_refuse()
REFUSED = frozenset(getattr(np, n) for names in (*DATA_DEPENDENT, *OUTSIDE) for n in names)
