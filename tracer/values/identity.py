"""Questions about arrays as objects: is it that one, whose memory is it, who shares it, may it be written.

Where data chose what an array is, the answers are values of the program. Of arguments the trace relies on what a call
can tell (`Captured.relied`): that an array is no view of another, that two of them are not one, that two of them lie
apart.
"""

import functools

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import TRUTH
from ..common.errors import CannotRoll, UnsupportedError, message, with_note
from ..common.frames import locate
from .array import Traced, TracedArray, TracedScalar, Unread
from .storage import AliasSet, UnknownAlias, current_trace, memories, select_whole
from .views import dynamic

COPY = "Take a copy where it is chosen: x = y.copy()."


def same_object(x, y):
    """`x is y`, as a bool or a traced one."""
    x, y = array_stand_in(x), array_stand_in(y)
    if x is not y and isinstance(x, Traced) and isinstance(y, Traced):
        refuse_rebound(x, y)
    if not (type(x) is type(y) is TracedArray):
        return x is y
    for i in arguments(x):
        for j in arguments(y) - {i}:
            rely(i, ("other than", j), True)
    return answer(
        x, y, lambda a, b: a[0] is b[0] and len(a[1]) == len(b[1]) and all(p is q for p, q in zip(a[1], b[1]))
    )


def refuse_rebound(x, y):
    """Refuse to compare an array that a loop may have made longer with what it was before, for it may be that."""
    known = current_trace().root.rebound
    for a, b in ((x, y), (y, x)):
        while id(a) in known:
            a = known[id(a)][1]
            if a is b:
                text = "whether an array is what it was before a loop is asked, which made it longer as data decided"
                raise UnsupportedError(message(text, locate(), "Compare their lengths."))


def array_stand_in(x):
    """What stands for an outside array in the trace."""
    outside = current_trace().root.outside
    return outside.array(x) if type(x) is np.ndarray and id(x) in outside.paths else x


def share(x, y, ask):
    """Whether two arrays share memory, as `ask`, a function of NumPy's, sees it."""
    for z in (x, y):
        if isinstance(z, Unread):
            z.fail()
    if not (type(x) is type(y) is TracedArray):
        return False
    for i in arguments(x):
        for j in arguments(y) - {i}:
            rely(i, ("apart", j), True)
    return answer(x, y, lambda a, b: a[0] is b[0] and bool(ask(*sample_views(a[0], a[1], b[1]))))


def arguments(x):
    return {s.origin for s in memories(x.storage) if s.origin is not None and s.trace is current_trace().root}


def sample_views(storage, *chains):
    """ndarrays that lie in one as the windows lie in the memory."""
    if any(map(dynamic, chains)):
        text = "whether two windows of an array share memory is asked, of which data decide where one lies"
        raise UnsupportedError(message(text, locate()))
    whole = np.empty(storage.value.type.shape, storage.value.type.dtype)
    return [functools.reduce(lambda array, step: step.apply(array), chain, whole) for chain in chains]


def window(storage, chain):
    """What tells which elements of a memory a chain of views shows, and in which order; None where that is not
    known."""
    if isinstance(storage, AliasSet | UnknownAlias) or storage.frozen or dynamic(chain):
        return None
    whole, shown = sample_views(storage, (), chain)
    if not np.may_share_memory(whole, shown):
        return None
    steps = tuple([step if n > 1 else 0 for step, n in zip(shown.strides, shown.shape)])
    return shown.ctypes.data - whole.ctypes.data, shown.shape, steps, shown.dtype, shown.flags.writeable


def answer(x, y, ask):
    """`ask` of the two arrays, each as (memory, chain), whichever they are."""
    current_trace().rely_on_layouts_of(x.storage, y.storage)
    value = of_each(x.storage, x.chain, lambda *a: of_each(y.storage, y.chain, lambda *b: leaf(a, b, ask)))
    return bool(value.value) if isinstance(value, Lit) else TracedScalar(value, bool)


def leaf(a, b, ask):
    for p, q in ((a, b), (b, a)):
        if isinstance(p[0], UnknownAlias) and p[0] is not q[0] and {*memories(p[0])} & {*memories(q[0])}:
            text = "an array that is one of several, as data decided in a loop, is compared with one of them"
            raise UnsupportedError(message(text, locate(), COPY))
    if a[0] is not b[0] and (
        standing(a[0]) and not made_in_trip(b[0], a[0]) or standing(b[0]) and not made_in_trip(a[0], b[0])
    ):
        raise unknown_identity()
    return Lit(ask(a, b), TRUTH)


def standing(storage):
    """Whether memory stands for what a name holds when a trip begins, which may be memory from before the trip."""
    return storage.trace is not None and storage in storage.trace.standing


def made_in_trip(storage, other):
    """Whether memory was made in the trip at whose beginning `other` was there already."""
    trace = storage.trace
    while trace is not None and trace is not other.trace:
        trace = trace.parent
    return trace is not None and not standing(storage)


def unknown_identity():
    text = "whether a name that a loop carries is another array, or a view of one, is asked in the loop"
    return CannotRoll(message(text, locate(), "Ask before the loop, or carry a number that says which array it is."))


