"""Which array from before a loop a name ends on, where data decided: a number carried from trip to trip."""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..values.identity import window
from ..values.storage import UnknownAlias, current_trace, memories, select_whole
from ..values.views import dynamic

WINDOWS = 12  # so many windows of outer arrays are told apart, and so many of the loop's own
OWN = 16  # from here on are the numbers of windows of the loop's own
STEP = 32  # what a trip adds to them
LOST = -1  # a window of the loop's own beyond those


class Tags:
    """windows: number -> (memory, chain); 0 is memory of the loop's own that no other place shows.

    Of memory of the loop's own that several places may show after it (`Births`), the number says in which trip it was
    made: STEP is added for the first trip, twice STEP for the second. To what a name alone held before the loop nothing
    is added: its window is of the placeholder. A view of what the same place held, which no other place ever takes
    (`folds`), has the number of an earlier such view that shows the same elements in the same order: `a = a[::-1]` has
    two windows, however many objects it makes, and one of those is there at a time.
    """

    def __init__(self, emission):
        self.emission, self.sharing, self.leaving = emission, emission.sharing, emission.leaving
        self.run, self.roll = emission.run, emission.roll
        self.windows, self.numbers, self.rows, self.unknown, self.lost, self.grown = {}, {}, {}, set(), set(), {}
        self.firsts = {m: self.initial(slot, n) for slot, n, m in self.sharing.carried}
        self.ends = {
            m: self.leaving.choices(self.roll.carried[slot].leaves(self.run.after(slot))[n])
            for slot, n, m in self.sharing.carried
        }
        self.folds = self.solitary(emission.births.members)
        self.may = {m: {number for _, number in first} - {0} for m, first in self.firsts.items()}
        settled = None
        while settled != (self.may, self.unknown, self.lost):
            settled = self.may, set(self.unknown), set(self.lost)
            self.may = {m: self.may[m] | self.numbered(self.ends[m], m) for m in self.may}

    def solitary(self, members):
        """The placeholders whose array at the beginning of a trip no other place holds at its end, nor a view of it."""
        taken = [(m, base) for m, choices in self.ends.items() for _, s, _ in choices for base in memories(s)]
        taken += [(x.memory, base) for x in members.values() for _, s, _ in x.choices for base in memories(s)]
        return set(self.ends) - {base for m, base in taken if m is not base}

    def number(self, memory, chain):
        """The number of a window; None where it cannot be told apart, LOST if it is one of the loop's own."""
        mine = self.run.owns(memory)
        if mine and memory not in self.emission.births.numbered:
            return None if isinstance(memory, UnknownAlias) else 0
        vague = LOST if mine else None
        if isinstance(memory, UnknownAlias) or dynamic(chain):
            return None if isinstance(memory, UnknownAlias) else vague
        key = memory, tuple(map(id, chain))
        if key not in self.numbers:
            at = OWN if mine else 1
            n = next((n for n in range(at, at + WINDOWS) if n not in self.windows), None)
            if n is None:
                return vague
            self.windows[n], self.numbers[key] = (memory, chain), n
        return self.numbers[key]

    def own(self, numbers):
        """Those of the loop's own memory."""
        return {n for n in numbers if n >= OWN}

    def common(self, xs, ys):
        """The pairs of numbers of the loop's own that are of one memory."""
        return [
            (k, n)
            for k in sorted(self.own(xs))
            for n in sorted(self.own(ys))
            if self.windows[k][0] is self.windows[n][0]
        ]

    def window(self, birth):
        """The number of the window, of one with the trip in which it was made."""
        return OPS["and"](birth, Lit(STEP - 1, COUNTER))

    def initial(self, slot, n):
        """[(test, number)] of what a place held before the loop."""
        if self.sharing.alone(slot):
            return [(None, self.number(self.roll.carried[slot].memory[n], ()))]
        x = self.roll.carried[slot].leaves(self.roll.first(slot, self.run))[n]
        found = [(test, self.number(s, chain)) for test, s, chain in self.leaving.choices(x)]
        if any(number is None for _, number in found):
            self.unknown.add(self.roll.carried[slot].memory[n])
            return [(None, 0)]
        return found

    def composed(self, number, chain, base):
        """The number of the view that `chain` leads to, from the window of a number, which the placeholder `base`
        stands for."""
        if not chain:
            return number
        memory, steps = self.windows[number]
        shown = window(memory, (*steps, *chain)) if base in self.folds else None
        if shown is None:
            return self.number(memory, (*steps, *chain))
        key = base, memory, shown
        if key not in self.grown:
            self.grown[key] = self.number(memory, (*steps, *chain))
        return self.grown[key]

    def numbered(self, choices, placeholder=None):
        """All the numbers that choices at the end of a trip may have."""
        found = set()
        for _, base, chain in choices:
            if base in self.may:
                found |= {self.composed(n, chain, base) for n in self.may[base]}
                found |= {what for what, bases in ((None, self.unknown), (LOST, self.lost)) if base in bases}
            else:
                found.add(self.number(base, chain))
        found.discard(0)
        if None in found and placeholder is not None:
            self.unknown.add(placeholder)
        if LOST in found and placeholder is not None:
            self.lost.add(placeholder)
        return found - {None, LOST} if placeholder is not None else found

    def carried(self, memory):
        """The row of a placeholder's number."""
        if memory not in self.rows:
            with_tests = self.firsts[memory]
            first = Lit(with_tests[-1][1], COUNTER)
            for test, number in with_tests[:-1]:
                first = select_whole(current_trace().bring(test), Lit(number, COUNTER), first)
            param = self.emission.fresh(("weak", int))
            at = self.rows[memory] = self.emission.row(param, first, None)
            self.emission.results[at] = self.result(self.ends[memory])
        return self.rows[memory]

    def result(self, choices):
        """The number at the end of a trip, in the body."""
        # their first values belong outside
        rows = {base: self.carried(base) for _, base, _ in choices if self.may.get(base)}
        with self.run.trace:
            bring = current_trace().bring
            value = None
            for test, base, chain in reversed(choices):
                if base in self.may:
                    x = held = self.emission.params[rows[base]] if base in rows else Lit(0, COUNTER)
                    if chain and base in rows:
                        x = Lit(0, COUNTER)
                        for n in sorted(self.may[base]):
                            to = max(self.composed(n, chain, base), 0)
                            if n < OWN:
                                x = select_whole(OPS["eq"](held, Lit(n, COUNTER)), Lit(to, COUNTER), x)
                            elif to:
                                x = select_whole(
                                    OPS["eq"](self.window(held), Lit(n, COUNTER)),
                                    OPS["add"](held, Lit(to - n, COUNTER)),
                                    x,
                                )
                else:
                    n = max(self.number(base, chain), 0)
                    x = Lit(n, COUNTER)
                    if n >= OWN:
                        x = OPS["add"](OPS["mul"](self.roll.counter, Lit(STEP, COUNTER)), Lit(STEP + n, COUNTER))
                value = x if value is None else select_whole(bring(test), x, value)
            return value
