"""Text with traced values in it: made when the program runs, or, where Python asks for it before, of numbers that are
taken by value."""

import operator

import numpy as np

from ..common import pytree
from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate
from .array import Traced, TracedArray, TracedScalar, fresh
from .outermost import number_of_key
from .sizes import integer_of
from .storage import current_trace


class TracedText:
    """Text with traced values in it: `make(*values)` is the string, `values` are what it is made from, as they are
    now."""

    def __init__(self, make, values, template):
        self.make, self.values, self.template = make, held_now([integer_of(x) for x in values]), template

    def known(self):
        """The string, of this call's numbers; None where they are not to be known."""
        values = known_now(self.values)
        return None if values is None else self.make(*values)

    def _text(self):
        """The string, which Python asks for."""
        if current_trace() is None:
            return self.template
        found = self.known()
        if found is not None:
            return found
        kind = CannotRoll if current_trace().repeated else UnsupportedError
        raise kind(
            message(
                "the text of a traced value is needed while tracing, and known only when the program runs",
                locate(),
                "Such text can be printed, joined, returned and stored.",
            )
        )

    def __deepcopy__(self, memo):
        return self

    __copy__ = __deepcopy__

    def __getattr__(self, name):
        if name in GIVES_TEXT:
            return lambda *args, **kwargs: TracedText(
                lambda s, a, k: getattr(s, name)(*a, **k), [self, list(args), kwargs], "{…}"
            )
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute '{name}'")
        return getattr(self._text(), name)

    def __getitem__(self, key):
        return TracedText(operator.getitem, [self, key], "{…}") if isinstance(key, slice) else self._text()[key]

    def __mod__(self, values):
        return TracedText(operator.mod, [self, values], "{…}")

    def __mul__(self, count):
        return TracedText(operator.mul, [self, count], "{…}")

    __rmul__ = __mul__

    def __repr__(self):
        return f"<text {self.template!r}>"

    def __add__(self, other):
        return joined_text(operator.add, self, other) if isinstance(other, str | TracedText) else NotImplemented

    def __radd__(self, other):
        return joined_text(lambda a, b: b + a, self, other) if isinstance(other, str) else NotImplemented


GIVES_TEXT = {
    "capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix", "removesuffix",
    "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill",
}  # fmt: skip


def _asking(name):
    """A special method that the string itself answers."""
    return lambda self, *args: getattr(self._text(), name)(*(a.known() if type(a) is TracedText else a for a in args))


for _name in ("str", "format", "len", "iter", "eq", "ne", "lt", "le", "gt", "ge", "hash", "contains"):
    setattr(TracedText, f"__{_name}__", _asking(f"__{_name}__"))
TracedText.__bool__ = lambda self: bool(self._text())
TracedText.__int__ = lambda self: int(self._text())
TracedText.__float__ = lambda self: float(self._text())
TracedText.__complex__ = lambda self: complex(self._text())


VIEWS = type({}.values()), type({}.items())


def dict_behind(view):
    """-> (a dict of what a dict view shows, what makes such a view of a dict)."""
    return (dict(view), dict.items) if isinstance(view, VIEWS[1]) else (dict(enumerate(view)), dict.values)


def held_now(x):
    """Values in containers as they are now: those of arrays, which may be written, are held on to."""
    if isinstance(x, TracedArray):
        return fresh(x.value)
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) is dict:
        return {k: held_now(v) for k, v in x.items()}
    if isinstance(x, VIEWS):
        held, shown = dict_behind(x)
        return shown(held_now(held))
    return type(x)(map(held_now, x)) if type(x) in (list, tuple) else x


def known_now(values):
    """Values with the numbers of this call in the place of traced ones; None where they are not to be known."""
    leaves, tree = pytree.flatten(values)
    found = []
    for x in leaves:
        if isinstance(x, Traced | TracedText):
            x = number_of_key(x) if type(x) is TracedScalar else x.known() if type(x) is TracedText else None
            if x is None:
                return None
        found.append(x)
    return pytree.unflatten(tree, found, pytree.key_order(values))


def spelled_out(x):
    """What code of C is given, which asks text for its letters: a string."""
    return x._text() if type(x) is TracedText else x


def quoted(form, value):
    """Text with an integer scalar of the program in place of the first `{}`."""
    return TracedText(lambda n: form.replace("{}", str(n), 1), [TracedScalar(value, int)], form)


def joined_text(make, *parts):
    return TracedText(make, parts, "".join(p.template if isinstance(p, TracedText) else str(p) for p in parts))