def of_each(storage, chain, ask):
    """`ask(memory, chain)`, a truth, of whichever memory an array is."""
    if isinstance(storage, UnknownAlias) and storage.told is not None:
        storage = storage.told
    if not isinstance(storage, AliasSet):
        return ask(storage, chain)
    value = None
    for test, base, steps in reversed(storage.choices):
        x = of_each(base, (*steps, *chain), ask)
        same = value is None or isinstance(x, Lit) and isinstance(value, Lit) and bool(x.value) == bool(value.value)
        value = x if same else select_whole(current_trace().bring(test), x, value)
    return value


def rely(origin, what, found):
    current_trace().root.relied[origin, what] = found


def owner(x):
    """Whether an array owns its memory, as far as arrays go; None where data decide."""
    if any(map(standing, memories(x.storage))):
        raise unknown_identity()
    if isinstance(x.storage, UnknownAlias) and x.storage.told is None:
        return None
    current_trace().rely_on_layouts_of(x.storage)
    value = of_each(x.storage, x.chain, lambda storage, chain: Lit(not chain, TRUTH))
    for i in arguments(x):
        rely(i, "owner", True)
    return bool(value.value) if isinstance(value, Lit) else None


def base(x):
    """`x.base`."""
    own = owner(x)
    if own:
        return None
    if type(x.storage) not in (AliasSet, UnknownAlias):
        return TracedArray(x.storage)
    bases = memories(x.storage)
    types = {s.value.type for s in bases}
    if own is None or len(types) > 1 or type(x.storage) is UnknownAlias:
        text = "the base of an array is asked for, which is one of several, as data decided"
        raise UnsupportedError(message(text, locate(), COPY))
    found = AliasSet([(test, s, ()) for test, s, _ in x.storage.choices], types.pop())
    return TracedArray(found if len(found.choices) > 1 else bases[0])


class Flags:
    """`x.flags`: of the array's memory layout as the shadow has them; `writeable` may be set."""

    def __init__(self, x):
        object.__setattr__(self, "_array", x)

    def _seen(self):
        x = self._array
        if isinstance(x, np.ndarray):
            return x.flags
        current_trace().rely_on_layout(x.storage, row=True)
        own = owner(x)
        shadow = x.shadow[...] if not own else np.empty_like(x.shadow)
        if not self.writeable:
            shadow.flags.writeable = False
        return shadow.flags

    @property
    def writeable(self):
        x = self._array
        for i in arguments(x):
            if not x.storage.frozen:
                rely(i, "writeable", not x.storage.readonly)
        return x.writeable

    @writeable.setter
    def writeable(self, to):
        set_writeable(self._array, bool(to))

    def __getattr__(self, name):
        if name == "owndata" and not isinstance(self._array, np.ndarray) and owner(self._array) is None:
            raise UnsupportedError(
                message(
                    "whether an array owns its memory is asked, which is one of several, as data decided",
                    locate(),
                    COPY,
                )
            )
        return getattr(self._seen(), name)

    def __setattr__(self, name, value):
        if name != "writeable":
            raise UnsupportedError(message(f"flags.{name} is set", locate()))
        set_writeable(self._array, bool(value))

    def __getitem__(self, key):
        named = {"W": "writeable", "WRITEABLE": "writeable", "O": "owndata", "OWNDATA": "owndata"}.get(key)
        return self._seen()[key] if named is None else getattr(self, named)

    def __setitem__(self, key, value):
        setattr(self, {"W": "writeable", "WRITEABLE": "writeable"}.get(key, str(key).lower()), value)

    def __eq__(self, other):
        return self._seen() == (other._seen() if isinstance(other, Flags) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._seen())


def set_flags(x, write=None, align=None, uic=None):
    """`x.setflags(...)`, which does nothing to NumPy's scalars."""
    if isinstance(x, TracedScalar):
        return
    if align is not None and not align or uic:
        raise UnsupportedError(message("setflags(align=..., uic=...) is not captured", locate()))
    if write is not None:
        set_writeable(x, bool(write))


def set_writeable(x, to):
    """Make an array read-only, or not."""
    storage, ids = x.storage, tuple(map(id, x.chain))
    trace = current_trace()
    if type(storage) in (AliasSet, UnknownAlias):
        raise UnsupportedError(
            message("the flags of an array are set, which is one of several, as data decided", locate(), COPY)
        )
    if trace.repeated:
        raise CannotRoll(
            message("the flags of an array are set inside a loop or branch that is captured as a whole", locate())
        )
    for i in arguments(x):
        if not storage.frozen:
            rely(i, "writeable", not storage.readonly)
    if to == x.writeable:
        return
    if storage.trace is not trace or to and storage.readonly:
        raise UnsupportedError(
            message("an array from outside the function is made writeable, or read-only inside a transform", locate())
        )
    if not to:
        storage.frozen = {**(storage.frozen or {}), ids: x.chain}
    elif ids and (() in (storage.frozen or ()) or not all(hasattr(step, "put") for step in x.chain)):
        raise with_note(ValueError, message("cannot set WRITEABLE flag to True of this array", locate()))
    else:
        storage.frozen = {k: v for k, v in (storage.frozen or {}).items() if k != ids}
        x._shadow = (
            None
            if not ids
            else functools.reduce(
                lambda array, step: step.apply(array), x.chain, np.empty_like(TracedArray(storage).shadow)
            )
        )
