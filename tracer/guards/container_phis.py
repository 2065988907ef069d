"""Lists and dicts of which data decide which object they are: what a name holds where two ways meet, or after a loop.

The trace gives such a name a list of the phis of the items. It stands for a list that nobody changes: a store to it,
or to a list that it may be, is refused, and so is the question which of them it is. So that no run of a body that is
thrown away forbids anything, each trace knows those that it has made itself.
"""

from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate, variable_name
from ..values.capturing import open_choice, unmerged
from ..values.storage import current_trace

HINT = "Let both sides change the items of one list, or take a copy where it is chosen: xs = list(ys)."


class ContainerPhi:
    """container: what stands for one of several lists or dicts; sources: id -> one that it may be; choice: the number
    of the choice that could be made by value instead."""

    __slots__ = ("choice", "container", "sources")

    def __init__(self, container, sources, choice):
        self.container, self.sources, self.choice = container, sources, choice


def containers_at(like, x):
    """[(a list or dict in `like`, what is at its place in x, or None)], outer ones first."""
    found = [(like, x)] if isinstance(like, list | dict) else []
    if isinstance(like, dict):
        pairs = [(v, x.get(k) if isinstance(x, dict) else None) for k, v in like.items()]
    elif isinstance(like, list | tuple):
        others = x if isinstance(x, list | tuple) and len(x) == len(like) else [None] * len(like)
        pairs = zip(like, others)
    else:
        pairs = ()
    return found + [pair for v, y in pairs for pair in containers_at(v, y)]


def candidates_within(like, x, trace=None):
    """For each list and dict in `like`, id -> those that the one at its place in x may be, as a trace knows."""
    return [candidates_of(y, trace) if isinstance(y, list | dict) else {} for _, y in containers_at(like, x)]


def stand_for(made, candidates):
    """Note that each list and dict in `made` is one of so many, as data decide: id -> object of each, as
    `candidates_within` has them."""
    known = current_trace().container_phis
    for (c, _), found in zip(containers_at(made, None), candidates, strict=True):
        others = {at: x for at, x in found.items() if x is not c}
        if others:
            phi = known.setdefault(id(c), ContainerPhi(c, {}, open_choice()))
            phi.sources.update(others)
    return made


def phis():
    """The ContainerPhis of the trace and those around it."""
    trace = current_trace()
    while trace is not None:
        yield from trace.container_phis.values()
        trace = trace.parent


def phi_of(x, trace=None):
    """The ContainerPhi that x stands for in a trace, the present one where none is given; else None."""
    trace = current_trace() if trace is None else trace
    while trace is not None:
        if (found := trace.container_phis.get(id(x))) is not None:
            return found
        trace = trace.parent
    return None


def candidates_of(x, trace=None):
    """id -> the objects that a list or dict may be, itself among them."""
    phi = phi_of(x, trace)
    return {id(x): x} if phi is None else {id(x): x, **phi.sources}


def refuse_change_of_phi(owner):
    """Refuse a change of a list or dict which another may be, or which may be another."""
    if not isinstance(owner, list | dict):
        return
    for phi in phis():
        if phi.container is owner or id(owner) in phi.sources:
            refuse_use(phi, "is changed")


def refuse_use(phi, what):
    kind = type(phi.container).__name__
    name = variable_name(phi.container)
    text = message(f"{name or 'a ' + kind}, one of several {kind}s as data decide, {what}", locate(), HINT)
    if current_trace().region is not None:
        raise CannotRoll(text)
    unmerged(phi.choice, UnsupportedError(text))


def same_container(x, y):
    """`x is y`, refused where data decide it of two lists or dicts."""
    phi = None if x is y else phi_of(x) or phi_of(y)
    if phi is not None and candidates_of(x).keys() & candidates_of(y).keys():
        refuse_use(phi, "is compared with one that it may be")
    return x is y
