"""Lists and dicts as a run of a body leaves them: what it has stored into outer ones has been put back behind it."""

from ..guards.state import UNBOUND


def as_left(x, run):
    """x, with the items in it that the body has stored; x itself where there are none."""
    stored = {}
    for slot, value in run.heap.items():
        if slot.kind == "item":
            stored.setdefault(id(slot.owner), []).append((slot.key, value))
    return rebuilt(x, stored, {}) if stored else x


def rebuilt(x, stored, made):
    kind = type(x)
    if kind not in (list, tuple, dict) or id(x) in made:
        return made.get(id(x), x)
    made[id(x)] = x  # of one that holds itself
    now = dict(x) if kind is dict else list(x)
    for key, value in stored.get(id(x), ()):
        if value is UNBOUND:
            now.pop(key, None)
        else:
            now[key] = value
    items = now.items() if kind is dict else enumerate(now)
    new = {key: rebuilt(value, stored, made) for key, value in items}
    if id(x) in stored or any(value is not now[key] for key, value in new.items()):
        made[id(x)] = new if kind is dict else kind(new.values())
    return made[id(x)]
