"""What tells calls of one function apart in a profile: types and shapes of arrays, values of what is static."""

import numpy as np

from ...backends.xla import dispatch
from ...ir.types import SHORT
from ..common.errors import shown

DEEP = 3  # bound: containers within containers that are looked into
WIDE = 16  # bound: items of a container that are looked at
LONGEST = 24  # bound: letters of a value that are shown
VALUES = (int, bool, str, type(None))


def signature_key(signature, args, kwargs, values):
    """A hashable key, the same for arguments by position and by name; values: whether ints and strings are told apart
    by value."""
    if kwargs:
        args, kwargs = by_position(signature, args, kwargs)
    keys = [item_key(x, values, DEEP) for x in args]
    return *keys, *((name, item_key(x, values, DEEP)) for name, x in kwargs.items())


def by_position(signature, args, kwargs):
    """The same call, with arguments by position as far as that goes."""
    names, args, kwargs = positional_names(signature), list(args), dict(kwargs)
    while len(args) < len(names) and names[len(args)] in kwargs:
        args.append(kwargs.pop(names[len(args)]))
    return args, kwargs


def positional_names(signature):
    """Names of the parameters that may be given by position."""
    parameters = signature.parameters.values() if signature else ()
    return [p.name for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]


def item_key(x, values, deep):
    kind = type(x)
    if kind is np.ndarray or dispatch.is_device_array(x):
        return kind, x.dtype, x.shape
    if kind in VALUES:
        return (kind, x) if values and not (kind is int and x.bit_length() > 64) else kind
    if kind in (tuple, list) and deep:
        return kind, len(x), *[item_key(y, values, deep - 1) for y in x[:WIDE]]
    if kind is dict and deep:
        return kind, len(x), *[item_key(y, values, deep - 1) for y in list(x.values())[:WIDE]]
    return kind


def signature_text(signature, args, kwargs, values):
    """The arguments of a call: `x: f64[3], n: 4`."""
    names, (args, kwargs) = positional_names(signature), by_position(signature, args, kwargs)
    parts = [f"{n}: {item_text(x, values, DEEP)}" for n, x in zip(names, args)]
    parts += [item_text(x, values, DEEP) for x in args[len(names) :]]
    parts += [f"{n}: {item_text(x, values, DEEP)}" for n, x in kwargs.items()]
    return ", ".join(parts)


def item_text(x, values, deep):
    kind = type(x)
    if kind is np.ndarray or isinstance(x, np.generic) or dispatch.is_device_array(x):
        return f"{SHORT.get(x.dtype.name, x.dtype.name)}[{','.join(map(str, x.shape))}]"
    if kind is float or kind is complex:
        return {float: "f64[]", complex: "c128[]"}[kind]
    if kind in VALUES:
        return shown(x, LONGEST) if values else kind.__name__
    if kind in (tuple, list, dict) and deep:
        items = list(x.items()) if kind is dict else [(None, y) for y in x]
        inside = [f"{f'{n!r}: ' if kind is dict else ''}{item_text(y, values, deep - 1)}" for n, y in items[:WIDE]]
        inside += [f"and {len(items) - WIDE} more"] if len(items) > WIDE else []
        first, last = {tuple: "()", list: "[]", dict: "{}"}[kind]
        return f"{first}{', '.join(inside)}{last}"
    return kind.__name__
