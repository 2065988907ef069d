"""Nested lists, tuples and dicts of arrays and numbers as one vector, and back; both ways differentiate."""

import numpy as np


def flatten(value):
    """(vector, unflatten): all numbers of `value` in one vector, dicts by sorted keys, and the way back for vectors
    like it.

    >>> flatten({"b": 2.0, "a": (1.0, [])})[0]
    array([1., 2.])
    """
    leaves = list(leaves_of(value))
    vector = np.concatenate([np.ravel(x) for x in leaves]) if leaves else np.zeros(0)
    kinds = [(np.shape(x), np.result_type(x)) for x in leaves]

    def unflatten(vector):
        parts, at = [], 0
        for shape, dtype in kinds:
            size = int(np.prod(shape, dtype=int))
            part = np.real(vector[at : at + size]) if dtype.kind != "c" else vector[at : at + size]
            parts.append(part.astype(dtype).reshape(shape)[()])
            at += size
        return rebuilt(value, parts)[0]

    return vector, unflatten


def leaves_of(value):
    """The leaves in order."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves_of(value[key])]
    if isinstance(value, list | tuple):
        return [x for part in value for x in leaves_of(part)]
    return [value]


def rebuilt(value, parts):
    """(the containers of `value` around the first of other leaves, the rest of those)."""
    if isinstance(value, dict):
        made = {}
        for key in sorted(value):
            made[key], parts = rebuilt(value[key], parts)
        return {key: made[key] for key in value}, parts
    if isinstance(value, list | tuple):
        items = []
        for part in value:
            item, parts = rebuilt(part, parts)
            items.append(item)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items), parts
    return parts[0], parts[1:]


def flatten_func(func, example):
    """(func between vectors, unflatten, the example as a vector): func takes values like the example."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
