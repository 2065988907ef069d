"""What a class gives for a name, found or not, is relied on wherever Python looks it up on the class: special methods,
and `super()`."""

from ..guards.guard import MISSING, of_class
from ..guards.reliance import of_user
from ..guards.subclasses import class_behind
from ..values.storage import current_trace


def looked_up(kind, *names):
    """Rely on what a class of the user's holds under names that Python looks up on it, be it nothing."""
    trace = current_trace()
    kind = class_behind(kind)
    if trace is None or not of_user(kind):
        return
    trace.root.outside.stray.meet(kind)
    for name in names:
        found = of_class(kind, name)
        simple = found is not MISSING and getattr(kind, name, MISSING) is found  # which is quicker to ask
        trace.root.outside.read("attribute" if simple else "class", kind, name, f"{kind.__name__}.{name}")


class ArrayInterface:
    """`x.__array_interface__` of a traced array: whoever makes an array of what says so has x."""

    def __init__(self, array):
        self.array = array
