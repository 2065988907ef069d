"""Which array from before a loop a name ends on, where data decided: a number carried from trip to trip."""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..storage import Shared, Storage, current_trace, either
from ..views import dynamic

WINDOWS = 12  # so many windows of outer arrays are told apart


class Tags:
    """windows: (memory, chain) of every number from 1; 0 is memory of the loop's own that no other place shows.

    Memory that the last trip made, and that several places show after it, has numbers too; in a trip after that it is as any other of the loop's own.
    """

    def __init__(self, emission):
        self.emission, self.sharing, self.leaving = emission, emission.sharing, emission.leaving
        self.run, self.roll = emission.run, emission.roll
        self.windows, self.numbers, self.rows, self.unknown = [], {}, {}, set()
        self.firsts = {m: self.initial(slot, n) for slot, n, m in self.sharing.carried}
        self.ends = {m: self.leaving.choices(self.roll.carried[slot].leaves(self.run.after(slot))[n]) for slot, n, m in self.sharing.carried}
        self.may = {m: {number for _, number in first} - {0} for m, first in self.firsts.items()}
        settled = None
        while settled != (self.may, self.unknown):
            settled = self.may, set(self.unknown)
            self.may = {m: self.may[m] | self.numbered(self.ends[m], m) for m in self.may}

    def number(self, memory, chain):
        """The number of a window; None where it cannot be told apart."""
        if self.run.owns(memory) and not (type(memory) is Storage and self.emission.shown.get(memory, 0) > 1):
            return None if isinstance(memory, Shared) else 0
        if isinstance(memory, Shared) or dynamic(chain):
            return None
        key = memory, tuple(map(id, chain))
        if key not in self.numbers:
            if len(self.windows) == WINDOWS:
                return None
            self.windows.append((memory, chain))
            self.numbers[key] = len(self.windows)
        return self.numbers[key]

    def initial(self, slot, n):
        """[(test, number)] of what a place held before the loop."""
        if self.sharing.alone(slot):
            return [(None, 0)]
        x = self.roll.carried[slot].leaves(self.roll.first(slot, self.run))[n]
        found = [(test, self.number(s, chain)) for test, s, chain in self.leaving.choices(x)]
        if any(number is None for _, number in found):
            self.unknown.add(self.roll.carried[slot].memory[n])
            return [(None, 0)]
        return found

    def composed(self, number, chain):
        memory, steps = self.windows[number - 1]
        return self.number(memory, (*steps, *chain)) if chain else number

    def mine(self, number):
        """Whether a number is of memory that a trip made."""
        return self.run.owns(self.windows[number - 1][0])

    def numbered(self, choices, placeholder=None):
        """All the numbers that choices at the end of a trip may have."""
        found = set()
        for _, base, chain in choices:
            if base in self.may:
                found |= {self.composed(n, chain) for n in self.may[base] if not self.mine(n)}
                if base in self.unknown:
                    found.add(None)
            else:
                found.add(self.number(base, chain))
        found.discard(0)
        if None in found and placeholder is not None:
            self.unknown.add(placeholder)
        return found - {None} if placeholder is not None else found

    def carried(self, memory):
        """The row of a placeholder's number."""
        if memory not in self.rows:
            with_tests = self.firsts[memory]
            first = Lit(with_tests[-1][1], COUNTER)
            for test, number in with_tests[:-1]:
                first = either(current_trace().bring(test), Lit(number, COUNTER), first)
            param = self.emission.fresh(("weak", int))
            at = self.rows[memory] = self.emission.row(param, first, None)
            self.emission.results[at] = self.result(self.ends[memory])
        return self.rows[memory]

    def result(self, choices):
        """The number at the end of a trip, in the body."""
        rows = {base: self.carried(base) for _, base, _ in choices if self.may.get(base)}  # their first values belong outside
        with self.run.trace:
            bring = current_trace().bring
            value = None
            for test, base, chain in reversed(choices):
                if base in self.may:
                    x = self.emission.params[rows[base]] if base in rows else Lit(0, COUNTER)
                    held, own = x, {n for n in self.may[base] if self.mine(n)}
                    for n in sorted(own) if base in rows and not chain else ():
                        x = either(OPS["eq"](held, Lit(n, COUNTER)), Lit(0, COUNTER), x)
                    if chain and base in rows:
                        x = Lit(0, COUNTER)
                        for n in sorted(self.may[base] - own):
                            x = either(OPS["eq"](held, Lit(n, COUNTER)), Lit(self.composed(n, chain), COUNTER), x)
                else:
                    x = Lit(self.number(base, chain), COUNTER)
                value = x if value is None else either(bring(test), x, value)
            return value
