"""`isinstance` and `issubclass` in traced code: a class may change its bases, and a metaclass may answer what it likes.

A check that the user has written is traced like any function. All others are asked again at every call, where a class
of the user's is in question: of the object itself if it was there before, else of its class.
"""

import types
import typing

from ..common.frames import locate
from ..guards.guard import Read, snapshot
from ..guards.instances import blank
from ..guards.reliance import of_user
from ..values.object_phi import ObjectPhi
from ..values.storage import current_trace
from .builtins import REPLACED, bool_, replaces, sample
from .convert import CELL
from .objects import class_of, special


class Answer(Read):
    """What a function of C's says of objects, which the guard asks again."""

    __slots__ = ("function", "args")

    def __init__(self, function, args, name, source):
        self.function, self.args = function, args
        super().__init__("call", function, snapshot(args), name, source)

    def get(self):
        return self.function(*self.args)

    def text(self, named):
        return f"{named(self.function)}({', '.join(map(named, self.args))})"


def rely_on_answer(function, *args):
    """Rely on an answer, which is given."""
    made = Answer(
        function,
        args,
        f"{function.__name__}({', '.join(getattr(x, '__name__', type(x).__name__) for x in args)})",
        locate(),
    )
    current_trace().root.outside.reads.setdefault(made.place, made)


def each(kinds):
    """The classes in the second argument."""
    if isinstance(kinds, tuple):
        return [k for inner in kinds for k in each(inner)]
    return list(kinds.__args__) if isinstance(kinds, types.UnionType) else [kinds]


def own_check(kind, name):
    """The check of a metaclass of the user's, or None."""
    return special(type(kind), name) if isinstance(kind, type) else None


plain = REPLACED[isinstance]


@replaces(isinstance)
def isinstance_(x, kinds, /):
    trace = current_trace()
    if trace is None:
        return plain(x, kinds)
    x = blank(x.kind) if type(x) is ObjectPhi else x
    asked = each(kinds)
    if any(own_check(k, "__instancecheck__") for k in asked):
        class_of(x)
        return one_of(asked, lambda k: type(x) is k or of(k, "__instancecheck__", x, isinstance_))
    found, kind = plain(x, kinds), type(x)
    if kind is not type and any(of_user(k) for k in (kind, *asked) if isinstance(k, type)):
        if trace.root.outside.knows(x) and trace.root.outside.way(x) is None:
            rely_on_answer(isinstance, x, kinds)
        else:
            rely_on_class(type(sample(x)) if kind.__module__.startswith(OURS) else kind, kinds, asked)
    return found


def annotated(kind):
    """The names a protocol says to have; before Python 3.13 there is no function that tells."""
    return (n for c in kind.__mro__ for n in (*vars(c), *vars(c).get("__annotations__", ())))


members = getattr(typing, "get_protocol_members", annotated)
NO_MEMBERS = {n for c in typing.SupportsInt.__mro__ for n in (*dir(c), *vars(c))} - {"__int__"}
OURS = __name__.partition(".")[0] + "."


def rely_on_class(kind, kinds, asked):
    """Rely on what a class is to others: a subclass, or one that has the members of a protocol."""
    protocols = [k for k in asked if getattr(k, "_is_protocol", False)]
    for name in {n for k in protocols for n in members(k)} - NO_MEMBERS:
        rely_on_answer(hasattr, kind, name)
    if not protocols:
        rely_on_answer(issubclass, kind, kinds)
    elif len(protocols) < len(asked):
        rely_on_answer(issubclass, kind, tuple(k for k in asked if k not in protocols))


@replaces(id)
def id_(x, /):
    if current_trace() is not None:
        current_trace().root.outside.pin(x)
    return id(x)


@replaces(issubclass)
def issubclass_(kind, kinds, /):
    if current_trace() is None:
        return issubclass(kind, kinds)
    asked = each(kinds)
    if any(own_check(k, "__subclasscheck__") for k in asked):
        return one_of(asked, lambda k: of(k, "__subclasscheck__", kind, issubclass_))
    found = issubclass(kind, kinds)
    if any(of_user(k) for k in (kind, *asked) if isinstance(k, type)):
        rely_on_answer(issubclass, kind, kinds)
    return found


def of(kind, name, x, otherwise):
    """What the metaclass of a class says, with hooks."""
    check = own_check(kind, name)
    return otherwise(x, kind) if check is None else bool_(CELL.cell_contents.call(types.MethodType(check, kind))(x))


def one_of(asked, says):
    """Whether any class answers yes; the only one's answer may be data."""
    return says(asked[0]) if len(asked) == 1 else any(map(says, asked))


ANSWERING = (isinstance_, issubclass_)
