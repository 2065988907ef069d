"""Which methods of Python's containers leave them as they are: a positive list. All others change them."""

import types

from .state import CONTAINERS

READING = frozenset(
    """
    copy count index get keys values items union intersection difference symmetric_difference isdisjoint issubset
    issuperset fromkeys elements most_common total
    __contains__ __getitem__ __missing__ __iter__ __len__ __length_hint__ __reversed__ __bool__ __eq__ __ne__ __lt__
    __le__ __gt__ __ge__ __hash__ __add__ __radd__ __mul__ __rmul__ __or__ __ror__ __and__ __rand__ __sub__ __rsub__
    __xor__ __rxor__ __repr__ __str__ __format__ __sizeof__ __dir__ __copy__ __reduce__ __reduce_ex__ __getstate__
    __new__ __getattribute__ __class_getitem__ __init_subclass__ __subclasshook__
    """.split()
)
ATTRIBUTES = {"__setattr__", "__delattr__"}  # are not of what it holds
DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)
BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)


def changed_by(f, args=()):
    """The container that a call of this method changes, or None: a bound method of C, or an unbound one with its
    arguments."""
    if isinstance(f, BOUND):
        owner = f.__self__
    elif isinstance(f, DESCRIPTORS) and args:
        owner = args[0]
    else:
        return None
    if not isinstance(owner, CONTAINERS) or f.__name__ in READING or f.__name__ in ATTRIBUTES:
        return None
    return None if f.__name__ == "__init__" and not owner else owner
