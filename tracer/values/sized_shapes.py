"""Shapes of traced arrays, as user code holds them while a function is traced for programs of all sizes."""

from __future__ import annotations

import math

from ...ir.core import Lit
from .asked import asking
from .sizes import size_made
from .storage import Storage, current_trace


def sized_shape(x):
    """`x.shape` of a traced array, as user code holds it."""
    shape = x.type.shape
    if asking() is None or not shape:
        return shape
    dims = known_dims(x)
    return tuple(size_made(d, n) for d, n in zip(dims, shape, strict=True))


def known_dims(x):
    """What each size of a traced array is."""
    asked, storage = asking(), x.storage
    if x.chain or type(storage) is not Storage or storage.value.type.shape != x.type.shape:
        return [asked.read(n) for n in x.type.shape]
    value = outermost(storage.value)
    if value not in asked.dims:
        asked.dims[value] = [asked.read(n) for n in x.type.shape]
    return asked.dims[value]


def outermost(value):
    """The value that a parameter of an inner trace stands for."""
    trace = current_trace()
    while trace is not None and not isinstance(value, Lit):
        value = trace.given.get(value, trace.root.lifts.get(value, value))
        trace = trace.parent
    return value


def sized_size(x):
    """`x.size`."""
    return math.prod(sized_shape(x)) if x.type.shape else 1
