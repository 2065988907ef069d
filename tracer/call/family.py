"""A function's programs of all sizes: traced at several, found alike, and what may be trusted of that.

A program of symbolic sizes stands for the sizes between the least and the largest at which it was verified, in the
remainders that all of these share: what a compiler decides by sizes are thresholds, which hold between two sizes for
which they hold, or remainders. What the function itself asks of sizes are facts, which a call has to share. Beyond
that, one more trace must agree before the range grows (`SizeFamily.extended`).
"""

from __future__ import annotations

import math
import operator
import re

from ...ir.dims import Dim
from ...ir.generic import Unalike, generalised
from ...ir.walk import ops_of
from ..capture.capture import Kind
from ..capture.handover import ARRAY, SCALAR
from ..capture.signature import kind_of_type
from ..capture.size_forms import CapturedForm
from ..common.errors import WengertError
from ..program.specialisation import Specialisation
from .sampling import Unsampled, kinds_at, version_at
from .size_facts import (
    Unresolved,
    difference,
    fact_holds,
    facts_of_shapes,
    moduli,
    resolved_facts,
    shown_fact,
    shown_sizes,
    told_already,
)
from .size_names import (
    ALONE,
    LEAST,
    NoNames,
    SizeNames,
    candidates,
    corners,
    first_samples,
)
from .size_ranges import Ranges

TRIES = 32  # bound: traces for one family
WIDEST = 16  # bound: remainders of one name that are all tried
SMALL_DIVISORS = 3, 4, 8  # bound: divisors that are tried where samples leave open what sizes become
CHECKED = 2  # bound: sizes between the samples at which a trace has to agree with what these have told
LOOKED_AT = 128  # bound: sizes from the least on, and from the middle of a range on, among which those are
ROUNDS = 4  # bound: times that its range is narrowed
NEAR = 80  # bound: letters of what is divided that are looked through for names
WORD, DIVISION = re.compile(r"\w+"), re.compile(r"//(\d+)")
FAILURES = 8  # bound: sizes at which a trace fails or is another program, until there is no family


class NoFamily(Exception):
    """A function has no program of symbolic sizes. Its text says why."""


def family(entry, observed, search=None):
    """-> the SizeFamily of a signature's programs, of which calls of these types have been seen; NoFamily says why
    there is none. Made within a call of the function (`Callee.__call__`), with its lock held; nothing is run. search:
    the FamilySearch, where calls share it, which raises SearchPaused."""
    if not entry.numpy or entry.watched:
        raise NoFamily("its arguments are jax arrays, or are watched")
    try:
        names, kinds = SizeNames(observed), [kind_at(entry, k, t) for k, t in enumerate(observed[0])]
        finder = Finder(entry, names, kinds, search)
        made = first_family(finder)
        if any(len(residues) < k for _, k, residues in made.ranges.residues):
            finder.cover(made.divisors)
            made = SizeFamily(finder, finder.samples)
        finder.search = None
        return agreed_between(made)
    except (NoNames, Unalike, Unresolved, WengertError) as error:
        raise NoFamily(str(error)) from None


def agreed_between(made):
    """A SizeFamily, once it agrees with traces between its samples; else NoFamily."""
    if not all(map(made.verifies, made.between())):
        raise NoFamily("what its sizes become at some is not what they become at others")
    return made


def family_of_larger(made):
    """The SizeFamily of another, without its smallest sizes and of more samples in their place; NoFamily where it is
    none."""
    finder = made.finder
    finder.cut(min((s.sizes for s in finder.samples), key=lambda sizes: sum(sizes.values())))
    finder.fill()
    if not finder.enough():
        raise NoFamily(finder.reason or "its facts hold at too few sizes")
    finder.cover(made.divisors)
    try:
        return agreed_between(SizeFamily(finder, finder.samples))
    except (Unalike, Unresolved, WengertError) as error:
        raise NoFamily(str(error)) from None


def first_family(finder):
    """The SizeFamily of enough samples; of more, that leave all remainders by small numbers, where these leave it open
    what sizes become."""
    finder.found()
    finder.cover(sorted(moduli(finder.samples)))
    try:
        return SizeFamily(finder, finder.samples)
    except (Unalike, Unresolved):
        finder.cover([(name, k) for k in SMALL_DIVISORS for name in finder.base])
        return SizeFamily(finder, finder.samples)


def kind_at(entry, k, type):
    """The Kind of a dynamic argument."""
    of = entry.types[entry.dynamic[k]]
    kind = int if of is int else kind_of_type(of)
    if kind not in (ARRAY, SCALAR, int, float, complex):
        raise NoFamily(f"an argument is a {of.__name__}")
    return Kind(type, kind, name=entry.names[k])


