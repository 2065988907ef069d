"""Plain Python in the place of small calls that the generated function in front does not answer.

It tests few signatures inline. Calls that come with more of them in turn, or take other ways through what data choose,
are told apart at each call, which takes 10 to 100 us: more than many of them take in plain Python. So such calls are
timed, some by one way and some by the other, and the faster answers the others; each call runs once. One of some goes
the way of the programs on, and the two are compared again and again.
"""

from ...ir.amounts import in_time
from ..common import events
from ..program.siblings import sets_of
from ..rules import rules
from .contest import ONCE, expected, is_timed, may_be_plain
from .patience import are_all_plain

QUIET = 128  # bound: such calls in a row of which none had a trace made, before they are timed
TIMED = 32  # bound: calls of each way that are compared
FASTER = 0.8  # bound: share of the others' time that plain Python may take, to answer from then on
STILL = 1.0  # bound: likewise, where it has answered
BRIEF = 1e-3  # bound: seconds that plain Python may take for a call, where the programs take less
FEW = 2  # bound: calls among those compared for which it may take longer, as they had to wait
ONE_IN = 64  # bound: of so many calls one goes the way of the programs, where plain Python answers the others
AGAIN = 8192  # bound: calls until plain Python is tried again where it has lost
MIXED = 0x9E3779B1  # fact: the odd number whose multiples Knuth spreads with: sizes in turn go both ways
TEXT = "it takes less time than to find the program of a call"


class SlowCalls:
    """Of one Compiled. calls: how many are timed by now, less than 0 before; may: whether plain Python may answer, once
    they are; spent, counts: seconds of those that went each way, programs' first, and how many they were; plain:
    whether plain Python answers most; answered: how many it has; rested: seconds that it took for those since a call
    was looked at; total: that the programs have taken since there was a new one."""

    def __init__(self):
        self.made, self.answered, self.rested, self.total = 0, 0, 0.0, 0.0
        self.begin(QUIET)

    def begin(self, calls):
        """Time calls after so many more."""
        self.calls, self.may, self.plain = -calls, False, False
        self.forget()

    def forget(self):
        self.spent, self.counts, self.long = [0.0, 0.0], [0, 0], 0

    def is_plain_next(self, compiled, args, kwargs):
        """Whether plain Python is to answer a call."""
        if compiled.patience.made != self.made:
            self.made, self.total = compiled.patience.made, 0.0
            self.begin(QUIET)
        self.calls += 1
        if self.calls < 0:
            return False
        if not self.may:
            if not may_begin(compiled, self.total):
                self.begin(AGAIN)
                return False
            self.may = True
        spread = (self.calls * MIXED & 0xFFFFFFFF) >> 16
        plain = spread % ONE_IN > 0 if self.plain else spread & 1
        return plain and are_all_plain(args, kwargs) and not rules.numbers_change()

    def took(self, compiled, plain, seconds):
        """Note what a call took, which went one way or the other."""
        if plain:
            self.answered, self.rested = self.answered + 1, self.rested + seconds
        else:
            self.total += seconds
        if self.calls < 0:
            return
        spent, counts = self.spent, self.counts  # another thread may begin anew
        spent[plain], counts[plain] = spent[plain] + seconds, counts[plain] + 1
        self.long += plain and seconds > max(BRIEF, spent[0] / max(counts[0], 1))
        if self.long > FEW:
            self.begin(AGAIN)
        elif min(counts) >= TIMED:
            self.decide(compiled, *(total / count for total, count in zip(spent, counts)))

    def unseen(self):
        """Seconds that plain Python has taken for calls since this was asked last."""
        seconds, self.rested = self.rested, 0.0
        return seconds

    def decide(self, compiled, ours, plain):
        """Have plain Python answer from now on, or the programs: from the seconds of a call either way."""
        if plain > (STILL if self.plain else FASTER) * ours:
            self.begin(AGAIN)
            return
        if not self.plain:
            text = lambda: f"calls not known in front run as plain Python: {in_time(plain)} against {in_time(ours)}"
            events.report("compile", "engine", text, of=compiled, engine="plain Python")
        self.plain = True
        self.forget()


def may_begin(compiled, total):
    """Whether plain Python gives what the programs give, and takes little as far as is known, or no longer than they
    have taken in all, `total` seconds."""
    sets = sets_of(compiled)
    versions = [version for here in sets for version in here.versions]
    families = [made for here in sets if here.sizing is not None for made in here.sizing.families]
    if not may_be_plain(compiled) or any(made.free is not None for made in families):
        return False
    return all(is_timed(v) and expected(v.captured.func) <= max(ONCE, total) for v in versions)
