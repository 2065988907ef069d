"""Outside arrays whose elements the trace knows: those of dtypes that no program takes in, and small ones that decide
what is traced.

Python and NumPy work on them while tracing, stores included. So what they held is kept and put back after the trace;
where they hold something else in the end, every call stores that: what is guarded by its contents ends with the same
contents each time.
"""

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from . import isolation
from .effects import Original
from .guard import alike
from .object_contents import give_back

RELIED_ON = 1 << 14  # elements of an array that may be guarded by its contents


class ElementsSlot:
    """The place whose array is to hold other elements."""

    def __init__(self, read, now):
        self.read, self.now, self.name = read, now, f"{read.name}[...]"

    def target(self):
        return self.read.get()

    def store(self, array, _):
        array[...] = self.now


class ReliedArrays:
    """id of an array -> (it, what it held when the trace met it, the Read that met it)"""

    def __init__(self):
        self.met = {}

    def meet(self, array, read):
        """What the array held when the trace met it first."""
        if id(array) not in self.met:
            if array.size > RELIED_ON:
                what = (
                    f"of dtype {array.dtype}"
                    if type(array) is np.ndarray
                    else f"a {type(array).__name__}, a subclass of ndarray,"
                )
                text = f"the array {read.name} {what} has {array.size} elements, too many to be compared at every call"
                raise UnsupportedError(
                    message(text, locate(), "Make an array of numbers of it outside: np.asarray(x, float).")
                )
            self.met[id(array)] = array, array.copy(), read
        return self.met[id(array)][1]

    def knowable(self, inputs):
        """Of what a trace takes in, the whole numbers in small arrays: where it has to know them, it relies on them."""
        known = lambda x: type(x) is np.ndarray and x.dtype.kind in "biu" and x.size <= RELIED_ON
        return {value for read, value in inputs if known(read.value)}

    def changed(self):
        return [(array, held, read) for array, held, read in self.met.values() if not alike(array, held)]

    def effects(self):
        """[(place, None)] of those that every call is to leave with other elements."""
        out = []
        for array, held, read in self.changed():
            isolation.refuse(f"it stores to {read.name}")
            if array.shape != held.shape or array.dtype != held.dtype:
                text = f"the shape or dtype of {read.name}, an array outside, is changed in place"
                raise UnsupportedError(message(text, None, "Make another array of it: y = x.reshape(...)."))
            out.append((ElementsSlot(read, array.copy()), None))
        return out

    def given(self, array):
        """An array that leaves the trace: that which the place holds at a call, in place of one of these."""
        base = array
        while isinstance(base, np.ndarray):
            found = self.met.get(id(base))
            if found is not None and base is array:
                return Original(found[2])
            if found is not None:
                text = (
                    f"a view of {found[2].name} is returned or stored, an array outside that is compared by its "
                    "elements at every call"
                )
                raise UnsupportedError(message(text, None, "Return a copy: x[1:].copy()."))
            base = base.base
        return array

    def restore(self):
        """Put back what they held."""
        for array, held, _ in self.changed():
            give_back(array, held)