class Finder:
    """Finds sizes at which a function is one program with what it is at the last size seen."""

    def __init__(self, entry, names, kinds, search=None):
        self.entry, self.names, self.kinds, self.search = entry, names, kinds, search
        self.samples, self.failed, self.reason, self.traces = [], [], "", 0
        self.base = names.seen[-1]
        self.above, self.below = dict.fromkeys(self.base, 0), dict.fromkeys(self.base, math.inf)  # ends, left out
        self.steps = dict.fromkeys(self.base, 1)

    def sample(self, sizes):
        """The Sample at these sizes; Unsampled where there is none."""
        kinds = kinds_at(self.entry, self.kinds, self.names.shapes(sizes))
        return version_at(self.entry, kinds, sizes, self.names.dims)

    def found(self):
        """The samples, as many as tell what sizes are, whose programs are alike."""
        if not self.tried(self.base):
            raise NoFamily(self.reason)
        for sizes in first_samples(self.names.seen):
            self.tried(sizes)
        for step in (1, *self.strides()):
            self.stride(step)
            for _ in range(ROUNDS):
                self.fill()
                if not self.exclude_failed():
                    break
            if self.enough():
                return self.samples
        raise NoFamily(self.reason or "its facts hold at too few sizes")

    def enough(self):
        return len(self.samples) >= ALONE + 2 * (len(self.base) - 1)

    def strides(self):
        """Steps between sizes that leave remainders alone: those of the sizes seen, then small powers of two."""
        steps = [math.gcd(*(s[n] - self.base[n] for s in self.names.seen)) for n in self.base]
        return [s for s in dict.fromkeys((min(steps), 2, 4)) if s > 1]

    def stride(self, step):
        """Go on with sizes that differ by multiples of a step from those seen last."""
        self.steps = dict.fromkeys(self.base, step)
        near = lambda sizes: all((n - self.base[name]) % step == 0 for name, n in sizes.items())
        self.samples = [s for s in self.samples if near(s.sizes)]
        self.failed = [s for s in self.failed if near(s)]
        self.exclude_failed()

    def fill(self):
        """Try more sizes until there are enough samples."""
        seen = [s for s in self.names.seen if self.within(s)]
        for sizes in candidates(seen, self.base, self.below, self.steps):
            if self.enough() or self.traces >= TRIES or len(self.failed) >= FAILURES:
                return
            if self.within(sizes) and sizes not in self.failed and all(s.sizes != sizes for s in self.samples):
                self.tried(sizes)

    def within(self, sizes):
        return all(self.above[n] < k < self.below[n] for n, k in sizes.items())

    def tried(self, sizes):
        """Whether there is a sample at these sizes that is like the first one."""
        if any(s.sizes == sizes for s in self.samples):
            return True
        if self.samples and not self.has_facts(sizes):
            return False
        self.traces += 1
        make = lambda: self.sample(sizes)
        try:
            sample = make() if self.search is None else self.search.sample_of(sizes, make)
            why = self.samples and self.unlike(sample)
        except Unsampled as error:
            why = str(error)
        if why:
            self.failed.append(sizes)
            self.reason = self.reason or why
            return False
        self.samples.append(sample)
        return True

    def has_facts(self, sizes):
        """Whether what the first trace has asked of sizes of arguments would be answered alike at these sizes."""
        return all(fact_holds(f, sizes) for f in told_already(self.samples[0]))

    def unlike(self, sample):
        """Why a sample is not of one program with the first one; None where it is."""
        first = self.samples[0]
        if (why := difference(first, sample)) is not None:
            return why
        if ops_of(sample.version.func) != ops_of(first.version.func):
            return f"it is another program at {shown_sizes(sample.sizes)} than at {shown_sizes(first.sizes)}"
        return None

    def exclude_failed(self):
        """Narrow the ends until no size at which the function failed is between samples -> whether there was one."""
        narrowed = False
        for failed in self.failed:
            inside = Ranges([s.sizes for s in self.samples]).encloses(failed)
            if inside and self.within(failed) and self.has_facts(failed):
                self.cut(failed)
                narrowed = True
        return narrowed

    def cut(self, failed):
        """Leave out a size, and all that are further from those seen last, in the name that leaves most samples."""
        kept = []
        for name, n in failed.items():
            keep = operator.lt if self.base[name] < n else operator.gt
            if self.base[name] != n:
                kept.append((sum(keep(s.sizes[name], n) for s in self.samples), name, keep))
        if not kept:
            raise NoFamily(self.reason)
        _, name, keep = max(kept, key=lambda k: k[:2])
        n = failed[name]
        self.samples = [s for s in self.samples if keep(s.sizes[name], n)]
        if keep is operator.lt:
            self.below[name] = min(n, self.below[name])
        else:
            self.above[name] = max(n, self.above[name])

    def cover(self, divisors):
        """Try sizes that leave remainders which no sample has left yet, one name at a time."""
        for name, k in divisors:
            for residue in range(min(k, WIDEST)):
                at = [s.sizes for s in self.samples]
                if self.traces < TRIES and all(s[name] % k != residue for s in at):
                    low, high = (end(s[name] for s in at) for end in (min, max))
                    steps = range(low, high, self.steps[name])[:k]
                    found = next((n for n in steps if n % k == residue), None)
                    if found is not None:
                        self.tried({**self.base, name: found})


