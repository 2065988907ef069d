"""Programs of symbolic sizes in the room of larger arrays: one program of concrete shapes for all sizes up to its own.

    made = in_room(generic, {"n": 64})
    made.func     takes arrays of the shapes at n = 64, and the true sizes as i64[] behind them

What lies beyond the true size of an axis is its tail, and junk: NaN, infinities, anything. A rule for each op says what
becomes of tails (`tails.py`), and puts a number there in which the op's result cannot hang on them, before it would
read them. An op without a rule is refused, with the user's line (`Unroomy`).
"""

from . import elements, moving, ordering, places, running, summing, systems  # noqa: F401, their rules
from .building import InRoom, in_room
from .tails import Unroomy

__all__ = ["InRoom", "Unroomy", "in_room"]
