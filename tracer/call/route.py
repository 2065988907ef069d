"""What the types of a call's leaves decide: which are static, which ints among those are traced after all, and the
entries by their values."""

from ...backends.xla.dispatch import is_tracer_type
from ..capture.signature import kind_of_type
from ..guards.by_class import InstanceCell, by_class
from ..guards.guard import small
from ..guards.static_arguments import is_memory, key_of
from ..guards.subclasses import is_captured
from ..values.array import Traced
from ..values.array_object import ArrayObject
from ..values.object_phi import ObjectPhi

ROOM = 256  # bound: entries by static values until those are let go that no trace was made for


class Route:
    """What the types of the leaves decide: which leaves are static, and the entries by their values."""

    __slots__ = ("types", "static", "dynamic", "inside", "entries", "promoted", "fixed", "plain", "memory")
    __slots__ += ("alike", "pinned", "postponed", "refusals", "jax", "room")

    def __init__(self, types, promoted=(), plain=None):
        kinds = [kind_of_type(t) for t in types]
        self.types, self.promoted = types, frozenset(promoted)  # ints that are traced, having had too many values
        self.static = [i for i, k in enumerate(kinds) if k is None and i not in self.promoted]
        self.dynamic = [i for i, k in enumerate(kinds) if k is not None or i in self.promoted]
        # called while another function is traced
        self.inside = Traced in kinds or any(t is ObjectPhi or issubclass(t, ArrayObject) for t in types)
        self.memory = [i for i in self.static if is_memory(types[i]) and not is_captured(types[i])]
        self.entries, self.room = {}, ROOM  # room: entries at which those that have no trace are let go
        self.plain = plain or self  # the route on which no int is traced
        self.fixed = set()  # ints that a trace must know
        self.refusals = {}  # static values but for such leaves -> refusals of entries that have no trace
        self.jax = any(map(is_tracer_type, types))  # called while jax traces another function
        if self.jax:
            self.fixed.update(self.static)
        # of ints of which two values are better known: (the ints that are traced, the other static values) -> the entry
        # for a third
        self.postponed = {}
        # the leaves that are known by their class, and those of them that a trace has to know by identity
        self.alike, self.pinned = {i for i in self.static if by_class(types[i])}, set()

    def key(self, leaves):
        """What tells the entries apart: of instances that are known by their class, the first leaf that is the same
        one."""
        alike, first = self.alike - self.plain.pinned, {}
        return tuple(
            [first.setdefault(id(leaves[i]), i) if i in alike else key_of(leaves[i]) for i in self.static]
        )

    def cells(self, leaves):
        """leaf -> the InstanceCell that it is in during a call."""
        made = {}
        alike = sorted(self.alike - self.plain.pinned)
        return {i: made.setdefault(id(leaves[i]), InstanceCell(self.types[i])) for i in alike}

    def changing(self, static):
        """(leaf, how many other values it had) of ints that change, all else being as it was."""
        ints = {
            n: i
            for n, i in enumerate(self.static)
            if self.types[i] is int and i not in self.plain.fixed and small(static[n])
        }
        others = {}
        for known in self.entries if ints else ():
            n = only_difference(known, static)
            if n in ints:
                others.setdefault(n, set()).add(known[n])
        return [(i, len(others[n])) for n, i in ints.items() if n in others]


def only_difference(a, b):
    """The one position at which two tuples differ, None where they differ at none or at several."""
    differing = (n for n, (x, y) in enumerate(zip(a, b)) if x != y)
    found = next(differing, None)
    return found if next(differing, None) is None else None


def better_known(version):
    """Whether a program of which an int is a number is another than one that knows it: the int decides what runs or how
    often, or is the exponent of an array, or an assumption was made."""
    func = version.captured.func
    found = {p for p, kind in zip(func.params, version.kinds) if kind is int}
    if version.assumed:
        return True
    for eqn in func.eqns:
        if found.isdisjoint(eqn.operands):
            continue
        if eqn.regions() or "pow" in eqn.op.name and any(r.type.shape for r in eqn.results):
            return True
        found.update(eqn.results)
    return False
