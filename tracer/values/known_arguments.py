"""All Python numbers among the arguments, taken by value before the function runs: keys in a loop hang on them."""

import numpy as np

from .speculate import ARGUMENTS, Assumed, Assumption, is_number
from .storage import current_trace


def take_arguments(kinds, handles):
    """Put the Python numbers and NumPy scalars among the arguments in the place of what stands for them, as those of
    this call, where that is wanted.

    handles: id of a Kind -> what stands for the argument, changed here.
    """
    trace = current_trace()
    made = trace.choices if trace.parent is None else None
    if made is None or ARGUMENTS not in made.wanted:
        return
    for k, (kind, number) in enumerate(zip(kinds, made.leaves, strict=True)):
        if isinstance(number, np.ndarray) or kind.type.kind not in "biuf" or number != number:
            continue
        made.taken.append(Assumed((ARGUMENTS, kind.name or k), np.asarray(number).item(), None))
        value = trace.build.params[k]
        quoted = value if kind.type.kind in "iu" else None
        trace.check(is_number(value, number), Assumption, str(len(made.taken) - 1), quoted)
        handles[id(kind)] = number
