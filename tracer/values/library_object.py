"""Objects of libraries that are made of traced values: each use of one is a call that the program makes."""

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from .asked import refuse_all_sizes


class LibraryObject:
    """`make(*args, **kwargs)`, given = (args, kwargs), which has traced values in it as they were: made when the
    program runs. like: such an object, made of the arrays. use: what gives an attribute, or calls a method."""

    __slots__ = ("_make", "_given", "_like", "_use", "_arrays", "_kept", "_read")

    def __init__(self, make, given, like, use, arrays):
        refuse_all_sizes("an object of a library tells sizes unseen")
        for name, x in zip(self.__slots__, (make, given, like, use, list(arrays), {}, {}), strict=True):
            object.__setattr__(self, name, x)

    @property
    def __class__(self):
        return type(self._like)

    def __getattr__(self, name):
        if callable(getattr(self._like, name)):
            return LibraryMethod(self, name)
        return self._use(self, name, None, None)

    def __call__(self, *args, **kwargs):
        if not callable(self._like):
            raise with_note(TypeError, message(f"{type(self._like).__name__!r} object is not callable", locate()))
        return self._use(self, "__call__", args, kwargs)

    def __bool__(self):
        if any(hasattr(type(self._like), name) for name in ("__bool__", "__len__")):
            refuse_use_of(self, "is asked for its truth")
        return True

    def __deepcopy__(self, memo):
        return refuse_use_of(self, "is copied")

    def fail(self, *args, **kwargs):
        return refuse_use_of(self, "is used otherwise than by its methods and attributes")

    __setattr__ = __delattr__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __array__ = fail
    __repr__ = __copy__ = __reduce_ex__ = fail
    __neg__ = __pos__ = __abs__ = __invert__ = __float__ = __int__ = __index__ = __complex__ = fail
    __lt__ = __le__ = __gt__ = __ge__ = fail
    for _name in "add sub mul matmul truediv floordiv mod divmod pow and or xor lshift rshift".split():
        locals()[f"__{_name}__"] = locals()[f"__r{_name}__"] = fail
    del _name


class LibraryMethod:
    """A method of such an object."""

    __slots__ = ("owner", "name")

    def __init__(self, owner, name):
        self.owner, self.name = owner, name

    def __eq__(self, other):
        return type(other) is LibraryMethod and (self.owner is other.owner and self.name == other.name)

    def __hash__(self):
        return hash((id(self.owner), self.name))

    def __call__(self, *args, **kwargs):
        return self.owner._use(self.owner, self.name, args, kwargs)


def refuse_use_of(x, what):
    text = f"a {type(x._like).__name__} made of traced values {what}, and is there only when the program runs"
    raise UnsupportedError(message(text, locate(), "Make it outside, and pass it as an argument."))
