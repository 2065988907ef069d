"""A function's programs of all sizes: traced at several, found alike, and what may be trusted of that.

A program of symbolic sizes stands for the sizes between the least and the largest at which it was verified, in the
remainders that all of these share: what a compiler decides by sizes are thresholds, which hold between two sizes for
which they hold, or remainders. What the function itself asks of sizes are facts, which a call has to share. Beyond
that, one more trace must agree before the range grows (`SizeFamily.extended`).
"""

from __future__ import annotations

import itertools
import math

from ...ir.generic import Unalike, generalised
from ..capture.capture import Kind
from ..capture.signature import kind_of_type
from ..capture.size_forms import CapturedForm
from ..program.specialisation import Specialisation
from . import size_facts
from .sampling import Unsampled, kinds_at, version_at
from .size_facts import Unresolved, resolved_facts, shown_sizes
from .size_names import (
    ALONE,
    LEAST,
    NoNames,
    SizeNames,
    candidates,
    corners,
    first_samples,
)

TRIES = 24  # bound: traces for one family
FAILURES = 8  # bound: sizes at which a trace fails or is another program, until there is no family


class NoFamily(Exception):
    """A function has no program of symbolic sizes. Its text says why."""


def family(entry, observed):
    """-> the SizeFamily of a signature's programs, of which calls of these types have been seen; NoFamily says why
    there is none. Made within a call of the function (`Callee.__call__`), with its lock held; nothing is run."""
    if not entry.numpy or entry.cells or entry.watched:
        raise NoFamily("its arguments are jax arrays, or objects that are known by their class")
    try:
        names = SizeNames(observed)
    except NoNames as error:
        raise NoFamily(str(error)) from None
    finder = Finder(entry, names, [kind_at(entry, k, t) for k, t in enumerate(observed[0])])
    try:
        return SizeFamily(finder, finder.found())
    except (Unalike, Unresolved) as error:
        raise NoFamily(str(error)) from None


def kind_at(entry, k, type):
    """The Kind of a dynamic argument."""
    kind = kind_of_type(entry.types[entry.dynamic[k]])
    return Kind(type, int if kind is None else kind, name=entry.names[k])


class Finder:
    """Finds the sizes at which a function is one program."""

    def __init__(self, entry, names, kinds):
        self.entry, self.names, self.kinds = entry, names, kinds
        self.samples, self.failed, self.reason, self.tries = [], [], "", 0

    def sample(self, sizes):
        """The Sample at these sizes; Unsampled where there is none."""
        kinds = kinds_at(self.entry, self.kinds, self.names.shapes(sizes))
        return version_at(self.entry, kinds, sizes, self.names.dims)

    def found(self):
        """The samples, as many as tell what sizes are, whose programs are alike."""
        for sizes in first_samples(self.names.seen):
            if not self.tried(sizes):
                raise NoFamily(self.reason)
        wanted = ALONE + 2 * (len(self.names.names) - 1)
        for steps in self.strides():
            for sizes in candidates(self.names.seen, wanted, steps):
                if len(self.samples) >= wanted or self.tries >= TRIES or len(self.failed) >= FAILURES:
                    break
                if sizes not in self.failed and all(s.sizes != sizes for s in self.samples):
                    self.tried(sizes)
            if len(self.samples) >= wanted:
                break
        self.exclude_failed()
        if len(self.samples) < wanted - 1:
            raise NoFamily(self.reason or "too few sizes are to be had at which it could be tried")
        return self.samples

    def strides(self):
        """The steps between sizes to be tried: 1, then those between the sizes seen."""
        yield dict.fromkeys(self.names.names, 1)
        steps = {n: self.step(n) for n in self.names.names}
        if any(s > 1 for s in steps.values()) and self.failed:
            first = self.names.seen[0]
            near = lambda s: all((s[n] - first[n]) % steps[n] == 0 for n in steps)
            self.samples = [s for s in self.samples if near(s.sizes)]
            self.failed = [s for s in self.failed if near(s)]
            yield steps

    def step(self, name):
        first = self.names.seen[0][name]
        return max(1, math.gcd(*(s[name] - first for s in self.names.seen)))

    def tried(self, sizes):
        """Whether one more sample is like those there are."""
        if self.samples and not all(size_facts.fact_holds(f, sizes) for f in size_facts.told_already(self.samples[0])):
            return False
        self.tries += 1
        try:
            sample = self.sample(sizes)
            why = self.samples and self.unlike(sample)
        except Unsampled as error:
            why = str(error)
        if why:
            self.failed.append(sizes)
            self.reason = self.reason or why
            return False
        self.samples.append(sample)
        return True

    def unlike(self, sample):
        """Why a sample is not of one program with those there are."""
        why = size_facts.difference(self.samples[0], sample)
        if why is not None:
            return why
        both = [self.samples[0], sample]
        if sample.version.func.count() != both[0].version.func.count():
            return f"it is another program at {shown_sizes(sample.sizes)} than at {shown_sizes(both[0].sizes)}"
        return None

    def exclude_failed(self):
        """Leave out samples until no size at which the function failed is between them."""
        for failed in self.failed:
            while self.encloses(failed):
                name, keep = self.side(failed)
                if name is None:
                    raise NoFamily(self.reason)
                self.samples = [s for s in self.samples if keep(s.sizes[name])]

    def encloses(self, sizes):
        inside = Ranges([s.sizes for s in self.samples]).has(sizes)
        return inside and all(size_facts.fact_holds(f, sizes) for f in size_facts.told_already(self.samples[0]))

    def side(self, failed):
        """(a name, which numbers of it stay) so that all sizes seen do, and a failed one does not."""
        for name, n in failed.items():
            seen = [s[name] for s in self.names.seen]
            if max(seen) < n:
                return name, lambda k, n=n: k < n
            if min(seen) > n:
                return name, lambda k, n=n: k > n
        return None, None


