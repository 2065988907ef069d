"""Arrays that may show one memory of a loop's own after it, whichever trip made that memory.

`Aliases` finds who may be one with whom. Where no place of the program says so (two names that an earlier trip bound to
one array), the loop carries for each of them which trip made what it shows, its birth (`Tags`); after the loop those of
equal births are one memory.
"""

import itertools

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..values.array import TracedArray
from ..values.storage import UnknownAlias
from .alias_selectors import LOST, OWN
from .escape import handle, new


class Member:
    """An array that a place holds after a loop. memory: its placeholder, if it is carried; others: the outside memories
    it may be.

    near: the members that may show memory with it; kin: the group of all that follow from these.
    """

    def __init__(self, x, memory, choices, others):
        self.x, self.memory, self.choices, self.others = x, memory, choices, others
        self.kin, self.near = [self], set()

    def meet(self, other):
        """Note that two members may show one memory."""
        self.near.add(other)
        other.near.add(self)
        if self.kin is not other.kin:
            self.kin += other.kin
            for m in other.kin:
                m.kin = self.kin


def pairs_of(aliases, members):
    """Members that may hold one memory, two by two."""
    holders = aliases.holders({m: m.choices for m in members})
    pairs = [pair for held in holders.values() for pair in itertools.combinations(held, 2)]
    pairs += [(x, y) for p, q in aliases.pairs for x in holders.get(p, ()) for y in holders.get(q, ()) if x is not y]
    return dict.fromkeys(pairs)


class Births:
    """members: (placeholder or None, id of the array) -> Member. numbered: memories, and placeholders whose first
    memory, that have births."""

    def __init__(self, emission, members):
        self.emission, self.members = emission, members
        aliases = emission.sharing.aliases
        torn = set()  # one member of each pair that no place of the program shows to be one memory
        for x, y in pairs_of(aliases, members.values()):
            if aliases.meet(x.choices, y.choices):
                x.meet(y)
                if any(a is not b and aliases.same(a, b) for a, b in aliases.met(x.choices, y.choices)):
                    torn.add(x)
        unsure = lambda m: m in torn or m.others or m.memory is not None and not emission.roll.surely
        kins = {id(m.kin): m.kin for m in members.values()}.values()
        self.linked = [kin for kin in kins if len(kin) > 1 and any(map(unsure, kin))]
        self.numbered = set()
        for kin in self.linked:
            reached = [aliases.reached(m.choices) for m in kin]
            self.numbered |= {
                b for n, found in enumerate(reached) for b in found if any(b in other for other in reached[n + 1 :])
            }
        self.told = {m for kin in self.linked for m in kin}

    def plan(self, member, name, at):
        """A plan for an array of a group; None for others. at: -> its row."""
        if member not in self.told:
            return None
        member.name, member.at = name, at or self.emission.result_row(member.x, name)
        return lambda out: self.made(member, out)

    def finish(self):
        """Give the members of each group the rows of their births."""
        tags, leaving = self.emission.tags, self.emission.leaving
        for kin in self.linked:
            for m in kin:
                m.row, m.may = self.emission.told(m.choices, m.memory) or (None, set())
            kin.sort(key=lambda m: (m.row is None, any(tags.windows[n][1] for n in tags.own(m.may)), len(m.may)))
            for n, m in enumerate(kin):
                m.before, m.array = [b for b in kin[:n] if b in m.near], None
                m.windows = [(Lit(k, COUNTER), *tags.windows[k]) for k in sorted(m.may - tags.own(m.may) - {LOST})]
                m.windows = [(k, leaving.memory(memory, None), leaving.chain(chain)) for k, memory, chain in m.windows]
            if any(map(self.vague, kin)) or sum(m.row is None for m in kin) > 1:
                names = " and ".join(sorted({m.name for m in kin}))
                raise self.emission.roll.refused(
                    f"{names} may show parts of one array after it, as data decide, and no number tells of which"
                )

    def vague(self, m):
        """Whether numbers do not say what part an array is of what those before it in its group show."""
        tags = self.emission.tags
        if m.row is None:
            return any(chain and self.emission.run.owns(s) for _, s, chain in m.choices)
        return (
            LOST in m.may
            or m.memory in tags.lost
            or any(k != n and tags.windows[k][1] for b in m.before for k, n in tags.common(b.may, m.may))
        )

    def made(self, m, out):
        if m.array is None:
            m.array = self.built(m, out)
        return TracedArray(m.array.storage, m.array.chain, m.array.type, m.array._shadow)

    def built(self, m, out):
        """A member, whose own memory is what none before it shows."""
        x, value = m.x, out[m.at()]
        for b in m.before:
            self.made(b, out)
        if m.row is None:
            return TracedArray(UnknownAlias(value, [*m.others, *(b.own for b in m.before)]), (), x.type, x._shadow)
        m.birth, m.own = out[m.row], new(value, [x], not x.writeable)
        choices, found = [(OPS["eq"](m.birth, n), memory(out), chain(out)) for n, memory, chain in m.windows], None
        for b in m.before:
            for test, chain in self.tests(b, m):
                choices.append((test if found is None else OPS["and"](test, OPS["not"](found)), b.own, chain))
                found = test if found is None else OPS["or"](found, test)
        seen = None if choices else x._shadow
        return handle([*choices, (None, m.own, ())], x.type, value, any(chain for _, _, chain in choices), seen)

    def tests(self, b, m):
        """[(whether, chain)] by which a member shows, through a chain, what `b` does, which stands before it."""
        tags, found = self.emission.tags, []
        common = tags.common(b.may, m.may)
        if any(k == n for k, n in common):
            found.append(
                (OPS["and"](OPS["eq"](b.birth, m.birth), OPS["ge"](tags.window(m.birth), Lit(OWN, COUNTER))), ())
            )
        for k, n in common:
            if k != n:
                later = OPS["eq"](OPS["add"](b.birth, Lit(n - k, COUNTER)), m.birth)
                found.append((OPS["and"](later, OPS["eq"](tags.window(b.birth), Lit(k, COUNTER))), tags.windows[n][1]))
        return found
