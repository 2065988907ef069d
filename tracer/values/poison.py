"""What a name holds after data decided between things that no one value can stand for: any use of it raises."""

import numpy as np

from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate
from .array import Traced, Unread
from .capturing import open_choice, unmerged
from .storage import current_trace

# what data may have chosen between
KINDS = (bool, int, float, complex, str, list, tuple, dict, set, np.ndarray, np.generic, Traced)
# that objects of any kind may have
OTHERS = "bool hash str repr bytes format eq ne lt le gt ge call next enter exit reduce".split()
USES = {f"__{n}__" for n in OTHERS}
USES |= {
    n for kind in KINDS for n in {*dir(kind)} - {*dir(object)} if n[:2] == n[-2:] == "__" and callable(getattr(kind, n))
}


class Poison(Unread):
    """Stands for a variable whose value is not one thing; `reason` says why, `choice` which choice could be made by
    value instead."""

    __slots__ = ("choice", "reason")
    stands = False  # whether it stands for one thing, that is there again later

    def __init__(self, reason, choice=None):
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "choice", open_choice() if choice is None else choice)

    def fail(self, *args, **kwargs):
        trace = current_trace()
        kind = CannotRoll if trace is not None and trace.looped else UnsupportedError  # for a trip, it may be one thing
        unmerged(self.choice, kind(message(f"{self.reason}, and is used here", locate())))

    def demand(self):
        """Ask for it, if all that is missing is the knowledge that it is needed."""
        if isinstance(self.choice, tuple):
            self.fail()

    def __getattr__(self, name):
        self.fail()

    def __setattr__(self, name, value):
        self.fail()

    def __dir__(self):
        self.fail()


for _use in USES:
    setattr(Poison, _use, Poison.fail)
