"""Parts of arrays whose places are known as affine forms."""

from __future__ import annotations

from ..affine import affine_constant, plus, wrapped
from ..core import Lit


class KnownWindow:
    """A part of an array: a form of the start and a size an axis, and whether the part is known to lie inside,
    unclamped. place: where it begins, if it moves nowhere."""

    __slots__ = ("starts", "sizes", "forms", "inside", "place")

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
        self.place = None if any(terms for terms, _ in self.forms) else [at for _, at in self.forms]

    @property
    def moves(self):
        return self.place is None

    def axes(self):
        return zip(self.forms, self.sizes, self.inside)

    def same(self, other):
        return self.sizes == other.sizes and self.forms == other.forms

    def apart(self, other, known):
        """Whether no element is in both, by one axis along which they do not meet."""
        if self.place is not None and other.place is not None:
            return any(
                g - f >= k or f - g >= m for f, k, g, m in zip(self.place, self.sizes, other.place, other.sizes)
            )
        for (f, k, inside), (g, m, within) in zip(self.axes(), other.axes()):
            if inside and within:
                low, high = known.between(plus(g, f, -1))
                if low >= k or high <= -m:
                    return True
        return False

    def offsets(self, part):
        """Where `part` lies in this window, axis by axis, or None if it is not known to lie in it."""
        if self.place is not None and part.place is not None:
            at = [g - f for f, g in zip(self.place, part.place)]
            return at if all(0 <= d <= k - m for d, k, m in zip(at, self.sizes, part.sizes)) else None
        found = []
        for (f, k, inside), (g, m, within) in zip(self.axes(), part.axes()):
            terms, d = plus(g, f, -1)
            if terms or not (0 <= d <= k - m) or not (k == m or inside and within):
                return None
            found.append(d)
        return found
