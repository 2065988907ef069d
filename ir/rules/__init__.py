"""Identities, read as equations: one table a file. `RULES` is what `simplify` applies; `EXACT` changes no bit.

Exact rules give the same bits as the left side in NumPy, for NaN, infinities and signed zeros too.
Inexact ones may change the last digits, and may give the true value where the left side overflows; none hides a NaN or
an infinity that the exact value of the left side has. The sign of a zero is none of the last digits: a rule that may
change it says which kinds it `keeps`, and leaves what the user wrote in others as it is.
"""

from .algebra import ALGEBRA
from .contractions import CONTRACTIONS
from .control import CHOICES, CONTROL
from .fold import FOLD
from .layout import LAYOUT
from .parts import PARTS
from .stability import STABILITY
from .sums import SUMS
from .systems import SYSTEMS
from .windows import WINDOWS

RULES = FOLD + ALGEBRA + STABILITY + LAYOUT + SUMS + CONTRACTIONS + PARTS + SYSTEMS + WINDOWS + CONTROL + CHOICES
EXACT = RULES.exact()

__all__ = [
    "ALGEBRA", "CHOICES", "CONTRACTIONS", "CONTROL", "EXACT", "FOLD", "LAYOUT", "PARTS", "RULES", "STABILITY", "SUMS",
    "SYSTEMS", "WINDOWS",
]
