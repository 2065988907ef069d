"""Which sizes of the arguments are one name, learnt from the calls seen, and the sizes at which a function is tried.

Sizes that were the same in all calls seen are one name; so are those that were always as much larger than another, a
multiple of it, or the product of two. The relation is a guard: a call that breaks it is none of these names.
"""

from __future__ import annotations

import itertools
import math

from ...ir.dims import Dim

LETTERS = "nmkpqst"  # bound: as many names as there may be
NAMES = 3  # bound: names of which all combinations of least and largest are tried
FIRST = 3  # bound: sizes seen in calls that are tried, the least and the largest among them
ALONE = 6  # bound: samples of one name; two more for each other
LEAST = 2  # bound: sizes 0 and 1 have programs of their own


class NoNames(Exception):
    """The calls seen have no sizes in common that could be names. Its text says why."""


class SizeNames:
    """names: {name: (argument, axis) where it is read}; dims: for each argument what each of its sizes is, a Dim or an
    int; seen: {name: number} of each of the calls, without repetition."""

    def __init__(self, observed):
        """observed: the types of the arguments of at least two calls, a Tensor each."""
        require_alike(observed)
        observed = large_enough(observed)
        self.dtypes = [t.dtype for t in observed[0]]
        self.names, self.dims, self.vectors = {}, [], {}
        columns = [
            [tuple(types[k].shape[axis] for types in observed) for axis in range(t.ndim)]
            for k, t in enumerate(observed[0])
        ]
        for at, column in self.in_order(columns):
            if len(set(column)) > 1 and self.expressed(column) is None:
                self.begin(at, column)
        self.dims = [tuple(self.expressed(c) for c in of_leaf) for of_leaf in columns]
        if not self.names:
            raise NoNames("no size has differed between the calls seen")
        rows = zip(*self.vectors.values())
        self.seen = [dict(zip(self.names, row)) for row in dict.fromkeys(rows)]

    def in_order(self, columns):
        """[((argument, axis), numbers)], the least first: what is larger is an expression of it."""
        found = [((k, a), c) for k, of_leaf in enumerate(columns) for a, c in enumerate(of_leaf)]
        return sorted(found, key=lambda item: (sum(item[1]), item[0]))

    def begin(self, at, column):
        if len(self.names) == NAMES:
            raise NoNames(f"more than {NAMES} sizes change, each on its own")
        name = LETTERS[len(self.names)]
        self.names[name], self.vectors[name] = at, column

    def expressed(self, column):
        """What numbers of several calls are, of the names there are; None for something new."""
        if len(set(column)) == 1:
            return column[0]
        for name, vector in self.vectors.items():
            steps = {c - v for c, v in zip(column, vector)}
            if len(steps) == 1:
                return Dim.symbol(name) + steps.pop()
        for name, vector in self.vectors.items():
            factors = {divmod(c, v) for c, v in zip(column, vector)}
            if len(factors) == 1 and not (found := factors.pop())[1]:
                return Dim.symbol(name) * found[0]
        for (a, v), (b, w) in itertools.combinations_with_replacement(self.vectors.items(), 2):
            if all(c == x * y for c, x, y in zip(column, v, w)):
                return Dim.symbol(a) * Dim.symbol(b)
        return None

    def shapes(self, sizes):
        """The shape of each argument at these sizes."""
        return [tuple(d if isinstance(d, int) else d.at(sizes) for d in leaf) for leaf in self.dims]

    def sizes_of(self, types):
        """{name: number} of a call's types, or None where they are not of these names."""
        if len(types) != len(self.dims) or any(
            t.dtype != dtype or t.ndim != len(leaf) for t, dtype, leaf in zip(types, self.dtypes, self.dims)
        ):
            return None
        found = {}
        for name, (leaf, axis) in self.names.items():
            number = types[leaf].shape[axis]
            step = self.dims[leaf][axis] - Dim.symbol(name)
            found[name] = number - step.at({})
        if any(n < LEAST for n in found.values()) or self.shapes(found) != [t.shape for t in types]:
            return None
        return found

    def relations(self, called):
        """The guards, as text. called: the names of the arguments."""
        return [
            f"{called[k]}.shape[{axis}] == {d}"
            for k, leaf in enumerate(self.dims)
            for axis, d in enumerate(leaf)
            if (k, axis) not in self.names.values() and not isinstance(d, int)
        ]


def require_alike(observed):
    if len(observed) < 2:
        raise NoNames("names of sizes are learnt from calls that differ")
    first = observed[0]
    for types in observed:
        if len(types) != len(first) or any(t.dtype != u.dtype or t.ndim != u.ndim for t, u in zip(types, first)):
            raise NoNames("arguments have differed in dtype or in the number of axes")


def large_enough(observed):
    """The calls seen of which no size is 0 or 1 that differs between them: such have programs of their own."""
    rows = [[n for t in types for n in t.shape] for types in observed]
    differ = [len(set(column)) > 1 for column in zip(*rows)]
    kept = [t for t, row in zip(observed, rows) if all(n >= LEAST for n, d in zip(row, differ) if d)]
    if len(kept) < 2:
        raise NoNames("sizes 0 and 1 have programs of their own")
    return kept


def corners(least, largest):
    """The ends of a box of sizes: all least, all largest, and each name at one end with the others at the other."""
    found = [dict(least), dict(largest)]
    if len(least) > 1:
        found += [{**least, name: largest[name]} for name in least]
        found += [{**largest, name: least[name]} for name in least]
    return without_repetition(found)


def without_repetition(samples):
    return list({tuple(s.items()): s for s in samples}.values())


def first_samples(seen):
    """A few of the sizes seen: the least, the largest, one between."""
    ordered = sorted(seen, key=lambda s: (sum(s.values()), tuple(s.values())))
    return without_repetition([ordered[0], ordered[-1], ordered[len(ordered) // 2]])[:FIRST]


def candidates(seen, base, below, steps):
    """Sizes to be tried beside those seen: the ends of what they span and twice that, then in between, those first that
    leave other remainders.

    base: sizes from which all are a multiple of `steps` away; below: {name: what sizes are less than}.
    """
    lower = {n: min(s[n] for s in seen) for n in base}
    least = {n: k + (base[n] - k) % steps[n] for n, k in lower.items()}
    most = {n: max(s[n] for s in seen) for n in base}
    ends = {n: (beyond(k, most[n], steps[n]), ending_at(k, below[n], steps[n])) for n, k in least.items()}
    largest = {n: min(both) for n, both in ends.items()}
    yield from corners(least, largest)
    columns = {n: sizes_between(least[n], largest[n], steps[n]) for n in base}
    for k in range(max(map(len, columns.values()))):  # names at places of their own, so that no two grow alike
        yield {n: c[(k + 2 * i * k + i) % len(c)] for i, (n, c) in enumerate(columns.items())}


def ending_at(least, below, step):
    """The largest size of a step that is less than another; math.inf where nothing is."""
    return below if below == math.inf else least + max(below - 1 - least, 0) // step * step


def beyond(least, most, step):
    """About twice the largest size seen, and of another remainder."""
    count = (2 * most + 27 - least) // step
    return least + step * (count + count % 2 + 1)


def sizes_between(least, largest, step):
    """The sizes of a step between two, in an order in which each has remainders that those before have not."""
    span = (largest - least) // step
    stride = max(1, round(span * 0.382)) if span > 2 else 1  # the golden section spreads them evenly
    while math.gcd(stride, span + 1) > 1:
        stride += 1
    return [least + step * (k * stride % (span + 1)) for k in range(1, min(span + 1, 64))] or [least]
