"""The user's places of the equations of a program, beside its text: lines and names are there in the next process
too."""

from ...ir.source import KeptSource, Source
from ...ir.walk import every_equation


def sources_said(func):
    """[the places there are, of each equation the number of its own or None], as JSON has them."""
    numbers = {}
    sources = [eqn.source if isinstance(eqn.source, Source) else None for eqn in every_equation(func)]
    places = [s and (s.file, s.function, tuple(s.position()), s.mark, s.callers) for s in sources]
    own = [None if place is None else numbers.setdefault(place, len(numbers)) for place in places]
    return [list(numbers), own]


def with_sources(func, said):
    """A program that was read back, its equations at their places."""
    places, numbers = said
    kept = lambda file, f, place, mark, callers: KeptSource((file, f, tuple(place)), mark, callers=tuple(callers))
    made = [kept(*place) for place in places]
    for eqn, number in zip(every_equation(func), numbers, strict=True):
        eqn.source = None if number is None else made[number]
    return func
