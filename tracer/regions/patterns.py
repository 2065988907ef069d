"""What a `match` statement asks of traced values, of which Python's own answer would be about what stands for them."""

from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..guards.instances import hidden
from ..values.array import TracedScalar
from ..values.object_phi import ObjectPhi
from ..values.variant import Variant
from .builtins import REPLACED, STANDING
from .growing import shown_whole
from .objects import CELL, relied


def matched(x, *asked):
    """What a `match` statement takes apart. asked: "singletons", a pattern in it is True or False; "class", of it a
    class is asked, beside other things; "parts", of something in it."""
    relied(shown_whole(x))
    x = x.fail() if type(x) in (ObjectPhi, Variant) else CELL.cell_contents.one_thing(x)
    if "singletons" in asked and any(isinstance(n, TracedScalar) and n.dtype.kind == "b" for n in pytree.leaves(x)):
        text = "`case True` and `case False` ask which of the two a truth value is that only the running program knows"
        raise UnsupportedError(message(text, locate(), "Write if and else."))
    if "class" in asked and isinstance(x, STANDING) or "parts" in asked and hidden(x) is not None:
        text = "a class pattern with parts asks which class a value is of that only the running program knows"
        raise UnsupportedError(message(text, locate(), "Write case C(): without parts, or if isinstance(x, C)."))
    return x


def is_instance(x, kinds):
    """What `case C():` and `case A() | B():` ask."""
    return REPLACED[isinstance](x, kinds)
