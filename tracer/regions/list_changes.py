"""`xs.extend(ys)` while tracing: an append for every item, as a loop of its own where the items are a series of which
data decide the length, or a long one in a captured loop. And `xs.pop()` there."""

from ..common.errors import CannotRoll, message
from ..common.frames import locate, variable_name
from ..extents import numbers
from ..extents.bounded import BoundedArray
from ..guards.state import regions
from ..values.elements import MANY
from . import series
from .bounded_lists import GivenUp, ItemForm, bounded_list
from .comprehensions import item_of_series
from .container_changes import GROWS, before_change
from .convert import convert
from .counting import CountedList, CountsIn
from .growing import appending, gone_through, list_behind, shown_whole
from .takers import outermost, taker


def extending(owner):
    """`owner.extend`."""
    inside = appending(owner) is not None

    def extend_by(values):
        unknown = type(values) is BoundedArray or bounded_list(list_behind(values)) is not None
        if unknown and any(region.trial for region in regions()):
            raise GivenUp("a trial trip extends a list by as many items as data decide")
        if not inside and not unknown:
            before_change(owner, "extend")
            owner.extend(shown_whole(values))
            return
        items = series.series_of(gone_through(values))
        count = series.length(items) if series.rollable(items) else 0
        if count is None or count >= MANY:
            trips = numbers.traced(series.count_of(items)) if count is None else count
            convert(append_all)(owner, series.begun(items), trips)
            return
        for x in list(shown_whole(values)):
            appending(owner)(x)

    return extend_by


def popping(owner):
    """`owner.pop` in a captured loop, likewise."""
    found, _ = taker(owner) if type(owner) is list else (None, False)
    if found is None or not owner or next(regions()).trial:
        return None

    def pop(*at):
        if at and at != (-1,):
            text = "a list gives away an item other than its last in a captured loop"
            raise CannotRoll(message(text, locate(), GROWS))
        held = bounded_list(owner)
        if held is not None and type(outermost(owner).lists.get(id(owner))) is CountedList:
            return held.pop()
        name = variable_name(owner) or "a list"
        form = held.form if held is not None else ItemForm(owner[-1], name)
        raise CountsIn(CountedList(owner, form, name), outermost(owner))

    return pop


def append_all(owner, items, count):
    for k in range(count):
        owner.append(item_of_series(items, k))
