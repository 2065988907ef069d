"""What a call stores outside its arguments, as lines of the generated function in front: what `effects.store_all` does.

What each value goes into is found before the first is stored, and nothing is stored before all is computed.
"""

import types

from ..guards.effects import Call, Contents
from ..guards.emit_lookups import is_spelled
from ..guards.guard import Read, of_class, put


def is_written(place):
    """Whether there are lines for a store into a place."""
    return isinstance(place, Read | Contents | Call)


def store_lines(stores, values, lookups):
    """Lines that store what is under the names `values` into the places `stores`."""
    found, lines = [], []
    for place, value in zip(stores, values, strict=True):
        holder = place.read if not isinstance(place, Read) else place.parent
        text = lookups.named(place.owner) if holder is None else lookups.text(holder)
        if not text.isidentifier():
            found.append(f"h{len(found)} = {text}")
            text = f"h{len(found) - 1}"
        lines.append(store_line(place, text, value, lookups.named))
    return [*found, *lines]


def store_line(place, holder, value, named):
    """One store into what is called `holder`."""
    if not isinstance(place, Read):
        return f"{named(place)}.store({holder}, {value})"
    if place.kind == "attribute":
        kind = type(place.owner if place.parent is None else place.parent.value)
        if type(of_class(kind, "__setattr__")) is types.FunctionType:
            return f"{named(put)}({holder}, {place.key!r}, {value})"
        if is_spelled(place.key):
            return f"{holder}.{place.key} = {value}"
        return f"setattr({holder}, {place.key!r}, {value})"
    if place.kind == "cell":
        return f"{holder}{f'.__closure__[{place.key}]' if place.parent is not None else ''}.cell_contents = {value}"
    key = repr(place.key) if type(place.key) in (str, int) else named(place.key)
    return f"{holder}[{key}] = {value}"
