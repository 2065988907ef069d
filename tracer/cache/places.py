"""The user's places of the equations of a program, beside its text: lines and names are there in the next process
too."""

from ...ir.source import KeptSource, Source


def all_equations(func):
    """The equations of a program, those of a region behind the one that has it."""
    for eqn in func.eqns:
        yield eqn
        for region in eqn.regions():
            yield from all_equations(region)


def sources_said(func):
    """[the places there are, of each equation the number of its own or None], as JSON has them."""
    numbers = {}
    sources = [eqn.source if isinstance(eqn.source, Source) else None for eqn in all_equations(func)]
    places = [s and (s.file, s.function, tuple(s.position()), s.mark, s.callers) for s in sources]
    own = [None if place is None else numbers.setdefault(place, len(numbers)) for place in places]
    return [list(numbers), own]


def with_sources(func, said):
    """A program that was read back, its equations at their places."""
    places, numbers = said
    made = [KeptSource((file, f, tuple(place)), mark, (), tuple(callers)) for file, f, place, mark, callers in places]
    for eqn, number in zip(all_equations(func), numbers, strict=True):
        eqn.source = None if number is None else made[number]
    return func