class Ranges:
    """What sizes samples span: of each name the least and largest, and the remainder that all share; of each two
    names, which is larger."""

    def __init__(self, samples):
        self.least = {n: min(s[n] for s in samples) for n in samples[0]}
        self.largest = {n: max(s[n] for s in samples) for n in samples[0]}
        first = samples[0]
        self.steps = {n: math.gcd(*(s[n] - first[n] for s in samples)) for n in first}
        self.orders = {order(s) for s in samples}

    def has(self, sizes):
        return order(sizes) in self.orders and all(
            self.least[n] <= k <= self.largest[n] and (k - self.least[n]) % max(self.steps[n], 1) == 0
            for n, k in sizes.items()
        )

    def shown(self, name):
        text = f"verified {self.least[name]} to {self.largest[name]}"
        step = self.steps[name]
        return text + (f", of the form {step}*k + {self.least[name] % step}" if step > 1 else "")


def order(sizes):
    """Which of each two sizes is larger, or whether they are equal."""
    return tuple([(a > b) - (a < b) for a, b in itertools.combinations(sizes.values(), 2)])


class SizeFamily:
    """The programs of one signature at all sizes.

    names: the SizeNames; facts: what a call has to share; ranges: for which sizes it is verified; generic: the program
    of symbolic sizes; samples: the Samples it was made of, whose `version` is a Specialisation each.
    """

    def __init__(self, finder, samples):
        self.finder, self.names, self.samples = finder, finder.names, samples
        self.facts = resolved_facts(samples)
        at = [s.sizes for s in samples]
        self.generic = generalised([s.version.func for s in samples], at)
        self.captured = CapturedForm([s.version.captured for s in samples], at)
        self.verified = list(at)
        self.ranges = Ranges(at)
        self.rules = samples[0].version.rules

    @property
    def specialisations(self):
        return [s.version for s in self.samples]

    def holds(self, sizes):
        """Whether the facts do at these sizes."""
        return all(size_facts.fact_holds(f, sizes) for f in self.facts)

    def serves(self, types):
        """{name: number} of a call of these types, where the program of symbolic sizes is its program; else None."""
        sizes = self.names.sizes_of(types)
        return sizes if sizes is not None and self.ranges.has(sizes) and self.holds(sizes) else None

    def version(self, sizes):
        """The Specialisation of sizes that are served, made without a trace."""
        func = self.generic.at(sizes)
        first = self.samples[0].version
        types = tuple(k.type for k in kinds_at(self.finder.entry, self.finder.kinds, self.names.shapes(sizes)))
        made = Specialisation(self.captured.at(sizes, func), func, types, "of symbolic sizes", 0.0, 0.0)
        made.rules = first.rules
        return made

    def extended(self, types):
        """Whether the range now has these types: by traces at the ends of a larger one, which must agree. A range is
        made to twice what is asked for, where it can be, so that few traces do for many sizes."""
        sizes = self.names.sizes_of(types)
        if sizes is None or not self.holds(sizes):
            return False
        for factor in (2, 1):
            wider = [sizes, *self.beyond(sizes, factor)]
            if all(map(self.verifies, wider)):
                self.verified += wider
                self.ranges = Ranges(self.verified)
                return self.ranges.has(sizes)
        return False

    def beyond(self, sizes, factor):
        """The ends of the range that has these sizes too, so many times as large where they are above it."""
        least, largest = {}, {}
        for name, n in sizes.items():
            step = max(self.ranges.steps[name], 1)
            low, high = self.ranges.least[name], self.ranges.largest[name]
            above = n + (factor - 1) * n // step * step
            least[name] = min(n, low)
            largest[name] = above if n > high else high
        return [s for s in corners(least, largest) if s not in self.verified and s != sizes]

    def verifies(self, sizes):
        """Whether a trace at these sizes is what the program of symbolic sizes says."""
        if not self.holds(sizes) or any(n < LEAST for n in sizes.values()):
            return False
        try:
            sample = self.finder.sample(sizes)
        except Unsampled:
            return False
        if size_facts.difference(self.samples[0], sample) is not None:
            return False
        try:
            if {size_facts.shown_fact(f) for f in resolved_facts([*self.samples, sample])} != set(self.told_facts()):
                return False
        except Unresolved:
            return False
        version = sample.version
        return self.generic.agrees(version.func, sizes) and not self.captured.agrees(version.captured, sizes)

    def told_facts(self):
        """The facts, as text."""
        return [size_facts.shown_fact(f) for f in self.facts]

    def texts(self):
        """For a reader: a line for each name, then the relations between sizes."""
        called = self.finder.entry.names
        lines = []
        for name, (leaf, axis) in self.names.names.items():
            facts = [t for t, f in zip(self.told_facts(), self.facts) if name in f.left.names | f.right.names]
            read = f"{called[leaf]}.shape[{axis}]"
            step = self.names.dims[leaf][axis] - _symbol(name)
            read += f" - {step}" if step.terms else ""
            lines.append(", ".join([f"{name}: {read}", *facts, self.ranges.shown(name)]))
        return lines + self.names.relations(called)


def _symbol(name):
    return size_facts.Dim.symbol(name)
