"""Instances of the user's subclasses of np.ndarray while they are traced: memory, and attributes beside it.

An `ArrayObject` is no traced value: whoever asks it for its elements without knowing of classes gets none. Its memory
is a `TracedArray`; which class NumPy gives to what is made of it says `numpy_api.result_classes`; its attributes lie in
its `__dict__`, or, of an instance from outside, in that. It has the special methods of the user's class, and for all
that NumPy asks of arrays those below, which `installations` fills.
"""

import operator

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate


class ArrayObject:
    """A stand-in for an instance of a class. Its own names are spelt so that no attribute of the user's meets them."""

    __slots__ = ("__memory", "__outside", "__dict__", "__weakref__")
    __stands_for__ = np.ndarray
    __array_priority__ = 2000
    __hash__ = None
    # `installations`: (f, what stands for f, args, kwargs) -> the result, of the class that NumPy gives it; an
    # attribute, with hooks; what is gone through; the memory
    __apply__ = __attribute__ = __elements__ = __plainly__ = None

    @property
    def __of_trace__(self):
        """The memory, as a traced array; None of an instance from outside of which nobody has asked for it."""
        return self.__memory

    @__of_trace__.setter
    def __of_trace__(self, array):
        self.__memory = array

    @property
    def __of_caller__(self):
        """The caller's instance; None if it is made in the trace."""
        return self.__outside

    @__of_caller__.setter
    def __of_caller__(self, instance):
        self.__outside = instance

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ArrayObject.__apply__(getattr(ufunc, method), None, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return ArrayObject.__apply__(func, None, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        raise refused_use(self, "became a plain ndarray in code that is not captured")

    def __getattr__(self, name):
        if name in ("__array_interface__", "__array_struct__"):  # which NumPy asks for before `__array__`
            raise AttributeError(name)
        return ArrayObject.__attribute__(self, name)

    def __str__(self):
        raise refused_use(self, "is made text of")

    def __format__(self, spec):
        raise refused_use(self, "is made text of")

    def __repr__(self):
        raise refused_use(self, "is made text of")

    def __told__(self):
        """In a message of ours."""
        return f"<traced {type(self).__stands_for__.__name__}>"

    def __iter__(self):
        return iter(ArrayObject.__elements__(self))

    def __reduce__(self):
        raise refused_use(self, "is pickled")


def refused_use(x, what):
    text = f"a {type(x).__stands_for__.__name__}, a subclass of np.ndarray, {what}"
    return UnsupportedError(message(text, locate(), "Use np.asarray(x) there."))


def of_operator(f):
    def apply(*operands):
        return ArrayObject.__apply__(f, None, operands, {})

    return apply


def mirrored(f):
    def apply(self, other):
        return ArrayObject.__apply__(f, None, (other, self), {})

    return apply


def of_number(f):
    return lambda self: f(ArrayObject.__plainly__(self))


def define_operators():
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
        f = getattr(operator, f"__{name}__")
        setattr(ArrayObject, f"__{name}__", of_operator(f))
        setattr(ArrayObject, f"__r{name}__", mirrored(f))
        setattr(ArrayObject, f"__i{name}__", of_operator(getattr(operator, f"__i{name}__")))
    for name in "lt le gt ge eq ne neg pos abs invert getitem setitem contains".split():
        setattr(ArrayObject, f"__{name}__", of_operator(getattr(operator, f"__{name}__")))
    for f in (bool, int, float, complex, len, operator.index):
        setattr(ArrayObject, f"__{f.__name__}__", of_number(f))
    ArrayObject.__divmod__, ArrayObject.__rdivmod__ = of_operator(divmod), mirrored(divmod)


define_operators()
