"""What functions and methods answer about lists that grow where data decide (`bounded_lists.py`), and the loops over
them.

Every call made while such lists are there comes through `called_with`: it knows what answers for them; any other
function of C that is given one gets the list itself, its length taken by value.
"""

import functools
import types

import numpy as np

from ..common.errors import message, with_note
from ..common.frames import locate
from ..common.origin import is_user
from ..extents import numbers
from ..guards import state
from ..rewriter.sites import next_site
from ..values.array import TracedScalar
from ..values.storage import current_trace
from .bounded_lists import bounded_list, started
from .branch import choose
from .builtins import check
from .convert import convert
from .folds import Generated, all_loop, any_loop, item_at, sum_where_loop
from .growing import appending, gone_through, list_behind, shown_whole
from .list_changes import extending, popping
from .stand_ins import Counting

ITEMS = next_site(())
METHODS, FUNCTIONS = {}, {}
NUMPY = (type(np.sum), np.ufunc)
PASSING = {type, isinstance, id, callable}  # that ask for no items
OVER = {enumerate, zip}
BOUND_TO = (types.BuiltinFunctionType, types.MethodWrapperType)
CHANGING = {"append", "extend", "pop"}  # what loops know of lists that they change


def answers_for(table, *keys):
    def register(f):
        table.update(dict.fromkeys(keys, f))
        return f

    return register


def calling_with_lists(f, plain):
    """What to call in place of f while there are lists that grow; plain(f) is that without them."""
    if passes_on(f):
        return plain(f)
    return functools.partial(called_with, f, plain)


def called_late(f, plain, made, /, *args, **kwargs):
    """A call that is looked up before there are such lists: its arguments may have made the first. made: plain(f)."""
    return called_with(f, plain, *args, **kwargs) if current_trace().root.growing else made(*args, **kwargs)


def is_asked_late(f):
    """Whether it is to be asked again when a function that is looked up now is called."""
    return is_numpys(f) or type(f) in (types.BuiltinFunctionType, type) and (f in FUNCTIONS or f in OVER)


def passes_on(f):
    """Whether a function is the user's, or one that asks nothing of a list: it may be given any."""
    if isinstance(f, types.MethodType):
        f = f.__func__
    if type(f) is types.FunctionType:
        return is_user(f.__code__)
    return f in PASSING if type(f) in (types.BuiltinFunctionType, type) else False


def called_with(f, plain, /, *args, **kwargs):
    owner = list_behind(getattr(f, "__self__", None)) if type(f) in BOUND_TO else None
    held = bounded_list(owner) if type(owner) is list else None
    if held is not None:
        method = METHODS.get(f.__name__)
        if method is not None and not kwargs:
            return method(held, owner, *args)
    if type(owner) is list and f.__name__ not in CHANGING:
        shown_whole(owner)
    if args and (not kwargs or f in (max, min) and set(kwargs) == {"default"}):
        first = list_behind(args[0])
        held = bounded_list(first) if type(first) is list else None
        if held is not None and type(f) in (types.BuiltinFunctionType, type) and f in FUNCTIONS:
            found = FUNCTIONS[f](held, *args[1:], **kwargs)
            if found is not NotImplemented:
                return found
    if type(f) is type and f in OVER:
        args = tuple(map(gone_through, args))
    if is_numpys(f):
        args = tuple([x if (held := bounded_list(list_behind(x))) is None else held.array() for x in args])
    if not takes_growing(f, owner):
        for x in (*args, *kwargs.values()):
            shown_whole(x)
    return plain(f)(*args, **kwargs)


def takes_growing(f, owner):
    """Whether a function asks no more of a list than what is known of it while it grows."""
    return f is len or type(owner) is list and f.__name__ == "extend"


def is_numpys(f):
    return isinstance(f, NUMPY) or type(f) is types.BuiltinFunctionType and (f.__module__ or "").startswith("numpy")


# -- methods ---------------------------------------------------------------------------------------


@answers_for(METHODS, "append")
def append(held, owner, value):
    appending(owner)(value)


@answers_for(METHODS, "extend")
def extend(held, owner, values):
    extending(owner)(values)


@answers_for(METHODS, "pop")
def pop(held, owner, at=-1):
    if at != -1 or isinstance(at, TracedScalar):
        raise held.refuse("gives away an item other than its last")
    if held.head:
        raise held.refuse("gives away an item, which may be one that it began with, of another kind")
    if held.form.has_arrays:
        raise held.refuse("gives away an array")
    return (popping(owner) or held.pop)()


@answers_for(METHODS, "clear")
def clear(held, owner):
    if held.head:
        raise held.refuse("is cleared")
    held.shrinks = True
    held.count.write(numbers.operand(0))


@answers_for(METHODS, "copy")
def copy(held, owner):
    return copied(held)


# -- functions -------------------------------------------------------------------------------------


@answers_for(FUNCTIONS, list)
def copied(held):
    """Another list of the same items."""
    made = state.own([])
    if held.head or held.form.has_arrays or not held.shown:
        raise held.refuse("is copied")
    other = started(held.owner, held.form, 0, current_trace())
    other.owner = made
    other.show()
    return made


@answers_for(FUNCTIONS, bool)
def truth_of(held):
    return held.truth()


def line(held):
    """A Generated of the items, for the loops that folds are written as."""
    return Generated(Counting(held), None, ITEMS)


@answers_for(FUNCTIONS, sum)
def sum_of(held, start=0):
    return convert(sum_where_loop)(line(held), start, held.size())


def of_nothing(f):
    """What Python says of the greatest or the least of nothing: its releases differ."""
    try:
        return str(f([]))
    except ValueError as error:
        return str(error)


def extreme_by_loop(f, loop):
    words = of_nothing(f)

    def of(held, **default):
        some = held.truth()
        if default:
            return choose(some, lambda: convert(loop)(line(held), held.size()), lambda: default["default"])
        text = message(words, locate())
        if some is False:
            raise with_note(ValueError, text)
        if some is not True:
            check(some.value, ValueError, text)
        return convert(loop)(line(held), held.size())

    return of


@answers_for(FUNCTIONS, any)
def any_of(held):
    return convert(any_loop)(line(held), held.size(), False)


@answers_for(FUNCTIONS, all)
def all_of(held):
    return convert(all_loop)(line(held), held.size(), False)


# -- loops -----------------------------------------------------------------------------------------


def max_loop(g, count):
    best = item_at(g, 0)
    for k in range(1, count):
        x = item_at(g, k)
        best = x if x > best else best
    return best


def min_loop(g, count):
    best = item_at(g, 0)
    for k in range(1, count):
        x = item_at(g, k)
        best = x if x < best else best
    return best


FUNCTIONS[max], FUNCTIONS[min] = extreme_by_loop(max, max_loop), extreme_by_loop(min, min_loop)


@answers_for(FUNCTIONS, sorted)
def sorted_of(held):
    if not held.form.columns or len(held.memories) != 1 or held.head:
        return NotImplemented
    array = np.sort(held.array())
    made = state.own([])
    other = started(held.owner, held.form, 0, current_trace())
    if other.memories[0].value.type.kind == "f":
        nan = np.any(np.isnan(held.array()))
        text = "sorted() met a NaN, whose place Python leaves to chance; np.sort puts it last"
        check(np.logical_not(nan).value, type(held.refused("")), text)
    other.memories[0].write(array.array.value)
    other.owner = made
    other.show()
    return made
