"""One of several objects of a class, as data decide: what names and attributes hold where they meet.

Its attributes are chosen one by one when the ways meet. So it cannot be changed, which of the objects it is is not to
be asked, and once one of them has been changed it is not read any more: anything else raises.
"""

from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate
from .capturing import unmerged
from .poison import USES, Poison
from .storage import current_trace


class ObjectPhi(Poison):
    """kind: the class; attributes: name -> value, a Poison where the objects have things that do not meet; choice: the
    first of the choices that led to it; sources: id -> (an object that it may be, how often that had been changed)."""

    __slots__ = ("attributes", "kind", "sources")

    def __init__(self, kind, attributes, choice=None):
        super().__init__(f"one of several objects of {kind.__name__}, as data decide,", choice)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "sources", {})

    def depend_on(self, objects):
        """Be one of these, as they are now."""
        changes = current_trace().root.changes
        for x in objects:
            for part in (x, getattr(x, "__dict__", x)):
                self.sources[id(part)] = part, changes[id(part)]

    @property
    def stale(self):
        """Whether one of the objects has been changed since."""
        changes = current_trace().root.changes
        return any(changes[at] != count for at, (_, count) in self.sources.items())

    def read(self):
        """The attributes as they are; an object among them is one of this one's too."""
        if self.stale:
            self.refuse("is read, one of which has been changed since")
        for x in self.attributes.values():
            if type(x) is ObjectPhi:
                x.sources.update(self.sources)
        return self.attributes

    def fail(self, *args, **kwargs):
        self.refuse("is changed, compared or handed on")

    def refuse(self, what):
        text = message(f"{self.reason} {what}", locate(), "Let both sides change the attributes of one object.")
        if current_trace() is not None and current_trace().region is not None:
            raise CannotRoll(text)
        unmerged(self.choice, UnsupportedError(text))


def kind_of_object(x):
    """The class of an object, or of those that an ObjectPhi may be."""
    return x.kind if type(x) is ObjectPhi else type(x)


for _use in USES:
    setattr(ObjectPhi, _use, ObjectPhi.fail)
