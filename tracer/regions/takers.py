"""Who takes what the bodies of loops and choices append to a list that they have not made."""

from ..guards import state
from ..guards.container_phis import refuse_change_of_phi
from .bounded_lists import GivenUp
from .counting import CountedList


def taker(owner):
    """(who takes what is appended to a list in the region that is run, whether data decide if it comes to that); (None,
    False) where the list takes it itself.

    Where data decide, the outermost loop does, else the innermost; and where there is none, the outermost choice.
    """
    refuse_change_of_phi(owner)
    inner = outer = keeper = None
    between = chosen = tentative = False
    for region in state.regions():
        if id(owner) in region.owned:
            break
        taking = region.grower or region.keeper
        if region.trial:
            tentative = True
        elif taking is not None and type(taking.lists.get(id(owner))) is CountedList:
            return taking, True
        elif region.grower is not None:
            inner, outer, chosen = inner or region.grower, region.grower, chosen or between
        else:
            between, keeper = True, region.keeper or keeper
    if tentative and (chosen or between):
        raise GivenUp("a trial trip appends to a list where data decide")
    return (keeper, True) if inner is None else (outer if chosen else inner, chosen)


def outermost(owner):
    """The outermost loop, or choice that keeps what is appended to lists, in which a list is not made."""
    found = None
    for region in state.regions():
        if id(owner) in region.owned:
            break
        if region.trial:
            raise GivenUp("a trial trip appends to a list where data decide")
        found = region.grower or region.keeper or found
    return found


def spoil(owner):
    """Note in the trial trips being run that what they append to a list is for the loop around them to keep."""
    for region in state.regions():
        if not region.trial:
            return
        region.spoiled = True
        region.save(owner)
