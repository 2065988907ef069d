"""How a loop ended, by how its last trip did: as seen from behind it, its own `break` is no `break`."""

from ..rewriter.completion import BREAKS, CONTINUES, FALLS, LEFT, Completion
from .merge import pick

GONE = Completion(LEFT, {LEFT})


def leaving(code):
    """The ways by which `code` leaves the trip, of those it can be."""
    may = code.may - {FALLS, CONTINUES}
    return Completion(code.status if len(may) > 1 else min(may), may, code.value)


def left(code):
    """How a loop ended whose last trip left it by `code`."""
    may = code.may - {FALLS, CONTINUES}
    status = {BREAKS: LEFT}
    gone = frozenset(status.get(m, m) for m in may)
    if len(gone) == 1:
        return Completion(*gone, gone, code.value)
    return Completion(
        pick(code.status == BREAKS, LEFT, code.status) if BREAKS in may else code.status, gone, code.value
    )


def ended_after(code):
    """How a loop ended whose last trip ended with `code`, if it came to that."""
    may = {LEFT if m == BREAKS else FALLS if m == CONTINUES else m for m in code.may}
    status = pick(code.status == BREAKS, LEFT, code.status) if BREAKS in code.may else code.status
    status = pick(code.status == CONTINUES, FALLS, status) if CONTINUES in code.may else status
    return Completion(status, frozenset(may), code.value)