class SizeFamily:
    """The programs of one signature at all sizes.

    names: the SizeNames; facts: what a call has to share; ranges: for which sizes it is verified; generic: the program
    of symbolic sizes; samples: the Samples it was made of, whose `version` is a Specialisation each.
    """

    def __init__(self, finder, samples):
        self.finder, self.names, self.samples = finder, finder.names, samples
        asked = resolved_facts(samples)  # which says first why there is none
        at = [s.sizes for s in samples]
        self.generic = generalised([s.version.func for s in samples], at)
        self.captured = CapturedForm([s.version.captured for s in samples], at)
        self.facts = with_facts_of_shapes(asked, samples)
        self.divisors = divisors_of(self)
        self.verified = list(at)
        self.ranges = Ranges(at, self.divisors)
        self.rules = samples[0].version.rules

    @property
    def specialisations(self):
        return [s.version for s in self.samples]

    def holds(self, sizes):
        """Whether the facts do at these sizes."""
        return all(fact_holds(f, sizes) for f in self.facts)

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
                self.ranges = Ranges(self.verified, self.divisors)
                return self.ranges.has(sizes)
        return False

    def between(self):
        """A few sizes that are served, between the samples."""
        ranges = self.ranges
        columns = [range(ranges.least[n], ranges.largest[n] + 1, max(ranges.steps[n], 1)) for n in self.names.names]
        count = max(map(len, columns))
        places = sorted({k for begin in (0, count // 2) for k in range(begin, min(begin + LOOKED_AT, count))})
        rows = [[c[k * (2 * i + 1) % len(c)] for i, c in enumerate(columns)] for k in places]
        rows = [dict(zip(self.names.names, row)) for row in rows]
        served = [s for s in rows if self.ranges.has(s) and self.holds(s) and s not in self.verified]
        return served[1 :: max(1, len(served) // CHECKED)][:CHECKED]

    def beyond(self, sizes, factor):
        """The ends of the range that has these sizes too, so many times as large where they are above it."""
        least, largest = {}, {}
        for name, n in sizes.items():
            step = max(self.ranges.steps[name], 1)
            low, high = self.ranges.least[name], self.ranges.largest[name]
            above = n + (factor - 1) * n // step * step
            below = n - min(n - n // factor, n - LEAST) // step * step
            least[name] = below if n < low else low
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
        if difference(self.samples[0], sample) is not None:
            return False
        try:
            more = [*self.samples, sample]
            facts = with_facts_of_shapes(resolved_facts(more), more)
            if [*map(shown_fact, facts)] != [*map(shown_fact, self.facts)]:
                return False
        except Unresolved:
            return False
        version = sample.version
        return self.generic.agrees(version.func, sizes) and not self.captured.agrees(version.captured, sizes)

    def told_facts(self):
        """What sizes within the range have to be, as Python's expressions of the names: the facts, and which remainders
        there have been of numbers by which sizes are divided."""
        return [*map(shown_fact, self.facts), *self.ranges.told_residues()]

    def texts(self):
        """For a reader: a line for each name, then the relations between sizes."""
        called = self.finder.entry.names
        lines = []
        for name, (leaf, axis) in self.names.names.items():
            facts = [t for t in self.told_facts() if name in WORD.findall(t)]
            read = f"{called[leaf]}.shape[{axis}]"
            step = self.names.dims[leaf][axis] - Dim.symbol(name)
            read += f" - {step}" if step.terms else ""
            lines.append(", ".join([f"{name}: {read}", *facts, self.ranges.shown(name)]))
        return lines + self.names.relations(called)


def with_facts_of_shapes(asked, samples):
    """What a call has to share with samples: what the function asks of sizes, then what decides unasked."""
    known = {*map(shown_fact, asked)}
    return asked + [f for f in facts_of_shapes(samples) if shown_fact(f) not in known]


def divisors_of(family):
    """{(name, number)} of whole divisions in what sizes have become: (n + 1)//4."""
    text = " ".join([str(family.generic), *map(str, dims_in(family.captured.parts))])
    names, shown = set(family.names.names), set()
    for found in DIVISION.finditer(text):
        before = re.split(r"[\[,=:]", text[max(0, found.start() - NEAR) : found.start()])[-1]
        shown |= {(name, int(found[1])) for name in names & {*WORD.findall(before)}}
    return sorted(shown | moduli(family.samples))


def dims_in(form):
    """The Dims within a form of what is captured."""
    if isinstance(form, Dim):
        return [form]
    parts = form.values() if isinstance(form, dict) else getattr(form, "parts", ())
    return [d for p in parts for d in dims_in(p)]
