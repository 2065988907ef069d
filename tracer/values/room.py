"""Room for what data make as long as they like: a number taken by value before anything tells it, which a call that
finds it too small has another trace replace."""

from ...ir.core import Lit
from ...ir.ops.control import COUNTER
from ..common.frames import locate
from .speculate import Assumed, Assumption, choices
from .storage import current_trace


def assumed_room(key, first):
    """(a number taken by value before anything tells it, its assumption's number): `first`, or what a call that found
    it too small has asked for; None where that cannot be. key: the same in each trace."""
    made = choices()
    if made is None:
        return None
    number = made.numbers.setdefault(key, len(made.numbers))
    made.wanted.add(number)
    k = next((k for k, t in enumerate(made.taken) if t.choice == number), len(made.taken))
    if k == len(made.taken):
        made.taken.append(Assumed(number, made.given.get(number, first), locate()))
    return made.taken[k].truth, k


def require_room(ok, assumption, wanted):
    """Have the program check that a number so taken is enough; else the call goes on in a trace that takes `wanted`, an
    int or a value."""
    wanted = Lit(wanted, COUNTER) if isinstance(wanted, int) else wanted
    current_trace().check(ok, Assumption, str(assumption), wanted)
