"""Which places of a loop may hold one memory that a trip made, the last or an earlier one."""

import itertools

from ..values.storage import memories


def exclusive(xs, i, ys, j):
    """Whether data that choose the i-th of `xs` choose another than the j-th of `ys`."""
    p, q = xs[i][0], ys[j][0]
    return p is not q and (
        p is not None and any(p is t for t, _, _ in ys) or q is not None and any(q is t for t, _, _ in xs)
    )


class LoopAliases:
    """pairs: placeholders (p, q) that may stand for one memory of the loop's own when a trip begins. ends: placeholder
    -> choices after a trip."""

    def __init__(self, ends, owns):
        self.ends, self.owns, self.pairs = ends, owns, set()
        holders = self.holders(ends)
        todo = [(p, q) for held in holders.values() for p, q in itertools.combinations(held, 2)]
        while todo:
            p, q = todo.pop()
            if (p, q) not in self.pairs and self.meet(ends[p], ends[q]):
                self.pairs |= {(p, q), (q, p)}
                todo += [(r, s) for r in holders.get(p, ()) for s in holders.get(q, ()) if r is not s]

    def holders(self, choices):
        """Memory of the loop's own -> the keys of the choices it is among."""
        found = {}
        for key, parts in choices.items():
            for base in {b for _, s, _ in parts for b in memories(s)}:
                if self.owns(base):
                    found.setdefault(base, []).append(key)
        return found

    def meet(self, xs, ys):
        """Whether arrays may be in one memory of the loop's own."""
        return any(self.same(a, b) for a, b in self.met(xs, ys))

    def met(self, xs, ys):
        """The memories that may be those of two arrays at once."""
        for (i, (_, s, _)), (j, (_, t, _)) in itertools.product(enumerate(xs), enumerate(ys)):
            if not exclusive(xs, i, ys, j):
                yield from itertools.product(memories(s), memories(t))

    def same(self, a, b):
        return self.owns(a) if a is b else (a, b) in self.pairs

    def reached(self, choices):
        """The memories of the loop's own, and the placeholders, that arrays may have come from."""
        found, todo = set(), [b for _, s, _ in choices for b in memories(s)]
        while todo:
            base = todo.pop()
            if base not in found and self.owns(base):
                found.add(base)
                todo += [b for _, s, _ in self.ends.get(base, ()) for b in memories(s)]
        return found
