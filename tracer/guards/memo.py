"""Functions behind functools.cache: what they have kept is asked for again at every call; of traced values they compute
anew."""

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.storage import current_trace
from .outside import flat_contents
from .repeated_calls import Asked

HINT = "Keep the count outside of it, or leave the cache away."


def recalled(f, args, kwargs):
    """The answer to arguments that are no data: the very one that the cache gives at this call."""
    outside, shown = current_trace().root.outside, ", ".join(f"{x!r:.40}" for x in args)
    made = Asked(f, args, kwargs, 0, f"{getattr(f, '__name__', 'cached')}({shown})", locate(), False)
    if made.error is not None:
        outside.reads[made.place] = made
        raise made.error
    if made.place not in outside.reads:
        outside.reads[made.place] = made
        outside.meet(made)
    return outside.enter(outside.reads[made.place])


def computed(f, run, args, kwargs):
    """The answer to data: the body runs at every call, so it may do nothing else than answer, which Python has it do
    once for each value."""
    outside = current_trace().root.outside
    before = outside_stores(outside)
    out = run(*args, **kwargs)
    after = outside_stores(outside)
    if any(
        k not in before and not fresh or k in before and changed(before[k], now) for k, (now, fresh) in after.items()
    ):
        text = (
            f"{f.__name__}() is behind a cache and stores outside itself, which Python does once for each value it is "
            "given; here it is data"
        )
        raise UnsupportedError(message(text, locate(), HINT))
    return out


def changed(before, now):
    return len(before[0]) != len(now) or any(a is not b for a, b in zip(before[0], now))


def outside_stores(outside):
    """What the trace has stored outside until now: place -> (objects there, whether they are as found)."""
    out = {("calls",): ([c[1] for c in outside.calls], not outside.calls)}
    for slot, was in outside.heap.items():
        now = slot.get()
        out["slot", slot] = [now], now is was or now is outside.entered.get(slot)
    for key, (_, made, had, _) in outside.mirrors.items():
        if had is not None:
            now = flat_contents(made)
            out["items", key] = now, len(now) == len(had) and all(a is b for a, b in zip(now, had))
    entered = {id(read.value): value for read, value in outside.inputs}
    for key, made in outside.arrays.items():
        out["array", key] = [made.storage.value], made.storage.value is entered.get(key)
    return out
