"""Parts of arrays whose places are known as affine forms."""

from __future__ import annotations

from ..affine import affine_constant, plus, wrapped
from ..core import Lit


class KnownWindow:
    """A part of an array: a form of the start and a size an axis, and whether the part is known to lie inside,
    unclamped."""

    __slots__ = ("starts", "sizes", "forms", "inside")

    def __init__(self, known, shape, starts, sizes):
        self.starts, self.sizes, self.forms, self.inside = [], tuple(sizes), [], []
        for n, start, k in zip(shape, starts, sizes, strict=True):
            form = affine_constant(0) if k == n else known.form(start)
            if form[0]:
                low, high = known.between(form)
                inside = low >= 0 and high <= n - k
            else:  # the operation clamps
                at = min(max(wrapped(form[1]), 0), n - k)
                start, form, inside = Lit(at, start.type), affine_constant(at), True
            self.starts.append(start)
            self.forms.append(form)
            self.inside.append(inside)

    @property
    def moves(self):
        return any(terms for terms, _ in self.forms)

    def axes(self):
        return zip(self.forms, self.sizes, self.inside)

    def same(self, other):
        return self.sizes == other.sizes and self.forms == other.forms

    def apart(self, other, known):
        """Whether no element is in both, by one axis along which they do not meet."""
        for (f, k, inside), (g, m, within) in zip(self.axes(), other.axes()):
            if inside and within:
                low, high = known.between(plus(g, f, -1))
                if low >= k or high <= -m:
                    return True
        return False

    def offsets(self, part):
        """Where `part` lies in this window, axis by axis, or None if it is not known to lie in it."""
        found = []
        for (f, k, inside), (g, m, within) in zip(self.axes(), part.axes()):
            terms, d = plus(g, f, -1)
            if terms or not (0 <= d <= k - m) or not (k == m or inside and within):
                return None
            found.append(d)
        return found
