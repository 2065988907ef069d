"""How new arrays lie in memory: elementwise results as their operands do, as NumPy's order "K" has it; and on which
arguments that hangs."""

import numpy as np

from .array import TracedArray, fresh, wrap
from .storage import UNKNOWN, AliasSet


def layout_storages(x):
    """The memories whose order in memory decides how an array lies."""
    storage = x.storage
    return (storage,) if storage.origin is not None or isinstance(storage, AliasSet) else storage.lies


def merged_layouts(a, b):
    """What two arrays depend on."""
    return UNKNOWN if UNKNOWN in (a, b) else a if b == a or not b else tuple(dict.fromkeys((*a, *b)))


def laid_as(value, inputs, wrap=wrap):
    """`value`, an array that lies as the operands do; by `wrap` where it has fewer than two axes."""
    if len(value.type.shape) < 2:
        return wrap(value)
    out, odd = fresh(value), False
    for x in inputs:
        if type(x) is TracedArray and len(x.type.shape) > 1:
            out.storage.lies = merged_layouts(out.storage.lies, layout_storages(x))
            odd = odd or x._shadow is not None and not x._shadow.flags.c_contiguous
        elif type(x) is np.ndarray:
            odd = odd or not x.flags.c_contiguous
    if odd:
        seen = [x if type(x) is np.ndarray else x.shadow for x in inputs if type(x) in (np.ndarray, TracedArray)]
        flags = [*[["readonly"]] * len(seen), ["writeonly", "allocate"]]
        # which would ask for a dtype of all operands
        dtypes = [*(x.dtype for x in seen), value.type.dtype]
        operands = np.nditer([*seen, None], ["zerosize_ok"], flags, dtypes).operands
        if operands[-1].shape == value.type.shape:
            out._shadow = np.empty_like(operands[-1], value.type.dtype)
    return out
