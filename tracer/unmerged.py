"""What a name holds after data decided between things that no one value can stand for: any use of it raises."""

from .array import Unread
from .assume import open_choice, unmerged
from .errors import UnsupportedError, message
from .frames import locate

USES = """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor
iadd isub imul itruediv ifloordiv imod ipow imatmul lt le gt ge eq ne neg pos abs invert bool len iter next call getitem setitem delitem contains
float int complex index hash str format enter exit array array_ufunc array_function"""


class Unmerged(Unread):
    """Stands for a variable whose value is not one thing; `reason` says why, `choice` which choice could be made by value instead."""

    def __init__(self, reason, choice=None):
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "choice", open_choice() if choice is None else choice)

    def fail(self, *args, **kwargs):
        unmerged(self.choice, UnsupportedError(message(f"{self.reason}, and is used here", locate())))

    def demand(self):
        """Ask for it, if all that is missing is the knowledge that it is needed."""
        if isinstance(self.choice, tuple):
            self.fail()

    def __getattr__(self, name):
        self.fail()

    def __setattr__(self, name, value):
        self.fail()

    def __repr__(self):
        return f"<{self.reason}>"


for _use in USES.split():
    setattr(Unmerged, f"__{_use}__", Unmerged.fail)
