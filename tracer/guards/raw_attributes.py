"""Attributes read and stored without asking methods of the user's, which have run when the function was traced."""

import types

MISSING = object()


def of_class(kind, name):
    """What a class, by itself or by its bases, holds under a name, or MISSING; descriptors as they are."""
    for c in kind.__mro__:
        if name in vars(c):
            return vars(c)[name]
    return MISSING


def plainly(kind, name):
    """The method of a class for attributes, or the one of C's that those of the user's class stand before."""
    for c in kind.__mro__:
        found = vars(c).get(name)
        if found is not None and type(found) is not types.FunctionType:
            return found
    return getattr(object, name)


def put(owner, key, value):
    """`owner.key = value`; a `__setattr__` of the user's is not asked: it has run when the function was traced."""
    if type(of_class(type(owner), "__setattr__")) is types.FunctionType:
        plainly(type(owner), "__setattr__")(owner, key, value)
    else:
        setattr(owner, key, value)


def remove(owner, key):
    """`del owner.key`, likewise."""
    plainly(type(owner), "__delattr__")(owner, key)


def raw_attribute(owner, key, otherwise):
    """`owner.key`, or something else where it has none; `__getattr__` and `__getattribute__` of the user's are not
    asked."""
    kind = type(owner)
    if of_class(kind, "__getattr__") is MISSING and type(of_class(kind, "__getattribute__")) is not types.FunctionType:
        return getattr(owner, key, otherwise)
    try:
        return plainly(kind, "__getattribute__")(owner, key)
    except AttributeError:
        return otherwise
